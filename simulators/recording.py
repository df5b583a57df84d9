"""A device that says again what a real one said: a capture's bytes, in its order and at its pace."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from controller.capture.errors import CaptureError
from controller.capture.reading import Said, told
from controller.capture.wire import Passed
from controller.ledger.keys import load_auditor_key
from drivers.options import MS
from simulators.errors import RigError

PROMPT = 150 * MS
"""An answer comes within this time."""
CLOSE = 60 * MS
"""Pieces of one answer follow each other within this time."""
PATIENCE = 2000 * MS
"""So long it waits for a host that does not ask as the recorded one did, before it goes on."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that passed: ``at`` ns since the run began, ``after`` ns since the one before, where to, and what.

    ``answers``: the device said it because it was asked.
    """

    at: int
    after: int
    inward: bool
    answers: bool
    data: bytes


def runs_of(lines: Iterable[Said | Passed]) -> list[list[Said | Passed]]:
    """What a capture tells, run by run: each begins where a daemon did. One of another program is a single run."""
    runs: list[list[Said | Passed]] = []
    run = None
    for one in lines:
        began = one.what.get("run") if isinstance(one, Said) else None
        if not runs or (began is not None and began != run):
            runs.append([])
        run = began or run
        runs[-1].append(one)
    return runs


def of_capture(path: str | Path, device: str, card_key: str | Path | None = None) -> list[list[Moment]]:
    """What passed at one device in each run. Raises ``RigError`` where nothing did, or the capture cannot be read."""
    auditor = load_auditor_key(Path(card_key)) if card_key else None
    try:
        runs = [_moments(run, device) for run in runs_of(told(Path(path), auditor))]
    except CaptureError as error:
        raise RigError(str(error)) from error
    if not any(runs):
        raise RigError(f"{path}: nothing passed at a device {device!r}")
    return runs


def _moments(run: Sequence[Said | Passed], device: str) -> list[Moment]:
    steps: list[Moment] = []
    began = last = run[0].at
    talking = False
    for one in run:
        if isinstance(one, Passed) and one.device == device:
            # What follows the host's words closely, or such an answer, is an answer too.
            near = PROMPT if steps and not steps[-1].inward else CLOSE
            talking = not one.inward or (talking and one.at - last <= near)
            steps.append(Moment(one.at - began, max(0, one.at - last), one.inward, talking and one.inward, one.data))
            last = one.at
    return steps


def devices_of(told_of: Iterable[Said | Passed]) -> Mapping[str, int]:
    """The devices of a capture, and how many packets of each there are."""
    found: dict[str, int] = {}
    for one in told_of:
        if isinstance(one, Passed):
            found[one.device] = found.get(one.device, 0) + 1
    return found


class Recording:
    """The device's side of a recorded conversation (see ``hardware.device.Device``).

    What the device said is sent byte for byte. An answer comes after what the host had said before it, as soon as it
    did then; what it said by itself comes at its time since the begin of the run. A host that asks otherwise is waited
    for, and then left behind. ``held``: the run begins with ``begin``; else it does when the device is plugged in.
    A daemon that was started again makes another run, which ``turn`` comes to.
    """

    def __init__(
        self, *, capture: str, device: str, speed: float = 1.0, card_key: str | None = None, held: bool = False
    ) -> None:
        self._later = of_capture(capture, device, card_key)
        self._steps = self._later.pop(0)
        self._speed = speed
        self._held = held
        self._next = 0
        self._asked = 0
        self._began: int | None = None
        self._last = 0

    @property
    def left(self) -> int:
        """How much is still to be said by the device in this run."""
        return sum(step.inward for step in self._steps[self._next :])

    def begin(self, now: int) -> None:
        """The run begins: times count from here."""
        self._began = now

    def turn(self) -> None:
        """Come to the next run, which is still to begin. Raises ``RigError`` where there is none."""
        if not self._later:
            raise RigError("the capture has no further run")
        self._steps = self._later.pop(0)
        self._next = self._asked = 0
        self._began = None

    def feed(self, data: bytes, now: int) -> list[bytes]:
        """The host said something; what it says is not looked at."""
        del data
        self._asked += 1
        return self.poll(now)

    def poll(self, now: int) -> list[bytes]:
        """What is due by now."""
        said: list[bytes] = []
        while self._next < len(self._steps):
            step = self._steps[self._next]
            due = self._due(step)
            if due is None or now < due:
                break
            if step.inward:
                said.append(step.data)
            else:
                self._asked = max(0, self._asked - 1)
            self._last = now
            self._next += 1
        return said

    def deadline(self) -> int | None:
        """When the next is due, in ns; ``None`` where that depends on the host."""
        return self._due(self._steps[self._next]) if self._next < len(self._steps) else None

    def power_cycle(self, now: int) -> None:
        """A recording goes on where it was."""
        if self._began is None and not self._held:
            self.begin(now)

    def _due(self, step: Moment) -> int | None:
        if not step.inward and self._asked:
            return self._last
        if step.inward and step.answers:
            return self._last + int(step.after / self._speed)
        if self._began is None:
            return None
        return self._began + int((step.at if step.inward else self._left_behind(step)) / self._speed)

    def _left_behind(self, step: Moment) -> int:
        """When a host that says nothing is waited for no longer: at the latest when something happens to the device."""
        own = (one.at for one in self._steps[self._next :] if one.inward and not one.answers)
        return min(step.at + PATIENCE, next(own, step.at + PATIENCE))
