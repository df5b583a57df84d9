"""What cameras sight now: which cards lie where, and which way up. Sightings in, a scene out."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controller.core.facts import Evidence, Sources
from controller.core.setup import Setup
from drivers.readings import CardSighted

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Sight:
    """One card in one region. ``card`` is its face where that is up and the camera is sure of it.

    ``since`` is when it began to look like this, in monotonic ns; ``guess`` a face that the camera is not sure of.
    """

    place: str
    up: bool
    card: str | None = field(repr=False)
    guess: str | None = field(repr=False)
    since: int
    source: Evidence

    def same(self, other: "Sight") -> bool:
        """Whether it only was told again."""
        return (self.place, self.up, self.card) == (other.place, other.up, other.card)


class Sights:
    """The scene of all cameras of a table. Not restored after a crash: a camera tells all of it when it is opened."""

    def __init__(self, setup: Setup) -> None:
        self._rest = setup.timing.debounce_ms * MS
        self._sure = setup.timing.min_confidence
        cameras = [device for device in setup.devices if device.kind == "camera"]
        self._watched = {(d.name, channel): place for d in cameras for channel, place in d.places.items()}
        self._scene: dict[tuple[str, int], Sight] = {}

    def feed(self, reading: CardSighted, at: int) -> Sight | None:
        """One more sighting. Returns what is new in it: a card that came, or that looks otherwise than before."""
        place = self._watched.get((reading.device, reading.channel))
        key = (reading.device, reading.object)
        if place is None or not reading.present:
            self._scene.pop(key, None)
            return None
        up = reading.face == "up"
        card = reading.card if up and reading.confidence >= self._sure else None
        source = Evidence(reading.device, reading.sequence)
        seen = Sight(place, up, card, reading.card if up else None, at, source)
        before = self._scene.get(key)
        if before is not None and before.same(seen):
            return None
        self._scene[key] = seen
        return seen

    def forget(self, device: str) -> None:
        """The camera is gone or has restarted: it will tell what lies there."""
        self._scene = {key: seen for key, seen in self._scene.items() if key[0] != device}

    def faces(self, place: str, at: int, *, for_ns: int = 0) -> list[Sight]:
        """The faces that have lain up at a place for the debounce time, or for longer; the first to come first."""
        rest = max(self._rest, for_ns)
        lying = [seen for seen in self._scene.values() if seen.place == place and seen.up and at - seen.since >= rest]
        return sorted(lying, key=lambda seen: seen.since)

    def named(self, place: str, at: int) -> tuple[str, ...]:
        """The cards that cameras are sure of at a place, in the order in which they were turned up."""
        return tuple(dict.fromkeys(seen.card for seen in self.faces(place, at) if seen.card is not None))

    def sources(self, place: str, cards: Iterable[str]) -> Sources:
        """What names these cards at that place, as evidence: one reading a camera, the newest."""
        wanted = set(cards)
        newest: dict[str, Evidence] = {}
        for seen in self._scene.values():
            if seen.place == place and seen.card in wanted:
                old = newest.get(seen.source.device, seen.source)
                newest[seen.source.device] = max(seen.source, old, key=lambda source: source.reading)
        return tuple(newest[device] for device in sorted(newest))

    def lying(self, place: str) -> bool:
        """Whether any card is sighted at a place, whichever way up."""
        return any(seen.place == place for seen in self._scene.values())

    def younger(self, device: str, at: int, than: int) -> int | None:
        """The number of a camera's first sighting of a face that has not lain up for so long (ns)."""
        young = [seen for (camera, _), seen in self._scene.items() if camera == device and at - seen.since < than]
        return min((seen.source.reading for seen in young if seen.up), default=None)

    def due(self, at: int, waits: Iterable[int]) -> int | None:
        """When a face that lies up now will next have lain for the debounce time, or for one of these times (ns)."""
        times = (self._rest, *waits)
        coming = [seen.since + wait for seen in self._scene.values() if seen.up for wait in times]
        return min((time for time in coming if time > at), default=None)
