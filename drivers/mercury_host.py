"""A ThingMagic / JADAK Mercury module that reads continuously.

While it reads it sends a record for every tag in every round and a sign of life each second, and hears nothing
but the order to stop. A host that was restarted finds it like that: so every conversation begins with that
order, waits until the line is silent, and looks for the module at other line speeds when it does not answer.

The module never says that a tag has gone: absence is inferred (``Sightings``). Records are not repeated when the
line spoils one, so noise begins the window anew.
"""

from collections.abc import Mapping
from enum import Enum, auto

from drivers.conversation import Step
from drivers.errors import ConfigError, ProtocolError
from drivers.framed import Framed
from drivers.mercury import GEN2, HALT, NO_FILTER, RUN, Opcode, Request, Response, Status, TagRead, Version
from drivers.mercury import response_framer as framer
from drivers.options import MS, Options
from drivers.readings import TagsSeen
from drivers.telling import Sightings, Teller

REGIONS = {
    "na": 0x01,
    "eu": 0x02,
    "in": 0x04,
    "jp": 0x05,
    "prc": 0x06,
    "eu3": 0x08,
    "kr2": 0x09,
    "au": 0x0B,
    "nz": 0x0C,
}
_TROUBLE: Mapping[int, tuple[str, str]] = {
    Status.THROTTLE: ("throttle", "the module is too hot and reads less often"),
    Status.RETURN_LOSS: ("antenna", "too much power comes back: check antenna and cable"),
}
TELL_EVERY = 200 * MS
"""A full tray is a record every few milliseconds: what it amounts to is told no more often than this."""
MOST_DRAINS = 100
CUT_OFF = 3
"""So many broken frames may be met in what a former host has left on the line."""
_HALT = Request(Opcode.CONTINUOUS, HALT).encode()


class _Stage(Enum):
    """Which answer is awaited, or what is waited for."""

    OFF = auto()
    DRAIN = auto()
    VERSION = auto()
    BOOT = auto()
    SETUP = auto()
    READING = auto()


class MercuryHost(Framed[Response]):
    """Conversation with one module.

    Options: ``region`` (one of ``REGIONS``); ``antennas`` numbers in the order they are searched, each then a
    channel of that name (without it all is channel ``0``); ``power`` in hundredths of dBm, 0 leaves it;
    ``bauds`` line speeds to look for the module at, besides the one of the URI; ``window_ms`` without a record
    after which a tag is gone (at least two rounds over a full tray); ``backstop_ms`` without a complete
    inventory after which the module is given up; ``silence_ms`` without a sign of life after which it is looked
    for again; ``timeout_ms`` for one answer, ``retries`` at one speed; ``quiet_ms`` of silence that end the
    draining; ``gap_ms``, ``settle_ms``, ``repeat_ms`` as for ``feig``.
    """

    kind = "mercury"

    def __init__(
        self,
        device: str,
        *,
        path: str = "",
        expect: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        given = Options(device, options or {})
        super().__init__(device, path, expect, framer, given, retries=2)
        if "serial" in self.expect:
            raise ConfigError(
                f"{device}.expect.serial", self.expect["serial"], "a Mercury module tells none: remove it"
            )
        region = REGIONS[given.choice("region", "eu3", tuple(REGIONS))]
        antennas = given.numbers("antennas", 1, 15)
        power = given.integer("power", 0, 0, 4000)
        self._bauds = given.numbers("bauds", 300, 4_000_000) or (115_200, 9_600, 921_600)
        window = given.milliseconds("window_ms", 3000)
        self._backstop = given.milliseconds("backstop_ms", 30_000)
        self._silence = given.milliseconds("silence_ms", 3500)
        self._quiet = given.milliseconds("quiet_ms", 100)
        settle = given.milliseconds("settle_ms", 1000)
        repeat = given.milliseconds("repeat_ms", 5000)
        given.finish()
        self._setup = [Request(Opcode.SET_REGION, bytes((region,))), Request(Opcode.SET_PROTOCOL, GEN2)]
        if antennas:
            pairs = b"".join(bytes((number, number)) for number in antennas)
            self._setup.append(Request(Opcode.SET_ANTENNAS, b"\x02" + pairs))
        if power:
            self._setup.append(Request(Opcode.SET_POWER, power.to_bytes(2, "big")))
        self._setup += [Request(Opcode.SET_OPTION, NO_FILTER), Request(Opcode.CONTINUOUS, RUN)]
        self._per_antenna = bool(antennas)
        self.channels = tuple(map(str, antennas)) or ("0",)
        self._sightings = Sightings(window, self.channels)
        self._trouble_over = window
        self._teller = Teller(settle, repeat)
        self._stage = _Stage.OFF
        self._asked: Request | None = None
        self._drains = 0
        self._speed = -1
        self._to_baud: int | None = None
        self._bad_seen = 0
        self._broken = 0
        self._trouble_at = 0
        self._proof = 0
        self._told_at = 0
        self._tell_at: int | None = None

    def start(self, now: int) -> Step:
        """Order silence, then ask who is there. What lies in the fields is unknown."""
        self._announce = True
        self._speed = -1
        self._sightings.begin(now)
        self._teller.forget()
        self._begin(now)
        return self._end(now)

    def stop(self, now: int) -> Step:
        """Leave it silent: the next host would find it deaf."""
        if self._stage is not _Stage.OFF:
            self._send.append(_HALT)
        return super().stop(now)

    # -- asking ---------------------------------------------------------------------------------------

    def _begin(self, now: int) -> None:
        """Stop it and wait for silence, at the speed of the line as it is."""
        self._stage = _Stage.DRAIN
        self._broken = self.noise.crc + self.noise.resync
        self._misses = self._drains = 0
        self._asked = None
        self._tell_at = None
        self._framer.reset()
        self._send.append(_HALT)
        self._last_byte = now
        self._due = now + self._quiet

    def _ask(self, stage: _Stage, request: Request, now: int) -> None:
        self._stage, self._asked = stage, request
        self._due = now + self._timeout
        self._send.append(request.encode())

    def _overdue(self, now: int) -> None:
        match self._stage:
            case _Stage.DRAIN if now < self._last_byte + self._quiet:
                self._drains += 1
                if self._drains % 10 == 0:
                    self._send.append(_HALT)  # the first one was lost in what it was saying
                if self._drains < MOST_DRAINS:
                    self._due = self._last_byte + self._quiet
                else:
                    self._look_elsewhere(now)
            case _Stage.DRAIN:
                self._framer.reset()
                self._bad_seen = self.noise.bad()
                self._leftovers()
                self._ask(_Stage.VERSION, Request(Opcode.VERSION), now)
            case _Stage.READING:
                # Neither tag nor sign of life: it was switched off and on, or its line has gone.
                self.noise.timeouts += 1
                self._sightings.taint(now)
                self._tell_all(now)
                self._begin(now)
            case _:
                self.noise.timeouts += 1
                self._misses += 1
                if self._misses >= self._retries:
                    self._look_elsewhere(now)
                elif self._asked is not None:
                    self._ask(self._stage, self._asked, now)

    def _look_elsewhere(self, now: int) -> None:
        """It does not hear us: it may stand at another speed, where a former host has left it."""
        self._speed += 1
        if self._speed < len(self._bauds):
            self._to_baud = self._bauds[self._speed]
            self._begin(now)
        else:
            self._give_up()

    def _switch_off(self) -> None:
        self._stage, self._due = _Stage.OFF, None

    # -- answers --------------------------------------------------------------------------------------

    def _take(self, frame: Response, now: int) -> None:
        if self._stage in (_Stage.OFF, _Stage.DRAIN):
            return
        if frame.opcode == Opcode.BOOT and self._stage is not _Stage.BOOT:
            self._clear("reset")
            self._fault("reset", "the module restarted")
            self._sightings.taint(now)
            self._begin(now)
        elif self._stage is _Stage.READING:
            self._streamed(frame, now)
        elif self._send or self._asked is None or frame.opcode != self._asked.opcode:
            self.noise.dropped += len(frame.encode())
        else:
            self._misses = 0
            try:
                self._answer(frame, now)
            except ProtocolError as error:
                self._fault("protocol", str(error))

    def _answer(self, frame: Response, now: int) -> None:
        match self._stage:
            case _Stage.VERSION:
                self._identified(Version.decode(frame.data), now)
            case _Stage.BOOT:
                # A module whose firmware runs already refuses this, and that is as good.
                self._configure(0, now)
            case _:
                self._configured(frame, now)

    def _identified(self, version: Version, now: int) -> None:
        if not self._is_expected(version.model, "", version.revision):
            return
        self._speed = -1
        self._ask(_Stage.BOOT, Request(Opcode.BOOT), now)

    def _configure(self, step: int, now: int) -> None:
        self._ask(_Stage.SETUP, self._setup[step], now)

    def _configured(self, frame: Response, now: int) -> None:
        done = next(at for at, request in enumerate(self._setup) if request is self._asked)
        if frame.status != Status.OK:
            self._fault("protocol", f"operation 0x{frame.opcode:02x} refused with status 0x{frame.status:04x}")
            self._give_up("refused")
        elif done + 1 < len(self._setup):
            self._configure(done + 1, now)
        else:
            self._stage = _Stage.READING
            self._due = now + self._silence
            self._told_at = now
            self._clear("reset", "protocol")
            self._sightings.taint(now)

    def _streamed(self, frame: Response, now: int) -> None:
        self._due = now + self._silence
        if frame.opcode == Opcode.CONTINUOUS:
            # It has ended its reading by itself.
            self._sightings.taint(now)
            self._begin(now)
            return
        if frame.opcode != Opcode.READ_MULTIPLE:
            self.noise.dropped += len(frame.encode())
            return
        match frame.status:
            case Status.OK:
                self._heard(frame, now)
            case Status.NO_TAGS:
                pass
            case _:
                self._fault(*_TROUBLE.get(frame.status, ("rf", f"disturbed, status 0x{frame.status:04x}")))
                self._trouble_at = now
                self._sightings.taint(now)
        self._proof = now
        if self._tell_at is None:
            self._tell_at = max(now, self._told_at + TELL_EVERY)

    def _heard(self, frame: Response, now: int) -> None:
        try:
            read = TagRead.decode(frame.data)
        except ProtocolError as error:
            self._fault("protocol", str(error))
            self._sightings.taint(now)
            return
        if read is not None:
            self._sightings.hear(str(read.antenna) if self._per_antenna else "0", read.tag, now)

    def _tell(self, now: int) -> None:
        """Good frames have come: all that was said until then has, unless noise has swallowed some of it."""
        if self._tell_at is None or now < self._tell_at or self._stage is not _Stage.READING:
            return
        self._tell_at, self._told_at = None, now
        bad = self.noise.bad()
        if bad != self._bad_seen:
            self._bad_seen = bad
            self._sightings.taint(now)
        if now >= self._trouble_at + self._trouble_over:
            self._clear("rf", "throttle", "antenna", "protocol")
        self._sightings.proven(self._proof)
        self._tell_all(now)
        if self._sightings.silent_for(now) > self._backstop:
            self._give_up()

    def _tell_all(self, now: int) -> None:
        for channel in self._sightings.channels:
            said = self._sightings.said(channel)
            if self._teller.worth(channel, said, now):
                self._readings.append(TagsSeen(self.device, self._number(), channel, *said))

    def _leftovers(self) -> None:
        """A few broken frames are what somebody else has left on the line."""
        if self.noise.crc + self.noise.resync <= self._broken + CUT_OFF:
            self._pass_over_noise()

    def _end(self, now: int, *also: int | None) -> Step:
        self._tell(now)
        if self._stage is _Stage.DRAIN:
            self._leftovers()
        step = super()._end(now, *also, self._tell_at if self._stage is _Stage.READING else None)
        if self._to_baud is not None:
            step = Step(step.readings, step.send, step.deadline, step.failed, self._to_baud)
            self._to_baud = None
        return step
