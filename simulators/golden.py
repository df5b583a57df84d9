"""A scenario's whole stream of events beside the one that was accepted, masked, line by line.

A scenario with ``golden = "FOLDER"`` is held against the streams that lie there, a file for each case. What differs
from run to run is masked: times, durations, evidence, names, hashes. Through virtual devices every stream is compared;
over wires the play alone, because what devices and links tell of themselves is another thing there.
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simulators.scripts.scenario import Scenario
from simulators.seen import Seen

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
SIGNED = "ledger.signed"
"""Where time is real it comes when it is due, between any two others."""
SHOWN = 40
"""So many lines of a difference are told where a case fails."""


def lines(events: Sequence[Seen], streams: Sequence[str] = ()) -> list[str]:
    """The events as they are compared, a line each; with ``streams`` what the table had to say in these alone."""
    return [
        f"{event.stream} {event.type} {json.dumps(_masked(event.data), sort_keys=True, ensure_ascii=False)}"
        for event in events
        if not streams or (event.stream in streams and event.type != SIGNED)
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
    found = diff(file, lines(events, () if through == "virtual" else ("play",)), whole=through == "virtual")
    if not found:
        return []
    rest = [f"... and {len(found) - SHOWN} lines more"] if len(found) > SHOWN else []
    return [f"golden: {file.name}: the events are not those that were accepted; {again}", *found[:SHOWN], *rest]


def diff(file: Path, now: Sequence[str], *, whole: bool) -> list[str]:
    """The lines that differ from those in the file; without ``whole`` the play alone is compared."""
    text = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    accepted = [line for line in text if not line.startswith("#")]
    if not whole:
        accepted = [line for line in accepted if line.startswith("play ") and not line.startswith(f"play {SIGNED} ")]
    return list(difflib.unified_diff(accepted, list(now), "accepted", "now", lineterm="", n=1))
