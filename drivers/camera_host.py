"""The host's side of our smart camera: every sighting once, in order, and confirmed when its outcome is durable.

The camera numbers its sightings and keeps them until they are confirmed, all up to a number at once. A sighting
ahead of its turn is dropped and the missing one asked for: the camera then sends everything from there on again.
"""

from collections.abc import Mapping
from typing import NoReturn

from drivers import camera
from drivers.camera import Condition, Frame, Hello, Kind, Sight
from drivers.conversation import Step
from drivers.errors import ProtocolError
from drivers.host import Host
from drivers.options import Options
from drivers.readings import CardSighted, Reading

_VIEW = {Condition.DARK: "too dark", Condition.COVERED: "something covers the view", Condition.MOVED: "it was moved"}


class CameraHost(Host):
    """Conversation with one camera. A region of its view is a channel of that number.

    Options: ``unread`` regions whose faces may not be read (a shoe, where closed cards stay unread);
    ``timeout_ms`` for one answer; ``ping_ms`` of silence until the camera is asked for a sign of life;
    ``resend_ms`` between two requests for the same missing sighting; ``retries`` unanswered requests until the
    link is given up; ``gap_ms`` the silence after which an unfinished frame is given up; ``committed`` the
    ``sequence`` of the newest sighting that is on record, and ``committed_serial`` the camera that told it: what it
    sends again up to that one is confirmed and not delivered.

    ``CardSighted.sequence`` is ``boot << 32 | sequence`` and unique for the life of a camera.
    """

    kind = "camera"
    role = "camera"

    def __init__(
        self,
        device: str,
        *,
        path: str = "",
        expect: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(device, path, expect)
        given = Options(device, options or {})
        self._unread = given.numbers("unread", 0, 255)
        self._timeout = given.milliseconds("timeout_ms", 500)
        self._ping = given.milliseconds("ping_ms", 2000)
        self._resend = given.milliseconds("resend_ms", 250)
        self._retries = given.integer("retries", 5, 1, 100)
        self._gap = given.milliseconds("gap_ms", 50)
        committed = given.integer("committed", 0, 0, (1 << 64) - 1)
        self._whose = given.text("committed_serial")
        given.finish()
        self._memory = divmod(committed, 1 << 32)
        self._framer = camera.framer(self.noise)
        self._boot = 0
        self._next = 1
        self._durable = 0
        self._confirmed: set[int] = set()
        self._off = True
        self._ready = False
        self._announce = True
        self._misses = 0
        self._last_byte = 0
        self._due: int | None = None
        self._resend_at: int | None = None

    def start(self, now: int) -> Step:
        """Ask who is there and say which faces may not be read."""
        self._framer.reset()
        self._announce, self._off, self._misses = True, False, 0
        self._last_byte = now
        self._begin(now)
        return self._end(now)

    def feed(self, data: bytes, now: int) -> Step:
        """Bytes came from the camera, in any cut."""
        self._last_byte = now
        for frame in self._framer.feed(data):
            self._take(frame, now)
        return self._end(now)

    def tick(self, now: int) -> Step:
        """Give up an unfinished frame, ask again for what is missing, or look for a sign of life."""
        if self._framer.pending and now >= self._last_byte + self._gap:
            for frame in self._framer.flush():
                self._take(frame, now)
        if self._resend_at is not None and now >= self._resend_at:
            self._ask_again(now)
        if self._due is not None and now >= self._due:
            self._silence(now)
        return self._end(now)

    def acknowledge(self, reading: Reading, now: int) -> Step:
        """The outcome of a sighting is durable: the camera may forget it and all before it."""
        if isinstance(reading, CardSighted):
            boot, sequence = divmod(reading.sequence, 1 << 32)
            if boot == self._boot and self._durable < sequence < self._next:
                self._confirmed.add(sequence)
                while self._durable + 1 in self._confirmed:
                    self._durable += 1
                    self._confirmed.discard(self._durable)
                self._confirm()
        return self._end(now)

    def stop(self, now: int) -> Step:
        """Tell the camera to keep what it sees until somebody asks."""
        if not self._off:
            self._send.append(Frame(Kind.STOP).encode())
        self._switch_off()
        return self._end(now)

    # -- asking ---------------------------------------------------------------------------------------

    def _begin(self, now: int) -> None:
        self._ready = False
        self._resend_at = None
        self._due = now + self._timeout
        self._send.append(Frame(Kind.START, bytes(self._unread)).encode())

    def _confirm(self) -> None:
        # Without a greeting it may be another camera; it is told when it repeats.
        if self._ready and self._durable:
            self._send.append(Frame(Kind.ACK, sequence=self._durable).encode())

    def _ask_again(self, now: int) -> None:
        self._misses += 1
        self.noise.timeouts += 1
        if self._misses > self._retries:
            self._give_up("timeout")
        else:
            self._resend_at = now + self._resend
            self._send.append(Frame(Kind.RESEND, sequence=self._next).encode())

    def _silence(self, now: int) -> None:
        if self._misses or not self._ready:
            self.noise.timeouts += 1
        self._misses += 1
        if self._misses > self._retries:
            self._give_up("timeout")
        elif self._ready:
            self._due = now + self._timeout
            self._send.append(Frame(Kind.PING).encode())
        else:
            self._begin(now)

    def _give_up(self, cause: str) -> None:
        self._switch_off()
        self._fail(cause)

    def _switch_off(self) -> None:
        self._off, self._ready = True, False
        self._due = self._resend_at = None

    # -- hearing --------------------------------------------------------------------------------------

    def _take(self, frame: Frame, now: int) -> None:
        if self._off:
            return
        if frame.version != camera.VERSION:
            remedy = "update the camera's firmware or this program"
            self._fault("protocol", f"the camera speaks version {frame.version}, here is {camera.VERSION}: {remedy}")
            self._give_up("wrong_device")
            return
        try:
            self._understand(frame, now)
        except ProtocolError as error:
            self._fault("protocol", str(error))

    def _understand(self, frame: Frame, now: int) -> None:
        if frame.kind == Kind.HELLO:
            self._greeted(Hello.decode(frame.payload), now)
        elif not self._ready:
            self.noise.dropped += len(frame.encode())
        elif frame.kind == Kind.SIGHT:
            self._heard(now)
            self._sighted(frame, now)
        elif frame.kind == Kind.STATUS and len(frame.payload) == 2:
            self._heard(now)
            self._status(*frame.payload)
        elif frame.kind == Kind.PONG and len(frame.payload) == 1:
            self._heard(now)
            self._conditions(frame.payload[0])
        else:
            self._refuse(f"frame type 0x{frame.kind:02x} with {len(frame.payload)} bytes is not one a camera sends")

    def _refuse(self, why: str) -> NoReturn:
        raise ProtocolError(why)

    def _heard(self, now: int) -> None:
        if self._resend_at is None:
            self._misses = 0
        self._due = now + self._ping

    def _greeted(self, hello: Hello, now: int) -> None:
        wrong = self._unexpected({"model": hello.model, "serial": hello.serial})
        if wrong is not None:
            self._fault("protocol", wrong)
            self._give_up("wrong_device")
            return
        known = self._boot == hello.boot
        if not known:
            if self._boot and not self._announce:
                self._fault("reset", f"the camera restarted (power-up {hello.boot}, before it {self._boot})")
            boot, recorded = self._memory if self._whose in ("", hello.serial) else (0, 0)
            self._boot = hello.boot
            self._durable = max(hello.oldest - 1, recorded if boot == hello.boot else 0)
            self._next = self._durable + 1
            self._confirmed.clear()
        elif hello.oldest > self._next:
            # Another host has confirmed sightings that never came here.
            self._fault("protocol", f"{hello.oldest - self._next} sightings were confirmed to somebody else")
            self._next, self._durable = hello.oldest, hello.oldest - 1
            self._confirmed.clear()
        if self._ready and not known:
            self._begin(now)  # it has restarted and waits for the order which faces not to read
            return
        self._ready, self._misses = True, 0
        self._due = now + self._ping
        if not known and self._durable >= hello.oldest:
            self._confirm()
        if self._announce:
            self._announce = False
            self._up(hello.model, hello.serial, hello.firmware)
        self._clear("reset", "protocol")
        self._conditions(hello.conditions)

    def _sighted(self, frame: Frame, now: int) -> None:
        if frame.sequence < self._next:
            if frame.sequence <= self._durable:
                self._confirm()
        elif frame.sequence > self._next:
            if self._resend_at is None:
                self._ask_again(now)
        else:
            self._next += 1
            self._resend_at = None
            self._misses = 0
            self._deliver(frame)

    def _deliver(self, frame: Frame) -> None:
        try:
            seen = Sight.decode(frame.payload)
        except ProtocolError as error:
            # Nothing that could be told is in it; it must not come for ever, and no later one may be lost.
            self._fault("doubtful", str(error))
            if self._durable + 1 == frame.sequence:
                self._durable += 1
                self._confirm()
            else:
                self._confirmed.add(frame.sequence)
            return
        self._clear("doubtful")
        card = seen.card if seen.up else None  # what cannot be seen is not believed
        if seen.withheld or seen.region in self._unread:
            card = None
        self._readings.append(
            CardSighted(
                self.device,
                self._number(),
                str(seen.region),
                seen.object,
                card,
                "up" if seen.up else "down",
                seen.confidence if card is not None else 100,
                seen.present,
                seen.standing,
                self._boot << 32 | frame.sequence,
            )
        )

    def _status(self, condition: int, raised: int) -> None:
        if condition not in set(Condition):
            self._refuse(f"status {condition} is not known")
        self._condition(Condition(condition), bool(raised))

    def _conditions(self, bits: int) -> None:
        view = [words for condition, words in _VIEW.items() if bits & condition.bit]
        if view:
            self._fault("view", ", ".join(view))
        else:
            self._clear("view")
        self._condition(Condition.FULL, bool(bits & Condition.FULL.bit))

    def _condition(self, condition: Condition, raised: bool) -> None:
        if condition in _VIEW and not raised:
            # Another one may still be there: the whole picture comes with the answer.
            self._send.append(Frame(Kind.PING).encode())
        elif raised:
            words = _VIEW.get(condition, "sightings are lost: nobody has confirmed them in time")
            self._fault("view" if condition in _VIEW else "overflow", words)
        else:
            self._clear("overflow")

    def _end(self, now: int) -> Step:
        due = [time for time in (self._due, self._resend_at) if time is not None]
        if self._framer.pending and not self._off:
            due.append(self._last_byte + self._gap)
        return self._step(now, min(due, default=None))
