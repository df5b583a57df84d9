"""A FEIG OBID reader in host mode: identify, then inventory after inventory, one request at a time.

A reader sets every tag it has found quiet, and a quiet tag does not answer the next inventory. So each
inventory here begins with an RF reset, and every answer is about the whole field. The reset does a second
thing: OBID frames carry no sequence number, but a reader answers in order, so whatever inventory answer
comes before the answer to the reset is a late one and is thrown away.

*Noise is not absence*: only a clean and complete answer may say that a tag is gone. A corrupt answer, a
time-out, an answer found by searching in noise, or a reader that says it could not finish, never does.
"""

from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache

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
    antenna_set,
    antenna_sets,
    decode_device_id,
    decode_inventory,
    inventory_data,
    multiplexer_data,
    response_framer,
)
from drivers.framed import Framed
from drivers.options import Options
from drivers.readings import TagsSeen
from drivers.telling import Teller


class _Stage(Enum):
    """Which answer is awaited."""

    OFF = auto()
    VERSION = auto()
    SERIAL = auto()
    PROBE = auto()
    SWITCH = auto()
    RF_RESET = auto()
    INVENTORY = auto()
    IDLE = auto()


_COMMAND = {
    _Stage.VERSION: Command.SOFTWARE_VERSION,
    _Stage.SERIAL: Command.READER_INFO,
    _Stage.PROBE: Command.SOFTWARE_VERSION,
    _Stage.SWITCH: Command.MULTIPLEXER,
    _Stage.RF_RESET: Command.RF_RESET,
    _Stage.INVENTORY: Command.ISO_HOST,
}

_TROUBLE = {
    Status.RF_COMMUNICATION: ("rf", "RF communication error"),
    Status.WARNING: ("rf", "reader warning"),
    Status.NO_VALID_DATA: ("rf", "no valid data"),
    Status.ISO_ERROR: ("rf", "ISO error"),
    Status.BUFFER_OVERFLOW: ("overflow", "too many tags for the reader's buffer"),
}
"""Statuses after which what is missing from the answer is not known to be absent."""


ANTENNAS = 8
"""Antenna ports of a reader, as OBID counts them."""


@lru_cache(maxsize=64)
def _heard(data: bytes, antennas: bool, base: int) -> tuple[tuple[str, frozenset[int]], ...]:
    """Tags and channels of one answer. A field at rest gives the same answer again and again."""
    if antennas:
        return tuple(_channels(one, base) for one in antenna_sets(data))
    return tuple((item.tag, frozenset[int]()) for item in decode_inventory(data))


@lru_cache(maxsize=4096)
def _channels(data: bytes, base: int) -> tuple[str, frozenset[int]]:
    item = antenna_set(data)
    return item.tag, frozenset(base + read.number for read in item.antennas)


class FeigHost(Framed[Response]):
    """Conversation with one reader.

    Options: ``poll_ms`` from one inventory to the next; ``timeout_ms`` for one answer; ``gap_ms`` the silence
    after which an unfinished frame is given up; ``retries`` misses until the reader is probed; ``settle_ms``
    every inventory is told for that long after a change; ``repeat_ms`` then how often an unchanged one is;
    ``address`` of the reader; ``advanced`` frames (needed over TCP); ``antennas`` numbers of a reader with
    several, each then a channel of that name; ``outputs`` of the multiplexers behind them, switched together and
    gone through in turn: antenna 3 on output 2 is channel 11, eight channels an output; ``multiplexer`` is their
    address.
    """

    kind = "feig"

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
        self._poll = given.milliseconds("poll_ms", 200)
        settle = given.milliseconds("settle_ms", 1000)
        repeat = given.milliseconds("repeat_ms", 5000)
        self._address = given.integer("address", BROADCAST, 0, BROADCAST)
        self._advanced = given.flag("advanced", False)
        self._antennas = given.numbers("antennas", 1, ANTENNAS)
        self._outputs = given.numbers("outputs", 1, 8)
        self._multiplexer = given.integer("multiplexer", 0, 0, 0xFF)
        if self._outputs and not self._antennas:
            given.fault("outputs", list(self._outputs), "name the antennas behind which the multiplexers are")
        given.finish()
        fields = [antenna + ANTENNAS * (out - 1) for out in self._outputs or (1,) for antenna in self._antennas]
        self.channels = tuple(map(str, fields)) or ("0",)
        self._stage = _Stage.OFF
        self._next_poll = 0
        self._version = SoftwareVersion(0, 0, 0, 0, 0, 0)
        self._found: dict[str, frozenset[int]] = {}
        self._turn = 0
        self._teller = Teller(settle, repeat)

    def start(self, now: int) -> Step:
        """Forget all that was known of the field and ask who is there."""
        self._announce = True
        self._identify(now)
        return self._end(now)

    # -- asking ---------------------------------------------------------------------------------------

    def _ask(self, stage: _Stage, now: int, data: bytes = b"") -> None:
        self._framer.reset()
        self._stage = stage
        self._due = now + self._timeout
        self._send.append(Request(_COMMAND[stage], data, self._address, self._advanced).encode())

    def _overdue(self, now: int) -> None:
        if self._stage is _Stage.IDLE:
            self._inventory(now)
        else:
            self._missed(now)

    def _switch_off(self) -> None:
        self._stage, self._due = _Stage.OFF, None

    def _identify(self, now: int) -> None:
        self._misses = 0
        self._teller.forget()
        self._ask(_Stage.VERSION, now)

    def _inventory(self, now: int) -> None:
        self._found.clear()
        self._next_poll = now + self._poll
        self._turn = 0
        self._scan(now)

    def _scan(self, now: int) -> None:
        """The fields of one output, or all there are without a multiplexer."""
        if self._outputs:
            self._ask(_Stage.SWITCH, now, multiplexer_data(self._multiplexer, self._outputs[self._turn]))
        else:
            self._ask(_Stage.RF_RESET, now)

    def _rest(self, now: int) -> None:
        self._stage = _Stage.IDLE
        self._due = max(now, self._next_poll)

    def _missed(self, now: int) -> None:
        """No usable answer in time. Repeat; then ask for a sign of life; then give up."""
        self.noise.timeouts += 1
        self._misses += 1
        identifying = self._stage in (_Stage.VERSION, _Stage.SERIAL)
        if not identifying:
            self._tell(now, complete=False)  # nobody looks at the felt now: what comes meanwhile is seen late
        limit = self._retries if identifying else 2 * self._retries
        if self._stage is _Stage.PROBE or self._misses > limit:
            self._give_up()
        elif identifying:
            self._ask(self._stage, now, bytes((DEVICE_ID,)) if self._stage is _Stage.SERIAL else b"")
        elif self._misses == self._retries:
            self._ask(_Stage.PROBE, now)
        else:
            # A lost answer to MORE can not be asked for again: the whole inventory starts over.
            self._inventory(now)

    # -- answers --------------------------------------------------------------------------------------

    def _take(self, frame: Response, now: int) -> None:
        if self._address not in (BROADCAST, frame.address):
            self._stray(frame)
        elif frame.command == Command.CPU_RESET and self._stage is not _Stage.OFF:
            # Nobody here asks for it: the reader has restarted and forgotten its state.
            self._clear("reset")
            self._fault("reset", "the reader restarted")
            self._identify(now)
        elif self._send or frame.command != _COMMAND.get(self._stage):
            # It answers nothing that is asked; what was asked in this very step has not been sent yet.
            if frame.command == Command.READ_BUFFER:
                self._fault("protocol", "the reader is in buffered read or notification mode: set it to host mode")
            self._stray(frame)
        else:
            try:
                self._answer(frame, now)
            except ProtocolError as error:
                self._fault("protocol", str(error))
                if self._stage is _Stage.INVENTORY:
                    self._part(now)

    def _stray(self, frame: Response) -> None:
        """A late or foreign frame: thrown away whole."""
        self.noise.dropped += len(frame.encode())

    def _answer(self, frame: Response, now: int) -> None:
        match self._stage:
            case _Stage.VERSION:
                self._version = SoftwareVersion.decode(frame.data)
                self._ask(_Stage.SERIAL, now, bytes((DEVICE_ID,)))
            case _Stage.SERIAL:
                # Old firmware has no device id and says so by its status.
                serial = decode_device_id(frame.data) if frame.status == Status.OK else ""
                self._identified(serial, now)
            case _Stage.PROBE:
                self._inventory(now)
            case _Stage.SWITCH:
                self._switched(frame, now)
            case _Stage.RF_RESET:
                self._field_reset(frame, now)
            case _:
                self._inventoried(frame, now)

    def _identified(self, serial: str, now: int) -> None:
        if not self._is_expected(self._version.model, serial, self._version.firmware):
            return
        self._clear("reset", "protocol")
        self._misses = 0
        self._inventory(now)

    def _switched(self, frame: Response, now: int) -> None:
        if frame.status == Status.OK and not any(frame.data):
            self._ask(_Stage.RF_RESET, now)
        else:
            # It may still listen to the output before: nothing that is heard now can be told.
            self._fault("antenna", f"multiplexer refused output {self._outputs[self._turn]}")
            self._rest(now)

    def _field_reset(self, frame: Response, now: int) -> None:
        if frame.status == Status.OK:
            self._ask(_Stage.INVENTORY, now, inventory_data(antennas=self._antennas))
        else:
            # Without it tags found before stay quiet, and the inventory would miss them.
            self._fault("rf", f"RF reset refused with status 0x{frame.status:02x}")
            self._rest(now)

    def _inventoried(self, frame: Response, now: int) -> None:
        if frame.status == Status.NO_TAG:
            if not self._framer.clean:
                return  # found by searching in noise: wait for the time-out and ask again
            self._whole(now)
        elif frame.status in (Status.OK, Status.MORE_DATA):
            before = dict(self._found)
            self._collect(frame.data)
            # A part that adds nothing is the last part once more, and the true one is still to come or lost.
            if not self._framer.clean or (before and self._found == before):
                self._part(now)
            elif frame.status == Status.MORE_DATA:
                self._ask(_Stage.INVENTORY, now, inventory_data(more=True, antennas=self._antennas))
            else:
                self._whole(now)
        else:
            self._refused(frame, now)

    def _collect(self, data: bytes) -> None:
        base = ANTENNAS * (self._outputs[self._turn] - 1) if self._outputs else 0
        for tag, seen in _heard(data, bool(self._antennas), base):
            known = self._found.get(tag)
            self._found[tag] = seen if known is None else known | seen

    def _refused(self, frame: Response, now: int) -> None:
        if frame.status in _TROUBLE:
            self._fault(*_TROUBLE[Status(frame.status)])
        else:
            self._fault("protocol", f"inventory refused with status 0x{frame.status:02x}")
        if frame.status in (Status.WARNING, Status.BUFFER_OVERFLOW) and len(frame.data) > 1:
            self._collect(frame.data)
        self._part(now)

    def _whole(self, now: int) -> None:
        if self._turn + 1 < len(self._outputs):
            self._turn += 1
            self._scan(now)
            return
        self._clear("rf", "overflow", "protocol", "antenna")
        self._misses = 0
        self._tell(now, complete=True)
        self._rest(now)

    def _part(self, now: int) -> None:
        self._misses = 0
        self._tell(now, complete=False)
        self._rest(now)

    # -- telling --------------------------------------------------------------------------------------

    def _tell(self, now: int, complete: bool) -> None:
        if not self._antennas:
            self._tell_channel("0", frozenset(self._found), complete, now)
            return
        fields: dict[str, set[str]] = {channel: set() for channel in self.channels}
        for tag, seen in self._found.items():
            for number in seen:
                if (channel := str(number)) in fields:
                    fields[channel].add(tag)
        for channel, tags in fields.items():
            self._tell_channel(channel, frozenset(tags), complete, now)

    def _tell_channel(self, channel: str, tags: frozenset[str], complete: bool, now: int) -> None:
        if self._teller.worth(channel, (tags, complete), now):
            self._readings.append(TagsSeen(self.device, self._number(), channel, tags, complete))
