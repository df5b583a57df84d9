"""Eccel Pepper C1 and its multiplexer: frames and what they hold. The conversation is in ``eccel_host``.

::

    F5 LEN LEN ~LEN ~LEN PAYLOAD CRC CRC

LEN counts payload and CRC; LEN and CRC have their low byte first. A payload from the host is a command and its
data; one from the reader begins with 00 (done: the command, then its result), FF (the command has failed, then
its error) or FE (unasked: a tag). Layouts follow the vendor's public documentation and libraries.
"""

import binascii
from dataclasses import dataclass
from enum import IntEnum

from drivers.errors import ChecksumError, LocalError, ProtocolError
from drivers.framing import NOT_A_FRAME, Framer, Noise

STX = 0xF5
HEAD = 5
MAX_PAYLOAD = 1024
"""Longest payload believed. A longer claim is noise."""


class Command(IntEnum):
    """Commands in use here."""

    PING = 0x01
    TAG_COUNT = 0x02
    GET_UID = 0x03
    SET_POLLING = 0x06
    REBOOT = 0x0A
    VERSION = 0x0B
    ANTENNA = 0x0F
    CONFIGURATION = 0x13


class Answer(IntEnum):
    """First byte of what the reader says."""

    DONE = 0x00
    EVENT = 0xFE
    FAILED = 0xFF


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of either side: its payload."""

    payload: bytes

    def encode(self) -> bytes:
        """The bytes on the wire. Raises ``LocalError`` for a payload that is empty or too long."""
        if not 0 < len(self.payload) <= MAX_PAYLOAD:
            raise LocalError(f"Pepper payload of {len(self.payload)} bytes: 1 to {MAX_PAYLOAD}")
        size = (len(self.payload) + 2).to_bytes(2, "little")
        check = binascii.crc_hqx(self.payload, 0xFFFF).to_bytes(2, "little")
        return bytes((STX, *size, size[0] ^ 0xFF, size[1] ^ 0xFF)) + self.payload + check

    @classmethod
    def decode(cls, frame: bytes) -> "Frame":
        """Raises ``ChecksumError``, or ``ProtocolError`` for a wrong head."""
        if len(frame) < HEAD + 3 or _measure(bytearray(frame[:HEAD])) != len(frame):
            raise ProtocolError(f"Pepper head does not fit a frame of {len(frame)} bytes")
        if binascii.crc_hqx(frame[HEAD:-2], 0xFFFF) != int.from_bytes(frame[-2:], "little"):
            raise ChecksumError(f"Pepper checksum wrong in a frame of {len(frame)} bytes")
        return cls(frame[HEAD:-2])


def _measure(buffer: bytearray) -> int | None:
    if buffer[0] != STX:
        return NOT_A_FRAME
    if len(buffer) < HEAD:
        return None
    size = buffer[1] | buffer[2] << 8
    if buffer[3] != buffer[1] ^ 0xFF or buffer[4] != buffer[2] ^ 0xFF or not 3 <= size <= MAX_PAYLOAD + 2:
        return NOT_A_FRAME
    return HEAD + size


def framer(noise: Noise | None = None) -> Framer[Frame]:
    """The parser of either side."""
    return Framer(_measure, Frame.decode, noise)


def command(code: int, data: bytes = b"") -> bytes:
    """The frame of a command."""
    return Frame(bytes((code,)) + data).encode()


def done(code: int, data: bytes = b"") -> bytes:
    """The frame that says a command is done."""
    return Frame(bytes((Answer.DONE, code)) + data).encode()


def failed(code: int, error: int) -> bytes:
    """The frame that says a command has failed."""
    return Frame(bytes((Answer.FAILED, code)) + error.to_bytes(2, "little")).encode()


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as ``GET_UID`` and events name it. ``kind`` and ``parameter`` are the reader's own."""

    uid: bytes
    kind: int = 0x01
    parameter: int = 0x00

    @property
    def name(self) -> str:
        """The identifier as readings carry it: upper-case hex."""
        return self.uid.hex().upper()

    def encode(self) -> bytes:
        """Result of ``GET_UID``."""
        return bytes((self.kind, self.parameter)) + self.uid

    @classmethod
    def decode(cls, data: bytes) -> "Tag":
        """Raises ``ProtocolError`` for an identifier of fewer than 4 or more than 12 bytes."""
        if not 6 <= len(data) <= 14:
            raise ProtocolError(f"tag of {len(data)} bytes: 6 to 14 are due")
        return cls(data[2:], data[0], data[1])


def event(tag: Tag) -> bytes:
    """The frame that the reader sends unasked while it sees a tag."""
    return Frame(bytes((Answer.EVENT, 0x00)) + tag.encode()).encode()


def decode_event(payload: bytes) -> Tag:
    """The tag of an event. Raises ``ProtocolError``."""
    return Tag.decode(payload[2:])


def encode_name(name: str) -> bytes:
    """Result of ``CONFIGURATION`` 00: section, two flags, the name after its length."""
    raw = name.encode()
    return bytes((0, 0, 0, len(raw))) + raw


def decode_name(data: bytes) -> str:
    """The reader's name, by which it is known again. Raises ``ProtocolError``."""
    if len(data) < 4 or len(data) < 4 + data[3]:
        raise ProtocolError(f"name in {len(data)} bytes ends too early")
    raw = data[4 : 4 + data[3]]
    if not all(0x20 <= byte < 0x7F for byte in raw):
        raise ProtocolError("the reader's name is not printable ASCII")
    return raw.decode("ascii")
