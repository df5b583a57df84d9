"""Hand ranking behind one small door (HR-18.1, HR-19.1, RS-8, CM-7b). Suits break no ties (HR-A9, RS-8.2)."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

from phevaluator import evaluate_cards

CATEGORIES = (
    (1, "royal_flush"),
    (10, "straight_flush"),
    (166, "four"),
    (322, "full_house"),
    (1599, "flush"),
    (1609, "straight"),
    (2467, "three"),
    (3325, "two_pair"),
    (6185, "pair"),
    (7462, "high_card"),
)
"""The weakest rank of each category among the 7,462 distinct five-card hands; 1 is the strongest."""


def rank(cards: Sequence[str]) -> int:
    """The strength of the best five of five to seven cards: 1 (royal flush) to 7462; lower is stronger."""
    value: int = evaluate_cards(*cards)
    return value


def category(value: int) -> str:
    """The category key of a rank, as the contract spells it."""
    return next(name for worst, name in CATEGORIES if value <= worst)


@lru_cache(maxsize=256)
def best_five(cards: tuple[str, ...]) -> tuple[str, ...]:
    """The five cards that make the hand. Where several fives are worth the same, the first in the given order."""
    value = rank(cards)
    return next(five for five in combinations(cards, 5) if rank(five) == value)
