"""Settlement vectors of Ultimate by id: U1 to U8, and the ones that rules.md 9.7 asks for."""

from dataclasses import replace
from typing import Any

import pytest

from controller.core.rules.ultimate.house import NotQualified, PayTable, PayTables, Switches
from controller.core.rules.ultimate.settlement import Played, Settled, settle
from tests.marks import shows

TRIPS = PayTable(
    "lt",
    (
        ("royal_flush", 50, 1),
        ("straight_flush", 40, 1),
        ("four", 30, 1),
        ("full_house", 8, 1),
        ("flush", 7, 1),
        ("straight", 4, 1),
        ("three", 3, 1),
    ),
    "lose",
)
BLIND = PayTable(
    "uth_standard",
    (
        ("royal_flush", 500, 1),
        ("straight_flush", 50, 1),
        ("four", 10, 1),
        ("full_house", 3, 1),
        ("flush", 3, 2),
        ("straight", 1, 1),
    ),
    "push",
)
TABLES = PayTables(TRIPS, BLIND)
CUSTOMARY = Switches(NotQualified("push", "settle", "settle"), "settled")
LOST = replace(CUSTOMARY, fold_trips="lost")


def cards(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def nets(settled: Settled) -> dict[str, int]:
    return {line.spot: line.net for line in settled.lines}


VECTORS: dict[str, tuple[str, str, str, int | None, int, dict[str, int]]] = {
    "U1": (
        "As Ks",
        "9d 9c",
        "Qs Js Ts 2d 3c",
        4000,
        500,
        {"ante": 1000, "play": 4000, "blind": 500000, "trips": 25000},
    ),
    "U2": ("Kd 7c", "Ah 4s", "Qs Jd 8h 5c 2d", 1000, 500, {"ante": 0, "play": -1000, "blind": -1000, "trips": -500}),
    "U3": ("Ad 7c", "Kh 4s", "Qs Jd 8h 5c 2d", 1000, 0, {"ante": 0, "play": 1000, "blind": 0}),
    "U4": ("Ad 3c", "Ac 2s", "Qs Qd 8h 8c Kd", 2000, 500, {"ante": 0, "play": 0, "blind": 0, "trips": -500}),
    "U5": (
        "7h 7d",
        "Ks Kd",
        "7c Kc 2d 3h 9s",
        3000,
        500,
        {"ante": -1000, "play": -3000, "blind": -1000, "trips": 1500},
    ),
    "U6": ("9h 2h", "Ad Kd", "Kh 8h 5h 3c 2s", 2000, 0, {"ante": 1000, "play": 2000, "blind": 1500}),
    "U7": ("9d 4c", "Ad Kd", "Kh 8h 5h 3c 2s", None, 500, {"ante": -1000, "blind": -1000, "trips": -500}),
    "U8": ("Ad 7c", "Kh 4s", "5s 5d 8h Jc 2d", 1000, 0, {"ante": 1000, "play": 1000, "blind": 0}),
}


@shows("LT-4.1", "LT-5.1", "LT-9.4", "LT-9.6", "LT-10.2", "LT-10.3", "LT-10.4", "LT-10.5", "LT-A15")
@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str) -> None:
    own, dealer, board, play, trips, expected = VECTORS[name]
    box = Played(1000, 1000, play or 0, trips, cards(own), folded=play is None)
    settled = settle(box, cards(dealer), cards(board), LOST if name == "U7" else CUSTOMARY, TABLES)
    assert nets(settled) == expected
    assert settled.house_net == -sum(expected.values())
    assert settled.returned == settled.stake - settled.house_net


@shows("LT-A2")
@pytest.mark.parametrize("ante", ["push", "settle"])
@pytest.mark.parametrize("play", ["push", "settle"])
@pytest.mark.parametrize("blind", ["push", "settle"])
@pytest.mark.parametrize("ahead", [True, False])
def test_lt_a2_each_spot_by_its_own_switch(ante: Any, play: Any, blind: Any, ahead: bool) -> None:
    """The dealer has no pair; the player is ahead with an ace, or behind with a seven."""
    switches = replace(CUSTOMARY, not_qualified=NotQualified(ante, play, blind))
    own = cards("Ad 7c") if ahead else cards("6d 7c")
    settled = settle(Played(1000, 1000, 2000, 0, own), cards("Kh 4s"), cards("Qs Jd 8h 5c 2d"), switches, TABLES)
    sign = 1 if ahead else -1
    assert nets(settled) == {
        "ante": 0 if ante == "push" else sign * 1000,
        "play": 0 if play == "push" else sign * 2000,
        "blind": 0 if blind == "push" or ahead else -1000,  # an ace high is on no BLIND table
    }


@pytest.mark.parametrize(("blind", "won"), [("settle", 1500), ("push", 0)])
def test_9_7_not_qualified_with_a_paying_blind(blind: Any, won: int) -> None:
    switches = replace(CUSTOMARY, not_qualified=NotQualified("push", "settle", blind))
    box = Played(1000, 1000, 1000, 0, cards("9h 2h"))
    settled = settle(box, cards("Ad Qc"), cards("Kh 8h 5h 3c 4s"), switches, TABLES)
    assert nets(settled) == {"ante": 0, "play": 1000, "blind": won}


@pytest.mark.parametrize("reading", ["push", "settle"])
def test_9_7_not_qualified_and_a_tie(reading: Any) -> None:
    switches = replace(CUSTOMARY, not_qualified=NotQualified(reading, reading, reading))
    box = Played(1000, 1000, 1000, 500, cards("2d 3c"))
    settled = settle(box, cards("2c 3s"), cards("Ks Qd 9h 8c 7d"), switches, TABLES)
    assert settled.against == "tie"
    assert nets(settled) == {"ante": 0, "play": 0, "blind": 0, "trips": -500}


@shows("LT-A13")
@pytest.mark.parametrize(
    ("ante", "unit", "pays", "left"), [(1001, 1, 1501, 0), (1001, 5, 1500, 1), (1500, 500, 2000, 250), (1, 1, 1, 0)]
)
def test_9_7_odd_ante_with_three_to_two(ante: int, unit: int, pays: int, left: int) -> None:
    """LT-A13: rounded down to the smallest payable unit, the rest is told."""
    switches = replace(CUSTOMARY, unit=unit)
    box = Played(ante, ante, 0, 0, cards("9h 2h"))
    settled = settle(box, cards("Ad Kd"), cards("Kh 8h 5h 3c 2s"), switches, TABLES)
    blind = next(line for line in settled.lines if line.spot == "blind")
    assert blind.pays == pays
    assert blind.pays + blind.left == ante * 3 / 2
    assert settled.rounding_left == int(sum(line.left for line in settled.lines)) >= left


@shows("LT-A4")
@pytest.mark.parametrize(("fold_trips", "net"), [("lost", -500), ("settled", 3500)])
def test_9_7_folded_with_a_trips_that_would_pay(fold_trips: Any, net: int) -> None:
    """LT-A4 with a flush in the folded hand."""
    box = Played(1000, 1000, 0, 500, cards("9h 2h"), folded=True)
    settled = settle(box, cards("Ad Kd"), cards("Kh 8h 5h 3c 2s"), replace(CUSTOMARY, fold_trips=fold_trips), TABLES)
    assert nets(settled) == {"ante": -1000, "blind": -1000, "trips": net}
    assert settled.against == "fold"


def test_a_folded_box_without_trips_needs_no_cards() -> None:
    settled = settle(Played(1000, 1000, folded=True), (), (), CUSTOMARY, TABLES)
    assert settled.house_net == 2000


@shows("LT-A3", "LT-9.5", "LT-A17")
def test_lt_a3_equal_fives_tie_whatever_the_other_cards() -> None:
    settled = settle(Played(1000, 1000, 4000, 0, cards("As Ah")), cards("2c 3d"), cards("Kd Qd Jd Td 9d"), LOST, TABLES)
    assert settled.against == "tie"
    assert settled.house_net == 0


def test_the_limit_of_a_box_takes_from_the_longest_odds_first() -> None:
    own, dealer, board = cards("As Ks"), cards("9d 9c"), cards("Qs Js Ts 2d 3c")
    box = Played(1000, 1000, 4000, 500, own)
    settled = settle(box, dealer, board, replace(CUSTOMARY, max_payout=100_000), TABLES)
    assert settled.pays == 100_000
    assert nets(settled) == {"ante": 1000, "blind": 70_000, "play": 4000, "trips": 25_000}


@shows("LT-A12")
@pytest.mark.parametrize(("reading", "net"), [("returned", 1000), ("taken", 600)])
def test_lt_a12_a_winning_stake_of_luck_chips(reading: Any, net: int) -> None:
    box = Played(1000, 1000, 1000, 0, cards("Kd 7c"), luck={"ante": 400})
    switches = replace(CUSTOMARY, luck_on_win=reading)
    settled = settle(box, cards("2h 2s"), cards("Ks Jd 8h 5c 4d"), switches, TABLES)
    assert nets(settled)["ante"] == net
    assert settled.promo_stake == 400
    assert settled.returned == settled.stake - settled.house_net
