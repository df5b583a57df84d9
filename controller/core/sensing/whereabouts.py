"""Where each known tag lies: one tag, one place. A tag is believed where it rests, and noise is not absence."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

MS = 1_000_000
STRIKES = 3
"""So many inventories in a row must miss a tag before the miss means anything at all."""


@dataclass(slots=True)
class Tag:
    """What is known of one tag. ``place`` is where it rests, ``coming`` where it was seen since ``since``."""

    place: str | None = None
    coming: str | None = None
    since: int = 0
    misses: int = 0
    missing_since: int | None = None
    coming_misses: int = 0
    order: int = 0
    """The order of first sight among all arrivals: what makes the board's order."""


@dataclass(slots=True)
class Whereabouts:
    """All tags of the table.

    ``debounce_ns``: how long a tag must be seen at a new place. ``absent_ns(tag, place)``: how long it must be missed
    where it rests before it counts as lifted; a tag that shows up elsewhere moves without that wait. Only tags that
    ``known`` accepts are followed: what belongs to nobody at this table is counted by the caller.
    """

    debounce_ns: int
    absent_ns: Callable[[str, str], int]
    tags: dict[str, Tag] = field(default_factory=dict)
    seen_places: set[str] = field(default_factory=set)
    _arrivals: int = 0

    def inventory(self, place: str, seen: Iterable[str], at: int, *, complete: bool) -> None:
        """One inventory of one place. An incomplete one shows arrivals and proves no absence."""
        present = set(seen)
        for name in sorted(present):
            self._sighted(name, place, at)
        if not complete:
            return
        self.seen_places.add(place)
        for name, tag in self.tags.items():
            if name in present:
                continue
            if tag.place == place:
                tag.misses += 1
                if tag.missing_since is None:
                    tag.missing_since = at
            if tag.coming == place:
                tag.coming_misses += 1
                if tag.coming_misses >= STRIKES:
                    tag.coming = None  # it only passed by: a staging read

    def _sighted(self, name: str, place: str, at: int) -> None:
        tag = self.tags.setdefault(name, Tag())
        if tag.place == place:
            tag.misses, tag.missing_since = 0, None
            tag.coming = None
            return
        if tag.coming != place:
            self._arrivals += 1
            tag.coming, tag.since, tag.order = place, at, self._arrivals
        tag.coming_misses = 0

    def tick(self, at: int) -> list[tuple[str, str | None, str | None]]:
        """Let time pass. Returns the moves that are now sure, in order of first sight: (tag, from, to)."""
        moves: list[tuple[int, str, str | None, str | None]] = []
        for name, tag in self.tags.items():
            if tag.coming is not None:
                if at - tag.since >= self.debounce_ns:
                    moves.append((tag.order, name, tag.place, tag.coming))
                    tag.place, tag.coming = tag.coming, None
                    tag.misses, tag.missing_since = 0, None
            elif self._gone(name, tag, at):
                self._arrivals += 1
                moves.append((self._arrivals, name, tag.place, None))
                tag.place, tag.misses, tag.missing_since = None, 0, None
        return [(name, before, after) for _, name, before, after in sorted(moves, key=lambda move: move[0])]

    def _gone(self, name: str, tag: Tag, at: int) -> bool:
        if tag.place is None or tag.missing_since is None or tag.misses < STRIKES:
            return False
        return at - tag.missing_since >= self.absent_ns(name, tag.place)

    def deadline(self) -> int | None:
        """When ``tick`` is next due."""
        times = []
        for name, tag in self.tags.items():
            if tag.coming is not None:
                times.append(tag.since + self.debounce_ns)
            elif tag.place is not None and tag.missing_since is not None and tag.misses >= STRIKES:
                times.append(tag.missing_since + self.absent_ns(name, tag.place))
        return min(times, default=None)

    def at(self, place: str) -> frozenset[str]:
        """The tags that rest at a place."""
        return frozenset(name for name, tag in self.tags.items() if tag.place == place)

    def unsettled(self, place: str) -> bool:
        """Whether something is just arriving at a place."""
        return any(tag.coming == place for tag in self.tags.values())

    def doubted(self, place: str) -> frozenset[str]:
        """Tags that rest at a place and have not been read there for a while: they may be on their way."""
        return frozenset(name for name, tag in self.tags.items() if tag.place == place and tag.misses >= STRIKES)

    def places(self) -> Mapping[str, int]:
        """How many tags rest at each place."""
        counts: dict[str, int] = {}
        for tag in self.tags.values():
            if tag.place is not None:
                counts[tag.place] = counts.get(tag.place, 0) + 1
        return counts

    def forget(self, places: Iterable[str]) -> None:
        """A reader is gone or reset: what it watches is unknown; nothing is absent and nothing moves until it reads."""
        gone = set(places)
        self.seen_places -= gone
        for tag in self.tags.values():
            if tag.coming in gone:
                tag.coming = None
            if tag.place in gone:
                tag.misses, tag.missing_since = 0, None
