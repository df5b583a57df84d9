"""Faults of a link on demand: what happens to bytes on their way, composable and the same again with the same seed.

A ``Channel`` is one direction of any simulated link, on a fake clock or a real one. Faults are put on it for a while
and work one behind the other; without one, bytes pass at once. What happens to whole devices (pulled, reset) and to
clocks is not the link's: ``KINDS`` names those too, and the rig performs them.
"""

import heapq
import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from drivers.options import MS
from simulators.errors import RigError

Piece = tuple[int, bytes]
"""When it arrives, in ns, and what."""

GLUE_NS = 30 * MS
"""So long glue waits for something to stick to."""
BYTE_NS = 2 * MS
"""A slow line: the time of one byte."""
LONGEST_DELAY_MS = 80
MOST_PENDING = 100_000
"""More pieces than this on their way are a rig that went wrong, not a slow line."""


def _drop(dice: random.Random, at: int, data: bytes) -> list[Piece]:
    del dice, at, data
    return []


def _flip(dice: random.Random, at: int, data: bytes) -> list[Piece]:
    if not data:
        return [(at, data)]
    bit = dice.randrange(8 * len(data))
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return [(at, bytes(changed))]


def _duplicate(dice: random.Random, at: int, data: bytes) -> list[Piece]:
    del dice
    return [(at, data), (at, data)]


def _delay(dice: random.Random, at: int, data: bytes) -> list[Piece]:
    return [(at + dice.randint(1, LONGEST_DELAY_MS) * MS, data)]


def _split(dice: random.Random, at: int, data: bytes) -> list[Piece]:
    cut = dice.randint(0, len(data))
    return [(at, data[:cut]), (at + dice.randint(1, 10) * MS, data[cut:])]


def _noise(dice: random.Random, at: int, data: bytes) -> list[Piece]:
    burst = dice.randbytes(dice.randint(1, 24))
    return [(at, burst), (at, data)] if dice.random() < 0.5 else [(at, data), (at, burst)]


def _slow(dice: random.Random, at: int, data: bytes) -> list[Piece]:
    del dice
    return [(at + number * BYTE_NS, data[number : number + 1]) for number in range(len(data))]


Change = Callable[[random.Random, int, bytes], list[Piece]]

CHANGES: Mapping[str, Change] = {
    "drop": _drop,
    "flip": _flip,
    "duplicate": _duplicate,
    "delay": _delay,
    "reorder": _delay,
    "split": _split,
    "glue": lambda _dice, at, data: [(at, data)],
    "noise": _noise,
    "slow": _slow,
    "deaf": _drop,
}
"""What a fault does to one piece. ``reorder`` delays without keeping the order; ``glue`` is done by the channel."""
OF_DEVICES = ("unplug", "reset")
OF_CLOCKS = ("clock",)
KINDS = (*CHANGES, *OF_DEVICES, *OF_CLOCKS)
"""Every kind of fault there is."""


@dataclass(slots=True)
class Fault:
    """One fault on one direction. ``rate``: the share of pieces it strikes; it ends at ``until`` (ns)."""

    kind: str
    rate: float
    until: int
    dice: random.Random
    struck: int = 0

    def strike(self, at: int, data: bytes) -> list[Piece]:
        """What becomes of one piece."""
        if self.dice.random() >= self.rate:
            return [(at, data)]
        self.struck += 1
        return CHANGES[self.kind](self.dice, at, data)


@dataclass(slots=True)
class Channel:
    """One direction of a link. ``send`` what goes in, fetch with ``due`` what has arrived."""

    faults: list[Fault] = field(default_factory=list)
    _pending: list[tuple[int, int, bytes]] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _last: int = 0

    def send(self, data: bytes, now: int) -> None:
        """Bytes, or one frame, go in. Raises ``RigError`` where far too much is on its way."""
        self.faults = [fault for fault in self.faults if now < fault.until]
        pieces: list[Piece] = [(now, data)]
        for fault in self.faults:
            pieces = [struck for at, piece in pieces for struck in fault.strike(at, piece)]
        ordered = not any(fault.kind == "reorder" for fault in self.faults)
        glued = any(fault.kind == "glue" for fault in self.faults)
        for at, piece in pieces:
            arrives = max(at + (GLUE_NS if glued else 0), self._last if ordered else 0)
            self._last = max(self._last, arrives)
            if piece:
                heapq.heappush(self._pending, (arrives, next(self._numbers), piece))
        if len(self._pending) > MOST_PENDING:
            raise RigError(f"{len(self._pending)} pieces are on their way at once: the rig is in a loop")

    def due(self, now: int) -> list[bytes]:
        """What has arrived by now, in the order of arrival; glued to one where a fault says so."""
        arrived: list[bytes] = []
        while self._pending and self._pending[0][0] <= now:
            arrived.append(heapq.heappop(self._pending)[2])
        glued = any(fault.kind == "glue" and now < fault.until for fault in self.faults)
        return [b"".join(arrived)] if glued and arrived else arrived

    def deadline(self) -> int | None:
        """When something arrives next, in ns."""
        return self._pending[0][0] if self._pending else None

    def clear(self) -> None:
        """The link is gone, and all that was on it."""
        self._pending.clear()


@dataclass(slots=True)
class LinkFaults:
    """Both directions of one link."""

    to_host: Channel = field(default_factory=Channel)
    to_device: Channel = field(default_factory=Channel)

    def begin(self, args: Mapping[str, Any], now: int) -> None:
        """Put a fault on the link: ``kind``, ``rate`` (1), ``ms`` (1000), ``seed`` (0), ``direction`` (``both``).

        Raises ``RigError`` for a kind that is no link's, or a rate that is none.
        """
        kind, rate, direction = args.get("kind"), args.get("rate", 1), args.get("direction", "both")
        ms, seed = args.get("ms", 1000), args.get("seed", 0)
        if not isinstance(kind, str) or kind not in CHANGES:
            raise RigError(f"fault: kind = {kind!r}: a link knows {', '.join(CHANGES)}")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise RigError(f"fault {kind}: rate = {rate!r}: rate is from 0 to 1")
        if direction not in ("both", "in", "out"):
            raise RigError(f"fault {kind}: direction = {direction!r}: write both, in (to the host) or out")
        if type(ms) is not int or ms < 0:
            raise RigError(f"fault {kind}: ms = {ms!r}: give a whole number of ms, 0 or more")
        if type(seed) is not int:
            raise RigError(f"fault {kind}: seed = {seed!r}: give a whole number")
        until = now + ms * MS
        for name, channel in (("in", self.to_host), ("out", self.to_device)):
            if direction in ("both", name):
                dice = random.Random(f"{seed}/{kind}/{name}")
                channel.faults.append(Fault(kind, rate, until, dice))

    def deadline(self) -> int | None:
        """When something arrives next in either direction, in ns."""
        due = [at for at in (self.to_host.deadline(), self.to_device.deadline()) if at is not None]
        return min(due, default=None)

    def clear(self) -> None:
        """The link is gone."""
        self.to_host.clear()
        self.to_device.clear()
