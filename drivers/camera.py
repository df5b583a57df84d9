"""The frames of our smart camera, version 1. The protocol is this project's own: see docs/camera-protocol.md."""

import binascii
from dataclasses import dataclass
from enum import IntEnum

from drivers.errors import ChecksumError, LocalError, ProtocolError
from drivers.framing import NOT_A_FRAME, Framer, Noise

MAGIC = b"FC"
VERSION = 1
MAX_PAYLOAD = 256
HEAD = 11
TAIL = 2

REPEATED = 0x01
"""Flag: the frame has been sent before."""


class Kind(IntEnum):
    """Frame types. The high bit is set in what the host sends."""

    HELLO = 0x01
    SIGHT = 0x02
    STATUS = 0x03
    PONG = 0x04
    START = 0x81
    ACK = 0x82
    RESEND = 0x83
    PING = 0x84
    STOP = 0x85


class Condition(IntEnum):
    """Troubles of the camera; the bit of a condition in HELLO and PONG is ``1 << (number - 1)``."""

    DARK = 1
    COVERED = 2
    MOVED = 3
    FULL = 4

    @property
    def bit(self) -> int:
        """Its bit in HELLO and PONG."""
        return 1 << (self.value - 1)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. ``sequence`` is 0 in frames that are not kept; ``version`` is the speaker's."""

    kind: int
    payload: bytes = b""
    sequence: int = 0
    flags: int = 0
    version: int = VERSION

    def encode(self) -> bytes:
        """The bytes on the wire. Raises ``LocalError`` for a payload that is too long."""
        if len(self.payload) > MAX_PAYLOAD:
            raise LocalError(f"camera payload of {len(self.payload)} bytes: at most {MAX_PAYLOAD}")
        head = MAGIC + bytes((self.version, self.kind, self.flags)) + self.sequence.to_bytes(4, "big")
        body = head + len(self.payload).to_bytes(2, "big") + self.payload
        return body + binascii.crc_hqx(body, 0xFFFF).to_bytes(2, "big")

    @classmethod
    def decode(cls, frame: bytes) -> "Frame":
        """Raises ``ChecksumError``, or ``ProtocolError`` for a wrong head or length."""
        if len(frame) < HEAD + TAIL or _measure(bytearray(frame[:HEAD])) != len(frame):
            raise ProtocolError(f"camera frame of {len(frame)} bytes does not have the head of one")
        if binascii.crc_hqx(frame[:-TAIL], 0xFFFF) != int.from_bytes(frame[-TAIL:], "big"):
            raise ChecksumError(f"camera checksum wrong in a frame of {len(frame)} bytes")
        return cls(frame[3], frame[HEAD:-TAIL], int.from_bytes(frame[5:9], "big"), frame[4], frame[2])


def _measure(buffer: bytearray) -> int | None:
    if buffer[: len(MAGIC)] != MAGIC[: len(buffer)]:
        return NOT_A_FRAME
    if len(buffer) < HEAD:
        return None
    size = int.from_bytes(buffer[9:11], "big")
    return HEAD + size + TAIL if size <= MAX_PAYLOAD else NOT_A_FRAME


def framer(noise: Noise | None = None) -> Framer[Frame]:
    """The parser of either side. It takes frames of any version, so that a wrong one can be named."""
    return Framer(_measure, Frame.decode, noise)


_RANKS = "23456789TJQKA"
_SUITS = "cdhs"
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
        code = 0
        if self.card is not None:
            code = (_RANKS.index(self.card[0]) + 2) << 4 | (_SUITS.index(self.card[1]) + 1)
        bits = self.up * _UP | self.present * _PRESENT | self.standing * _STANDING | self.withheld * _WITHHELD
        return bytes((self.region,)) + self.object.to_bytes(4, "big") + bytes((code, self.confidence, bits))

    @classmethod
    def decode(cls, payload: bytes) -> "Sight":
        """Raises ``ProtocolError`` for a wrong length, or a code that names no card of a deck."""
        if len(payload) != 8:
            raise ProtocolError(f"sight payload of {len(payload)} bytes: 8 are due")
        code, confidence, bits = payload[5:]
        rank, suit = code >> 4, code & 0x0F
        if rank == 1 or rank > 14 or suit > 4 or confidence > 100 or bits > 0x0F:
            raise ProtocolError("sight payload names no card of a deck, or a confidence above 100")
        card = _RANKS[rank - 2] + _SUITS[suit - 1] if rank and suit else None
        return cls(
            payload[0],
            int.from_bytes(payload[1:5], "big"),
            card,
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
        out = bytearray(self.boot.to_bytes(4, "big") + self.oldest.to_bytes(4, "big") + bytes((self.conditions,)))
        for text in (self.model, self.serial, self.firmware):
            raw = text.encode("ascii")
            out += bytes((len(raw),)) + raw
        return bytes(out)

    @classmethod
    def decode(cls, payload: bytes) -> "Hello":
        """Raises ``ProtocolError`` for a wrong length or a text that is not printable ASCII."""
        texts: list[str] = []
        at = 9
        for _ in range(3):
            size = payload[at] if at < len(payload) else -1
            raw = payload[at + 1 : at + 1 + size]
            if size < 0 or len(raw) != size or not all(0x20 <= byte < 0x7F for byte in raw):
                raise ProtocolError("hello payload is too short or its texts are not printable ASCII")
            texts.append(raw.decode("ascii"))
            at += 1 + size
        return cls(int.from_bytes(payload[:4], "big"), int.from_bytes(payload[4:8], "big"), payload[8], *texts)
