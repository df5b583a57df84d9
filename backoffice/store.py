"""Where events are kept: the exact bytes, by source, ledger and sequence. What every store keeps and can do.

Nothing is parsed again that could be compared byte by byte, and nothing is ever updated but a ``record.withheld``
that gives way to its original.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Event:
    """One stored event. ``source`` ends in the stream; ``sequence`` and ``row`` are 16 digits and sort as text."""

    source: str
    ledger: str
    sequence: str
    row: str
    type: str
    day: str
    session: str | None
    subject: str | None
    happened: str
    test: bool
    payload: bytes

    @property
    def key(self) -> tuple[str, str, str]:
        """What no two events share."""
        return self.source, self.ledger, self.sequence


@dataclass(frozen=True, slots=True)
class Pin:
    """A key that was pinned for a table at its enrolment. ``table`` is ``/felt/{site}/{table}``."""

    table: str
    test: bool
    key: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """An event that came with other bytes than those that are stored: kept beside them, for a person to look at."""

    source: str
    ledger: str
    sequence: str
    sha256: str
    reason: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """A ledger that names none before it though others of its table are stored, and who ruled that this is right."""

    table: str
    ledger: str
    by: str
    reason: str


class Store(Protocol):
    """What a store can do. Everything raises ``StoreError`` where it fails."""

    def put(self, events: Sequence[Event]) -> dict[tuple[str, str, str], bytes]:
        """Store all in one transaction, durable on return; the bytes that stood there already, by key."""

    def replace(self, event: Event) -> None:
        """Put the original in the place of its ``record.withheld``."""

    def refuse(self, event: Event, reason: str) -> None:
        """Keep an event beside those that are stored, with why. The same bytes once only."""

    def refused(self, table: str) -> list[Refused]:
        """What was set aside of a table, the oldest place first."""

    def events(self, table: str, ledger: str) -> Iterator[Event]:
        """The events of a table's ledger in the order of ``row``."""

    def ledgers(self, table: str) -> list[str]:
        """The ledgers of a table in the order in which they were first heard of."""

    def highest(self, source: str, ledger: str) -> int:
        """The highest sequence of a stream that is stored, 0 for none."""

    def gaps(self, source: str, ledger: str) -> list[tuple[int, int]]:
        """The ranges below the highest sequence that are missing."""

    def withheld(self, table: str, ledger: str) -> list[tuple[str, int]]:
        """Source and sequence of what was withheld and has no original yet."""

    def pin(self, pin: Pin) -> None:
        """Pin a key. Pinning it again changes nothing."""

    def pins(self, table: str | None = None) -> list[Pin]:
        """The pinned keys, of one table or of all."""

    def accept(self, accepted: Accepted) -> None:
        """Keep a ruling. The first one of a ledger stands."""

    def accepted(self, table: str) -> list[Accepted]:
        """The rulings of a table."""

    def close(self) -> None:
        """Give it back."""
