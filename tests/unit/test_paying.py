"""The end of a hand: announced, raked, pushed, tipped, held against the award (C20, HR-15, BG-5.30, I-19, I-35)."""

from typing import Any

import pytest

from controller.core.errors import BadCommand
from controller.core.facts import Announced, Pushed, RakeDropped, Tipped
from controller.core.rules import pots
from controller.core.rules.profile import Rake
from controller.faults import BadConfiguration
from tests.felt import Felt, setup
from tests.houses import house

HOLES = {1: "AsAh", 2: "KsKh", 3: "QsQh"}
BOARD = "2c3d4h9s8c"
BG_RAKE: dict[str, Any] = {
    "rake__rate": "5%",
    "rake__box": "rake-1",
    "approvals": [{"of": "rake", "authority": "the house", "reference": "17-1-4", "date": "2026-01-01"}],
}


def awarded(profile: Any, stacks: tuple[int, ...] = (5000, 5000, 5000), unit: int = 1) -> Felt:
    """Seat 1 has won 900 at the showdown, everybody has shown."""
    felt = Felt(setup(profile=profile, unit=unit)).open(list(stacks)).deal(HOLES, board=BOARD)
    felt.act("r300", "c", "c").street().act("k", "k", "k").street()
    if profile.open_late_rounds == "duty":
        felt.act("b100", "c", "c").street().act("b100", "c", "c")
    else:
        felt.act("k", "k", "k").street().act("k", "k", "k")
    return felt.show(1, 2, 3)


HR, RS = house("hr_thp"), house("rs_holdem")


# --- rake ----------------------------------------------------------------------------------------------------


def test_c20_the_cap_is_for_the_hand_and_the_uncalled_part_is_never_raked() -> None:
    profile = house("rs_holdem", rake__rate="5%", rake__cap=30)
    felt = Felt(setup(profile=profile)).open([300, 5000, 5000]).deal(HOLES, board=BOARD)
    felt.act("r300", "a", "c").street().act("b500", "c").street().act("k", "k").street().act("b4000", "f").show(1)
    if felt.hand.phase == "showdown":
        felt.show(2)
    rake = felt.all("rake.taken")[0]
    assert (rake["base"], rake["computed"], rake["by_pot"]) == (900 + 1000, 30, [30, 0])
    felt.done()
    closed = felt.all("hand.closed")[0]["result"]
    assert closed["rake"] == 30
    assert sum(s["in"] for s in closed["seats"]) == sum(s["out"] for s in closed["seats"]) + 30


@pytest.mark.parametrize(
    ("amount", "rounding", "mode", "cap", "due"),
    [
        (1910, 1, "down", None, 95),
        (1910, 1, "up", None, 96),
        (1910, 1, "nearest", None, 96),
        (1900, 1, "up", None, 95),
        (1910, 50, "down", None, 50),
        (1910, 50, "nearest", None, 100),
        (1910, 50, "up", None, 100),
        (1910, 50, "up", 60, 60),
        (10, 50, "up", None, 10),
        (0, 50, "up", None, 0),
    ],
)
def test_rake_is_rounded_as_the_house_says(amount: int, rounding: int, mode: Any, cap: int | None, due: int) -> None:
    assert pots.rake_due(amount, Rake("h", 1, 20, cap, rounding, rounding_mode=mode)) == due


def test_no_flop_no_drop() -> None:
    profile = house("rs_holdem", rake__rate="5%", rake__no_flop=True)
    felt = Felt(setup(profile=profile)).open([5000] * 3).deal().act("r300", "f", "f")
    assert felt.all("rake.taken")[0] | {"computed": 0, "exempt": "no_flop"} == felt.all("rake.taken")[0]


def test_bg_5_30_the_rake_goes_into_its_box_and_then_the_rest_to_the_winner() -> None:
    felt = awarded(house("bg_holdem", **BG_RAKE))
    assert felt.all("rake.taken") == []
    assert (felt.session.due().what, felt.session.due().amount) == ("rake", 75)
    felt.do(Pushed(1, 1425))
    assert [b["rules"][0] for b in felt.all("breach.noted")] == ["BG-5.31"]
    felt.do(RakeDropped(75))
    assert felt.all("rake.taken")[0] | {"dropped": 75, "agrees": True, "box": "rake-1"} == felt.all("rake.taken")[0]
    felt.done()
    assert felt.result()[1] == 5000 - 500 + 1425


def test_bg_5_30_another_amount_is_held_until_it_is_put_right() -> None:
    felt = awarded(house("bg_holdem", **BG_RAKE))
    felt.say("rake", amount=50)
    opened = felt.all("incident.opened")[0]
    assert (opened["code"], opened["rules"], opened["holds"]) == ("I-43", ["BG-5.30"], "hand")
    felt.done()
    assert not felt.all("hand.closed")
    felt.say("rule", "inspector", "counted again", incident="I-43", ruling="proposed")
    felt.say("rake", amount=75)
    felt.done()
    assert felt.all("hand.closed")[0]["result"]["rake"] == 75


def test_bg_2_3_a_rake_without_its_approval_is_no_configuration() -> None:
    with pytest.raises(BadConfiguration, match=r"BG-2\.3"):
        house("bg_holdem", rake__rate="5%")


# --- the winner ----------------------------------------------------------------------------------------------


def test_hr_15_2_the_winner_is_announced_before_the_push() -> None:
    felt = awarded(HR)
    assert felt.session.due().what == "announce"
    felt.do(Pushed(1, 900))
    assert felt.all("breach.noted")[-1] | {"rules": ["HR-15.2"], "reaction": "FLAG"} == felt.all("breach.noted")[-1]
    felt = awarded(HR)
    felt.do(Announced((1,)))
    assert felt.all("winner.announced")[0] | {"seats": [1], "agrees": True} == felt.all("winner.announced")[0]
    felt.do(Pushed(1, 900))
    felt.done()
    assert felt.result()[1] == 5600
    assert not felt.all("breach.noted")


def test_done_attests_the_announcement_where_nobody_keyed_it() -> None:
    felt = awarded(HR).done()
    types = [record.type for record in felt.last]
    assert types[:2] == ["winner.announced", "award.paid"]


def test_i_35_another_winner_is_held_before_the_push() -> None:
    """A real final table: the board A Q 6 J 6 split J-T and K-J, one player was paid."""
    felt = Felt(setup(profile=HR)).open([5000, 5000]).deal({1: "JhTh", 2: "KdJd"}, board="AsQc6dJc6h")
    felt.act("c", "k").street().act("k", "k").street().act("k", "k").street().act("k", "k").show(1, 2)
    felt.say("announce", seats=[2])
    opened = felt.all("incident.opened")[0]
    assert (opened["code"], opened["facts"]) == ("I-35", {"announced": [2], "computed": [1, 2]})
    felt.do(Pushed(2, 200))
    assert felt.last[-1].type == "action.refused"
    felt.say("rule", "chief_inspector", "both have J J 6 6 A", incident="I-35", ruling="proposed")
    felt.say("announce", seats=[1, 2])
    felt.done()
    assert felt.result() == {1: 5000, 2: 5000}


def test_the_award_is_computed_and_announced_from_tabled_hands_only() -> None:
    felt = Felt(setup(profile=RS)).open([5000] * 3).deal(HOLES, board=BOARD)
    felt.act("r300", "c", "c").street().act(*"kkk").street().act(*"kkk").street().act(*"kkk").show(2)
    felt.do(Announced((2,)))
    refused, breach = felt.last
    assert refused.type == "action.refused"
    assert refused.data["why"] == "hands of seats [1, 3] are shown or given up first"
    assert breach.data["rules"] == ["RS-6.1"]
    felt.do_muck(1).do_muck(3)  # seat 1 would have won; nothing says so
    assert felt.hand.pots[0]["winners"] == [{"seat": 2, "amount": 900}]
    assert not felt.all("incident.opened")


# --- the push ------------------------------------------------------------------------------------------------


def test_i_19_a_push_to_another_seat_is_held() -> None:
    felt = awarded(RS)
    felt.do(Pushed(2, 900))
    opened = felt.all("incident.opened")[0]
    assert (opened["code"], opened["rules"][0], opened["facts"]) == (
        "I-19",
        "RS-9.8",
        {"seat": 2, "due": 0, "seen": 900},
    )
    felt.say("rule", incident="I-19", ruling="proposed")
    assert felt.all("incident.closed")[-1]["outcome"] == "corrected"
    felt.do(Pushed(1, 900))
    felt.done()
    assert felt.result() == {1: 5600, 2: 4700, 3: 4700}


def test_i_19_a_ruling_against_the_rules_is_recorded_not_refused() -> None:
    felt = awarded(HR)
    felt.do(Announced((1,)))
    felt.do(Pushed(2, 900))
    felt.say("rule", "manager", "the player has left", incident="I-19", ruling="stands")
    ruled = felt.all("incident.ruled")[0]
    assert ruled["against_rules"] == ["HR-15.4", "HR-12.19"]
    felt.done()
    assert felt.result() == {1: 4700, 2: 5600, 3: 4700}


def test_i_19_a_push_that_is_too_small_is_held_at_the_end() -> None:
    felt = awarded(RS)
    felt.do(Pushed(1, 800))
    felt.done()
    assert felt.all("incident.opened")[0]["facts"] == {"seat": 1, "due": 900, "seen": 800}


def test_side_pots_are_paid_before_the_main_pot() -> None:
    felt = Felt(setup(profile=RS)).open([300, 5000, 5000]).deal(HOLES, board=BOARD)
    felt.act("r300", "a", "c").street().act("b500", "c").street().act("k", "k").street().act("k", "k").show(1, 2, 3)
    felt.done()
    assert [(p["pot"], p["seat"]) for p in felt.all("award.paid")] == [(1, 2), (0, 1)]


def test_bg_5_29_the_pot_is_counted_when_all_cards_are_turned() -> None:
    felt = Felt(setup(profile=house("bg_holdem_customary"))).open([5000] * 2).deal(HOLES, board=BOARD)
    felt.act("c", "k").street().act(*"kk").street().act(*"kk").street().act(*"kk").show(1)
    felt.do(RakeDropped(5))
    assert felt.all("breach.noted")[-1]["rules"] == ["BG-5.29"]


# --- tips ----------------------------------------------------------------------------------------------------


def test_a_tip_comes_out_of_what_was_won() -> None:
    felt = awarded(RS)
    felt.do(Tipped(2, 25))
    assert felt.last[-1].type == "action.refused"
    felt.do(Tipped(1, 25))
    felt.say("tip", seat=1, amount=50)
    felt.done()
    result = felt.all("hand.closed")[0]["result"]
    assert result["tips"] == 75
    assert felt.result()[1] == 5600 - 75
    assert sum(s["in"] for s in result["seats"]) == sum(s["out"] for s in result["seats"]) + result["tips"]


def test_amounts_and_seats_are_said_right() -> None:
    felt = awarded(RS)
    for name, args in (("tip", {"seat": 1, "amount": -1}), ("rake", {}), ("announce", {"seats": [9]}), ("push", {})):
        with pytest.raises(BadCommand):
            felt.say(name, **args)
