"""Chips that speak for themselves under each structure: nothing is refused, it is reinterpreted (CM-15 to CM-17)."""

from typing import Any

import pytest

from controller.core.facts import Declared, StakePlaced
from tests.felt import Felt, setup
from tests.houses import house

RS = house("rs_holdem")


def table(profile: Any = RS, count: int = 4) -> Felt:
    return Felt(setup(profile=profile)).open([5000] * count).deal()  # the button has the highest seat


def chips(felt: Felt, seat: int, total: int, movements: int = 1, **more: Any) -> list[str]:
    felt.do(StakePlaced(seat, total, movements, **more))
    return [record.type for record in felt.last]


def breach(felt: Felt) -> Any:
    return felt.all("breach.noted")[-1]


def test_hr_11_8_a_fourth_raise_stands_as_a_call() -> None:
    felt = Felt(setup(profile=house("hr_thp"), blinds=(5, 10))).open([1000] * 2).deal().act("r20", "r30", "r40")
    chips(felt, felt.legal.seat, 80)
    taken = felt.all("action.taken")[-1]
    assert (taken["kind"], taken["to"], taken["read_as"]) == ("call", 40, "HR-11.8")
    assert felt.all("bet.returned")[-1] | {"amount": 40, "cause": "irregular"} == felt.all("bet.returned")[-1]
    assert breach(felt)["rules"][0] == "HR-11.8"


@pytest.mark.parametrize(
    ("profile", "most", "rule"),
    [
        (house("rs_holdem", structure="pot_limit"), 350, "RS-7.12"),
        (house("bg_holdem", structure="pot_limit"), 150, "BG-6.2"),
        (house("rs_holdem", structure="fixed_limit"), 200, "RS-7.11"),
    ],
)
def test_what_exceeds_the_structure_goes_back(profile: Any, most: int, rule: str) -> None:
    felt = table(profile)
    chips(felt, 3, 900, chips=4)
    taken = felt.all("action.taken")[-1]
    assert (taken["kind"], taken["to"], taken["read_as"]) == ("raise", most, rule)
    assert felt.all("bet.returned")[-1]["amount"] == 900 - most
    assert breach(felt)["rules"][0] == rule


def test_hr_12_11_two_movements_are_a_call_and_the_rest_goes_back() -> None:
    felt = table(house("hr_thp"))
    chips(felt, 3, 100)
    chips(felt, 3, 300, 2)
    assert [(a["kind"], a["to"]) for a in felt.all("action.taken")] == [("call", 100)]
    assert felt.all("bet.returned")[-1] | {"amount": 200, "cause": "string_bet"} == felt.all("bet.returned")[-1]
    assert breach(felt)["rules"] == ["HR-12.11", "HR-12.13"]
    assert felt.legal.seat == 4


def test_hr_12_12_the_next_player_acted_on_a_string_bet() -> None:
    felt = table(house("hr_thp"))
    chips(felt, 3, 100)
    chips(felt, 4, 100)
    chips(felt, 3, 300, 2)
    assert breach(felt)["rules"] == ["HR-12.12", "HR-12.11", "HR-12.13"]


@pytest.mark.parametrize(("total", "back"), [(700, 200), (300, None)])
def test_hr_12_7_what_was_said_first_counts(total: int, back: int | None) -> None:
    felt = table(house("hr_thp"))
    chips(felt, 3, total, spoken=Declared("raise", 3, 500))
    taken = felt.all("action.taken")[-1]
    assert (taken["to"], taken["read_as"], taken["declared"]) == (500, "HR-12.7", {"kind": "raise", "number": 500})
    assert [r["amount"] for r in felt.all("bet.returned")] == ([] if back is None else [back])
    assert breach(felt)["rules"] == ["HR-12.7", "CM-17"]


def test_cm_17_one_oversized_chip_without_words_is_a_call() -> None:
    felt = table()
    chips(felt, 3, 500, chips=1)
    assert [(a["kind"], a["to"], a["read_as"]) for a in felt.all("action.taken")] == [("call", 100, "CM-17")]
    felt = table()
    chips(felt, 3, 500, chips=1, spoken=Declared("raise", 3))
    assert [(a["kind"], a["to"]) for a in felt.all("action.taken")] == [("raise", 500)]


def test_cm_15_chips_out_of_turn_bind_and_count_when_the_turn_comes() -> None:
    felt = table()
    assert chips(felt, 4, 100) == ["action.refused", "breach.noted"]
    assert breach(felt)["reaction"] == "FLAG"
    assert felt.legal.seat == 3
    chips(felt, 3, 100)
    assert [(a["seat"], a["kind"], a.get("read_as")) for a in felt.all("action.taken")] == [
        (3, "call", None), (4, "call", "CM-15"),
    ]  # fmt: skip


def test_cm_15_chips_that_are_taken_back_bind_nobody() -> None:
    felt = table()
    chips(felt, 4, 100)
    assert chips(felt, 4, 0) == ["bet.returned"]
    chips(felt, 3, 100)
    assert felt.legal.seat == 4
    felt.act("f")


def test_cm_15_a_raise_before_it_frees_the_chips() -> None:
    felt = table()
    chips(felt, 4, 100)
    chips(felt, 3, 300, chips=3)
    assert felt.legal.seat == 4
    felt.act("f")


@pytest.mark.parametrize("said", [150, 50_000])
def test_words_that_cannot_stand_with_other_chips_are_for_a_person(said: int) -> None:
    felt = table()
    chips(felt, 3, 100, spoken=Declared("raise", 3, said))
    assert not felt.all("action.taken")
    assert [i["code"] for i in felt.all("incident.opened")] == ["I-22"]
    felt.say("rule", incident="I-22", ruling="call")
    assert [(a["kind"], a["to"]) for a in felt.all("action.taken")] == [("call", 100)]


def test_more_chips_than_a_spoken_call_go_back_and_it_is_noted() -> None:
    felt = table(house("hr_thp"))
    chips(felt, 3, 300, spoken=Declared("call", 3))
    assert [(a["kind"], a["to"]) for a in felt.all("action.taken")] == [("call", 100)]
    assert [(r["amount"], r["cause"]) for r in felt.all("bet.returned")] == [(200, "change")]
    assert breach(felt)["rules"][0] == "HR-12.7"
