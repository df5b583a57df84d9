"""``feltsim rehearse``: play recorded hands and scenarios, and hold the table to what must come out."""

import argparse
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing import active_children
from pathlib import Path
from typing import TYPE_CHECKING

from controller.faults import BadConfiguration
from simulators import artefacts, breaking, faulted, night, report, trend
from simulators.breaking import BrokenOff
from simulators.cases import HOUSE, Ask, Found, find, house, named, play
from simulators.errors import RigError, ScriptError
from simulators.faulted import Faults
from simulators.night import Night
from simulators.through.stage import Journal
from simulators.trend import NightSaid
from simulators.verdict import Broken, Case, Exit, exit_code

if TYPE_CHECKING:
    from simulators.rig import Rig
    from simulators.through.rigged import Bench

__all__ = ["HOUSE", "Ask", "Found", "find", "house", "main", "play", "run"]

WAYS = ("facts", "virtual", "wires")
AHEAD = 16
"""So many cases are handed to each process before the first of them is done."""


def _several(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: give 1 or more, or leave it out for all")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="feltsim rehearse", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, metavar="FILE|FOLDER", help="*.phh and scenario *.toml")
    parser.add_argument("--through", choices=WAYS, help="default: facts; virtual where a scenario needs devices")
    parser.add_argument("--table", choices=("shoe", "rfid", "six"), help="only this kind (recorded hands: shoe)")
    parser.add_argument("--reads", choices=("perfect", "field"), default="perfect", help="how well antennas read")
    parser.add_argument("--closed-cards", choices=("read", "unread"), default="read", help="whether sensors read them")
    parser.add_argument("--shoe", action="store_true", help="with --table rfid: a shoe beside the antennas")
    parser.add_argument("--profile", default="rs_holdem", help="house rules for recorded hands")
    parser.add_argument("--ledger", type=Path, help="keep the ledger in this new file, its keys beside it")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--jobs", type=_several, default=1, help="cases at the same time")
    parser.add_argument("--limit", type=_several, default=0, help="at most so many cases, refused ones among them")
    parser.add_argument(
        "--time-limit", type=_several, default=0, metavar="SECONDS", help="break off then, and tell what was played"
    )
    parser.add_argument("--seed", type=int, help="draws unknown cards and pauses (default: the scenario's, or 0)")
    parser.add_argument("--speed", type=int, default=0, help="wires: times faster than real (default: the scenario's)")
    parser.add_argument("--faults", metavar="seed=N,rate=R", help="strike so many recorded hands with a fault each")
    parser.add_argument("--as", dest="name", metavar="NAME", help="only the case of this name, as a report has it")
    parser.add_argument("--night", type=Path, metavar="FILE", help="play its cases and hold them to its budgets")
    parser.add_argument("--trend", type=Path, metavar="FILE", help="keep the night's figures, compare the last thirty")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write report.json")
    parser.add_argument("--bundles", type=Path, metavar="FOLDER", help="a folder of evidence for each case that fails")
    parser.add_argument("--rig", type=Path, metavar="RIG.toml", help="play on this rig: see docs/hil.md")
    parser.add_argument("--clean", action="store_true", help="first put aside what the rig's table left; nights do")
    return parser


def main(arguments: Sequence[str]) -> int:
    """The command. Returns an exit code of scenarios.md section 7, or ``Exit.PARTLY``."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if not asked.paths and asked.night is None:
        parser.error("give files or folders, or --night")
    try:
        ask = _ask(asked)
        house(ask.profile)
        plan = night.read(asked.night) if asked.night else None
        home = asked.night.parent if asked.night else None
        found = find(asked.paths or (plan.cases if plan else ()), asked.limit, ask.table, home)
        if asked.name is not None:
            found = named(found, asked.name)
        if plan is not None:
            found = [found[number] for number in night.shuffled(plan, len(found))]
        nights = trend.read(asked.trend) if asked.trend else []
        with breaking.heeded(asked.time_limit):
            played = _play(asked, ask, plan, found)
            return _tell(asked, ask, plan, nights, played)
    except (ScriptError, BadConfiguration) as error:
        sys.stderr.write(f"{error}\n")
        return Exit.SCRIPT


def _ask(asked: argparse.Namespace) -> Ask:
    """What was asked for. Raises ``ScriptError``."""
    return Ask(
        asked.through or "facts",
        asked.profile,
        asked.seed,
        asked.speed,
        "rfid" if asked.table == "six" else asked.table,
        asked.reads,
        Faults.read(asked.faults) if asked.faults else None,
        asked.bundles,
        closed_cards=asked.closed_cards,
        shoe=asked.shoe,
        six=asked.table == "six",
        free=asked.through is None,
    )


@dataclass(slots=True)
class _Played:
    """What has been played so far, what the rigs are, and what ended it before its time."""

    cases: list[Case] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)
    broken: Broken | None = None
    code: Exit = Exit.PARTLY
    """What the command ends with where it was broken off and nothing worse was seen."""


def _play(asked: argparse.Namespace, ask: Ask, plan: Night | None, found: Sequence[Found]) -> _Played:
    """Play on each rig. Where one is not ready, or its file is wrong, the night ends there."""
    played = _Played(about={"order": plan.shuffle_seed} if plan and plan.shuffle_seed else {})
    of_night = plan.rigs if plan and asked.through is None and asked.rig is None else ()
    files = of_night or (asked.rig,)
    total = len(found) * len(files)
    try:
        for file in files:
            with _rigged(file, clean=asked.clean or plan is not None) as (rig, seen):
                ask = replace(ask, rig=rig, through="wires" if rig else ask.through)
                prefix = f"{rig[0].name}." if rig and len(of_night) > 1 else ""
                played.about |= {f"{prefix}{name}": said for name, said in seen.items()}
                apart = plan is not None and night.MEMORY in plan.limits and ask.through != "wires"
                jobs = 1 if rig else asked.jobs
                for case in _playing(found, ask, asked.ledger, jobs, quiet=asked.json, apart=apart):
                    played.cases.append(case)
    except BrokenOff as ended:
        played.broken = Broken(str(ended), len(played.cases), total, ended.during)
    except (ScriptError, BadConfiguration, RigError) as error:
        of_rig = isinstance(error, RigError)
        played.code = Exit.RIG if of_rig else Exit.SCRIPT
        played.broken = Broken(f"by {'the rig' if of_rig else 'a file'}: {error}", len(played.cases), total)
        sys.stderr.write(f"{error}\n")
    return played


def _tell(
    asked: argparse.Namespace, ask: Ask, plan: Night | None, nights: Sequence[NightSaid], played: _Played
) -> Exit:
    """Report what was played, all of it or not; what the command ends with."""
    cases, broken = played.cases, played.broken
    over = night.over(plan, cases) if plan is not None else []
    code = exit_code(cases)
    if code == Exit.PASSED and (over or not faulted.within_budget(cases)):
        code = Exit.BUDGET
    if broken and (played.code != Exit.PARTLY or code in (Exit.PASSED, Exit.BUDGET, Exit.NOTHING)):
        code = played.code
    if asked.json:
        report.as_json(cases, sys.stdout, code, broken)
    else:
        report.as_table(cases, sys.stdout, broken)
    about = artefacts.properties(ask.through) | played.about
    if asked.junit:
        artefacts.junit(cases, asked.junit, about, broken)
    if asked.report:
        spent = night.budgets(plan, cases) if plan is not None else []
        artefacts.report(cases, asked.report, about, code, [budget.as_json() for budget in spent], broken)
    sys.stderr.writelines(f"over budget: {line}\n" for line in over)
    sys.stderr.writelines(f"{line}\n" for line in (night.unmeasured(plan, cases) if plan is not None else ()))
    if asked.trend and not broken:  # half a night is none to compare others with
        said = trend.tonight(cases, ask.through)
        sys.stderr.writelines(f"trend: {line}\n" for line in trend.changes(nights, said))
        trend.append(asked.trend, said)
    return code


def run(
    found: Sequence[Found], ask: Ask, ledger: Path | None = None, jobs: int = 1, *, quiet: bool = False
) -> list[Case]:
    """Play all cases. Cases that keep one ledger are played one after the other."""
    return list(_playing(found, ask, ledger, jobs, quiet=quiet))


def _playing(
    found: Sequence[Found], ask: Ask, ledger: Path | None, jobs: int, *, quiet: bool, apart: bool = False
) -> Iterator[Case]:
    """Each case when it has been played. Raises ``BrokenOff`` where the rehearsal is to end.

    ``apart``: in processes of their own, whose memory holds nothing of the cases that are over.
    """
    if ledger is not None:
        cases = _one_ledger(found, ask, ledger)
    elif jobs == 1 and not apart:
        cases = (play(one, ask) for one in found)
    else:
        cases = _in_processes(found, ask, jobs)
    return report.tracked(cases, len(found), quiet=quiet)


def _in_processes(found: Sequence[Found], ask: Ask, jobs: int) -> Iterator[Case]:
    with ProcessPoolExecutor(jobs, initializer=breaking.in_worker) as pool:
        submitted = (pool.submit(play, one, ask) for one in found)
        awaited = deque(islice(submitted, AHEAD * jobs))
        done = 0
        try:
            while awaited:
                with breaking.at_once():
                    case = awaited[0].result()
                awaited.popleft()
                awaited.extend(islice(submitted, 1))
                done += 1
                yield case
        except BrokenOff as ended:
            ended.during = found[done].name
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():
                worker.terminate()
            pool.shutdown()
            yield from (one.result() for one in awaited if _done(one))
            raise


def _done(one: Future[Case]) -> bool:
    return one.done() and not one.cancelled() and one.exception() is None


def _one_ledger(found: Sequence[Found], ask: Ask, ledger: Path) -> Iterator[Case]:
    if ask.through == "wires":
        yield from (play(one, ask, None, ledger) for one in found)
        return
    journal = Journal(ledger, ask.seed or 0)
    try:
        for one in found:
            yield play(one, ask, journal)
    finally:
        journal.close()


@contextmanager
def _rigged(path: Path | None, *, clean: bool) -> Iterator["tuple[tuple[Rig, Bench] | None, dict[str, str]]"]:
    """The rig of a file with its devices, after the preflight, and what that found; nothing without a file.

    ``clean``: one that starts its daemon itself does so anew.
    """
    if path is None:
        yield None, {}
        return
    from simulators import rig as rigs  # noqa: PLC0415 - the other ways need neither
    from simulators import rigclean  # noqa: PLC0415
    from simulators.through.rigged import on_the_bench  # noqa: PLC0415

    rig = rigs.read(path)
    for fault in rigs.unsound(rig):
        raise fault
    if clean and rig.start:
        sys.stderr.writelines(f"{line}\n" for line in rigclean.cleaned(rig))
    with tempfile.TemporaryDirectory(prefix="feltsim-") as folder, on_the_bench(rig, Path(folder)) as (bench, found):
        yield (rig, bench), found
