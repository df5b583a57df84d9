"""The frames of our smart shoe, version 1. The protocol is this project's own: see docs/shoe-protocol.md."""

import binascii
from dataclasses import dataclass
from enum import IntEnum

from drivers.errors import ChecksumError, LocalError, ProtocolError
from drivers.framing import NOT_A_FRAME, Framer, Noise

MAGIC = b"FS"
VERSION = 1
MAX_PAYLOAD = 256
HEAD = 11
TAIL = 2

REPEATED = 0x01
"""Flag: the frame has been sent before."""
WITHHELD = 0x02
"""Flag of a card: the host has ordered that values are not read."""


class Kind(IntEnum):
    """Frame types. The high bit is set in what the host sends."""

    HELLO = 0x01
    CARD = 0x02
    STATUS = 0x03
    PONG = 0x04
    START = 0x81
    ACK = 0x82
    RESEND = 0x83
    PING = 0x84
    STOP = 0x85


class Mode(IntEnum):
    """What the host lets the shoe do. ``OFF``: nobody has said START since power-up or STOP."""

    OFF = 0
    VALUES = 1
    PRESENCE = 2


class Condition(IntEnum):
    """Troubles of the shoe; the bit of a condition in HELLO is ``1 << (number - 1)``."""

    JAM = 1
    LID = 2
    EMPTY = 3
    FULL = 4

    @property
    def bit(self) -> int:
        """Its bit in HELLO."""
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
            raise LocalError(f"shoe payload of {len(self.payload)} bytes: at most {MAX_PAYLOAD}")
        head = MAGIC + bytes((self.version, self.kind, self.flags)) + self.sequence.to_bytes(4, "big")
        body = head + len(self.payload).to_bytes(2, "big") + self.payload
        return body + binascii.crc_hqx(body, 0xFFFF).to_bytes(2, "big")

    @classmethod
    def decode(cls, frame: bytes) -> "Frame":
        """Raises ``ChecksumError``, or ``ProtocolError`` for a wrong head or length."""
        if len(frame) < HEAD + TAIL or frame[:2] != MAGIC or _size(frame) != len(frame):
            raise ProtocolError(f"shoe frame of {len(frame)} bytes does not have the head of one")
        if binascii.crc_hqx(frame[:-TAIL], 0xFFFF) != int.from_bytes(frame[-TAIL:], "big"):
            raise ChecksumError(f"shoe checksum wrong in a frame of {len(frame)} bytes")
        return cls(frame[3], frame[HEAD:-TAIL], int.from_bytes(frame[5:9], "big"), frame[4], frame[2])


def _size(head: bytes | bytearray) -> int:
    return HEAD + int.from_bytes(head[9:11], "big") + TAIL


def _measure(buffer: bytearray) -> int | None:
    if buffer[: len(MAGIC)] != MAGIC[: len(buffer)]:
        return NOT_A_FRAME
    if len(buffer) < HEAD:
        return None
    size = _size(buffer)
    return size if size <= HEAD + MAX_PAYLOAD + TAIL else NOT_A_FRAME


def framer(noise: Noise | None = None) -> Framer[Frame]:
    """The parser of either side. It takes frames of any version, so that a wrong one can be named."""
    return Framer(_measure, Frame.decode, noise)


_RANKS = "23456789TJQKA"
_SUITS = "cdhs"


@dataclass(frozen=True, slots=True)
class Card:
    """Payload of CARD. ``card`` is ``"As"`` or ``None``; ``tag`` upper-case hex or ``None``; confidence 0..100."""

    card: str | None
    confidence: int
    tag: str | None = None

    def encode(self) -> bytes:
        """Rank nibble 2..14, suit nibble 1..4 (clubs, diamonds, hearts, spades); 0 where not known."""
        code = 0
        if self.card is not None:
            code = (_RANKS.index(self.card[0]) + 2) << 4 | (_SUITS.index(self.card[1]) + 1)
        tag = bytes.fromhex(self.tag) if self.tag is not None else b""
        return bytes((code, self.confidence, len(tag))) + tag

    @classmethod
    def decode(cls, payload: bytes) -> "Card":
        """Raises ``ProtocolError`` where the payload names no card of a deck, or has a wrong length."""
        if len(payload) < 3 or len(payload) != 3 + payload[2]:
            raise ProtocolError(f"card payload of {len(payload)} bytes has a wrong length")
        rank, suit = payload[0] >> 4, payload[0] & 0x0F
        if rank == 1 or rank > 14 or suit > 4 or payload[1] > 100:
            raise ProtocolError("card payload names no card of a deck or no confidence from 0 to 100")
        card = _RANKS[rank - 2] + _SUITS[suit - 1] if rank and suit else None
        return cls(card, payload[1], payload[3:].hex().upper() or None)


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
        out = bytearray(head + bytes((self.conditions, self.mode)))
        for text in (self.model, self.serial, self.firmware):
            raw = text.encode("ascii")
            out += bytes((len(raw),)) + raw
        return bytes(out)

    @classmethod
    def decode(cls, payload: bytes) -> "Hello":
        """Raises ``ProtocolError`` for a wrong length or a text that is not printable ASCII."""
        texts: list[str] = []
        at = 12
        for _ in range(3):
            size = payload[at] if at < len(payload) else -1
            raw = payload[at + 1 : at + 1 + size]
            if size < 0 or len(raw) != size or not all(0x20 <= byte < 0x7F for byte in raw):
                raise ProtocolError("hello payload is too short or its texts are not printable ASCII")
            texts.append(raw.decode("ascii"))
            at += 1 + size
        return cls(
            int.from_bytes(payload[:4], "big"),
            int.from_bytes(payload[4:6], "big"),
            int.from_bytes(payload[6:10], "big"),
            payload[10],
            payload[11],
            *texts,
        )
