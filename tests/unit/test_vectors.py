"""The vectors of rules.md section 8 by their ids: hands, pot limit, raises, the cap."""

from dataclasses import replace
from typing import Any

import pytest

from controller.core.rules import betting, ranking
from tests.felt import HR, Felt, setup
from tests.houses import house

BG = house("bg_holdem")


def cards(text: str) -> list[str]:
    return text.split()


# --- 8.1 hand comparison -------------------------------------------------------------------------------------

HANDS = [
    ("T1", "holdem", "Ac 9d 7s 4h 2c", "Ad Ks", "Ah Qs", 1),
    ("T2", "holdem", "As Ks Qs Js Ts", "2c 3d", "4h 5s", 0),
    ("T3", "holdem", "As Qc 6d Jc 6h", "Jh Th", "Kd Jd", 0),
    ("T7", "omaha", "9c 9d 9h 9s 5d", "Ah Kh 3c 2d", "Qs Jd 4c 4h", -1),
    ("T8", "holdem", "7d 7h 2s 9c 4d", "7s Ad", "7c Kd", 1),
    ("T9", "holdem", "Js Jh 8d 9d 2s", "8c 8h", "9c 9h", -1),
    ("T9b", "holdem", "Kc Qs 7d 7h 2s", "Kh Qh", "Kd Ah", 1),
    ("T10", "holdem", "Kh Qh Jh Th 3s", "Ah 2c", "9h 8h", 1),
]


@pytest.mark.parametrize(("name", "game", "board", "first", "second", "better"), HANDS, ids=[h[0] for h in HANDS])
def test_8_1_two_hands(name: str, game: str, board: str, first: str, second: str, better: int) -> None:
    one, two = (ranking.strength(game, cards(own), cards(board)) for own in (first, second))
    assert (one < two) - (one > two) == better


ALONE = [
    ("T2", "holdem", "As Ks Qs Js Ts", "2c 3d", "royal_flush", 0),
    ("T4", "holdem", "3c 4d 5s Kh Qd", "Ah 2d", "straight", 2),
    ("T5", "holdem", "Ac 2d 3s 9h 7c", "Qh Kd", "high_card", 2),
    ("T6", "omaha", "Ts 9s 8s 2s 3d", "As Kd Qc Jh", "straight", 2),
    ("T7", "omaha", "9c 9d 9h 9s 5d", "Qs Jd 4c 4h", "full_house", 2),
    ("C15", "omaha", "3s 5h Qs Qd 9h", "Ks 8c Js 5c", "two_pair", 2),
]


@pytest.mark.parametrize(("name", "game", "board", "own", "category", "used"), ALONE, ids=[h[0] for h in ALONE])
def test_8_1_one_hand(name: str, game: str, board: str, own: str, category: str, used: int) -> None:
    best = ranking.best(game, cards(own), cards(board))
    assert ranking.category(ranking.rank(best)) == category
    assert len(set(best) & set(cards(own))) == used
    assert ranking.rank(best) == ranking.strength(game, cards(own), cards(board))


def test_t6_holdem_would_have_made_a_flush_of_it() -> None:
    board, own = cards("Ts 9s 8s 2s 3d"), cards("As Kd Qc Jh")
    assert set(ranking.best("omaha", own, board)) == set(cards("Ts 9s 8s Qc Jh"))
    assert ranking.category(ranking.rank([*board, "As", "Kd"])) == "flush"


def test_c15_queens_and_fives_with_a_king() -> None:
    best = ranking.best("omaha", cards("Ks 8c Js 5c"), cards("3s 5h Qs Qd 9h"))
    assert set(best) == set(cards("Qs Qd 5h 5c Ks"))


def test_bg_a9_a_royal_is_named_a_straight_flush_and_marked() -> None:
    felt = Felt(setup(profile=BG)).open([5000, 5000]).deal({1: "2c3d", 2: "4h5c"}, board="AsKsQsJsTs")
    felt.act("a", "c").show(1, 2).street().street().street()
    tabled = felt.all("hand.tabled")
    assert [(t["category"], t["royal"]) for t in tabled if "category" in t] == []  # shown before the board was out
    felt = Felt(setup(profile=BG)).open([5000, 5000]).deal({1: "2c3d", 2: "4h5c"}, board="AsKsQsJsTs")
    felt.act("c", "k").street().act("k", "k").street().act("b100", "c").street().act("b100", "c").show(1, 2)
    assert {(t["category"], t["royal"]) for t in felt.all("hand.tabled")} == {("straight_flush", True)}


# --- 8.3 pot limit: the most that may be added ---------------------------------------------------------------

RULES = ("amount_in", "raise_by_precall_pot", "raise_by_postcall_pot")
POTS = [
    ("blinds 1/2, first to act", (1, 2), 3, [], "", (3, 5, 7)),
    ("blinds 100/200, first to act", (100, 200), 3, [], "", (300, 500, 700)),
    ("pot 100, bet 50", (25, 50), 2, ["c", "k"], "b50", (150, 200, 250)),
    ("pot 100, no bet", (25, 50), 2, ["c", "k"], "-", (100, 100, 100)),
    ("pot 60, bet 60, raise to 180", (10, 20), 3, ["c", "c", "k"], "b60 r180", (300, 480, 660)),
    ("blinds 1/2, folded to the small blind", (1, 2), 3, ["f"], "", (3, 4, 5)),
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("name", "blinds", "players", "before", "flop", "adds"), POTS, ids=[p[0] for p in POTS])
def test_8_3_pot_limit(
    name: str,
    blinds: tuple[int, int],
    players: int,
    before: list[str],
    flop: str,
    adds: tuple[int, int, int],
    rule: Any,
) -> None:
    """The hand is played by the widest rule; the bounds are then asked by each."""
    profile = house("rs_holdem", structure="pot_limit")
    felt = Felt(setup(profile=profile, blinds=blinds)).open([100_000] * players).deal().act(*before)
    if flop:
        felt.street().act(*(word for word in flop.split() if word != "-"))
    legal = betting.bounds(felt.hand, replace(profile, pot_limit_rule=rule, min_raise="any_greater"))
    assert legal is not None
    assert legal.max_to is not None
    assert legal.max_to - felt.hand.bet.get(legal.seat, 0) == adds[RULES.index(rule)]


def test_c11_pot_15_bet_7() -> None:
    felt = Felt(setup(profile=house("rs_holdem", structure="pot_limit"), blinds=(1, 5)))
    felt.open([1000, 1000, 1000]).deal().act("c", "c", "k").street().act("b7")
    assert felt.hand.pot == 22
    assert felt.legal.max_to == 36
    assert felt.refused("r37")["rules"] == ["RS-7.12"]
    felt.act("r36")


def test_bg_6_2_a_stake_above_the_pot() -> None:
    felt = Felt(setup(profile=house("bg_holdem", structure="pot_limit"), blinds=(1, 2)))
    felt.open([1000, 1000, 1000]).deal()
    assert (felt.legal.min_to, felt.legal.max_to) == (3, 3)  # BG-5.7: any greater sum, BG-A2: not more than the pot
    breach = felt.refused("r4")
    assert (breach["rules"][0], breach["reaction"]) == ("BG-6.2", "BLOCK")
    felt.act("r3")
    assert felt.all("breach.noted")[-1]["rules"] == ["BG-A5"]  # less than the customary raise: INFO


# --- 8.4 minimum raise ---------------------------------------------------------------------------------------


def test_8_4_the_largest_increase_of_the_round_counts() -> None:
    felt = Felt(setup(blinds=(100, 200))).open([90_000] * 4).deal().act("c", "c", "c", "k").street()
    felt.act("b600", "r1600", "r3600")
    assert felt.legal.min_to == 5600


def test_8_4_a_short_all_in_is_no_new_minimum() -> None:
    felt = Felt(setup(blinds=(50, 100))).open([5000, 5000, 150, 5000]).deal().act("a")
    assert felt.legal.min_to == 250


def test_8_4_three_short_all_ins() -> None:
    felt = Felt(setup(blinds=(50, 100))).open([9000, 600, 750, 900, 9000]).deal()
    felt.act("c", "c", "c", "c", "k").street().act("b300", "a", "a", "a")
    assert felt.hand.level == 800
    assert felt.legal.min_to == 1100


# --- 8.5 the cap of three ------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3])
def test_8_5_three_raises_in_each_round(players: int) -> None:
    felt = Felt(setup(profile=HR, blinds=(5, 10))).open([1000] * players).deal().act("r20", "r30", "r40")
    assert felt.refused("r50")["rules"][0] == "HR-11.8"
    felt.act(*["c"] * (players - 1)).street().act("b10", "r20", "r30", "r40")
    assert felt.refused("r50")["rules"][0] == "HR-11.8"
    felt.act("c")


def test_9_7_a_short_all_in_as_the_third_raise() -> None:
    felt = Felt(setup(profile=HR, blinds=(5, 10))).open([1000, 1000, 1000, 35, 1000]).deal()
    felt.act("r20", "a", "r60")  # seat 3 to 20, seat 4 all-in 35, seat 5 to 60: three increases
    assert [a["raise_no"] for a in felt.all("action.taken")] == [1, 2, 3]
    assert felt.refused("r120")["rules"][0] == "HR-11.8"
    customary = house("hr_thp_customary")
    felt = Felt(setup(profile=customary, blinds=(5, 10))).open([1000, 1000, 1000, 25, 1000]).deal()
    felt.act("r20", "a", "r40")  # the all-in to 25 is no full raise
    assert [a["raise_no"] for a in felt.all("action.taken")] == [1, 1, 2]
    assert felt.legal.raising == "raise"
