"""A FEIG OBID reader that reads by itself: buffered read mode, and notification mode.

The reader inventories its field without being asked and puts a record into a buffer whenever a tag comes, and
again each time the tag is still there after its valid time. It never records that a tag has gone: absence is
inferred from a whole window without a record (``Sightings``). The buffer is a queue that keeps its records until
it is cleared (32), so reading it twice gives the same records twice, and noise on the line can delay a record but
not swallow it. What can is a full buffer, a loss of power, and data that is not understood: each begins the window
anew.

*buffered*: we ask (22) until nothing is left, and clear each part once what it told is durable.
*notify*: the reader sends 22 answers unasked and repeats them until they are cleared; between them it sends
signs of life, which are never acknowledged.

In both modes the reader takes no host commands (B0); its identity (65, 66) can still be asked for.
"""

from collections.abc import Mapping
from enum import Enum, auto

from drivers.conversation import Step
from drivers.errors import ProtocolError
from drivers.feig import (
    BROADCAST,
    DEVICE_ID,
    Command,
    Request,
    Response,
    SoftwareVersion,
    Status,
    decode_device_id,
    response_framer,
)
from drivers.feig_records import BufferInfo, Record, decode_records
from drivers.framed import Framed
from drivers.options import Options
from drivers.readings import Reading, TagsSeen
from drivers.telling import Said, Sightings, Teller


class _Stage(Enum):
    """Which answer is awaited, or what is waited for."""

    OFF = auto()
    VERSION = auto()
    SERIAL = auto()
    INFO = auto()
    INIT = auto()
    READ = auto()
    COMMIT = auto()
    CLEAR = auto()
    IDLE = auto()


_COMMAND = {
    _Stage.VERSION: Command.SOFTWARE_VERSION,
    _Stage.SERIAL: Command.READER_INFO,
    _Stage.INFO: Command.BUFFER_INFO,
    _Stage.INIT: Command.INIT_BUFFER,
    _Stage.READ: Command.READ_BUFFER,
    _Stage.CLEAR: Command.CLEAR_BUFFER,
}
_IDENTIFYING = (_Stage.VERSION, _Stage.SERIAL)
_LISTENING = (_Stage.IDLE, _Stage.COMMIT, _Stage.CLEAR)
_DATA_FOLLOWS = (Status.OK, Status.WARNING, Status.BUFFER_OVERFLOW, Status.MORE_DATA)


class FeigBuffered(Framed[Response]):
    """Conversation with one reader.

    Options: ``mode`` ``"buffered"`` or ``"notify"``; ``window_ms`` without a record after which a tag is gone (at
    least twice the reader's valid time); ``backstop_ms`` without a complete inventory after which the reader is
    given up; ``sets`` records asked for at once; ``poll_ms`` between two looks at an empty buffer;
    ``keepalive_ms`` of silence after which a notifying reader is given up; ``timeout_ms``, ``retries``,
    ``gap_ms``, ``settle_ms``, ``repeat_ms``, ``address``, ``advanced`` as for ``feig``; ``antennas`` numbers of a
    reader that records them, each then a channel of that name; ``antenna_bits`` where the record has a bit for
    each antenna (bit 0 is antenna 1) rather than a number.
    """

    kind = "feig-buffered"

    def __init__(
        self,
        device: str,
        *,
        path: str = "",
        expect: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        given = Options(device, options or {})
        super().__init__(device, path, expect, response_framer, given, retries=3)
        self._notify = given.choice("mode", "buffered", ("buffered", "notify")) == "notify"
        window = given.milliseconds("window_ms", 2500)
        self._backstop = given.milliseconds("backstop_ms", 30_000)
        self._sets = given.integer("sets", 255, 1, 0xFFFF)
        self._poll = given.milliseconds("poll_ms", 200)
        self._keepalive = given.milliseconds("keepalive_ms", 12_000)
        settle = given.milliseconds("settle_ms", 1000)
        repeat = given.milliseconds("repeat_ms", 5000)
        self._address = given.integer("address", BROADCAST, 0, BROADCAST)
        self._advanced = given.flag("advanced", False)
        antennas = given.numbers("antennas", 1, 8)
        self._bits = given.flag("antenna_bits", False)
        given.finish()
        self.channels = tuple(map(str, antennas)) or ("0",)
        self._sightings = Sightings(window, self.channels)
        self._per_antenna = bool(antennas)
        self._teller = Teller(settle, repeat)
        self._stage = _Stage.OFF
        self._last_frame = 0
        self._version = SoftwareVersion(0, 0, 0, 0, 0, 0)
        self._more = False
        self._to_clear = False
        self._told: dict[str, frozenset[str]] = {}
        self._uncommitted: dict[str, Said] = {}

    def start(self, now: int) -> Step:
        """Ask who is there. What lies in the field is unknown; what the buffer holds is read, not thrown away."""
        self._announce = True
        self._sightings.begin(now)
        self._identify(now)
        return self._end(now)

    def tick(self, now: int) -> Step:
        """As every reader; and one that goes on without a whole inventory is given up in the end."""
        if not self._announce and self._due is not None and self._sightings.silent_for(now) > self._backstop:
            self._give_up()
        return super().tick(now)

    def acknowledge(self, reading: Reading, now: int) -> Step:
        """An inventory is durable. When all that the last part told is, the reader may forget that part."""
        if isinstance(reading, TagsSeen) and self._uncommitted.get(reading.channel) == (reading.tags, reading.complete):
            del self._uncommitted[reading.channel]
            if self._stage is _Stage.COMMIT and not self._uncommitted:
                self._ask(_Stage.CLEAR, now)
        return self._end(now)

    # -- asking ---------------------------------------------------------------------------------------

    def _ask(self, stage: _Stage, now: int) -> None:
        data = b""
        if stage is _Stage.SERIAL:
            data = bytes((DEVICE_ID,))
        elif stage is _Stage.READ:
            data = self._sets.to_bytes(2, "big")
        self._stage = stage
        self._due = now + self._timeout
        self._send.append(Request(_COMMAND[stage], data, self._address, self._advanced).encode())

    def _identify(self, now: int) -> None:
        self._framer.reset()
        self._misses = 0
        self._teller.forget()
        self._told.clear()
        self._uncommitted.clear()
        self._to_clear = False
        self._ask(_Stage.VERSION, now)

    def _rest(self, now: int) -> None:
        self._stage = _Stage.IDLE
        self._due = now + (self._keepalive if self._notify else self._poll)

    def _overdue(self, now: int) -> None:
        match self._stage:
            case _Stage.IDLE if self._notify:
                self.noise.timeouts += 1
                self._give_up()
            case _Stage.IDLE:
                self._ask(_Stage.READ, now)
            case _Stage.COMMIT if self._notify:
                if now >= self._last_frame + self._keepalive:
                    self._give_up()
                self._due = now + self._keepalive
            case _Stage.COMMIT:
                # The core is busy. Ask for something harmless, so that an unplugged reader is noticed meanwhile.
                self._ask(_Stage.INFO, now)
            case _:
                self.noise.timeouts += 1
                self._misses += 1
                if self._misses > self._retries:
                    self._give_up()
                elif self._stage in _IDENTIFYING:
                    self._framer.reset()
                    self._ask(_Stage.VERSION, now)
                elif self._stage is _Stage.CLEAR and self._notify:
                    self._rest(now)  # it repeats what was not cleared
                else:
                    # Whether a lost answer was about reading or clearing: what was not cleared comes again.
                    self._ask(_Stage.READ, now)

    def _switch_off(self) -> None:
        self._stage, self._due = _Stage.OFF, None

    # -- answers --------------------------------------------------------------------------------------

    def _take(self, frame: Response, now: int) -> None:
        if self._stage is _Stage.OFF or self._address not in (BROADCAST, frame.address):
            self._stray(frame)
            return
        self._last_frame = now
        if frame.command == Command.CPU_RESET:
            self._clear("reset")
            self._fault("reset", "the reader restarted and its buffer is lost")
            self._sightings.begin(now)
            self._identify(now)
        elif frame.command == Command.DIAGNOSTIC:
            self._alive(now)  # a sign of life: never acknowledged
        elif self._notify and frame.command == Command.READ_BUFFER and self._stage in _LISTENING:
            self._guarded(frame, now)
        elif self._send or frame.command != _COMMAND.get(self._stage):
            self._stray(frame)
        else:
            self._misses = 0
            self._guarded(frame, now)

    def _stray(self, frame: Response) -> None:
        self.noise.dropped += len(frame.encode())

    def _alive(self, now: int) -> None:
        """A notifying reader says that it has nothing to say."""
        if self._stage is _Stage.IDLE:
            self._rest(now)
            self._proven(now)

    def _guarded(self, frame: Response, now: int) -> None:
        try:
            self._answer(frame, now)
        except ProtocolError as error:
            self._fault("protocol", str(error))
            self._sightings.taint(now)
            if self._stage is _Stage.READ:
                # The same records would come again for ever: throw them away, and the tags will be recorded anew.
                self._ask(_Stage.INIT, now)

    def _answer(self, frame: Response, now: int) -> None:
        if frame.command == Command.READ_BUFFER:
            self._part(frame, now)
            return
        match self._stage:
            case _Stage.VERSION:
                self._version = SoftwareVersion.decode(frame.data)
                self._ask(_Stage.SERIAL, now)
            case _Stage.SERIAL:
                self._identified(decode_device_id(frame.data) if frame.status == Status.OK else "", now)
            case _Stage.INFO:
                self._informed(frame, now)
            case _Stage.CLEAR if self._notify or not self._more:
                self._to_clear = False
                self._rest(now)
                self._proven(now)
            case _Stage.CLEAR:
                self._to_clear = False
                self._ask(_Stage.READ, now)
            case _:
                self._to_clear = False
                self._rest(now)  # without a pause, a reader that answers nonsense would be asked without end

    def _identified(self, serial: str, now: int) -> None:
        if not self._is_expected(self._version.model, serial, self._version.firmware):
            return
        self._clear("reset", "protocol")
        if self._notify:
            self._rest(now)
        else:
            self._ask(_Stage.INFO, now)

    def _informed(self, frame: Response, now: int) -> None:
        if frame.status not in (*_DATA_FOLLOWS, Status.NO_VALID_DATA):
            remedy = "set CFG1/CFG11 to buffered read or notification mode, or use driver 'feig'"
            self._fault("protocol", f"no data buffer (status 0x{frame.status:02x}): {remedy}")
            self._rest(now)
            return
        if frame.data:
            BufferInfo.decode(frame.data)
        if self._uncommitted:
            self._stage, self._due = _Stage.COMMIT, now + self._timeout
        else:
            self._ask(_Stage.CLEAR if self._to_clear else _Stage.READ, now)

    def _part(self, frame: Response, now: int) -> None:
        """An answer to 22, asked for or not."""
        if frame.status == Status.NO_VALID_DATA or (self._notify and not frame.data):
            if self._notify:
                self._alive(now)
            else:
                self._rest(now)
                self._proven(now)
            return
        if frame.status not in _DATA_FOLLOWS:
            raise ProtocolError(f"buffer refused with status 0x{frame.status:02x}")
        if frame.status == Status.BUFFER_OVERFLOW:
            # What did not fit is nowhere: nothing may be called absent before a whole window has passed again.
            self._fault("overflow", "the reader's buffer was full and records are lost")
            self._sightings.taint(now)
        records = decode_records(frame.data)
        for record in records:
            self._note(record, now)
        self._more = frame.status == Status.MORE_DATA or len(records) >= self._sets
        self._to_clear = True
        self._tell(now, settled=False)
        if self._uncommitted:
            self._stage, self._due = _Stage.COMMIT, now + self._timeout
        else:
            self._ask(_Stage.CLEAR, now)

    def _note(self, record: Record, now: int) -> None:
        for channel in self._where(record):
            self._sightings.hear(channel, record.tag, now)

    def _where(self, record: Record) -> tuple[str, ...]:
        if not self._per_antenna:
            return ("0",)
        if record.antenna is None:
            raise ProtocolError("records without antenna: set the reader to record it (CFG11), or drop `antennas`")
        if self._bits:
            return tuple(str(number) for number in range(1, 9) if record.antenna >> (number - 1) & 1)
        return (str(record.antenna),)

    # -- telling --------------------------------------------------------------------------------------

    def _proven(self, now: int) -> None:
        """The buffer is empty: all that the reader had to say has come."""
        self._sightings.proven(now)
        if self._sightings.whole:
            self._clear("overflow", "protocol")
        self._tell(now, settled=True)

    def _tell(self, now: int, *, settled: bool) -> None:
        """Tell what there is; in the middle of a buffer only new tags, and more may follow: not complete."""
        for channel in self._sightings.channels:
            tags, whole = self._sightings.said(channel)
            said = (tags, whole and settled)
            if not settled and self._told.get(channel, frozenset()) == tags:
                continue
            if self._teller.worth(channel, said, now):
                self._told[channel] = tags
                self._uncommitted[channel] = said
                self._readings.append(TagsSeen(self.device, self._number(), channel, *said))
