"""The data buffer of a FEIG OBID reader: what stands in the answers to 22 and 31.

``22``  ``TR-DATA1 [TR-DATA2] DATA-SETS(2) {RECLEN(2) fields..}``; TR-DATA1 says which fields each record has
``31``  ``TAB-SIZE(2) TAB-START(2) TAB-LEN(2)``

Layouts follow the public OBID system manuals; no captured frame of these modes was at hand.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from drivers.errors import ProtocolError

IDD = 0x01
DATA_BLOCKS = 0x02
ANTENNA = 0x10
TIMER = 0x20
EXTENDED = 0x80
"""Bits of TR-DATA1. EXTENDED: TR-DATA2 follows it."""


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the buffer: a tag that came into the field, or was still there after its valid time.

    ``antenna`` is the byte as the reader gives it (a number, or a bit for each antenna), ``None`` where the
    reader does not record it; ``timer`` its system time in ms, ``None`` likewise.
    """

    kind: int
    uid: bytes
    info: int = 0
    antenna: int | None = None
    timer: int | None = None

    @property
    def tag(self) -> str:
        """The identifier as readings carry it: upper-case hex."""
        return self.uid.hex().upper()

    def encode(self) -> bytes:
        """RECLEN and the fields. RECLEN counts itself."""
        body = bytes((self.kind, self.info, len(self.uid))) + self.uid
        if self.antenna is not None:
            body += bytes((self.antenna,))
        if self.timer is not None:
            body += self.timer.to_bytes(4, "big")
        return (len(body) + 2).to_bytes(2, "big") + body


def encode_records(records: Iterable[Record]) -> bytes:
    """Data of an answer to 22. All records have the same fields as the first."""
    kept = list(records)
    fields = IDD
    if kept and kept[0].antenna is not None:
        fields |= ANTENNA
    if kept and kept[0].timer is not None:
        fields |= TIMER
    return bytes((fields,)) + len(kept).to_bytes(2, "big") + b"".join(record.encode() for record in kept)


def decode_records(data: bytes) -> tuple[Record, ...]:
    """The records of an answer to 22. Fields that are not known are stepped over by RECLEN.

    Raises ``ProtocolError`` for a count or length that does not fit, or for records without an identifier.
    """
    head = 2 if data and data[0] & EXTENDED else 1
    if len(data) < head + 2:
        raise ProtocolError(f"buffer data of {len(data)} bytes: at least {head + 2} are due")
    count = int.from_bytes(data[head : head + 2], "big")
    at = head + 2
    records: list[Record] = []
    for _ in range(count):
        size = int.from_bytes(data[at : at + 2], "big")
        if size < 2 or at + size > len(data):
            raise ProtocolError("buffer data ends inside a record")
        records.append(_record(data[0], data[at + 2 : at + size]))
        at += size
    if at != len(data):
        raise ProtocolError(f"buffer data has {len(data) - at} bytes too many")
    return tuple(records)


def _record(fields: int, body: bytes) -> Record:
    if not fields & IDD:
        raise ProtocolError("records without identifier: set the reader to record IDD (CFG11)")
    size = body[2] if len(body) > 2 else 0
    uid, rest = body[3 : 3 + size], body[3 + size :]
    if not size or len(uid) != size:
        raise ProtocolError("a record ends inside its identifier")
    if fields & DATA_BLOCKS:
        if len(rest) < 3:
            raise ProtocolError("a record ends inside its data blocks")
        rest = rest[3 + int.from_bytes(rest[:2], "big") * rest[2] :]
    antenna: int | None = None
    timer: int | None = None
    if fields & ANTENNA:
        if not rest:
            raise ProtocolError("a record ends before its antenna")
        antenna, rest = rest[0], rest[1:]
    if fields & TIMER:
        if len(rest) < 4:
            raise ProtocolError("a record ends inside its time")
        timer = int.from_bytes(rest[:4], "big")
    return Record(body[0], uid, body[1], antenna, timer)


@dataclass(frozen=True, slots=True)
class BufferInfo:
    """Data of ``31``: how many records the buffer can hold, where the first stands, how many wait."""

    size: int
    start: int
    waiting: int

    def encode(self) -> bytes:
        """Six bytes."""
        return b"".join(number.to_bytes(2, "big") for number in (self.size, self.start, self.waiting))

    @classmethod
    def decode(cls, data: bytes) -> "BufferInfo":
        """Raises ``ProtocolError`` for a wrong length."""
        if len(data) != 6:
            raise ProtocolError(f"buffer info of {len(data)} bytes: 6 are due")
        return cls(*(int.from_bytes(data[at : at + 2], "big") for at in (0, 2, 4)))
