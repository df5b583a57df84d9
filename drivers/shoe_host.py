"""The host's side of our smart shoe: no card is lost, none counts twice, none is confirmed too early.

The shoe keeps every card frame until it is confirmed. Frames are delivered in the order of their sequence:
one that arrives ahead of its turn waits until the missing one has been sent again. A frame is confirmed
by ``acknowledge``, which the controller calls once the outcome is durable, and by nothing else.
"""

from collections.abc import Mapping
from typing import NoReturn

from drivers import shoe
from drivers.conversation import Step
from drivers.errors import ProtocolError
from drivers.host import Host
from drivers.options import MS, Options
from drivers.readings import CardSeen, Reading
from drivers.shoe import Card, Condition, Frame, Hello, Kind, Mode, Status

AHEAD = 64
"""How far a frame may be ahead of the one that is due; the shoe never sends further than half of this."""

_FAULT = {Condition.JAM: "jam", Condition.LID: "lid", Condition.EMPTY: "empty", Condition.FULL: "overflow"}

_COPY = 500 * MS
"""How soon after a frame a copy of it that the line made can come; a shoe repeats a frame after a second."""
_ERASED = "the shoe's memory was erased without a new name; it is not confirmed. Take the shoe out, erase it whole"

_REMEDY = "update the shoe's firmware or this program"


class ShoeHost(Host):
    """Conversation with one shoe.

    Options: ``closed_cards`` ``"read"`` or ``"unread"`` (the shoe reports presence only); ``timeout_ms`` for
    one answer; ``ping_ms`` of silence until the shoe is asked for a sign of life; ``resend_ms`` between two
    requests for the same missing frame; ``retries`` unanswered requests until the link is given up;
    ``gap_ms`` the silence after which an unfinished frame is given up; ``committed`` the ``sequence`` of the
    last card whose outcome is durable, from an earlier run: it and all before it are confirmed, not delivered;
    ``committed_serial`` the serial number of the shoe that told it: another shoe's cards are all new.

    ``CardSeen.sequence`` is ``memory << 32 | sequence`` and unique for the life of a shoe.
    """

    kind = "shoe"
    role = "shoe"

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
        unread = given.choice("closed_cards", "read", ("read", "unread")) == "unread"
        self._mode = Mode.PRESENCE if unread else Mode.VALUES
        self._timeout = given.milliseconds("timeout_ms", 500)
        self._ping = given.milliseconds("ping_ms", 2000)
        self._resend = given.milliseconds("resend_ms", 250)
        self._retries = given.integer("retries", 5, 1, 100)
        self._gap = given.milliseconds("gap_ms", 50)
        committed = given.integer("committed", 0, 0, (1 << 48) - 1)
        self._serial = given.text("committed_serial")
        given.finish()
        self._framer = shoe.framer(self.noise)
        self._memory, sequence = divmod(committed, 1 << 32)
        self._next = sequence + 1
        self._boot: int | None = None
        self._ready = False
        self._announce = True
        self._off = True
        self._waiting: dict[int, Frame] = {}
        self._unconfirmed: set[int] = set()
        self._taken: dict[int, tuple[bytes, int]] = {}
        self._denied: set[int] = set()
        self._misses = 0
        self._last_byte = 0
        self._due: int | None = None
        self._resend_at: int | None = None

    def start(self, now: int) -> Step:
        """Ask who is there and order what may be read. What was delivered before is not delivered again."""
        self._framer.reset()
        self._announce, self._off, self._misses = True, False, 0
        self._last_byte = now
        self._begin(now)
        return self._end(now)

    def feed(self, data: bytes, now: int) -> Step:
        """Bytes came from the shoe, in any cut."""
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
        """The outcome of a card is durable: the shoe may forget it. Other readings need no confirmation."""
        if isinstance(reading, CardSeen):
            memory, sequence = divmod(reading.sequence, 1 << 32)
            if memory == self._memory and sequence in self._unconfirmed:
                self._unconfirmed.discard(sequence)
                self._confirm(sequence)
        return self._end(now)

    def stop(self, now: int) -> Step:
        """Tell the shoe to keep what it sees until somebody asks."""
        if not self._off:
            self._send.append(Frame(Kind.STOP).encode())
        self._switch_off()
        return self._end(now)

    # -- asking ---------------------------------------------------------------------------------------

    def _begin(self, now: int) -> None:
        self._ready = False
        self._waiting.clear()
        self._resend_at = None
        self._due = now + self._timeout
        self._send.append(Frame(Kind.START, bytes((self._mode,))).encode())

    def _confirm(self, sequence: int) -> None:
        # Without a greeting the shoe may be another one; it is told when it repeats the frame.
        if self._ready:
            self._send.append(Frame(Kind.ACK, sequence=sequence).encode())

    def _ask_again(self, now: int) -> None:
        """One request for all that is missing, not one a frame: the shoe is not to be driven mad."""
        self._misses += 1
        self.noise.timeouts += 1
        if self._misses > self._retries:
            self._give_up("timeout")
        else:
            self._resend_at = now + self._resend
            self._send.append(Frame(Kind.RESEND, sequence=self._next).encode())

    def _silence(self, now: int) -> None:
        """Nothing was heard: the greeting is overdue, or it is time for a sign of life."""
        answered = self._ready and self._misses == 0
        if not answered:
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
        if frame.version != shoe.VERSION:
            self._fault("protocol", f"the shoe speaks version {frame.version}, here is {shoe.VERSION}: {_REMEDY}")
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
            # Before the greeting nobody knows whose frame it is; the shoe repeats what is not confirmed.
            self.noise.dropped += len(frame.encode())
        elif frame.kind == Kind.CARD:
            self._heard(now)
            self._card(frame, now)
        elif frame.kind == Kind.STATUS:
            self._heard(now)
            self._status(Status.decode(frame.payload))
        elif frame.kind == Kind.PONG:
            self._heard(now)
            self._alive(frame.payload, now)
        else:
            self._refuse(f"frame type 0x{frame.kind:02x} is not one that a shoe sends")

    def _alive(self, payload: bytes, now: int) -> None:
        if len(payload) != 2:
            self._refuse(f"pong payload of {len(payload)} bytes: 2 are due")
        if payload[0] == self._mode:
            self._conditions(payload[1])
        else:
            self._begin(now)  # it has restarted and its greeting was lost

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
        if self._boot not in (None, hello.boot) and not self._announce:
            self._fault("reset", f"the shoe restarted (power-up {hello.boot}, before it {self._boot})")
        self._boot = hello.boot
        if hello.mode != self._mode:
            # It has restarted and waits for an order, or it disobeys one: the latter ends with the retries.
            if self._ready:
                self._begin(now)
            else:
                self._fault("protocol", f"the shoe is in mode {hello.mode}, ordered was {self._mode.name}")
            return
        self._misses = 0
        self._ready = True
        self._due = now + self._ping
        if self._announce or self._serial not in ("", hello.serial):
            self._announce = False
            self._up(hello.model, hello.serial, hello.firmware)
        self._clear("reset", "protocol")
        self._conditions(hello.conditions)
        self._line_up(hello)

    def _line_up(self, hello: Hello) -> None:
        """Find out where in the shoe's memory we stand."""
        if hello.memory != self._memory or self._serial not in ("", hello.serial):
            self._memory = hello.memory
            self._next = hello.oldest
            self._unconfirmed.clear()
            self._taken.clear()
            self._denied.clear()
        elif hello.oldest > self._next:
            # Another host has confirmed frames that never came here. They are gone: say so.
            lost = hello.oldest - self._next
            self._fault("protocol", f"{lost} card frames were confirmed to somebody else and are lost here")
            self._next = hello.oldest
        self._serial = hello.serial

    def _card(self, frame: Frame, now: int) -> None:
        sequence = frame.sequence
        if sequence < self._next:
            if self._is_another(frame, now):
                self._denied.add(sequence)
                self._fault("reset", f"card {sequence} was taken before and comes as a new one: {_ERASED}")
            elif sequence not in self._unconfirmed:
                self._confirm(sequence)
        elif sequence >= self._next + AHEAD:
            self._refuse(f"card frame {sequence} is more than {AHEAD} ahead of {self._next}")
        else:
            self._waiting[sequence] = frame
            self._taken[sequence] = (frame.payload, now)
            self._taken.pop(sequence - AHEAD, None)
            self._deliver(sequence)
        if not self._waiting:
            self._resend_at = None
        elif self._resend_at is None:
            self._ask_again(now)

    def _is_another(self, frame: Frame, now: int) -> bool:
        """Whether a frame that bears an old number is not the old frame: the shoe has begun to count anew.

        What a shoe sends again it marks as such; an unmarked copy can only come from the line, which does not wait.
        """
        if frame.sequence in self._denied:
            return True
        payload, heard = self._taken.get(frame.sequence, (None, 0))
        if frame.flags & shoe.REPEATED:
            return self._mode is Mode.VALUES and payload not in (None, frame.payload)
        return payload != frame.payload or now - heard > _COPY

    def _deliver(self, newest: int) -> None:
        """Hand on what is next in line; a frame that is repeated, or has waited for another, comes late."""
        while (frame := self._waiting.pop(self._next, None)) is not None:
            sequence = self._next
            self._next += 1
            self._misses = 0
            self._unconfirmed.add(sequence)
            try:
                seen = Card.decode(frame.payload)
            except ProtocolError as error:
                # A card has passed all the same; only its value is unknown.
                self._fault("doubtful", str(error))
                seen = Card(None, 0)
            else:
                self._clear("doubtful")
            number = self._memory << 32 | sequence
            if self._mode is Mode.PRESENCE or frame.flags & shoe.WITHHELD:
                seen = Card(None, 100)  # what may not be known is not believed either
            late = sequence != newest or bool(frame.flags & shoe.REPEATED)
            self._readings.append(
                CardSeen(self.device, self._number(), "0", seen.card, seen.tag, seen.confidence, number, late),
            )

    def _status(self, status: Status) -> None:
        if status.condition not in _FAULT:
            self._refuse(f"status {status.condition} is not known")
        self._condition(Condition(status.condition), status.raised)

    def _conditions(self, bits: int) -> None:
        for condition in Condition:
            self._condition(condition, bool(bits & condition.bit))

    def _condition(self, condition: Condition, raised: bool) -> None:
        if raised:
            self._fault(_FAULT[condition])
        else:
            self._clear(_FAULT[condition])

    def _end(self, now: int) -> Step:
        due = [time for time in (self._due, self._resend_at) if time is not None]
        if self._framer.pending and not self._off:
            due.append(self._last_byte + self._gap)
        return self._step(now, min(due, default=None))
