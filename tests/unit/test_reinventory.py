"""After a restart antennas read everything anew: what lies as it lay is told once, each difference is a fact (I-32)."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from controller.contract.catalogue import DATA
from controller.core.cards import DECK as VALUES_OF_CARDS
from controller.core.inputs import Notice, Tick
from controller.core.records import Record
from drivers.readings import DeviceUp
from tests.felt import RS, SECOND
from tests.leaking_rfid import STACK, VALUES, RfidHand


class Cut(RfidHand):
    """A hand with antennas that is dealt up to the first decision; then the power goes for a while."""

    def __init__(self) -> None:
        super().__init__(1, RS, wild=0.0, missed=0.0)
        for device in self.setup.devices:
            self.feed(DeviceUp(device.name, self.number(), "feig", "M", "S1", "1.0", "serial:///dev/x"))
        self.say("open", button=self.seats)
        spare = {str(v): [tag for tag, d in self.setup.chipset.tags.items() if d == str(v)] for v in VALUES}
        for seat in range(1, self.seats + 1):
            self.put([spare[str(value)].pop() for value in STACK], f"stack:{seat}", 0)
            self.say("seat", seat=seat, stack=sum(STACK))
        self.run(4000)
        for _ in range(30):
            hand = self.player.table.session.state.hand
            if hand is not None and hand.phase == "bet":
                break
            self.help()
        self.run(5000)
        legal = self.player.table.session.legal()
        assert legal is not None
        self.actor, self.call = legal.seat, legal.call

    def back(self, *, cut: bool = False) -> list[Record]:
        """The table is rebuilt from its records, the readers answer and read: what it concludes from that.

        ``cut``: the shell says that the run before ended without order.
        """
        before = len(self.player.played.records)
        self.player.restart()
        if cut:
            self.feed(Notice("recovery.completed", {"gap_ms": 7, "differences": None, "confirmed_by": []}))
        for device in self.setup.devices:
            self.feed(DeviceUp(device.name, self.number(), "feig", "M", "S1", "1.0", "serial:///dev/x"))
        self.run(8000)
        return [record for record in self.player.played.records[before:] if record.type != "device.up"]

    def move(self, tags: list[str], place: str) -> None:
        """Nobody is there to see it."""
        for tag in tags:
            for held in self.lies.values():
                if tag in held:
                    held.remove(tag)
            self.lies.setdefault(place, []).append(tag)


@pytest.fixture
def cut() -> Cut:
    return Cut()


def test_what_lies_as_it_lay_is_not_told_again(cut: Cut) -> None:
    assert cut.back() == []
    assert cut.back() == [], "nor after another restart"


def test_chips_that_were_moved_meanwhile_are_an_action(cut: Cut) -> None:
    worth = cut.setup.chipset.tags
    chosen: list[str] = []
    rest = cut.call
    for tag in sorted(cut.lies[f"stack:{cut.actor}"], key=lambda tag: -int(worth[tag])):
        if int(worth[tag]) <= rest:
            chosen.append(tag)
            rest -= int(worth[tag])
    assert rest == 0
    cut.move(chosen, f"bet:{cut.actor}")
    (taken,) = [record for record in cut.back() if record.type == "action.taken"]
    assert (taken.data["kind"], taken.data["seat"], taken.data["added"]) == ("call", cut.actor, cut.call)
    assert taken.data["basis"] == "sensor"


def test_cards_that_were_given_up_meanwhile_are_a_fold(cut: Cut) -> None:
    cut.move(list(cut.lies[f"seat:{cut.actor}"]), "muck")
    (taken,) = [record for record in cut.back() if record.type == "action.taken"]
    assert (taken.data["kind"], taken.data["seat"]) == ("fold", cut.actor)


def test_what_the_rules_would_hold_is_held(cut: Cut) -> None:
    cut.move([cut.deck.pop()], "board")
    told = cut.back()
    (opened,) = [record for record in told if record.type == "incident.opened"]
    assert opened.data["code"] == "I-4", "a board card while betting is open, whenever it was laid"


def recovered(told: list[Record]) -> dict[str, Any]:
    (one,) = [record for record in told if record.type == "recovery.completed"]
    plain: dict[str, Any] = json.loads(json.dumps(one.data))
    Draft202012Validator(DATA["recovery.completed"]).validate(plain)
    assert (plain["gap_ms"], plain["confirmed_by"]) == (7, [])
    return plain


def test_a_recovery_is_complete_when_all_is_read_and_says_that_nothing_differs(cut: Cut) -> None:
    assert recovered(cut.back(cut=True))["differences"] == []


def test_a_recovery_names_the_events_that_told_what_differs(cut: Cut) -> None:
    cut.move(list(cut.lies[f"seat:{cut.actor}"]), "muck")
    told = cut.back(cut=True)
    (taken,) = [record for record in told if record.type == "action.taken"]
    found = recovered(told)["differences"]
    assert {"event": "action.taken", "hand": taken.hand, "n": taken.data["n"], "seat": cut.actor} in found
    assert told[-1].type == "recovery.completed", "after all that it tells of"


def test_a_recovery_names_what_is_held(cut: Cut) -> None:
    cut.move([cut.deck.pop()], "board")
    told = cut.back(cut=True)
    assert "incident.opened" in [one["event"] for one in recovered(told)["differences"]]
    assert not set(VALUES_OF_CARDS) & set(json.dumps(recovered(told)).split('"'))


def test_a_reader_that_does_not_come_back_is_waited_for_a_minute(cut: Cut) -> None:
    before = len(cut.player.played.records)
    cut.player.restart()
    cut.feed(Notice("recovery.completed", {"gap_ms": 7, "differences": None, "confirmed_by": []}))
    assert cut.player.table.recovery is not None
    for _ in range(59):
        cut.at += SECOND
        cut.feed(Tick())
    assert not [one for one in cut.player.played.records[before:] if one.type == "recovery.completed"]
    due = cut.player.table.deadline()
    assert due is not None
    cut.at = max(cut.at + SECOND, due)
    cut.feed(Tick())
    data = recovered(cut.player.played.records[before:])
    assert data["differences"] == []
    assert {"bet:1", "board", "seat:1"} <= set(data["unread"])
    assert cut.player.table.recovery is None
