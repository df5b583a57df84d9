"""The host's side of our smart shoe: no card is lost, none counts twice, none is confirmed too early.

The shoe keeps every card frame until it is confirmed. Frames are delivered in the order of their sequence:
one that arrives ahead of its turn waits until the missing one has been sent again. A frame is confirmed
by ``acknowledge``, which the controller calls once the outcome is durable, and by nothing else.
"""

from collections.abc import Mapping

from drivers import shoe
from drivers.conversation import Step
from drivers.errors import ProtocolError
from drivers.kept_host import KeptHost
from drivers.options import MS, Options
from drivers.readings import CardSeen, Reading
from drivers.shoe import Card, Condition, Frame, Hello, Mode, Status

AHEAD = 64
"""How far a frame may be ahead of the one that is due; the shoe never sends further than half of this."""

_FAULT = {Condition.JAM: "jam", Condition.LID: "lid", Condition.EMPTY: "empty", Condition.FULL: "overflow"}

_COPY = 500 * MS
"""How soon after a frame a copy of it that the line made can come; a shoe repeats a frame after a second."""
_ERASED = "the shoe's memory was erased without a new name; it is not confirmed. Take the shoe out, erase it whole"


class ShoeHost(KeptHost[Frame]):
    """Conversation with one shoe.

    Options: ``closed_cards`` ``"read"`` or ``"unread"`` (the shoe reports presence only); ``timeout_ms`` for
    one answer; ``ping_ms`` of silence until the shoe is asked for a sign of life; ``resend_ms`` between two
    requests for the same missing frame; ``retries`` unanswered requests until the link is given up;
    ``gap_ms`` the silence after which an unfinished frame is given up; ``committed`` the ``sequence`` of the
    last card whose outcome is durable, from an earlier run: it and all before it are confirmed, not delivered;
    ``committed_serial`` the serial number of the shoe that told it: another shoe's cards are all new.

    ``CardSeen.sequence`` is ``memory << 32 | sequence`` and unique for the life of a shoe.
    """

    FRAME = Frame
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
        given = Options(device, options or {})
        super().__init__(device, path, expect, shoe.framer, given)
        unread = given.choice("closed_cards", "read", ("read", "unread")) == "unread"
        self._mode = Mode.PRESENCE if unread else Mode.VALUES
        committed = given.integer("committed", 0, 0, (1 << 48) - 1)
        self._serial = given.text("committed_serial")
        given.finish()
        self._memory, sequence = divmod(committed, 1 << 32)
        self._next = sequence + 1
        self._boot: int | None = None
        self._waiting: dict[int, Frame] = {}
        self._unconfirmed: set[int] = set()
        self._taken: dict[int, tuple[bytes, int]] = {}
        self._denied: set[int] = set()

    def acknowledge(self, reading: Reading, now: int) -> Step:
        """The outcome of a card is durable: the shoe may forget it. Other readings need no confirmation."""
        if isinstance(reading, CardSeen):
            memory, sequence = divmod(reading.sequence, 1 << 32)
            if memory == self._memory and sequence in self._unconfirmed:
                self._unconfirmed.discard(sequence)
                self._confirm(sequence)
        return self._end(now)

    # -- asking ---------------------------------------------------------------------------------------

    def _order(self) -> bytes:
        return bytes((self._mode,))

    def _begin(self, now: int) -> None:
        self._waiting.clear()
        super()._begin(now)

    # -- hearing --------------------------------------------------------------------------------------

    def _alive(self, payload: bytes, now: int) -> None:
        if len(payload) != 2:
            self._refuse(f"pong payload of {len(payload)} bytes: 2 are due")
        if payload[0] == self._mode:
            self._conditions(payload[1])
        else:
            self._begin(now)  # it has restarted and its greeting was lost

    def _greeted(self, payload: bytes, now: int) -> None:
        hello = Hello.decode(payload)
        if not self._is_as_configured(hello.model, hello.serial):
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

    def _kept(self, frame: Frame, now: int) -> None:
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

    def _status(self, payload: bytes) -> None:
        status = Status.decode(payload)
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
