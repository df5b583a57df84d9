"""The felt as the rig sees it: which cards left the shoe and what each seat has put in this round.

That is what turns chips into the keys that a table without bet sensors needs.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from simulators.scripts.acts import DECK, Act, Attest, Declare, Kind, SeatStart, Stakes

ON_THE_FELT = ("board", "burn", "muck", "stub", "pot", "rake", "tips", "drop", "tray", "button", "discard")
"""Places that are nobody's."""


@dataclass(slots=True)
class Felt:
    """One table of a scenario, while its steps are expanded."""

    seats: tuple[SeatStart, ...]
    stakes: Stakes
    button: int
    people: Mapping[str, str]
    button_posts_small: bool
    top: list[str]
    after_reshuffle: list[str]
    seed: int = 0
    devices: tuple[str, ...] = ()
    """The devices of this kind of table."""
    stakes_in: dict[int, int] = field(default_factory=dict)
    """What each seat has in the round, in minor units."""
    left: dict[int, int | None] = field(default_factory=dict)
    """What each seat had at the start of the round; ``None`` where the rig does not count it."""
    folded: set[int] = field(default_factory=set)
    declared: Declare | None = None
    """What was announced and not yet followed by chips."""
    unanswered: dict[int | None, int] = field(default_factory=dict)
    """Who announced a bet or raise without a number, and in which step: chips are to follow."""
    step: int = 0
    """Which step is being expanded."""
    mucked: Counter[int] = field(default_factory=Counter)
    """How many cards of each seat a hand has brought to the muck."""
    begun: bool = False
    """HAND was pressed for this hand."""
    dealt: bool = False
    gone: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.left = {s.seat: s.stack for s in self.seats}

    def places(self) -> tuple[str, ...]:
        """Every place that a step may name."""
        seats = range(1, max(2, *(seat.seat for seat in self.seats)) + 1)
        return (*(f"{what}:{seat}" for what in ("seat", "stack", "bet") for seat in seats), *ON_THE_FELT)

    def load(self, top: Iterable[str]) -> None:
        """Another deck is put in: its order, and all its cards."""
        self.top, self.gone = list(top), set()

    def begin(self) -> list[Act]:
        """Press HAND, once a hand: it posts the blinds and antes that are due."""
        if self.begun:
            return []
        self.begun = True
        small, big = self.order()[:2]
        self.stakes_in = {small: self.stakes.small_blind, big: self.stakes.big_blind}
        return [Attest()]

    def order(self) -> list[int]:
        """Seats clockwise from the small blind."""
        seats = [s.seat for s in self.seats]
        after = [s for s in seats if s > self.button] + [s for s in seats if s <= self.button]
        return after[::-1] if len(after) == 2 and self.button_posts_small else after

    def declare(self, act: Declare) -> list[Act]:
        """A seat says what it does. A raise without a number waits for its chips (HR-12.8)."""
        before = self.begin()
        self.declared = act
        if act.kind in ("bet", "raise") and act.to is None:
            return before
        if act.seat is not None:
            self._staked(act, act.seat)
        return [*before, act]

    def _staked(self, act: Declare, seat: int) -> None:
        left = self.left.get(seat)
        if act.kind == "fold":
            self.folded.add(seat)
        elif act.kind == "call":
            self.stakes_in[seat] = self.to_match if left is None else min(self.to_match, left)
        elif act.to is not None:
            self.stakes_in[seat] = act.to
        elif act.kind == "all_in" and left is not None:
            self.stakes_in[seat] = left

    def fold(self, seat: int) -> None:
        """A seat's cards go to the muck."""
        self.folded.add(seat)

    def put(self, seat: int, amount: int, movements: int = 1) -> list[Act]:
        """Chips come in front of a seat; the dealer keys what they mean, unless it was declared.

        A string of several movements is a call (CM-16): that is what the dealer makes of it.
        """
        before = self.begin()
        if not self.dealt:
            return before  # blinds and antes: HAND posts them
        said, self.declared = self.declared, None
        if said is not None and said.seat == seat and (said.to is not None or said.kind not in ("bet", "raise")):
            return before
        total = self.stakes_in.get(seat, 0) + amount
        if movements > 1 and self.to_match:
            total = min(total, self.to_match)
        kind: Kind = "call" if total <= self.to_match else "raise" if self.to_match else "bet"
        self.stakes_in[seat] = total
        return [*before, Declare(kind, seat, None if kind == "call" else total, name_seat=True)]

    @property
    def to_match(self) -> int:
        """The highest stake of the round."""
        return max(self.stakes_in.values(), default=0)

    def street(self) -> list[Act]:
        """The round is over if all have answered the last stake. What the dealer does then, before the next card."""
        if all(self._answered(seat) for seat in self.left if seat not in self.folded):
            for seat, stake in self.stakes_in.items():
                left = self.left[seat]
                self.left[seat] = None if left is None else left - stake
            self.stakes_in, self.declared = {}, None
            return self.sweep()
        return []

    def sweep(self) -> list[Act]:
        """Bets are pulled into the pot: nothing that this table senses or keys."""
        return []

    def _answered(self, seat: int) -> bool:
        stake, left = self.stakes_in.get(seat, 0), self.left[seat]
        return stake >= self.to_match or (left is not None and stake >= left)

    def draw(self) -> str:
        """The next card out of the shoe: as the scenario says, then by chance from the rest."""
        card = self.top.pop(0) if self.top else "??"
        if card == "??":
            kept = {*self.gone, *self.top, *self.after_reshuffle}
            left = [c for c in DECK if c not in kept]
            card = random.Random(f"{self.seed}/{len(self.gone)}").choice(left)
        self.gone.add(card)
        return card

    def drawable(self) -> bool:
        """Whether a card is left to be drawn."""
        named = bool(self.top) and self.top[0] != "??"
        return named or not {*self.gone, *self.top, *self.after_reshuffle}.issuperset(DECK)

    def reshuffle(self) -> None:
        """The stub is shuffled: the order the scenario names, then chance."""
        self.top, self.after_reshuffle = self.after_reshuffle, []

    def new_hand(self, top: Iterable[str]) -> None:
        """The deck is together again and shuffled; the button has moved."""
        seats = [s.seat for s in self.seats]
        self.button = next((s for s in seats if s > self.button), seats[0])
        self.top, self.gone = list(top), set()
        self.begun = self.dealt = False
        self.left = dict.fromkeys(self.left)  # who won how much is for the product to say
        self.folded.clear()
        self.mucked.clear()
        self.stakes_in, self.declared = {}, None
