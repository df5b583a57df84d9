"""Boxes, stakes, shuffle and deal by the Lithuanian text, each rule broken and kept (rules.md 8.8 and section 4)."""

from typing import Any

import pytest

from controller.core.errors import BadCommand
from controller.core.facts import (
    Called,
    CardCame,
    HandAttested,
    Turned,
)
from controller.core.rules.ultimate.house import NotQualified
from controller.core.setup import Denomination
from tests.boxes import Boxes, setup
from tests.marks import broken, kept, shows

CHOICES: dict[str, tuple[dict[str, Any], str]] = {
    "LT-A1": ({"blind_paytable": None}, "LT-10.5"),
    "LT-A2 ante": ({"not_qualified": NotQualified(None, "settle", "settle")}, "LT-A2"),
    "LT-A2 play": ({"not_qualified": NotQualified("push", None, "settle")}, "LT-A2"),
    "LT-A2 blind": ({"not_qualified": NotQualified("push", "settle", None)}, "LT-A2"),
    "LT-A4": ({"fold_trips": None}, "LT-A4"),
    "LT-3.5 no sign": ({"trips_posted": ()}, "LT-3.5"),
    "LT-3.5 outside": ({"trips_posted": (250_001,)}, "LT-3.5"),
    "LT-A13": ({"ante_min": None}, "LT-A13"),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_a_table_does_not_open_without_a_choice(choice: str) -> None:
    house, rule = CHOICES[choice]
    felt = Boxes(setup(house=house))
    felt.say("open")
    assert felt.broken() == [rule]
    assert felt.session.state.session is None


@broken("LT-A12")
@shows("LT-A12")
def test_lt_a12_luck_chips_need_a_decision() -> None:
    chips = [Denomination("c500", 500), Denomination("luck", 500, "promo")]
    felt = Boxes(setup(chips=chips))
    felt.say("open")
    assert felt.broken() == ["LT-A12"]
    felt = Boxes(setup(chips=chips, house={"luck_on_win": "taken"}))
    felt.say("open")
    assert felt.session.state.session is not None


# --- boxes -----------------------------------------------------------------------------------------------------


@broken("LT-2.1")
def test_lt_2_1_a_seventh_box() -> None:
    felt = Boxes(setup(seats=8)).open([])
    felt.say("attest", rule="LT-2.2", boxes=[1, 7])
    assert felt.broken() == ["LT-2.1"]
    felt.say("attest", rule="LT-2.2", boxes=[1, 2, 3, 4, 5, 6])
    assert felt.session.state.table.announced == (1, 2, 3, 4, 5, 6)


@broken("LT-2.2")
def test_lt_2_2_the_pit_boss_announces_before_the_deal() -> None:
    felt = Boxes()
    felt.say("open")
    felt.bet(1)
    felt.do(HandAttested())
    assert "LT-2.2" in felt.broken()
    felt.say("attest", "dealer", rule="LT-2.2", boxes=[1])
    assert felt.broken() == ["LT-2.2"]
    felt.say("attest", rule="LT-2.2", boxes=[1])
    felt.deal()
    assert felt.coup.phase == "decide"


@pytest.mark.parametrize(("valid", "after"), [("until_changed", (1, 2, 3)), ("one_round", ())])
def test_lt_2_2_how_long_an_announcement_is_valid(valid: str, after: tuple[int, ...]) -> None:
    felt = Boxes(setup(house={"boxes_valid": valid})).open().bet(1).deal()
    assert felt.session.state.table.announced == after


@broken("LT-2.3")
def test_lt_2_3_a_bet_on_a_box_that_is_not_announced() -> None:
    felt = Boxes().open([1]).bet(2)
    felt.do(HandAttested())
    assert felt.broken() == ["LT-2.3"]
    felt.lay(1, "ante", 1000, "keyed")
    assert felt.all("bet.refused") == []
    felt.lay(2, "trips", 500, "keyed")
    assert felt.broken() == ["LT-2.3"]


@broken("LT-2.6")
def test_lt_2_6_six_boxes_of_one_player() -> None:
    felt = Boxes().open([1, 2, 3, 4, 5, 6], dict.fromkeys(range(1, 7), "p-1")).bet(1)
    for box in range(2, 7):
        felt.bet(box, play=1000)
    felt.do(HandAttested())
    assert felt.broken() == ["LT-2.6"]


@shows("LT-A14")
@kept("LT-2.6")
def test_lt_a14_five_boxes_of_one_player() -> None:
    felt = Boxes().open([1, 2, 3, 4, 5, 6], dict.fromkeys(range(1, 6), "p-1")).bet(1).bet(6)
    for box in range(2, 6):
        felt.bet(box, play=1000)
    felt.deal()
    started = felt.all("hand.started")[0]
    assert [line["dark"] for line in started["boxes"]] == [False, True, True, True, True, False]
    assert {line.get("owner_seen_box") for line in started["boxes"] if line["dark"]} == {1}


@broken("LT-2.7")
def test_lt_2_7_a_dark_box_without_play() -> None:
    felt = Boxes().open([1, 2], {1: "p-1", 2: "p-1"}).bet(1).bet(2)
    felt.do(HandAttested())
    assert felt.broken() == ["LT-2.7"]
    felt.bet(2, play=1000).deal()
    assert felt.coup.waiting(1) == (1,)


@broken("LT-2.8")
@pytest.mark.parametrize("play", [2500, 5000])
def test_lt_2_8_dark_play(play: int) -> None:
    felt = Boxes().open([1]).bet(1, play=play)
    felt.do(HandAttested())
    assert felt.broken() == ["LT-2.8"]
    felt.lay(1, "play", 4000)
    felt.deal()
    assert felt.coup.phase == "board"


# --- stakes ----------------------------------------------------------------------------------------------------


@broken("LT-3.1")
def test_lt_3_1_ante_10_blind_5() -> None:
    felt = Boxes().open([1]).bet(1, 1000, blind=500)
    felt.do(HandAttested())
    assert felt.broken() == ["LT-3.1"]
    felt.lay(1, "blind", 1000)
    felt.do(HandAttested())
    assert felt.coup.boxes[1].stake("blind") == 1000


@broken("LT-3.1", "LT-A16")
@shows("LT-A16")
def test_lt_a16_trips_alone() -> None:
    felt = Boxes().open([1, 2]).bet(1, 0, trips=500).bet(2)
    felt.do(HandAttested())
    assert felt.broken() == ["LT-3.1"]


@pytest.mark.parametrize(("trips", "rule"), [(0, None), (1, None), (250_000, None), (250_001, "LT-3.4")])
def test_lt_3_4_trips_goes_from_0_01_to_2500(trips: int, rule: str | None) -> None:
    felt = Boxes(setup(house={"trips_posted": None})).open([1]).bet(1, trips=trips)
    felt.do(HandAttested())
    assert felt.broken() == ([] if rule is None else [rule])


@broken("LT-3.5")
@shows("LT-3.5")
def test_lt_3_5_an_amount_that_is_not_on_the_sign() -> None:
    felt = Boxes().open([1]).bet(1, trips=1000)
    felt.do(HandAttested())
    assert felt.broken() == ["LT-3.5"]
    felt.lay(1, "trips", 500, "keyed")
    felt.lay(1, "trips", 1000, "keyed")
    assert felt.broken() == ["LT-3.5"]
    assert felt.all("bet.refused")[-1]["allowed"] == [{"kind": "trips", "min": 500, "max": 500}]
    assert felt.session.state.table.boxes[1].stake("trips") == 500


@broken("LT-A13")
@shows("LT-A13")
@pytest.mark.parametrize("ante", [400, 10_100])
def test_lt_a13_limits_of_the_ante(ante: int) -> None:
    felt = Boxes().open([1]).bet(1, ante)
    felt.do(HandAttested())
    assert felt.broken() == ["LT-A13"]


@broken("LT-3.2")
def test_lt_3_2_late_trips_is_void() -> None:
    felt = Boxes().open([1]).bet(1).deal()
    felt.lay(1, "trips", 500)
    assert felt.broken() == ["LT-3.2"]
    assert felt.all("bet.refused")[0]["excess"] == 500
    assert felt.all("incident.opened")[0]["code"] == "I-42"
    felt.lay(1, "trips", 0)
    assert felt.all("incident.closed")[0]["outcome"] == "corrected"
    assert felt.coup.boxes[1].stake("trips") == 0


# --- shuffle, cut, deal ----------------------------------------------------------------------------------------


@broken("LT-1.3", "LT-1.4", "LT-1.5")
def test_lt_1_3_to_1_5_shuffle_offer_and_cut() -> None:
    felt = Boxes().open([1]).bet(1)
    felt.say("no_more_bets")
    assert felt.broken() == ["LT-1.3", "LT-1.5", "LT-1.4"]
    felt.say("no_more_bets", shuffled=True, cut_by="dealer")
    assert felt.broken() == ["LT-1.4"]
    felt = Boxes().open([1]).bet(1)
    felt.say("attest", "dealer", rule="LT-1.3")
    felt.say("attest", "dealer", rule="LT-1.4")
    felt.say("no_more_bets")
    assert felt.broken() == ["LT-1.5"]
    felt.say("no_more_bets", cut_by="inspector")
    assert felt.all("hand.started")[0]["cut"] == {"done": True, "by": "inspector", "offered": True}


def test_a_shuffle_and_a_cut_are_not_asked_for_twice_where_the_deal_was_refused() -> None:
    felt = Boxes().open([1]).bet(1)
    felt.say("no_more_bets", shuffled=True, cut_by="inspector")
    assert felt.broken() == ["LT-1.4"]
    felt.say("attest", "dealer", rule="LT-1.4")
    felt.say("no_more_bets")
    assert felt.broken() == []
    assert felt.all("hand.started")[0]["cut"] == {"done": True, "by": "inspector", "offered": True}


@broken("LT-1.4")
def test_lt_1_4_customary_the_offer_is_a_flag() -> None:
    felt = Boxes(setup(house={"cut_offer": "FLAG"})).open([1]).bet(1)
    felt.say("no_more_bets", shuffled=True, cut_by="dealer")
    assert felt.broken() == ["LT-1.4"]
    assert felt.all("breach.noted")[-1]["reaction"] == "FLAG"
    assert felt.coup.id == felt.all("bet.placed")[0]["hand"]


def test_cards_before_betting_has_ended_hold_the_round() -> None:
    felt = Boxes().open([1, 2], {1: "p-1", 2: "p-1"}).bet(1).bet(2)
    felt.do(HandAttested())
    felt.do(CardCame("box", "As", 1))
    opened = felt.all("incident.opened")
    assert [i["kind"] for i in opened] == ["dealt_too_early"]
    assert "LT-1.3" not in felt.broken(), "the dealer has pressed HAND: that the deck is shuffled is said"
    assert "LT-2.7" in [rule for b in felt.all("breach.noted") for rule in b["rules"]]
    assert not felt.all("box.settled")


def test_cm_23_a_person_who_may_sets_a_rule_aside_for_one_round() -> None:
    felt = Boxes().open([1, 2]).bet(1, trips=1000)
    felt.do(HandAttested())
    assert felt.broken() == ["LT-3.5"]
    felt.say("override", "dealer", rule="LT-3.5")
    assert not felt.all("override.used")
    felt.say("override", rule="LT-3.5")
    felt.deal()
    felt.act("1f")
    felt.done()
    with pytest.raises(BadCommand, match="no person can set this aside"):
        felt.say("override", rule="LT-3.1")


@broken("LT-6.5", "LT-6.6", "LT-6.7", "LT-6.9")
@shows("LT-6.6", "LT-6.7", "LT-6.9")
def test_lt_6_5_to_6_9_what_people_report() -> None:
    felt = Boxes().open([1]).bet(1).deal()
    for rule in ("LT-6.5", "LT-6.6", "LT-6.7", "LT-6.9"):
        felt.say("report", rule=rule)
        assert felt.broken() == [rule]
        assert felt.all("breach.noted")[-1]["reaction"] == "FLAG"


@broken("LT-6.4", "LT-A5")
@shows("LT-A5", "LT-A6")
def test_lt_6_4_a_third_card_before_any_play_reshuffles_at_once() -> None:
    felt = Boxes().open([1, 2]).bet(1, trips=500).bet(2).deal()
    old = felt.coup.id
    felt.card("box", 1)
    assert felt.broken() == ["LT-6.4"]
    assert [r.type for r in felt.last] == ["card.dealt", "breach.noted", "hand.voided", "hand.redealt"]
    assert felt.all("hand.voided")[0]["returned"] == []
    redealt = felt.all("hand.redealt")[0]
    assert redealt["old"] == old
    felt.card()
    assert felt.broken() == ["LT-1.3"]  # the deck has to be shuffled again first
    felt.deal()
    started = felt.all("hand.started")[-1]
    assert started["hand"] == redealt["new"]
    assert started["replaces"] == old
    assert [line["stakes"] for line in started["boxes"]] == [
        {"ante": 1000, "blind": 1000, "trips": 500},
        {"ante": 1000, "blind": 1000},
    ]


@shows("LT-A6")
def test_lt_a6_bets_may_not_change_but_announced_boxes_stay() -> None:
    felt = Boxes(setup(house={"boxes_valid": "one_round"})).open([1]).bet(1).deal()
    felt.do(Called("misdeal"))
    assert felt.session.state.table.announced == (1,)
    assert felt.session.state.table.boxes[1].stakes == {"ante": 1000, "blind": 1000}


@broken("LT-6.4")
def test_lt_6_4_a_card_turned_by_accident() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal()
    felt.do(Turned("box", 1))
    assert felt.broken() == ["LT-6.4"]
    assert felt.all("hand.redealt")
    assert not felt.all("card.opened")


@broken("LT-6.4")
@shows("LT-A5")
@pytest.mark.parametrize("reading", ["bets_stay", "play_returned"])
def test_lt_a5_after_a_play_a_person_rules(reading: str) -> None:
    felt = Boxes(setup(house={"misdeal_after_play": reading})).open([1, 2, 3]).bet(1).bet(2).bet(3, play=2000).deal()
    felt.act("1p3000", "2f")
    felt.do(Called("misdeal"))
    assert felt.all("incident.opened")[-1]["proposed"]["ruling"] == "redeal"
    assert felt.session.state.held is not None
    felt.say("rule", incident="I-41", ruling="proposed")
    boxes = felt.session.state.table.boxes
    kept = reading == "bets_stay"
    assert boxes[1].stake("play") == (3000 if kept else 0)
    assert boxes[2].folded == (0 if kept else None)
    assert boxes[3].stake("play") == 2000
    returned = felt.all("hand.voided")[0]["returned"]
    closed = felt.all("incident.closed")[-1]
    assert (closed["outcome"], closed["refers"][0]["type"]) == ("redealt", "hand.voided")
    assert returned == ([] if kept else [{"box": 1, "spot": "play", "amount": 3000}])
    felt.deal()
    assert felt.coup.in_deal == ((1, 3) if kept else (1, 2, 3))
    assert [line["dark"] for line in felt.all("hand.started")[-1]["boxes"]] == [False, False, True]
    assert felt.coup.waiting(1) == (() if kept else (1, 2))


@broken("LT-6.8")
def test_lt_6_8_a_card_seen_in_another_box() -> None:
    felt = Boxes().open([1, 2]).bet(1).bet(2).deal("As Ks Qs Js Ts 9s")
    felt.do(CardCame("box", "As", 2))
    assert felt.broken() == ["LT-6.8"]
    assert felt.session.state.held is not None


@broken("LT-1.2")
def test_lt_1_2_the_shoe_says_a_card_twice() -> None:
    felt = Boxes().open([1]).bet(1)
    felt.do(HandAttested())
    felt.do(CardCame("next", "As"))
    felt.do(CardCame("next", "As"))
    assert felt.all("incident.opened")[0]["code"] == "I-11"
    felt.say("rule", incident="I-11", ruling="void")
    assert felt.all("hand.voided")[0]["returned"] == [
        {"box": 1, "spot": "ante", "amount": 1000},
        {"box": 1, "spot": "blind", "amount": 1000},
    ]
