"""What is gone in mid-hand: cards that are read nowhere or elsewhere, cards out of the muck, chips out of the pot.

Only what was read at its place and has left it can be gone: noise is not absence. While a reader is away nobody can
say, and while a person has to rule things are moved: the time begins anew after that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from controller.core.facts import CardsAstray, CountsDiffer, Evidence, Fact
from controller.core.sensing.cards import CARD_PLACES, Cards, is_card
from controller.core.sensing.counting import value
from controller.core.sensing.whereabouts import MS, Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import Hand, State

PLAYED = ("bet", "board", "showdown")
MIDDLE = ("board", "burn", "muck")
"""Where a card of a hand is away from its seat; which seat's cards lie at another seat is told at once."""
LESS_SURE = 2
"""One card of a hand is missed for so many times as long as all of it: it may lie under the other one."""
AGAIN = 1000 * MS
"""When to look again at what is away and not told yet."""


@dataclass(slots=True)
class Away:
    """A card or chip that is not where it should be, by the place that says so. It is told after ``wait`` ns."""

    place: str
    since: int
    wait: int
    due: int = 0
    """When to look, in monotonic ns."""

    def __post_init__(self) -> None:
        self.due = self.since + self.wait

    def begins(self, at: int) -> None:
        """Its time begins anew."""
        self.since, self.due = at, at + self.wait


class Gone:
    """Not restored after a crash: what is not read again then is found when the hand is shown, or by its chips."""

    def __init__(self, setup: Setup, where: Whereabouts, cards: Cards, newest: Mapping[str, Evidence]) -> None:
        self._setup = setup
        self._where = where
        self._cards = cards
        self._newest = newest
        self._wait = setup.timing.card_away_ms * MS
        self._wait_board = setup.timing.board_away_ms * MS
        self._wait_muck = max(2 * setup.timing.fuse_ms, setup.timing.card_absent_ms) * MS
        self._wait_pot = setup.timing.change_ms * MS
        self._card_places = {p for p in setup.watched_by_readers.values() if p.startswith(CARD_PLACES)}
        self._lifted: dict[str, Away] = {}
        """Cards that do not lie where they belong, and where they lay."""
        self._mucked: set[str] = set()
        self._retrieved: dict[str, Away] = {}
        """Cards that have lain in the muck, and where they lie now."""
        self._taken: dict[str, Away] = {}
        """Chips of the pot that lie on a stack."""

    def moved(self, move: Move) -> None:
        """A card or chip has come to rest elsewhere, or is read nowhere any more."""
        tag, after = move.tag, move.after
        if not is_card(self._setup, tag):
            self._taken.pop(tag, None)
            if move.before == "pot" and after is not None and after.startswith("stack:"):
                self._taken[tag] = Away(after, move.since, self._wait_pot)
            return
        lifted = self._lifted.pop(tag, None)
        self._retrieved.pop(tag, None)
        home, since = (move.before, move.since) if lifted is None else (lifted.place, lifted.since)
        if home == "board" and after != home:
            self._lifted[tag] = Away(home, since, self._wait_board)
        elif home is not None and home.startswith("seat:") and (after is None or after in MIDDLE):
            self._lifted[tag] = Away(home, since, self._wait)
        if after == "muck":
            self._mucked.add(tag)
        elif tag in self._mucked and after is not None and after.startswith(("seat:", "board", "burn")):
            self._retrieved[tag] = Away(after, move.since, self._wait_muck)

    def tick(self, at: int, state: State) -> list[Fact]:
        """What has been away for long enough."""
        if not (self._lifted or self._mucked or self._retrieved or self._taken):
            return []
        hand = state.hand
        if hand is None or hand.phase == "award":
            for held in (self._lifted, self._mucked, self._retrieved, self._taken):
                held.clear()
            return []
        facts: list[Fact] = []
        read = state.held is None and self._card_places <= self._where.seen_places
        if self._is_due(self._lifted, at, read=read):
            facts += [*self._cards_missing(at, hand), *self._board_missing(hand, at)]
        if self._is_due(self._retrieved, at, read=read):
            facts += self._out_of_muck(at, hand)
        if self._is_due(self._taken, at, read=state.held is None and "pot" in self._where.seen_places):
            facts += self._out_of_pot(at, hand)
        return facts

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        all_ = [*self._lifted.values(), *self._retrieved.values(), *self._taken.values()]
        return min((one.due for one in all_), default=None)

    def _is_due(self, away: dict[str, Away], at: int, *, read: bool) -> bool:
        """Whether to look now. ``read``: readers hear all that they watch, and nobody has to rule."""
        due = False
        for one in away.values():
            if not read or one.place not in self._where.seen_places:
                one.begins(at)
            elif at >= one.due:
                one.due, due = at + AGAIN, True
        return due

    # --- cards -----------------------------------------------------------------------------------------------

    def _cards_missing(self, at: int, hand: Hand) -> list[Fact]:
        """Hands that are not on the felt (I-14): those of several seats are one matter."""
        if hand.phase not in PLAYED:
            return []
        away: dict[int, int] = {}
        places = {"board", *(f"seat:{seat}" for seat in hand.live)}
        self._lifted = {tag: one for tag, one in self._lifted.items() if one.place in places}
        for seat in hand.live:
            own = self._cards.own(hand, seat)
            lifted = {tag: one for tag in own if (one := self._lifted.get(tag)) and one.place == f"seat:{seat}"}
            if not lifted or seat in (*hand.shown, *hand.turned):
                continue
            whole = len(lifted) == len(own)
            away[seat] = (at - max(one.since for one in lifted.values())) // (1 if whole else LESS_SURE)
        if not away or max(away.values()) < self._wait:
            return []
        seats = sorted((seat for seat, age in away.items() if 2 * age >= self._wait), key=lambda seat: -away[seat])
        for tag in [tag for tag, one in self._lifted.items() if one.place in {f"seat:{seat}" for seat in seats}]:
            del self._lifted[tag]
        return [CardsAstray("missing", seats[0], tuple(seats[1:]), self._cited(f"seat:{seats[0]}"))]

    def _board_missing(self, hand: Hand, at: int) -> list[Fact]:
        """Common cards that somebody has taken away (I-14)."""
        lying = {slot.card for slot in hand.slots if slot.place == "board" and not slot.gone}
        deck = self._setup.deck.tags
        away = [tag for tag, one in self._lifted.items() if one.place == "board" and deck.get(tag) in lying]
        if not any(at - self._lifted[tag].since >= self._wait_board for tag in away):
            return []
        for tag in away:
            del self._lifted[tag]
        return [CardsAstray("off_board", None, (), self._cited("board"))]

    def _out_of_muck(self, at: int, hand: Hand) -> list[Fact]:
        """Cards of a hand that was given up lie before a seat or on the board again (I-14)."""
        facts: list[Fact] = []
        for tag, one in list(self._retrieved.items()):
            if at - one.since < self._wait_muck or hand.phase not in PLAYED:
                continue
            del self._retrieved[tag]
            owner = self._cards.owner(hand, tag)
            if owner is None or owner in hand.live:
                continue
            at_seat = int(one.place[5:]) if one.place.startswith("seat:") else owner
            others = () if at_seat == owner else (at_seat,)
            fact = CardsAstray("out_of_muck", owner, others, self._cited(one.place))
            facts += [] if fact in facts else [fact]
        return sorted(facts, key=str)

    # --- chips -----------------------------------------------------------------------------------------------

    def _out_of_pot(self, at: int, hand: Hand) -> list[Fact]:
        """Chips of the pot on a stack that has more than the books say (I-19). Change for a stake leaves it even."""
        facts: list[Fact] = []
        for place in sorted({one.place for one in self._taken.values() if at - one.since >= self._wait_pot}):
            tags = [tag for tag, one in self._taken.items() if one.place == place]
            for tag in tags:
                del self._taken[tag]
            seat = int(place[6:])
            has, booked = value(self._setup.chipset, self._where.at(place)), hand.stack.get(seat)
            worth = value(self._setup.chipset, tags)
            expected = has - worth if booked is None else booked
            if expected < has:
                facts.append(CountsDiffer("pot", seat, expected, has, evidence=self._cited(place)))
        return facts

    def _cited(self, place: str) -> tuple[Evidence, ...]:
        source = self._newest.get(place)
        return () if source is None else (source,)
