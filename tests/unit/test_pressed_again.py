"""A SHOW that waited for cards when the power went is on no record: the dealer is told to press it again (I-32)."""

import pytest
from jsonschema import Draft202012Validator

from controller.client import picture
from controller.contract.catalogue import DATA
from controller.core.inputs import Notice
from controller.core.system import notice
from tests.closed import Antennas
from tests.felt import HR, Felt, setup
from tests.unit.test_cards_astray import kept, river
from tests.unit.test_resume import CUT

LINE = "SHOW of seats"


def interrupted(*, unread: bool = False, pressed: bool = True) -> Antennas:
    """At the showdown a seat has its cards in the hand when SHOW is pressed; then the daemon is killed."""
    table: Antennas = river(unread=unread)
    assert LINE not in picture(table.table.status())
    held, table.places["seat:1"] = table.places["seat:1"], []
    table.run(2000)
    if pressed:
        table.key("1", "SHOW")
    assert table.all("hand.tabled") == []
    assert LINE not in picture(table.table.status()), "nobody was away"
    table.restart()
    table.places["seat:1"] = held
    table.feed(Notice("recovery.completed", CUT | {"differences": None}))
    return table


@pytest.mark.parametrize("pressed", [False, True])
def test_what_is_to_be_shown_after_a_restart_is_told_on_record_and_at_the_table(pressed: bool) -> None:
    table = interrupted(pressed=pressed)
    assert "SHOW of seats 1, 2, 3 has to be pressed (again)" in picture(table.table.status())
    table.run(10_000)
    assert table.all("hand.tabled") == []
    (told,) = table.all("recovery.completed")
    Draft202012Validator(DATA["recovery.completed"]).validate(told)
    assert told["again"] == {"key": "SHOW", "seats": [1, 2, 3]}
    table.key("1", "SHOW")
    table.run(6000)
    assert [one["seat"] for one in table.all("hand.tabled")] == [1]
    assert LINE not in picture(table.table.status()), "whoever presses keys knows"
    kept(table)


def test_a_hand_that_was_turned_for_the_antennas_is_on_record_and_tabled_by_itself() -> None:
    table = interrupted(unread=True)
    assert "SHOW of seats 2, 3 has" in picture(table.table.status())
    table.run(10_000)
    assert [one["seat"] for one in table.all("hand.tabled")] == [1]
    assert table.all("recovery.completed")[0]["again"]["seats"] == [2, 3]
    kept(table)


def test_where_nothing_is_to_be_shown_nothing_is_said() -> None:
    felt = Felt().open([5000, 5000]).deal()
    felt.session.out.begin(felt.at, felt.at)
    notice(felt.session.out, Notice("recovery.completed", CUT))
    assert "again" not in felt.session.out.records[-1].data


def test_a_sleep_loses_no_key() -> None:
    felt = Felt(setup(HR)).open([5000, 5000]).deal().act("a", "c")
    for said, told in (({"cause": "suspended"}, False), ({}, True)):
        felt.session.out.begin(felt.at, felt.at)
        notice(felt.session.out, Notice("recovery.completed", CUT | said))
        assert ("again" in felt.session.out.records[-1].data) == told
