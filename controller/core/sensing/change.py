"""Change made during a hand: chips that replace others of the same value are no stake, whichever half comes first.

What a seat gives to the tray or to another seat, and what it gets from there, is one exchange. As long as it is not
even, the chips before that seat wait, ``change_ms`` at most. What lies there then and was paid for by nobody is no
stake: it is told, and counts once it has been paid for. Where no tray is read, chips of nowhere come from it and chips
that are read nowhere have gone there; then the books say whether a seat still has what it had. Where that or the stack
is not read nobody is made to wait for his turn, and nobody told that change is wrong.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from controller.core.facts import ChangeDiffers, Evidence
from controller.core.sensing.bets import Bets
from controller.core.sensing.counting import value
from controller.core.sensing.whereabouts import MS, Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import Hand, State

TRAY = 0
"""The tray among the seats that chips come from and go to."""
PATIENCE = 3
"""An exchange waits so many times ``change_ms`` in all while chips of it may still be read somewhere."""


@dataclass(slots=True)
class Exchange:
    """What one seat gave and got, in minor units; times in ns."""

    since: int
    last: int
    street: str
    gave: int = 0
    got: int = 0
    on_spot: bool = False
    """Whether chips came to the bet spot, or left it."""
    replaced: bool = False
    """Whether chips left the bet spot."""
    carried: bool = False
    """Whether one of them was no stake of this round."""
    others: set[int] = field(default_factory=set)
    """Other seats that chips came from."""
    sold: set[str] = field(default_factory=set, repr=False)
    """The chips that went from the stack to the tray."""
    came: set[str] = field(default_factory=set, repr=False)
    """The chips that came to the bet spot from elsewhere."""
    told: int | None = None
    """By how much it did not come out even when that was told last."""

    @property
    def over(self) -> int:
        """What the seat has more than before; below 0, less."""
        return self.got - self.gave


class Changing:
    """All exchanges of one table. Not restored after a crash: the books say then whether a seat has what it had."""

    def __init__(self, setup: Setup, where: Whereabouts, bets: Bets, newest: Mapping[str, Evidence]) -> None:
        self._setup = setup
        self._where = where
        self._bets = bets
        self._newest = newest
        self._wait = setup.timing.change_ms * MS
        self._hand: str | None = None
        self._met: set[str] = set()
        self._left: dict[str, str] = {}
        """Chips that are read nowhere, and where they were read last."""
        self._strangers: set[str] = set()
        """Chips that came to the tray in this hand, and nobody knows from where."""
        self._to_pot = 0
        """What the pot got from the tray, and not back, in this hand."""
        self._open: dict[int, Exchange] = {}

    # --- what moves ------------------------------------------------------------------------------------------

    def moved(self, move: Move, at: int, state: State) -> None:
        """A chip has come to rest elsewhere, or is read nowhere any more."""
        hand, tag = state.hand, move.tag
        before = move.before or self._left.pop(tag, None)
        first = tag not in self._met
        self._met.add(tag)
        if move.after is None:
            if before is not None:
                self._left[tag] = before
            return
        if hand is None or hand.phase == "award":
            return
        if before is None and move.after == "tray":
            self._strangers.add(tag)
        if before is None and first and not self._reads_tray:
            before = "tray"
        giver, taker = _whose(before), _whose(move.after)
        if TRAY in (giver, taker) and "pot" in (before, move.after):
            self._to_pot += self._worth([tag]) if giver == TRAY else -self._worth([tag])
        elif giver is not None and taker is not None and giver != taker:
            if TRAY in (giver, taker) or hand.phase in ("deal", "bet"):
                self._flows(replace(move, before=before), giver, taker, at, hand)
        elif giver is not None and taker is None and giver in self._open and tag in self._open[giver].came:
            self._open[giver].came.discard(tag)  # swept on, into the pot
            self._open[giver].got -= self._worth([tag])

    def _flows(self, move: Move, giver: int, taker: int, at: int, hand: Hand) -> None:
        tag, worth = move.tag, self._worth([move.tag])
        for seat, place in ((giver, move.before or ""), (taker, move.after or "")):
            if seat == TRAY or seat not in hand.order:
                continue
            one = self._open.setdefault(seat, Exchange(move.since, at, hand.street))
            if one.told == one.over:  # what was told is done with: this is another exchange
                one.since, one.street = move.since, hand.street
                one.on_spot = one.replaced = one.carried = False
            one.last = at
            spot = place.startswith("bet:")
            one.on_spot = one.on_spot or spot
            if seat == taker:
                one.got += worth
                one.others |= {giver} - {TRAY}
                one.came |= {tag} if spot else set()
                continue
            one.gave += worth
            one.sold |= {tag} if taker == TRAY and not spot else set()
            one.replaced = one.replaced or spot
            one.carried = one.carried or (spot and tag not in one.came and self._bets.is_aside(seat, tag))
            one.came.discard(tag)

    # --- time ------------------------------------------------------------------------------------------------

    def tick(self, at: int, state: State) -> list[ChangeDiffers]:
        """Exchanges that are even are over; those that have not become so in time are told."""
        hand, told = state.hand, list[ChangeDiffers]()
        if hand is not None and hand.id == self._hand and not self._open:
            return told
        if hand is None or hand.phase == "award" or hand.id != self._hand:
            self._hand = None if hand is None else hand.id
            self._open.clear()
            self._strangers.clear()
            self._to_pot = 0
        if hand is None:
            return told
        for seat, one in list(self._open.items()):
            if self._is_even(seat, one, hand):
                self._over(seat, one, at, hand)
            elif one.told != one.over and at >= self._until(seat, one):
                told += self._lapsed(seat, one, hand)
        return told

    def waiting(self, seats: Iterable[int], at: int, hand: Hand | None) -> dict[int, int]:
        """Of these seats, those whose chips wait for the other half of an exchange, and until when."""
        found: dict[int, int] = {}
        for seat in seats if self._open else ():
            one = self._open.get(seat)
            if one is None or not one.on_spot or one.told == one.over or hand is None:
                continue
            if self._knows(seat) or one.others or seat != hand.to_act:
                found[seat] = self._until(seat, one)
        return {seat: until for seat, until in found.items() if at < until}

    def begun(self, at: int, hand: Hand | None) -> int | None:
        """Since when the seat to act makes change; ``None``: it does not, or has taken too long."""
        if not self._open:
            return None
        seat = hand.to_act if hand is not None and hand.phase == "bet" else None
        one = self._open.get(seat) if seat is not None else None
        if seat is None or one is None or one.told == one.over or at >= self._until(seat, one):
            return None
        return one.since if self._knows(seat) and (one.on_spot or one.over < 0) else None

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        due = [self._until(seat, one) for seat, one in self._open.items() if one.told != one.over]
        return min(due, default=None)

    def _until(self, seat: int, one: Exchange) -> int:
        most = one.since + PATIENCE * self._wait
        return most if self._may_be_even(seat, one) else min(most, one.last + self._wait)

    # --- whether it is even ----------------------------------------------------------------------------------

    @property
    def _reads_tray(self) -> bool:
        return "tray" in self._where.seen_places

    def _knows(self, seat: int) -> bool:
        """Whether all is read that a seat can change: change that comes to a stack of no antenna is a stake next."""
        return self._reads_tray and f"stack:{seat}" in self._where.seen_places

    def _worth(self, tags: Iterable[str]) -> int:
        return value(self._setup.chipset, list(tags))

    def _is_even(self, seat: int, one: Exchange, hand: Hand) -> bool:
        """The seat has what it had: by what moved, or by the books."""
        if one.over == 0 or (self._to_pot and one.over == -self._to_pot):
            return True
        spot, stack = f"bet:{seat}", f"stack:{seat}"
        lying = (self._bets.stake_lying(seat) | (self._where.at(spot) & one.came)) - self._gone(spot)
        booked, behind = hand.bet.get(seat, 0), hand.stack.get(seat)
        if behind is None or stack not in self._where.seen_places:
            return self._worth(lying) == booked
        return self._worth(lying | (self._where.at(stack) - self._gone(stack))) == booked + behind

    def _gone(self, place: str) -> frozenset[str]:
        """What is on its way to a tray that nobody reads."""
        return frozenset() if self._reads_tray else self._where.doubted(place)

    def _may_be_even(self, seat: int, one: Exchange) -> bool:
        """Whether what is missing may lie somewhere unread: noise is not absence, and nobody is accused of it."""
        if one.over < 0:
            return self._worth(self._where.doubted("tray") | self._lost({"tray"})) >= -one.over
        own = {f"bet:{seat}", f"stack:{seat}"}
        unread = {tag for place in own for tag in self._where.doubted(place)} | self._lost(own) | self._strangers
        return self._worth(unread) >= one.over > 0

    def _lost(self, places: set[str]) -> set[str]:
        return {tag for tag, place in self._left.items() if place in places}

    def _over(self, seat: int, one: Exchange, at: int, hand: Hand) -> None:
        """It is even. Chips in place of an earlier round's are no stake of this one; all others count."""
        del self._open[seat]
        if one.over == -self._to_pot:
            self._to_pot = 0
        self._strangers.clear()
        self._bets.began_by(seat, one.since)
        if not self._replaces_earlier(seat, one, hand) and one.told is not None:
            self._bets.count_again(seat, self._where.at(f"bet:{seat}") & one.came, at)
        self._bets.set_aside(seat, self._gone(f"bet:{seat}"))

    def _replaces_earlier(self, seat: int, one: Exchange, hand: Hand) -> bool:
        """Whether the chips that came lie in place of an earlier round's: then they are no stake of this one."""
        earlier = one.replaced and (one.carried or hand.phase == "board" or hand.street != one.street)
        if earlier:
            self._bets.set_aside(seat, self._where.at(f"bet:{seat}") & one.came)
        return earlier

    def _lapsed(self, seat: int, one: Exchange, hand: Hand) -> list[ChangeDiffers]:
        """It has not come out even in time. What nobody paid for is no stake; what is missing the stake tells."""
        one.told = one.over
        self._replaces_earlier(seat, one, hand)
        if not self._knows(seat) and not one.others:
            return []  # nobody knows whose these chips were: they are what they seem to be
        spot, unpaid = f"bet:{seat}", set[str]()
        left = min(one.over, self._worth(self._bets.stake_lying(seat)) - hand.bet.get(seat, 0))
        for tag in sorted(self._where.at(spot) & one.came, key=lambda tag: (-self._worth([tag]), tag)):
            if self._worth([tag]) <= left:
                left -= self._worth([tag])
                unpaid.add(tag)
        self._bets.set_aside(seat, unpaid)
        short = self._worth(self._bets.stake_lying(seat)) < hand.bet.get(seat, 0) and hand.phase == "bet"
        sold = one.sold & self._where.at("tray") - self._where.doubted("tray")
        matters = unpaid or (one.gave and (one.on_spot or ((one.got or sold) and not one.others)))
        if short or not matters or self._may_be_even(seat, one):
            return []
        sources = tuple(self._newest[place] for place in (spot, "tray") if place in self._newest)
        return [ChangeDiffers(seat, one.gave, one.got, tuple(sorted(one.others)), evidence=sources)]


def _whose(place: str | None) -> int | None:
    """The seat that chips at a place belong to, or the tray; ``None`` for the pot and all else."""
    if place is None or place == "tray":
        return None if place is None else TRAY
    kind, _, seat = place.partition(":")
    return int(seat) if kind in ("bet", "stack") else None
