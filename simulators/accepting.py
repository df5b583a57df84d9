"""``feltsim accept``: show what has changed in the events of scenarios, and keep it where a reason is given."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from simulators.errors import ScriptError
from simulators.golden import diff, lines, stored
from simulators.plan import of_scenario
from simulators.playing import ScenarioRun
from simulators.scripts import scenario
from simulators.scripts.scenario import Scenario
from simulators.through.stage import Journal
from simulators.through.virtual import VirtualStage
from simulators.verdict import Case, Exit


def main(arguments: Sequence[str]) -> int:
    """The command: play through virtual devices, show what differs, and keep it where a reason is given."""
    parser = argparse.ArgumentParser(prog="feltsim accept", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="scenarios with golden = FOLDER")
    parser.add_argument("--reason", default="", help="why the new events are right; without it nothing is kept")
    asked = parser.parse_args(arguments)
    found = 0
    code = Exit.PASSED
    try:
        for path in asked.files:
            for pick in scenario.cases(path):
                script = scenario.load(path, pick)
                if script.golden:
                    found += 1
                    code = max(code, _accept(script, asked.reason.strip()))
    except ScriptError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.SCRIPT
    if not found:
        sys.stderr.write('no case names golden = "FOLDER"\n')
        return Exit.NOTHING
    return code


def _accept(script: Scenario, reason: str) -> Exit:
    name = f"{script.path.stem}{script.label}"
    case, now = _played(script)
    if case.lines:
        sys.stdout.write(f"{name}: fails, and is not accepted: {case.lines[0]}\n")
        return Exit.PRODUCT
    file = stored(script)
    found = diff(file, now, whole=True)
    if not found:
        sys.stdout.write(f"{name}: as accepted\n")
        return Exit.PASSED
    sys.stdout.writelines(f"{line}\n" for line in (f"{name}:", *found))
    if not reason:
        sys.stdout.write("not kept: say with --reason why it is right\n")
        return Exit.PRODUCT
    file.parent.mkdir(parents=True, exist_ok=True)
    before = [line for line in file.read_text("utf-8").splitlines() if line.startswith("#")] if file.is_file() else []
    why = " ".join(reason.split())
    file.write_text("\n".join([*before, f"# {why}", *now]) + "\n", encoding="utf-8")
    return Exit.PASSED


def _played(script: Scenario) -> tuple[Case, list[str]]:
    plan, case = of_scenario(script), Case(script.id, "passed")
    with tempfile.TemporaryDirectory(prefix="feltsim-") as folder:
        journal = Journal(Path(folder) / "ledger", plan.seed)
        stage = VirtualStage(plan, journal, killed=script.killed)
        try:
            ScenarioRun(replace(script, golden=""), plan, stage).play(case)
            return case, lines(stage.seen)
        finally:
            stage.close()
            journal.close()
