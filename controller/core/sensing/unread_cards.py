"""Closed cards that nobody reads: antennas tell that one lies there, and that it is the same one as before.

The driver puts a name in place of each tag (``drivers.veil``), so a card can be followed from the shoe to the muck and
nobody here could say which one it is. Faces come with the places where cards lie open: the board, and a seat once its
hand is shown. The names last as long as the hand; what came before a restart is known by how many cards lie there.
"""

from collections.abc import Mapping

from controller.core.facts import Evidence, Fact, Shown
from controller.core.sensing.cards import Folds, came
from controller.core.sensing.whereabouts import MS, Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import Hand, State
from drivers.readings import UNREAD


class UnreadCards:
    """See ``cards.Cards``."""

    def __init__(self, setup: Setup, where: Whereabouts, newest: Mapping[str, Evidence]) -> None:
        self._setup = setup
        self._where = where
        self._newest = newest
        self._folds = Folds(setup, where, newest)
        self._hand: str | None = None
        self._came: dict[str, str] = {}
        """The names of this hand's cards, and the place to which each was dealt."""
        self._strangers: set[str] = set()
        """Names in the muck that are nobody's: their cards came before a restart, or have lain open."""

    def follow(self, state: State) -> None:
        """A hand that is over takes its names with it."""
        now = state.hand.id if state.hand is not None else None
        if self._hand is not None and now != self._hand:
            self._came.clear()
            self._strangers.clear()
            self._where.prune(UNREAD)
        self._hand = now

    def moved(self, move: Move, at: int, state: State) -> Fact | None:
        """See ``Cards``. A card with a face lies open: only on the board is it news."""
        hand, after = state.hand, move.after
        if not move.tag.startswith(UNREAD):
            card = self._setup.deck.tags[move.tag]
            known = hand is not None and any(slot.card == card and not slot.gone for slot in hand.slots)
            return came(after, card, self._newest) if after == "board" and not known else None
        dealt_to = self._came.get(move.tag)
        if dealt_to is not None:
            return self._again(hand, dealt_to, move, at)
        if after == "muck":
            return self._mucked(hand, move, at) if hand is not None else None
        if after is None or not (after == "burn" or after.startswith("seat:")):
            return None
        known_here = sum(place == after for place in self._came.values())
        self._came[move.tag] = after
        return None if hand is not None and known_here < _dealt(hand, after) else came(after, None, self._newest)

    def untold(self, tag: str) -> None:
        """See ``Cards``."""
        self._came.pop(tag, None)

    def own(self, hand: Hand, seat: int) -> frozenset[str]:
        """See ``Cards``."""
        names = [name for name, place in self._came.items() if place == f"seat:{seat}"]
        dealt = len(hand.own(seat))  # what came after those was one too many
        return frozenset(names[:dealt]) if len(names) >= dealt else frozenset()

    def owner(self, hand: Hand, tag: str) -> int | None:
        """See ``Cards``."""
        place = self._came.get(tag, "")
        return int(place[5:]) if place.startswith("seat:") and tag in self.own(hand, int(place[5:])) else None

    def _again(self, hand: Hand | None, dealt_to: str, move: Move, at: int) -> Fact | None:
        if hand is None or not dealt_to.startswith("seat:"):
            return None
        tags = {name for name, place in self._came.items() if place == dealt_to}
        return self._folds.fold(hand, int(dealt_to[5:]), tags, move, at)

    def _mucked(self, hand: Hand, move: Move, at: int) -> Fact | None:
        """A card in the muck whose way nobody has seen: one of those that have been folded, or of a fold meanwhile."""
        self._strangers.add(move.tag)
        unseen = {seat: _dealt(hand, f"seat:{seat}") - self._known(seat) for seat in hand.order}
        folded = sum(count for seat, count in unseen.items() if seat not in hand.live)
        if hand.phase not in ("bet", "board") or len(self._strangers) <= folded:
            return None
        away = [seat for seat in hand.live if unseen[seat] and not self._where.holds(f"seat:{seat}")]
        return self._folds.tell(away[0], move, at) if len(away) == 1 and away[0] not in hand.shown else None

    def _known(self, seat: int) -> int:
        return sum(place == f"seat:{seat}" for place in self._came.values())


def _dealt(hand: Hand, place: str) -> int:
    """How many cards of the hand were dealt to a place."""
    if place.startswith("seat:"):
        return len(hand.own(int(place[5:])))
    return sum(slot.place == place and not slot.gone for slot in hand.slots)


class Turning:
    """Hands that lie face up and whose faces have still to be read: their seats may be read, and no other one."""

    def __init__(self, setup: Setup, where: Whereabouts) -> None:
        self._setup = setup
        self._where = where
        self._patience = setup.timing.turned_ms * MS
        self._since: dict[int, int] = {}
        self._told: dict[int, tuple[str, ...]] = {}
        self._open: set[int] = set()

    def read(self, at: int, hand: Hand | None, newest: Mapping[str, Evidence]) -> list[Fact]:
        """The hands that have been read, and those that have not been for too long: somebody has to name them."""
        facts: list[Fact] = []
        waiting = [] if hand is None else [s for s in hand.turned if None in [slot.card for slot in hand.own(s)]]
        self._since = {seat: self._since.get(seat, at) for seat in waiting}
        self._told = {seat: faces for seat, faces in self._told.items() if seat in waiting}
        for seat in waiting:
            assert hand is not None
            faces = self._faces(seat)
            late = at - self._since[seat] >= self._patience and seat not in self._told
            if (late or len(faces) >= len(hand.own(seat))) and self._told.get(seat) != faces:
                self._told[seat] = faces
                source = newest.get(f"seat:{seat}")
                facts.append(Shown(seat, faces, "sensor", () if source is None else (source,)))
        self._open |= set(hand.turned if hand is not None else ())
        self._open = {s for s in self._open if (hand is not None and s in hand.turned) or self._faces(s)}
        return facts

    def _faces(self, seat: int) -> tuple[str, ...]:
        deck = self._setup.deck.tags
        return tuple(sorted(deck[tag] for tag in self._where.at(f"seat:{seat}") if tag in deck))

    def deadline(self) -> int | None:
        """When ``read`` is next due, in monotonic ns."""
        return min((at + self._patience for seat, at in self._since.items() if seat not in self._told), default=None)

    def places(self, hand: Hand | None) -> frozenset[str]:
        """The seats where cards lie face up; after a hand until its cards are gone."""
        return frozenset(f"seat:{seat}" for seat in self._open | set(hand.turned if hand is not None else ()))
