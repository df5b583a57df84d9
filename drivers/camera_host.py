"""The host's side of our smart camera: every sighting once, in order, and confirmed when its outcome is durable.

The camera numbers its sightings and keeps them until they are confirmed, all up to a number at once. A sighting
ahead of its turn is dropped and the missing one asked for: the camera then sends everything from there on again.
"""

from collections.abc import Mapping

from drivers import camera
from drivers.camera import Condition, Frame, Hello, Kind, Sight
from drivers.conversation import Step
from drivers.errors import ProtocolError
from drivers.kept_host import KeptHost
from drivers.options import Options
from drivers.readings import CardSighted, Reading

_VIEW = {Condition.DARK: "too dark", Condition.COVERED: "something covers the view", Condition.MOVED: "it was moved"}


class CameraHost(KeptHost[Frame]):
    """Conversation with one camera. A region of its view is a channel of that number.

    Options: ``unread`` regions whose faces may not be read (a shoe, where closed cards stay unread);
    ``timeout_ms`` for one answer; ``ping_ms`` of silence until the camera is asked for a sign of life;
    ``resend_ms`` between two requests for the same missing sighting; ``retries`` unanswered requests until the
    link is given up; ``gap_ms`` the silence after which an unfinished frame is given up; ``committed`` the
    ``sequence`` of the newest sighting that is on record, and ``committed_serial`` the camera that told it: what it
    sends again up to that one is confirmed and not delivered.

    ``CardSighted.sequence`` is ``boot << 32 | sequence`` and unique for the life of a camera.
    """

    FRAME = Frame
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
        given = Options(device, options or {})
        super().__init__(device, path, expect, camera.framer, given)
        self._unread = given.numbers("unread", 0, 255)
        committed = given.integer("committed", 0, 0, (1 << 64) - 1)
        self._whose = given.text("committed_serial")
        given.finish()
        self._memory = divmod(committed, 1 << 32)
        self._boot = 0
        self._durable = 0
        self._confirmed: set[int] = set()

    def acknowledge(self, reading: Reading, now: int) -> Step:
        """The outcome of a sighting is durable: the camera may forget it and all before it."""
        if isinstance(reading, CardSighted):
            boot, sequence = divmod(reading.sequence, 1 << 32)
            if boot == self._boot and self._durable < sequence < self._next:
                self._confirmed.add(sequence)
                while self._durable + 1 in self._confirmed:
                    self._durable += 1
                    self._confirmed.discard(self._durable)
                self._confirm(self._durable)
        return self._end(now)

    # -- asking ---------------------------------------------------------------------------------------

    def _order(self) -> bytes:
        return bytes(self._unread)

    # -- hearing --------------------------------------------------------------------------------------

    def _greeted(self, payload: bytes, now: int) -> None:
        hello = Hello.decode(payload)
        if not self._is_as_configured(hello.model, hello.serial):
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
            self._confirm(self._durable)
        if self._announce:
            self._announce = False
            self._up(hello.model, hello.serial, hello.firmware)
        self._clear("reset", "protocol")
        self._conditions(hello.conditions)

    def _kept(self, frame: Frame, now: int) -> None:
        if frame.sequence < self._next:
            if frame.sequence <= self._durable:
                self._confirm(self._durable)
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
                self._confirm(self._durable)
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

    def _status(self, payload: bytes) -> None:
        if len(payload) != 2:
            self._refuse(f"status payload of {len(payload)} bytes: 2 are due")
        condition, raised = payload
        if condition not in set(Condition):
            self._refuse(f"status {condition} is not known")
        self._condition(Condition(condition), bool(raised))

    def _alive(self, payload: bytes, now: int) -> None:
        del now
        if len(payload) != 1:
            self._refuse(f"pong payload of {len(payload)} bytes: 1 is due")
        self._conditions(payload[0])

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
            self._say(Kind.PING)
        elif raised:
            words = _VIEW.get(condition, "sightings are lost: nobody has confirmed them in time")
            self._fault("view" if condition in _VIEW else "overflow", words)
        else:
            self._clear("overflow")
