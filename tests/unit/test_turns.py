"""Out of turn, leaving in a hand, and what a refusal says (CM-15, HR-A12, I-20, I-44; rules.md 9.2)."""

import pytest

from controller.core.errors import BadCommand
from controller.core.facts import Declared
from tests.felt import HR, Felt, setup
from tests.houses import house

RS = house("rs_holdem")


def four() -> Felt:
    return Felt(setup()).open([5000] * 4).deal()  # button 4: seat 3 acts first


def test_out_of_turn_is_flagged_and_backed_up() -> None:
    felt = four()
    felt.do(Declared("call", 1))
    refused, breach = felt.last
    assert refused.type == "action.refused"
    assert (breach.data["rules"], breach.data["reaction"]) == (["RS-3.2", "RS-3.4", "CM-15"], "FLAG")
    assert breach.data["asked"] == (
        "seat 1 was to call, but seat 3 is to act; seat 3 may fold, call 100 or raise to 200-5000"
    )
    assert felt.legal.seat == 3
    assert not felt.all("incident.opened")


def test_what_was_said_out_of_turn_binds_while_nothing_has_changed() -> None:
    felt = four()
    felt.do(Declared("call", 1))
    felt.act("c", "c")
    breach = felt.refused("r300")
    assert breach["rules"] == ["CM-15"]
    assert "binds it to call" in breach["asked"]
    felt.act("c")


def test_a_raise_before_it_sets_the_seat_free() -> None:
    felt = four()
    felt.do(Declared("call", 1))
    felt.act("c", "r300")
    assert felt.legal.seat == 1
    felt.act("f")


def test_a_fold_out_of_turn_is_binding_at_once() -> None:
    felt = four()
    felt.do(Declared("fold", 1))
    taken = felt.all("action.taken")[0]
    assert (taken["seat"], taken["in_turn"], taken["read_as"]) == (1, False, "CM-15")
    assert felt.legal.seat == 3
    felt.act("f", "f")
    assert felt.hand.phase == "award"
    assert felt.hand.pots[0]["winners"] == [{"seat": 2, "amount": 100}]


def test_the_last_opponent_folds_out_of_turn_and_the_round_is_over() -> None:
    felt = Felt(setup()).open([5000, 5000]).deal()
    felt.do(Declared("fold", 1))
    assert felt.hand.phase == "award"


def test_somebody_behind_acts_on_it_and_a_person_has_to_rule() -> None:
    felt = four()
    felt.do(Declared("call", 4))
    felt.do(Declared("call", 1))
    opened = felt.all("incident.opened")[0]
    assert (opened["code"], opened["holds"], opened["facts"]) == ("I-20", "hand", {"skipped": 3})
    assert opened["seats"] == [4, 1]
    felt.refused("c")
    felt.say("rule", incident="I-20", ruling="proposed")
    assert felt.legal.seat == 3
    felt.act("c", "c", "c", "k")


def test_chips_that_lay_there_early_count_when_the_turn_comes() -> None:
    felt = four()
    felt.do(Declared("call", 4, 100, basis="sensor"))
    felt.act("c")
    assert [(a["seat"], a["kind"]) for a in felt.all("action.taken")] == [(3, "call"), (4, "call")]
    assert felt.all("action.taken")[-1]["read_as"] == "CM-15"
    assert felt.legal.seat == 1


# --- leaving -------------------------------------------------------------------------------------------------


def test_hr_a12_who_leaves_in_turn_folds_at_once() -> None:
    felt = Felt(setup(profile=HR)).open([5000] * 4).deal()
    felt.say("leave", seat=3)
    taken = felt.all("action.taken")[-1]
    assert (taken["seat"], taken["kind"], taken["read_as"]) == (3, "fold", "HR-9.5")
    assert felt.legal.seat == 4
    felt.act("f", "f").done()
    assert sorted(felt.session.state.seats) == [1, 2, 4]


def test_hr_a12_who_leaves_before_the_turn_folds_when_it_comes() -> None:
    felt = Felt(setup(profile=HR)).open([5000] * 4).deal()
    felt.say("leave", seat=2)
    assert felt.all("action.taken") == []
    felt.act("r300", "f", "f")
    assert [(a["seat"], a["kind"]) for a in felt.all("action.taken")][-1] == (2, "fold")
    assert felt.hand.phase == "award"
    felt.done()
    assert felt.result()[3] == 5150
    with pytest.raises(BadCommand):
        felt.say("away", seat=2)


def test_hr_a12_an_all_in_hand_is_not_folded() -> None:
    felt = Felt(setup(profile=HR)).open([5000, 5000, 400]).deal({3: "AsAh", 1: "2c3d", 2: "4c5d"}, board="KsKhKd9s9h")
    felt.act("a")
    felt.say("leave", seat=3)
    felt.act("c", "f").show(1, 3).street().street().street().done()
    closed = {line["seat"]: line for line in felt.all("hand.closed")[-1]["result"]["seats"]}
    assert closed[3]["out"] == 900
    assert 3 not in felt.session.state.seats


def test_the_blind_that_left_folds_on_the_next_street_too() -> None:
    felt = Felt(setup()).open([5000] * 3).deal().act("c", "c", "k")
    felt.say("leave", seat=1)
    felt.street()
    assert [(a["seat"], a["kind"]) for a in felt.all("action.taken")][-1] == (1, "fold")
    assert felt.legal.seat == 2


# --- one sentence --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "tried", "told"),
    [
        ([], "k", "seat 3 was to check, but 100 are owed and nobody may check; seat 3 may fold, call 100 or raise to"),
        ([], "r150", "seat 3 was to raise to 150, but a raise goes to at least 200; seat 3 may"),
        ([], "r9000", "seat 3 was to raise to 9000, but only chips in front of the player play, at most 5000; seat 3"),
        (["r300", "c", "c"], "b900", "seat 2 was to bet 900, but a bet of 300 stands already; seat 2 may fold, call"),
    ],
)
def test_a_breach_says_what_happened_what_is_asked_and_what_may_be_done(
    words: list[str], tried: str, told: str
) -> None:
    felt = four().act(*words)
    breach = felt.refused(tried)
    assert breach["asked"].startswith(told), breach["asked"]
    assert breach["allowed_now"][0]["kind"] == "fold"
