"""A conversation and a simulated device on one fake clock, with a wire between them that can be spoiled."""

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from drivers.conversation import Conversation, Step
from drivers.options import MS
from drivers.readings import Reading
from simulators.hardware.device import Device

Spoil = Callable[[bytes], list[bytes]]
R = TypeVar("R")

LATENCY = 1 * MS


def clean(data: bytes) -> list[bytes]:
    """A wire that changes nothing."""
    return [data]


class VirtualWire:
    """Moves bytes and time. ``to_host`` and ``to_device`` spoil what passes; ``cut`` is the largest piece.

    With ``commit`` every reading is durable at once. ``baud`` is what the host has asked of the line.
    """

    def __init__(self, host: Conversation, device: Device, cut: int = 4096) -> None:
        self.host = host
        self.device = device
        self.cut = cut
        self.now = 1_000_000 * MS
        self.to_host: Spoil = clean
        self.to_device: Spoil = clean
        self.readings: list[Reading] = []
        self.sent: list[bytes] = []
        self.failed: str | None = None
        self.commit = False
        self._undurable: deque[Reading] = deque()
        self.baud: int | None = None
        self._deadline: int | None = None

    def open(self) -> None:
        """The link is up."""
        self.failed = None
        self._took(self.host.start(self.now))

    def run(self, milliseconds: int) -> None:
        """Let time pass; stops early when the conversation gives up."""
        end = self.now + milliseconds * MS
        while self.failed is None:
            self._poll()
            due = [time for time in (self._deadline, self.device.deadline()) if time is not None]
            following = max(self.now + LATENCY, min(due, default=end))
            if following > end:
                break
            self.now = following
            if self._deadline is not None and self.now >= self._deadline:
                self._took(self.host.tick(self.now))
        self.now = max(self.now, end)
        if self.failed is None:
            self._poll()

    def acknowledge(self, reading: Reading) -> None:
        """The outcome of a reading is durable."""
        self._took(self.host.acknowledge(reading, self.now))

    def of(self, kind: type[R]) -> list[R]:
        """The readings of one kind so far."""
        return [reading for reading in self.readings if isinstance(reading, kind)]

    def hear(self, data: bytes) -> None:
        """Bytes reach the host from nowhere."""
        self._took(self.host.feed(data, self.now))

    def _poll(self) -> None:
        self._carry(self.device.poll(self.now))
        while self._undurable and self.failed is None:
            self.acknowledge(self._undurable.popleft())

    def _took(self, step: Step) -> None:
        self.readings.extend(step.readings)
        self._undurable.extend(step.readings if self.commit else ())
        self.sent.extend(step.send)
        self._deadline = step.deadline
        if step.failed is not None:
            self.failed = step.failed
            return
        if step.baud is not None:
            self.baud = step.baud
        for frame in step.send:
            for piece in self.to_device(frame):
                self.now += LATENCY
                self._carry(self.device.feed(piece, self.now))

    def _carry(self, frames: list[bytes]) -> None:
        for frame in frames:
            for piece in self.to_host(frame):
                for at in range(0, len(piece), self.cut):
                    if self.failed is None:
                        self._took(self.host.feed(piece[at : at + self.cut], self.now))
