"""The host's side of a device that keeps what it tells until it is confirmed: greeting, order, repeats, signs of life.

A shoe and a camera differ in what a kept frame says and in the order in which they may come; all else is here.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, NoReturn, TypeVar

from drivers.conversation import Step
from drivers.errors import ProtocolError
from drivers.framed import Framed
from drivers.framing import Framer, Noise
from drivers.kept import VERSION, KeptFrame, Kind
from drivers.options import Options

F = TypeVar("F", bound=KeptFrame)


class KeptHost(Framed[F]):
    """Base of both conversations.

    It reads two more options: ``ping_ms`` of silence until the device is asked for a sign of life, and ``resend_ms``
    between two requests for the same missing frame.
    """

    FRAME: ClassVar[type[KeptFrame]]

    def __init__(
        self,
        device: str,
        path: str,
        expect: Mapping[str, str] | None,
        framer: Callable[[Noise], Framer[F]],
        given: Options,
    ) -> None:
        super().__init__(device, path, expect, framer, given)
        self._ping = given.milliseconds("ping_ms", 2000)
        self._resend = given.milliseconds("resend_ms", 250)
        self._next = 1
        self._off = True
        self._ready = False
        self._resend_at: int | None = None

    @abstractmethod
    def _order(self) -> bytes:
        """The payload of START: what may be read."""

    @abstractmethod
    def _greeted(self, payload: bytes, now: int) -> None:
        """HELLO: who it is and where it stands."""

    @abstractmethod
    def _kept(self, frame: F, now: int) -> None:
        """A frame that it keeps until it is confirmed."""

    @abstractmethod
    def _status(self, payload: bytes) -> None:
        """STATUS: a trouble begins or is over."""

    @abstractmethod
    def _alive(self, payload: bytes, now: int) -> None:
        """PONG: a sign of life with what troubles it."""

    def start(self, now: int) -> Step:
        """Ask who is there and order what may be read. What was delivered before is not delivered again."""
        self._framer.reset()
        self._announce, self._off, self._misses = True, False, 0
        self._last_byte = now
        self._begin(now)
        return self._end(now)

    def stop(self, now: int) -> Step:
        """Tell the device to keep what it sees until somebody asks."""
        if not self._off:
            self._say(Kind.STOP)
        return super().stop(now)

    def tick(self, now: int) -> Step:
        """As for every device; and what is missing is asked for again, unless it was in a frame left unfinished."""
        self._flush(now)
        if self._resend_at is not None and now >= self._resend_at:
            self._ask_again(now)
        return super().tick(now)

    # -- asking ---------------------------------------------------------------------------------------

    def _say(self, kind: Kind, payload: bytes = b"", sequence: int = 0) -> None:
        self._send.append(self.FRAME(kind, payload, sequence).encode())

    def _begin(self, now: int) -> None:
        self._ready = False
        self._resend_at = None
        self._due = now + self._timeout
        self._say(Kind.START, self._order())

    def _confirm(self, sequence: int) -> None:
        # Without a greeting it may be another device; it is told when it repeats the frame.
        if self._ready and sequence:
            self._say(Kind.ACK, sequence=sequence)

    def _ask_again(self, now: int) -> None:
        """One request for all that is missing, not one a frame: the device is not to be driven mad."""
        self._misses += 1
        self.noise.timeouts += 1
        if self._misses > self._retries:
            self._give_up()
        else:
            self._resend_at = now + self._resend
            self._say(Kind.RESEND, sequence=self._next)

    def _overdue(self, now: int) -> None:
        """Nothing was heard: the greeting is overdue, or it is time for a sign of life."""
        if self._misses or not self._ready:
            self.noise.timeouts += 1
        self._misses += 1
        if self._misses > self._retries:
            self._give_up()
        elif self._ready:
            self._due = now + self._timeout
            self._say(Kind.PING)
        else:
            self._begin(now)

    def _switch_off(self) -> None:
        self._off, self._ready = True, False
        self._due = self._resend_at = None

    # -- hearing --------------------------------------------------------------------------------------

    def _take(self, frame: F, now: int) -> None:
        if self._off:
            return
        if frame.version != VERSION:
            words = f"the {frame.DEVICE} speaks version {frame.version}, here is {VERSION}"
            self._fault("protocol", f"{words}: update the {frame.DEVICE}'s firmware or this program")
            self._give_up("wrong_device")
            return
        try:
            self._understand(frame, now)
        except ProtocolError as error:
            self._fault("protocol", str(error))

    def _understand(self, frame: F, now: int) -> None:
        if frame.kind == Kind.HELLO:
            self._greeted(frame.payload, now)
            return
        if not self._ready:
            # Before the greeting nobody knows whose frame it is; the device repeats what is not confirmed.
            self.noise.dropped += len(frame.encode())
            return
        match frame.kind:
            case Kind.CARD:
                self._heard(now)
                self._kept(frame, now)
            case Kind.STATUS:
                self._heard(now)
                self._status(frame.payload)
            case Kind.PONG:
                self._heard(now)
                self._alive(frame.payload, now)
            case _:
                self._refuse(f"frame type 0x{frame.kind:02x} is not one that a {frame.DEVICE} sends")

    def _refuse(self, why: str) -> NoReturn:
        raise ProtocolError(why)

    def _heard(self, now: int) -> None:
        if self._resend_at is None:
            self._misses = 0
        self._due = now + self._ping

    def _end(self, now: int, *also: int | None) -> Step:
        return super()._end(now, *also, self._resend_at)
