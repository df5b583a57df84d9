"""What every protocol driver offers: a conversation without IO.

The supervisor owns the thread, the link and the clock; a conversation owns the protocol. It never blocks,
sleeps or looks at a clock: it is told the time (monotonic nanoseconds) and answers with what to send,
what was read, and when it wants to be asked again.
"""

from dataclasses import dataclass
from typing import Protocol

from drivers.readings import Reading


@dataclass(frozen=True, slots=True)
class Step:
    """The outcome of one call on a conversation.

    ``send`` are whole frames in order; ``deadline`` is the monotonic time in ns at which ``tick`` is due, or
    ``None``. ``failed`` is set when the device is deaf, wrong or beyond repair, and names the cause as
    ``DeviceLost`` spells it: the supervisor closes the link and starts over. ``baud`` is the line speed to
    change to before ``send``; links without a line ignore it.
    """

    readings: tuple[Reading, ...] = ()
    send: tuple[bytes, ...] = ()
    deadline: int | None = None
    failed: str | None = None
    baud: int | None = None


class Conversation(Protocol):
    """One device's protocol, sans IO."""

    def start(self, now: int) -> Step:
        """The link was opened: reset the parser, identify the device in-band, configure it."""

    def feed(self, data: bytes, now: int) -> Step:
        """Bytes arrived (for HID: one report)."""

    def tick(self, now: int) -> Step:
        """The deadline passed."""

    def acknowledge(self, reading: Reading, now: int) -> Step:
        """The outcome of a reading is durable: tell the device, where its protocol has a word for it."""

    def stop(self, now: int) -> Step:
        """The link is about to be closed on purpose: leave the device quiet."""
