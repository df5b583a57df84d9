"""FEIG OBID i-scan / classic-pro: frames and their data. The conversation is in ``feig_host``.

Two frame formats, big-endian data, CRC low byte first::

    standard   LEN ADR CMD [STATUS] DATA CRC CRC          LEN counts every byte
    advanced   02 ALEN ALEN ADR CMD [STATUS] DATA CRC CRC ALEN counts every byte, STX too

Only responses carry STATUS. 02 can not be the LEN of a standard frame, so the first byte tells the format.
Layouts follow the public OBID system manuals.
"""

import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from drivers.errors import ChecksumError, LocalError, ProtocolError
from drivers.framing import NOT_A_FRAME, Framer, Noise

STX = 0x02
BROADCAST = 0xFF
MAX_FRAME = 8192
"""Longest advanced frame believed: 255 data sets of the longest kind need less. A longer claim is noise."""

MORE = 0x80
PER_ANTENNA = 0x20
DEVICE_ID = 0x80
"""MODE of ``READER_INFO`` that asks for the device id, which is the serial number."""


class Command(IntEnum):
    """Control bytes in use here."""

    READ_BUFFER = 0x22
    BUFFER_INFO = 0x31
    CLEAR_BUFFER = 0x32
    INIT_BUFFER = 0x33
    BAUD_DETECT = 0x52
    CPU_RESET = 0x63
    SOFTWARE_VERSION = 0x65
    READER_INFO = 0x66
    RF_RESET = 0x69
    DIAGNOSTIC = 0x6E
    READ_CONFIG = 0x80
    WRITE_CONFIG = 0x81
    ISO_HOST = 0xB0
    MULTIPLEXER = 0xDD


class Status(IntEnum):
    """Status bytes with a meaning here; any other is a protocol trouble."""

    OK = 0x00
    NO_TAG = 0x01
    DATA_FALSE = 0x02
    LENGTH = 0x81
    RF_COMMUNICATION = 0x83
    WARNING = 0x84
    NO_VALID_DATA = 0x92
    BUFFER_OVERFLOW = 0x93
    MORE_DATA = 0x94
    ISO_ERROR = 0x95


class TagType(IntEnum):
    """TR-TYPE: the kinds of transponder whose data sets are understood."""

    ISO15693 = 0x03
    ISO14443A = 0x04
    ISO18000_3M3 = 0x09
    GEN2 = 0x84


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def crc16(data: bytes) -> int:
    """CRC of OBID: polynomial 0x8408 reflected, start 0xFFFF, no final XOR.

    The mirror image of the CCITT CRC that the standard library computes in C, so bytes and result are mirrored.
    """
    mirrored = binascii.crc_hqx(data.translate(_REVERSED), 0xFFFF)
    return _REVERSED[mirrored & 0xFF] << 8 | _REVERSED[mirrored >> 8]


def _wrap(body: bytes, advanced: bool) -> bytes:
    size = len(body) + 3
    if advanced or size > 0xFF:
        size += 2
        if size > MAX_FRAME:
            raise LocalError(f"frame of {size} bytes: OBID frames here are at most {MAX_FRAME}")
        head = bytes((STX, size >> 8, size & 0xFF))
    else:
        head = bytes((size,))
    frame = head + body
    return frame + crc16(frame).to_bytes(2, "little")


def _unwrap(frame: bytes, least: int) -> tuple[bool, bytes]:
    """The format and the body of a frame. ``least`` is the length of the shortest body."""
    advanced = frame[:1] == bytes((STX,))
    head = 3 if advanced else 1
    if len(frame) < head + least + 2 or int.from_bytes(frame[:head], "big") & 0xFFFF != len(frame):
        raise ProtocolError(f"OBID length does not fit a frame of {len(frame)} bytes")
    if crc16(frame[:-2]) != int.from_bytes(frame[-2:], "little"):
        raise ChecksumError(f"OBID checksum wrong in a frame of {len(frame)} bytes")
    return advanced, frame[head:-2]


@dataclass(frozen=True, slots=True)
class Request:
    """What the host asks. ``address`` 0xFF reaches any reader; ``advanced`` is the long frame (TCP has no other)."""

    command: int
    data: bytes = b""
    address: int = BROADCAST
    advanced: bool = False

    def encode(self) -> bytes:
        """The frame; it becomes an advanced one where a standard one is too short."""
        return _wrap(bytes((self.address, self.command)) + self.data, self.advanced)

    @classmethod
    def decode(cls, frame: bytes) -> "Request":
        """Raises ``ChecksumError``, or ``ProtocolError`` for a wrong length."""
        advanced, body = _unwrap(frame, 2)
        return cls(body[1], body[2:], body[0], advanced)


@dataclass(frozen=True, slots=True)
class Response:
    """What the reader answers, or says unasked. ``address`` is always its real one."""

    command: int
    status: int
    data: bytes = b""
    address: int = 0
    advanced: bool = False

    def encode(self) -> bytes:
        """The frame; it becomes an advanced one where a standard one is too short."""
        return _wrap(bytes((self.address, self.command, self.status)) + self.data, self.advanced)

    @classmethod
    def decode(cls, frame: bytes) -> "Response":
        """Raises ``ChecksumError``, or ``ProtocolError`` for a wrong length."""
        advanced, body = _unwrap(frame, 3)
        return cls(body[1], body[2], body[3:], body[0], advanced)


def _measure(buffer: bytearray, shortest: int) -> int | None:
    if buffer[0] != STX:
        return buffer[0] if buffer[0] >= shortest else NOT_A_FRAME
    if len(buffer) < 3:
        return None
    size = buffer[1] << 8 | buffer[2]
    return size if shortest + 2 <= size <= MAX_FRAME else NOT_A_FRAME


def _measure_request(buffer: bytearray) -> int | None:
    return _measure(buffer, 5)


def _measure_response(buffer: bytearray) -> int | None:
    return _measure(buffer, 6)


def request_framer() -> Framer[Request]:
    """The parser of the reader's side."""
    return Framer(_measure_request, Request.decode)


def response_framer(noise: Noise | None = None) -> Framer[Response]:
    """The parser of the host's side."""
    return Framer(_measure_response, Response.decode, noise)


@dataclass(frozen=True, slots=True)
class AntennaRead:
    """One antenna that heard a tag. ``rest`` is what models disagree on (RSSI, reserved), kept as it came."""

    number: int
    status: int = 0
    rest: bytes = b"\xff\x00\x00\x00\x00"


@dataclass(frozen=True, slots=True)
class Transponder:
    """One data set of an inventory.

    ``uid`` is the identifier, first byte first; ``info`` what stands before it: DSFID (ISO 15693), TR-INFO
    and OPT-INFO (ISO 14443A) or IDDT. ``flags`` and ``antennas`` exist in the antenna form only.
    """

    kind: int
    uid: bytes
    info: bytes = b"\x00"
    flags: int = 0
    antennas: tuple[AntennaRead, ...] = ()

    @property
    def tag(self) -> str:
        """The identifier as readings carry it: upper-case hex."""
        return self.uid.hex().upper()


_FIXED = {TagType.ISO15693: (1, 8), TagType.ISO14443A: (2, 7)}
"""Kinds whose data set has no length byte: how many bytes of ``info`` and of ``uid``."""

_ANTENNA_SIZE = 7


class _Reader:
    """Takes bytes from the front; a data set that ends too early is the peer's fault."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        piece = self._data[self._at : self._at + count]
        if len(piece) != count:
            raise ProtocolError("inventory data ends inside a data set")
        self._at += count
        return piece

    def byte(self) -> int:
        return self.take(1)[0]

    def left(self) -> int:
        return len(self._data) - self._at


def _plain_set(source: _Reader) -> Transponder:
    kind = source.byte()
    if kind in _FIXED:
        info_size, uid_size = _FIXED[TagType(kind)]
        info = source.take(info_size)
        return Transponder(kind, source.take(uid_size), info)
    if kind not in (TagType.ISO18000_3M3, TagType.GEN2):
        # Its length is unknown, and with it where the next set begins.
        raise ProtocolError(f"transponder type 0x{kind:02x} is not known")
    info = source.take(1)
    return Transponder(kind, source.take(source.byte()), info)


def antenna_sets(data: bytes) -> list[bytes]:
    """The data sets of an answer with antennas, one by one and not decoded. Raises ``ProtocolError``."""
    found: list[bytes] = []
    at, size = 1, len(data)
    for _ in range(data[0] if data else 0):
        uid_ends = at + 4 + data[at + 3] if at + 3 < size else size
        ends = uid_ends + 1 + _ANTENNA_SIZE * data[uid_ends] if uid_ends < size else size + 1
        if ends > size:
            raise ProtocolError("inventory data ends inside a data set")
        found.append(data[at:ends])
        at = ends
    if not data or at != size:
        raise ProtocolError(f"inventory data has {size - at} bytes too many" if data else "an answer without data")
    return found


@lru_cache(maxsize=4096)
def antenna_set(data: bytes) -> Transponder:
    """One of them. The tags on a table are the same ones again and again, and so are the bytes that tell of them."""
    head, uid = data[:4], data[4 : 4 + data[3]]
    reads = data[5 + data[3] :]
    each = [reads[at : at + _ANTENNA_SIZE] for at in range(0, len(reads), _ANTENNA_SIZE)]
    antennas = tuple(AntennaRead(read[0], read[1], read[2:]) for read in each)
    return Transponder(head[1], uid, head[2:3], head[0], antennas)


def decode_inventory(data: bytes, per_antenna: bool = False) -> tuple[Transponder, ...]:
    """The data sets of an inventory answer. ``per_antenna`` when the request had MODE 0x20.

    Raises ``ProtocolError`` for a kind that is not known, or a count that does not fit the data.
    """
    if per_antenna:
        return tuple(antenna_set(one) for one in antenna_sets(data))
    source = _Reader(data)
    found = tuple(_plain_set(source) for _ in range(source.byte()))
    if source.left():
        raise ProtocolError(f"inventory data has {source.left()} bytes too many")
    return found


def encode_inventory(found: Iterable[Transponder], per_antenna: bool = False) -> bytes:
    """The reverse of ``decode_inventory``."""
    sets = list(found)
    out = bytearray((len(sets),))
    for item in sets:
        if per_antenna:
            out += bytes((item.flags, item.kind)) + item.info + bytes((len(item.uid),)) + item.uid
            out.append(len(item.antennas))
            for read in item.antennas:
                out += bytes((read.number, read.status)) + read.rest
        elif item.kind in _FIXED:
            out += bytes((item.kind,)) + item.info + item.uid
        else:
            out += bytes((item.kind,)) + item.info + bytes((len(item.uid),)) + item.uid
    return bytes(out)


def inventory_data(more: bool = False, antennas: Iterable[int] = ()) -> bytes:
    """DATA of an inventory request: ``01 MODE [ANT_SEL]``. Antennas are numbered from 1 to 8."""
    select = 0
    for number in antennas:
        if not 1 <= number <= 8:
            raise LocalError(f"antenna {number}: OBID selects antennas 1 to 8")
        select |= 1 << (number - 1)
    mode = (MORE if more else 0) | (PER_ANTENNA if select else 0)
    return bytes((0x01, mode, select)) if select else bytes((0x01, mode))


def multiplexer_data(address: int, output: int) -> bytes:
    """DATA of an antenna multiplexer request that joins both its inputs to one output, numbered from 1."""
    return bytes((0x02, address, 0xFE, output, output))


@dataclass(frozen=True, slots=True)
class SoftwareVersion:
    """Data of ``SOFTWARE_VERSION``. ``tail`` are the buffer sizes that newer firmware adds."""

    major: int
    minor: int
    development: int
    hardware: int
    software: int
    transponders: int
    tail: bytes = b""

    @property
    def model(self) -> str:
        """The firmware type, which is how OBID tells its models apart."""
        return f"OBID-{self.software:02X}"

    @property
    def firmware(self) -> str:
        """Major and minor revision, with the development revision where there is one."""
        return f"{self.major}.{self.minor}" + (f".{self.development}" if self.development else "")

    def encode(self) -> bytes:
        """The bytes of the data field."""
        head = bytes((self.major, self.minor, self.development, self.hardware, self.software))
        return head + self.transponders.to_bytes(2, "big") + self.tail

    @classmethod
    def decode(cls, data: bytes) -> "SoftwareVersion":
        """Raises ``ProtocolError`` for less than seven bytes."""
        if len(data) < 7:
            raise ProtocolError(f"software version of {len(data)} bytes: at least 7 are due")
        return cls(data[0], data[1], data[2], data[3], data[4], int.from_bytes(data[5:7], "big"), data[7:])


def decode_device_id(data: bytes) -> str:
    """The serial number from ``READER_INFO`` mode 0x80: the first four bytes, upper-case hex."""
    if len(data) < 4:
        raise ProtocolError(f"device id of {len(data)} bytes: at least 4 are due")
    return data[:4].hex().upper()
