"""What a rehearsal saw: every event the table gave out, in order, with the rig's own time of arrival."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.core.records import Record

RULE = re.compile(r"(?:HR|BG|RS|LT|CM)-(?:A?\d+[a-z]?|\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Seen:
    """One event. ``at`` is the rig's monotonic clock in ns; ``body`` the exact bytes where there are any."""

    at: int
    stream: str
    type: str
    data: Mapping[str, Any]
    body: bytes = b""
    id: str = ""

    @property
    def hand(self) -> str:
        """The hand it belongs to, or an empty string."""
        return str(self.data.get("hand", ""))


def of_record(record: Record, at: int) -> Seen:
    """A record that never became bytes."""
    return Seen(at, record.stream, record.type, record.data)


def of_body(body: bytes, at: int) -> Seen:
    """An event as it was published."""
    event = json.loads(body)
    return Seen(at, event["source"].rpartition("/")[2], event["type"], event["data"], body, event["id"])


def rules_and_incidents(events: Iterable[Seen]) -> Counter[str]:
    """The rules that events name and the incidents that they open, and how often."""
    found: Counter[str] = Counter()
    for event in events:
        data = event.data
        found.update(rule for rule in (*data.get("rules", ()), data.get("read_as") or "") if RULE.fullmatch(rule))
        if event.type == "incident.opened":
            found[data["code"]] += 1
    return found


@dataclass(frozen=True, slots=True)
class HandSeen:
    """The outcome of one hand as the events tell it."""

    hand: str
    stacks: Mapping[int, int]
    board: tuple[str, ...]
    winners: frozenset[int]
    gained: frozenset[int]
    """Seats that end the hand with more than they began it with."""
    rake: int
    closed: bool
    final: bool
    voided: bool
    balanced: bool
    """Sum of what went in = sum of what came out, rake and tips; at a table of boxes what the house lost, they won."""
    house_net: int = 0
    boxes: Mapping[int, int] = field(default_factory=dict)
    """What each box has gained."""


def hand_seen(events: Iterable[Seen], hand: str) -> HandSeen:
    """Gather one hand."""
    result: Mapping[str, Any] = {}
    board: list[str] = []
    kinds = set()
    for event in events:
        if event.hand != hand:
            continue
        kinds.add(event.type)
        if event.type == "street.opened":
            board += event.data["cards"]
        elif event.type in ("hand.closed", "hand.corrected"):
            result = event.data["result"]
    seats: Sequence[Mapping[str, Any]] = result.get("seats", ())
    pots: Sequence[Mapping[str, Any]] = result.get("pots", ())
    paid_in = sum(seat["in"] for seat in seats)
    paid_out = sum(seat["out"] for seat in seats) + result.get("rake", 0) + result.get("tips", 0)
    boxes = {box["box"]: -box["house_net"] for box in result.get("boxes", ())}
    house_net = result.get("house_net", 0)
    return HandSeen(
        hand=hand,
        stacks={seat["seat"]: seat["stack_after"] for seat in seats if seat.get("stack_after") is not None},
        board=tuple(board),
        winners=frozenset(winner["seat"] for pot in pots for winner in pot.get("winners", ())),
        gained=frozenset(seat["seat"] for seat in seats if seat["net"] > 0),
        rake=result.get("rake", 0),
        closed="hand.closed" in kinds,
        final="hand.final" in kinds,
        voided="hand.voided" in kinds,
        balanced=paid_in == paid_out and house_net == -sum(boxes.values()),
        house_net=house_net,
        boxes=boxes,
    )


def hands(events: Iterable[Seen]) -> list[str]:
    """The hands that were started, in order."""
    return [event.hand for event in events if event.type == "hand.started"]
