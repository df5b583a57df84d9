"""A power cut in a hand: where the house asks for it a person lets the hand go on (I-32); the state is the same."""

from dataclasses import replace
from typing import Any

import pytest

from controller.boot import differences
from controller.configuration.profiles import load, shipped
from controller.contract.catalogue import DATA
from controller.core.facts import BoxDecided, Declared
from controller.core.inputs import Input, Notice
from controller.core.session import Session
from controller.core.system import notice
from controller.core.table import Table
from tests.boxes import Boxes
from tests.boxes import setup as boxes_setup
from tests.felt import RS, Felt, setup, through_json

CUT = {"gap_ms": 4000, "differences": [], "confirmed_by": []}


def house(*, asks: bool = True, test: bool = False) -> Felt:
    felt = Felt(replace(setup(replace(RS, confirm_resume=asks)), test=test))
    return felt.open([5000, 5000, 5000])


def recovered(felt: Felt | Boxes, **more: Any) -> list[str]:
    """The table comes back from its records, and the shell says so."""
    felt.session = Session.restore(felt.setup, through_json(felt.records))
    felt.session.out.begin(felt.at, felt.at)
    notice(felt.session.out, Notice("recovery.completed", CUT | more))
    felt.last = list(felt.session.out.records)
    felt.records += felt.last
    return [record.type for record in felt.last]


def test_a_hand_that_was_cut_waits_until_a_person_lets_it_go_on() -> None:
    felt = house().deal()
    assert recovered(felt) == ["incident.opened", "recovery.completed"]
    opened, told = (record.data for record in felt.last)
    assert (opened["code"], opened["kind"], opened["holds"]) == ("I-32", "resume", "hand")
    assert opened["proposed"]["ruling"] == "play_on"
    assert told["incident"] == opened["incident"]
    felt.do(Declared("call", None, None))
    assert not felt.taken, "the hand is held"
    before = felt.picture()
    felt.say("rule", incident="I-32")
    assert [record.type for record in felt.last][:2] == ["incident.ruled", "incident.closed"]
    assert felt.session.state.held is None
    assert replace(felt.picture(), incidents=()) == replace(before, incidents=())
    felt.act("c", "c", "k")
    assert Session.restore(felt.setup, through_json(felt.records)).state == felt.session.state


def test_a_person_may_void_it_instead() -> None:
    felt = house().deal()
    recovered(felt)
    felt.say("rule", incident="I-32", ruling="void")
    assert felt.all("hand.voided")[0]["incident"]


@pytest.mark.parametrize("asks_in_test", [(False, False), (True, True)])
def test_nobody_is_asked_in_test_mode_or_where_the_house_does_not(asks_in_test: tuple[bool, bool]) -> None:
    asks, test = asks_in_test
    felt = house(asks=asks, test=test).deal()
    assert recovered(felt) == ["recovery.completed"]
    felt.act("c")


def test_it_is_asked_once_and_only_about_a_hand_and_only_after_a_cut() -> None:
    felt = house()
    assert recovered(felt) == ["recovery.completed"], "nothing was being played"
    felt.deal()
    assert recovered(felt, cause="suspended") == ["recovery.completed"]
    assert recovered(felt) == ["incident.opened", "recovery.completed"]
    assert recovered(felt) == ["recovery.completed"], "it is open already"


def test_a_round_of_boxes_is_confirmed_too() -> None:
    table = boxes_setup()
    felt = Boxes(replace(table, test=False, profile=replace(table.profile, confirm_resume=True)))
    felt.open([1], {1: "p-1"}).bet(1).deal()
    assert recovered(felt) == ["incident.opened", "recovery.completed"]
    felt.do(BoxDecided("check", 1))
    assert not felt.all("box.decided")
    felt.say("rule", incident="I-32", ruling="play_on")
    felt.do(BoxDecided("check", 1))
    assert felt.all("box.decided")


@pytest.mark.parametrize("name", sorted(shipped()))
def test_the_houses_that_come_with_it_ask(name: str) -> None:
    assert load(name).confirm_resume


def test_where_antennas_have_to_read_first_the_differences_are_not_known_yet() -> None:
    assert differences(setup()) == {"differences": []}
    assert differences(replace(setup(), kind="rfid")) == {"differences": None}
    table = Table(setup())
    (told,) = table.feed(Input(1, 0, 0, Notice("recovery.completed", CUT | {"differences": None})))
    assert told.data["differences"] is None
    assert {"type": "null"} in DATA["recovery.completed"]["properties"]["differences"]["anyOf"]
