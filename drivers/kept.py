"""What our own protocols, the shoe's and the camera's, share: numbered frames kept until they are confirmed."""

import binascii
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Self

from drivers.errors import ChecksumError, LocalError, ProtocolError
from drivers.framing import NOT_A_FRAME

VERSION = 1
MAX_PAYLOAD = 256
HEAD = 11
TAIL = 2

REPEATED = 0x01
"""Flag: the frame has been sent before."""


class Kind(IntEnum):
    """Frame types. The high bit is set in what the host sends."""

    HELLO = 0x01
    CARD = 0x02
    """What the device keeps until it is confirmed: a shoe's card,"""
    SIGHT = 0x02
    """or a camera's sighting."""
    STATUS = 0x03
    PONG = 0x04
    START = 0x81
    ACK = 0x82
    RESEND = 0x83
    PING = 0x84
    STOP = 0x85


class Trouble(IntEnum):
    """Troubles of a device; the bit of one in HELLO and PONG is ``1 << (number - 1)``."""

    @property
    def bit(self) -> int:
        """Its bit in HELLO and PONG."""
        return 1 << (self.value - 1)


@dataclass(frozen=True, slots=True)
class KeptFrame:
    """One frame. ``sequence`` is 0 in frames that are not kept; ``version`` is the speaker's."""

    MAGIC: ClassVar[bytes]
    DEVICE: ClassVar[str]

    kind: int
    payload: bytes = b""
    sequence: int = 0
    flags: int = 0
    version: int = VERSION

    def encode(self) -> bytes:
        """The bytes on the wire. Raises ``LocalError`` for a payload that is too long."""
        if len(self.payload) > MAX_PAYLOAD:
            raise LocalError(f"{self.DEVICE} payload of {len(self.payload)} bytes: at most {MAX_PAYLOAD}")
        head = self.MAGIC + bytes((self.version, self.kind, self.flags)) + self.sequence.to_bytes(4, "big")
        body = head + len(self.payload).to_bytes(2, "big") + self.payload
        return body + binascii.crc_hqx(body, 0xFFFF).to_bytes(2, "big")

    @classmethod
    def decode(cls, frame: bytes) -> Self:
        """Raises ``ChecksumError``, or ``ProtocolError`` for a wrong head or length."""
        if len(frame) < HEAD + TAIL or cls.measure(bytearray(frame[:HEAD])) != len(frame):
            raise ProtocolError(f"{cls.DEVICE} frame of {len(frame)} bytes does not have the head of one")
        if binascii.crc_hqx(frame[:-TAIL], 0xFFFF) != int.from_bytes(frame[-TAIL:], "big"):
            raise ChecksumError(f"{cls.DEVICE} checksum wrong in a frame of {len(frame)} bytes")
        return cls(frame[3], frame[HEAD:-TAIL], int.from_bytes(frame[5:9], "big"), frame[4], frame[2])

    @classmethod
    def measure(cls, buffer: bytearray) -> int | None:
        """How long the frame is that may begin here. Frames of any version count, so that a wrong one can be named."""
        if buffer[: len(cls.MAGIC)] != cls.MAGIC[: len(buffer)]:
            return NOT_A_FRAME
        if len(buffer) < HEAD:
            return None
        size = int.from_bytes(buffer[9:11], "big")
        return HEAD + size + TAIL if size <= MAX_PAYLOAD else NOT_A_FRAME


_RANKS = "23456789TJQKA"
_SUITS = "cdhs"


def card_code(card: str | None) -> int:
    """A card in one byte: rank nibble 2..14, suit nibble 1..4 (clubs, diamonds, hearts, spades); 0 where not known."""
    return 0 if card is None else (_RANKS.index(card[0]) + 2) << 4 | (_SUITS.index(card[1]) + 1)


def card_of(code: int) -> str | None:
    """The card of such a byte, ``None`` where it is not known. Raises ``ProtocolError`` where no deck has it."""
    rank, suit = code >> 4, code & 0x0F
    if rank == 1 or rank > 14 or suit > 4:
        raise ProtocolError("a code names no card of a deck")
    return _RANKS[rank - 2] + _SUITS[suit - 1] if rank and suit else None


def encode_texts(*texts: str) -> bytes:
    """ASCII texts, each after its length."""
    return b"".join(bytes((len(text),)) + text.encode("ascii") for text in texts)


def decode_texts(payload: bytes, at: int, count: int) -> list[str]:
    """Such texts from ``at`` on. Raises ``ProtocolError`` where one is cut off or not printable ASCII."""
    texts: list[str] = []
    for _ in range(count):
        size = payload[at] if at < len(payload) else -1
        raw = payload[at + 1 : at + 1 + size]
        if size < 0 or len(raw) != size or not all(0x20 <= byte < 0x7F for byte in raw):
            raise ProtocolError("hello payload is too short or its texts are not printable ASCII")
        texts.append(raw.decode("ascii"))
        at += 1 + size
    return texts
