"""Holds what was seen against what the scenario expects."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulators.scripts.expectations import Expect, Never
from simulators.scripts.matching import differences, matches
from simulators.seen import Seen

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Performed:
    """When a step was performed, by the rig's clock in ns. ``planned``: when it was to begin, where that was known."""

    began: int
    ended: int
    planned: int | None = None

    def as_json(self, step: str, began: int) -> dict[str, Any]:
        """For a report, in ms since the run began."""
        planned = None if self.planned is None else (self.planned - began) // MS
        return {
            "step": step,
            "planned_ms": planned,
            "began_ms": (self.began - began) // MS,
            "ended_ms": (self.ended - began) // MS,
        }


def judge(
    events: Sequence[Seen],
    steps: Mapping[str, Performed],
    expects: Iterable[Expect],
    nevers: Iterable[Never],
    began: int = 0,
) -> list[str]:
    """What was expected and not seen, or seen and not allowed, a line each."""
    expects = list(expects)
    found = [line for expect in expects for line in _expect(events, steps, expect, began)]
    for expect in expects:
        if expect.order:
            found += _order(events, steps, [e for name in expect.order for e in expects if e.id == name])
    return found + [line for never in nevers for line in _never(events, steps, never)]


def met(
    events: Sequence[Seen], steps: Mapping[str, Performed], expects: Iterable[Expect], began: int = 0
) -> list[dict[str, Any]]:
    """For a report: the event that met each expectation and how long after its step, or the nearest miss."""
    found = []
    for expect in expects:
        if expect.order or (expect.after is not None and expect.after not in steps):
            continue
        first = next(_meeting(events, steps, expect), None)
        told: dict[str, Any] = {"line": expect.line, "event": expect.event, "match": dict(expect.match)}
        if first is None:
            told |= {"met": None, "nearest": _nearest(events, expect).removeprefix("; ")}
        else:
            event = events[first]
            after = (event.at - _ended(event, steps, expect, began)) // MS
            told |= {"met": event.id or first, "after_ms": after}
        found.append(told)
    return found


def _meeting(events: Sequence[Seen], steps: Mapping[str, Performed], expect: Expect) -> Iterator[int]:
    since = steps[expect.after].began if expect.after else None
    for number, event in enumerate(events):
        if event.type == expect.event and (since is None or event.at >= since) and matches(expect.match, event.data):
            yield number


def _expect(events: Sequence[Seen], steps: Mapping[str, Performed], expect: Expect, began: int) -> list[str]:
    if expect.order:
        return []
    if expect.after is not None and expect.after not in steps:
        return [f"line {expect.line}: step {expect.after} was not performed"]
    met = list(_meeting(events, steps, expect))
    wanted = f"{expect.event} {_short(expect.match)}"
    if expect.count is not None and len(met) != expect.count:
        return [f"line {expect.line}: expected {expect.count} x {wanted}, seen {len(met)}"]
    if expect.count == 0:
        return []
    if not met:
        return [f"line {expect.line}: never seen: {wanted}{_nearest(events, expect)}"]
    if expect.within_ms is not None:
        late = (events[met[0]].at - _ended(events[met[0]], steps, expect, began)) // MS
        if late > expect.within_ms:
            return [f"line {expect.line}: {wanted} came after {late} ms, allowed are {expect.within_ms}"]
    return []


def _ended(event: Seen, steps: Mapping[str, Performed], expect: Expect, began: int) -> int:
    """The end of the step that an event answers: the named one, or the last one that had begun."""
    if expect.after:
        return steps[expect.after].ended
    return max((step.ended for step in steps.values() if step.began <= event.at), default=began)


def _nearest(events: Sequence[Seen], expect: Expect) -> str:
    misses = [differences(expect.match, event.data) for event in events if event.type == expect.event]
    if not misses:
        return f"; there was no {expect.event}"
    nearest = min(misses, key=len)
    return f"; nearest: {'; '.join(nearest) or 'one that came too early'}"


def _order(events: Sequence[Seen], steps: Mapping[str, Performed], expects: Sequence[Expect]) -> list[str]:
    performed = [expect for expect in expects if expect.after is None or expect.after in steps]
    firsts = [(expect.id, next(_meeting(events, steps, expect), None)) for expect in performed]
    known = [(name, number) for name, number in firsts if number is not None]
    return [f"order: {later} came before {earlier}" for (earlier, a), (later, b) in itertools.pairwise(known) if b < a]


def _never(events: Sequence[Seen], steps: Mapping[str, Performed], never: Never) -> Iterator[str]:
    for event in events:
        if event.type != never.event or not matches(never.match, event.data):
            continue
        if never.between is not None:
            first, last = (steps.get(name) for name in never.between)
            if first is None or event.at < first.began or (last is not None and event.at >= last.began):
                continue
        yield f"line {never.line}: must never be seen, and was: {never.event} {_short(never.match)}"


def _short(match: Mapping[str, Any]) -> str:
    return json.dumps(match, ensure_ascii=False) if match else ""
