"""An Eccel Pepper C1 with one antenna, or with a multiplexer.

*One antenna*: the reader polls by itself and names a tag again and again while it sees it. It never says that a
tag has gone: absence is inferred (``Sightings``), and only from a window at whose end the reader has answered.

*Multiplexer*: we go round: choose an antenna, ask how many tags there are, ask for each. Each round over an
antenna is a whole inventory. Answers carry no number, but come in order: after a time-out whatever comes before
the answer to a ping is late, and is thrown away.
"""

from collections.abc import Mapping
from enum import Enum, auto

from drivers.conversation import Step
from drivers.eccel import Answer, Command, Frame, Tag, command, decode_event, decode_name, framer
from drivers.errors import ProtocolError
from drivers.framed import Framed
from drivers.options import Options
from drivers.readings import TagsSeen
from drivers.telling import Sightings, Teller

MODEL = "Pepper C1"
MOST_TAGS = 255
"""It says in one byte how many tags there are."""


class _Stage(Enum):
    """Which answer is awaited, or what is waited for."""

    OFF = auto()
    QUIET = auto()
    VERSION = auto()
    NAME = auto()
    POLLING = auto()
    WATCH = auto()
    PING = auto()
    SYNC = auto()
    ANTENNA = auto()
    COUNT = auto()
    UID = auto()
    IDLE = auto()


_COMMAND = {
    _Stage.QUIET: Command.SET_POLLING,
    _Stage.VERSION: Command.VERSION,
    _Stage.NAME: Command.CONFIGURATION,
    _Stage.POLLING: Command.SET_POLLING,
    _Stage.PING: Command.SET_POLLING,
    _Stage.SYNC: Command.PING,
    _Stage.ANTENNA: Command.ANTENNA,
    _Stage.COUNT: Command.TAG_COUNT,
    _Stage.UID: Command.GET_UID,
}
_IDENTIFYING = (_Stage.QUIET, _Stage.VERSION, _Stage.NAME)
_WATCHING = (_Stage.WATCH, _Stage.PING)
_ROUND = (_Stage.ANTENNA, _Stage.COUNT, _Stage.UID)


class EccelHost(Framed[Frame]):
    """Conversation with one reader. Its serial number is the name that its owner gave it.

    Options: ``antennas`` numbers of a multiplexer, each then a channel of that name; without it all is channel
    ``0``. ``timeout_ms`` for one answer; ``retries`` unanswered until the reader is given up; ``ping_ms``
    between two signs of life; ``window_ms`` without a word of a tag after which it is gone (one antenna);
    ``poll_ms`` from one round over all antennas to the next; ``backstop_ms`` without a complete inventory after
    which the reader is given up; ``gap_ms``, ``settle_ms``, ``repeat_ms`` as for ``feig``.
    """

    kind = "eccel"

    def __init__(
        self,
        device: str,
        *,
        path: str = "",
        expect: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        given = Options(device, options or {})
        super().__init__(device, path, expect, framer, given, timeout_ms=300)
        self._antennas = given.numbers("antennas", 1, 8)
        self._ping = given.milliseconds("ping_ms", 400)
        window = given.milliseconds("window_ms", 1500)
        self._poll = given.milliseconds("poll_ms", 200)
        self._backstop = given.milliseconds("backstop_ms", 30_000)
        settle = given.milliseconds("settle_ms", 1000)
        repeat = given.milliseconds("repeat_ms", 5000)
        given.finish()
        self.channels = tuple(map(str, self._antennas)) or ("0",)
        self._sightings = Sightings(window, ["0"])
        self._teller = Teller(settle, repeat)
        self._stage = _Stage.OFF
        self._firmware = ""
        self._bad_seen = 0
        self._turn = 0
        self._count = 0
        self._found: list[str] = []
        self._refusals: set[int] = set()
        """Antennas of which the last round was refused."""
        self._next_round = 0
        self._whole_at = 0

    def start(self, now: int) -> Step:
        """Stop what a former host has begun and ask who is there. What lies in the fields is unknown."""
        self._announce = True
        self._misses = 0
        self._whole_at = now
        self._sightings.begin(now)
        self._teller.forget()
        self._framer.reset()
        self._ask(_Stage.QUIET, now, b"\x00")
        return self._end(now)

    def stop(self, now: int) -> Step:
        """Leave it quiet."""
        if self._stage is not _Stage.OFF:
            self._send.append(command(Command.SET_POLLING, b"\x00"))
        return super().stop(now)

    # -- asking ---------------------------------------------------------------------------------------

    def _ask(self, stage: _Stage, now: int, data: bytes = b"") -> None:
        self._stage = stage
        self._due = now + self._timeout
        self._send.append(command(_COMMAND[stage], data))

    def _overdue(self, now: int) -> None:
        match self._stage:
            case _Stage.WATCH:
                # Polling is ordered anew: a reader that has restarted without a word does not poll any longer.
                self._ask(_Stage.PING, now, b"\x01")
            case _Stage.IDLE:
                self._begin_round(now)
            case _:
                self._missed(now)

    def _begin_round(self, now: int) -> None:
        self._turn = 0
        self._next_round = now + self._poll
        self._choose(now)

    def _choose(self, now: int) -> None:
        self._found.clear()
        self._framer.reset()
        self._ask(_Stage.ANTENNA, now, bytes((self._antennas[self._turn],)))

    def _missed(self, now: int) -> None:
        """No answer in time. What comes now may be late, and belongs to nothing that is asked from here on."""
        self.noise.timeouts += 1
        self._misses += 1
        self._sightings.taint(now)
        self._framer.reset()
        if self._misses > self._retries:
            self._give_up()
        elif self._stage in _IDENTIFYING:
            self._ask(_Stage.QUIET, now, b"\x00")
        elif self._antennas:
            self._blind(now)
            self._ask(_Stage.SYNC, now)
        else:
            self._tell_sighted(now)
            # It may have restarted, and then it does not poll any longer.
            self._ask(_Stage.POLLING, now, b"\x01")

    def _switch_off(self) -> None:
        self._stage, self._due = _Stage.OFF, None

    # -- answers --------------------------------------------------------------------------------------

    def _take(self, frame: Frame, now: int) -> None:
        kind, code = frame.payload[0], frame.payload[1] if len(frame.payload) > 1 else -1
        try:
            if self._stage is _Stage.OFF:
                pass
            elif kind == Answer.EVENT:
                if self._stage in _WATCHING:
                    self._sightings.hear("0", decode_event(frame.payload).name, now)
            elif self._send or code != _COMMAND.get(self._stage):
                self.noise.dropped += len(frame.encode())
            elif kind == Answer.FAILED:
                self._refused(frame.payload, now)
            elif kind == Answer.DONE:
                self._answer(frame.payload[2:], now)
            else:
                self.noise.dropped += len(frame.encode())
        except ProtocolError as error:
            self._fault("protocol", str(error))
            self._sightings.taint(now)
            if self._stage in _ROUND:
                self._next(now, complete=False)

    def _refused(self, payload: bytes, now: int) -> None:
        error = int.from_bytes(payload[2:4], "little")
        words = f"command 0x{payload[1]:02x} failed with error 0x{error:04x}"
        if self._stage in _ROUND:
            # A tag that was counted and taken away before it was asked for: it is a trouble when it happens again.
            if self._stage is not _Stage.UID or self._turn in self._refusals:
                self._fault("rf", words)
            self._refusals.add(self._turn)
            self._next(now, complete=False)
        elif self._stage is _Stage.NAME:
            self._identified("", now)  # old firmware has none
        else:
            self._fault("protocol", words)
            self._give_up("refused")

    def _answer(self, data: bytes, now: int) -> None:
        match self._stage:
            case _Stage.QUIET:
                self._ask(_Stage.VERSION, now)
            case _Stage.VERSION:
                self._firmware = data.rstrip(b"\x00").decode("ascii", "replace")
                self._ask(_Stage.NAME, now, b"\x00")
            case _Stage.NAME:
                self._identified(decode_name(data), now)
            case _Stage.POLLING:
                self._misses = 0
                self._watch(now)
            case _Stage.PING:
                self._misses = 0
                self._watch(now)
                self._proven(now)
            case _Stage.SYNC:
                self._choose(now)
            case _Stage.ANTENNA:
                self._ask(_Stage.COUNT, now)
            case _:
                self._counted(data, now)

    def _identified(self, name: str, now: int) -> None:
        if not self._is_expected(MODEL, name, self._firmware):
            return
        self._misses = 0
        if self._antennas:
            self._begin_round(now)
        else:
            self._ask(_Stage.POLLING, now, b"\x01")

    # -- one antenna ----------------------------------------------------------------------------------

    def _watch(self, now: int) -> None:
        self._stage, self._due = _Stage.WATCH, now + self._ping

    def _proven(self, now: int) -> None:
        """The reader answers: it would have named what it sees, unless noise has swallowed some of it."""
        bad = self.noise.bad()
        if bad != self._bad_seen:
            self._bad_seen = bad
            self._sightings.taint(now)
        self._sightings.proven(now)
        if self._sightings.whole:
            self._whole_at = now
            self._clear("protocol")
        self._tell_sighted(now)
        self._stand_back(now)

    def _tell_sighted(self, now: int) -> None:
        said = self._sightings.said("0")
        if self._teller.worth("0", said, now):
            self._readings.append(TagsSeen(self.device, self._number(), "0", *said))

    # -- multiplexer ----------------------------------------------------------------------------------

    def _counted(self, data: bytes, now: int) -> None:
        """An answer to COUNT or to UID."""
        if self._stage is _Stage.COUNT:
            if len(data) != 1:
                raise ProtocolError(f"tag count of {len(data)} bytes: 1 is due")
            self._count = data[0]
        else:
            self._found.append(Tag.decode(data).name)
        if len(self._found) < self._count:
            self._ask(_Stage.UID, now, bytes((len(self._found),)))
        else:
            full = self._count >= MOST_TAGS
            if full:
                self._fault("overflow", f"{MOST_TAGS} tags or more in one field: the reader tells of no more")
            # An answer that came twice fills two places, and one found by searching in noise proves nothing.
            self._next(now, complete=self._framer.clean and len(set(self._found)) == self._count and not full)

    def _next(self, now: int, *, complete: bool) -> None:
        self._misses = 0
        if complete:
            self._whole_at = now
            self._refusals.discard(self._turn)
            self._clear("rf", "protocol", "overflow")
        self._tell(str(self._antennas[self._turn]), complete=complete, now=now)
        self._turn += 1
        if self._turn < len(self._antennas):
            self._choose(now)
        else:
            self._stage, self._due = _Stage.IDLE, max(now, self._next_round)
            self._stand_back(now)

    def _blind(self, now: int) -> None:
        """No antenna is read now: what comes meanwhile is seen late. What one of them has told so far is told."""
        asked = str(self._antennas[self._turn]) if self._stage in _ROUND else None
        for channel in self.channels:
            self._say(channel, frozenset(self._found if channel == asked else ()), now, complete=False)

    def _tell(self, channel: str, *, complete: bool, now: int) -> None:
        self._say(channel, frozenset(self._found), now, complete=complete)

    def _say(self, channel: str, tags: frozenset[str], now: int, *, complete: bool) -> None:
        if self._teller.worth(channel, (tags, complete), now):
            self._readings.append(TagsSeen(self.device, self._number(), channel, tags, complete))

    # -------------------------------------------------------------------------------------------------

    def _stand_back(self, now: int) -> None:
        if now > self._whole_at + self._backstop:
            self._give_up()
