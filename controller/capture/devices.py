"""Has every driver's conversation again, from a capture's raw bytes, and holds what was read against what was fed."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from controller import boot
from controller.capture.wire import Passed
from drivers import catalog
from drivers.address import path_of
from drivers.attendant import Attendant
from drivers.conversation import Step
from drivers.readings import Reading, TagsSeen

REMEMBERED = 4096
"""So many readings of a device are kept for its acknowledgements; the queue of a daemon is shorter."""


class Heard:
    """One device of one run. ``mismatches`` tell in words what does not agree."""

    def __init__(self, said: Mapping[str, Any], last_card: int | None) -> None:
        """``said`` is the device of the run's origin. Raises ``drivers.errors.ConfigError``."""
        name, driver = said["name"], said["driver"]
        path = path_of(said["uri"], test_mode=True)
        options = boot.device_options(driver, said["options"], last_card)
        self.name = name
        self.mismatches: list[str] = []
        self.frames = 0
        self._attendant = Attendant(name, path, catalog.make(driver, name, path, said["expect"], options))
        self._readings: dict[int, Reading] = {}
        self._to_send: deque[bytes] = deque()
        self._fed = 0

    def passed(self, passed: Passed, now: int) -> None:
        """Bytes of the capture: those from the device go to the driver, those to it must be what the driver sends."""
        self.frames += 1
        if passed.inward:
            self._step(self._attendant.received(passed.data, now))
        elif not self._to_send or self._to_send.popleft() != passed.data:
            self.mismatches.append(f"{self.name}: the driver does not send what was sent at {passed.at} ns")
            self._to_send.clear()

    def called(self, said: Mapping[str, Any], now: int) -> None:
        """A driver was called without bytes."""
        match said["call"]:
            case "opening":
                self._attendant.opening()
            case "opened":
                self._to_send.clear()
                self._step(self._attendant.opened(now))
            case "due":
                self._step(self._attendant.due(now))
            case "leave":
                self._step(self._attendant.leave(now))
            case "lost":
                self._step(self._attendant.lost(str(said["cause"])))
            case "acknowledge":
                reading = self._readings.get(said["reading"])
                if reading is None:
                    self.mismatches.append(f"{self.name}: reading {said['reading']} was acknowledged and never made")
                else:
                    self._step(self._attendant.acknowledge(reading, now))

    def fed(self, reading: Reading) -> None:
        """The core was fed this reading: the bytes must say so, and none may have been left out before it."""
        number = reading.reading
        if self._readings.get(number) != reading:
            self.mismatches.append(f"{self.name}: the bytes do not say what reading {number} says")
        for skipped in range(self._fed + 1, number):
            # An inventory may be overtaken by a newer one of its channel on its way to the core.
            if not isinstance(self._readings.get(skipped), TagsSeen | None):
                self.mismatches.append(f"{self.name}: the bytes say reading {skipped}, and the core never got it")
        self._fed = max(self._fed, number)

    def _step(self, step: Step) -> None:
        self._to_send.extend(step.send)
        for reading in step.readings:
            self._readings[reading.reading] = reading
            self._readings.pop(reading.reading - REMEMBERED, None)
