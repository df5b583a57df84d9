"""Whether a seat's cards lie where they were dealt: asked when a hand is shown, and once cards lie at another seat.

A card is there when the last inventory before SHOW has it: readers tell changes, so their silence says that all lies as
before. One that is read late is waited for; what is then still not read there is not tabled. Only to which seat a card
belongs is looked at, never what it is worth.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal

from controller.core.facts import CardsAstray, Evidence, Fact, Shown
from controller.core.rules import showdown
from controller.core.sensing.cards import Cards, is_card
from controller.core.sensing.whereabouts import MS, Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import Hand, State

SEAT = "seat:"
PLAYED = ("bet", "board", "showdown")


class Lying:
    """Not restored after a crash: the dealer is told to press SHOW again, and cards are met where they lie."""

    def __init__(self, setup: Setup, where: Whereabouts, cards: Cards, newest: Mapping[str, Evidence]) -> None:
        self._setup = setup
        self._where = where
        self._cards = cards
        self._newest = newest
        self._patience = max(2 * setup.timing.fuse_ms, setup.timing.card_absent_ms) * MS
        self._shows: list[tuple[int, Shown]] = []
        self._read: dict[tuple[str, str], int] = {}
        """When each tag was last read at a seat, while a SHOW waits."""
        self._last: dict[str, frozenset[str]] = {}
        """The last inventory of each seat."""
        self._astray: dict[str, tuple[int, str]] = {}
        """Cards that rest at another seat than their own: since when, and where."""

    def shown(self, fact: Shown, at: int) -> None:
        """SHOW was pressed."""
        self._shows.append((at, fact))

    def read(self, place: str, tags: Collection[str], at: int, *, complete: bool) -> None:
        """One inventory of one place. One that is not complete proves no absence."""
        if not place.startswith(SEAT):
            return
        if complete:
            self._last[place] = frozenset(tags)
        if self._shows:
            self._read.update(dict.fromkeys(((place, tag) for tag in tags), at))

    def moved(self, move: Move) -> None:
        """A card has come to rest elsewhere."""
        self._astray.pop(move.tag, None)
        if move.after is not None and move.after.startswith(SEAT):
            self._astray[move.tag] = (move.since, move.after)

    def waits_since(self) -> int | None:
        """When SHOW was pressed for the first hand that is still looked at: what comes after is told after it."""
        return self._shows[0][0] if self._shows else None

    def tick(self, at: int, state: State) -> list[tuple[int, Fact]]:
        """What is sure by now, and since when."""
        hand = state.hand
        told: list[tuple[int, Fact]] = []
        asked: list[int] = []
        while self._shows:
            since, fact = self._shows[0]
            seat = fact.seat if hand is None or fact.seat is not None else _next(hand, asked)
            known = fact if seat is None else self._looked(replace(fact, seat=seat), seat, since, at, hand)
            if known is None:
                break
            asked += [] if seat is None else [seat]
            told.append((since, known))
            del self._shows[0]
        if not self._shows:
            self._read.clear()
        return told + [(at, fact) for fact in self._exchanged(at, hand)]

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        return min((since + self._patience for since, _ in [*self._shows[:1], *self._astray.values()]), default=None)

    def _looked(self, fact: Shown, seat: int, since: int, at: int, hand: Hand | None) -> Fact | None:
        """SHOW of a hand that lies there; what is wrong with it; ``None`` while a card may still be read."""
        place = f"{SEAT}{seat}"
        if hand is None or seat not in hand.live or seat in (*hand.shown, *hand.turned) or hand.phase not in PLAYED:
            return fact
        own = self._cards.own(hand, seat)
        if not own or place not in self._where.seen_places:
            return fact  # nobody can say what should lie there, or no antenna sees it: the key decides
        lying = self._last.get(place, frozenset())
        if all(tag in lying or self._read.get((place, tag), -1) >= since for tag in own):
            return fact
        others = {tag for tag in self._where.at(place) - own if is_card(self._setup, tag)}
        if self._setup.unread and not others and not self._where.unsettled(place):
            return fact  # the faces have still to be read: what is missing then is asked for (I-17)
        if at - since < self._patience:
            return None
        owners = {self._cards.owner(hand, tag) for tag in others} - {None, seat}
        at_others = {self._where.tags[tag].place for tag in own if tag in self._where.tags}
        owners |= {int(at[5:]) for at in at_others if at is not None and at.startswith(SEAT) and at != place}
        seats = tuple(sorted(one for one in owners if one is not None))
        what: Literal["missing", "exchanged", "switched"]
        what = "exchanged" if seats else "switched" if others else "missing"
        return CardsAstray(what, seat, seats, (*fact.evidence, *self._cited(place)))

    def _exchanged(self, at: int, hand: Hand | None) -> list[Fact]:
        """Cards that have rested at another seat for long enough."""
        facts: list[Fact] = []
        for tag, (since, place) in list(self._astray.items()):
            if at - since < self._patience:
                continue
            seat = None if hand is None or hand.phase not in PLAYED else self._cards.owner(hand, tag)
            if seat is not None and place != f"{SEAT}{seat}" and tag in self._last.get(f"{SEAT}{seat}", ()):
                self._astray[tag] = (at, place)  # both seats have it: it has not moved, and readers have to agree first
                continue
            del self._astray[tag]
            if hand is None or seat not in hand.live or seat in hand.shown or place == f"{SEAT}{seat}":
                continue
            fact = CardsAstray("exchanged", seat, (int(place[5:]),), self._cited(place))
            facts += [] if fact in facts else [fact]
        return sorted(facts, key=str)

    def _cited(self, place: str) -> tuple[Evidence, ...]:
        source = self._newest.get(place)
        return () if source is None else (source,)


def _next(hand: Hand, asked: Collection[int]) -> int | None:
    """Whose hand is shown where nobody named a seat."""
    if hand.phase not in ("board", "showdown"):
        return None
    return next((seat for seat in showdown.order(hand) if seat not in hand.shown and seat not in asked), None)
