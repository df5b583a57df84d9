"""A FEIG OBID reader that reads by itself, from its own side of the wire: buffered read and notification mode."""

from collections import deque

from drivers.feig import Command, Request, Response, Status
from drivers.feig_records import BufferInfo, Record, encode_records
from drivers.options import MS
from simulators.hardware.feig import FeigReader, transponder

UNAVAILABLE = 0x82
"""Status of a host command while the reader is in another mode."""
REPEAT = 5000 * MS
KEEPALIVE = 5000 * MS
LARGEST = 8000
"""Bytes of records in one answer."""


class FeigBufferedReader(FeigReader):
    """The reader with the tags that lie in its fields.

    It inventories every ``scan_ms`` and records a tag that is new, or whose last record is older than
    ``valid_ms``. A full buffer takes no more and says so until it is cleared. With ``notify`` it sends what it
    has unasked; otherwise it waits for 22. ``antennas``: records name the antenna.
    """

    def __init__(
        self,
        serial: str = "0A1B2C3D",
        *,
        notify: bool = False,
        antennas: bool = False,
        capacity: int = 4096,
        valid_ms: int = 1000,
        scan_ms: int = 100,
        software: int = 0x5E,
    ) -> None:
        super().__init__(serial, software=software)
        self._notify = notify
        self._named = antennas
        self._capacity = capacity
        self._valid = valid_ms * MS
        self._scan = scan_ms * MS
        self._next_scan = 0
        self._recorded: dict[tuple[str, int], int] = {}
        self._buffer: deque[Record] = deque()
        self._handed_out = 0
        self._overflow = False
        self._sent_at: int | None = None
        self._said_at = 0
        self._now = 0

    @property
    def waiting(self) -> int:
        """Records in the buffer."""
        return len(self._buffer)

    def feed(self, data: bytes, now: int) -> list[bytes]:
        """Bytes from the host: the answers."""
        self._look(now)
        return super().feed(data, now)

    def poll(self, now: int) -> list[bytes]:
        """A restart, and in notification mode records and signs of life."""
        self._look(now)
        frames = super().poll(now)
        if self._notify:
            frames += self._notifications(now)
        return frames

    def deadline(self) -> int | None:
        """The next inventory of its own."""
        return self._next_scan

    def _look(self, now: int) -> None:
        self._now = now
        if now < self._next_scan:
            return
        self._next_scan = now + self._scan
        there = {(tag, antenna) for antenna, field in self._fields.items() for tag in field}
        for key in [key for key in self._recorded if key not in there]:
            del self._recorded[key]
        for tag, antenna in sorted(there):
            at = self._recorded.get((tag, antenna))
            if at is not None and now < at + self._valid:
                continue
            if len(self._buffer) >= self._capacity:
                self._overflow = True
                return
            self._recorded[tag, antenna] = now
            plain = transponder(tag)
            self._buffer.append(Record(plain.kind, plain.uid, 0, antenna if self._named else None, now // MS % 2**32))

    def _notifications(self, now: int) -> list[bytes]:
        if self._buffer and (self._sent_at is None or now >= self._sent_at + REPEAT):
            self._sent_at = self._said_at = now
            status, data = self._read(0xFFFF)
            return [Response(Command.READ_BUFFER, status, data, self._address).encode()]
        if now >= self._said_at + KEEPALIVE:
            self._said_at = now
            return [Response(Command.DIAGNOSTIC, Status.OK, address=self._address).encode()]
        return []

    def _read(self, sets: int) -> tuple[int, bytes]:
        out: list[Record] = []
        size = 0
        for record in self._buffer:
            size += len(record.encode())
            if len(out) >= sets or size > LARGEST:
                break
            out.append(record)
        self._handed_out = len(out)
        if not out:
            return Status.NO_VALID_DATA, b""
        status = Status.MORE_DATA if len(out) < len(self._buffer) else Status.OK
        return (Status.BUFFER_OVERFLOW if self._overflow else status), encode_records(out)

    def _obey(self, request: Request) -> tuple[int, bytes]:
        match request.command:
            case Command.READ_BUFFER if self._troubles:
                return self._troubles.popleft(), b""
            case Command.READ_BUFFER if len(request.data) == 2:
                return self._read(int.from_bytes(request.data, "big"))
            case Command.CLEAR_BUFFER:
                for _ in range(self._handed_out):
                    self._buffer.popleft()
                self._handed_out = 0
                self._overflow = False
                self._sent_at = None
                return Status.OK, b""
            case Command.INIT_BUFFER:
                self._empty()
                return Status.OK, b""
            case Command.BUFFER_INFO:
                return Status.OK, BufferInfo(self._capacity, 0, len(self._buffer)).encode()
            case Command.ISO_HOST | Command.RF_RESET:
                return UNAVAILABLE, b""
            case _:
                return super()._obey(request)

    def _empty(self) -> None:
        self._buffer.clear()
        self._recorded.clear()
        self._handed_out = 0
        self._overflow = False
        self._sent_at = None

    def _forget(self) -> None:
        super()._forget()
        self._empty()
