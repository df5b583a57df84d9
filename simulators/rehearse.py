"""``feltsim rehearse``: play recorded hands and scenarios, and hold the table to what must come out."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller import profiles
from controller.core.rules.profile import Profile
from controller.errors import FeltError
from controller.faults import BadConfiguration
from simulators import artefacts, faulted, night, playing, report
from simulators.errors import NotOurGame, ProductFailure, RigError, ScriptError
from simulators.faulted import Faults
from simulators.layout import Closed, Kind
from simulators.plan import Plan, of_scenario, of_script
from simulators.readrate import Reads
from simulators.scripts import phh, scenario
from simulators.scripts.acts import Script
from simulators.scripts.by_tags import by_tags
from simulators.scripts.by_word import ByWord, named_in
from simulators.scripts.variants import Pick
from simulators.seen import Seen
from simulators.through.facts import FactsStage
from simulators.through.following import Follower
from simulators.through.stage import Captured, Journal, NotRunnable, Stage
from simulators.verdict import Case, Exit, exit_code

if TYPE_CHECKING:
    from simulators.rig import Rig
    from simulators.rigs import Host

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
"""Where ledgers that prove nothing about a disk are kept: thousands of hands need not wait for one."""
WAYS = ("facts", "virtual", "wires")
HAS = {"facts": (), "virtual": ("devices",), "wires": ("devices", "broker", "processes")}
"""What a scenario may ask for in ``needs``, and which way to rehearse has it."""
MOST_CHIPS = 250
"""At a table of six devices, before one player."""
HOUSE = {"buy_in_min_bb": "none", "buy_in_max_bb": "none", "rake.rate": "0%"}
"""What a recorded hand asks of any house: its stacks are as they were, and nobody took a rake."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a rehearsal was asked to do. ``speed`` 0: as the scenario says. ``reads``: see ``simulators.readrate``."""

    through: str = "facts"
    profile: str = "rs_holdem"
    seed: int = 0
    speed: int = 0
    table: Kind | None = None
    reads: Reads = "perfect"
    faults: Faults | None = None
    bundles: Path | None = None
    rig: "tuple[Rig, Host] | None" = None
    closed_cards: Closed = "read"
    shoe: bool = False
    six: bool = False


def _several(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: give 1 or more, or leave it out for all")
    return number


def main(arguments: Sequence[str]) -> int:
    """The command. Returns an exit code of scenarios.md section 7."""
    parser = argparse.ArgumentParser(prog="feltsim rehearse", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, metavar="FILE|FOLDER", help="*.phh and scenario *.toml")
    parser.add_argument("--through", choices=WAYS, default="facts")
    parser.add_argument("--table", choices=("shoe", "rfid", "six"), help="only this kind (recorded hands: shoe)")
    parser.add_argument("--reads", choices=("perfect", "field"), default="perfect", help="how well antennas read")
    parser.add_argument("--closed-cards", choices=("read", "unread"), default="read", help="whether sensors read them")
    parser.add_argument("--shoe", action="store_true", help="with --table rfid: a shoe beside the antennas")
    parser.add_argument("--profile", default="rs_holdem", help="house rules for recorded hands")
    parser.add_argument("--ledger", type=Path, help="keep the ledger in this new file, its keys beside it")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--jobs", type=int, default=1, help="cases at the same time")
    parser.add_argument("--limit", type=_several, default=0, help="at most so many cases, refused ones among them")
    parser.add_argument("--seed", type=int, default=0, help="draws unknown cards and pauses")
    parser.add_argument("--speed", type=int, default=0, help="wires: times faster than real (default: the scenario's)")
    parser.add_argument("--faults", metavar="seed=N,rate=R", help="strike so many recorded hands with a fault each")
    parser.add_argument("--night", type=Path, metavar="FILE", help="play its cases and hold them to its budgets")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write report.json")
    parser.add_argument("--bundles", type=Path, metavar="FOLDER", help="a folder of evidence for each case that fails")
    parser.add_argument("--rig", type=Path, metavar="RIG.toml", help="play on this rig: see docs/hil.md")
    asked = parser.parse_args(arguments)
    if not asked.paths and asked.night is None:
        parser.error("give files or folders, or --night")
    try:
        faults = Faults.read(asked.faults) if asked.faults else None
        ask = Ask(
            asked.through,
            asked.profile,
            asked.seed,
            asked.speed,
            "rfid" if asked.table == "six" else asked.table,
            asked.reads,
            faults,
            asked.bundles,
            closed_cards=asked.closed_cards,
            shoe=asked.shoe,
            six=asked.table == "six",
        )
        house(ask.profile)
        plan = night.read(asked.night) if asked.night else None
        found = find(asked.paths or (plan.cases if plan else ()), asked.limit, ask.table)
        if plan is not None:
            found = [found[number] for number in night.shuffled(plan, len(found))]
        with _rigged(asked.rig) as (rig, about):
            ask = replace(ask, rig=rig, through="wires" if rig else ask.through)
            cases = run(found, ask, asked.ledger, 1 if rig else asked.jobs, quiet=asked.json)
    except (ScriptError, BadConfiguration) as error:
        sys.stderr.write(f"{error}\n")
        return Exit.SCRIPT
    except RigError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.RIG
    (report.as_json if asked.json else report.as_table)(cases, sys.stdout)
    about = artefacts.properties(ask.seed, ask.through) | about
    if asked.junit:
        artefacts.junit(cases, asked.junit, about)
    if asked.report:
        artefacts.report(cases, asked.report, about)
    broken = night.over(plan, cases) if plan is not None else []
    sys.stderr.writelines(f"over budget: {line}\n" for line in broken)
    code = exit_code(cases)
    kept = faulted.within_budget(cases) and not broken
    return Exit.BUDGET if code == Exit.PASSED and not kept else code


@dataclass(frozen=True, slots=True)
class Found:
    """A file to play, what reports call it, and which case of a scenario."""

    path: Path
    name: str
    pick: Pick | None = None


def find(paths: Sequence[Path], limit: int = 0, table: Kind | None = None) -> list[Found]:
    """All hands and cases of scenarios in files and folders, in a fixed order; with ``table`` those of this kind.

    Raises ``ScriptError``.
    """
    found: list[Found] = []
    for path in paths:
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.suffix in (".phh", ".toml") and p.is_file())
            found += [Found(file, str(file.relative_to(path).with_suffix(""))) for file in files]
        elif path.suffix in (".phh", ".toml") and path.is_file():
            found.append(Found(path, path.stem))
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


def run(
    found: Sequence[Found], ask: Ask, ledger: Path | None = None, jobs: int = 1, *, quiet: bool = False
) -> list[Case]:
    """Play all cases. Cases that keep one ledger are played one after the other."""
    if ledger is not None:
        return list(report.tracked(_one_ledger(found, ask, ledger), len(found), quiet=quiet))
    if jobs == 1:
        return list(report.tracked((play(one, ask) for one in found), len(found), quiet=quiet))
    with ProcessPoolExecutor(jobs) as pool:
        results = pool.map(play, found, [ask] * len(found), chunksize=1 if ask.through == "wires" else 20)
        return list(report.tracked(results, len(found), quiet=quiet))


def _one_ledger(found: Sequence[Found], ask: Ask, ledger: Path) -> Iterator[Case]:
    if ask.through == "wires":
        yield from (play(one, ask, None, ledger) for one in found)
        return
    journal = Journal(ledger, ask.seed)
    try:
        for one in found:
            yield play(one, ask, journal)
    finally:
        journal.close()


def play(one: Found, ask: Ask, journal: Journal | None = None, ledger: Path | None = None) -> Case:
    """Play one file and say what became of it; whoever is to blame, the others are played all the same."""
    case = Case(one.name, "passed")
    table = f" --table {'six' if ask.six else ask.table}" if ask.table else ""
    reads = f" --reads {ask.reads}" if ask.reads != "perfect" else ""
    more = (" --closed-cards unread" if ask.closed_cards == "unread" else "") + (" --shoe" if ask.shoe else "")
    how = f"--through {ask.through}{table}{reads}{more} --profile {ask.profile} --seed {ask.seed}"
    case.command = f"feltsim rehearse {how} {one.path}"
    began = time.monotonic()
    try:
        if one.path.suffix == ".phh":
            _play_hand(one, ask, journal, ledger, case)
        else:
            _play_scenario(one, ask, journal, ledger, case)
        case.outcome = "failed" if case.lines else "passed"
    except (NotOurGame, NotRunnable) as reason:
        case.outcome, case.lines = "skipped", [str(reason)]
    except (ScriptError, BadConfiguration) as error:
        case.outcome, case.lines = "wrong", [str(error)]
    except RigError as error:
        case.outcome, case.lines = "error", [str(error)]
    except (FeltError, ProductFailure) as error:
        case.outcome, case.lines = "failed", [f"{type(error).__name__}: {error}"]
    case.ms = round((time.monotonic() - began) * 1000)
    return case


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
    script = phh.convert(one.path, rules.heads_up_small_blind, ask.seed, one.name)
    name = profile_for(script, ask.profile, rules)
    if name != ask.profile:
        override, rules = house(name)
    plan = of_script(script, name, override, rules, ask.seed)
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
    with _stage(plan, ask, journal, ledger, speed) as stage, _evidence(one, ask, case, stage):
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


def _play_scenario(one: Found, ask: Ask, journal: Journal | None, ledger: Path | None, case: Case) -> None:
    script = scenario.load(one.path, one.pick)
    rfid = script.table == "rfid"
    closed = "unread" if ask.closed_cards == "unread" else script.run.closed_cards
    plan = replace(of_scenario(script), reads=ask.reads if rfid else "perfect")
    plan = replace(plan, closed_cards=closed, shoe=(ask.shoe or script.run.shoe) and rfid)
    if closed == "unread" and plan.boxes:
        raise NotRunnable("closed_cards = unread is for poker: a table of boxes is settled from cards that were read")
    if closed == "unread" and not rfid:
        script = named_in(script, script.people["dealer"])
    plan = replace(plan, six=ask.six and plan.kind == "rfid" and not plan.boxes)
    if script.killed and ask.through == "facts":
        raise NotRunnable("kill_after: there is nothing to kill without devices; rehearse through virtual or wires")
    for need in script.run.needs:
        if need not in HAS[ask.through]:
            raise NotRunnable(f"needs {need}, which {ask.through} has not got")
    for _ in range(script.run.repeat):
        speed = ask.speed or script.run.speed
        with (
            _stage(plan, ask, journal, ledger, speed, killed=script.killed) as stage,
            _evidence(one, ask, case, stage),
        ):
            kills = script.killed and ask.through == "wires"
            playing.ScenarioRun(script, plan, stage, kills=kills, through=ask.through).play(case)


@contextmanager
def _rigged(path: Path | None) -> Iterator["tuple[tuple[Rig, Host] | None, dict[str, str]]"]:
    """The rig of a file with its devices, after the preflight, and what that found; nothing without a file."""
    if path is None:
        yield None, {}
        return
    from simulators import rig as rigs  # noqa: PLC0415 - the other ways need neither
    from simulators.through.rigged import on_the_bench  # noqa: PLC0415

    rig = rigs.read(path)
    with tempfile.TemporaryDirectory(prefix="feltsim-") as folder, on_the_bench(rig, Path(folder)) as (bench, found):
        yield (rig, bench), found


@contextmanager
def _evidence(one: Found, ask: Ask, case: Case, stage: Stage) -> Iterator[None]:
    """Keep what a case leaves behind if it fails, before its stage is closed."""
    well = False
    try:
        yield
        well = not case.lines
    finally:
        if not well and ask.bundles is not None:
            bodies = [event.body for event in stage.seen if event.body]
            folder = stage.capture.parent if isinstance(stage, Captured) else None
            case.notes.append(f"bundle: {artefacts.bundle(case, one.path, bodies, folder, ask.bundles)}")


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
            from simulators.through.rigged import RigStage  # noqa: PLC0415

            stage = RigStage(plan, Path(folder), *ask.rig)
        else:
            from simulators.through.wires import WiresStage  # noqa: PLC0415 - nor USB/IP and a broker

            stage = WiresStage(plan, Path(folder), speed, ledger)
        try:
            yield stage
        finally:
            stage.close()
            if own is not None:
                own.close()
