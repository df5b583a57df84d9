"""Hand ranking behind one small door (HR-18.1, HR-19.1, BG-5.33, RS-8, CM-7b). Suits break no ties (HR-A9, RS-8.2)."""

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
    """The strength of the best five of five to seven cards: 1 (royal flush) to 7462; lower is stronger.

    Ranks decide and suits never do (HR-8.3, HR-A9, HR-A11, BG-5.32, BG-5.35, RS-8.2): an ace ends the highest straight
    or begins the lowest and never stands in the middle (RS-8.3, RS-8.4, RS-8.5). Within a category pairs, threes and
    side cards compare from the top, and a sixth card does not (RS-9.1, RS-9.2, RS-9.3, RS-9.4, RS-9.5, CM-7b).
    """
    value: int = evaluate_cards(*cards)
    return value


def category(value: int) -> str:
    """The category key of a rank, as the contract spells it (HR-18.1, HR-18.2, HR-A24, BG-5.33, RS-8.1).

    Flush, straight and straight flush are apart (BG-5.34, RS-8.6, RS-A7).
    """
    return next(name for worst, name in CATEGORIES if value <= worst)


@lru_cache(maxsize=256)
def best_five(cards: tuple[str, ...]) -> tuple[str, ...]:
    """The five cards that make the hand. Where several fives are worth the same, the first in the given order."""
    value = rank(cards)
    return next(five for five in combinations(cards, 5) if rank(five) == value)


@lru_cache(maxsize=256)
def best_omaha(own: tuple[str, ...], board: tuple[str, ...]) -> tuple[str, ...]:
    """The best five of exactly two own and exactly three common cards (RS-10.4); ties as in ``best_five``."""
    fives = (two + three for two in combinations(own, 2) for three in combinations(board, 3))
    return min(fives, key=rank)


def best(game: str, own: Sequence[str], board: Sequence[str]) -> tuple[str, ...]:
    """The five cards that make a hand of this game, or none while there are too few."""
    if len(own) + len(board) < 5 or (game == "omaha" and len(board) < 3):
        return ()
    return best_omaha(tuple(own), tuple(board)) if game == "omaha" else best_five((*own, *board))


def strength(game: str, own: Sequence[str], board: Sequence[str]) -> int:
    """The rank of a hand on a whole board: any five of seven (HR-19.1, BG-3.5, RS-5.4); in Omaha two and three.

    Board cards belong to everybody, and may be the whole hand (HR-12.3, RS-5.5); Omaha ranks alike (RS-10.3, RS-10.4).
    """
    return rank(best_omaha(tuple(own), tuple(board))) if game == "omaha" else rank((*own, *board))
