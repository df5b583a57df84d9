"""A second witness beside antennas and shoe: it joins, decides what nothing else sees, and is heard when it differs."""

from dataclasses import replace
from typing import Any

import pytest

from controller.core.inputs import HandSeed
from controller.core.records import Record
from controller.core.session import Session
from controller.core.setup import DeviceInfo
from controller.core.table import Table
from drivers.readings import (
    CardSighted,
    DeviceConflict,
    DeviceLost,
    DeviceUp,
    TagsSeen,
)
from tests.boxes import setup as boxes
from tests.boxrigs import Rig, ShoeRig
from tests.felt import DEVICES, setup
from tests.shoetable import ShoeTable
from tests.unit.test_rfid_table import HOLES, POLL, Rfid
from tests.unit.test_ultimate_round import EXAMPLE_B

REGIONS = {"1": "seat:1", "2": "seat:2", "3": "seat:3", "9": "board"}
CAMERA = DeviceInfo("cam0", "camera", REGIONS, "camera")
REGION = {place: region for region, place in REGIONS.items()}


class Watched(Rfid):
    """A table with antennas and a camera. ``blind``: a place whose antenna is taken away."""

    def __init__(self, blind: str = "", **given: Any) -> None:
        super().__init__(**given)
        own = [
            replace(d, places={c: p for c, p in d.places.items() if p != blind}, kind=d.kind or "reader")
            for d in self.setup.devices
        ]
        self.setup = replace(self.setup, devices=(*own, CAMERA))
        self.table = Table(self.setup)
        self.sequence = 1 << 32
        self.objects: dict[str, int] = {}

    def _poll(self) -> None:
        devices, self.setup = (
            self.setup,
            replace(self.setup, devices=tuple(d for d in self.setup.devices if d.kind == "reader")),
        )
        super()._poll()
        self.setup = devices

    def sight(self, card: str, place: str, *, up: bool = True, present: bool = True, sure: int = 99) -> None:
        self.sequence += 1
        number = self.objects.setdefault(card, len(self.objects) + 1)
        seen = CardSighted(
            "cam0", 0, REGION[place], number, card if up else None, "up" if up else "down", sure, present, False,
            self.sequence,
        )  # fmt: skip
        self.seen = seen
        self.feed(seen)

    def face(self, card: str, place: str, wait: int = 600, **how: Any) -> None:
        self.sight(card, place, **how)
        self.run(wait)

    def begin(self) -> None:
        self.open()
        self.bet(1, 500)
        self.bet(2, 1000)
        self.deal(HOLES)

    def flop(self, *, sighted: bool = True, blind: bool = False) -> None:
        """The first round is called and checked; the flop is laid."""
        self.bet(3, 1000)
        self.bet(1, 500)
        self.key("CHECK")
        for seat in (1, 2, 3):
            self.put(list(self.places[f"bet:{seat}"]), "pot")
        self.run(1500)
        self.slide("2c", "burn", 1500)
        for card in ("3c", "9d", "Ts"):
            if not blind:
                self.put([self.card[card]], "board")
            if sighted:
                self.sight(card, "board")
            self.run(600)
        self.run(1500)

    def check_down(self) -> None:
        """Everybody checks to the showdown; turn and river are laid."""
        for _ in range(3):
            self.key("CHECK")
        for burn, card in (("4c", "4d"), ("5c", "8h")):
            self.slide(burn, "burn")
            self.sight(card, "board")
            self.slide(card, "board", 2000)
            for _ in range(3):
                self.key("CHECK")

    def evidence(self, kind: str, device: str) -> list[str]:
        return [e["reading"] for one in self.all(kind) for e in one.get("evidence", ()) if e["device"] == device]


def codes(table: Watched) -> list[str]:
    """The incidents so far; the state with all of them is what the records alone make of it."""
    assert Session.restore(table.setup, table.records).state == table.table.session.state
    return [one["code"] for one in table.all("incident.opened")]


def test_a_sighting_joins_what_the_antennas_see() -> None:
    table = Watched()
    table.begin()
    table.flop()
    assert table.all("street.opened")[0]["board"] == ["3c", "9d", "Ts"]
    assert len(table.evidence("card.opened", "cam0")) == 3
    assert len(table.evidence("card.opened", "cards0")) == 3
    assert table.troubles() == []
    table.run(10_000)
    assert table.troubles() == []


def test_hands_turned_face_up_are_tabled_without_a_key() -> None:
    table = Watched()
    table.begin()
    table.flop()
    table.check_down()
    assert table.all("showdown.started")
    for seat, cards in HOLES.items():
        table.sight(cards[:2], f"seat:{seat}")
        table.run(1000)
        assert seat not in [one["seat"] for one in table.all("hand.tabled")]  # one card is no hand
        table.face(cards[2:], f"seat:{seat}")
    tabled = table.all("hand.tabled")
    assert [(one["seat"], one["cards"]) for one in tabled] == [(s, [c[:2], c[2:]]) for s, c in HOLES.items()]
    assert {one["basis"] for one in tabled} == {"sensor"}
    assert table.all("award.computed")[0]["pots"][0]["winners"] == [{"seat": 1, "amount": 3000}]
    count = len(table.records)
    table.run(10_000)
    table.sight("As", "seat:1")  # told again
    table.run(3000)
    assert len(table.records) == count
    assert table.troubles() == []


def test_a_hand_is_not_shown_for_a_moment_nor_with_a_doubtful_face() -> None:
    table = Watched()
    table.begin()
    table.flop()
    table.check_down()
    table.sight("As", "seat:1")
    table.sight("Ah", "seat:1")
    table.run(200)
    table.sight("Ah", "seat:1", up=False)
    table.run(3000)
    assert table.all("hand.tabled") == []
    table.face("Ah", "seat:1", 3000, sure=60)
    assert table.all("hand.tabled") == []
    table.face("Ah", "seat:1")
    assert [one["seat"] for one in table.all("hand.tabled")] == [1]
    assert table.troubles() == []


def test_a_camera_deals_the_board_that_no_antenna_watches() -> None:
    table = Watched(blind="board")
    table.begin()
    table.flop(blind=True)
    assert table.all("street.opened")[0]["board"] == ["3c", "9d", "Ts"]
    assert len(table.evidence("card.opened", "cam0")) == 3
    assert table.troubles() == []
    table.feed(DeviceLost("cam0", 0, "unplugged", "x"))
    assert codes(table) == ["I-33"]  # without it no card of the board is seen


def test_the_hand_is_not_over_while_a_camera_alone_sees_cards_on_the_board() -> None:
    table = Watched(blind="board")
    table.begin()
    table.flop(blind=True)
    for seat in (1, 2):
        table.put([table.card[card] for card in (HOLES[seat][:2], HOLES[seat][2:])], "muck")
        table.run(3000)
    assert table.all("award.computed")
    table.put(list(table.places["pot"]), "stack:3")
    for place in ("seat:3", "burn", "muck"):
        table.put(list(table.places[place]), "stub")
    table.run(6000)
    assert not table.all("hand.closed")
    for card in ("3c", "9d", "Ts"):
        table.sight(card, "board", present=False)
    table.run(6000)
    assert table.all("hand.closed")


def test_a_doubtful_face_on_a_board_without_antenna_is_named_by_a_person() -> None:
    table = Watched(blind="board")
    table.begin()
    table.bet(3, 1000)
    table.bet(1, 500)
    table.key("CHECK")
    table.run(1500)
    table.slide("2c", "burn", 1500)
    for card in ("3c", "9d"):
        table.face(card, "board")
    table.face("Ts", "board", 4000, sure=50)
    assert codes(table) == ["I-17"]
    table.say("rule", incident="I-17", ruling="proposed", card="Ts")
    assert table.all("street.opened")[0]["board"] == ["3c", "9d", "Ts"]


def test_a_card_that_only_the_camera_sees_is_held_and_named() -> None:
    """Its tag is dead: the antenna misses it for good, and a person says what lies there."""
    table = Watched()
    table.begin()
    table.bet(3, 1000)
    table.bet(1, 500)
    table.key("CHECK")
    table.run(1500)
    table.slide("2c", "burn", 1500)
    for card in ("3c", "9d"):
        table.sight(card, "board")
        table.slide(card, "board")
    table.face("Ts", "board", 2000)
    assert codes(table) == []
    table.run(2000)
    assert codes(table) == ["I-18"]
    opened = table.all("incident.opened")[0]
    assert (opened["holds"], opened["proposed"]["ruling"]) == ("hand", "name_card")
    assert "Ts" not in str(opened)
    table.say("rule", incident="I-18", ruling="proposed", card="Ts")
    assert table.all("street.opened")[0]["board"] == ["3c", "9d", "Ts"]
    table.run(10_000)
    assert codes(table) == ["I-18"]


def test_another_face_on_the_board_is_held_and_what_was_read_can_stand() -> None:
    table = Watched()
    table.begin()
    table.flop(sighted=False)
    table.face("Th", "board", 4000)
    assert codes(table) == ["I-18"]
    assert table.setup.devices
    table.say("rule", incident="I-18", ruling="as_read")
    for _ in range(3):
        table.key("CHECK")
    assert len(table.actions()) == 6
    table.run(10_000)
    assert codes(table) == ["I-18"]  # said once


def test_a_shown_hand_that_is_not_the_one_dealt_is_held_before_the_award() -> None:
    table = Watched()
    table.begin()
    table.flop()
    table.check_down()
    table.sight("As", "seat:1")
    table.face("Ac", "seat:1", 3000)
    assert codes(table) == ["I-18"]
    assert table.all("incident.opened")[0]["seats"] == [1]
    assert table.all("hand.tabled") == []
    table.say("rule", incident="I-18", ruling="as_read")
    assert [(one["seat"], one["cards"]) for one in table.all("hand.tabled")] == [(1, ["As", "Ah"])]


def test_a_keyed_show_is_held_against_what_the_camera_sees() -> None:
    table = Watched()
    table.begin()
    table.flop()
    table.check_down()
    table.key("1", "SHOW")
    table.face("Qs", "seat:1", 4000)
    assert codes(table) == ["I-18"]


def test_a_card_that_a_player_lets_be_seen_is_told_and_stays_in_play() -> None:
    table = Watched()
    table.begin()
    table.flop()
    table.face("Ks", "seat:2", 3000)
    exposed = [one for one in table.all("card.opened") if one["cause"] == "exposed_by_player"]
    assert [(one["seat"], one["card"]) for one in exposed] == [(2, "Ks")]
    assert [one["what"] for one in table.all("breach.noted")] == ["card_exposed_by_player"]
    assert codes(table) == []
    table.sight("Ks", "seat:2", up=False)
    table.check_down()
    table.sight("Ks", "seat:2")
    table.face("Kh", "seat:2")
    assert [one["seat"] for one in table.all("hand.tabled")] == [2]


def test_a_card_turned_over_in_the_deal_calls_whoever_may_rule() -> None:
    table = Watched()
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.sight("As", "seat:1")
    table.slide("As", "seat:1", 4000)
    assert [one["cause"] for one in table.all("card.opened")] == ["exposed_by_dealer"]
    assert codes(table) == ["I-2"]  # one of the first two cards (CM-11)


def test_what_a_camera_told_before_is_nothing_new() -> None:
    """After a restart it tells its scene, and perhaps again what was on record."""
    table = Watched()
    table.begin()
    table.flop()
    table.check_down()
    for card in ("As", "Ah"):
        table.face(card, "seat:1")
    records: list[Record] = table.records
    table.table = Table.restore(table.setup, records)
    assert table.table.session.state.seen["cam0"] == table.sequence
    count = len(records)
    first, table.sequence = table.sequence, table.sequence - 2
    for card in ("As", "Ah", "3c", "9d", "Ts", "4d", "8h"):
        table.sight(card, "board" if card in ("3c", "9d", "Ts", "4d", "8h") else "seat:1")
    assert table.sequence > first
    table.run(5000)
    assert len(records) == count


def test_a_face_is_confirmed_when_nothing_more_can_come_of_it() -> None:
    table = Watched()
    table.begin()
    table.sight("2c", "seat:1", up=False)
    back = table.seen
    assert not table.table.waits_for(back)
    table.sight("As", "seat:1")
    face = table.seen
    table.sight("3c", "seat:2", up=False)
    after = table.seen
    assert table.table.waits_for(face)
    assert table.table.waits_for(after)  # a camera confirms all up to a number at once
    assert not table.table.waits_for(back)
    table.run(2900)
    assert table.table.waits_for(face)
    table.run(200)
    assert not table.table.waits_for(face)
    assert not table.table.waits_for(after)
    assert codes(table) == []
    assert [one["cause"] for one in table.all("card.opened")] == ["exposed_by_player"]


# --- a table with a shoe ----------------------------------------------------------------------------------------


class AtShoe(ShoeTable):
    """A shoe table with a camera over the board and the seats, or over the mouth of the shoe."""

    def __init__(self, regions: dict[str, str], *, shoe: bool = True) -> None:
        own = [d for d in DEVICES if shoe or d.kind != "shoe"]
        super().__init__(setup(devices=(*own, DeviceInfo("cam0", "camera", regions, "camera"))))
        self.region = {place: region for region, place in regions.items()}
        self.sequence = 0

    def sight(self, number: int, card: str, place: str, wait: int = 600, *, standing: bool = False) -> None:
        self.sequence += 1
        region = self.region[place]
        self.feed(CardSighted("cam0", 0, region, number, card, "up", 99, True, standing, self.sequence))
        self.run(wait)

    def open(self) -> None:
        self.feed(HandSeed(bytes(32)))
        self.say("open", button=2)
        for seat in (1, 2):
            self.say("seat", seat=seat, stack=10_000)
        self.key("HAND")


def test_at_a_shoe_table_a_camera_shows_hands_and_doubts_the_board() -> None:
    table = AtShoe({"1": "seat:1", "2": "seat:2", "9": "board"})
    table.open()
    for card in ("As", "Ks", "Ah", "Kh"):
        table.slide(card)
    table.key("CALL", "CHECK")
    for number, card in enumerate(("2c", "3c", "9d", "Ts")):
        table.slide(card)
        if number:
            table.sight(number, card, "board")
    assert table.all("street.opened")[0]["board"] == ["3c", "9d", "Ts"]
    table.run(5000)
    assert table.all("incident.opened") == []
    table.sight(9, "Qs", "board", 4000)
    assert [one["code"] for one in table.all("incident.opened")] == ["I-18"]
    table.say("rule", incident="I-18", ruling="as_read")
    for cards in (("4c", "4d"), ("5c", "8h"), ()):
        table.key("CHECK", "CHECK")
        for card in cards:
            table.slide(card)
    first, second = table.all("showdown.started")[0]["order"]
    held = {1: ("As", "Ah"), 2: ("Ks", "Kh")} if table.all("card.dealt")[0]["seat"] == 1 else {
        2: ("As", "Ah"), 1: ("Ks", "Kh")
    }  # fmt: skip
    for seat in (first, second):
        for number, card in enumerate(held[seat]):
            table.sight(20 + 2 * seat + number, card, f"seat:{seat}")
    assert sorted(one["seat"] for one in table.all("hand.tabled")) == [1, 2]
    assert table.all("award.computed")


def test_a_camera_at_the_mouth_is_the_shoe_where_there_is_none() -> None:
    table = AtShoe({"5": "shoe"}, shoe=False)
    table.open()
    for number, card in enumerate(("As", "Ks", "Ah", "Kh"), 1):
        table.sight(number, card, "shoe")
    assert len(table.all("card.dealt")) == 4
    table.sequence -= 1
    table.sight(9, "Kh", "shoe")  # sent again: it is on record
    table.sight(10, "Qd", "shoe", standing=True)  # it lay there before
    assert len(table.all("card.dealt")) == 4
    assert table.all("incident.opened") == []


def test_a_camera_at_the_mouth_of_a_shoe_is_its_witness() -> None:
    table = AtShoe({"5": "shoe"})
    table.open()
    for number, card in enumerate(("As", "Ks", "Ah"), 1):
        table.sight(number, card, "shoe", 100)
        table.slide(card)
    cited = [e for one in table.all("card.dealt") for e in one["evidence"] if e["device"] == "cam0"]
    assert [e["reading"] for e in cited] == ["1", "2", "3"]
    table.slide("Kh")
    table.sight(4, "Qh", "shoe", 2000)
    assert table.all("incident.opened") == []
    table.run(2000)
    assert [one["code"] for one in table.all("incident.opened")] == ["I-18"]


# --- a table of boxes -------------------------------------------------------------------------------------------


class CameraRig(ShoeRig):
    """Boxes at a table with a shoe, and a camera over the cards of the dealer and the boxes."""

    def __init__(self, cards: str) -> None:
        regions = {"1": "box:1:cards", "2": "box:2:cards", "3": "box:3:cards", "4": "dealer"}
        shoe = DeviceInfo("shoe0", "shoe", {"0": "shoe"}, "shoe")
        keys = DeviceInfo("keys0", "keypad", {}, "keypad")
        Rig.__init__(self, boxes(devices=(shoe, keys, DeviceInfo("cam0", "camera", regions, "camera"))))
        self.deck = cards.split()

    def turn(self, region: str, *cards: str) -> None:
        for number, card in enumerate(cards):
            sequence = self.reading("cam0")
            self.feed(CardSighted("cam0", 0, region, 10 * int(region) + number, card, "up", 99, True, False, sequence))
            self.pause(300)
        self.pause(600)

    def to_the_reveal(self) -> None:
        self.players({1: "p-1", 2: "p-1", 3: "p-2"})
        self.announce(1, 2, 3)
        self.key(*"1", "BET", "2", "ENTER", "1", "ALLIN", "1", "ENTER")
        self.key("2", "BET", "2", "ENTER", "2", "RAISE", "6", "ENTER")
        self.key("3", "BET", "2", "ENTER", "HAND")
        self.slide(8)
        self.key("CHECK", "CHECK")
        self.slide(3)


def test_the_dealers_cards_and_those_of_boxes_are_turned_without_a_key() -> None:
    rig = CameraRig(EXAMPLE_B)
    rig.to_the_reveal()
    rig.key("1", "CALL", "3", "CHECK")
    rig.slide(2)
    rig.key("3", "FOLD")
    rig.turn("4", "9d", "4c")
    assert rig.all("dealer.revealed")[0]["basis"] == "sensor"
    rig.turn("1", "Kd", "Jh")
    rig.turn("2", "7h", "7d")
    rig.key("DONE")
    rig.check_example_b()


def test_the_dealers_cards_turned_too_soon_are_held() -> None:
    rig = CameraRig(EXAMPLE_B)
    rig.to_the_reveal()
    rig.turn("4", "9d")
    assert rig.all("incident.opened") == []
    rig.turn("4", "9d", "4c")
    assert [one["code"] for one in rig.all("incident.opened")] == ["I-41"]
    rig.pause(10_000)
    assert len(rig.all("incident.opened")) == 1


# --- one tag on two devices -------------------------------------------------------------------------------------


def test_one_tag_on_two_devices_is_recorded_and_believed_from_neither() -> None:
    table = Rfid()
    table.open()
    table.bet(1, 500)
    count = len(table.all("blind.posted"))
    assert count == 1
    tag = table.spare["500"].pop()
    table.places.setdefault("bet:2", []).append(tag)  # a copy: the same tag also lies in a stack
    table.places["stack:2"].append(tag)
    table.run(9000)
    assert table.all("device.conflict") == []  # a chip on its way is in both for a while
    table.run(3000)
    conflicts = table.all("device.conflict")
    assert [(one["device"], one["role"], one["cause"]) for one in conflicts] == [
        ("bets0", ["bet:2"], "one_tag_on_two_devices"),
        ("stacks0", ["stack:2"], "one_tag_on_two_devices"),
    ]
    assert tag not in str([record for record in table.records if record.stream != "guard"])
    table.run(30_000)
    assert len(table.all("device.conflict")) == 2
    assert table.table.status()["faults"] == {"bets0": ["conflict"], "stacks0": ["conflict"]}
    table.places["bet:2"].remove(tag)
    table.run(1000)
    assert table.table.status()["faults"] == {}
    assert [(one["device"], one["cause"]) for one in table.all("device.cleared")] == [
        ("bets0", "conflict"),
        ("stacks0", "conflict"),
    ]


def test_a_device_that_is_lost_claims_nothing() -> None:
    table = Rfid()
    table.open()
    tag = table.places["stack:1"][0]
    table.places.setdefault("bet:2", []).append(tag)
    table.run(5000)
    table.feed(DeviceLost("bets0", 0, "unplugged", "x"))
    table.places["bet:2"].remove(tag)
    table.feed(DeviceUp("bets0", 0, "feig", "m", "s", "1", "x"))
    table.run(15_000)
    assert table.all("device.conflict") == []


@pytest.mark.parametrize("known", [True, False])
def test_only_tags_of_the_table_are_watched(known: bool) -> None:
    table = Rfid()
    tag = table.spare["100"].pop() if known else "E0040000DEADBEEF"
    for _ in range(100):
        table.at += POLL
        for device in ("stacks0", "bets0"):
            table.feed(TagsSeen(device, 1, "1", frozenset({tag}), complete=True))
    assert bool(table.all("device.conflict")) is known


def test_two_channels_of_one_device_are_recorded_as_before() -> None:
    table = Rfid()
    table.feed(DeviceConflict("bets0", 1, table.spare["100"][0], ("1", "2")))
    assert [(one["device"], one["role"]) for one in table.all("device.conflict")] == [("bets0", ["bet:1", "bet:2"])]
