"""All 133,784,560 seven-card hands through our ranking, by category; from them the exact edge of TRIPS."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import comb, prod

import pytest

from controller.core.cards import RANKS
from controller.core.rules.ranking import category, rank
from tests.unit.test_ultimate_settlement import TRIPS

COUNTS = {
    "royal_flush": 4_324,
    "straight_flush": 37_260,
    "four": 224_848,
    "full_house": 3_473_184,
    "flush": 4_047_644,
    "straight": 6_180_020,
    "three": 6_461_620,
    "two_pair": 31_433_400,
    "pair": 58_627_800,
    "high_card": 23_294_460,
}
ALL = comb(52, 7)


def plain(ranks: tuple[str, ...]) -> list[str]:
    """Cards of these ranks with at most four of a suit: pairs and more take their suits in order, the rest in turn."""
    seen: Counter[str] = Counter()
    cards, turn = [], 0
    for each in ranks:
        held = ranks.count(each)
        suit = "cdhs"[seen[each]] if held > 1 else "cdhs"[turn % 4]
        turn += held == 1
        seen[each] += 1
        cards.append(each + suit)
    return cards


def count_all() -> Counter[str]:
    """Every hand belongs to one pattern of ranks and, where five or more share a suit, of that suit's ranks.

    Each pattern is ranked once, by real cards, and counts for all hands that differ from it in suits alone.
    """
    counts: Counter[str] = Counter()
    flushes: Counter[tuple[str, ...]] = Counter()
    for suited in (5, 6, 7):
        for own in combinations(RANKS, suited):
            for others in combinations_with_replacement(RANKS, 7 - suited):
                held = Counter(others)
                ways = 4 * prod(comb(3, n) for n in held.values())
                cards = [r + "s" for r in own] + [r + "cdh"[i % 3] for i, r in enumerate(others)]
                counts[category(rank(cards))] += ways
                flushes[tuple(sorted((*own, *others)))] += ways
    for ranks in combinations_with_replacement(sorted(RANKS), 7):
        held = Counter(ranks)
        if max(held.values()) <= 4:
            ways = prod(comb(4, n) for n in held.values()) - flushes[ranks]
            cards = plain(ranks)
            assert max(Counter(card[1] for card in cards).values()) < 5
            counts[category(rank(cards))] += ways
    return counts


@pytest.mark.slow
def test_all_seven_card_hands_by_category_and_the_edge_of_trips() -> None:
    counts = count_all()
    assert sum(counts.values()) == ALL
    assert dict(counts) == COUNTS
    assert round(edge(counts) * 100, 6) == Fraction("3.497937")


def edge(counts: Counter[str]) -> Fraction:
    """What the house keeps of a TRIPS bet, on average."""
    paid = [count * Fraction(*odds) for name, count in counts.items() if (odds := TRIPS.pays(name))]
    won = sum(paid, Fraction(0))
    lost = sum(count for name, count in counts.items() if TRIPS.pays(name) is None)
    return (lost - won) / ALL


def test_the_edge_of_trips_from_the_known_counts() -> None:
    assert round(edge(Counter(COUNTS)) * 100, 6) == Fraction("3.497937")
