"""Chips of the pot, or of the rake, before a seat: they are nobody's stake, unless the seat has paid for them.

A stake that was swept too early goes back to where it lay, a bet that was thrown into the pot is set straight, and the
pot makes change: what a seat gave to the pot in this round it may have back. All else is set aside at once, and told
when it lies there for ``change_ms``.
"""

from collections.abc import Iterable, Mapping

from controller.core.facts import ChangeDiffers, Evidence
from controller.core.sensing.bets import Bets
from controller.core.sensing.counting import value
from controller.core.sensing.whereabouts import MS, Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import Hand, State

POTS = ("pot", "rake")
ROUND = ("deal", "bet")


class OutOfPot:
    """Not restored after a crash: chips are met where they lie then, and nobody is accused of them."""

    def __init__(self, setup: Setup, where: Whereabouts, bets: Bets, newest: Mapping[str, Evidence]) -> None:
        self._setup = setup
        self._where = where
        self._bets = bets
        self._newest = newest
        self._wait = setup.timing.change_ms * MS
        self._hand: str | None = None
        self._round = ("", False)
        self._held: set[str] = set()
        """Chips that came to the pot in this hand, or lay in the rake: what an earlier pot left is its winner's."""
        self._gave: dict[int, int] = {}
        """What each seat gave to the pot in this round and has not got back, in minor units."""
        self._on_spots: dict[int, dict[str, int]] = {}
        """Chips of the pot before each seat that nobody has paid for, and since when."""
        self._left: dict[str, str] = {}
        """Those of them that are read nowhere, and where they lay."""
        self._told: set[str] = set()
        self._look = False

    def moved(self, move: Move, state: State) -> None:
        """A chip has come to rest elsewhere, or is read nowhere any more."""
        self._follow(state)
        hand, tag, after = state.hand, move.tag, move.after
        before = move.before or self._left.pop(tag, None)
        if after is None and before is not None and tag in self._held:
            self._left[tag] = before
        if hand is None or hand.phase == "award":
            return
        if after in POTS or move.before == "rake":
            self._held.add(tag)
        if after in POTS:
            self._gives(before, tag, hand)
        if after is None:
            return  # noise is not absence
        for there in self._on_spots.values():
            self._look = there.pop(tag, None) is not None or self._look
        if tag not in self._held:
            return
        if after.startswith("bet:") and (before in POTS or before == after):
            self._on_spots.setdefault(int(after[4:]), {})[tag] = move.since
            self._look = True
        elif after not in POTS:
            self._held.discard(tag)
            self._told.discard(tag)

    def _gives(self, before: str | None, tag: str, hand: Hand) -> None:
        """What a seat gives to the pot in a round. What an earlier round left before it is the pot's already."""
        kind, _, number = (before or "").partition(":")
        if kind not in ("bet", "stack") or hand.phase not in ROUND:
            return
        seat = int(number)
        if kind == "stack" or not (self._bets.is_aside(seat, tag) or tag in self._on_spots.get(seat, ())):
            self._gave[seat] = self._gave.get(seat, 0) + self._worth([tag])
            self._look = True

    def tick(self, at: int, state: State) -> list[ChangeDiffers]:
        """What lies before a seat and was not paid for is no stake; what stays there is told."""
        self._follow(state)
        hand, told = state.hand, list[ChangeDiffers]()
        if hand is None or hand.phase == "award":
            self._clear()
            return told
        if not self._on_spots:
            return told
        if self._look:
            self._look = False
            for seat in self._on_spots:
                self._sort(seat, at, hand)
        for seat, there in self._on_spots.items():
            new = {tag: since for tag, since in there.items() if tag not in self._told}
            if new and at - min(new.values()) >= self._wait:
                self._told |= set(new)
                told += self._unpaid(seat, new, hand)
        return told

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        waiting = [since for there in self._on_spots.values() for tag, since in there.items() if tag not in self._told]
        return min(waiting) + self._wait if waiting else None

    def _follow(self, state: State) -> None:
        name = None if state.hand is None else state.hand.id
        if name != self._hand:
            self._hand = name
            self._clear()
            self._held.clear()
            self._left.clear()
        rounds = ("", False) if state.hand is None else (state.hand.street, state.hand.phase in ROUND)
        if rounds != self._round:
            self._round = rounds
            self._gave.clear()

    def _clear(self) -> None:
        self._on_spots.clear()
        self._told.clear()
        self._gave.clear()

    def _sort(self, seat: int, at: int, hand: Hand) -> None:
        """Largest chips first: what the seat gave, or what is missing of its booked stake, it may have back."""
        there = self._on_spots[seat]
        back = 0
        if hand.phase in ROUND:
            own = self._worth(self._bets.stake_lying(seat) - there.keys())
            back = max(hand.bet.get(seat, 0) - own, self._gave.get(seat, 0))
        paid: set[str] = set()
        for tag in sorted(there, key=lambda tag: (-self._worth([tag]), tag)):
            if self._worth([tag]) <= back:
                back -= self._worth([tag])
                paid.add(tag)
        self._bets.set_aside(seat, there.keys() - paid)
        self._bets.count_again(seat, paid, at)
        self._gave[seat] = max(0, self._gave.get(seat, 0) - self._worth(paid))
        for tag in paid:
            del there[tag]
            self._held.discard(tag)

    def _unpaid(self, seat: int, new: Mapping[str, int], hand: Hand) -> list[ChangeDiffers]:
        """They are told where the seat has more than the books say: a bet given back out of the pot is its own."""
        spot, stack = f"bet:{seat}", f"stack:{seat}"
        behind = hand.stack.get(seat)
        if behind is not None and stack in self._where.seen_places:
            has = self._worth(self._where.at(stack) | self._bets.stake_lying(seat) | self._on_spots[seat].keys())
            if has <= behind + (hand.bet.get(seat, 0) if hand.phase in ROUND else 0):
                return []
        sources = tuple(self._newest[place] for place in (spot, "pot") if place in self._newest)
        return [ChangeDiffers(seat, 0, self._worth(new), of_pot=True, evidence=sources)]

    def _worth(self, tags: Iterable[str]) -> int:
        return value(self._setup.chipset, list(tags))
