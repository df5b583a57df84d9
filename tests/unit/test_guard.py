"""What surveillance is told, by antennas: strange chips, listed ones, one tag twice, stacks that shrink, orphans."""

from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from controller.contract.catalogue import DATA
from controller.core import guard
from controller.core.errors import BadCommand
from controller.core.facts import HandAttested
from controller.core.inputs import Command
from controller.core.session import Session
from controller.core.table import Table
from drivers.readings import DeviceConflict, TagsSeen
from tests.boxrigs import RfidRig
from tests.felt import Felt, restores, setup, through_json
from tests.floors import ANY_STACK, House
from tests.unit.test_rfid_table import HOLES, Rfid


class Watched(Rfid):
    """A table with antennas and a tray, some of whose chips stand on the list."""

    def __init__(self, **listed: str) -> None:
        super().__init__()
        self.setup = replace(self.setup, chipset=replace(self.setup.chipset, listed=listed))
        self.table = Table(self.setup)

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [record.data for record in self.records if record.type == kind]

    def fits(self) -> None:
        """Guard records fit the contract, and tags stand in that stream alone; recovery is replay."""
        for record in self.records:
            if record.stream == "guard":
                Draft202012Validator(DATA[record.type]).validate(record.data)
            else:
                assert not any(tag in str(record.data) for tag in ("EEEE", *self.setup.chipset.tags))
            assert not any(tag in str(record.data) for tag in self.setup.deck.tags)
        state = Session.restore(self.setup, through_json(self.records)).state
        assert state.cash == self.table.session.state.cash
        assert state.incidents == self.table.session.state.incidents


def test_i28_a_strange_chip_is_told_once_and_only_to_surveillance() -> None:
    felt = Watched()
    felt.open()
    felt.put(["EEEE0001"], "stack:2")
    felt.run(3000)
    assert felt.all("chip.unknown") == [
        {
            "place": "stack:2",
            "denomination": None,
            "value": None,
            "case": "unregistered",
            "tags": ["EEEE0001"],
            "basis": "sensor",
            "evidence": felt.all("chip.unknown")[0]["evidence"],
        }
    ]
    felt.put(["EEEE0001"], "bet:3")
    felt.run(3000)
    assert len(felt.all("chip.unknown")) == 1
    assert not felt.all("incident.opened"), "no hand is played yet"
    felt.fits()


def test_i28_a_strange_chip_that_is_staked_holds_the_hand() -> None:
    felt = Watched()
    felt.open()
    felt.bet(1, 500)
    felt.put(["EEEE0002"], "bet:2")
    felt.run(3000)
    opened = felt.all("incident.opened")
    assert [(one["code"], one["seats"], one["facts"]["place"]) for one in opened] == [("I-28", [2], "bet:2")]
    assert felt.all("chip.unknown")[0]["place"] == "bet:2"
    felt.fits()


def test_i28_a_strange_chip_that_was_told_in_a_stack_holds_the_hand_when_it_is_staked() -> None:
    felt = Watched()
    felt.open()
    felt.put(["EEEE0002"], "stack:2")
    felt.run(3000)
    felt.bet(1, 500)
    assert not felt.all("incident.opened")
    felt.put(["EEEE0002"], "bet:2")
    felt.run(3000)
    assert [(one["code"], one["seats"]) for one in felt.all("incident.opened")] == [("I-28", [2])]
    felt.say("rule", incident="I-28", ruling="play_on")
    for place in ("stack:2", "bet:2"):
        felt.put(["EEEE0002"], place)
        felt.run(3000)
    assert len(felt.all("incident.opened")) == len(felt.all("chip.unknown")) == 1
    felt.fits()


def test_i28_of_too_many_no_more_are_told_and_a_stake_is_held_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MOST_STRANGERS", 3)
    felt = Watched()
    felt.open()
    felt.put(["EEEE0001", "EEEE0002", "EEEE0003"], "stack:2")
    felt.run(3000)
    felt.put(["EEEE0004"], "stack:3")
    felt.run(3000)
    assert sum(len(one["tags"]) for one in felt.all("chip.unknown")) == 3
    felt.bet(1, 500)
    felt.put(["EEEE0005"], "bet:2")
    felt.run(3000)
    assert [(one["code"], one["seats"]) for one in felt.all("incident.opened")] == [("I-28", [2])]
    assert len(felt.all("chip.unknown")) == 1
    felt.say("rule", incident="I-28", ruling="play_on")
    felt.put(["EEEE0006"], "bet:2")
    felt.run(3000)
    assert len(felt.all("incident.opened")) == 1, "of one seat once in a hand"
    felt.put(["EEEE0007"], "bet:1")
    felt.run(3000)
    assert len(felt.all("incident.opened")) == 2
    felt.fits()


def test_i28_a_strange_chip_on_a_spot_of_a_box() -> None:
    rig = RfidRig()
    rig.announce(1)
    rig.lie["box:1:trips"].add("EEEE0009")
    rig.lie["box:1:cards"].add("EEEE000A")
    rig.pause(2000)
    assert [(one["place"], one["tags"]) for one in rig.all("chip.unknown")] == [("box:1:trips", ["EEEE0009"])]
    assert rig.all("incident.opened")[0]["code"] == "I-28"
    assert "EEEE" not in str(rig.all("incident.opened"))


def test_a_tag_that_flies_past_is_no_chip() -> None:
    felt = Watched()
    felt.open()
    felt.feed(TagsSeen("stacks0", 9001, "1", frozenset({"EEEE0003"}), complete=False))
    felt.feed(TagsSeen("stacks0", 9002, "1", frozenset(felt.places["stack:1"]), complete=True))
    felt.run(3000)
    assert not felt.all("chip.unknown")


@pytest.mark.parametrize("place", ["stack:1", "bet:2", "tray", "pot"])
def test_card_tags_are_never_told_of(place: str) -> None:
    felt = Watched()
    felt.open()
    felt.put(list(felt.setup.deck.tags)[:3], place)
    felt.put(["EEEE0004"], "seat:1")
    felt.run(3000)
    felt.feed(DeviceConflict("stacks0", 9001, next(iter(felt.setup.deck.tags)), ("1", "2")))
    assert not [record for record in felt.records if record.stream == "guard"]
    felt.fits()


def test_i29_a_listed_chip_is_told_with_why_it_is_listed_and_the_table_learns_nothing() -> None:
    felt = Watched(C05000001="stolen", C99990001="withdrawn")
    felt.open()
    felt.put(["C05000001", "C99990001"], "stack:1")
    felt.run(3000)
    told = felt.all("chip.listed")
    assert [(one["case"], one["denomination"], one["tags"]) for one in told] == [
        ("stolen", 500, ["C05000001"]),
        ("withdrawn", None, ["C99990001"]),
    ]
    assert {record.stream for record in felt.records if record.type == "incident.opened"} == {"guard"}
    assert not felt.all("chip.unknown"), "a chip of the list is not strange"
    felt.fits()


def test_i29_the_owner_waits_for_a_ruling_and_nobody_else_learns_why() -> None:
    felt = Watched(C05000001="stolen")
    felt.setup = replace(felt.setup, test=False)
    felt.table = Table(felt.setup)
    felt.open()
    felt.put(["C05000001"], "stack:1")
    felt.run(3000)
    (opened,) = (record for record in felt.records if record.type == "incident.opened")
    name = opened.data["incident"]
    assert (opened.stream, opened.data["code"], opened.data["holds"]) == ("guard", "I-29", "seat")
    assert opened.data["seats"] == [1]
    assert "C05000001" not in str(opened.data), "which chip it is stands in chip.listed"
    state = felt.table.session.state
    assert name in state.silent
    assert not state.incidents
    assert felt.table.status()["incidents"] == []
    assert not [record for record in felt.records if record.stream != "guard" and name in str(record.data)]
    for who, incident in (("dealer", name), ("manager", "I-29")):
        with pytest.raises(BadCommand, match="none is open"):
            felt.table.session.command(
                Command("rule", {"incident": incident}, "s-1", who, "what is there?"), felt.at, felt.at
            )
    records = felt.table.session.command(
        Command("rule", {"incident": name}, "s-1", "manager", "the chip was taken"), felt.at, felt.at
    )
    assert [(record.stream, record.type) for record in records] == [
        ("guard", "incident.ruled"),
        ("guard", "incident.closed"),
    ]
    assert not state.silent


def held(seat: int, *, test: bool = False) -> Felt:
    """A hand in which chips of the list lie in one seat's stack."""
    table = setup(unit=1, test=test)
    felt = Felt(replace(table, chipset=replace(table.chipset, listed={"C1": "stolen"}))).open([1000, 1000, 1000])
    guard.listed(felt.session.out, f"stack:{seat}", ["C1"])
    felt.records += felt.session.out.records[-2:]
    return felt.deal()


def test_i29_only_the_owners_action_is_held() -> None:
    felt = held(1).act("c")
    assert felt.hand.to_act == 1
    refusal = felt.refused("c")
    assert "somebody who may rule was called to this seat" in refusal["asked"]
    assert not {"I-29", "listed", "chip"} & set(str(felt.last).replace("'", " ").split())
    name = next(iter(felt.session.state.silent))
    assert name not in str([record.data for record in felt.records if record.stream != "guard"])
    assert "incident" not in felt.session.due().as_data()
    restores(felt.session, felt.records)
    felt.say("rule", incident=name)
    felt.act("c", "k")
    restores(felt.session, felt.records)


def test_i29_chips_that_are_put_forward_meanwhile_are_no_stake_before_the_ruling() -> None:
    felt = Watched(C05000001="stolen")
    felt.setup = replace(felt.setup, test=False)
    felt.table = Table(felt.setup)
    felt.open()
    felt.bet(1, 500)
    felt.bet(2, 1000)
    felt.deal(HOLES)
    felt.put(["C05000001"], "stack:3")
    felt.run(4000)
    state, before = felt.table.session.state, len(felt.records)
    felt.bet(3, 1000)
    felt.run(4000)
    told = [record.data["what"] for record in felt.records[before:] if record.type == "breach.noted"]
    assert told == ["chips_loose"]
    name = next(iter(state.silent))
    felt.records += felt.table.session.command(
        Command("rule", {"incident": name}, "s-1", "manager", "seen"), felt.at, 0
    )
    chips = list(felt.places["bet:3"])
    felt.put(chips, "stack:3")
    felt.run(3000)
    felt.put(chips, "bet:3")
    felt.run(4000)
    (taken,) = felt.all("action.taken")
    assert (taken["seat"], taken["kind"], taken["to"]) == (3, "call", 1000)


def test_i29_holds_nobody_in_test_mode_and_leaves_no_hole_in_the_names() -> None:
    felt = held(1, test=True).act("c", "c", "k")
    felt.call_misdeal()
    assert felt.all("incident.opened")[-1]["incident"].endswith("-i1")


def test_i29_ends_with_the_session() -> None:
    felt = held(1, test=True).act("f", "f").done()
    felt.say("close")
    assert felt.all("table.closed")[0]["incidents_open"] == 0
    assert [record.stream for record in felt.records if record.type == "incident.closed"] == ["guard"]
    restores(felt.session, felt.records)


def test_i29_one_chip_at_two_places_is_told_with_both() -> None:
    felt = Watched()
    felt.open()
    felt.feed(DeviceConflict("stacks0", 9001, "C05000001", ("1", "2")))
    felt.feed(DeviceConflict("stacks0", 9002, "C05000001", ("1", "2")))
    told = felt.all("chip.duplicate")
    assert [(one["place"], one["value"], one["case"]) for one in told] == [
        ("stack:1", 500, "one_reader"),
        ("stack:2", 500, "one_reader"),
    ]
    felt.fits()


def test_i29_one_chip_on_two_readers() -> None:
    felt = Watched()
    felt.open()
    chip = felt.places["stack:1"][0]
    felt.places["bet:3"] = [chip]  # a copy of it
    felt.run(25_000)
    assert {one["place"] for one in felt.all("chip.duplicate")} == {"stack:1", "bet:3"}
    assert {one["case"] for one in felt.all("chip.duplicate")} == {"two_readers"}
    felt.fits()


def house() -> House:
    return House("rs_holdem", kind="rfid", **ANY_STACK).ready([1000, 1000, 1000])


def attest(felt: House, **stacks: int) -> None:
    felt.session.seed(bytes(32))
    felt.do(HandAttested(tuple((int(seat[1:]), stack) for seat, stack in stacks.items())))


def test_i26_a_stack_that_went_south_is_flagged_with_value_and_seat() -> None:
    felt = house()
    attest(felt, s1=1000, s2=900, s3=1100)
    told = felt.all("stack.reduced")
    assert [(one["place"], one["value"], one["booked"], one["counted"]) for one in told] == [
        ("stack:2", 100, 1000, 900)
    ]
    assert felt.breaches[-1]["rules"] == ["CM-22"]
    assert felt.breaches[-1]["seat"] == 2
    attest(felt, s1=1000, s2=900, s3=1000)
    assert len(felt.all("stack.reduced")) == 1, "it is told once"
    assert Session.restore(felt.setup, through_json(felt.records)).state == felt.session.state


@pytest.mark.parametrize("word", ["tip", "redeem"])
def test_i26_what_was_tipped_or_sold_is_no_loss(word: str) -> None:
    felt = house()
    felt.say(word, seat=2, amount=100)
    attest(felt, s1=1000, s2=900, s3=1000)
    assert not felt.all("stack.reduced")
    assert not felt.breaches


def test_chips_at_the_place_of_nobody_are_orphans_after_a_minute() -> None:
    felt = Watched()
    felt.open()
    felt.say("leave", seat=3)
    felt.put(felt.places["stack:3"][2:], "tray")
    felt.run(50_000)
    assert not felt.all("orphan.found")
    felt.run(15_000)
    found = felt.all("orphan.found")
    assert [(one["place"], one["amount"], one["basis"]) for one in found] == [("stack:3", 6000, "sensor")]
    felt.run(120_000)
    assert len(felt.all("orphan.found")) == 1
    assert felt.table.session.state.cash.meters.orphans == 6000
    felt.fits()


def test_chips_of_who_sits_there_are_nobodys_orphans() -> None:
    felt = Watched()
    felt.open()
    felt.run(180_000)
    assert not felt.all("orphan.found")
