"""An Eccel Pepper C1, alone or with a multiplexer, from its own side of the wire."""

from collections import deque
from collections.abc import Iterable

from drivers.eccel import Command, Tag, done, encode_name, event, failed, framer
from drivers.options import MS

RF_ERROR = 0x0020
"""Error of a command that could not talk to a tag."""
UNKNOWN = 0x0001
MOST_TAGS = 255
"""It says in one byte how many tags there are."""


class PepperReader:
    """The reader with the tags that lie in its fields.

    While it polls it names every tag of the chosen antenna once in ``emit_ms``. Polling and the chosen antenna
    are forgotten when it restarts; it does not say that it has.
    """

    def __init__(self, name: str = "PEPPER-01", *, firmware: str = "2.56", emit_ms: int = 200) -> None:
        self._name = name
        self._firmware = firmware
        self._emit = emit_ms * MS
        self._fields: dict[int, dict[str, None]] = {}
        self._framer = framer()
        self._antenna = 1
        self._polling = False
        self._next = 0
        self._troubles: deque[int] = deque(maxlen=64)

    # -- what happens on the felt -----------------------------------------------------------------------

    def put(self, tags: Iterable[str], antenna: int = 1) -> None:
        """Lay tags into a field."""
        self._fields.setdefault(antenna, {}).update(dict.fromkeys(tag.upper() for tag in tags))

    def take(self, tags: Iterable[str], antenna: int = 1) -> None:
        """Take tags out of a field. Raises ``KeyError`` for a tag that is not there."""
        for tag in tags:
            del self._fields.setdefault(antenna, {})[tag.upper()]

    def field(self, antenna: int = 1) -> frozenset[str]:
        """The tags that lie in a field."""
        return frozenset(self._fields.get(antenna, {}))

    def trouble(self, status: int = RF_ERROR, times: int = 1) -> None:
        """Fail the next questions for tags with this error."""
        self._troubles.extend([status] * times)

    def reset(self) -> None:
        """It restarts by itself, without a word."""
        self._antenna = 1
        self._polling = False
        self._framer.reset()

    # -- the wire ---------------------------------------------------------------------------------------

    def feed(self, data: bytes, now: int) -> list[bytes]:
        """Bytes from the host: the answers."""
        return [self._obey(frame.payload[0], frame.payload[1:], now) for frame in self._framer.feed(data)]

    def poll(self, now: int) -> list[bytes]:
        """The tags it sees, while it polls."""
        if not self._polling or now < self._next:
            return []
        self._next = now + self._emit
        return [event(Tag(bytes.fromhex(tag))) for tag in self._fields.get(self._antenna, {})]

    def deadline(self) -> int | None:
        """The next time it names what it sees."""
        return self._next if self._polling else None

    def power_cycle(self, now: int) -> None:
        """Off and on."""
        del now
        self.reset()

    def _obey(self, code: int, data: bytes, now: int) -> bytes:
        seen = list(self._fields.get(self._antenna, {}))[:MOST_TAGS]
        match code:
            case Command.PING:
                return done(code)
            case Command.VERSION:
                return done(code, self._firmware.encode() + b"\x00")
            case Command.CONFIGURATION if data == b"\x00":
                return done(code, encode_name(self._name))
            case Command.SET_POLLING if len(data) == 1:
                self._polling, self._next = bool(data[0]), now
                return done(code)
            case Command.ANTENNA if len(data) == 1 and 1 <= data[0] <= 8:
                self._antenna = data[0]
                return done(code)
            case Command.TAG_COUNT | Command.GET_UID if self._troubles:
                return failed(code, self._troubles.popleft())
            case Command.TAG_COUNT:
                return done(code, bytes((len(seen),)))
            case Command.GET_UID if len(data) == 1 and data[0] < len(seen):
                return done(code, Tag(bytes.fromhex(seen[data[0]])).encode())
            case _:
                return failed(code, UNKNOWN)
