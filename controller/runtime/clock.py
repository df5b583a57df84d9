"""The two clocks of the daemon: a monotonic one that all durations use, and the wall's, which may step."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MS = 1_000_000
"""Nanoseconds in a millisecond."""

STEP_MS = 500
"""From here on a difference between the clocks is a step. Slewing by NTP stays far below it."""


class Clock:
    """Time in ns. ``speed`` lets monotonic time run faster than the real one: test mode only."""

    def __init__(
        self,
        speed: float = 1.0,
        monotonic: Callable[[], int] = time.monotonic_ns,
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        self.speed = speed
        self._monotonic = monotonic
        self._wall = wall
        self._start = monotonic()

    def now(self) -> int:
        """Monotonic ns, scaled."""
        real = self._monotonic()
        return real if self.speed == 1 else self._start + int((real - self._start) * self.speed)

    def wall(self) -> int:
        """Ns since 1970, UTC. Never scaled, never used for a time-out."""
        return self._wall()

    def seconds_until(self, at: int) -> float:
        """How many real seconds are left until the scaled time ``at``; 0 where it has passed."""
        return max(0, at - self.now()) / 1e9 / self.speed


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The wall clock was set. Both times in ns since 1970: what it would have said, and what it says."""

    before: int
    after: int

    @property
    def step_ms(self) -> int:
        """How far it went, negative for backwards."""
        return round((self.after - self.before) / MS)


def boottime_ns() -> int:
    """Monotonic ns that go on while the machine is suspended."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class SuspendWatch:
    """Finds out that the machine slept: one monotonic clock went on, the other stood still."""

    def __init__(self, boot: Callable[[], int] = boottime_ns, monotonic: Callable[[], int] = time.monotonic_ns) -> None:
        self._boot = boot
        self._monotonic = monotonic
        self._offset = boot() - monotonic()

    def look(self) -> int | None:
        """How many ms it slept since the last look, if it did."""
        before, self._offset = self._offset, self._boot() - self._monotonic()
        slept = round((self._offset - before) / MS)
        return slept if slept >= STEP_MS else None


class StepWatch:
    """Finds steps of the wall clock by comparing it with a monotonic one that goes on in a suspended machine."""

    def __init__(self, monotonic: Callable[[], int] = boottime_ns, wall: Callable[[], int] = time.time_ns) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._offset = wall() - monotonic()

    def look(self) -> ClockStep | None:
        """The step since the last look, if there was one."""
        wall = self._wall()
        expected = self._monotonic() + self._offset
        if abs(wall - expected) < STEP_MS * MS:
            # Follow a slewed clock, so that slow drift never adds up to a step.
            self._offset += wall - expected
            return None
        self._offset += wall - expected
        return ClockStep(expected, wall)


def synchronized(flag: Path = Path("/run/systemd/timesync/synchronized")) -> bool:
    """Whether systemd-timesyncd says that the clock agrees with a time server."""
    return flag.exists()
