"""An attendant that tells all that happens at it: whoever listens can have the same conversation again."""

from typing import Protocol

from drivers.attendant import Attendant
from drivers.conversation import Conversation, Step
from drivers.readings import Reading
from drivers.veil import Veil


class Tap(Protocol):
    """Who listens, on the device's thread. ``now`` is the time that the conversation is told, in ns."""

    def received(self, device: str, data: bytes, now: int) -> None:
        """Bytes came."""

    def sent(self, device: str, data: bytes, now: int) -> None:
        """A frame is being sent."""

    def called(self, device: str, what: str, now: int, **about: object) -> None:
        """``opening`` ``opened`` ``due`` ``acknowledge`` (with ``reading``) ``leave`` ``lost`` (with ``cause``)."""


class TappedAttendant(Attendant):
    """See ``Attendant``; the same with somebody who listens. What passes under a veil is not told: tags are in it."""

    def __init__(self, device: str, path: str, conversation: Conversation, tap: Tap, veil: Veil | None = None) -> None:
        super().__init__(device, path, conversation, veil)
        self._tap = tap
        self._now = 0

    def opening(self) -> None:
        """See ``Attendant.opening``."""
        self._called("opening", self._now)
        super().opening()

    def opened(self, now: int) -> Step:
        """See ``Attendant.opened``."""
        self._called("opened", now)
        return self._told(super().opened(now), now)

    def received(self, data: bytes, now: int) -> Step:
        """See ``Attendant.received``."""
        self._now = now
        if self._veil is None:
            self._tap.received(self._device, data, now)
        return self._told(super().received(data, now), now)

    def due(self, now: int) -> Step:
        """See ``Attendant.due``."""
        self._called("due", now)
        return self._told(super().due(now), now)

    def acknowledge(self, reading: Reading, now: int) -> Step:
        """See ``Attendant.acknowledge``."""
        self._called("acknowledge", now, reading=reading.reading)
        return self._told(super().acknowledge(reading, now), now)

    def leave(self, now: int) -> Step:
        """See ``Attendant.leave``."""
        self._called("leave", now)
        return self._told(super().leave(now), now)

    def lost(self, cause: str) -> Step:
        """See ``Attendant.lost``."""
        self._called("lost", self._now, cause=cause)
        return super().lost(cause)

    def _called(self, what: str, now: int, **about: object) -> None:
        self._now = now
        if self._veil is not None:
            return
        self._tap.called(self._device, what, now, **about)

    def _told(self, step: Step, now: int) -> Step:
        for frame in step.send if self._veil is None else ():
            self._tap.sent(self._device, frame, now)
        return step
