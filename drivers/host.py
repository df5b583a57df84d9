"""What the host's side of every protocol shares: numbering readings, faults that begin and end, one Step.

A protocol subclasses ``Host`` and writes only its own talk. Nothing here knows a protocol.
"""

from collections.abc import Mapping

from drivers.conversation import Step
from drivers.errors import ConfigError
from drivers.framing import Noise
from drivers.options import MS
from drivers.readings import DeviceCleared, DeviceFault, DeviceUp, Reading

NOISE_OVER = 10_000 * MS
"""A link is called noisy until it has been clean for this long; without it every stray byte is two records."""

IDENTITY = ("model", "serial")


class Host:
    """Base of the conversations. ``device``, ``path`` and ``expect`` are what the configuration says.

    ``expect`` may name ``model`` and ``serial``; a device that says otherwise is the wrong one.
    """

    kind = "device"
    role = "reader"
    """What sensing may expect: ``shoe``, ``keypad``, ``reader`` or ``camera``."""

    def __init__(self, device: str, path: str, expect: Mapping[str, str] | None) -> None:
        self.device = device
        self.path = path
        self.expect = dict(expect or {})
        self.channels: tuple[str, ...] = ()
        """The channels that it can speak on; empty where any number may be one (regions of a camera)."""
        for name, value in self.expect.items():
            if name not in IDENTITY:
                raise ConfigError(f"{device}.expect.{name}", value, f"expect one of {', '.join(IDENTITY)}")
        self.noise = Noise()
        self._reading = 0
        self._readings: list[Reading] = []
        self._send: list[bytes] = []
        self._failed: str | None = None
        self._faults: set[str] = set()
        self._bad = 0
        self._noise_over: int | None = None

    def _number(self) -> int:
        self._reading += 1
        return self._reading

    def _fault(self, fault: str, detail: str = "") -> None:
        """A trouble begins; it is told once until it is over."""
        if fault not in self._faults:
            self._faults.add(fault)
            self._readings.append(DeviceFault(self.device, self._number(), fault, detail, self.noise.counts()))

    def _clear(self, *faults: str) -> None:
        """These troubles, where they had begun, are over."""
        for fault in faults:
            if fault in self._faults:
                self._faults.discard(fault)
                self._readings.append(DeviceCleared(self.device, self._number(), fault))

    def _fail(self, cause: str) -> None:
        self._failed = cause

    def _unexpected(self, found: Mapping[str, str]) -> str | None:
        """What is not as ``expect`` says, in words, or ``None``."""
        for name, wanted in self.expect.items():
            if found.get(name, "") != wanted:
                return f"expected {name} {wanted!r}, found {found.get(name, '')!r}"
        return None

    def _up(self, model: str, serial: str, firmware: str) -> None:
        self._readings.append(DeviceUp(self.device, self._number(), self.kind, model, serial, firmware, self.path))

    def _pass_over_noise(self) -> None:
        """What has come so far was said to somebody else, and cut off in the middle: that is no trouble of the line."""
        self._bad = self.noise.bad()

    def _watch_noise(self, now: int) -> None:
        """Tell when noise begins, and when there has been none for ``NOISE_OVER``."""
        bad = self.noise.bad()
        if bad != self._bad:
            self._bad = bad
            self._noise_over = now + NOISE_OVER
            self._fault("noise")
        elif self._noise_over is not None and now >= self._noise_over:
            self._noise_over = None
            self._clear("noise")

    def _step(self, now: int, deadline: int | None) -> Step:
        """Hand over what has been gathered since the last step."""
        self._watch_noise(now)
        due = [time for time in (deadline, self._noise_over) if time is not None]
        step = Step(
            tuple(self._readings),
            tuple(self._send),
            None if self._failed is not None else min(due, default=None),
            self._failed,
        )
        self._readings.clear()
        self._send.clear()
        self._failed = None
        return step
