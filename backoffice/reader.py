"""Takes messages as they come: store first, think later (events.md section 2). No broker in here.

A gap never stops the storing; it is remembered, and somebody asks the table for a replay of it.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from backoffice import messages
from backoffice.store import Event, Store
from controller.contract.integrity import digest
from controller.contract.topics import STREAMS

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
        """Count one that is not stored; the first of its kind is told at once."""
        if why not in self.reasons:
            sys.stderr.write(f"feltoffice: refused: {why}\n")
        self.refused += 1
        self.reasons[why] = self.reasons.get(why, 0) + 1


def read(payload: bytes) -> Event | None:
    """The event in a message, ``None`` where it is none of ours."""
    event = messages.read(payload)
    if event is None or not isinstance(event.get("data"), dict):
        return None
    texts = [event.get(name) for name in ("source", "ledger", "type", "gamingday", "time")]
    perhaps = [one for name in ("session", "subject") if (one := event.get(name)) is not None]
    fits = all(map(messages.text, (*texts, *perhaps))) and isinstance(event.get("test"), bool)
    if not fits or not messages.number(event.get("sequence")) or messages.number(event.get("row")) is None:
        return None
    if event["source"].rpartition("/")[2] not in STREAMS:
        return None
    return Event(
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


class Reader:
    """Keeps what enrolled tables say. ``head`` knows the highest sequence of each stream that was seen."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._modes = {pin.table: pin.test for pin in store.pins()}
        self.counts = Counts()
        self.heads: dict[tuple[str, str], int] = {}
        self.missing: set[tuple[str, str]] = set()
        """Streams of ledgers (source, ledger) in which something is missing or withheld."""
        self.forged: dict[str, str] = {}
        """Streams (by source) that stand still, and why: an event of them came again with other bytes."""
        self.tails: list[tuple[str, str, int, int]] = []
        """What is missing at the end of a ledger that was archived: source, ledger, first, last."""

    def take(self, payloads: Sequence[bytes]) -> None:
        """Store messages, durable on return. A repeat with other bytes is set aside, and its stream stands still.

        Raises ``StoreError``.
        """
        events: dict[tuple[str, str, str], Event] = {}
        for payload in payloads:
            event = read(payload)
            if event is None:
                self.counts.refuse("no event")
            elif (mode := self._modes.get(event.source.rsplit("/", 1)[0])) is None:
                self.counts.refuse("table is not enrolled")
            elif mode is not event.test:
                self.counts.refuse("test event of a live table" if event.test else "live event of a test table")
            elif event.source in self.forged:
                self.counts.refuse("stream stands still")
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
        if _stands_for(kept, event.payload):
            self._store.replace(event)
            self.counts.replaced += 1
        elif _stands_for(event.payload, kept):
            self.counts.repeated += 1
        else:
            why = f"{event.source} {event.ledger} {event.sequence} came again with other bytes: stop and look"
            self._store.refuse(event, "came again with other bytes")
            self.forged.setdefault(event.source, why)
            self.counts.refuse(why)

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
            self.linked(event)
        self.heads[stream] = max(self.heads[stream], sequence)

    def linked(self, event: Event) -> None:
        """A new ledger says how the one before ended: no later event would show that its end is missing."""
        previous = messages.previous_of(event.payload)
        if previous is None:
            return
        table = event.source.rsplit("/", 1)[0]
        for name, head in previous.heads.items():
            source = f"{table}/{name}"
            have = self._store.highest(source, previous.ledger)
            if have < head.sequence:
                self.tails.append((source, previous.ledger, have + 1, head.sequence))


def _stands_for(one: bytes, original: bytes) -> bool:
    """Whether an event is what a table published in the place of another."""
    event = messages.read(one) or {}
    return event.get("type") == WITHHELD and messages.data_of(one).get("original_sha256") == digest(original)
