"""The corners: public bugs of poker engines with the right outcome, each as a test of its class."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.facts import CardCame, HandAttested
from controller.core.rules import pots, ranking
from controller.core.rules.button import clockwise_from
from tests.felt import HR, RS, Felt, setup


def test_c1_a_short_all_in_over_a_full_one_reopens_nothing() -> None:
    felt = Felt(setup(blinds=(1, 2))).open([19, 200, 16, 200]).deal()
    felt.act("a", "c", "a", "c")
    assert felt.legal.seat == 4
    assert felt.legal.raising is None
    assert felt.legal.call == 3
    breach = felt.refused("r60")
    assert breach["rules"] == ["RS-7.13", "CM-3"]
    felt.act("c")


def test_c2_the_minimum_raise_is_not_capped_by_the_other_stack() -> None:
    felt = Felt(setup(blinds=(10, 20))).open([200, 1000]).deal()  # seat 2 is the button and the small blind
    felt.act("r100", "r180")
    assert felt.legal.seat == 2
    assert (felt.legal.min_to, felt.legal.max_to) == (260, 1000)


def test_c3_two_short_all_ins_together_can_be_a_full_raise() -> None:
    felt = Felt(setup(blinds=(50, 100))).open([5000, 5000, 5000, 1400, 1800]).deal()
    felt.act("c", "c", "c", "c", "k")
    felt.street().act("b500", "r1000", "c", "a", "a")
    assert felt.legal.seat == 1
    assert (felt.legal.raising, felt.legal.min_to) == ("raise", 2200)
    felt.act("c")
    assert (felt.legal.seat, felt.legal.raising, felt.legal.min_to) == (2, "raise", 2200)
    felt.act("c")
    assert (felt.legal.seat, felt.legal.raising, felt.legal.min_to) == (3, "raise", 2200)


def test_c4_what_a_seat_faces_decides_and_not_what_the_others_did() -> None:
    felt = Felt(setup(blinds=(50, 100))).open([5000, 225, 5000, 300, 5000]).deal()
    felt.act("c", "c", "c", "c", "k")
    felt.street().act("b100", "a", "c", "a", "c")
    assert (felt.legal.seat, felt.legal.raising, felt.legal.min_to) == (1, "raise", 300)
    felt.act("c")
    assert (felt.legal.seat, felt.legal.raising, felt.legal.call) == (3, None, 75)


@pytest.mark.parametrize(("profile", "small", "first", "later"), [(RS, 2, 2, 1), (HR, 1, 1, 1)])
def test_c5_heads_up_blinds_by_profile(profile: object, small: int, first: int, later: int) -> None:
    felt = Felt(setup(profile=profile, blinds=(10, 20))).open([1000, 1000]).deal()  # type: ignore[arg-type]
    assert [b["seat"] for b in felt.all("blind.posted")] == [small, 3 - small]
    assert felt.legal.seat == first
    felt.act("c", "k").street()
    assert felt.legal.seat == later


def test_c6_all_in_below_a_minimum_raise_is_legal() -> None:
    felt = Felt().open([5000, 5000, 150]).deal()
    assert (felt.legal.min_to, felt.legal.max_to) == (150, 150)
    felt.act("a")
    assert (
        felt.all("action.taken")[-1] | {"all_in": True, "full_raise": False, "min_next": 250}
        == (felt.all("action.taken")[-1])
    )


def test_c6_is_recorded_under_the_literal_croatian_text() -> None:
    felt = Felt(setup(profile=HR)).open([5000, 5000, 150]).deal().act("a")
    assert [b["rules"] for b in felt.all("breach.noted")] == [["HR-A27"]]
    assert felt.all("breach.noted")[0]["reaction"] == "INFO"


@pytest.mark.parametrize("suits", ["cdhsc", "ccccc"])
def test_c7_the_wheel_is_the_lowest_straight(suits: str) -> None:
    wheel = [rank + suit for rank, suit in zip("A2345", suits, strict=True)]
    six = [rank + suit for rank, suit in zip("23456", suits, strict=True)]
    broken = [rank + suit for rank, suit in zip("QKA23", suits, strict=True)]
    category = ranking.category(ranking.rank(wheel))
    assert category == ("straight_flush" if suits == "ccccc" else "straight")
    assert ranking.rank(wheel) > ranking.rank(six)
    assert ranking.category(ranking.rank(broken)) in ("high_card", "flush")


def test_c8_three_tied_all_ins() -> None:
    holes = {1: "2c3d", 2: "2d3h", 3: "2h3s"}
    felt = Felt(setup(unit=100)).open([10100, 10100, 10100]).deal(holes, board="AsKsQsJsTs")
    felt.act("a", "c", "c").show(1, 2, 3).street().street().street().done()
    award = felt.all("award.computed")[0]["pots"]
    assert [pot["amount"] for pot in award] == [30300]
    assert [winner["amount"] for winner in award[0]["winners"]] == [10100, 10100, 10100]


def test_c9_odd_chips_go_one_each_from_the_left_of_the_button() -> None:
    assert pots.split(29, [4, 5, 1], 1) == ({4: 10, 5: 10, 1: 9}, {4: 1, 5: 1})


@given(amount=st.integers(0, 10**7), winners=st.integers(1, 11), unit=st.sampled_from([1, 5, 25, 100, 500]))
def test_c9_class_no_chip_is_lost_and_nobody_gets_two(amount: int, winners: int, unit: int) -> None:
    shares, _ = pots.split(amount, list(range(1, winners + 1)), unit)
    assert sum(shares.values()) == amount
    whole = [share - share % unit for share in shares.values()]
    assert max(whole) - min(whole) <= unit


def test_c12_the_big_blind_has_its_option() -> None:
    felt = Felt().open([5000, 5000, 5000]).deal().act("f", "c")
    assert (felt.legal.seat, felt.legal.call, felt.legal.raising) == (2, 0, "raise")
    felt.act("r300")
    assert felt.legal.seat == 1


def test_c13_a_layer_paid_by_folded_players_only_merges_below() -> None:
    built = pots.layers({1: 50, 2: 50, 3: 120, 4: 90}, 0, [1, 2])
    assert built == [pots.Pot(310, (1, 2))]


@given(
    paid=st.dictionaries(st.integers(1, 11), st.integers(0, 1000), min_size=2),
    dead=st.integers(0, 500),
    data=st.data(),
)
def test_c13_class_pots_conserve_every_stake(paid: dict[int, int], dead: int, data: st.DataObject) -> None:
    live = data.draw(st.lists(st.sampled_from(sorted(paid)), min_size=1, unique=True))
    built = pots.layers(paid, dead, live)
    assert sum(pot.amount for pot in built) == sum(paid.values()) + dead
    assert all(set(pot.eligible) <= set(live) and pot.eligible for pot in built)
    assert len({pot.eligible for pot in built}) == len(built)


def test_s1_side_pots() -> None:
    built = pots.layers({1: 50, 2: 120, 3: 300, 4: 300, 5: 20}, 0, [1, 2, 3, 4])
    assert built == [pots.Pot(220, (1, 2, 3, 4)), pots.Pot(210, (2, 3, 4)), pots.Pot(360, (3, 4))]


def test_s2_the_uncalled_part() -> None:
    assert pots.uncalled({1: 500, 2: 180}) == (1, 320)
    assert pots.uncalled({1: 180, 2: 180}) is None


def test_s3_folded_money_stays_in_its_layers() -> None:
    built = pots.layers({1: 100, 2: 40, 3: 100, 4: 75}, 0, [1, 3, 4])
    assert built == [pots.Pot(265, (1, 3, 4)), pots.Pot(50, (1, 3))]


def test_c14_an_all_in_player_stays_eligible_on_later_streets() -> None:
    holes = {1: "AsAh", 2: "KsKh", 3: "QsQh"}
    felt = Felt().open([300, 5000, 5000]).deal(holes, board="2c3d4h9s8c")
    felt.act("r300", "a", "c").street().act("b500", "c").street().act("k", "k").street().act("k", "k")
    felt.show(1, 2, 3).done()
    assert felt.result() == {1: 900, 2: 5200, 3: 4200}


def test_c16_the_largest_full_raise_of_the_round_counts() -> None:
    felt = Felt().open([10000, 10000, 10000]).deal().act("r200", "r2179")
    assert felt.legal.min_to == 4158


def test_c17_a_short_big_blind_still_asks_for_the_whole_call() -> None:
    felt = Felt().open([5000, 30, 5000, 5000]).deal()
    assert (felt.legal.seat, felt.legal.call, felt.legal.min_to) == (3, 100, 200)


def test_c18_a_short_opening_all_in_reopens_nothing_for_who_checked() -> None:
    felt = Felt().open([5000, 140, 5000]).deal().act("c", "c", "k")
    felt.street().act("k", "a", "c")
    assert (felt.legal.seat, felt.legal.call, felt.legal.raising) == (1, 40, None)


@pytest.mark.parametrize("where", ["seat", "board", "burn"])
def test_c21_the_same_card_twice_is_a_fouled_deck_wherever_it_comes(where: str) -> None:
    felt = Felt().open([5000, 5000])
    if where == "seat":
        felt.session.seed(bytes(32))
        felt.do(HandAttested())
        felt.do(CardCame("next", "As"))
    else:
        felt.deal({1: "AsKs"}).act("c", "k")
    if where == "board":
        felt.do(CardCame("next", "2c"))
    felt.do(CardCame("next", "As"))
    opened = felt.all("incident.opened")
    assert [(i["code"], i["holds"], i["proposed"]["ruling"]) for i in opened] == [("I-11", "hand", "void")]
    assert "As" not in str(opened[0]["facts"])
    felt.say("rule", incident="I-11", ruling="proposed")
    voided = felt.all("hand.voided")[0]
    assert sum(line["amount"] for line in voided["returned"]) > 0
    assert voided["rake"] == 0
    assert felt.session.state.hand is None
    assert [felt.session.state.seats[s].stack for s in (1, 2)] == [5000, 5000]


def test_c22_one_live_player_facing_an_all_in_must_still_decide() -> None:
    felt = Felt().open([5000, 5000, 700]).deal().act("a", "f")
    assert (felt.legal.seat, felt.legal.call, felt.legal.raising) == (2, 600, None)
    assert felt.legal.barred == "nobody_to_answer"


def test_hr_11_8_the_fourth_raise_is_refused_and_heads_up_too() -> None:
    felt = Felt(setup(profile=HR, blinds=(5, 10))).open([1000, 1000]).deal().act("r20", "r30", "r40")
    breach = felt.refused("r50")
    assert breach["rules"][0] == "HR-11.8"
    assert breach["reaction"] == "BLOCK"
    felt.act("c").street().act("b10", "r20", "r30", "r40")
    assert felt.refused("r50")["rules"][0] == "HR-11.8"


def test_hr_a1_a_short_all_in_counts_as_the_third_raise_under_the_literal_text() -> None:
    felt = Felt(setup(profile=HR, blinds=(5, 10))).open([1000, 1000, 45, 1000]).deal()
    felt.act("a", "r80", "r120")  # 45 (1), 80 (2), 120 (3)
    assert felt.refused("r200")["rules"][0] == "HR-11.8"


def test_clockwise() -> None:
    assert clockwise_from([1, 3, 5, 7], 3) == (5, 7, 1, 3)
    assert clockwise_from([1, 5], 3) == (5, 1)
