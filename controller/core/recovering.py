"""After a restart antennas read a table anew: what lies otherwise than on record is a fact, and is summed up (I-32).

Nothing of it is kept in the state: a run that ends before it is done is recovered by the next one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from controller.core import troubles
from controller.core.inputs import Notice
from controller.core.out import Out
from controller.core.records import Record
from controller.core.setup import Setup
from drivers.readings import Reading, TagsSeen

MS = 1_000_000
LONGEST_MS = 60_000
"""A reader that has not read for so long is not waited for: its places are named as unread."""
NO_READERS = ("camera", "shoe", "keypad")
"""Kinds of device that tell events and no inventories."""
NOT_OF_THE_FELT = ("ops", "guard")
"""Streams that tell of no difference on the felt, or of one that only surveillance may know."""


@dataclass(slots=True)
class Recovery:
    """What has to be read, and what was found: all that antennas told until what they read first had come to rest."""

    notice: Notice
    incident: str | None
    due: int
    """When it is over, in monotonic ns."""
    unread: dict[tuple[str, str], str]
    settle: int
    readers: frozenset[str]
    found: list[dict[str, Any]] = field(default_factory=list)

    def heard(self, reading: Reading, at: int) -> None:
        """A place was read for the first time: chips and cards need a while to rest before they are a fact."""
        if isinstance(reading, TagsSeen) and reading.complete:
            place = self.unread.pop((reading.device, reading.channel), None)
            if place is not None and not self.unread:
                self.due = min(self.due, at + self.settle)

    def told(self, records: Iterable[Record]) -> None:
        """What antennas have led to since."""
        for record in records:
            if record.stream in NOT_OF_THE_FELT or not self._cites(record):
                continue
            named: dict[str, Any] = {
                name: record.data[name] for name in ("hand", "n", "seat", "box", "place") if name in record.data
            }
            self.found.append({"event": record.type, **named})

    def _cites(self, record: Record) -> bool:
        return any(one["device"] in self.readers for one in record.data.get("evidence", ()))

    def emit(self, out: Out) -> None:
        """``recovery.completed``. ``unread``: places that no reader has read so far."""
        data = dict(self.notice.data) | {"differences": self.found} | troubles.pressed_in_vain(out)
        if self.unread:
            data["unread"] = sorted(set(self.unread.values()))
        if self.incident is not None:
            data["incident"] = self.incident
        out.emit("ops", "recovery.completed", out.setup.table, data | {"basis": "derived"})


def begun(out: Out, notice: Notice) -> Recovery | None:
    """What is to be waited for before this notice becomes a record; ``None`` where it becomes one at once.

    Where the house wants a person to let a hand go on, the hand is held from now on.
    """
    known = notice.data.get("differences") is not None or notice.data.get("cause") == "suspended"
    places = _places(out.setup)
    if notice.kind != "recovery.completed" or known or out.setup.kind != "rfid" or not places:
        return None
    timing = out.setup.timing
    readers = frozenset(device for device, _ in places)
    settle = (timing.in_flight_ms + timing.debounce_ms + timing.merge_ms) * MS
    return Recovery(notice, troubles.resume(out), out.at + LONGEST_MS * MS, places, settle, readers)


def _places(setup: Setup) -> dict[tuple[str, str], str]:
    return {
        (device.name, channel): place
        for device in setup.devices
        if device.kind not in NO_READERS
        for channel, place in device.places.items()
    }
