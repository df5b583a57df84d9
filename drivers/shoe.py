"""The frames of our smart shoe, version 1. The protocol is this project's own: see docs/shoe-protocol.md."""

from dataclasses import dataclass
from enum import IntEnum

from drivers.errors import ProtocolError
from drivers.framing import Framer, Noise
from drivers.kept import (
    MAX_PAYLOAD,
    REPEATED,
    VERSION,
    KeptFrame,
    Kind,
    Trouble,
    card_code,
    card_of,
    decode_texts,
    encode_texts,
)

__all__ = [
    "MAX_PAYLOAD",
    "REPEATED",
    "VERSION",
    "Card",
    "Condition",
    "Frame",
    "Hello",
    "Kind",
    "Mode",
    "Status",
    "framer",
]

WITHHELD = 0x02
"""Flag of a card: the host has ordered that values are not read."""


class Mode(IntEnum):
    """What the host lets the shoe do. ``OFF``: nobody has said START since power-up or STOP."""

    OFF = 0
    VALUES = 1
    PRESENCE = 2


class Condition(Trouble):
    """Troubles of the shoe."""

    JAM = 1
    LID = 2
    EMPTY = 3
    FULL = 4


class Frame(KeptFrame):
    """One frame between shoe and host."""

    __slots__ = ()
    MAGIC = b"FS"
    DEVICE = "shoe"


def framer(noise: Noise | None = None) -> Framer[Frame]:
    """The parser of either side."""
    return Framer(Frame.measure, Frame.decode, noise)


@dataclass(frozen=True, slots=True)
class Card:
    """Payload of CARD. ``card`` is ``"As"`` or ``None``; ``tag`` upper-case hex or ``None``; confidence 0..100."""

    card: str | None
    confidence: int
    tag: str | None = None

    def encode(self) -> bytes:
        """Card, confidence, and the tag after its length."""
        tag = bytes.fromhex(self.tag) if self.tag is not None else b""
        return bytes((card_code(self.card), self.confidence, len(tag))) + tag

    @classmethod
    def decode(cls, payload: bytes) -> "Card":
        """Raises ``ProtocolError`` where the payload names no card of a deck, or has a wrong length."""
        if len(payload) < 3 or len(payload) != 3 + payload[2]:
            raise ProtocolError(f"card payload of {len(payload)} bytes has a wrong length")
        if payload[1] > 100:
            raise ProtocolError("card payload names no confidence from 0 to 100")
        return cls(card_of(payload[0]), payload[1], payload[3:].hex().upper() or None)


@dataclass(frozen=True, slots=True)
class Status:
    """Payload of STATUS: a condition begins (``raised``) or is over. An unknown condition keeps its number."""

    condition: int
    raised: bool

    def encode(self) -> bytes:
        """Two bytes."""
        return bytes((self.condition, int(self.raised)))

    @classmethod
    def decode(cls, payload: bytes) -> "Status":
        """Raises ``ProtocolError`` for a wrong length."""
        if len(payload) != 2:
            raise ProtocolError(f"status payload of {len(payload)} bytes: 2 are due")
        return cls(payload[0], payload[1] != 0)


@dataclass(frozen=True, slots=True)
class Hello:
    """Payload of HELLO: who the shoe is and where it stands.

    ``boot`` counts power-ups; ``memory`` changes only when the event memory was erased, and only then do
    sequences begin again at 1; ``oldest`` is the first sequence that is not confirmed (the next one to be
    used, where all are); ``conditions`` the bits of the troubles now present; ``mode`` the mode in effect.
    """

    boot: int
    memory: int
    oldest: int
    conditions: int
    mode: int
    model: str
    serial: str
    firmware: str

    def encode(self) -> bytes:
        """Numbers, then three texts, each after its length."""
        head = self.boot.to_bytes(4, "big") + self.memory.to_bytes(2, "big") + self.oldest.to_bytes(4, "big")
        return head + bytes((self.conditions, self.mode)) + encode_texts(self.model, self.serial, self.firmware)

    @classmethod
    def decode(cls, payload: bytes) -> "Hello":
        """Raises ``ProtocolError`` for a wrong length or a text that is not printable ASCII."""
        texts = decode_texts(payload, 12, 3)
        return cls(
            int.from_bytes(payload[:4], "big"),
            int.from_bytes(payload[4:6], "big"),
            int.from_bytes(payload[6:10], "big"),
            payload[10],
            payload[11],
            *texts,
        )
