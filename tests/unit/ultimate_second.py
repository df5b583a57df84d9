"""A second settlement of Ultimate Texas Hold'em, written from the Lithuanian text alone, to be held against the first.

It shares nothing with the product: its own ranking, its own pay tables, its own order of questions.
Whoever changes it reads the text and the house rules, and leaves the product's settlement closed.
Amounts are in minor currency units. A card is rank and suit: ``Th``.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType
from typing import Literal

RANKS = "23456789TJQKA"
SUITS = "cdhs"
DECK = tuple(rank + suit for rank in RANKS for suit in SUITS)

CATEGORIES = (
    "high_card", "pair", "two_pair", "three", "straight", "flush", "full_house", "four", "straight_flush",
    "royal_flush",
)  # fmt: skip
PATTERNS = MappingProxyType({(4, 1): "four", (3, 2): "full_house", (3, 1, 1): "three", (2, 2, 1): "two_pair"})

# LT-5.1, and for BLIND the preset uth_standard (LT-A1): what one unit of the stake wins.
TRIPS = MappingProxyType({
    "royal_flush": Fraction(50), "straight_flush": Fraction(40), "four": Fraction(30), "full_house": Fraction(8),
    "flush": Fraction(7), "straight": Fraction(4), "three": Fraction(3),
})  # fmt: skip
BLIND = MappingProxyType({
    "royal_flush": Fraction(500), "straight_flush": Fraction(50), "four": Fraction(10), "full_house": Fraction(3),
    "flush": Fraction(3, 2), "straight": Fraction(1),
})  # fmt: skip

Hand = tuple[int, tuple[int, ...]]
Outcome = Literal["win", "lose", "push"]


@dataclass(frozen=True, slots=True)
class Box:
    """One box: equal ANTE and BLIND, PLAY as a multiple of ANTE, TRIPS or 0. Without PLAY the box gave up."""

    ante: int
    multiple: int | None
    trips: int = 0
    dark: bool = False

    def __post_init__(self) -> None:
        if self.multiple is None and self.dark:
            raise ValueError("a dark box has its PLAY before the deal and cannot give up; give it a multiple of 1 to 4")
        if self.multiple is not None and self.multiple not in (1, 2, 3, 4):
            raise ValueError(f"PLAY is 1 to 4 times ANTE, not {self.multiple} times")


@dataclass(frozen=True, slots=True)
class House:
    """What the text leaves to the house: what is pushed when the dealer does not qualify, and TRIPS of who gave up."""

    pushed: frozenset[str]
    fold_trips: Literal["lost", "settled"]
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Paid:
    """What became of one stake: ``net`` for the player without the stake back, ``left`` lost to rounding down."""

    outcome: Outcome
    net: int
    left: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Bill:
    """One box settled: against the dealer, and every spot that holds a stake."""

    against: Literal["win", "lose", "tie", "fold"]
    spots: Mapping[str, Paid]


def of_five(cards: tuple[str, ...]) -> Hand:
    """The category and the ranks that decide within it, most frequent first; suits never decide (LT-9.6)."""
    ranks = [RANKS.index(card[0]) for card in cards]
    counts = sorted(((count, rank) for rank, count in Counter(ranks).items()), reverse=True)
    order = tuple(rank for _, rank in counts)
    if len(counts) < 5:
        name = PATTERNS.get(tuple(count for count, _ in counts), "pair")
        return CATEGORIES.index(name), order
    flush = len({card[1] for card in cards}) == 1
    if order == (12, 3, 2, 1, 0):  # the ace below the two
        order = (3, 2, 1, 0, -1)
    straight = order[0] - order[4] == 4
    if straight and flush:
        name = "royal_flush" if order[0] == 12 else "straight_flush"
    elif flush:
        name = "flush"
    else:
        name = "straight" if straight else "high_card"
    return CATEGORIES.index(name), order


@lru_cache(maxsize=4096)
def best(own: tuple[str, ...], board: tuple[str, ...]) -> Hand:
    """The best five of two own and five common cards (LT-9.4); the other two are ignored (LT-9.5)."""
    return max(of_five(five) for five in combinations(own + board, 5))


def qualifies(dealer: Hand) -> bool:
    """A pair of twos or better, wherever the pair lies (LT-10.2, LT-A15)."""
    return dealer >= (CATEGORIES.index("pair"), (0,))


def standing(player: Hand, dealer: Hand) -> Literal["win", "lose", "tie"]:
    if player == dealer:
        return "tie"
    return "win" if player > dealer else "lose"


def won(stake: int, odds: Fraction, unit: int) -> Paid:
    """Rounded down to the smallest payable unit; what is cut off is named (LT-A13)."""
    due = stake * odds
    paid = due // unit * unit
    return Paid("win", paid, due - paid)


def lost(stake: int) -> Paid:
    return Paid("lose", -stake)


def pushed() -> Paid:
    return Paid("push", 0)


def trips(stake: int, category: str, unit: int) -> Paid:
    """The dealer's hand is no part of it (LT-4.1, LT-5.1)."""
    return won(stake, TRIPS[category], unit) if category in TRIPS else lost(stake)


def blind(stake: int, category: str, unit: int) -> Paid:
    """BLIND of a winner: by the table, below a straight it is returned (LT-10.5, LT-A1)."""
    return won(stake, BLIND[category], unit) if category in BLIND else pushed()


def given_up(box: Box, category: str, house: House) -> dict[str, Paid]:
    """ANTE and BLIND are lost, PLAY does not exist, TRIPS is the house's choice (LT-A4)."""
    spots = {"ante": lost(box.ante), "blind": lost(box.ante)}
    if box.trips:
        spots["trips"] = lost(box.trips) if house.fold_trips == "lost" else trips(box.trips, category, house.unit)
    return spots


def played(box: Box, multiple: int, category: str, against: str, qualified: bool, house: House) -> dict[str, Paid]:
    """A tie pushes all but TRIPS (LT-A3); the switches speak only when the dealer does not qualify (LT-A2)."""
    stakes = {"ante": box.ante, "blind": box.ante, "play": box.ante * multiple}
    spots = {}
    for spot, stake in stakes.items():
        if against == "tie" or (not qualified and spot in house.pushed):
            spots[spot] = pushed()
        elif against == "lose":
            spots[spot] = lost(stake)
        elif spot == "blind":
            spots[spot] = blind(stake, category, house.unit)
        else:
            spots[spot] = won(stake, Fraction(1), house.unit)
    if box.trips:
        spots["trips"] = trips(box.trips, category, house.unit)
    return spots


def settle(box: Box, own: tuple[str, ...], dealer: tuple[str, ...], board: tuple[str, ...], house: House) -> Bill:
    """The whole bill of one box. A dark box is settled as any other that holds PLAY (LT-A7)."""
    mine, theirs = best(own, board), best(dealer, board)
    category = CATEGORIES[mine[0]]
    if box.multiple is None:
        return Bill("fold", given_up(box, category, house))
    against = standing(mine, theirs)
    return Bill(against, played(box, box.multiple, category, against, qualifies(theirs), house))
