"""What every simulated device offers. Sans IO, like the drivers' conversations: the rig moves the bytes."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, runtime_checkable

Hearing = Callable[[int, Sequence[str]], Iterable[str]]
"""Which tags of one field (its antenna, its tags from the antenna upwards) are heard by one inventory."""


class Device(Protocol):
    """The device's side of one protocol. ``now`` is the rig's monotonic clock in ns."""

    def feed(self, data: bytes, now: int) -> list[bytes]:
        """Bytes from the host: the replies, in order."""

    def poll(self, now: int) -> list[bytes]:
        """Unsolicited output that is due now (a card slid, a key went down), each as one frame or report."""

    def deadline(self) -> int | None:
        """When ``poll`` is next worth calling by time alone, in ns, or ``None``."""

    def power_cycle(self, now: int) -> None:
        """The device was unplugged and plugged in again: volatile state is gone."""


@runtime_checkable
class OnALine(Protocol):
    """A device that hears the host only at one speed of the line. ``line`` is the speed at which the host has it."""

    line: int
