"""An Eccel Pepper C1, alone or with a multiplexer, from its own side of the wire."""

from collections import deque
from collections.abc import Iterable

from drivers.eccel import Command, Tag, done, encode_name, event, failed, framer
from drivers.options import MS
from simulators.hardware.device import Hearing

RF_ERROR = 0x0020
"""Error of a command that could not talk to a tag."""
UNKNOWN = 0x0001
MOST_TAGS = 255
"""It says in one byte how many tags there are."""


class PepperReader:
    """The reader with the tags that lie in its fields.

    While it polls it names every tag of the chosen antenna once in ``emit_ms``. Polling and the chosen antenna
    are forgotten when it restarts; it does not say that it has. A count of tags is an inventory: who is asked for
    by number afterwards was heard by it. ``hearing`` is how well; without it, all are, every time.
    """

    def __init__(
        self,
        name: str = "PEPPER-01",
        *,
        firmware: str = "2.56",
        emit_ms: int = 200,
        hearing: Hearing | None = None,
    ) -> None:
        self._name = name
        self._firmware = firmware
        self._emit = emit_ms * MS
        self._hearing = hearing
        self._counted: list[str] | None = None
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
        self._counted = None
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
        return [event(Tag(bytes.fromhex(tag))) for tag in self._listen()]

    def deadline(self) -> int | None:
        """The next time it names what it sees."""
        return self._next if self._polling else None

    def power_cycle(self, now: int) -> None:
        """Off and on."""
        del now
        self.reset()

    def _listen(self) -> list[str]:
        """The tags of the chosen antenna that one inventory hears."""
        field = tuple(self._fields.get(self._antenna, {}))
        return list(field if self._hearing is None or not field else self._hearing(self._antenna, field))

    def _uid(self, number: int) -> bytes:
        """A tag by its number in the last count; who has left since is not there."""
        lying = self._fields.get(self._antenna, {})
        seen = [tag for tag in (self._listen() if self._counted is None else self._counted) if tag in lying]
        if number >= len(seen[:MOST_TAGS]):
            return failed(Command.GET_UID, UNKNOWN)
        return done(Command.GET_UID, Tag(bytes.fromhex(seen[number])).encode())

    def _obey(self, code: int, data: bytes, now: int) -> bytes:
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
                self._antenna, self._counted = data[0], None
                return done(code)
            case Command.TAG_COUNT | Command.GET_UID if self._troubles:
                return failed(code, self._troubles.popleft())
            case Command.TAG_COUNT:
                self._counted = self._listen()
                return done(code, bytes((min(MOST_TAGS, len(self._counted)),)))
            case Command.GET_UID if len(data) == 1:
                return self._uid(data[0])
            case _:
                return failed(code, UNKNOWN)
