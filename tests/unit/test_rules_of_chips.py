"""Chips and words at the table, by the ids of the poker texts: each rule broken once and kept once."""

from typing import Any

from controller.core.facts import CardCame, Declared, HandAttested, StakePlaced
from controller.core.setup import Limits
from tests.floors import ANY_STACK, TEXTS, House
from tests.houses import house
from tests.marks import broken, kept, shows

CUSTOMARY = ("hr_thp", "bg_holdem_customary", "rs_holdem")
STACKS = [5000] * 4


def dealt(name: str, stacks: list[int] | None = None, **change: Any) -> House:
    """A hand with all closed cards out; seat 1 is the small blind, the button is on the last seat."""
    return House(name, **(ANY_STACK | change)).ready(stacks or STACKS).deal()


# --- chips that speak for themselves --------------------------------------------------------------------------


def sensed(name: str, stacks: list[int] | None = None) -> House:
    """A table of antennas whose hand is dealt: chips are staked by moving them."""
    felt = House(name, kind="rfid", **ANY_STACK).ready(stacks or STACKS)
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    felt.do(StakePlaced(1, 50))
    felt.do(StakePlaced(2, 100))
    for turn in range(2):
        for seat in felt.hand.order:
            felt.do(CardCame("seat", f"{'23456789'[seat + 4 * turn - 1]}{'cd'[turn]}", seat))
    return felt


@broken("HR-11.2", "HR-11.3", "BG-5.1", "BG-5.2", "RS-2.2")
def test_blinds_from_other_seats_start_nothing() -> None:
    for name in TEXTS:
        felt = House(name, kind="rfid", **ANY_STACK).ready(STACKS)
        felt.session.seed(bytes(32))
        felt.do(HandAttested())
        felt.do(StakePlaced(3, 50))
        assert felt.session.state.hand is None
        assert felt.broken


@broken("RS-2.5")
def test_heads_up_the_small_blind_is_not_on_the_button() -> None:
    felt = House("rs_holdem", kind="rfid").ready([5000, 5000])
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    felt.do(StakePlaced(1, 50))
    assert felt.broken == ["RS-2.5"]


@kept("HR-2.1", "HR-11.2", "HR-11.3", "HR-11.4", "BG-5.1", "BG-5.2", "BG-5.3", "RS-2.2", "RS-2.3")
def test_blinds_of_the_right_seats_start_the_hand() -> None:
    for name in TEXTS:
        felt = sensed(name)
        assert [(b["seat"], b["kind"]) for b in felt.all("blind.posted")] == [(1, "small"), (2, "big")]
        assert felt.hand.phase == "bet"


@broken("HR-2.1", "RS-2.3", "BG-2.4")
def test_chips_that_are_no_stake() -> None:
    for name in TEXTS:
        felt = sensed(name)
        felt.do(StakePlaced(3, 60))
        assert felt.broken
        assert not felt.taken


@broken("HR-12.11", "HR-12.13", "CM-16")
def test_a_call_and_then_more_chips() -> None:
    for name in ("hr_thp", "rs_holdem"):
        felt = sensed(name)
        felt.do(StakePlaced(3, 100))
        felt.do(StakePlaced(3, 300, movements=2))
        assert felt.all("bet.returned")[-1] | {"amount": 200, "cause": "string_bet"} == felt.all("bet.returned")[-1]
        assert felt.hand.bet[3] == 100


@broken("HR-12.9", "CM-17")
def test_chips_that_could_be_a_call_or_a_raise() -> None:
    felt = sensed("hr_thp")
    felt.do(StakePlaced(3, 160, chips=3))
    assert felt.all("incident.opened")[0]["code"] == "I-22"


@kept("HR-12.7", "HR-12.8", "HR-12.9", "HR-12.11", "HR-12.13", "CM-16", "CM-17")
@shows("HR-A26", "CM-17")
def test_raises_spoken_with_or_without_a_number_and_in_silence() -> None:
    felt = sensed("hr_thp")
    felt.do(StakePlaced(3, 300, spoken=Declared("raise", 3, 300)))
    felt.do(StakePlaced(4, 600, spoken=Declared("raise", 4)))
    felt.do(StakePlaced(1, 1000, chips=3))
    assert [a["to"] for a in felt.all("action.taken")] == [300, 600, 1000]
    assert felt.all("action.taken")[-1]["added"] == 950  # the blind before it is part of the total


@broken("HR-12.7", "HR-12.8", "HR-12.9", "HR-12.10")
@shows("HR-12.12")
def test_what_is_said_wrong_is_reported() -> None:
    felt = dealt("hr_thp")
    for rule in ("HR-12.7", "HR-12.8", "HR-12.9", "HR-12.10", "HR-12.12"):
        felt.say("report", rule=rule, seat=3)
        assert felt.breaches[0] | {"rules": [rule], "reaction": "FLAG", "seat": 3} == felt.breaches[0]


@kept("HR-12.10")
def test_a_raise_said_as_a_raise() -> None:
    assert not dealt("hr_thp").act("r300").all("breach.noted")


@shows("HR-9.5", "HR-A12")
def test_who_leaves_in_a_hand_folds() -> None:
    felt = dealt("hr_thp")
    felt.say("leave", seat=3)
    assert felt.all("action.taken")[-1] | {"kind": "fold", "seat": 3} == felt.all("action.taken")[-1]
    assert felt.all("action.taken")[-1]["read_as"] == "HR-9.5"


@shows("CM-10")
def test_substantial_action() -> None:
    felt = dealt("rs_holdem").act("f")
    assert not felt.hand.substantial
    felt.act("r300")
    assert felt.hand.substantial
    folds = dealt("rs_holdem").act("f", "f")
    assert not folds.hand.substantial


@shows("BG-A10", "RS-A8", "HR-A3")
def test_the_structure_is_a_setting_of_the_table() -> None:
    felt = House("hr_thp", Limits(50, 100, structure="pot_limit"), **ANY_STACK).ready(STACKS).deal()
    assert felt.legal.max_to == 350
    assert house("rs_omaha").structure == "pot_limit"
    bulgarian = House("bg_holdem").ready([1000, 1000])
    bulgarian.say("settings", limits={"small_blind": 50, "big_blind": 100, "structure": "pot_limit"})
    assert bulgarian.all("settings.changed")[0]["by"]["role"] == "manager"
