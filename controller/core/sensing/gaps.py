"""Times in which nobody read a place: what is seen right after one may have come at any moment of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controller.core.sensing.whereabouts import MS
from controller.core.setup import Timing


@dataclass(slots=True)
class Gaps:
    """The gaps of some places; all times in ns.

    ``fuse``: so long after a place is read again something may still turn up. ``patience``: so long anybody waits for
    it to be read.
    """

    fuse: int
    patience: int
    due: int | None = None
    """When the first of the gaps that were open last is over."""
    _began: dict[str, int] = field(default_factory=dict)
    """Places that are not read now, and since when."""
    _over: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The last gap of a place: its beginning, and when it was read whole again."""

    @classmethod
    def of(cls, timing: Timing) -> "Gaps":
        """None so far."""
        return cls(timing.fuse_ms * MS, timing.in_flight_ms * MS)

    def begin(self, places: Iterable[str], at: int) -> None:
        """These places are not read from now on."""
        for place in places:
            self._began.setdefault(place, at)

    def read(self, place: str, at: int) -> None:
        """A whole inventory of a place has come."""
        if place in self._began:
            self._over[place] = (self._began.pop(place), at)

    def earliest(self, place: str, since: int) -> int:
        """When something may have come that was first seen at a place at ``since``."""
        began, over = self._over.get(place, (since, since))
        return min(began, since) if since <= over else since

    def open(self, at: int) -> list[int]:
        """The beginnings of gaps in which something may have happened that is still to be seen."""
        until = [(began, began + self.patience) for began in self._began.values()]
        until += [(began, over + self.fuse) for began, over in self._over.values()]
        still = [(began, end) for began, end in until if at < end]
        self.due = min((end for _, end in still), default=None)
        return [began for began, _ in still]
