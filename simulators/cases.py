"""The cases of a rehearsal: found in files and folders, and played one by one on the stage that was asked for."""

import os
import shlex
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller.configuration import profiles
from controller.core.rules.profile import Profile
from controller.errors import FeltError
from controller.faults import BadConfiguration
from simulators import artefacts, breaking, evidence, faulted, playing, sealed
from simulators.breaking import BrokenOff
from simulators.errors import NotOurGame, ProductFailure, RigError, ScriptError
from simulators.faulted import Faults
from simulators.layout import Closed, Kind
from simulators.plan import Plan, of_scenario, of_script
from simulators.readrate import Reads
from simulators.runnable import HAS, lacks
from simulators.scripts import phh, scenario
from simulators.scripts.acts import Act, Script, SystemAct
from simulators.scripts.by_tags import by_tags
from simulators.scripts.by_word import ByWord, named_in
from simulators.scripts.scenario import Scenario
from simulators.scripts.variants import Pick
from simulators.seen import Seen
from simulators.through.facts import FactsStage
from simulators.through.following import Follower
from simulators.through.stage import Journal, NotRunnable, Stage
from simulators.verdict import Case

if TYPE_CHECKING:
    from simulators.rig import Rig
    from simulators.through.rigged import Bench

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
"""Where ledgers that prove nothing about a disk are kept: thousands of hands need not wait for one."""
PLAYED = (".phh", ".toml", ".pcapng")
"""Recorded hands, scenarios, captures of test mode."""
SOME = 20
"""So many names of cases are told."""
MOST_CHIPS = 250
"""At a table of six devices, before one player."""
HOUSE = {"buy_in_min_bb": "none", "buy_in_max_bb": "none", "rake.rate": "0%"}
"""What a recorded hand asks of any house: its stacks are as they were, and nobody took a rake."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a rehearsal was asked to do. ``speed`` 0: as the scenario says. ``reads``: see ``simulators.readrate``.

    Without ``seed`` a scenario draws with its own, and a recorded hand with 0.
    """

    through: str = "facts"
    profile: str = "rs_holdem"
    seed: int | None = None
    speed: int = 0
    table: Kind | None = None
    reads: Reads = "perfect"
    faults: Faults | None = None
    bundles: Path | None = None
    rig: "tuple[Rig, Bench] | None" = None
    closed_cards: Closed = "read"
    shoe: bool = False
    six: bool = False
    free: bool = False
    """Nobody said through what: a scenario that needs devices is played on virtual ones."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to play, what reports call it, and which case of a scenario."""

    path: Path
    name: str
    pick: Pick | None = None


def find(paths: Sequence[Path], limit: int = 0, table: Kind | None = None, home: Path | None = None) -> list[Found]:
    """All hands and cases of scenarios in files and folders, in a fixed order; with ``table`` those of this kind.

    Below ``home`` files are called by their path from there, so that two of one name are two.

    Raises ``ScriptError``.
    """
    found: list[Found] = []
    for path in paths:
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.suffix in PLAYED and p.is_file())
            found += [Found(file, str(file.relative_to(path).with_suffix(""))) for file in files]
        elif path.suffix in PLAYED and path.is_file():
            below = home is not None and path.is_relative_to(home)
            found.append(Found(path, str(path.relative_to(home).with_suffix("")) if below and home else path.stem))
        else:
            raise ScriptError(
                "arguments", "FILE|FOLDER", str(path), "give *.phh and *.toml files, or folders with them"
            )
    found = [case for one in found for case in _cases(one, table)]
    return found[:limit] if limit else found


def _cases(one: Found, table: Kind | None) -> list[Found]:
    """A scenario file is as many cases as it has variants, kinds of table and values to be swept over."""
    if one.path.suffix != ".toml":
        return [one]
    try:
        picks = scenario.cases(one.path)
    except ScriptError:
        return [one]  # what is wrong with it is told when it is played
    return [Found(one.path, f"{one.name}{pick.label}", pick) for pick in picks if table in (None, pick.table)]


def named(found: Sequence[Found], name: str) -> list[Found]:
    """The one case that a report calls so, also where it was found in a folder then. Raises ``ScriptError``.

    What a recorded hand draws hangs on its name, so it is given that one again.
    """
    alike = [one for one in found if name == one.name or name.endswith(f"/{one.name}")]
    if len(found) == 1 and found[0].path.suffix != ".toml":
        alike = list(found)
    if len(alike) != 1:
        there = ", ".join(one.name for one in found[:SOME]) or "none"
        raise ScriptError("arguments", "--as", name, f"names no case of these files; there are {there}")
    return [replace(alike[0], name=name)]


def play(one: Found, ask: Ask, journal: Journal | None = None, ledger: Path | None = None) -> Case:
    """Play one file and say what became of it; whoever is to blame, the others are played all the same.

    Raises ``BrokenOff``.
    """
    breaking.check()
    case = Case(f"{one.name}[{ask.rig[0].name}]" if ask.rig else one.name, "passed")
    case.command = _again(one, ask)
    began = time.monotonic()
    try:
        if one.path.suffix == ".phh":
            _play_hand(one, ask, journal, ledger, case)
        elif one.path.suffix == ".pcapng":
            _play_recording(one, ask, journal, ledger, case)
        else:
            _play_scenario(one, ask, journal, ledger, case)
        case.outcome = "failed" if case.lines else "passed"
    except BrokenOff as ended:
        ended.during = case.name
        raise
    except (NotOurGame, NotRunnable) as reason:
        case.outcome, case.lines = "skipped", [str(reason)]
    except (ScriptError, BadConfiguration) as error:
        case.outcome, case.lines = "wrong", [str(error)]
    except RigError as error:
        case.outcome, case.lines = "error", [str(error)]
    except (FeltError, ProductFailure) as error:
        case.outcome, case.lines = "failed", [f"{type(error).__name__}: {error}"]
    if case.outcome != "passed":
        breaking.check(case.name)  # a signal to all processes of a terminal has ended the daemon, too
    case.ms = round((time.monotonic() - began) * 1000)
    case.process, case.memory_kb = os.getpid(), _memory_kb()
    if case.bundle is not None:
        case.notes.append(f"bundle: {case.bundle}")
        artefacts.judged(case, case.bundle)
    return case


def _again(one: Found, ask: Ask) -> str:
    """The line that plays the same once more, from any folder."""
    table = f" --table {'six' if ask.six else ask.table}" if ask.table else ""
    reads = f" --reads {ask.reads}" if ask.reads != "perfect" else ""
    reads += f" --faults {ask.faults}" if ask.faults else ""
    more = (" --closed-cards unread" if ask.closed_cards == "unread" else "") + (" --shoe" if ask.shoe else "")
    more += f" --speed {ask.speed}" if ask.speed else ""
    where = f"--through {ask.through}"
    if ask.rig:
        rig = ask.rig[0]
        where = f"--rig {shlex.quote(str(rig.file.absolute()))}" + (" --clean" if rig.start else "")
    hand = one.path.suffix == ".phh"
    seed = ask.seed if ask.seed is not None else 0 if hand else None
    drawn = f" --seed {seed}" if seed is not None else ""
    how = f"{where}{table}{reads}{more} --profile {ask.profile}{drawn}"
    # What a recorded hand draws, its fault among it, hangs on its name; a scenario is as many cases as it has names.
    name = f" --as {shlex.quote(one.name)}" if one.name != one.path.stem else ""
    return f"feltsim rehearse {how}{name} {shlex.quote(str(one.path.absolute()))}"


def _memory_kb() -> int:
    """What this process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def house(name: str, folder: Path | None = None) -> tuple[dict[str, Any], Profile]:
    """The house rules for recorded hands. Raises ``BadConfiguration``."""
    return HOUSE, profiles.load(name, folder, HOUSE, by="--profile")


def profile_for(script: Script, name: str, rules: Profile) -> str:
    """The profile of the same house that plays this game, by its name. Raises ``NotOurGame`` where it has none."""
    stakes = script.stakes
    if rules.game != stakes.game:
        other = name.replace(rules.game, stakes.game)
        if other == name or other not in profiles.shipped():
            raise NotOurGame(script.path, "variant", stakes.game, f"{name} plays {rules.game} only")
        return other
    if stakes.structure is not None and stakes.structure not in rules.structures:
        known = ", ".join(rules.structures)
        raise NotOurGame(script.path, "variant", stakes.structure, f"{name} allows {known} only")
    return name


def _play_hand(one: Found, ask: Ask, journal: Journal | None, ledger: Path | None, case: Case) -> None:
    override, rules = house(ask.profile)
    case.seed = ask.seed or 0
    script = phh.convert(one.path, rules.heads_up_small_blind, case.seed, one.name)
    name = profile_for(script, ask.profile, rules)
    if name != ask.profile:
        override, rules = house(name)
    plan = of_script(script, name, override, rules, case.seed)
    follower = Follower(script, plan, journal if ask.through == "facts" else None)
    follower.play()
    if ask.through == "facts":
        follower.stage.perform(plan.closing())
        playing.judge_hand(script, follower.acts, follower.departed, plan, follower.stage, case)
        return
    acts = follower.acts
    if ask.table == "rfid":
        if follower.departed:
            raise NotRunnable("these house rules refuse what the record says: at an RFID table the chips have moved")
        plan = replace(plan, kind="rfid", reads=ask.reads)
        if ask.six and max(len(tags) for place, tags in plan.tokens.places.items() if place != "tray") > MOST_CHIPS:
            raise NotRunnable(f"stacks of more than {MOST_CHIPS} chips: the reader of the bets counts to 255")
        acts = by_tags(acts, plan.stakes, plan.seats, *_money(follower.seen))
    elif ask.closed_cards == "unread":
        acts = list(ByWord(plan.people["dealer"]).acts(acts))
    antennas = plan.kind == "rfid"
    plan = replace(plan, closed_cards=ask.closed_cards, shoe=ask.shoe and antennas, six=ask.six and antennas)
    speed = ask.speed or (5 if ask.table == "rfid" else 10)
    _fits(one.path, plan, ask)
    with (
        _stage(plan, ask, journal, ledger, speed) as stage,
        evidence.kept(one.path, case, stage, ask.bundles),
        evidence.blamed(case, stage),
    ):
        struck = None
        if ask.faults:
            struck = faulted.drawn(ask.faults, one.name, len(acts), plan, virtual=ask.through == "virtual")
        if struck:
            faulted.play_hand(script, acts, follower.departed, plan, stage, case, struck)
        else:
            playing.play_hand(script, acts, follower.departed, plan, stage, case)


def _money(seen: Sequence[Seen]) -> tuple[tuple[int, int], dict[int, int]]:
    """Who posts the blinds of the hand, and what each seat is paid: what people at the table know anyway."""
    started = next(event.data for event in seen if event.type == "hand.started")
    won: Counter[int] = Counter()
    for event in seen:
        if event.type == "award.computed":
            for pot in event.data["pots"]:
                won.update({winner["seat"]: winner["amount"] for winner in pot["winners"]})
    return (started["small_blind_seat"], started["big_blind_seat"]), dict(won)


def _play_scenario(
    one: Found, ask: Ask, journal: Journal | None, ledger: Path | None, case: Case, found: Found | None = None
) -> None:
    """``found``: the file that was asked for, where this scenario was made from it."""
    pick = one.pick
    if ask.seed is not None:
        pick = replace(pick or scenario.cases(one.path)[0], seed=ask.seed)
    script = scenario.load(one.path, pick)
    case.covers, case.seed = script.covers, script.run.seed
    if ask.free and "devices" in script.run.needs and set(script.run.needs) <= set(HAS["virtual"]):
        ask = replace(ask, through="virtual")
        case.command = _again(found or one, ask)
    rfid = script.table == "rfid"
    closed = "unread" if ask.closed_cards == "unread" else script.run.closed_cards
    plan = replace(of_scenario(script), reads=ask.reads if rfid else "perfect")
    plan = replace(plan, closed_cards=closed, shoe=(ask.shoe or script.run.shoe) and rfid)
    if closed == "unread" and plan.boxes:
        raise NotRunnable("closed_cards = unread is for poker: a table of boxes is settled from cards that were read")
    if closed == "unread" and not rfid:
        script = named_in(script, script.people["dealer"])
    plan = replace(plan, six=ask.six and plan.kind == "rfid" and not plan.boxes)
    _fits(one.path, plan, ask)
    for lack in lacks(script, ask.through, ask.rig[0] if ask.rig else None):
        raise NotRunnable(f"{lack.value}: {lack.remedy}")
    disk = any(_on_disk(act) for step in script.steps for act in step.acts)
    plan = replace(plan, disk=disk, metrics=bool(script.final.sealed))
    if plan.disk and ledger is not None:
        raise NotRunnable("disk.fill: the ledger lies on a small disk of its own; leave out --ledger")
    for _ in range(script.run.repeat):
        speed = ask.speed or script.run.speed
        with (
            _stage(plan, ask, journal, ledger, speed, killed=script.killed) as stage,
            evidence.kept(one.path, case, stage, ask.bundles),
            evidence.blamed(case, stage),
        ):
            kills = script.killed and ask.through == "wires"
            late = ask.rig[0].most_late_ms if ask.rig else None
            playing.ScenarioRun(script, plan, stage, kills=kills, through=ask.through, most_late_ms=late).play(case)
            seen = list(stage.seen)
        alone = not (journal or ledger or ask.rig)
        # Where time is real, an accident meets no two runs at the same moment.
        alike = ask.through == "virtual" or (ask.through == "wires" and not case.faulted)
        if script.final.sealed and alone and alike:
            _play_twin(script, plan, ask, seen, speed, case)


def _play_recording(one: Found, ask: Ask, journal: Journal | None, ledger: Path | None, case: Case) -> None:
    """What hands did in a capture of test mode, and what the table said of it: the same must come out again."""
    from simulators.scripts.recorded import heard_again  # noqa: PLC0415 - the only cases that read captures

    with tempfile.TemporaryDirectory(prefix="feltsim-") as folder:
        script = Path(folder) / f"{one.path.stem}.toml"
        script.write_text(heard_again(one.path), encoding="utf-8")
        _play_scenario(replace(one, path=script, pick=None), ask, journal, ledger, case, one)


def _play_twin(script: Scenario, plan: Plan, ask: Ask, seen: Sequence[Seen], speed: int, case: Case) -> None:
    """The same acts with other closed cards: nothing that leaves the process may differ for it.

    Over wires the play is compared: when a device or the broker says something of itself is another thing each time.
    """
    wires = ask.through == "wires"
    other, apart = sealed.twin(script, seen), Case(case.name, "passed")
    with _stage(plan, ask, None, None, speed, killed=script.killed) as stage:
        playing.ScenarioRun(other, plan, stage, kills=script.killed and wires, through=ask.through).play(apart)
        lines = sealed.differences(seen, stage.seen, ("play",) if wires else ())
    found = [f"final.sealed: {line}" for line in lines]
    case.lines += found
    case.leaked += len(found)


def _on_disk(act: Act) -> bool:
    return isinstance(act, SystemAct) and act.what.startswith("disk.")


def _fits(script: Path, plan: Plan, ask: Ask) -> None:
    """Raises ``ScriptError`` where the table of the rig is none for this case."""
    if ask.rig is not None:
        from simulators.fitting import unfit  # noqa: PLC0415 - as below

        for fault in unfit(script, plan, ask.rig[0]):
            raise fault


def _on_rig(plan: Plan, folder: Path, rig: "Rig", bench: "Bench") -> Stage:
    from simulators.through.byhand import FeltStage, Person  # noqa: PLC0415 - the other ways need none of it
    from simulators.through.rigged import RigStage  # noqa: PLC0415

    if rig.kind == "felt":
        return FeltStage(plan, folder, rig, bench, Person())
    return RigStage(plan, folder, rig, bench)


@contextmanager
def _stage(
    plan: Plan, ask: Ask, journal: Journal | None, ledger: Path | None, speed: int, *, killed: bool = False
) -> Iterator[Stage]:
    """The stage that was asked for, closed at the end whatever happens."""
    memory = str(MEMORY) if ask.through != "wires" and MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="feltsim-", dir=memory) as folder:
        own = None
        if journal is None and ask.through != "wires":
            own = journal = Journal(Path(folder) / "ledger", plan.seed)
        stage: Stage
        if ask.through == "facts":
            stage = FactsStage(plan, journal)
        elif ask.through == "virtual":
            from simulators.through.virtual import VirtualStage  # noqa: PLC0415 - facts need no devices

            stage = VirtualStage(plan, journal, killed=killed)
        elif ask.rig is not None:
            stage = _on_rig(plan, Path(folder), *ask.rig)
        else:
            from simulators.through.wires import WiresStage  # noqa: PLC0415 - nor USB/IP and a broker

            stage = WiresStage(plan, Path(folder), speed, ledger)
        try:
            with breaking.at_once():
                yield stage
        finally:
            stage.close()
            if own is not None:
                own.close()
