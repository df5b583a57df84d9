"""What rehearsals cover: rules, incidents and kinds of fault, by what scenarios claim and by the events really seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controller import rulebook
from simulators.faults import KINDS
from simulators.verdict import Case

INCIDENTS = tuple(f"I-{number}" for number in range(1, 45))
EXAMPLES = 5
"""So many cases are named for each id; all are counted."""


def known() -> dict[str, tuple[str, ...]]:
    """Every id there is, by kind."""
    return {"rules": tuple(rule.id for rule in rulebook.rules()), "incidents": INCIDENTS, "faults": KINDS}


@dataclass(frozen=True, slots=True)
class Line:
    """One id: the cases whose scenario claims it, and those in which it was seen."""

    id: str
    claimed: tuple[str, ...]
    seen: tuple[str, ...]
    times: int

    def as_json(self) -> dict[str, Any]:
        """For a report."""
        return {
            "id": self.id,
            "claimed_by": list(self.claimed[:EXAMPLES]),
            "seen_in": list(self.seen[:EXAMPLES]),
            "cases_claiming": len(self.claimed),
            "cases_seen": len(self.seen),
            "times": self.times,
        }


def table(cases: Sequence[Case]) -> dict[str, list[Line]]:
    """A line for every id there is, by kind. Only cases that were played count."""
    played = [case for case in cases if case.outcome in ("passed", "failed")]
    return {kind: [_line(one, played) for one in ids] for kind, ids in known().items()}


def _line(one: str, played: Sequence[Case]) -> Line:
    claimed = tuple(case.name for case in played if one in case.covers)
    seen = tuple(case.name for case in played if case.shown[one] or case.fault == one)
    times = sum(case.shown[one] + (case.fault == one) for case in played)
    return Line(one, claimed, seen, times)


def as_json(cases: Sequence[Case]) -> dict[str, Any]:
    """The table and what it lacks: ``never`` are ids that nothing claims and nothing has shown."""
    lines = table(cases)
    return {
        kind: {
            "lines": [line.as_json() for line in found if line.claimed or line.seen],
            "never": [line.id for line in found if not line.claimed and not line.seen],
            "claimed_not_seen": [line.id for line in found if line.claimed and not line.seen],
        }
        for kind, found in lines.items()
    } | {"strangers": strangers(cases)}


def strangers(cases: Sequence[Case]) -> list[str]:
    """What scenarios claim to cover that is no rule, incident, kind of fault or event: a mistake."""
    ids = {one for of_kind in known().values() for one in of_kind}
    return sorted({one for case in cases for one in case.covers if "." not in one or one[:1].isupper()} - ids)


def summary(cases: Sequence[Case]) -> str:
    """One line of it."""
    parts = [_part(kind, lines) for kind, lines in table(cases).items()]
    return f"covered: {', '.join(parts)}"


def _part(kind: str, lines: Sequence[Line]) -> str:
    seen, claimed = sum(bool(line.seen) for line in lines), sum(bool(line.claimed and not line.seen) for line in lines)
    return f"{seen} of {len(lines)} {kind} seen and {claimed} more claimed"
