"""The one queue in front of the core thread: bounded, ordered, and nothing that counts is dropped.

An inventory that a newer one of the same channel overtakes leaves the queue. Everything else waits its turn.
A full queue refuses a reading: its supervisor keeps it and stops reading the device until there is room.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from controller.core.inputs import Command, Notice
from controller.core.records import Record
from controller.core.table import Table
from controller.errors import LocalError
from drivers.readings import Reading, TagsSeen

RESERVE = 64
"""Places that readings may not take, so that people and the shell are heard when devices fill the queue."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a command: its records, durable by now, or the mistake in it."""

    records: tuple[Record, ...] = ()
    mistake: LocalError | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A command and where its outcome is awaited."""

    command: Command
    outcome: "Future[Outcome]" = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question about the table, asked between two inputs. It changes nothing."""

    question: Callable[[Table], Any]
    answer: "Future[Any]" = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing comes after this."""

    reason: str


Item = Reading | Order | Ask | Notice | Stop


class Inbox:
    """Filled by device, socket and pump threads, emptied by the core thread."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._items: OrderedDict[int, Item] = OrderedDict()
        self._snapshots: dict[tuple[str, str], int] = {}
        self._next = 0
        self._changed = threading.Condition()
        self._refused: set[str] = set()
        self._closed = False
        self.coalesced = 0
        self.most = 0
        """How many items waited at once, at most."""

    def offer(self, reading: Reading) -> bool:
        """Take a reading. ``False`` when the queue is full: offer it again."""
        with self._changed:
            if self._closed:
                return False
            if isinstance(reading, TagsSeen):
                older = self._snapshots.pop((reading.device, reading.channel), None)
                if older is not None:
                    del self._items[older]
                    self.coalesced += 1
            elif len(self._items) >= self._size:
                self._refused.add(reading.device)
                return False
            number = self._put(reading)
            if isinstance(reading, TagsSeen):
                self._snapshots[reading.device, reading.channel] = number
            return True

    def post(self, item: Order | Ask | Notice | Stop, timeout_s: float = 5.0) -> bool:
        """Take what is no reading, waiting for room. ``False`` when there was none in time, or it is closed."""
        with self._changed:
            room = self._changed.wait_for(lambda: self._closed or len(self._items) < self._size + RESERVE, timeout_s)
            if not room or self._closed:
                return False
            self._put(item)
            return True

    def get(self, timeout_s: float) -> Item | None:
        """The next item, or ``None`` when none came in time. Without time it does not wait at all."""
        if timeout_s <= 0 and not self._items:
            return None
        with self._changed:
            if not self._items:
                self._changed.wait(timeout_s)
            if not self._items:
                return None
            _, item = self._items.popitem(last=False)
            if isinstance(item, TagsSeen):
                del self._snapshots[item.device, item.channel]
            self._changed.notify_all()
            return item

    def wait(self, timeout_s: float) -> bool:
        """Whether something is there to get, now or within that time. It stays there."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._items), timeout_s)

    def refused(self) -> set[str]:
        """The devices that found the queue full since this was last asked."""
        with self._changed:
            refused, self._refused = self._refused, set()
            return refused

    def close(self) -> list[Item]:
        """Take no more. Returns what is still there, which nobody will get."""
        with self._changed:
            self._closed = True
            left = list(self._items.values())
            self._items.clear()
            self._snapshots.clear()
            self._changed.notify_all()
            return left

    def _put(self, item: Item) -> int:
        self._next += 1
        self._items[self._next] = item
        self.most = max(self.most, len(self._items))
        self._changed.notify_all()
        return self._next
