"""Where each known tag lies: one tag, one place. A tag is believed where it rests, and noise is not absence."""

from collections.abc import Callable, Collection, Iterable, Mapping
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


@dataclass(frozen=True, slots=True)
class Move:
    """A tag has come to rest elsewhere. ``since`` is when it was first seen there, or first missed where it lay."""

    tag: str = field(repr=False)
    before: str | None
    after: str | None
    since: int


@dataclass(slots=True)
class Whereabouts:
    """All tags of the table.

    ``debounce_ns``: how long a tag must be seen at a new place. ``absent_ns(tag, place)``: how long it must be missed
    where it rests before it counts as lifted; a tag that shows up elsewhere moves without that wait. Only tags that
    ``known`` accepts are followed: what belongs to nobody at this table is counted by the caller.
    """

    debounce_ns: int
    absent_ns: Callable[[str, str], int]
    tags: dict[str, Tag] = field(default_factory=dict, repr=False)
    seen_places: set[str] = field(default_factory=set)
    _resting: dict[str, set[str]] = field(default_factory=dict)
    _coming: dict[str, set[str]] = field(default_factory=dict)
    _missed: set[str] = field(default_factory=set)
    """Tags that rest somewhere and were not in the last inventory of that place."""
    _arrivals: int = 0

    def inventory(self, place: str, seen: Iterable[str], at: int, *, complete: bool) -> None:
        """One inventory of one place. An incomplete one shows arrivals and proves no absence."""
        present = set(seen)
        resting = self._resting.setdefault(place, set())
        coming = self._coming.setdefault(place, set())
        if self._missed:
            for name in self._missed & resting & present:
                self._found(name)
        for name in sorted(present - resting, key=self._came_from):
            self._sighted(name, place, at)
        for name in [name for name in present & resting if self.tags[name].coming is not None]:
            self._give_up(name)  # seen elsewhere for a moment, and it lies where it lay
        if not complete:
            return
        self.seen_places.add(place)
        for name in resting - present:
            tag = self.tags[name]
            tag.misses += 1
            if tag.missing_since is None:
                tag.missing_since = at
                self._missed.add(name)
        for name in [name for name in coming if name not in present]:
            tag = self.tags[name]
            tag.coming_misses += 1
            if tag.coming_misses >= STRIKES:
                self._give_up(name)  # it only passed by: a staging read

    def _came_from(self, name: str) -> tuple[str, int, str]:
        """The order of what one inventory shows at once: by where it lay, and since when. A tag's own name comes last.

        Else whoever knows a deck's tags could read off the order in which seats fold whose card is which.
        """
        tag = self.tags.get(name)
        return ("", 0, name) if tag is None else (tag.place or "", tag.order, name)

    def _found(self, name: str) -> None:
        tag = self.tags[name]
        tag.misses, tag.missing_since = 0, None
        self._missed.discard(name)

    def _give_up(self, name: str) -> None:
        tag = self.tags[name]
        if tag.coming is not None:
            self._coming[tag.coming].discard(name)
            tag.coming = None

    def _sighted(self, name: str, place: str, at: int) -> None:
        tag = self.tags.setdefault(name, Tag())
        if tag.coming != place:
            self._give_up(name)
            self._arrivals += 1
            tag.coming, tag.since, tag.order = place, at, self._arrivals
            self._coming[place].add(name)
        tag.coming_misses = 0

    def _rest(self, name: str, place: str | None) -> None:
        tag = self.tags[name]
        self._give_up(name)
        self._found(name)
        if tag.place is not None:
            self._resting[tag.place].discard(name)
        if place is not None:
            self._resting.setdefault(place, set()).add(name)
        tag.place = place

    def tick(self, at: int) -> list[Move]:
        """Let time pass. Returns the moves that are now sure, in order of first sight."""
        moves: list[tuple[int, Move]] = []
        for names in self._coming.values():
            for name in names:
                tag = self.tags[name]
                assert tag.coming is not None
                if at - tag.since >= self.debounce_ns:
                    moves.append((tag.order, Move(name, tag.place, tag.coming, tag.since)))
        for name in sorted(self._missed, key=self._came_from):
            tag = self.tags[name]
            if tag.coming is None and self._gone(name, tag, at):
                self._arrivals += 1
                moves.append((self._arrivals, Move(name, tag.place, None, tag.missing_since or at)))
        moves.sort(key=lambda move: move[0])
        for _, move in moves:
            self._rest(move.tag, move.after)
        return [move for _, move in moves]

    def _gone(self, name: str, tag: Tag, at: int) -> bool:
        if tag.place is None or tag.missing_since is None or tag.misses < STRIKES:
            return False
        return at - tag.missing_since >= self.absent_ns(name, tag.place)

    def deadline(self) -> int | None:
        """When ``tick`` is next due."""
        times = [self.tags[name].since + self.debounce_ns for names in self._coming.values() for name in names]
        for name in self._missed:
            tag = self.tags[name]
            if tag.coming is None and tag.place is not None and tag.missing_since is not None and tag.misses >= STRIKES:
                times.append(tag.missing_since + self.absent_ns(name, tag.place))
        return min(times, default=None)

    def prune(self, prefix: str) -> None:
        """Forget what lies nowhere, of all names that begin like this."""
        for name in [name for name, tag in self.tags.items() if name.startswith(prefix)]:
            if self.tags[name].place is None and self.tags[name].coming is None:
                del self.tags[name]

    def at(self, place: str) -> frozenset[str]:
        """The tags that rest at a place."""
        return frozenset(self._resting.get(place, ()))

    def sees(self, name: str, place: str | None) -> bool:
        """Whether a tag rests at a place, or is just arriving there; with no place: anywhere."""
        tag = self.tags.get(name)
        where = () if tag is None else [at for at in (tag.place, tag.coming) if at is not None]
        return place in where if place is not None else bool(where)

    def holds(self, place: str) -> bool:
        """Whether anything rests at a place."""
        return bool(self._resting.get(place))

    def unsettled(self, place: str) -> bool:
        """Whether something is just arriving at a place."""
        return bool(self._coming.get(place))

    def arriving_since(self, place: str) -> int | None:
        """When the first of the tags that are just arriving at a place was seen there."""
        return min((self.tags[name].since for name in self._coming.get(place, ())), default=None)

    def eldest_arrival(self, places: Collection[str]) -> int | None:
        """The same of several places."""
        times = [self.tags[name].since for place in places for name in self._coming.get(place, ())]
        return min(times, default=None)

    def doubted(self, place: str) -> frozenset[str]:
        """Tags that rest at a place and have not been read there for a while: they may be on their way."""
        lying = self._resting.get(place, set())
        return frozenset(name for name in self._missed & lying if self.tags[name].misses >= STRIKES)

    def leaves(self, place: str) -> bool:
        """Whether a tag that rests at a place was not read there last, or is just arriving elsewhere."""
        lying = self._resting.get(place, ())
        return any(name in self._missed or self.tags[name].coming is not None for name in lying)

    def places(self) -> Mapping[str, int]:
        """How many tags rest at each place."""
        return {place: len(names) for place, names in self._resting.items() if names}

    def forget(self, places: Iterable[str]) -> None:
        """A reader is gone or reset: what it watches is unknown; nothing is absent and nothing moves until it reads."""
        gone = set(places)
        self.seen_places -= gone
        for place in gone:
            for name in list(self._coming.get(place, ())):
                self._give_up(name)
            for name in self._resting.get(place, ()):
                self._found(name)
