"""What cards say by where they come to rest: dealt to a seat, burned, laid on the board, folded into the muck."""

from collections.abc import Mapping
from typing import Protocol

from controller.core.facts import CardCame, Declared, Evidence, Fact
from controller.core.sensing.whereabouts import MS, Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import Hand, Slot, State
from drivers.readings import UNREAD

CARD_PLACES = ("seat:", "board", "burn", "muck")


class Cards(Protocol):
    """How a table with antennas follows its cards. ``newest`` is the last reading of each place."""

    def follow(self, state: State) -> None:
        """Time passes; the hand may be another one."""

    def moved(self, move: Move, at: int, state: State) -> Fact | None:
        """A card came to rest elsewhere: what that says, or nothing where it belongs to no place of the deal."""

    def untold(self, tag: str) -> None:
        """That this card came somewhere was told to nobody, and it has moved on: it is a card that never came."""

    def own(self, hand: Hand, seat: int) -> frozenset[str]:
        """The tags, or what stands for them, of all cards that were dealt to a seat; empty where one is not known."""

    def owner(self, hand: Hand, tag: str) -> int | None:
        """To which seat this card was dealt."""


def is_card(setup: Setup, tag: str) -> bool:
    """Whether a tag is that of a card of the deck in play, or stands for one."""
    return tag in setup.deck.tags or tag.startswith(UNREAD)


class Folds:
    """Once all cards of a seat have left it for the muck, that is a fold, told once.

    A card deep in the muck may never be read there: it is enough that one lies there and none at the seat.
    """

    def __init__(self, setup: Setup, where: Whereabouts, newest: Mapping[str, Evidence]) -> None:
        self._where = where
        self._newest = newest
        self._fuse = setup.timing.fuse_ms * MS
        self._told: dict[int, int] = {}

    def fold(self, hand: Hand, seat: int, tags: set[str], move: Move, at: int) -> Fact | None:
        """A card of ``seat`` has moved; ``tags`` are all that it has."""
        if seat not in hand.live or seat in hand.shown or hand.phase == "award":
            return None
        if tags & self._where.at(f"seat:{seat}") or not tags & self._where.at("muck"):
            return None
        return self.tell(seat, move, at)

    def tell(self, seat: int, move: Move, at: int) -> Fact | None:
        """The fold, unless it has just been told."""
        if at - self._told.get(seat, -self._fuse) < self._fuse:
            return None
        self._told[seat] = at
        return Declared("fold", seat, basis="sensor", evidence=(self._newest[move.after or "muck"],))


class ReadCards:
    """Every card is known by its tag from the moment it comes to rest."""

    def __init__(self, setup: Setup, where: Whereabouts, newest: Mapping[str, Evidence]) -> None:
        self._setup = setup
        self._newest = newest
        self._folds = Folds(setup, where, newest)
        self._tags = {card: tag for tag, card in setup.deck.tags.items()}
        self._met: set[str] = set()

    def follow(self, state: State) -> None:
        """Tags stay what they are."""

    def moved(self, move: Move, at: int, state: State) -> Fact | None:
        """See ``Cards``."""
        card, hand, after = self._setup.deck.tags[move.tag], state.hand, move.after
        first = move.tag not in self._met
        self._met.add(move.tag)
        if first and hand is not None and any(_lies(slot, card, after) for slot in hand.slots):
            return None  # it was taken out of play, still lies there, and is met for the first time since the start
        if hand is not None and any(slot.card == card and not slot.gone for slot in hand.slots):
            return self._again(hand, move, at)
        return came(after, card, self._newest)

    def untold(self, tag: str) -> None:
        """See ``Cards``: what is on record is known, and nothing else."""

    def own(self, hand: Hand, seat: int) -> frozenset[str]:
        """See ``Cards``."""
        tags = [self._tags.get(slot.card) for slot in hand.own(seat) if slot.card is not None]
        known = frozenset(tag for tag in tags if tag is not None)
        return known if len(known) == len(hand.own(seat)) else frozenset()

    def owner(self, hand: Hand, tag: str) -> int | None:
        """See ``Cards``."""
        card = self._setup.deck.tags.get(tag)
        if card is None:
            return None
        return next((s.seat for s in hand.slots if s.card == card and s.place == "seat" and not s.gone), None)

    def _again(self, hand: Hand, move: Move, at: int) -> Fact | None:
        owner = self.owner(hand, move.tag)
        if owner is None:
            return None
        tags = {self._tags[slot.card] for slot in hand.own(owner) if slot.card in self._tags}
        return self._folds.fold(hand, owner, tags, move, at)


def _lies(slot: Slot, card: str, place: str | None) -> bool:
    where = f"seat:{slot.seat}" if slot.place == "seat" else slot.place
    return slot.gone and slot.card == card and where == place


def came(place: str | None, card: str | None, newest: Mapping[str, Evidence]) -> Fact | None:
    """A card that is new in the hand came to a place; ``None`` where that is no place of the deal."""
    if place is not None and place.startswith("seat:"):
        return CardCame("seat", card, int(place[5:]), evidence=(newest[place],))
    return CardCame(place, card, evidence=(newest[place],)) if place in ("board", "burn") else None
