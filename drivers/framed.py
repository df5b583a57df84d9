"""What every conversation in frames shares: hearing them, giving up one that never ends, and giving up the device."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from drivers.conversation import Step
from drivers.framing import Framer, Noise
from drivers.host import Host
from drivers.options import Options
from drivers.readings import Reading

F = TypeVar("F")


class Framed(Host, ABC, Generic[F]):
    """Base of the conversations in frames. A protocol writes what a frame means and what happens when time is up.

    It reads three options: ``timeout_ms`` for one answer, ``retries`` unanswered until the device is given up, and
    ``gap_ms`` the silence after which an unfinished frame is given up.
    """

    def __init__(
        self,
        device: str,
        path: str,
        expect: Mapping[str, str] | None,
        framer: Callable[[Noise], Framer[F]],
        given: Options,
        *,
        timeout_ms: int = 500,
        retries: int = 5,
    ) -> None:
        super().__init__(device, path, expect)
        self._timeout = given.milliseconds("timeout_ms", timeout_ms)
        self._retries = given.integer("retries", retries, 1, 100)
        self._gap = given.milliseconds("gap_ms", 50)
        self._framer = framer(self.noise)
        self._announce = True
        self._misses = 0
        self._last_byte = 0
        self._due: int | None = None

    @abstractmethod
    def _take(self, frame: F, now: int) -> None:
        """A good frame has come."""

    @abstractmethod
    def _overdue(self, now: int) -> None:
        """What was waited for has not come until ``_due``."""

    @abstractmethod
    def _switch_off(self) -> None:
        """Wait for nothing any more, and heed nothing that comes."""

    def feed(self, data: bytes, now: int) -> Step:
        """Bytes came from the device, in any cut."""
        self._last_byte = now
        self._take_all(self._framer.feed(data), now)
        return self._end(now)

    def tick(self, now: int) -> Step:
        """Give up an unfinished frame, and what is overdue."""
        self._flush(now)
        if self._due is not None and now >= self._due:
            self._overdue(now)
        return self._end(now)

    def acknowledge(self, reading: Reading, now: int) -> Step:
        """Most devices have no word for it: they keep nothing."""
        del reading
        return self._end(now)

    def stop(self, now: int) -> Step:
        """Most devices are quiet when nobody asks."""
        self._switch_off()
        return self._end(now)

    def _flush(self, now: int) -> None:
        """Give up a frame of which nothing more has come, and hear what good ones stand behind its beginning."""
        if self._framer.pending and now >= self._last_byte + self._gap:
            self._take_all(self._framer.flush(), now)

    def _take_all(self, frames: Iterable[F], now: int) -> None:
        for frame in frames:
            self._take(frame, now)

    def _give_up(self, cause: str = "timeout") -> None:
        self._switch_off()
        self._fail(cause)

    def _is_as_configured(self, model: str, serial: str) -> bool:
        """Whether this is the device that is meant; another one is given up."""
        wrong = self._unexpected({"model": model, "serial": serial})
        if wrong is not None:
            self._fault("protocol", wrong)
            self._give_up("wrong_device")
        return wrong is None

    def _is_expected(self, model: str, serial: str, firmware: str) -> bool:
        """Whether this is the device that is meant: then it is up."""
        if not self._is_as_configured(model, serial):
            return False
        if self._announce:
            self._announce = False
            self._up(model, serial, firmware)
        return True

    def _end(self, now: int, *also: int | None) -> Step:
        """Hand over what has been gathered; ``also``: what else is due, in monotonic ns."""
        due = [time for time in (self._due, *also) if time is not None]
        if due and self._framer.pending:
            due.append(max(now, self._last_byte + self._gap))
        return self._step(now, min(due, default=None))
