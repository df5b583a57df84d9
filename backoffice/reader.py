"""Takes messages as they come: store first, think later (events.md section 2). No broker in here.

A gap never stops the storing; it is remembered, and somebody asks the table for a replay of it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from backoffice.errors import Forged
from backoffice.store import Event, Store
from controller.contract.integrity import digest

WITHHELD = "record.withheld"


@dataclass(slots=True)
class Counts:
    """What became of the messages. ``refused``: no events, of no enrolled table, or of the other mode."""

    stored: int = 0
    repeated: int = 0
    replaced: int = 0
    refused: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def refuse(self, why: str) -> None:
        """Count one that is not stored."""
        self.refused += 1
        self.reasons[why] = self.reasons.get(why, 0) + 1


def read(payload: bytes) -> Event | None:
    """The event in a message, ``None`` where it is none of ours."""
    try:
        event: dict[str, Any] = json.loads(payload)
        made = Event(
            event["source"],
            event["ledger"],
            event["sequence"],
            event["row"],
            event["type"],
            event["gamingday"],
            event.get("session"),
            event.get("subject"),
            event["time"],
            event["test"],
            payload,
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    texts = (*made.key, made.row, made.type, made.day, made.happened)
    well_made = all(isinstance(text, str) for text in texts) and isinstance(made.test, bool)
    fits = well_made and all(len(number) == 16 and number.isdecimal() for number in (made.sequence, made.row))
    return made if fits else None


class Reader:
    """Keeps what enrolled tables say. ``head`` knows the highest sequence of each stream that was seen."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._modes = {pin.table: pin.test for pin in store.pins()}
        self.counts = Counts()
        self.heads: dict[tuple[str, str], int] = {}
        self.missing: set[tuple[str, str]] = set()
        """Streams of ledgers (source, ledger) in which something is missing or withheld."""
        self.tails: list[tuple[str, str, int, int]] = []
        """What is missing at the end of a ledger that was archived: source, ledger, first, last."""

    def take(self, payloads: Sequence[bytes]) -> None:
        """Store messages, durable on return. Raises ``StoreError``, and ``Forged`` for a repeat with other bytes."""
        events: dict[tuple[str, str, str], Event] = {}
        for payload in payloads:
            event = read(payload)
            if event is None:
                self.counts.refuse("no event")
            elif (mode := self._modes.get(event.source.rsplit("/", 1)[0])) is None:
                self.counts.refuse("table is not enrolled")
            elif mode is not event.test:
                self.counts.refuse("test event of a live table" if event.test else "live event of a test table")
            elif event.key in events:
                self._settle(event, events[event.key].payload)
            else:
                events[event.key] = event
        there = self._store.put(list(events.values())) if events else {}
        for key, event in events.items():
            if key in there:
                self._settle(event, there[key])
            else:
                self.counts.stored += 1
                self._place(event)

    def _settle(self, event: Event, kept: bytes) -> None:
        """The place is taken: by the same bytes, by what stands for these, or by a forgery."""
        if event.payload == kept:
            self.counts.repeated += 1
            return
        other = json.loads(kept)
        if other["type"] == WITHHELD and other["data"]["original_sha256"] == digest(event.payload):
            self._store.replace(event)
            self.counts.replaced += 1
        elif event.type == WITHHELD and json.loads(event.payload)["data"].get("original_sha256") == digest(kept):
            self.counts.repeated += 1
        else:
            raise Forged(f"{event.source} {event.ledger} {event.sequence} came again with other bytes: stop and look")

    def _place(self, event: Event) -> None:
        stream = event.source, event.ledger
        sequence = int(event.sequence)
        if stream not in self.heads:
            # What was stored before this run counts too.
            self.heads[stream] = self._store.highest(*stream)
            if self._store.gaps(*stream):
                self.missing.add(stream)
        elif sequence > self.heads[stream] + 1:
            self.missing.add(stream)
        if event.type == WITHHELD:
            self.missing.add(stream)
        elif event.type == "ledger.began":
            self._linked(event)
        self.heads[stream] = max(self.heads[stream], sequence)

    def _linked(self, event: Event) -> None:
        """A new ledger says how the one before ended: no later event would show that its end is missing."""
        previous = json.loads(event.payload)["data"].get("previous")
        if not previous:
            return
        table = event.source.rsplit("/", 1)[0]
        for name, head in previous["heads"].items():
            source, last = f"{table}/{name}", int(head["sequence"])
            have = self._store.highest(source, previous["ledger"])
            if have < last:
                self.tails.append((source, previous["ledger"], have + 1, last))
