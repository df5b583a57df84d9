"""Chips that are no matter of the game: of no registry, on the house's list, or lying where nobody sits.

It looks at inventories beside the sensing of the game and decides nothing. Only places of chips are watched: a tag of
no registry elsewhere may be a card's, and card tags never leave the process.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from controller.core.facts import Evidence
from controller.core.sensing.whereabouts import MS
from controller.core.setup import Setup
from controller.core.state import State
from drivers.readings import UNREAD, DeviceLost, TagsSeen

OF_CHIPS = ("stack:", "bet:", "tray", "pot", "rake", "tips", "drop")
SPOTS = (":ante", ":blind", ":trips", ":play")
ORPHANED_MS = 60_000
"""How long chips lie at the place of nobody between hands before they are taken for forgotten."""
MOST_WAITING = 5000

Channel = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Odd:
    """Something odd that has stood for long enough."""

    what: Literal["unknown", "listed", "orphan"]
    place: str
    tags: frozenset[str] = field(repr=False)
    source: Evidence


class Oddities:
    """What lies at the places of chips. Not restored after a crash: what was told already, the records know."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._debounce = setup.timing.debounce_ms * MS
        self._places = {key: place for key, place in setup.watched_by_readers.items() if _of_chips(place)}
        self._lying: dict[Channel, frozenset[str]] = {}
        self._waiting: dict[tuple[Channel, str], int] = {}
        """Odd tags and since when they lie there, the eldest first."""
        self._newest: dict[Channel, Evidence] = {}
        self._seats = {key: _seat(place) for key, place in self._places.items() if place.startswith(("bet:", "stack:"))}
        self._ownerless: dict[Channel, int] = {}
        self._told: dict[Channel, frozenset[str]] = {}

    def heard(self, reading: TagsSeen | DeviceLost, at: int) -> None:
        """An inventory of one channel, or the end of a device."""
        if isinstance(reading, DeviceLost):
            for key in [key for key in self._lying if key[0] == reading.device]:
                self._forget(key, self._lying.pop(key))
            return
        key = (reading.device, reading.channel)
        if key not in self._places:
            return
        before = self._lying.get(key, frozenset())
        if reading.tags == before:
            return
        tags = reading.tags if reading.complete else reading.tags | before
        self._lying[key], self._newest[key] = tags, Evidence(reading.device, reading.reading)
        self._forget(key, before - tags)
        for tag in sorted(tags - before):
            if self._is_odd(tag) and len(self._waiting) < MOST_WAITING:
                self._waiting[key, tag] = at

    def tick(self, at: int, state: State) -> list[Odd]:
        """What has stood long enough by now."""
        return self._standing(at) + self._orphans(at, state) if self._waiting else self._orphans(at, state)

    def _standing(self, at: int) -> list[Odd]:
        """Odd tags that have lain in their place long enough."""
        found: dict[tuple[Channel, Literal["unknown", "listed"]], set[str]] = {}
        for (key, tag), since in list(self._waiting.items()):
            if at - since < self._debounce:
                break
            del self._waiting[key, tag]
            found.setdefault((key, "listed" if tag in self._setup.chipset.listed else "unknown"), set()).add(tag)
        return [Odd(what, self._places[key], frozenset(tags), self._newest[key]) for (key, what), tags in found.items()]

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        due = [since + self._debounce for since in list(self._waiting.values())[:1]]
        due += [since + ORPHANED_MS * MS for since in self._ownerless.values()]
        return min(due, default=None)

    def _is_odd(self, tag: str) -> bool:
        chips = self._setup.chipset
        if tag in chips.listed:
            return True
        return tag not in chips.tags and tag not in self._setup.deck.tags and not tag.startswith(UNREAD)

    def _forget(self, key: Channel, tags: Iterable[str]) -> None:
        for tag in tags:
            self._waiting.pop((key, tag), None)

    def _orphans(self, at: int, state: State) -> list[Odd]:
        """Chips before and at seats where nobody sits, between hands; told once as long as they lie as they do."""
        if state.session is None or state.play is not None or not any(map(self._lying.get, self._seats)):
            self._ownerless.clear()
            return []
        odd: list[Odd] = []
        for key, seat in self._seats.items():
            lying = self._lying.get(key)
            if not lying or seat in state.seats:
                self._ownerless.pop(key, None)
                continue
            tags = frozenset(tag for tag in lying if tag in self._setup.chipset.tags)
            if not tags or self._told.get(key) == tags:
                self._ownerless.pop(key, None)
            elif at - self._ownerless.setdefault(key, at) >= ORPHANED_MS * MS:
                del self._ownerless[key]
                self._told[key] = tags
                odd.append(Odd("orphan", self._places[key], tags, self._newest[key]))
        return odd


def _of_chips(place: str) -> bool:
    return place.startswith(OF_CHIPS) or (place.startswith("box:") and place.endswith(SPOTS))


def _seat(place: str) -> int:
    return int(place.partition(":")[2])
