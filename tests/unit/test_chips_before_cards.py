"""Chips and words that came before the cards they follow, and blinds that are more or less than is due."""

import pytest

from controller.core.session import Session
from tests.unit.test_rfid_table import Rfid, _started


def _but_the_last_card() -> Rfid:
    table = Rfid()
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    for card, seat in (("As", 1), ("Ks", 2), ("7c", 3), ("Ah", 1), ("Kh", 2)):
        table.slide(card, f"seat:{seat}")
    return table


@pytest.mark.parametrize("late", [0, 200, 600, 1200, 4000, 20_000])
def test_chips_that_lie_before_the_last_card_is_read_are_judged_once_it_is(late: int) -> None:
    table = _but_the_last_card()
    table.bet(3, 1000, wait=late)
    table.slide("2d", "seat:3", 4000)
    assert table.actions() == [(3, "call", 1000)]
    assert table.troubles() == []


@pytest.mark.parametrize("late", [200, 1200, 4000, 20_000, 45_000])
def test_words_that_came_before_the_last_card_go_with_their_chips(late: int) -> None:
    table = _but_the_last_card()
    table.key("RAISE", "60", "ENTER")
    table.bet(3, 1000, 1000, 1000, wait=late)
    table.slide("2d", "seat:3", 4000)
    assert table.actions() == [(3, "raise", 3000)]
    assert table.all("action.refused") == []
    assert [breach["what"] for breach in table.all("breach.noted")] == ["chips_loose"] * (late > 30_000)


def test_words_of_the_deal_that_no_chips_follow_are_refused() -> None:
    table = _but_the_last_card()
    table.key("CALL", "CHECK")
    table.run(31_000)
    assert [refused["tried"]["kind"] for refused in table.all("action.refused")] == ["check", "call"]


def test_stakes_before_the_last_card_are_told_in_turn_and_a_check_after_them() -> None:
    table = _but_the_last_card()
    table.bet(3, 1000, wait=1000)
    table.bet(1, 500, wait=1000)
    table.key("CHECK")
    table.run(500)
    table.slide("2d", "seat:3", 4000)
    assert table.actions() == [(3, "call", 1000), (1, "call", 1000), (2, "check", 1000)]
    assert table.troubles() == []


def test_chips_whose_cards_never_come_are_told_once_and_count_in_full_later() -> None:
    table = _but_the_last_card()
    table.bet(3, 1000, wait=70_000)
    told = table.all("breach.noted")
    assert [(breach["what"], breach["seat"]) for breach in told] == [("chips_loose", 3)]
    assert "1000" in told[0]["asked"]
    table.bet(3, 1000, 1000)
    assert not table.actions()
    table.slide("2d", "seat:3", 4000)
    assert table.actions() == [(3, "raise", 3000)]


def test_a_string_before_the_last_card_is_a_string_after_it() -> None:
    table = _but_the_last_card()
    table.bet(3, 1000)
    table.bet(3, 1000)
    table.slide("2d", "seat:3", 4000)
    assert table.actions() == [(3, "call", 1000)]
    assert [(back["seat"], back["amount"], back["cause"]) for back in table.all("bet.returned")] == [
        (3, 1000, "string_bet")
    ]
    assert [breach["what"] for breach in table.all("breach.noted")] == ["string_bet"]


def test_chips_in_several_movements_make_up_what_was_said_before_the_last_card() -> None:
    table = _but_the_last_card()
    table.key("RAISE", "60", "ENTER")
    table.bet(3, 1000)
    table.bet(3, 1000, 1000)
    table.slide("2d", "seat:3", 4000)
    assert table.actions() == [(3, "raise", 3000)]
    assert table.troubles() == []


def test_chips_that_went_back_before_the_cards_came_count_for_nothing() -> None:
    table = _but_the_last_card()
    table.bet(3, 1000)
    table.put(table.chips("bet:3", 1000), "stack:3")
    table.run(2500)
    table.slide("2d", "seat:3", 4000)
    assert not table.actions()
    assert table.troubles() == []


@pytest.mark.parametrize("late", [600, 4000, 20_000, 45_000])
def test_chips_that_lie_before_the_last_card_of_the_flop_is_read_are_judged_once_it_is(late: int) -> None:
    table = _started()
    table.bet(3, 1000)
    table.bet(1, 500)
    table.key("CHECK")
    table.run(1000)
    for seat in (1, 2, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(2000)
    for card, place in (("2c", "burn"), ("3c", "board"), ("9d", "board")):
        table.slide(card, place)
    table.bet(1, 1000, 1000, wait=late)
    table.slide("Ts", "board", 4000)
    assert table.actions()[3:] == [(1, "bet", 2000)]
    assert [breach["what"] for breach in table.all("breach.noted")] == ["chips_loose"] * (late > 30_000)


@pytest.mark.parametrize("first", [1, 2])
def test_of_a_blind_that_is_too_large_what_is_due_counts_and_the_rest_goes_back(first: int) -> None:
    table = Rfid()
    table.open()
    for seat in (first, 3 - first):
        table.bet(seat, 1000)
    table.deal({1: "AsAh", 2: "KsKh", 3: "7c2d"})
    posted = [(blind["seat"], blind["kind"], blind["amount"]) for blind in table.all("blind.posted")]
    assert sorted(posted) == [(1, "small", 500), (2, "big", 1000)]
    assert [(back["seat"], back["amount"], back["cause"]) for back in table.all("bet.returned")] == [(1, 500, "change")]
    table.bet(3, 1000)
    assert table.actions() == [(3, "call", 1000)]  # nothing more is asked of the small blind before its turn
    table.key("CALL")
    table.run(2000)
    assert table.actions()[1:] == [(1, "call", 1000)]  # what was not given back is its call, once it says so


def test_a_blind_that_is_short_is_asked_for_and_posted_when_it_is_made_up() -> None:
    table = Rfid()
    table.open((5000, 1000, 1000, 500, 500, 100, 100, 100, 100, 100))
    table.bet(2, 1000)
    table.bet(1, 100, 100)
    assert [breach["what"] for breach in table.all("breach.noted")] == ["blind_not_due"]
    table.deal({1: "AsAh", 2: "KsKh", 3: "7c2d"})
    table.bet(1, 100, 100, 100)
    assert [(blind["seat"], blind["kind"]) for blind in table.all("blind.posted")] == [(2, "big"), (1, "small")]
    table.bet(3, 1000)
    table.bet(1, 500)
    assert table.actions() == [(3, "call", 1000), (1, "call", 1000)]


def test_chips_that_lay_there_before_the_blinds_count_when_a_stake_is_due() -> None:
    table = Rfid()
    table.open()
    table.bet(3, 1000)
    assert [(breach["what"], breach["seat"]) for breach in table.all("breach.noted")] == [("blind_not_due", 3)]
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal({1: "AsAh", 2: "KsKh", 3: "7c2d"})
    table.run(1500)
    assert table.actions() == [(3, "call", 1000)]
    assert len(table.troubles()) == 1


def test_blinds_that_come_after_the_cards_are_posted() -> None:
    table = Rfid()
    table.open()
    table.deal({1: "AsAh", 2: "KsKh", 3: "7c2d"})
    table.bet(1, 500)
    table.bet(2, 1000)
    table.bet(3, 1000)
    assert [(blind["seat"], blind["amount"]) for blind in table.all("blind.posted")] == [(1, 500), (2, 1000)]
    assert table.actions() == [(3, "call", 1000)]
    assert Session.restore(table.setup, table.records).state == table.table.session.state
