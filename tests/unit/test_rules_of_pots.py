"""Showdown, pots and the time between hands, by the ids of the poker texts: each rule broken once and kept once."""

import pytest

from controller.core.errors import BadCommand
from controller.core.facts import (
    Announced,
    Called,
    CardCame,
    CountsDiffer,
    Declared,
    HandAttested,
    Pushed,
    RakeDropped,
    TrayCounted,
)
from controller.core.rules import pots
from controller.core.rules.profile import Rake
from tests.floors import ANY_STACK, TEXTS, House
from tests.marks import broken, kept, shows
from tests.plays import CUSTOMARY, HOLES, STACKS, begun, calls, dealt, incident, sensed, to_award

# --- showdown ------------------------------------------------------------------------------------------------


@broken("HR-15.1", "HR-A10", "BG-5.27", "BG-A8")
def test_a_hand_that_is_not_opened_at_the_end() -> None:
    for name in ("hr_thp", "bg_holdem_customary"):
        felt = dealt(name)
        for _ in range(3):
            calls(felt).street()
        calls(felt).show(1, 2)
        felt.do(Declared("fold", 3))
        assert [b["reaction"] for b in felt.breaches] == ["FLAG"]


@kept("HR-15.1", "HR-15.2", "HR-15.4", "HR-16.1", "BG-5.27", "BG-5.29", "BG-5.31", "RS-9.8")
@shows("HR-15.3", "HR-19.1", "BG-5.28", "RS-6.1", "RS-6.2", "RS-1.2", "HR-12.3", "BG-3.5", "RS-12.1")
def test_all_open_the_winner_is_announced_and_paid() -> None:
    for name in CUSTOMARY:
        felt = to_award(name)
        assert [t["category"] for t in felt.all("hand.tabled")] == ["pair"] * 3
        felt.do(Announced((1,)))
        felt.do(Pushed(1, 300))
        felt.done()
        assert felt.result() == {1: 5200, 2: 4900, 3: 4900}
        assert not felt.all("breach.noted")
        felt.deal()
        assert len(felt.all("hand.started")) == 2


@shows("HR-A10", "BG-A8", "RS-6.3", "RS-1.2", "RS-A6")
def test_a_last_player_shows_nothing_and_a_loser_may_muck() -> None:
    for name in TEXTS:
        felt = dealt(name).act("f", "f").done()
        assert felt.result()[2] == 5050
        assert not felt.all("hand.tabled")
    felt = dealt("rs_holdem")
    for _ in range(3):
        calls(felt).street()
    calls(felt).show(1)
    felt.do(Declared("fold", 2))
    felt.do(Declared("fold", 3))
    assert not felt.all("breach.noted")


@broken("HR-12.16", "CM-8")
@shows("CM-8")
def test_the_run_out_goes_on_before_hands_are_open() -> None:
    for name in ("hr_thp", "rs_holdem"):
        felt = dealt(name, [5000, 5000]).act("a", "c")
        felt.street()
        assert "FLAG" in [b["reaction"] for b in felt.all("breach.noted")]


@kept("HR-12.14", "HR-12.16", "HR-12.17", "CM-8")
@shows("HR-12.14")
def test_after_an_all_in_both_open_and_the_board_is_run_out() -> None:
    felt = dealt("hr_thp", [5000, 5000]).act("a", "c").show(1, 2).street().street().street()
    felt.do(Announced((1,)))
    felt.do(Pushed(1, 10_000))
    felt.done()
    assert felt.result() == {1: 10_000, 2: 0}
    assert not felt.all("breach.noted")


@broken("HR-15.2")
@shows("HR-15.2")
def test_a_pot_is_pushed_before_anybody_is_announced() -> None:
    felt = to_award("hr_thp")
    felt.do(Pushed(1, 300))
    assert felt.broken == ["HR-15.2"]


@broken("HR-15.2", "HR-15.3", "RS-6.2", "RS-12.1", "BG-5.28")
def test_another_winner_is_announced() -> None:
    for name in CUSTOMARY:
        felt = to_award(name)
        felt.do(Announced((2,)))
        assert incident(felt)[0] == "I-35"


@broken("HR-15.4", "RS-9.8", "BG-5.28", "BG-5.31")
def test_a_pot_goes_to_another_seat() -> None:
    for name in CUSTOMARY:
        felt = to_award(name)
        felt.do(Announced((1,)))
        felt.do(Pushed(2, 300))
        assert incident(felt)[0] == "I-19"


@broken("HR-12.17", "HR-12.15")
def test_after_an_all_in_another_amount_is_pushed() -> None:
    felt = dealt("hr_thp", [5000, 180]).act("r500", "a").show(1, 2).street().street().street()
    felt.do(Announced((1,)))
    felt.do(Pushed(1, 500))
    assert incident(felt) == ("I-19", ["HR-12.17", "HR-12.15", "HR-15.4"])


def side_pots(name: str) -> House:
    """Main pot 900 to seat 1, side pot 1400 to seat 2."""
    felt = dealt(name, [300, 1000, 1000]).act("a", "a", "c").show(1, 2, 3).street().street().street()
    felt.do(Announced((1, 2)))
    return felt


@broken("HR-12.18", "HR-12.19", "RS-9.8", "RS-9.9")
def test_a_side_pot_goes_to_who_did_not_pay_into_it() -> None:
    for name in ("hr_thp", "rs_holdem"):
        felt = side_pots(name)
        felt.do(Pushed(1, 2300))
        assert incident(felt)[0] == "I-19"


@kept("HR-12.15", "HR-12.18", "HR-12.19", "RS-9.8", "RS-9.9")
@shows("HR-12.18", "HR-12.19", "RS-9.8", "RS-9.9", "CM-5", "HR-A14")
def test_every_pot_goes_to_the_best_hand_that_paid_into_it() -> None:
    for name in ("hr_thp", "rs_holdem"):
        felt = side_pots(name)
        felt.do(Pushed(2, 1400))
        felt.do(Pushed(1, 900))
        felt.done()
        assert felt.result() == {1: 900, 2: 1400, 3: 0}
        assert not felt.all("incident.opened")
    layers = pots.layers({1: 50, 2: 120, 3: 300, 4: 300, 5: 20}, 0, [1, 2, 3, 4])
    assert [pot.amount for pot in layers] == [220, 210, 360]


SPLIT = {1: "2c3d", 2: "2d3h", 3: "4c5d"}


def split(name: str) -> House:
    felt = House(name, **ANY_STACK).ready(STACKS).deal(SPLIT, board="AsKsQsJsTs")
    for _ in range(3):
        calls(felt).street()
    calls(felt).show(1, 2, 3)
    return felt


@broken("RS-9.6")
def test_a_split_pot_is_pushed_to_one() -> None:
    felt = split("rs_holdem")
    felt.do(Pushed(1, 300))
    assert incident(felt)[1] == ["RS-9.6"]


@kept("RS-9.6")
@shows("RS-9.6", "RS-5.5", "HR-15.5", "RS-9.7", "CM-6", "HR-A15")
def test_equal_hands_share_the_pot_and_the_odd_chip_goes_left_of_the_button() -> None:
    for name in CUSTOMARY:
        felt = split(name).done()
        assert felt.result() == {1: 5000, 2: 5000, 3: 5000}
    assert pots.split(29, [4, 5, 1], 1) == ({4: 10, 5: 10, 1: 9}, {4: 1, 5: 1})


BOXED = Rake("house", 1, 20, None, 1, False, "down", "rake-1")


@broken("HR-15.4", "BG-5.30", "BG-5.31", "RS-7.8")
def test_a_rake_that_is_wrong_or_not_dropped() -> None:
    for name in CUSTOMARY:
        felt = to_award(name, rake=BOXED)
        felt.do(Announced((1,)))
        felt.do(RakeDropped(14))
        assert incident(felt)[0] == "I-43"
    felt = to_award("bg_holdem_customary", rake=BOXED)
    felt.do(Pushed(1, 285))
    assert felt.broken == ["BG-5.31"]


@kept("HR-15.4", "BG-2.2", "BG-5.30", "BG-5.31", "RS-7.8")
@shows("HR-A16", "BG-A12")
def test_the_rake_goes_into_its_box_and_then_the_winner_is_paid() -> None:
    for name in CUSTOMARY:
        felt = to_award(name, rake=BOXED)
        felt.do(Announced((1,)))
        felt.do(RakeDropped(15))
        felt.do(Pushed(1, 285))
        felt.done()
        assert felt.all("rake.taken")[-1] | {"agrees": True, "box": "rake-1"} == felt.all("rake.taken")[-1]
        assert not felt.all("incident.opened")


@broken("BG-5.29", "BG-2.2", "BG-2.1", "HR-7.1", "HR-6.3", "HR-6.6")
def test_what_only_people_see_is_reported() -> None:
    felt = dealt("bg_holdem")
    felt.say("report", rule="BG-5.29")
    assert felt.breaches[0]["reaction"] == "FLAG"
    for name, rule, code in (
        ("bg_holdem", "BG-2.2", "I-43"),
        ("bg_holdem", "BG-2.1", "I-9"),
        ("hr_thp", "HR-7.1", "I-9"),
        ("hr_thp", "HR-6.3", "I-28"),
    ):
        felt = dealt(name)
        felt.say("report", rule=rule)
        assert incident(felt)[0] == code
        assert felt.session.state.held is not None


@kept("HR-6.3", "HR-6.6")
@shows("HR-6.6")
def test_the_unit_of_account_is_the_chip_at_its_value() -> None:
    felt = dealt("hr_thp")
    felt.do(TrayCounted(((1, 5000),)))
    assert felt.all("tray.counted")[-1]["total"] == 5000
    assert not felt.all("incident.opened")


@broken("HR-11.9", "BG-5.5", "BG-5.20", "HR-12.2")
@shows("BG-5.20")
def test_folded_cards_that_do_not_come_back_are_reported() -> None:
    for name, rules in (("hr_thp", ("HR-11.9", "HR-12.2")), ("bg_holdem", ("BG-5.5", "BG-5.20"))):
        felt = dealt(name)
        for rule in rules:
            felt.say("report", rule=rule)
            assert felt.broken == [rule]


@kept("HR-11.9", "BG-5.5")
@shows("BG-5.20", "RS-7.6", "BG-5.19")
def test_a_fold_gives_up_hand_claim_and_stakes() -> None:
    for name in CUSTOMARY:
        felt = dealt(name).act("r300", "f", "c")
        assert 1 not in felt.hand.live
        assert felt.hand.pot == 650
        assert not felt.all("breach.noted")


@broken("RS-5.3", "RS-1.1", "BG-2.4")
def test_stakes_that_never_reach_the_pot() -> None:
    for name in ("rs_holdem", "bg_holdem"):
        felt = calls(sensed(name))
        felt.do(CountsDiffer("stake", 1, 100, 50))
        assert incident(felt)[0] == "I-15"


# --- between hands -------------------------------------------------------------------------------------------


@broken("HR-16.1", "BG-4.4", "RS-2.1")
def test_the_next_deal_before_the_end_and_the_shuffle() -> None:
    for name in CUSTOMARY:
        felt = dealt(name)
        felt.do(HandAttested())
        assert felt.breaches[0]["reaction"] == "BLOCK"


@kept("BG-4.4", "HR-16.1", "HR-17.1", "RS-2.1")
@shows("HR-17.2", "HR-A21", "BG-A13", "HR-17.1")
def test_each_hand_is_shuffled_and_the_button_moves_on() -> None:
    for name in CUSTOMARY:
        felt = dealt(name)
        for _ in range(3):
            felt.act("f", "f").done().deal()
        assert [h["button"] for h in felt.all("hand.started")] == [3, 1, 2, 3]
        assert [h["small_blind_seat"] for h in felt.all("hand.started")] == [1, 2, 3, 1]
        assert all(h["shuffled"] and h["cut"]["done"] for h in felt.all("hand.started"))


@shows("HR-A21", "CM-18")
def test_the_button_goes_to_an_empty_place() -> None:
    felt = House("hr_thp", **ANY_STACK).ready([5000] * 4).deal().act("f", "f", "f").done()
    felt.say("leave", seat=1)
    felt.deal()
    assert felt.all("hand.started")[-1]["button"] == 1


@shows("HR-22.1", "CM-23", "HR-A25")
@broken("HR-22.1", "CM-23")
def test_who_may_rule_and_what_the_ruling_says() -> None:
    felt = dealt("hr_thp")
    felt.do(Called("misdeal"))
    felt.say("rule", "dealer", "I say so", incident="I-2", ruling="proposed")
    assert felt.breaches[-1] | {"what": "may_not_rule", "reaction": "BLOCK"} == felt.breaches[-1]
    with pytest.raises(BadCommand, match="reason"):
        felt.by("s-3", "chief_inspector", "rule", "", incident="I-2", ruling="proposed")
    felt.by("s-3", "chief_inspector", "rule", "exposed", incident="I-2", ruling="proposed")
    ruled = felt.all("incident.ruled")[0]
    assert (ruled["by"], ruled["reason"]) == ([{"staff": "s-3", "role": "chief_inspector"}], "exposed")
    other = dealt("bg_holdem")
    other.do(Called("misdeal"))
    other.say("rule", "dealer", "I say so", incident="I-2", ruling="proposed")
    assert other.broken == ["CM-23"]


@shows("CM-19")
def test_a_result_is_final_with_substantial_action_of_the_next_hand() -> None:
    felt = dealt("rs_holdem").act("f", "f").done().deal()
    assert not felt.all("hand.final")
    felt.act("r300", "c")
    assert [f["reason"] for f in felt.all("hand.final")] == ["next_hand"]


@shows("CM-24", "RS-11.1", "RS-2.4")
def test_no_closed_card_is_in_any_record_before_it_lies_open() -> None:
    felt = dealt("rs_holdem").act("f", "c", "k").street().act("k", "b500", "f").done()
    told = str([record.data for record in felt.records])
    assert not any(f"'{card}'" in told for hole in HOLES.values() for card in (hole[:2], hole[2:]))
    assert "commit" in felt.all("card.dealt")[0]


@broken("RS-11.1")
def test_remote_play_is_reported_and_bars_the_next_hand() -> None:
    felt = dealt("rs_holdem").act("f", "f").done()
    felt.say("report", rule="RS-11.1")
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    assert felt.broken == ["RS-11.1"]


@shows("CM-7")
def test_who_shows_first() -> None:
    felt = dealt("rs_holdem")
    for _ in range(2):
        calls(felt).street()
    calls(felt).street().act("k", "b500", "c", "c")
    assert felt.all("showdown.started")[0]["order"] == [2, 3, 1]
    quiet = dealt("rs_holdem")
    for _ in range(3):
        calls(quiet).street()
    calls(quiet)
    assert quiet.all("showdown.started")[0]["order"] == [1, 2, 3]


@broken("CM-11b", "CM-11", "HR-22.1")
@shows("CM-11b")
def test_a_card_that_the_dealer_exposes_is_replaced_and_a_second_one_is_a_misdeal() -> None:
    felt = begun("hr_thp")
    for card in ("2c", "3c", "4c", "5c"):
        felt.do(CardCame("next", card))
    felt.say("exposed", seat=1)
    assert [(b["rules"], b["reaction"]) for b in felt.breaches] == [(["CM-11b"], "FLAG")]
    assert felt.all("card.opened")[0] | {"card": "5c", "cause": "exposed_by_dealer"} == felt.all("card.opened")[0]
    for card in ("6c", "7c", "8c"):
        felt.do(CardCame("next", card))
    assert felt.hand.phase == "bet"
    assert [slot.card for slot in felt.hand.own(1)] == ["2c", "8c"]
    assert felt.hand.burned
    calls(felt)
    for card in ("9c", "Tc", "Jc"):
        felt.do(CardCame("next", card))
    assert felt.all("street.opened")[0]["board"] == ["9c", "Tc", "Jc"]
    for already in (1, 4):
        other = begun("hr_thp")
        for card in ("2c", "3c", "4c", "5c", "6c")[:already]:
            other.do(CardCame("next", card))
        other.say("exposed", seat=1)
        if already > 1:
            other.do(CardCame("next", "6c"))
            other.say("exposed", seat=2)
        assert incident(other)[0] == "I-2"
