"""Closed cards by structure: nothing card-shaped leaves before its time; other cards change nothing that is told."""

from typing import Any

import pytest

from tests.felt import HR, RS
from tests.leaking import Played, exchange, leaks, opened, replayed, told
from tests.leaking_boxes import BoxAntennas, BoxHand
from tests.leaking_rfid import RfidHand
from tests.leaking_shoe import ShoeHand

HOUSES = {"rs": RS, "hr": HR}


def equal(one: list[Any], other: list[Any]) -> None:
    """Content, order, count and size; the first difference is shown."""
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        assert left == right, f"the first difference is line {number}"
    assert len(one) == len(other)


def hold(played: Played, seed: int) -> None:
    """All that one hand has to show: no leak, and twins that nobody can tell apart."""
    assert leaks(played) == []
    first = exchange(opened(played.records, closed_first=False), seed)
    equal(told(played, to_the_end=False), told(replayed(played, first), to_the_end=False))
    # Cards that nobody ever turned over decide nothing either: such a twin is the same to its very end.
    never = exchange(opened(played.records, closed_first=True), seed)
    equal(told(played, to_the_end=True), told(replayed(played, never), to_the_end=True))


def shoe(seed: int) -> Played:
    house = HOUSES["hr" if seed % 3 == 0 else "rs"]
    return ShoeHand(seed, house, tagged=seed % 2 == 1, wild=(0.0, 0.1, 0.3)[seed % 3]).play()


@pytest.mark.parametrize("block", range(4))
def test_hands_of_a_shoe_table_give_nothing_away(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        hold(shoe(seed), seed)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("block", range(6))
def test_three_thousand_hands_of_a_shoe_table_give_nothing_away(block: int) -> None:
    for seed in range(1000 + block * 500, 1500 + block * 500):
        hold(shoe(seed), seed)


def boxes(seed: int) -> Played:
    return BoxHand(seed, tagged=seed % 2 == 1, wild=(0.0, 0.1, 0.3)[seed // 3 % 3]).play()


@pytest.mark.parametrize("block", range(4))
def test_rounds_of_boxes_give_nothing_away(block: int) -> None:
    for seed in range(block * 12, block * 12 + 12):
        hold(boxes(seed), seed)


def antennas(seed: int) -> Played:
    wild, missed = ((0.0, 0.0), (0.1, 0.0), (0.25, 0.1))[seed // 3 % 3]
    return BoxAntennas(seed, wild=wild, missed=missed).play()


@pytest.mark.parametrize("seed", [1, 4, 7])
@pytest.mark.ci
def test_rounds_of_boxes_with_antennas_give_nothing_away(seed: int) -> None:
    hold(antennas(seed), seed)


def test_most_rounds_without_accidents_come_to_their_settlement() -> None:
    ends = [{record.type for record in boxes(seed).records} for seed in range(0, 90, 9)]
    assert sum("box.settled" in types and "dealer.revealed" in types for types in ends) >= 8


def test_a_closed_card_that_cannot_be_named_is_told_when_its_round_is_over() -> None:
    told = 0
    for seed in range(30):
        records = BoxHand(seed, tagged=False, wild=0.3).play().records
        dealt = {r.data["evidence"][0]["reading"] for r in records if r.type == "card.dealt" and "commit" in r.data}
        faults = [r for r in records if r.type == "device.fault" and r.data["cause"] == "doubtful"]
        named = {source["reading"] for fault in faults for source in fault.data.get("evidence", ())}
        assert not named & dealt
        told += sum("counts" in fault.data and "cards" in fault.data["counts"] for fault in faults)
    assert told


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("block", range(6))
def test_two_thousand_rounds_of_boxes_give_nothing_away(block: int) -> None:
    for seed in range(1000 + block * 340, 1340 + block * 340):
        hold(boxes(seed), seed)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("block", range(6))
def test_many_rounds_of_boxes_with_antennas_give_nothing_away(block: int) -> None:
    for seed in range(1000 + block * 34, 1034 + block * 34):
        hold(antennas(seed), seed)


def rfid(seed: int) -> Played:
    wild, missed = ((0.0, 0.0), (0.1, 0.0), (0.25, 0.1))[seed % 3]
    return RfidHand(seed, HOUSES["hr" if seed % 4 == 0 else "rs"], wild=wild, missed=missed).play()


@pytest.mark.parametrize("block", range(4))
@pytest.mark.ci
def test_hands_of_a_table_with_antennas_give_nothing_away(block: int) -> None:
    for seed in range(block * 3, block * 3 + 3):
        hold(rfid(seed), seed)


def test_cards_of_several_seats_that_leave_one_place_together_are_told_by_seat_and_not_by_card() -> None:
    hold(rfid(1231), 1231)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("block", range(6))
def test_five_hundred_hands_of_a_table_with_antennas_give_nothing_away(block: int) -> None:
    for seed in range(1000 + block * 84, 1084 + block * 84):
        hold(rfid(seed), seed)
