"""A ThingMagic / JADAK Mercury module, from its own side of the wire."""

from collections import deque
from collections.abc import Iterable

from drivers.mercury import HALT, NO_FILTER, RUN, Opcode, Request, Response, Status, TagRead, Version, request_framer
from drivers.options import MS
from simulators.hardware.device import Hearing

KEEPALIVE = 1000 * MS
_VERSION = bytes.fromhex("0710230001000003201410070107020900000010")
"""What a captured module said of itself."""


class MercuryModule:
    """The module with the tags that lie in its fields.

    While it reads continuously it is deaf to all but the order to stop. ``baud`` is the line speed at which it
    hears; a host that sends at another one (``line``) sends it noise. With the read filter on, as after power-up,
    it tells each tag once only. Its power-up is told unasked. ``hearing`` is how well one round hears the tags;
    without it, all are heard in every round.
    """

    def __init__(self, *, baud: int = 115_200, round_ms: int = 250, hearing: Hearing | None = None) -> None:
        self.baud = baud
        self.line = baud
        self._round = round_ms * MS
        self._hearing = hearing
        self._fields: dict[int, dict[str, None]] = {}
        self._framer = request_framer()
        self._filter = True
        self._filtered: set[str] = set()
        self._antennas: tuple[int, ...] = (1,)
        self._reading = False
        self._began = 0
        self._next_round = 0
        self._next_sign = 0
        self._disturbances: deque[int] = deque(maxlen=64)
        self._unasked: deque[bytes] = deque(maxlen=16)

    @property
    def reading(self) -> bool:
        """Whether it reads continuously now."""
        return self._reading

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

    def trouble(self, status: int, times: int = 1) -> None:
        """Say this instead of the next signs of life: ``THROTTLE`` or ``RETURN_LOSS``."""
        self._disturbances.extend([status] * times)

    def reset(self) -> None:
        """It restarts by itself, and says so."""
        self._boot()
        self._unasked.append(Response(Opcode.BOOT, Status.OK, _VERSION).encode())

    # -- the wire ---------------------------------------------------------------------------------------

    def feed(self, data: bytes, now: int) -> list[bytes]:
        """Bytes from the host: the answers."""
        if self.line != self.baud:
            return []
        return [answer.encode() for request in self._framer.feed(data) for answer in self._obey(request, now)]

    def poll(self, now: int) -> list[bytes]:
        """Records of the round that is due, and signs of life."""
        frames = list(self._unasked)
        self._unasked.clear()
        if self._reading and now >= self._next_round:
            self._next_round = now + self._round
            frames += [Response(Opcode.READ_MULTIPLE, Status.OK, read.encode()).encode() for read in self._listen(now)]
        if self._reading and now >= self._next_sign:
            self._next_sign = now + KEEPALIVE
            status = self._disturbances.popleft() if self._disturbances else Status.NO_TAGS
            frames.append(Response(Opcode.READ_MULTIPLE, status).encode())
        # Sent at another speed, a frame is as long and as wrong.
        return frames if self.line == self.baud else [bytes(byte ^ 0xA5 for byte in frame) for frame in frames]

    def deadline(self) -> int | None:
        """The next round or sign of life, while it reads."""
        return min(self._next_round, self._next_sign) if self._reading else None

    def power_cycle(self, now: int) -> None:
        """Off and on: it does not read any longer, and says that it has started."""
        del now
        self.reset()

    def _boot(self) -> None:
        self._reading = False
        self._filter = True
        self._filtered.clear()
        self._antennas = (1,)
        self._framer.reset()
        self._unasked.clear()

    def _obey(self, request: Request, now: int) -> list[Response]:
        if request.opcode == Opcode.CONTINUOUS and request.data == HALT:
            self._reading = False
            return [Response(Opcode.CONTINUOUS, Status.OK, b"\x02")]
        if self._reading:
            return []
        match request.opcode:
            case Opcode.VERSION:
                return [Response(Opcode.VERSION, Status.OK, Version.decode(_VERSION).encode())]
            case Opcode.CONTINUOUS if request.data == RUN:
                self._reading = True
                self._began = self._next_round = now
                self._next_sign = now + KEEPALIVE
                self._filtered.clear()
                return [Response(Opcode.CONTINUOUS)]
            case Opcode.SET_ANTENNAS if request.data[:1] == b"\x02":
                self._antennas = tuple(request.data[1::2])
                return [Response(request.opcode)]
            case Opcode.SET_OPTION:
                self._filter = request.data != NO_FILTER
                return [Response(request.opcode)]
            case Opcode.SET_REGION | Opcode.SET_PROTOCOL | Opcode.SET_POWER:
                return [Response(request.opcode)]
            case _:
                return [Response(request.opcode, Status.UNKNOWN_OPCODE)]

    def _listen(self, now: int) -> list[TagRead]:
        heard: list[TagRead] = []
        for antenna in self._antennas:
            field = tuple(self._fields.get(antenna, {}))
            for tag in field if self._hearing is None or not field else self._hearing(antenna, field):
                if self._filter and tag in self._filtered:
                    continue
                self._filtered.add(tag)
                at = (now - self._began) // MS % 2**32
                heard.append(TagRead(bytes.fromhex(tag), rssi=-60, antenna=antenna, frequency=865_700, at=at))
        return heard
