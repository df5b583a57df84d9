"""How nights compare: latency, false holds, resyncs, reconnects and flaky cases, against the last thirty.

A file of JSON lines, one a night: ``feltsim rehearse --trend FILE``. What has changed by more than the noise of the
nights before is named; nights with other cases are not compared.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from simulators.ending import percentile
from simulators.errors import ScriptError
from simulators.night import flaky
from simulators.verdict import Case

NIGHTS = 30
LEAST = 5
"""With fewer nights before, nobody knows their noise."""
DEVIATIONS = 3.0
SHARE = 0.05
"""A change below this share of the mean is never named: clocks and processors are not that steady."""


@dataclass(frozen=True, slots=True)
class NightSaid:
    """The figures of one night. ``what`` names the cases it played and how: only alike nights compare."""

    what: str
    when: str
    figures: Mapping[str, float]


def figures(cases: Sequence[Case]) -> dict[str, float]:
    """What is compared. A figure that nothing measured is left out."""
    played = [case for case in cases if case.outcome in ("passed", "failed")]
    sound = [case for case in played if not case.faulted and not case.fault]
    hands = sum(case.hands for case in sound)
    answers = [ms for case in sound for ms in case.answers_ms]
    added = [case.added_ms for case in sound if case.hands == 1]
    found: dict[str, float] = {
        "resyncs": sum(case.resyncs for case in played),
        "reconnects": sum(case.reconnects for case in played),
        "flaky_cases": len(list(flaky(cases))),
        "failed_cases": sum(case.outcome == "failed" for case in cases),
    }
    if hands:
        found["false_holds_per_1000_hands"] = 1000 * sum(case.needless_holds for case in sound) / hands
    for name, values in (("answer", answers), ("hand_close", added)):
        if values:
            found |= {f"{name}_p50_ms": percentile(values, 0.5), f"{name}_p99_ms": percentile(values, 0.99)}
    return found


def tonight(cases: Sequence[Case], through: str, now: datetime | None = None) -> NightSaid:
    """The figures of these cases."""
    names = json.dumps([through, sorted({case.name for case in cases})])
    when = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    return NightSaid(hashlib.sha256(names.encode()).hexdigest()[:16], when, figures(cases))


def read(path: Path) -> list[NightSaid]:
    """The nights before, the oldest first; none where there is no file. Raises ``ScriptError`` for another file."""
    if not path.exists():
        return []
    nights = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            said: dict[str, Any] = json.loads(line)
            nights.append(NightSaid(said["what"], said["when"], {k: float(v) for k, v in said["figures"].items()}))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ScriptError(path, "night", line[:80], "a line of JSON that --trend wrote", number) from error
    return nights


def append(path: Path, night: NightSaid) -> None:
    """Keep tonight for the nights to come."""
    line = json.dumps({"what": night.what, "when": night.when, "figures": dict(night.figures)})
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def changes(before: Sequence[NightSaid], night: NightSaid) -> list[str]:
    """What has changed by more than the noise of the last nights, a line each."""
    alike = [one for one in before if one.what == night.what][-NIGHTS:]
    found = []
    for name, value in sorted(night.figures.items()):
        values = [one.figures[name] for one in alike if name in one.figures]
        if len(values) < LEAST:
            continue
        mean, noise = fmean(values), DEVIATIONS * pstdev(values)
        if abs(value - mean) > max(noise, SHARE * abs(mean)):
            word = "rose" if value > mean else "fell"
            found.append(f"{name} {word} to {value:g}; it was {mean:g} +/- {noise:g} in {len(values)} nights")
    return found
