"""ThingMagic / JADAK Mercury serial protocol: frames and their data. The conversation is in ``mercury_host``.

::

    request    FF LEN OP DATA CRC CRC            LEN counts DATA alone
    response   FF LEN OP STATUS STATUS DATA CRC CRC

All numbers are big-endian. Layouts follow the public developer guide and captured frames.
"""

import binascii
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from drivers.errors import ChecksumError, LocalError, ProtocolError
from drivers.framing import NOT_A_FRAME, Framer, Noise

SOH = 0xFF
MAX_DATA = 0xFF

RUN = b"\x00\x00\x01\x22\x00\x00\x05\x07\x22\x10\x00\x1b\x03\xe8\x01\xff"
"""Data of ``CONTINUOUS`` to begin: no time-out, GEN2, search all antennas of the list, all metadata per tag."""
HALT = b"\x00\x00\x02"
"""Data of ``CONTINUOUS`` to end."""
GEN2 = b"\x00\x05"
NO_FILTER = b"\x01\x0c\x00"
"""Data of ``SET_OPTION``: report a tag in every round. With the filter on, each tag is told once only."""
TAG = 1
"""Kind of stream record that names a tag."""


class Opcode(IntEnum):
    """Operations in use here."""

    VERSION = 0x03
    BOOT = 0x04
    READ_SINGLE = 0x21
    READ_MULTIPLE = 0x22
    GET_BUFFER = 0x29
    CONTINUOUS = 0x2F
    SET_ANTENNAS = 0x91
    SET_POWER = 0x92
    SET_PROTOCOL = 0x93
    SET_REGION = 0x97
    SET_OPTION = 0x9A


class Status(IntEnum):
    """Status words with a meaning here."""

    OK = 0x0000
    UNKNOWN_OPCODE = 0x0101
    NO_TAGS = 0x0400
    THROTTLE = 0x0504
    RETURN_LOSS = 0x0505


_AUGMENTED = binascii.crc_hqx(b"\xff\xff", 0)


def crc16(data: bytes) -> int:
    """CRC of Mercury over at least two bytes: polynomial 0x1021, start 0xFFFF, without the sixteen zeros at the end.

    The standard library computes the CRC with them. Without them the last two bytes are never multiplied
    through: they are added as they are, and the start value has to be advanced by as much.
    """
    return binascii.crc_hqx(data[:-2], _AUGMENTED) ^ int.from_bytes(data[-2:], "big")


def _wrap(body: bytes, size: int) -> bytes:
    if size > MAX_DATA:
        raise LocalError(f"Mercury data of {size} bytes: at most {MAX_DATA}")
    covered = bytes((size,)) + body
    return bytes((SOH,)) + covered + crc16(covered).to_bytes(2, "big")


def _unwrap(frame: bytes, beside: int) -> bytes:
    """OP and what follows it, without the CRC. ``beside`` is the length of a frame without data."""
    if len(frame) < beside or frame[0] != SOH or frame[1] + beside != len(frame):
        raise ProtocolError(f"Mercury length does not fit a frame of {len(frame)} bytes")
    if crc16(frame[1:-2]) != int.from_bytes(frame[-2:], "big"):
        raise ChecksumError(f"Mercury checksum wrong in a frame of {len(frame)} bytes")
    return frame[2:-2]


@dataclass(frozen=True, slots=True)
class Request:
    """What the host asks."""

    opcode: int
    data: bytes = b""

    def encode(self) -> bytes:
        """The frame. Raises ``LocalError`` for too much data."""
        return _wrap(bytes((self.opcode,)) + self.data, len(self.data))

    @classmethod
    def decode(cls, frame: bytes) -> "Request":
        """Raises ``ChecksumError``, or ``ProtocolError`` for a wrong length."""
        body = _unwrap(frame, 5)
        return cls(body[0], body[1:])


@dataclass(frozen=True, slots=True)
class Response:
    """What the module answers, or sends while it reads continuously."""

    opcode: int
    status: int = Status.OK
    data: bytes = b""

    def encode(self) -> bytes:
        """The frame. Raises ``LocalError`` for too much data."""
        return _wrap(bytes((self.opcode,)) + self.status.to_bytes(2, "big") + self.data, len(self.data))

    @classmethod
    def decode(cls, frame: bytes) -> "Response":
        """Raises ``ChecksumError``, or ``ProtocolError`` for a wrong length."""
        body = _unwrap(frame, 7)
        return cls(body[0], int.from_bytes(body[1:3], "big"), body[3:])


def _measure(beside: int) -> Callable[[bytearray], int | None]:
    def measure(buffer: bytearray) -> int | None:
        if buffer[0] != SOH:
            return NOT_A_FRAME
        return buffer[1] + beside if len(buffer) > 1 else None

    return measure


def request_framer() -> Framer[Request]:
    """The parser of the module's side."""
    return Framer(_measure(5), Request.decode)


def response_framer(noise: Noise | None = None) -> Framer[Response]:
    """The parser of the host's side."""
    return Framer(_measure(7), Response.decode, noise)


@dataclass(frozen=True, slots=True)
class Version:
    """Data of ``VERSION`` and ``BOOT``. The firmware's date is in its own digits (``20141007``)."""

    bootloader: bytes
    hardware: bytes
    date: bytes
    firmware: bytes
    protocols: int

    @property
    def model(self) -> str:
        """The hardware version, which is how modules tell themselves apart; they do not tell a serial number here."""
        return f"M-{self.hardware.hex().upper()}"

    @property
    def revision(self) -> str:
        """The firmware's version and date."""
        return ".".join(f"{byte:02X}" for byte in self.firmware) + f" ({self.date.hex()})"

    def encode(self) -> bytes:
        """Twenty bytes."""
        return self.bootloader + self.hardware + self.date + self.firmware + self.protocols.to_bytes(4, "big")

    @classmethod
    def decode(cls, data: bytes) -> "Version":
        """Raises ``ProtocolError`` for a wrong length."""
        if len(data) != 20:
            raise ProtocolError(f"Mercury version of {len(data)} bytes: 20 are due")
        return cls(data[:4], data[4:8], data[8:12], data[12:16], int.from_bytes(data[16:], "big"))


_SIZES = (1, 1, 1, 3, 4, 2, 1)
"""Bytes of the metadata fields by their bit: count, RSSI, antenna, kHz, ms, phase, protocol."""
_ALL = b"\x01\xff"
_WHOLE = struct.Struct(">BbBBHI6xH")
"""Count, RSSI, antenna, kHz in two parts, ms, and the bits of the name, behind phase, protocol, no data, and GPIO."""
_NAME_AT = 24
_DATA_BIT = 0x0080
_GPIO_BIT = 0x0100
_STREAM_FLAGS = 0x001B


@dataclass(frozen=True, slots=True)
class TagRead:
    """One record of a continuous read: the tag that was heard, and how.

    ``rssi`` in dBm, ``antenna`` the transmitting one, ``frequency`` in kHz, ``at`` ms since the read began.
    """

    epc: bytes
    pc: int = 0x3000
    rssi: int = 0
    antenna: int = 1
    frequency: int = 0
    at: int = 0
    count: int = 1
    crc: int = 0

    @property
    def tag(self) -> str:
        """The EPC as readings carry it: upper-case hex."""
        return self.epc.hex().upper()

    def encode(self) -> bytes:
        """Data of a stream record with all metadata, as ``RUN`` orders it."""
        head = b"\x10" + _STREAM_FLAGS.to_bytes(2, "big") + b"\x01\xff" + bytes((TAG, self.count, self.rssi & 0xFF))
        where = bytes((self.antenna << 4 | self.antenna,)) + self.frequency.to_bytes(3, "big")
        when = self.at.to_bytes(4, "big") + b"\x00\x00\x05\x00\x00\x0f"
        bits = (len(self.epc) + 4) * 8
        name = self.pc.to_bytes(2, "big") + self.epc + self.crc.to_bytes(2, "big")
        return head + where + when + bits.to_bytes(2, "big") + name

    @classmethod
    def decode(cls, data: bytes) -> "TagRead | None":
        """``None`` for a record about the module itself. Raises ``ProtocolError`` where it ends too early."""
        if len(data) < 6:
            raise ProtocolError(f"stream record of {len(data)} bytes: at least 6 are due")
        if data[5] != TAG:
            return None
        if data[3:5] == _ALL and data[19:21] == b"\x00\x00" and len(data) > _NAME_AT + 4:
            # As ``RUN`` orders it, and then nothing has to be counted: a full tray is a thousand of these a second.
            count, rssi, antenna, high, low, when, bits = _WHOLE.unpack_from(data, 6)
            if bits == 8 * (len(data) - _NAME_AT):
                pc, crc = int.from_bytes(data[_NAME_AT : _NAME_AT + 2], "big"), int.from_bytes(data[-2:], "big")
                return cls(data[_NAME_AT + 2 : -2], pc, rssi, antenna >> 4, high << 16 | low, when, count, crc)
        flags = int.from_bytes(data[3:5], "big")
        at = 6
        fields: list[int] = []
        for bit, size in enumerate(_SIZES):
            present = flags >> bit & 1
            fields.append(int.from_bytes(data[at : at + size], "big") if present else 0)
            at += size * present
        if flags & _DATA_BIT:
            at += 2 + (int.from_bytes(data[at : at + 2], "big") + 7) // 8
        if flags & _GPIO_BIT:
            at += 1
        size = int.from_bytes(data[at : at + 2], "big") // 8
        name = data[at + 2 : at + 2 + size]
        if size < 5 or len(name) != size or at + 2 + size != len(data):
            raise ProtocolError("stream record ends inside its EPC")
        count, rssi, antenna, frequency, when, _, _ = fields
        return cls(
            name[2:-2],
            int.from_bytes(name[:2], "big"),
            rssi - 256 if rssi > 127 else rssi,
            antenna >> 4,
            frequency,
            when,
            count,
            int.from_bytes(name[-2:], "big"),
        )
