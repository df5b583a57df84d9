"""The shoe table: cards by the shoe, decisions by the keypad, the tray by its reader. Readings in, facts out."""

from controller.core.cards import CARDS
from controller.core.facts import CardCame, CardDoubtful, Evidence, Fact
from controller.core.sensing.counting import tray_count
from controller.core.sensing.keys import MS, Keys
from controller.core.sensing.patience import Patience
from controller.core.sensing.presence import Presence
from controller.core.setup import Setup
from controller.core.state import State
from drivers.readings import CardSeen, DeviceFault, DeviceLost, KeyPressed, KeyReleased, Reading, TagsSeen


class ShoeTable:
    """The sensing of one shoe table. Keys and pending inventories live here and are not restored after a crash."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._keys: dict[str, Keys] = {}
        self._patience = Patience(setup.timing.fuse_ms * MS)
        self._places: dict[tuple[str, str], Presence] = {}
        self._newest: dict[str, Evidence] = {}
        self._watched = setup.watched_by_readers
        self._others: list[Fact] = []
        self.sighted: set[str] = set()

    def feed(self, reading: Reading, at: int, state: State) -> list[Fact]:
        """What one reading means. Of the hand only matters whether it waits for a card."""
        # A shoe's own number of a card outlives both processes; the reading's number begins anew with ours.
        number = reading.sequence if isinstance(reading, CardSeen) else reading.reading
        source = Evidence(reading.device, number)
        match reading:
            case KeyPressed(device=device, key=key):
                return self._patience.entered(self._keypad(device).pressed(key, at, source), at, state)
            case KeyReleased(device=device, key=key):
                self._keypad(device).released(key)
            case CardSeen():
                card = self._card(reading, Evidence(reading.device, reading.sequence))
                return [*self._patience.card(at, late=reading.late), card]
            case TagsSeen():
                self._inventory(reading, source, at)
            case DeviceLost(device=device):
                self._gone(device)
            case DeviceFault(device=device, fault="reset" | "overflow"):
                self._gone(device)
            case _:
                pass
        return []

    def tick(self, at: int, state: State) -> list[Fact]:
        """Let time pass up to ``at`` (monotonic ns)."""
        facts = self._patience.tick(at, state) + self._others
        self._others = []
        for keys in self._keys.values():
            facts += keys.tick(at)
        trays = [(key, place) for key, place in self._places.items() if place.tick(at)]
        for (device, _), place in trays:
            facts.append(tray_count(self._setup.chipset, place.settled or frozenset(), self._newest[device]))
        return facts

    def also(self, since: int, fact: Fact) -> None:
        """See ``witnessed.Primary``. Keys and cards are told at once here, so nothing can have come before it."""
        del since
        self._others.append(fact)

    def has(self, card: str, place: str | None = None) -> bool:
        """See ``witnessed.Primary``: the shoe tells a card when it comes out, and then it is on record."""
        del card, place
        return False

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        times = [k.deadline() for k in self._keys.values()] + [p.deadline() for p in self._places.values()]
        times.append(self._patience.deadline())
        return min((t for t in times if t is not None), default=None)

    def _keypad(self, device: str) -> Keys:
        if device not in self._keys:
            self._keys[device] = Keys(self._setup.chipset.unit, self._setup.seats, self._setup.timing)
        return self._keys[device]

    def _card(self, reading: CardSeen, source: Evidence) -> Fact:
        card = reading.card
        if self._setup.unread:
            return CardCame("next", None, evidence=(source,))
        if reading.tag is not None:
            card = self._setup.deck.tags.get(reading.tag)
            if card is None:
                return CardDoubtful("unknown", None, evidence=(source,))
        if card is None or card not in CARDS or reading.confidence < self._setup.timing.min_confidence:
            return CardDoubtful("low_confidence", card, evidence=(source,))
        return CardCame("next", card, evidence=(source,))

    def _inventory(self, reading: TagsSeen, source: Evidence, at: int) -> None:
        if self._watched.get((reading.device, reading.channel)) != "tray":
            return
        key = (reading.device, reading.channel)
        if key not in self._places:
            self._places[key] = Presence(self._setup.timing.debounce_ms * MS)
        self._newest[reading.device] = source
        self._places[key].seen(reading.tags, reading.complete, at)

    def _gone(self, device: str) -> None:
        if device in self._keys:
            self._keys[device].lost()
        for (name, _), place in self._places.items():
            if name == device:
                place.unknown()
