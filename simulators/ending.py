"""Holds the end of a scenario against its ``[final]``: results, chips, closed cards, and how fast answers came."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from simulators.judge import MS, Performed
from simulators.scripts.expectations import Final, Latency
from simulators.scripts.matching import differences
from simulators.scripts.sequence import Step
from simulators.seen import HandSeen, Seen, hand_seen, hands
from simulators.tokens import Tokens


def final(events: Sequence[Seen], wanted: Final) -> list[str]:
    """What is not as the scenario's end says, a line each."""
    played = [hand_seen(events, hand) for hand in hands(events)]
    found = [f"final.{line}" for line in _results(played, wanted)]
    if wanted.conserved:
        found += [f"final.conserved: {hand.hand} does not add up" for hand in played if not hand.balanced]
    if wanted.incidents_open is not None:
        opened = {e.data["incident"] for e in events if e.type == "incident.opened"}
        left = opened - {e.data["incident"] for e in events if e.type == "incident.closed"}
        if len(left) != wanted.incidents_open:
            found.append(f"final.incidents_open: {len(left)}, expected {wanted.incidents_open}")
    if wanted.state is not None and state(events) != wanted.state:
        found.append(f"final.state: {state(events)}, expected {wanted.state}")
    if wanted.meters:
        found += [f"final.meters: {line}" for line in differences(wanted.meters, meters(events))]
    return found


def _results(played: Sequence[HandSeen], wanted: Final) -> Iterator[str]:
    last = played[-1] if played else None
    for seat, stack in wanted.stacks.items():
        has = last.stacks.get(seat) if last else None
        if has != stack:
            yield f"stacks: seat {seat} has {has}, expected {stack}"
    if wanted.rake is not None and sum(hand.rake for hand in played) != wanted.rake:
        yield f"rake: {sum(hand.rake for hand in played)}, expected {wanted.rake}"
    if wanted.house_net is not None and sum(hand.house_net for hand in played) != wanted.house_net:
        yield f"house_net: {sum(hand.house_net for hand in played)}, expected {wanted.house_net}"
    for box, net in wanted.boxes.items():
        got = sum(hand.boxes.get(box, 0) for hand in played)
        if got != net:
            yield f"boxes: box {box} gains {got}, expected {net}"


def state(events: Iterable[Seen]) -> str:
    """What the table is in the middle of, by the events: one of ``expectations.STATES``."""
    opened, hand, held = False, False, set()
    for event in events:
        match event.type:
            case "table.opened" | "table.closed":
                opened = event.type == "table.opened"
            case "hand.started" | "hand.closed" | "hand.voided":
                hand = event.type == "hand.started"
            case "incident.opened" if event.data["holds"] != "none":
                held.add(event.data["incident"])
            case "incident.closed":
                held.discard(event.data["incident"])
    if not opened:
        return "closed"
    return "held" if held else "hand" if hand else "open_between_hands"


def meters(events: Iterable[Seen]) -> Mapping[str, Any]:
    """The last reading of the meters; empty where there was none."""
    return next((event.data for event in reversed(list(events)) if event.type == "meter.read"), {})


def tray(events: Iterable[Seen], wanted: Final, before: Tokens, now: Tokens | None, change: int | None) -> list[str]:
    """The tray by the rig's own count and by the table's.

    ``now`` is where the chips lie, ``None`` where nothing is counted: then ``change`` is what the steps move into it.
    """
    found = []
    start = before.worth("tray")
    lies = now.worth("tray") if now is not None else start + change if change is not None else None
    if wanted.tray_delta is not None and (lies is None or lies - start != wanted.tray_delta):
        changed = None if lies is None else lies - start
        found.append(f"final.tray: changed by {changed}, expected {wanted.tray_delta}")
    if wanted.tray:
        has = {} if now is None else {value: now.chips("tray")[value] for value in wanted.tray}
        if has != dict(wanted.tray):
            found.append(f"final.tray: {has or 'not counted at this table'}, expected {dict(wanted.tray)}")
    counted = [event.data["total"] for event in events if event.type == "tray.counted"]
    asked = wanted.tray_delta is not None or wanted.tray
    if asked and now is not None and (not counted or counted[-1] != lies):
        found.append(f"final.tray: the table counts {counted[-1] if counted else 'nothing'}, {lies} lie there")
    return found


def answers(
    events: Sequence[Seen], steps: Sequence[Step], performed: Mapping[str, Performed], wanted: Latency, speed: float
) -> list[int]:
    """How long after the end of each such step its event came, in ms of the table's time; 0 for one that came before.

    A step that brought no such event for its seat until the next one of its kind (a blind that is no action) does not
    count.
    """
    acts = [(step.seat, performed[step.id]) for step in steps if step.do == wanted.act and step.id in performed]
    found = []
    for number, (seat, step) in enumerate(acts):
        until = acts[number + 1][1].began if number + 1 < len(acts) else math.inf
        answer = next(
            (e for e in events if e.type == wanted.event and _about(e, seat) and step.began <= e.at < until), None
        )
        if answer is not None:
            found.append(max(0, round((answer.at - step.ended) * speed / MS)))
    return found


def _about(event: Seen, seat: int | None) -> bool:
    """Whether an event is about a seat or box; where either names none, they belong together."""
    own = event.data.get("seat", event.data.get("box"))
    return seat is None or own is None or own == seat


def percentile(values: Sequence[int], share: float) -> int:
    """The value below which that share lies (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def slow(wanted: Latency, took: Sequence[int]) -> list[str]:
    """Where answers took longer than they may, a line each."""
    name = f"final.latency {wanted.act} -> {wanted.event}"
    if not took:
        return [f"{name}: no such step was followed by such an event"]
    limits = ((0.5, "p50_ms", wanted.p50_ms), (0.99, "p99_ms", wanted.p99_ms))
    return [
        f"{name}: {key} {percentile(took, share)}, allowed are {limit}"
        for share, key, limit in limits
        if limit is not None and percentile(took, share) > limit
    ]
