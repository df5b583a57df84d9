"""A shoe beside antennas: one deals, the other says that a card left; where they differ a person looks."""

from typing import Any

import pytest

from controller.core.session import Session
from drivers.readings import CardSeen, DeviceLost, DeviceUp
from tests.closed import Antennas
from tests.unit.test_rfid_table import HOLES

ORDER = [(seat, HOLES[seat][2 * turn : 2 * turn + 2]) for turn in (0, 1) for seat in (1, 2, 3)]


def opened(**given: Any) -> Antennas:
    table = Antennas(shoe=True, **given)
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    return table


def dealt(table: Antennas, count: int = 6) -> Antennas:
    for seat, card in ORDER[:count]:
        table.draw(card, f"seat:{seat}")
    table.run(1500)
    return table


def cited(table: Antennas) -> list[list[str]]:
    """Which cards of the shoe each dealt card cites."""
    return [
        [source["reading"] for source in one["evidence"] if source["device"] == "shoe0"]
        for one in table.all("card.dealt")
    ]


def kept(table: Antennas) -> bool:
    return Session.restore(table.setup, table.records).state == table.table.session.state


@pytest.mark.parametrize("unread", [False, True])
def test_both_words_join_and_each_card_is_dealt_once(unread: bool) -> None:
    table = dealt(opened(unread=unread))
    table.run(8000)
    assert cited(table) == [[str(number)] for number in range(1, 7)]
    assert [one["basis"] for one in table.all("card.dealt")] == ["sensor"] * 6
    assert table.codes() == []
    assert table.table.session.state.hand is not None
    assert table.table.session.state.hand.phase == "bet"


@pytest.mark.parametrize("unread", [False, True])
def test_a_card_that_lies_nowhere_is_held_until_it_does(unread: bool) -> None:
    table = dealt(opened(unread=unread), 5)
    table.from_shoe(ORDER[5][1])
    table.run(5000)
    assert table.codes() == ["I-15"]
    assert table.all("incident.opened")[0]["holds"] == "hand"
    table.slide(ORDER[5][1], f"seat:{ORDER[5][0]}", 2000)
    assert table.closed() == ["I-15 resumed"]
    assert len(table.all("card.dealt")) == 6
    assert kept(table)


def test_two_of_them_are_one_incident_and_it_ends_with_the_last() -> None:
    table = dealt(opened(), 4)
    for _, card in ORDER[4:]:
        table.from_shoe(card)
    table.run(5000)
    assert table.codes() == ["I-15"]
    assert [one["adds"] for one in table.all("incident.updated")] == [{"cards": 2}]
    table.slide(ORDER[4][1], f"seat:{ORDER[4][0]}", 2000)
    assert table.closed() == []
    table.slide(ORDER[5][1], f"seat:{ORDER[5][0]}", 2000)
    assert table.closed() == ["I-15 resumed"]
    assert kept(table)


@pytest.mark.parametrize("unread", [False, True])
def test_a_card_that_never_left_the_shoe_is_held_until_the_shoe_says_so(unread: bool) -> None:
    table = dealt(opened(unread=unread), 5)
    table.slide(ORDER[5][1], f"seat:{ORDER[5][0]}", 5000)
    assert table.codes() == ["I-16"]
    assert table.all("incident.opened")[0]["proposed"]["ruling"] == "redeal"
    table.from_shoe(ORDER[5][1])
    assert table.closed() == ["I-16 resumed"]
    assert kept(table)


def test_after_substantial_action_such_a_card_is_no_misdeal() -> None:
    table = dealt(opened())
    table.bet(3, 1000)
    table.bet(1, 500)
    table.key("CHECK")
    table.slide("2c", "burn", 5000)
    assert table.codes() == ["I-16"]
    assert table.all("incident.opened")[0]["proposed"]["ruling"] == "play_on"
    table.say("rule", incident="I-16", ruling="proposed")
    assert table.table.session.state.held is None


def test_another_card_than_left_is_held_and_neither_is_named() -> None:
    table = dealt(opened(), 5)
    table.from_shoe("2c")
    table.run(300)
    table.slide(ORDER[5][1], f"seat:{ORDER[5][0]}", 5000)
    assert table.codes() == ["I-18"]
    (incident,) = [record for record in table.records if record.type == "incident.opened"]
    assert "2c" not in repr(incident.data)
    assert incident.secret == {"cards": ["2c", ORDER[5][1]]}
    assert incident.data["proposed"]["ruling"] == "play_on"
    table.say("rule", incident="I-18", ruling="proposed")
    assert table.table.session.state.held is None
    table.run(8000)
    assert table.codes() == ["I-18"]


def test_a_doubtful_card_of_the_shoe_is_whichever_comes() -> None:
    table = dealt(opened(), 5)
    table.from_shoe("2c", confidence=40)
    table.run(300)
    table.slide(ORDER[5][1], f"seat:{ORDER[5][0]}", 5000)
    assert table.codes() == []
    assert cited(table)[-1] == ["6"]


def test_a_tag_of_no_deck_is_a_foreign_card() -> None:
    table = dealt(opened(), 5)
    table.from_shoe(None, tag="FFFF")
    table.run(200)
    assert table.codes() == ["I-13"]


def test_while_the_shoe_is_away_antennas_deal_alone() -> None:
    table = dealt(opened(), 3)
    table.feed(DeviceLost("shoe0", 2, "unplugged", "usb://1"))
    for seat, card in ORDER[3:5]:
        table.slide(card, f"seat:{seat}", 2500)
    table.feed(DeviceUp("shoe0", 3, "shoe", "FS-1", "S1", "1.0", "usb://1"))
    for _, card in ORDER[3:5]:
        table.from_shoe(card)  # it kept them, and gives them out now
    table.draw(ORDER[5][1], f"seat:{ORDER[5][0]}", 6000)
    assert table.codes() == ["I-33"]
    assert len(table.all("card.dealt")) == 6


def test_cards_that_leave_between_hands_belong_to_none() -> None:
    table = Antennas(shoe=True)
    table.open()
    for card in ("2c", "3c", "4c"):
        table.from_shoe(card)
    table.run(5000)
    assert table.codes() == []
    table.bet(1, 500)
    table.bet(2, 1000)
    dealt(table)
    assert table.codes() == []


def test_a_card_is_kept_by_the_shoe_until_it_lies_somewhere() -> None:
    """So that a restart loses no word: what has not been settled is said again."""
    table = opened()
    table.from_shoe(ORDER[0][1])
    first = table.inputs[-1]
    assert isinstance(first, CardSeen)
    assert table.table.waits_for(first)
    table.restart()
    table.feed(first)
    table.run(300)
    table.slide(ORDER[0][1], f"seat:{ORDER[0][0]}", 1500)
    assert not table.table.waits_for(first)
    assert cited(table) == [["1"]]
    table.feed(first)  # once more: it is on record
    table.run(5000)
    assert table.codes() == []


def test_a_card_is_kept_until_where_it_lies_is_on_record() -> None:
    table = opened()
    table.from_shoe(ORDER[0][1])
    first = table.inputs[-1]
    table.run(300)
    table.put([table.card[ORDER[0][1]]], f"seat:{ORDER[0][0]}")
    table.run(300)
    assert table.table.waits_for(first)
    assert not table.all("card.dealt")
    table.run(600)
    assert table.all("card.dealt")
    assert not table.table.waits_for(first)


def test_other_readings_are_acknowledged_at_once() -> None:
    table = opened()
    table.from_shoe("2c")
    assert not table.table.waits_for(DeviceUp("keys0", 9, "keypad", "K", "", "1", "usb://2"))
