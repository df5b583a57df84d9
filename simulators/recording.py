"""A device that says again what a real one said: a capture's bytes, in its order and at its pace."""

from collections.abc import Iterable, Mapping
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


def of_capture(path: str | Path, device: str, card_key: str | Path | None = None) -> list[Moment]:
    """What passed at one device. Raises ``RigError`` where the capture cannot be read or has no such device."""
    auditor = load_auditor_key(Path(card_key)) if card_key else None
    steps: list[Moment] = []
    began: int | None = None
    last, talking = 0, False
    try:
        for one in told(Path(path), auditor):
            if began is None:
                began = last = one.at
            if isinstance(one, Passed) and one.device == device:
                # What follows the host's words closely, or such an answer, is an answer too.
                talking = not one.inward or (talking and one.at - last <= PROMPT)
                steps.append(
                    Moment(one.at - began, max(0, one.at - last), one.inward, talking and one.inward, one.data)
                )
                last = one.at
    except CaptureError as error:
        raise RigError(str(error)) from error
    if not steps:
        raise RigError(f"{path}: nothing passed at a device {device!r}")
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
    """

    def __init__(
        self, *, capture: str, device: str, speed: float = 1.0, card_key: str | None = None, held: bool = False
    ) -> None:
        self._steps = of_capture(capture, device, card_key)
        self._speed = speed
        self._held = held
        self._next = 0
        self._asked = 0
        self._began: int | None = None
        self._last = 0

    @property
    def left(self) -> int:
        """How much is still to be said by the device."""
        return sum(step.inward for step in self._steps[self._next :])

    def begin(self, now: int) -> None:
        """The run begins: times count from here."""
        self._began = now

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
        return self._began + int((step.at + (0 if step.inward else PATIENCE)) / self._speed)
