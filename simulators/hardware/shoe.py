"""Our smart shoe, from its own side of the wire: docs/shoe-protocol.md."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from drivers import shoe
from drivers.options import MS
from drivers.shoe import Card, Condition, Frame, Hello, Kind, Mode, Status

REPEAT = 1000 * MS
WINDOW = 32
"""Unconfirmed frames on the wire at once; the rest waits in the memory."""
MEMORY = 512
"""Frames the event memory holds; when it is full the gate stays shut."""


@dataclass(slots=True)
class _Kept:
    """A card frame in the event memory. ``sent_at`` is ``None`` while it has not been sent on this START."""

    frame: Frame
    withheld: Frame
    sent_at: int | None = None
    repeated: bool = False


class SmartShoe:
    """The shoe with the cards in it. The event memory outlives power; the mode and the boot id do not."""

    def __init__(self, serial: str = "SHOE-0001", *, model: str = "FS-1", firmware: str = "1.0.0") -> None:
        self._who = (model, serial, firmware)
        self._cards: list[str] = []
        self._tags: dict[str, str] = {}
        self._framer = shoe.framer()
        self._mode = Mode.OFF
        self._boot = 1
        self._memory = 1
        self._sequence = 0
        self._kept: dict[int, _Kept] = {}
        self._conditions: set[Condition] = {Condition.EMPTY}
        self._told: list[Frame] = []

    # -- what happens on the felt -----------------------------------------------------------------------

    @property
    def left(self) -> int:
        """Cards still in the shoe."""
        return len(self._cards)

    def load(self, cards: Iterable[str], tags: Mapping[str, str] | None = None) -> None:
        """Put a deck in, first card out first. With ``tags`` (card to hex) the shoe reads tags, not faces."""
        self._cards = list(cards)
        self._tags = dict(tags or {})
        self._set(Condition.EMPTY, not self._cards)

    def slide(self, now: int, confidence: int = 100, card: str | None = None) -> str | None:
        """The dealer draws a card: the card, or ``None`` where the shoe is empty, jammed, open or full.

        ``card`` is what the sensor takes it for instead, ``"??"`` where it can not tell.
        """
        del now
        if self._conditions:
            return None
        drawn = self._cards.pop(0)
        seen: str | None = drawn if card is None else card
        if seen == "??":
            seen = None
        tag = self._tags.get(drawn)
        read = Card(None if tag is not None else seen, confidence, tag)
        self._sequence += 1
        self._kept[self._sequence] = _Kept(
            Frame(Kind.CARD, read.encode(), self._sequence),
            Frame(Kind.CARD, Card(None, 100).encode(), self._sequence, shoe.WITHHELD),
        )
        if not self._cards:
            self._set(Condition.EMPTY, True)
        if len(self._kept) >= MEMORY:
            self._set(Condition.FULL, True)
        return drawn

    def jam(self) -> None:
        """A card is stuck in the gate."""
        self._set(Condition.JAM, True)

    def clear(self) -> None:
        """The card is free again."""
        self._set(Condition.JAM, False)

    def lid(self, *, is_open: bool) -> None:
        """The lid is opened or closed."""
        self._set(Condition.LID, is_open)

    def restart(self) -> None:
        """The firmware restarts by itself while the plug stays in, and greets."""
        self._boot_up()
        self._told.append(self._hello())

    def erase(self) -> None:
        """The event memory is lost: sequences begin again, under a new memory id."""
        self._memory += 1
        self._sequence = 0
        self._kept.clear()
        self._set(Condition.FULL, False)

    def unconfirmed(self) -> int:
        """Frames that the shoe still keeps."""
        return len(self._kept)

    # -- the wire ---------------------------------------------------------------------------------------

    def feed(self, data: bytes, now: int) -> list[bytes]:
        """Orders from the host: the answers, then whatever is due."""
        answers = [answer for frame in self._framer.feed(data) for answer in self._obey(frame)]
        return [frame.encode() for frame in answers] + self.poll(now)

    def poll(self, now: int) -> list[bytes]:
        """Cards not sent yet, cards that were not confirmed in time, and status changes."""
        out: list[Frame] = []
        if self._mode is not Mode.OFF:
            for kept in list(self._kept.values())[:WINDOW]:
                if kept.sent_at is None or now >= kept.sent_at + REPEAT:
                    frame = kept.withheld if self._mode is Mode.PRESENCE else kept.frame
                    flags = frame.flags | (shoe.REPEATED if kept.repeated else 0)
                    out.append(replace(frame, flags=flags))
                    kept.sent_at, kept.repeated = now, True
        out += self._told
        self._told.clear()
        return [frame.encode() for frame in out]

    def deadline(self) -> int | None:
        """When the next repetition is due."""
        if self._mode is Mode.OFF:
            return None
        sent = [kept.sent_at for kept in list(self._kept.values())[:WINDOW] if kept.sent_at is not None]
        return min(sent) + REPEAT if sent else None

    def power_cycle(self, now: int) -> None:
        """Unplugged and plugged in: the event memory stays, all else begins anew."""
        del now
        self._boot_up()

    def _boot_up(self) -> None:
        self._boot += 1
        self._mode = Mode.OFF
        self._told.clear()
        self._framer.reset()

    def _set(self, condition: Condition, raised: bool) -> None:
        if raised is (condition in self._conditions):
            return
        (self._conditions.add if raised else self._conditions.discard)(condition)
        if self._mode is not Mode.OFF:
            self._told.append(Frame(Kind.STATUS, Status(condition, raised).encode()))

    def _bits(self) -> int:
        return sum(condition.bit for condition in self._conditions)

    def _hello(self) -> Frame:
        oldest = min(self._kept, default=self._sequence + 1)
        return Frame(Kind.HELLO, Hello(self._boot, self._memory, oldest, self._bits(), self._mode, *self._who).encode())

    def _obey(self, frame: Frame) -> list[Frame]:
        match frame.kind:
            case Kind.START if frame.version == shoe.VERSION and frame.payload in (b"\x01", b"\x02"):
                self._mode = Mode(frame.payload[0])
                self._told.clear()
                self._send_again(0)
            case Kind.START:
                pass
            case Kind.ACK:
                self._kept.pop(frame.sequence, None)
                if len(self._kept) < MEMORY:
                    self._set(Condition.FULL, False)
                return []
            case Kind.RESEND:
                self._send_again(frame.sequence)
                return []
            case Kind.PING:
                return [Frame(Kind.PONG, bytes((self._mode, self._bits())))]
            case Kind.STOP:
                self._mode = Mode.OFF
                return []
            case _:
                return []
        return [self._hello()]

    def _send_again(self, first: int) -> None:
        for sequence, kept in self._kept.items():
            if sequence >= first:
                kept.sent_at = None
