"""Closed cards that are not read: nobody here knows one before it lies open, and the hand comes out all the same."""

from typing import Any

import pytest

from controller.core.cards import UNKNOWN, commitment
from controller.core.session import Session
from drivers.readings import UNREAD, CardSeen, DeviceConflict, TagsSeen
from drivers.veil import GONE, Veil
from tests.closed import Antennas
from tests.unit.test_rfid_table import HOLES

CLOSED = [HOLES[seat][at : at + 2] for seat in HOLES for at in (0, 2)]


def begun(**given: Any) -> Antennas:
    table = Antennas(unread=True, **given)
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal(HOLES)
    return table


def flop(table: Antennas) -> None:
    table.bet(3, 1000)
    table.bet(1, 500)
    table.key("CHECK")
    for seat in (1, 2, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(1500)
    table.slide("2c", "burn", 1500)
    for card in ("3c", "9d", "Ts"):
        table.slide(card, "board", 700)
    table.run(1500)


def check_down(table: Antennas) -> None:
    for _ in range(3):
        table.key("CHECK")
    for burn, card in (("4c", "4d"), ("5c", "8h")):
        table.slide(burn, "burn", 1200)
        table.slide(card, "board", 2000)
        for _ in range(3):
            table.key("CHECK")


def named_in(table: Antennas) -> set[str]:
    """All cards that the core was ever told, by their tags or by name."""
    told: set[str] = set()
    for one in table.inputs:
        if isinstance(one, TagsSeen):
            told |= {table.setup.deck.tags[tag] for tag in one.tags if tag in table.setup.deck.tags}
        elif isinstance(one, CardSeen) and one.card is not None:
            told.add(one.card)
    return told


def test_a_hand_is_played_to_its_showdown_and_only_open_cards_are_ever_known() -> None:
    table = begun()
    flop(table)
    check_down(table)
    assert named_in(table) == {"3c", "9d", "Ts", "4d", "8h"}
    table.put(list(table.places["seat:2"]), "muck")  # given up unseen: never known
    table.run(2500)
    for seat in (1, 3):
        table.key(str(seat), "SHOW")
        table.run(1500)
    shown = {HOLES[seat][at : at + 2] for seat in (1, 3) for at in (0, 2)}
    assert {card for one in table.all("hand.tabled") for card in one["cards"]} == shown
    assert [one["seat"] for one in table.all("hand.turned")] == [1, 3]
    assert len(table.all("award.computed")) == 1
    assert named_in(table) == {"3c", "9d", "Ts", "4d", "8h"} | shown
    assert table.codes() == []
    assert Session.restore(table.setup, table.records).state == table.table.session.state


def test_what_is_kept_sealed_names_no_card_either() -> None:
    table = begun()
    flop(table)
    dealt = [record for record in table.records if record.type == "card.dealt" and record.data["face"] == "closed"]
    assert len(dealt) == 7
    for record in dealt:
        assert record.secret is not None
        assert record.secret["card"] == record.secret["guess"] == UNKNOWN
        salt = record.secret["salt"]
        assert record.data["commit"] == commitment(record.data["hand"], record.data["slot"], UNKNOWN, salt)
    text = repr([(record.data, record.secret) for record in table.records])
    assert not any(f"'{card}'" in text for card in CLOSED)


def test_an_opened_card_says_that_it_was_bound_as_unknown() -> None:
    table = begun()
    flop(table)
    check_down(table)
    table.key("1", "SHOW")
    table.run(1500)
    opened = [one for one in table.all("card.opened") if one["place"] == "seat"]
    assert {one["card"] for one in opened} == {HOLES[1][:2], HOLES[1][2:]}
    for one in opened:
        (dealt,) = [each for each in table.all("card.dealt") if each["slot"] == one["slot"]]
        assert one["named"] is True
        assert one["basis"] == "sensor"
        assert dealt["commit"] == commitment(one["hand"], one["slot"], UNKNOWN, one["salt"])


def test_cards_that_go_into_the_muck_are_a_fold() -> None:
    table = begun()
    table.put(list(table.places["seat:3"]), "muck")
    table.run(2500)
    assert table.actions() == [(3, "fold", 0)]
    assert named_in(table) == set()


def test_cards_that_are_lifted_and_put_back_are_no_fold_and_no_new_cards() -> None:
    table = begun()
    cards = list(table.places["seat:3"])
    for away in (300, 3000, 40_000):
        table.places["seat:3"] = []
        table.run(away)
        table.places["seat:3"] = list(cards)
        table.run(2500)
    assert table.actions() == []
    assert table.codes() == []
    table.put(cards, "muck")
    table.run(2500)
    assert table.actions() == [(3, "fold", 0)]


def test_a_third_card_at_a_seat_is_one_too_many() -> None:
    table = begun()
    table.slide("2s", "seat:2", 2500)
    assert table.codes() == ["I-10"]
    assert named_in(table) == set()


def test_the_second_deck_is_nobodys_card() -> None:
    table = begun()
    table.places["seat:2"].append("E0160001C0DE0001")
    table.run(2500)
    assert table.codes() == []


def test_after_a_restart_what_lies_there_is_what_was_dealt_and_a_fold_meanwhile_is_found() -> None:
    table = begun()
    table.restart()
    table.run(3000)
    assert len(table.all("card.dealt")) == 6
    assert table.codes() == []
    table.restart()
    table.put(list(table.places["seat:3"]), "muck")
    table.run(4000)
    assert table.actions() == [(3, "fold", 0)]
    table.restart()
    table.run(4000)
    assert table.actions() == [(3, "fold", 0)]
    table.put(list(table.places["seat:1"]), "muck")
    table.run(4000)
    assert table.actions() == [(3, "fold", 0), (1, "fold", 500)]


def test_between_show_and_reading_a_restart_loses_nothing() -> None:
    table = begun()
    flop(table)
    check_down(table)
    table.key("1", "SHOW")
    assert len(table.all("hand.turned")) == 1
    assert table.all("hand.tabled") == []
    table.restart()
    table.run(3000)
    assert [one["seat"] for one in table.all("hand.tabled")] == [1]


def test_a_shown_card_that_no_antenna_reads_is_named_by_a_person() -> None:
    table = begun()
    flop(table)
    check_down(table)
    dead = table.card[HOLES[1][2:]]
    table.places["seat:1"].remove(dead)
    table.key("1", "SHOW")
    table.run(6000)
    assert table.codes() == ["I-17"]
    assert table.all("hand.tabled") == []
    table.say("cards", seat=1, cards=[HOLES[1][:2], HOLES[1][2:]])
    assert table.closed() == ["I-17 resumed"]
    assert table.all("hand.tabled")[0]["cards"] == [HOLES[1][:2], HOLES[1][2:]]


def test_a_card_that_is_read_late_ends_the_wait_for_a_person() -> None:
    table = begun()
    flop(table)
    check_down(table)
    late = table.card[HOLES[1][2:]]
    table.places["seat:1"].remove(late)
    table.key("1", "SHOW")
    table.run(6000)
    table.places["seat:1"].append(late)
    table.run(2000)
    assert table.closed() == ["I-17 resumed"]
    assert [one["seat"] for one in table.all("hand.tabled")] == [1]


def test_a_card_twice_is_found_when_it_lies_open() -> None:
    table = Antennas(unread=True)
    tags = table.setup.deck.tags
    assert isinstance(tags, dict)
    tags["DOUBLE"] = "3c"  # a second one of a card that will lie on the board
    table.card["Ks"] = "DOUBLE"
    table.veils["cards0"] = Veil(tags, {"b"})
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal(HOLES)
    flop(table)
    check_down(table)
    table.key("1", "SHOW")
    table.run(1500)
    table.key("2", "SHOW")
    table.run(2500)
    assert "I-11" in table.codes()


def test_a_hand_shown_while_it_is_played_is_only_exposed() -> None:
    table = begun()
    table.key("3", "SHOW")
    table.run(2000)
    assert {one["cause"] for one in table.all("card.opened")} == {"exposed_by_player"}
    assert table.all("hand.tabled") == []


def test_cards_of_a_shown_hand_that_stay_after_it_begin_no_other_hand() -> None:
    table = begun()
    for seat in (3, 1):
        table.put(list(table.places[f"seat:{seat}"]), "muck")
        table.run(2500)
    table.key("2", "SHOW")
    table.run(1500)
    table.put(list(table.places["bet:1"]) + list(table.places["bet:2"]), "stack:2")
    table.run(3000)
    table.key("DONE")
    table.run(8000)
    assert len(table.all("hand.closed")) == 1
    assert len(table.all("hand.started")) == 1
    assert table.table.session.state.hand is None


def test_names_do_not_last_longer_than_the_hand() -> None:
    veil = Veil(["AA01", "AA02"], ["9"])
    seen = TagsSeen("cards0", 1, "1", frozenset({"AA01", "C1"}), True)
    first = veil.over(seen, 0)
    assert isinstance(first, TagsSeen)
    assert "C1" in first.tags
    (name,) = first.tags - {"C1"}
    assert name.startswith(UNREAD)
    assert "AA01" not in name
    assert veil.over(seen, 60 * GONE) == first  # in a hand it keeps its name, however long it was away
    veil.lift(frozenset({"9"}), playing=False)
    assert veil.over(seen, 60 * GONE + 1) == first  # it lies there still
    assert veil.over(seen, 62 * GONE) != first


def test_a_place_that_opens_is_told_anew_at_once_and_a_lost_reader_tells_nothing() -> None:
    veil = Veil(["AA01"], ["9"])
    seen = TagsSeen("cards0", 1, "1", frozenset({"AA01"}), True)
    hidden = veil.over(seen, 0)
    assert veil.lift(frozenset({"1", "9"}), playing=True) == (seen,)
    assert veil.over(seen, 1) == seen
    assert veil.lift(frozenset({"9"}), playing=True) == (hidden,)
    veil.opened()
    assert veil.lift(frozenset({"1", "9"}), playing=True) == ()


@pytest.mark.parametrize("tag", ["AA01", "C1"])
def test_a_conflict_and_a_shoe_name_no_card(tag: str) -> None:
    veil = Veil(["AA01"])
    told = veil.over(DeviceConflict("cards0", 1, tag, ("1", "2")), 0)
    assert isinstance(told, DeviceConflict)
    assert (told.tag == tag) is (tag == "C1")
    card = veil.over(CardSeen("shoe0", 1, "0", "As", "AA01", 77, 5), 0)
    assert card == CardSeen("shoe0", 1, "0", None, None, 100, 5)
