"""The settlement of the product against a second one that was written from the text alone (ultimate_second.py)."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.rules.ultimate import house, settlement
from tests.unit import ultimate_second as second
from tests.unit.ultimate_second import Bill, Box, House, Paid

QUICK, SLOW, PARTS = 3_000, 50_000, 25
SPOTS = ("ante", "play", "blind")
PUSHES = [frozenset(some) for some in chain.from_iterable(combinations(SPOTS, size) for size in range(4))]
FOLDS: tuple[Literal["lost", "settled"], ...] = ("lost", "settled")
APART = 5
"""The quick tests hold each deal under every fifth house, the next deal under the next ones; the slow under all."""
HOUSES = [House(pushed, fold) for pushed, fold in product(PUSHES, FOLDS)]
UNITS = (1, 1, 5, 50, 100)

# As a house would enter them: written out here, not taken from the second settlement.
PAYTABLES = house.PayTables(
    trips=house.PayTable(
        "lt",
        (
            ("royal_flush", 50, 1), ("straight_flush", 40, 1), ("four", 30, 1), ("full_house", 8, 1),
            ("flush", 7, 1), ("straight", 4, 1), ("three", 3, 1),
        ),
        "lose",
    ),
    blind=house.PayTable(
        "uth_standard",
        (
            ("royal_flush", 500, 1), ("straight_flush", 50, 1), ("four", 10, 1), ("full_house", 3, 1),
            ("flush", 3, 2), ("straight", 1, 1),
        ),
        "push",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Deal:
    own: tuple[str, ...]
    dealer: tuple[str, ...]
    board: tuple[str, ...]


def dealt(cards: list[str]) -> Deal:
    return Deal(tuple(cards[:2]), tuple(cards[2:4]), tuple(cards[4:9]))


def cards(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def rich(chance: random.Random) -> list[str]:
    """A part of the deck that makes high hands, ties and unpaired dealers common."""
    suit = chance.choice(second.SUITS)
    others = [card for card in second.DECK if card[1] != suit]
    match chance.randrange(5):
        case 0:  # straight flushes to the ace and, as often, from the ace
            ranks = chance.choice(("TJQKA", "A2345", "89TJQKA", "A234567"))
            return [rank + suit for rank in ranks] + chance.sample(others, 9 - len(ranks))
        case 1:  # fours, full houses and their ties
            return [rank + suit for rank in chance.sample(second.RANKS, chance.choice((3, 4))) for suit in second.SUITS]
        case 2:  # flushes against flushes
            return [card for card in second.DECK if card[1] == suit] + chance.sample(others, 4)
        case 3:  # straights, the wheel too
            low = chance.randrange(-1, 8)
            return [second.RANKS[at] + suit for at in range(low, low + 6) for suit in chance.sample(second.SUITS, 2)]
        case _:  # no pair anywhere, few straights
            return [rank + chance.choice(second.SUITS) for rank in second.RANKS]


def deals(count: int, seed: int) -> Iterator[tuple[Deal, Box, int]]:
    """Every second deal from the whole deck, the others from a rich part of it; each with a box and a unit."""
    chance = random.Random(seed)
    for at in range(count):
        deal = dealt(chance.sample(second.DECK if at % 2 else rich(chance), 9))
        ante = chance.randint(1, 2_000) if at % 3 else chance.randrange(1, 2_000, 2)
        stake = chance.choice((0, chance.randint(1, 250_000)))
        box = Box(ante, chance.randint(1, 4), stake, dark=chance.random() < 0.4)
        yield deal, box, chance.choice(UNITS)


def first(deal: Deal, box: Box, rules: House) -> settlement.Settled:
    reading = {spot: "push" if spot in rules.pushed else "settle" for spot in SPOTS}
    folded = box.multiple is None
    return settlement.settle(
        settlement.Played(
            ante=box.ante,
            blind=box.ante,
            play=box.ante * (box.multiple or 0),
            trips=box.trips,
            cards=deal.own,
            folded=folded,
        ),
        deal.dealer,
        deal.board,
        house.Switches(not_qualified(reading), rules.fold_trips, unit=rules.unit),
        PAYTABLES,
    )


def not_qualified(reading: dict[str, str]) -> house.NotQualified:
    words: dict[str, Any] = dict(reading)
    return house.NotQualified(**words)


def as_bill(settled: settlement.Settled) -> Bill:
    """What both settlements speak of; a spot without a stake is no spot."""
    return Bill(
        settled.against,
        {line.spot: Paid(line.outcome, line.net, Fraction(line.left)) for line in settled.lines if line.stake},
    )


def bill(deal: Deal, box: Box, rules: House) -> Bill:
    return second.settle(box, deal.own, deal.dealer, deal.board, rules)


def agree(deal: Deal, box: Box, rules: House) -> bool:
    """The bills are one, and the totals of the first are those of the second's lines."""
    one, two = first(deal, box, rules), bill(deal, box, rules)
    staked = box.ante * (2 + (box.multiple or 0)) + box.trips
    nets = sum(paid.net for paid in two.spots.values())
    left = sum((paid.left for paid in two.spots.values()), Fraction(0))
    totals = (one.stake, one.returned, one.promo_stake, one.rounding_left)
    return as_bill(one) == two and totals == (staked, staked + nets, 0, left // 1)


def acts(box: Box) -> tuple[Box, ...]:
    """The box as it played and, unless it is dark, as if it had given up."""
    return (box,) if box.dark else (box, replace(box, multiple=None))


def first_difference(count: int, seed: int = 1, apart: int = 1) -> tuple[Deal, Box, House] | None:
    for at, (deal, box, unit) in enumerate(deals(count, seed)):
        for rules, act in product(HOUSES[at % apart :: apart], acts(box)):
            at_unit = replace(rules, unit=unit)
            if not agree(deal, act, at_unit):
                return deal, act, at_unit
    return None


@pytest.mark.ci
def test_both_settlements_agree_on_random_deals_under_every_switch() -> None:
    assert first_difference(QUICK, apart=APART) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 2 + PARTS))
def test_both_settlements_agree_on_many_more_deals(seed: int) -> None:
    assert first_difference(SLOW // PARTS, seed) is None


@given(
    order=st.permutations(second.DECK),
    ante=st.integers(1, 250_000),
    multiple=st.sampled_from((None, 1, 2, 3, 4)),
    trips=st.just(0) | st.integers(1, 250_000),
    rules=st.sampled_from(HOUSES),
    unit=st.sampled_from(UNITS) | st.integers(1, 1_000),
)
def test_both_settlements_agree_on_what_hypothesis_finds(
    order: list[str], ante: int, multiple: int | None, trips: int, rules: House, unit: int
) -> None:
    at_unit = replace(rules, unit=unit)
    assert agree(dealt(order), Box(ante, multiple, trips), at_unit)


def test_the_random_deals_reach_every_corner() -> None:
    """What the loop above is worth: every paying hand, both sides of the dealer's pair, odd stakes, dark boxes."""
    seen: Counter[object] = Counter()
    for deal, box, _unit in deals(QUICK, 1):
        mine, theirs = second.best(deal.own, deal.board), second.best(deal.dealer, deal.board)
        category, against = second.CATEGORIES[mine[0]], second.standing(mine, theirs)
        qualified = second.qualifies(theirs)
        seen.update((category, (against, qualified), (category, against)))
        seen["trips", bool(box.trips)] += 1
        seen[box.dark, box.multiple] += 1
        seen["odd flush"] += box.ante % 2 and (category, against) == ("flush", "win")
        seen["paying blind, dealer without a pair"] += category in second.BLIND and not qualified
    corners: list[object] = [*second.CATEGORIES, ("trips", True), ("trips", False)]
    corners += product(("win", "lose", "tie"), (True, False))
    corners += product(second.CATEGORIES[:-1], ("win", "lose", "tie"))
    corners += product((True, False), (1, 2, 3, 4))
    corners += ["odd flush", "paying blind, dealer without a pair"]
    assert [corner for corner in corners if not seen[corner]] == []


# ---------------------------------------------------------------- the vectors, on the second settlement itself

CUSTOMARY = House(frozenset({"ante"}), "settled")
FORFEITS = House(frozenset({"ante"}), "lost")
VECTORS = {
    "royal": ("As Ks", "9d 9c", "Qs Js Ts 2d 3c", 4, 500, CUSTOMARY, (1000, 4000, 500_000, 25_000)),
    "no pair, dealer ahead": ("Kd 7c", "Ah 4s", "Qs Jd 8h 5c 2d", 1, 500, CUSTOMARY, (0, -1000, -1000, -500)),
    "no pair, player ahead": ("Ad 7c", "Kh 4s", "Qs Jd 8h 5c 2d", 1, 0, CUSTOMARY, (0, 1000, 0, 0)),
    "tie": ("Ad 3c", "Ac 2s", "Qs Qd 8h 8c Kd", 2, 500, CUSTOMARY, (0, 0, 0, -500)),
    "TRIPS of a loser": ("7h 7d", "Ks Kd", "7c Kc 2d 3h 9s", 3, 500, CUSTOMARY, (-1000, -3000, -1000, 1500)),
    "flush 3:2": ("9h 2h", "Ad Kd", "Kh 8h 5h 3c 2s", 2, 0, CUSTOMARY, (1000, 2000, 1500, 0)),
    "gave up": ("9d 4c", "Ad Kd", "Kh 8h 5h 3c 2s", None, 500, FORFEITS, (-1000, 0, -1000, -500)),
    "pair on the board": ("Ad 7c", "Kh 4s", "5s 5d 8h Jc 2d", 1, 0, CUSTOMARY, (1000, 1000, 0, 0)),
    "gave up three sevens, lost": ("7h 7d", "Ks Kd", "7c Kc 2d 3h 9s", None, 500, FORFEITS, (-1000, 0, -1000, -500)),
    "gave up three sevens": ("7h 7d", "Ks Kd", "7c Kc 2d 3h 9s", None, 500, CUSTOMARY, (-1000, 0, -1000, 1500)),
    "no pair, a tie": ("Ad 3c", "Ac 4s", "Ks Qd Jh 8c 6d", 2, 500, CUSTOMARY, (0, 0, 0, -500)),
    "no pair, a paying BLIND": ("Th 9h", "As 3c", "Kh 8h 5h 7c 2s", 4, 500, CUSTOMARY, (0, 4000, 1500, 3500)),
}


@pytest.mark.parametrize("name", VECTORS)
def test_both_settlements_meet_the_house_vectors(name: str) -> None:
    own, dealer, board, multiple, trips, rules, nets = VECTORS[name]
    deal, box = Deal(cards(own), cards(dealer), cards(board)), Box(1000, multiple, trips)
    spots = bill(deal, box, rules).spots
    assert tuple(spots[spot].net if spot in spots else 0 for spot in ("ante", "play", "blind", "trips")) == nets
    assert agree(deal, box, rules)


@pytest.mark.parametrize("pushed", PUSHES, ids=lambda pushed: "+".join(sorted(pushed)) or "none")
def test_each_switch_pushes_its_own_spot_and_no_other(pushed: frozenset[str]) -> None:
    """The dealer has no pair, the player a flush on an odd ANTE."""
    deal, box = Deal(cards("Th 9h"), cards("As 3c"), cards("Kh 8h 5h 7c 2s")), Box(15, 3, 10)
    rules = House(pushed, "lost")
    nets = {spot: paid.net for spot, paid in bill(deal, box, rules).spots.items()}
    full = {"ante": 15, "play": 45, "blind": 22, "trips": 70}
    assert nets == {spot: 0 if spot in pushed else net for spot, net in full.items()}
    assert agree(deal, box, rules)


# ---------------------------------------------------------------- the comparison can fail


def suits_decide(own: tuple[str, ...], board: tuple[str, ...]) -> second.Hand:
    category, order = BEST(own, board)
    return category, (*order, max(second.SUITS.index(card[1]) for card in own))


def no_wheel(five: tuple[str, ...]) -> second.Hand:
    category, order = OF_FIVE(five)
    if -1 in order:
        return (5, (12, 3, 2, 1, 0)) if category == 8 else (0, (12, 3, 2, 1, 0))
    return category, order


def own_card_plays(own: tuple[str, ...], board: tuple[str, ...]) -> second.Hand:
    return max(OF_FIVE(five) for five in combinations(own + board, 5) if own[0] in five)


def rounded_up(stake: int, odds: Fraction, unit: int) -> Paid:
    due = stake * odds
    return Paid("win", -(-due // unit) * unit, Fraction(0))


def tie_pays_blind(
    box: Box, multiple: int, category: str, against: str, qualified: bool, rules: House
) -> dict[str, Paid]:
    spots = PLAYED(box, multiple, category, against, qualified, rules)
    return spots | {"blind": second.blind(box.ante, category, rules.unit)} if against == "tie" else spots


def switches_swapped(
    box: Box, multiple: int, category: str, against: str, qualified: bool, rules: House
) -> dict[str, Paid]:
    names = {"play": "blind", "blind": "play", "ante": "ante"}
    swapped = replace(rules, pushed=frozenset(names[spot] for spot in rules.pushed))
    return PLAYED(box, multiple, category, against, qualified, swapped)


def only_a_loser_is_pushed(
    box: Box, multiple: int, category: str, against: str, qualified: bool, rules: House
) -> dict[str, Paid]:
    return PLAYED(box, multiple, category, against, qualified or against == "win", rules)


def fold_always_settles(box: Box, category: str, rules: House) -> dict[str, Paid]:
    return GIVEN_UP(box, category, replace(rules, fold_trips="settled"))


BEST, OF_FIVE, PLAYED, GIVEN_UP = second.best, second.of_five, second.played, second.given_up
MISTAKES: dict[str, tuple[str, object]] = {
    "suits decide a tie": ("best", suits_decide),
    "one own card must play": ("best", own_card_plays),
    "the ace is never below the two": ("of_five", no_wheel),
    "every dealer qualifies": ("qualifies", lambda dealer: True),
    "no dealer qualifies": ("qualifies", lambda dealer: False),
    "a pair of twos does not qualify": ("qualifies", lambda dealer: dealer >= (1, (1,))),
    "a pair of twos with a low kicker does not qualify": ("qualifies", lambda dealer: dealer > (1, (0, 10))),
    "rounded up": ("won", rounded_up),
    "the remainder is not named": ("won", lambda stake, odds, unit: Paid("win", stake * odds // unit * unit)),
    "TRIPS from two pair": ("TRIPS", {**second.TRIPS, "two_pair": Fraction(1)}),
    "TRIPS straight 5:1": ("TRIPS", {**second.TRIPS, "straight": Fraction(5)}),
    "BLIND flush 1:1": ("BLIND", {**second.BLIND, "flush": Fraction(1)}),
    "BLIND royal as a straight flush": ("BLIND", {**second.BLIND, "royal_flush": Fraction(50)}),
    "BLIND lost below a straight": ("pushed", lambda: Paid("lose", -1)),
    "a tie pays BLIND": ("played", tie_pays_blind),
    "PLAY and BLIND switches swapped": ("played", switches_swapped),
    "a winner is paid although the house pushes": ("played", only_a_loser_is_pushed),
    "TRIPS is never lost on giving up": ("given_up", fold_always_settles),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_second_settlement_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, wrong = MISTAKES[name]
    second.best.cache_clear()
    monkeypatch.setattr(second, where, wrong)
    try:
        assert first_difference(QUICK, apart=APART) is not None
    finally:
        BEST.cache_clear()
