"""Reads and writes pcapng, as far as captures of a table need it. Wireshark opens what is written here.

The format is that of the IETF draft "PCAP Now Generic". Written are section header, interface description and
enhanced packet blocks, little-endian, times in ns. Read are both byte orders and any time resolution; blocks of other
kinds are passed over. A torn tail, as a crash leaves it, ends the reading: every block before it is whole.

``Chain`` gives each block of a section a digest of itself and all before it (an option of the range for local use), so
that a bit that changed on a disk or on its way is found wherever it is. It keeps no secret: it is no signature.
"""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
MAGIC = 0x1A2B3C4D
END, NAME, RESOLUTION, PROGRAM = 0, 2, 9, 4
NS = 9
"""The time resolution written: 10 to the power of minus nine seconds."""
DIGEST, DIGEST_SIZE = 0x8F17, 8
_DIGEST_AT, _AFTER_DIGEST = -20, -8
"""From the end of a block: its digest option, then the end of options and the second length."""
BILLION = 1_000_000_000
LARGEST_BLOCK = 16 << 20
"""No block of a capture is longer: a length beyond it is damage, and memory is not given for it."""


class Damaged(ValueError):
    """Bytes that are no pcapng: not a torn tail but something else."""


def begins(head: bytes) -> bool:
    """Whether a file with this begin is one, be it cut short or with a changed bit: that hits one of two marks only."""
    mark = struct.pack("<I", SECTION)
    marks = struct.pack("<I", MAGIC), struct.pack(">I", MAGIC)
    return bool(head) and (mark.startswith(head[:4]) or head[8:12] in marks)


@dataclass(frozen=True, slots=True)
class Interface:
    """One source of packets. ``link_type`` says how their bytes are to be read; ``unit`` is 1/unit seconds."""

    name: str
    link_type: int
    unit: int = BILLION


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet. ``at`` in ns since 1970; ``section`` counts from 0 through the file."""

    section: int
    interface: Interface
    at: int
    data: bytes
    end: int = field(default=0, compare=False)
    """At which byte of the file its block ends."""


class Chain:
    """The digests of one section, in the order of its blocks."""

    def __init__(self) -> None:
        self._last = bytes(DIGEST_SIZE)

    def add(self, block: bytes) -> bytes:
        """The block with its digest; ``block`` is what the functions below give."""
        body = block[8:-4] if block[0] == PACKET else block[8:-8]  # of the others, options and their end are there
        size = struct.pack("<I", 12 + len(body) + 8 + DIGEST_SIZE)
        whole = block[:4] + size + body + struct.pack("<HH", DIGEST, DIGEST_SIZE) + bytes(DIGEST_SIZE + 4) + size
        return whole[: _DIGEST_AT + 4] + self._next(whole) + whole[_AFTER_DIGEST:]

    def fits(self, block: bytes) -> bool:
        """Whether this block has the digest that is next."""
        return self._next(block) == block[_DIGEST_AT + 4 : _AFTER_DIGEST]

    def _next(self, block: bytes) -> bytes:
        said = self._last + block[: _DIGEST_AT + 4] + block[_AFTER_DIGEST:]
        self._last = hashlib.sha256(said).digest()[:DIGEST_SIZE]
        return self._last


def section(program: str) -> bytes:
    """The block that begins a section. Interfaces are numbered anew after it."""
    body = struct.pack("<IHHq", MAGIC, 1, 0, -1) + _option(PROGRAM, program.encode()) + _option(END, b"")
    return _block(SECTION, body)


def interface(name: str, link_type: int) -> bytes:
    """The block that describes the next interface, with times in ns."""
    options = _option(NAME, name.encode()) + _option(RESOLUTION, bytes((NS,))) + _option(END, b"")
    return _block(INTERFACE, struct.pack("<HHI", link_type, 0, 0) + options)


def packet(number: int, at: int, data: bytes) -> bytes:
    """A packet of the interface with this number, at ``at`` ns since 1970."""
    head = struct.pack("<IIIII", number, at >> 32, at & 0xFFFFFFFF, len(data), len(data))
    return _block(PACKET, head + _padded(data))


def read(stream: BinaryIO) -> Iterator[Packet]:
    """The packets of a file in order, as far as it is whole. Raises ``Damaged``."""
    return (one.packet for one in _followed(stream) if one.packet is not None)


def bare_sections(stream: BinaryIO) -> int:
    """In how many sections the blocks have no digests: a version before them or another program wrote them."""
    return len({one.section for one in _followed(stream) if not one.chained})


def whole_length(stream: BinaryIO) -> int:
    """How many bytes of a file are whole blocks: what comes after was torn off in writing. Raises ``Damaged``."""
    length = 0
    for one in _followed(stream):
        length = one.end
    return length


@dataclass(frozen=True, slots=True)
class _Read:
    """A block that was read: the packet in it, if it is one, where it ends, and whether it has a digest."""

    packet: Packet | None
    end: int
    section: int
    chained: bool


def _followed(stream: BinaryIO) -> Iterator[_Read]:
    order, sections, end = "<", -1, 0
    chain: Chain | None = None
    interfaces: list[Interface] = []
    while (head := stream.read(8)) and len(head) == 8:
        if struct.unpack("<I", head[:4])[0] == SECTION:
            mark = stream.read(4)
            if len(mark) < 4:
                return
            order = _order(mark)
            sections, interfaces, head = sections + 1, [], head + mark
        elif sections < 0:
            raise Damaged("does not begin with a section header: this is no pcapng file")
        kind, length = struct.unpack(order + "II", head[:8])
        if length % 4 or not len(head) + 4 <= length <= LARGEST_BLOCK:
            raise Damaged(f"at byte {end}: a block of {length} bytes")
        body = head[8:] + (rest := stream.read(length - len(head) - 4))
        tail = stream.read(4)
        if len(rest) < length - len(head) - 4 or len(tail) < 4:
            if _goes_on(head + rest + tail, order):
                raise Damaged(f"at byte {end}: a block of {length} bytes, within which others begin")
            return
        if struct.unpack(order + "I", tail)[0] != length:
            raise Damaged(f"at byte {end}: a block's two lengths differ")
        block = head[:8] + body + tail
        if kind == SECTION:
            chain = Chain() if _has_digest(block) else None
        if _has_digest(block) is (chain is None) or (chain is not None and not chain.fits(block)):
            raise Damaged(f"at byte {end}: the digest of a block does not fit: it was changed, or one before it")
        end += length
        if kind == INTERFACE:
            interfaces.append(_described(order, body))
        packed = _packet(order, body, sections, interfaces, end) if kind == PACKET else None
        yield _Read(packed, end, sections, chain is not None)


def _goes_on(left: bytes, order: str) -> bool:
    """Whether whole packets follow in what looks like a torn block: then its length was changed, nothing is missing."""
    kind, at = struct.pack(order + "I", PACKET), 8
    while (at := left.find(kind, at + 4 - at % 4)) >= 0:
        if at % 4 == 0 and len(left) - at >= 32:
            length = struct.unpack_from(order + "I", left, at + 4)[0]
            if 32 <= length <= len(left) - at and struct.unpack_from(order + "I", left, at + length - 4)[0] == length:
                return True
    return False


def _has_digest(block: bytes) -> bool:
    option = struct.pack("<HH", DIGEST, DIGEST_SIZE)
    return block[_DIGEST_AT : _DIGEST_AT + 4] == option and block[_AFTER_DIGEST:-4] == bytes(4)


def _order(mark: bytes) -> str:
    for order in "<>":
        if struct.unpack(order + "I", mark)[0] == MAGIC:
            return order
    raise Damaged("the section header's byte-order mark is wrong")


def _described(order: str, body: bytes) -> Interface:
    if len(body) < 8:
        raise Damaged("an interface description of less than 8 bytes")
    name, unit = "", 1_000_000
    at = 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        value = body[at + 4 : at + 4 + length]
        if code == END:
            break
        if code == NAME:
            name = value.decode(errors="replace")
        elif code == RESOLUTION and value:
            unit = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        at += 4 + length + -length % 4
    return Interface(name, struct.unpack_from(order + "H", body)[0], unit)


def _packet(order: str, body: bytes, sections: int, interfaces: list[Interface], end: int) -> Packet:
    if len(body) < 20:
        raise Damaged(f"before byte {end}: a packet of less than 20 bytes")
    number, high, low, captured, _ = struct.unpack_from(order + "IIIII", body)
    if number >= len(interfaces):
        raise Damaged(f"before byte {end}: a packet of interface {number}, of which there is no description")
    if captured > len(body) - 20:
        raise Damaged(f"before byte {end}: a packet that is longer than its block")
    source = interfaces[number]
    return Packet(sections, source, (high << 32 | low) * BILLION // source.unit, body[20 : 20 + captured], end)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
