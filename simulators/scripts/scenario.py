"""Scenario files: what hands and devices do, what must be seen, and what must never be seen."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from controller.configuration import profiles
from controller.configuration.settingschecks import flat
from controller.core.rules.profile import Profile
from controller.faults import BadConfiguration, Fault
from simulators import boxtable, layout
from simulators.errors import ScriptError
from simulators.layout import Closed, Kind
from simulators.scripts import antennas, boxes, strict, variants
from simulators.scripts.accidents import Expand
from simulators.scripts.acts import SeatStart, Stakes
from simulators.scripts.antennas import AntennaFelt
from simulators.scripts.boxes import BoxFelt
from simulators.scripts.expectations import Expect, Final, Never, read_expectations
from simulators.scripts.felt import Felt
from simulators.scripts.opening import Opening, read_deck, read_opening
from simulators.scripts.sequence import Span, Step, read_span, read_steps
from simulators.scripts.steps import ACTS
from simulators.scripts.variants import Pick

NEEDS = ("devices", "broker", "processes")
"""What a scenario may ask for in ``needs``."""
STAKES = ("blinds", "ante", "ante_kind", "currency", "exponent")


@dataclass(frozen=True, slots=True)
class Run:
    """How the scenario is run. ``override`` are the house's settings, ``rules`` what the profile says with them."""

    profile: str
    override: Mapping[str, Any]
    rules: Profile
    clock: str
    seed: int
    timeout_s: int
    repeat: int
    needs: tuple[str, ...]
    closed_cards: Closed = "read"
    shoe: bool = False
    """Whether there is a shoe beside the antennas of an RFID table."""

    @property
    def speed(self) -> int:
        """How many times faster than real the table's time runs on wires."""
        return int(self.clock[1:]) if self.clock.startswith("x") else 1


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario, read and sound."""

    id: str
    title: str
    path: Path
    covers: tuple[str, ...]
    tags: tuple[str, ...]
    run: Run
    stakes: Stakes
    seats: tuple[SeatStart, ...]
    button: int
    people: Mapping[str, str]
    steps: tuple[Step, ...]
    expects: tuple[Expect, ...]
    nevers: tuple[Never, ...]
    final: Final
    close: bool = True
    cold: bool = False
    pace: Mapping[str, Span] = field(default_factory=lambda: MappingProxyType({}))
    table: Kind = "shoe"
    killed: bool = False
    """The table is thrown away and restored after every record."""
    tray: Mapping[int, int] | None = None
    """Chips in the tray by value when the table is opened."""
    tray_change: int | None = None
    """What the steps move into the tray, less what they move out; ``None`` where that is not added up."""
    golden: str = ""
    """The folder beside the file where the accepted events of each case lie; empty where they are not compared."""
    label: str = ""
    """What reports add to the name of the file for this case."""
    tolerated: tuple[str, ...] = ()
    """Events that a variant does not rule out and does not expect either."""


def cases(path: Path) -> list[Pick]:
    """The cases of a file: itself and its variants, at each kind of table, swept. Raises ``ScriptError``."""
    return variants.picks(strict.read(path))


def load(path: Path, pick: Pick | None = None) -> Scenario:
    """Read one case of a scenario, by default itself at the first kind of table it is for.

    Raises ``ScriptError`` with file, line, field, value and remedy.
    """
    whole = strict.read(path)
    if whole.take("schema", int) != 1:
        raise whole.wrong("schema", whole.data["schema"], "this rig reads schema 1")
    known = variants.picks(whole)
    pick = known[0] if pick is None else pick
    table = pick.table or known[0].table or "shoe"
    top = variants.of(whole, pick)
    top.take("schema", int)
    run = _run(top.section("run"))
    opening = read_opening(top, run.rules.game)
    pace_section = top.section("pace")
    pace = {name: read_span(pace_section, name, default) or default for name, default in PACE.items()}
    pace_section.done()
    felt, vocabulary = _felt(opening, run, table, read_deck(top.section("deck")))
    sections = top.sections("step")
    steps = read_steps(sections, felt, vocabulary)
    if felt.unanswered and not pick.variant:
        seat, number = next(iter(felt.unanswered.items()))
        remedy = f"seat {seat} never puts the chips that say how much: give a number, or chips.put after it"
        raise sections[number].wrong("number", None, remedy)
    seats, tray_change = opening.seats, None
    if isinstance(felt, BoxFelt):
        seats = tuple(replace(seat, chips=felt.purse(seat.seat)) for seat in seats)
        tray_change = felt.moved
    people = {seat.seat for seat in seats} | set(_seats_of(top.data.get("step", [])))
    expects, nevers, final = read_expectations(top, steps, people, table)
    scenario = Scenario(
        id=top.text("id"),
        title=top.text("title"),
        path=path,
        covers=top.texts("covers"),
        tags=top.texts("tags"),
        run=run,
        stakes=opening.stakes,
        seats=seats,
        button=opening.button,
        people=opening.people,
        steps=steps,
        expects=expects,
        nevers=nevers,
        final=final,
        close=top.take("close", bool, True),
        cold=opening.cold,
        pace=pace,
        table=table,
        killed=pick.killed,
        tray=opening.tray,
        tray_change=tray_change,
        golden=top.text("golden", ""),
        label=pick.label,
        tolerated=top.texts("tolerated") if pick.variant else (),
    )
    top.done()
    return scenario


def _felt(
    opening: Opening, run: Run, table: Kind, deck: tuple[list[str], list[str]]
) -> tuple[Felt, Mapping[str, Expand]]:
    """The felt on which the steps are expanded, and what each act is there."""
    top, after = deck
    button_posts = run.rules.heads_up_small_blind == "button"
    of = boxtable.of if run.rules.game == "ultimate" else layout.of
    furnished = layout.furnished(of(table, 2), shoe=run.shoe and table == "rfid", closed_cards=run.closed_cards)
    names = furnished.names()
    given = (opening.seats, opening.stakes, opening.button, opening.people, button_posts, top, after, run.seed, names)
    if run.rules.game == "ultimate":
        felt = BoxFelt(*given, sensed=table == "rfid")
        felt.chips["tray"] = Counter(opening.tray)
        return felt, boxes.ACTS
    if table != "rfid":
        return Felt(*given), ACTS
    sensed = AntennaFelt(*given)
    if opening.tray is not None:
        sensed.uncounted.discard("tray")
        sensed.chips["tray"] = Counter(opening.tray)
    return sensed, antennas.ACTS


def _seats_of(said: Any) -> Iterator[int]:
    """The seats that steps name: somebody may sit down later."""
    if isinstance(said, list):
        yield from (seat for one in said for seat in _seats_of(one))
    elif isinstance(said, dict):
        yield from (said[key] for key in ("seat", "to_seat", "box") if isinstance(said.get(key), int))
        yield from (seat for one in said.values() for seat in _seats_of(one))


PACE: Mapping[str, Span] = {
    "gap_ms": Span(400, 900, 2500),
    "slide_ms": Span(180, 260, 600),
    "put_ms": Span(300, 600, 1500),
}


def _needs(section: strict.Section) -> tuple[str, ...]:
    needs = section.texts("needs")
    for need in needs:
        if need not in NEEDS:
            known = f"a way to rehearse has {', '.join(NEEDS)}, or has not{strict.suggestion(need, NEEDS)}"
            raise section.wrong("needs", list(needs), f"{need!r} is nothing that a scenario can need: {known}")
    return needs


def _refused(section: strict.Section, name: str, house: Mapping[str, Any], fault: Fault) -> ScriptError:
    """What is wrong with the profile or the house's settings, by the scenario's own line."""
    if fault.key == "profile":
        return section.wrong("profile", name, fault.remedy)
    if fault.key.startswith("override"):
        key = fault.key.removeprefix("override.").strip('"')
        return section.wrong(f"override.{key}", house.get(key), fault.remedy + strict.suggestion(key, STAKES))
    return section.wrong("profile", name, str(fault))


def _run(section: strict.Section) -> Run:
    game = section.choice("game", ("holdem", "ultimate"), "holdem")
    clock = section.text("clock", "real")
    factor = int(clock[1:]) if clock[:1] == "x" and strict.is_number(clock[1:]) else 0
    if clock not in ("real", "virtual") and factor < 1:
        raise section.wrong("clock", clock, 'use "real", "virtual" or a factor such as "x10"')
    section.texts("tables")
    name = section.text("profile", "rs_holdem")
    override = section.take("override", dict, {})
    house = flat({key: value for key, value in override.items() if key not in STAKES})
    try:
        rules = profiles.load(name, section.path.parent, house, by=str(section.path))
    except BadConfiguration as error:
        fault = error.faults[0]
        raise _refused(section, name, house, fault) from error
    if rules.game != game:
        raise section.wrong("game", game, f"profile {name} plays {rules.game}: set both alike")
    run = Run(
        profile=name,
        override=house,
        rules=rules,
        clock=clock,
        seed=section.number("seed", 1),
        timeout_s=section.number("timeout_s", 120, 1),
        repeat=section.number("repeat", 1, 1),
        needs=_needs(section),
        closed_cards=section.choice("closed_cards", ("read", "unread"), "read"),
        shoe=section.take("shoe", bool, False),
    )
    section.done()
    return run
