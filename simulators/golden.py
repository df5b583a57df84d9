"""``feltsim accept``: a scenario's whole stream of events beside the one that was accepted, masked, line by line.

A scenario with ``golden = "FOLDER"`` is held against the streams that lie there, a file for each case. What differs
from run to run is masked: times, durations, evidence, names, hashes. Through virtual devices every stream is compared;
over wires the play alone, because what devices and links tell of themselves is another thing there.
"""

import argparse
import difflib
import json
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simulators.errors import ScriptError
from simulators.plan import of_scenario
from simulators.scripts import scenario
from simulators.scripts.scenario import Scenario
from simulators.seen import Seen
from simulators.verdict import Case, Exit

MASK = "*"
MASKED = frozenset(
    {"evidence", "software", "boot", "time", "before", "after", "head", "signature", "carried", "through"}
)
"""Fields that are another thing in each run or each release."""
NAMES = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+Z"
    r"|[a-z0-9]+-\d{4}-?\d{2}-?\d{2}(?:-[a-z0-9]+)*"
    r"|[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
"""Hands, sessions, incidents and counts bear the day; hashes, salts, keys and ids are hex."""
SHOWN = 40
"""So many lines of a difference are told where a case fails."""


def lines(events: Sequence[Seen], streams: Sequence[str] = ()) -> list[str]:
    """The events as they are compared, a line each; with ``streams`` those of these streams alone."""
    return [
        f"{event.stream} {event.type} {json.dumps(_masked(event.data), sort_keys=True, ensure_ascii=False)}"
        for event in events
        if not streams or event.stream in streams
    ]


def _masked(value: Any, key: str = "") -> Any:
    if key in MASKED or key.endswith(("_ms", "sha256")):
        return MASK
    if isinstance(value, Mapping):
        return {name: _masked(item, name) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in value]
    return NAMES.sub(MASK, value) if isinstance(value, str) else value


def stored(script: Scenario) -> Path:
    """Where the accepted stream of this case lies."""
    name = re.sub(r"[^\w.-]+", "_", f"{script.path.stem}{script.label}").strip("_")
    return script.path.parent / script.golden / f"{name}.events"


def differences(script: Scenario, events: Sequence[Seen], through: str) -> list[str]:
    """What is not as it was accepted, for a report."""
    if not script.golden or through == "facts":
        return []
    file = stored(script)
    again = f"look at it and accept it: feltsim accept {script.path} --reason ..."
    if not file.is_file():
        return [f"golden: nothing is accepted yet; {again}"]
    found = _diff(file, lines(events, () if through == "virtual" else ("play",)), whole=through == "virtual")
    if not found:
        return []
    rest = [f"... and {len(found) - SHOWN} lines more"] if len(found) > SHOWN else []
    return [f"golden: {file.name}: the events are not those that were accepted; {again}", *found[:SHOWN], *rest]


def _diff(file: Path, now: Sequence[str], *, whole: bool) -> list[str]:
    text = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    accepted = [line for line in text if not line.startswith("#") and (whole or line.startswith("play "))]
    return list(difflib.unified_diff(accepted, list(now), "accepted", "now", lineterm="", n=1))


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
    found = _diff(file, now, whole=True)
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
    from simulators.playing import ScenarioRun  # noqa: PLC0415 - it compares what is told here
    from simulators.through.stage import Journal  # noqa: PLC0415
    from simulators.through.virtual import VirtualStage  # noqa: PLC0415

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
