"""The frames of our smart camera, version 1. The protocol is this project's own: see docs/camera-protocol.md."""

from dataclasses import dataclass

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

__all__ = ["MAX_PAYLOAD", "REPEATED", "VERSION", "Condition", "Frame", "Hello", "Kind", "Sight", "framer"]


class Condition(Trouble):
    """Troubles of the camera."""

    DARK = 1
    COVERED = 2
    MOVED = 3
    FULL = 4


class Frame(KeptFrame):
    """One frame between camera and host."""

    __slots__ = ()
    MAGIC = b"FC"
    DEVICE = "camera"


def framer(noise: Noise | None = None) -> Framer[Frame]:
    """The parser of either side."""
    return Framer(Frame.measure, Frame.decode, noise)


_UP, _PRESENT, _STANDING, _WITHHELD = 0x01, 0x02, 0x04, 0x08


@dataclass(frozen=True, slots=True)
class Sight:
    """Payload of SIGHT: what one card in one region looks like now.

    ``object`` is the camera's number of that card while it stays in view; ``card`` ``"As"`` or ``None``;
    ``standing`` when it lay there already at START; ``withheld`` when its face was not read by order.
    """

    region: int
    object: int
    card: str | None
    confidence: int
    up: bool
    present: bool = True
    standing: bool = False
    withheld: bool = False

    def encode(self) -> bytes:
        """Eight bytes."""
        bits = self.up * _UP | self.present * _PRESENT | self.standing * _STANDING | self.withheld * _WITHHELD
        return (
            bytes((self.region,))
            + self.object.to_bytes(4, "big")
            + bytes((card_code(self.card), self.confidence, bits))
        )

    @classmethod
    def decode(cls, payload: bytes) -> "Sight":
        """Raises ``ProtocolError`` for a wrong length, or a code that names no card of a deck."""
        if len(payload) != 8:
            raise ProtocolError(f"sight payload of {len(payload)} bytes: 8 are due")
        code, confidence, bits = payload[5:]
        if confidence > 100 or bits > 0x0F:
            raise ProtocolError("sight payload has a confidence above 100 or bits that mean nothing")
        return cls(
            payload[0],
            int.from_bytes(payload[1:5], "big"),
            card_of(code),
            confidence,
            bool(bits & _UP),
            bool(bits & _PRESENT),
            bool(bits & _STANDING),
            bool(bits & _WITHHELD),
        )


@dataclass(frozen=True, slots=True)
class Hello:
    """Payload of HELLO. ``boot`` counts power-ups, and sequences begin again at 1 with each; ``oldest`` is the
    first sequence that is not confirmed (the next one to be used, where all are).
    """

    boot: int
    oldest: int
    conditions: int
    model: str
    serial: str
    firmware: str

    def encode(self) -> bytes:
        """Numbers, then three texts, each after its length."""
        head = self.boot.to_bytes(4, "big") + self.oldest.to_bytes(4, "big") + bytes((self.conditions,))
        return head + encode_texts(self.model, self.serial, self.firmware)

    @classmethod
    def decode(cls, payload: bytes) -> "Hello":
        """Raises ``ProtocolError`` for a wrong length or a text that is not printable ASCII."""
        texts = decode_texts(payload, 9, 3)
        return cls(int.from_bytes(payload[:4], "big"), int.from_bytes(payload[4:8], "big"), payload[8], *texts)
