"""Scenario files: what hands and devices do, what must be seen, and what must never be seen."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from controller import profiles
from controller.core.rules.profile import Profile
from controller.faults import BadConfiguration
from simulators import layout
from simulators.layout import Kind
from simulators.scripts import antennas, strict, variants
from simulators.scripts.acts import DECK, SeatStart, Stakes
from simulators.scripts.antennas import AntennaFelt
from simulators.scripts.expectations import Expect, Final, Never, read_expectations
from simulators.scripts.felt import Felt
from simulators.scripts.steps import ACTS, Span, Step, read_span, read_steps
from simulators.scripts.variants import Pick

ROLES = ("dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician")
STAKES = ("blinds", "ante", "ante_kind", "currency", "exponent")
LATER = "not done by this rig yet: leave it out"


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
    whole.refuse({"golden": LATER})
    known = variants.picks(whole)
    pick = known[0] if pick is None else pick
    table = pick.table or known[0].table or "shoe"
    top = variants.of(whole, pick)
    top.take("schema", int)
    run = _run(top.section("run"))
    start = top.section("start")
    people = _people(start.section("people"))
    stacks, chips = _stacks(start.section("stacks"))
    denominations = {value for heap in chips.values() for value in heap}
    stakes = _stakes(top.section("run"), denominations, [s for s in stacks.values() if s is not None])
    button = start.number("button", least=1)
    if button not in stacks:
        raise start.wrong("button", button, f"give one of the seats {', '.join(map(str, stacks))}")
    state = start.choice("state", ("open_between_hands", "cold"), "open_between_hands")
    players = start.section("players")
    seats = tuple(
        SeatStart(seat, players.text(str(seat), f"p-{seat}"), stack, chips.get(seat)) for seat, stack in stacks.items()
    )
    players.done()
    start.done()
    pace_section = top.section("pace")
    pace = {name: read_span(pace_section, name, default) or default for name, default in PACE.items()}
    pace_section.done()
    top_cards, after = _deck(top.section("deck"))
    button_posts = run.rules.heads_up_small_blind == "button"
    names = layout.of(table, 2).names()
    kind, vocabulary = (AntennaFelt, antennas.ACTS) if table == "rfid" else (Felt, ACTS)
    felt = kind(seats, stakes, button, people, button_posts, top_cards, after, run.seed, names)
    steps = read_steps(top.sections("step"), felt, vocabulary)
    expects, nevers, final = read_expectations(top, [step.id for step in steps], table)
    scenario = Scenario(
        id=top.text("id"),
        title=top.text("title"),
        path=path,
        covers=top.texts("covers"),
        tags=top.texts("tags"),
        run=run,
        stakes=stakes,
        seats=seats,
        button=button,
        people=people,
        steps=steps,
        expects=expects,
        nevers=nevers,
        final=final,
        close=top.take("close", bool, True),
        cold=state == "cold",
        pace=pace,
        table=table,
        killed=pick.killed,
    )
    top.done()
    return scenario


PACE: Mapping[str, Span] = {
    "gap_ms": Span(400, 900, 2500),
    "slide_ms": Span(180, 260, 600),
    "put_ms": Span(300, 600, 1500),
}


def _run(section: strict.Section) -> Run:
    section.choice("game", ("holdem",), "holdem")
    clock = section.text("clock", "real")
    if clock not in ("real", "virtual") and not (clock[:1] == "x" and clock[1:].isdigit() and int(clock[1:]) > 0):
        raise section.wrong("clock", clock, 'use "real", "virtual" or a factor such as "x10"')
    section.texts("tables")
    name = section.text("profile", "rs_holdem")
    override = section.take("override", dict, {})
    house = {key: value for key, value in override.items() if key not in STAKES}
    try:
        rules = profiles.load(name, section.path.parent, house, by=str(section.path))
    except BadConfiguration as error:
        fault = error.faults[0]
        raise section.wrong("profile" if fault.key == "profile" else "override", fault.value, str(fault)) from error
    run = Run(
        profile=name,
        override=house,
        rules=rules,
        clock=clock,
        seed=section.number("seed", 1),
        timeout_s=section.number("timeout_s", 120, 1),
        repeat=section.number("repeat", 1, 1),
        needs=section.texts("needs"),
    )
    section.done()
    return run


def _people(section: strict.Section) -> dict[str, str]:
    people = {role: section.text(role) for role in ROLES if role in section}
    section.asked.update(ROLES)
    section.done()
    return people or {"dealer": "s-01"}


def _stacks(section: strict.Section) -> tuple[dict[int, int | None], dict[int, dict[int, int]]]:
    """Stacks by seat in minor units, and the chips they are made of, where the scenario says."""
    stacks: dict[int, int | None] = {}
    heaps: dict[int, dict[int, int]] = {}
    for key in section.data:
        value = section.take(key, (int, str, dict))
        if not key.isdigit() or not 1 <= int(key) <= 11:
            raise section.wrong(key, value, "seats are numbered 1 to 11")
        if isinstance(value, dict):
            chips = chips_of(section, key, value)
            heaps[int(key)] = chips
            stacks[int(key)] = sum(worth * count for worth, count in chips.items())
        elif isinstance(value, str):
            if value != "unknown":
                raise section.wrong(key, value, 'give an amount, chips { value = count } or "unknown"')
            stacks[int(key)] = None
        else:
            stacks[int(key)] = section.number(key, least=1)
    if len(stacks) < 2:
        raise section.wrong("", sorted(stacks), "give the stacks of at least two seats")
    return dict(sorted(stacks.items())), heaps


def chips_of(section: strict.Section, key: str, value: Mapping[str, Any]) -> dict[int, int]:
    """``{ 1000 = 3 }`` as chip value -> count. Raises ``ScriptError``."""
    for worth, count in value.items():
        if not worth.isdigit() or int(worth) == 0 or not isinstance(count, int) or count < 1:
            raise section.wrong(key, dict(value), "chips are written { value = count }, for instance { 1000 = 3 }")
    return {int(worth): count for worth, count in value.items()}


def _stakes(run: strict.Section, denominations: set[int], stacks: list[int]) -> Stakes:
    override = run.section("override")
    blinds = override.take("blinds", list, [500, 1000])
    if len(blinds) != 2 or not all(isinstance(b, int) and b > 0 for b in blinds):
        raise override.wrong("blinds", blinds, "give the small and the big blind, for instance [500, 1000]")
    ante = override.number("ante", 0)
    chips = tuple(sorted(denominations))
    if not chips:
        unit = math.gcd(*stacks, *blinds, ante)
        chips = tuple(unit * step for step in (1, 2, 5, 10, 20, 100, 200, 1000))
    for amount in (*blinds, *stacks, ante):
        if amount % chips[0]:
            raise override.wrong("blinds", blinds, f"the smallest chip, {chips[0]}, does not divide {amount}")
    return Stakes(
        small_blind=blinds[0],
        big_blind=blinds[1],
        ante=ante,
        ante_kind=override.choice("ante_kind", ("each", "big_blind"), "each"),
        chips=chips,
        currency=override.text("currency", "EUR"),
        exponent=override.number("exponent", 2),
    )


def _deck(section: strict.Section) -> tuple[list[str], list[str]]:
    decks = [list(section.texts(name)) for name in ("top", "after_reshuffle")]
    named = [card for card in decks[0] + decks[1] if card != "??"]
    for card in named:
        if card not in DECK:
            raise section.wrong("top", card, "a card is rank 2-9TJQKA and suit cdhs, for instance Td; ?? is any")
        if named.count(card) > 1:
            raise section.wrong("top", card, "the card stands twice in the deck")
    section.done()
    return decks[0], decks[1]
