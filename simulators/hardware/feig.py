"""A FEIG OBID reader in host mode, from its own side of the wire."""

from collections import deque
from collections.abc import Iterable
from functools import lru_cache

from drivers.feig import (
    BROADCAST,
    DEVICE_ID,
    MORE,
    PER_ANTENNA,
    AntennaRead,
    Command,
    Request,
    Response,
    SoftwareVersion,
    Status,
    TagType,
    Transponder,
    encode_inventory,
    request_framer,
)
from drivers.options import MS
from simulators.hardware.device import Hearing

SILENCE = 12 * MS
"""Longest gap inside a frame that the reader waits for."""


@lru_cache(maxsize=16384)
def transponder(tag: str) -> Transponder:
    """The data set of a tag given in hex: ISO 15693 for eight bytes that begin with E0, else ISO 18000-3M3."""
    uid = bytes.fromhex(tag)
    if len(uid) == 8 and uid[0] == 0xE0:
        return Transponder(TagType.ISO15693, uid)
    return Transponder(TagType.ISO18000_3M3, uid)


class FeigReader:
    """The reader with the tags that lie in its fields.

    As real ones do, it sets every tag it has found quiet until an RF reset or until the tag has left the
    field. ``sets_per_answer`` is its transmit buffer: what does not fit is handed out on MORE. Behind its eight
    antenna ports there may be multiplexers of ``outputs``: field 11 is that of antenna 3 on output 2. ``hearing``
    is how well the tags are read; without it, all are, every time.
    """

    def __init__(
        self,
        serial: str = "0A1B2C3D",
        *,
        address: int = 0,
        software: int = 0x5E,
        sets_per_answer: int = 16,
        outputs: int = 1,
        hearing: Hearing | None = None,
    ) -> None:
        self._serial = bytes.fromhex(serial)
        self._address = address
        self._version = SoftwareVersion(3, 3, 0, 0x44, software, 0x0D30)
        self._sets = sets_per_answer
        self._outputs = outputs
        self._output = 1
        self._hearing = hearing
        self._fields: dict[int, dict[str, None]] = {}
        self._quiet: set[str] = set()
        self._left_over: list[bytes] = []
        self._troubles: deque[int] = deque(maxlen=256)
        self._unasked: deque[bytes] = deque(maxlen=16)
        self._framer = request_framer()
        self._last_byte = 0

    # -- what happens on the felt -----------------------------------------------------------------------

    def put(self, tags: Iterable[str], antenna: int = 1) -> None:
        """Lay tags into a field."""
        self._fields.setdefault(antenna, {}).update(dict.fromkeys(tag.upper() for tag in tags))

    def take(self, tags: Iterable[str], antenna: int = 1) -> None:
        """Take tags out of a field. Raises ``KeyError`` for a tag that is not there."""
        for tag in tags:
            del self._fields.setdefault(antenna, {})[tag.upper()]
            self._quiet.discard(tag.upper())

    def field(self, antenna: int = 1) -> frozenset[str]:
        """The tags that lie in a field."""
        return frozenset(self._fields.get(antenna, {}))

    @property
    def fields(self) -> int:
        """How many fields it has: eight antennas, times the outputs behind each."""
        return 8 * self._outputs

    def trouble(self, status: int, times: int = 1) -> None:
        """Answer the next inventories with this status instead of data."""
        self._troubles.extend([status] * times)

    def reset(self) -> None:
        """The reader restarts by itself, and says so."""
        self._forget()
        self._unasked.append(Response(Command.CPU_RESET, Status.OK, address=self._address).encode())

    # -- the wire ---------------------------------------------------------------------------------------

    def feed(self, data: bytes, now: int) -> list[bytes]:
        """Bytes from the host: the answers. Over USB a real reader takes a wrong CRC; this one, as serial, does not."""
        if now - self._last_byte > SILENCE:
            self._framer.reset()
        self._last_byte = now
        answers = [self._answer(request) for request in self._framer.feed(data)]
        return [answer.encode() for answer in answers if answer is not None]

    def poll(self, now: int) -> list[bytes]:
        """Only a restart is told unasked."""
        del now
        frames = list(self._unasked)
        self._unasked.clear()
        return frames

    def deadline(self) -> int | None:
        """Nothing is due by time."""
        return None

    def power_cycle(self, now: int) -> None:
        """Tags lose their power with the field, so none is quiet any longer."""
        del now
        self._forget()
        self._unasked.clear()

    def _forget(self) -> None:
        self._quiet.clear()
        self._left_over.clear()
        self._framer.reset()
        self._output = 1

    def _answer(self, request: Request) -> Response | None:
        if request.address not in (BROADCAST, self._address):
            return None
        status, data = self._obey(request)
        return Response(request.command, status, data, self._address, request.advanced)

    def _obey(self, request: Request) -> tuple[int, bytes]:
        match request.command:
            case Command.SOFTWARE_VERSION:
                return Status.OK, self._version.encode()
            case Command.READER_INFO if request.data == bytes((DEVICE_ID,)):
                return Status.OK, self._serial.ljust(18, b"\x00")
            case Command.READER_INFO if request.data == b"\x00":
                return Status.OK, self._version.encode()
            case Command.RF_RESET:
                self._quiet.clear()
                return Status.OK, b""
            case Command.CPU_RESET:
                self._forget()
                return Status.OK, b""
            case Command.BAUD_DETECT:
                return Status.OK, b""
            case Command.MULTIPLEXER if len(request.data) == 5 and request.data[0] == 0x02:
                if not 1 <= request.data[3] <= self._outputs:
                    return Status.OK, b"\x01"
                self._output = request.data[3]
                return Status.OK, b"\x00"
            case Command.ISO_HOST if request.data[:1] == b"\x01":
                return self._inventory(request.data[1:])
            case _:
                return Status.DATA_FALSE, b""

    def _inventory(self, data: bytes) -> tuple[int, bytes]:
        per_antenna = bool(data[:1]) and bool(data[0] & PER_ANTENNA)
        if len(data) != (2 if per_antenna else 1):
            return Status.LENGTH, b""
        if self._troubles:
            return self._troubles.popleft(), b""
        if not data[0] & MORE:
            chosen = [number for number in range(1, 9) if data[1] >> (number - 1) & 1] if per_antenna else None
            self._left_over = self._listen(chosen)
        now, self._left_over = self._left_over[: self._sets], self._left_over[self._sets :]
        if not now:
            return Status.NO_TAG, b""
        return (Status.MORE_DATA if self._left_over else Status.OK), bytes((len(now),)) + b"".join(now)

    def _listen(self, antennas: list[int] | None) -> list[bytes]:
        """Power the fields and hear who is not quiet; whoever was heard is quiet from now on."""
        heard: dict[str, list[int]] = {}
        base = 8 * (self._output - 1)
        for number in range(1, 9):
            field = self._fields.get(base + number)
            if not field or (antennas is not None and number not in antennas):
                continue
            for tag in field if self._hearing is None else self._hearing(base + number, tuple(field)):
                if tag not in self._quiet:
                    heard.setdefault(tag, []).append(number)
        self._quiet.update(heard)
        if antennas is None:
            return [_data_set(tag) for tag in heard]
        return [_data_set(tag, tuple(numbers)) for tag, numbers in heard.items()]


@lru_cache(maxsize=16384)
def _data_set(tag: str, antennas: tuple[int, ...] = ()) -> bytes:
    """A tag as an answer tells of it: the same one again and again."""
    plain = transponder(tag)
    reads = tuple(AntennaRead(number) for number in antennas)
    heard = Transponder(plain.kind, plain.uid, plain.info, 0, reads) if antennas else plain
    return encode_inventory([heard], bool(antennas))[1:]
