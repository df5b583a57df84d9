"""``feltsim rehearse``: play recorded hands and scenarios, and hold the table to what must come out."""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from controller.faults import BadConfiguration
from simulators import artefacts, faulted, night, report, trend
from simulators.cases import HOUSE, Ask, Found, find, house, play
from simulators.errors import RigError, ScriptError
from simulators.faulted import Faults
from simulators.through.stage import Journal
from simulators.verdict import Case, Exit, exit_code

if TYPE_CHECKING:
    from simulators.rig import Rig
    from simulators.through.rigged import Bench

__all__ = ["HOUSE", "Ask", "Found", "find", "house", "main", "play", "run"]

WAYS = ("facts", "virtual", "wires")


def _several(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: give 1 or more, or leave it out for all")
    return number


def main(arguments: Sequence[str]) -> int:
    """The command. Returns an exit code of scenarios.md section 7."""
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
    parser.add_argument("--jobs", type=int, default=1, help="cases at the same time")
    parser.add_argument("--limit", type=_several, default=0, help="at most so many cases, refused ones among them")
    parser.add_argument("--seed", type=int, default=0, help="draws unknown cards and pauses")
    parser.add_argument("--speed", type=int, default=0, help="wires: times faster than real (default: the scenario's)")
    parser.add_argument("--faults", metavar="seed=N,rate=R", help="strike so many recorded hands with a fault each")
    parser.add_argument("--as", dest="name", metavar="NAME", help="what one recorded hand was called in its folder")
    parser.add_argument("--night", type=Path, metavar="FILE", help="play its cases and hold them to its budgets")
    parser.add_argument("--trend", type=Path, metavar="FILE", help="keep the night's figures, compare the last thirty")
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
            asked.through or "facts",
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
            free=asked.through is None,
        )
        house(ask.profile)
        plan = night.read(asked.night) if asked.night else None
        found = find(asked.paths or (plan.cases if plan else ()), asked.limit, ask.table)
        if asked.name is not None:
            found = _named(found, asked.name)
        if plan is not None:
            found = [found[number] for number in night.shuffled(plan, len(found))]
        nights = trend.read(asked.trend) if asked.trend else []
        cases: list[Case] = []
        about: dict[str, str] = {"order": plan.shuffle_seed} if plan and plan.shuffle_seed else {}
        of_night = plan.rigs if plan and asked.through is None and asked.rig is None else ()
        for file in of_night or (asked.rig,):
            with _rigged(file) as (rig, seen):
                ask = replace(ask, rig=rig, through="wires" if rig else ask.through)
                apart = plan is not None and night.MEMORY in plan.limits and ask.through != "wires"
                cases += run(found, ask, asked.ledger, 1 if rig else asked.jobs, quiet=asked.json, apart=apart)
                prefix = f"{rig[0].name}." if rig and len(of_night) > 1 else ""
                about |= {f"{prefix}{name}": said for name, said in seen.items()}
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
        spent = night.budgets(plan, cases) if plan is not None else []
        artefacts.report(cases, asked.report, about, [budget.as_json() for budget in spent])
    broken = night.over(plan, cases) if plan is not None else []
    sys.stderr.writelines(f"over budget: {line}\n" for line in broken)
    sys.stderr.writelines(f"{line}\n" for line in (night.unmeasured(plan, cases) if plan is not None else ()))
    if asked.trend:
        said = trend.tonight(cases, ask.through)
        sys.stderr.writelines(f"trend: {line}\n" for line in trend.changes(nights, said))
        trend.append(asked.trend, said)
    code = exit_code(cases)
    kept = faulted.within_budget(cases) and not broken
    return Exit.BUDGET if code == Exit.PASSED and not kept else code


def _named(found: Sequence[Found], name: str) -> list[Found]:
    """One recorded hand under the name it had in a folder: it draws what it drew there. Raises ``ScriptError``."""
    if len(found) != 1 or found[0].path.suffix != ".phh":
        raise ScriptError("arguments", "--as", name, "give one recorded hand (*.phh) with it")
    return [replace(found[0], name=name)]


def run(
    found: Sequence[Found],
    ask: Ask,
    ledger: Path | None = None,
    jobs: int = 1,
    *,
    quiet: bool = False,
    apart: bool = False,
) -> list[Case]:
    """Play all cases. Cases that keep one ledger are played one after the other.

    ``apart``: in processes of their own, whose memory holds nothing of the cases that are over.
    """
    if ledger is not None:
        return list(report.tracked(_one_ledger(found, ask, ledger), len(found), quiet=quiet))
    if jobs == 1 and not apart:
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


@contextmanager
def _rigged(path: Path | None) -> Iterator["tuple[tuple[Rig, Bench] | None, dict[str, str]]"]:
    """The rig of a file with its devices, after the preflight, and what that found; nothing without a file."""
    if path is None:
        yield None, {}
        return
    from simulators import rig as rigs  # noqa: PLC0415 - the other ways need neither
    from simulators.through.rigged import on_the_bench  # noqa: PLC0415

    rig = rigs.read(path)
    with tempfile.TemporaryDirectory(prefix="feltsim-") as folder, on_the_bench(rig, Path(folder)) as (bench, found):
        yield (rig, bench), found
