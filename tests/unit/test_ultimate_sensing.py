"""Example B by shoe and keypad, and by antennas; and what antennas must not be fooled by."""

import pytest

from controller.client import picture
from controller.core.inputs import Input
from controller.core.setup import Chipset, Deck, Denomination
from controller.core.table import Table
from drivers.readings import DeviceLost, KeyPressed, TagsSeen
from tests.boxes import WALL, setup
from tests.boxrigs import BET_PLACES, CARD_TAGS, CHANNELS, CHIP_TAGS, RfidRig, Rig, ShoeRig
from tests.unit.test_ultimate_round import EXAMPLE_B


def test_example_b_with_shoe_and_keypad() -> None:
    rig = ShoeRig(EXAMPLE_B)
    rig.players({1: "p-1", 2: "p-1", 3: "p-2"})
    rig.announce(1, 2, 3)
    rig.key(*"1", "BET", "2", "ENTER", "1", "ALLIN", "1", "ENTER")
    rig.key("2", "BET", "2", "ENTER", "2", "RAISE", "6", "ENTER")
    rig.key("3", "BET", "2", "ENTER", "HAND")
    rig.slide(8)
    rig.key("CHECK", "CHECK")
    rig.slide(3)
    rig.key("1", "CALL", "3", "CHECK")
    rig.slide(2)
    rig.key("3", "FOLD", "SHOW", "SHOW", "DONE")
    rig.check_example_b()


def test_keys_for_boxes_are_refused_where_they_mean_nothing() -> None:
    rig = ShoeRig()
    rig.announce(1)
    rig.key("BET", "2", "ENTER")
    assert "key the box" in rig.all("action.refused")[-1]["why"]
    rig.key("7", "BET", "2", "ENTER")
    assert "1 to 6" in rig.all("action.refused")[-1]["why"]
    rig.key("1", "BET", "2", "ENTER", "1", "BET", "0", "ENTER")
    assert [b["lies"] for b in rig.all("bet.withdrawn")] == [0, 0]
    rig.key("1", "RAISE", "2", "ENTER", "SHOW", "MISDEAL", "MISDEAL")
    assert len(rig.all("action.refused")) == 4


def test_a_misdeal_by_keys_keeps_the_bets() -> None:
    rig = ShoeRig()
    rig.announce(1)
    rig.key("1", "BET", "2", "ENTER", "HAND")
    rig.slide(3)
    rig.key("MISDEAL", "MISDEAL")
    assert rig.all("hand.redealt")
    rig.key("HAND")
    rig.slide(4)
    assert rig.all("hand.started")[-1]["boxes"][0]["stakes"] == {"ante": 1000, "blind": 1000}
    rig.key("1", "FOLD", "DONE")
    assert rig.all("hand.closed")


def test_status_says_what_is_due() -> None:
    rig = ShoeRig()
    rig.announce(1)
    rig.key("1", "BET", "2", "ENTER")
    assert rig.table.status()["boxes"][0]["stakes"] == {"ante": 1000, "blind": 1000}
    rig.key("HAND")
    rig.slide(4)
    status = rig.table.status()
    assert status["hand"]["phase"] == "decide"
    assert [a["kind"] for a in status["due"]["boxes"][0]["allowed"]] == ["check", "play", "play", "fold"]
    told = picture(status)
    assert "box 1 to decide: check, play 3000, play 4000, fold" in told
    rig.key("1", "FOLD")
    assert "box 1: ante lose, blind lose" in picture(rig.table.status())


ROUND_OF_THREE = ("box:1:cards", "box:2:cards", "box:3:cards", "dealer")


def three_boxes(rig: RfidRig) -> RfidRig:
    rig.players({1: "p-1", 2: "p-1", 3: "p-2"})
    rig.announce(1, 2, 3)
    rig.put(1, ante={1000: 1}, blind={1000: 1}, trips={500: 1})
    rig.put(2, ante={1000: 1}, blind={1000: 1}, play={1000: 3})
    rig.put(3, ante={1000: 1}, blind={1000: 1})
    rig.key("HAND")
    rig.deal(ROUND_OF_THREE * 2)
    return rig


def test_example_b_with_antennas() -> None:
    rig = three_boxes(RfidRig(EXAMPLE_B))
    rig.key("1", "CHECK", "3", "CHECK")
    rig.deal(["board"] * 3)
    rig.put(1, play={1000: 2})
    rig.move("box:1:cards", "box:1:under_play")
    rig.key("3", "CHECK")
    rig.deal(["board"] * 2)
    rig.move("box:3:cards", "muck")
    rig.key("SHOW", "1", "SHOW", "2", "SHOW")
    for place in ("box:1:trips", "box:3:ante", "box:3:blind"):
        rig.take(place)
    for place, amount in (("box:1:ante", 1000), ("box:1:play", 2000), ("box:2:ante", 1000), ("box:2:play", 3000)):
        rig.pay(place, amount)
    rig.collect()
    rig.check_example_b()


def test_chips_before_a_key_are_told_before_it() -> None:
    """The dealer presses HAND while the last chips are still coming to rest, and deals at once."""
    rig = RfidRig()
    rig.announce(1)
    rig.put(1, settle=100, ante={1000: 1}, blind={1000: 1})
    rig.key("HAND")
    rig.pause(1500)
    assert not rig.all("breach.noted")
    assert rig.all("hand.started")


def test_a_flop_right_after_a_play_is_not_premature() -> None:
    rig = three_boxes(RfidRig())
    rig.key("1", "CHECK")
    rig.put(3, settle=200, play={1000: 3})
    rig.deal(["board"] * 3)
    rig.pause(1500)
    assert rig.all("box.decided", box=3, kind="play", amount=3000)
    assert not rig.all("incident.opened")
    assert rig.all("street.opened")


def test_a_play_laid_chip_by_chip_is_one_play() -> None:
    rig = three_boxes(RfidRig())
    for _ in range(4):
        rig.put(1, settle=300, play={1000: 1})
    rig.pause(1500)
    assert [d["amount"] for d in rig.all("box.decided", box=1)] == [4000]
    assert not rig.all("incident.opened")


def test_i_40_a_dark_box_is_lifted() -> None:
    rig = three_boxes(RfidRig())
    held, rig.lie["box:2:cards"] = rig.lie["box:2:cards"], set()
    rig.pause(1500)
    rig.lie["box:2:cards"] = held
    rig.pause(1500)
    (incident,) = rig.all("incident.opened")
    assert (incident["code"], incident["boxes"], incident["rules"][0]) == ("I-40", [2], "LT-2.4")


def test_a_flickering_tag_is_not_a_look() -> None:
    rig = three_boxes(RfidRig())
    for _ in range(6):
        rig.hidden = set(rig.lie["box:2:cards"])
        rig.pause(200)
        rig.hidden = set()
        rig.pause(300)
    assert not rig.all("incident.opened")


def test_a_player_holds_the_seen_cards_as_he_likes() -> None:
    rig = three_boxes(RfidRig())
    held, rig.lie["box:1:cards"] = rig.lie["box:1:cards"], set()
    rig.pause(5000)
    rig.lie["box:1:cards"] = held
    rig.pause(1500)
    assert not rig.all("incident.opened")


def test_lt_7_3_cards_beside_the_play_are_flagged_once() -> None:
    rig = three_boxes(RfidRig())
    rig.put(1, play={1000: 3})
    rig.pause(25_000)
    assert [b["rules"] for b in rig.all("breach.noted")] == [["LT-7.3"]]


def test_lt_6_8_a_card_in_another_box() -> None:
    rig = three_boxes(RfidRig())
    tag = min(rig.lie["box:1:cards"])
    rig.lie["box:1:cards"].discard(tag)
    rig.lie["box:3:cards"].add(tag)
    rig.pause(1500)
    assert rig.all("incident.opened")[0]["rules"] == ["LT-6.8"]


def test_lt_8_2_chips_are_added_to_a_play() -> None:
    rig = three_boxes(RfidRig())
    rig.put(1, play={1000: 3})
    rig.put(1, play={1000: 1})
    assert rig.all("incident.opened")[0]["rules"] == ["LT-8.2", "LT-10.1"]
    rig.take("box:1:play")
    rig.put(1, play={1000: 3})
    assert rig.all("incident.closed")[0]["outcome"] == "corrected"


def test_what_still_lies_when_betting_ends_is_a_stake() -> None:
    """Winnings that nobody picked up are no stake, until the dealer ends the betting over them."""
    rig = RfidRig("As 4c Ad 4d Kh 9c 7s 2d 3h")
    rig.announce(1)
    rig.put(1, ante={1000: 1}, blind={1000: 1})
    rig.key("HAND")
    rig.deal(("box:1:cards", "dealer") * 2)
    rig.put(1, play={1000: 3})
    rig.move("box:1:cards", "box:1:under_play")
    rig.deal(["board"] * 5)
    rig.key("SHOW", "SHOW")
    rig.pay("box:1:ante", 1000)
    rig.pay("box:1:play", 3000)
    rig.collect()
    assert rig.all("hand.closed")
    bets = len(rig.all("bet.placed"))
    rig.pause(5000)
    assert len(rig.all("bet.placed")) == bets
    for place in ("box:1:ante", "box:1:play"):
        rig.take(place)
    rig.put(1, ante={1000: 1})
    rig.key("HAND")
    rig.pause(1000)
    assert rig.all("hand.started")[-1]["boxes"][0]["stakes"] == {"ante": 1000, "blind": 1000}


def test_keys_stand_in_for_an_antenna_that_is_lost() -> None:
    rig = RfidRig()
    rig.announce(1)
    rig.key("1", "BET", "2", "ENTER")
    rig.pause(500)
    assert "chips decide" in rig.all("action.refused")[-1]["why"]
    rig.feed(DeviceLost("bets0", rig.reading("bets0"), "unplugged", "x"))
    rig.table.feed(Input(rig.no + 1, rig.at, WALL + rig.at, KeyPressed("keys0", 900, "1")))
    for number, key in enumerate(("BET", "2", "ENTER")):
        rig.feed(KeyPressed("keys0", 901 + number, key))
    assert [b["spot"] for b in rig.all("bet.placed")] == ["ante", "blind"]


@pytest.mark.parametrize("assigned", [True, False])
def test_colour_chips_are_worth_what_was_assigned(assigned: bool) -> None:
    tags = CHIP_TAGS | {f"CC{i:04X}": "red" for i in range(20)}
    kinds = (Denomination("c500", 500), Denomination("c1000", 1000), Denomination("red", 500, "colour"))
    rig = RfidRig()
    rig.table.setup = rig.table.setup
    table = setup(seats=3, kind="rfid", devices=rig.table.setup.devices, deck=Deck("d1", CARD_TAGS),
                  chipset=Chipset("t", kinds, tags))  # fmt: skip
    rig.table, rig.records = Table(table), []
    rig.say("login", staff="s-11", role="dealer")
    rig.say("open")
    rig.announce(1)
    if assigned:
        rig.say("colour", colour="red", value=1000, player="p-1", box=1, count=20)
    rig.lie["box:1:ante"] = {"CC0001", "CC0002"}
    rig.pause(2000)
    if assigned:
        assert rig.all("bet.placed")[0]["amount"] == 2000
        assert rig.all("bet.placed")[0]["chips"] == [{"class": "colour", "denomination": 1000, "count": 2}]
    else:
        assert rig.all("incident.opened")[0]["rules"] == ["LT-1.1", "LT-A12"]


class GapRig(RfidRig):
    """The reader of the bets can be silent for a while: then its driver says that it could not read."""

    silent = False

    def pause(self, ms: int) -> None:
        if not self.silent:
            super().pause(ms)
            return
        for _ in range(max(1, ms // 100)):
            for device, places in CHANNELS.items():
                for channel, place in places.items():
                    tags = frozenset[str]() if device == "bets0" else frozenset(self.lie[place])
                    self.feed(TagsSeen(device, self.reading(device), channel, tags, device != "bets0"))
            Rig.pause(self, 100)


def test_bets_that_nobody_could_read_are_not_late_for_it() -> None:
    """They were made while the reader was away, and the end of betting was keyed before it read again."""
    rig = GapRig()
    rig.announce(1)
    rig.put(1, ante={1000: 1}, blind={1000: 1})
    rig.silent = True
    rig.pause(300)
    rig.put(1, settle=500, trips={500: 1})
    rig.key("HAND")
    rig.pause(500)
    assert not rig.all("hand.started")
    rig.silent = False
    rig.pause(3000)
    rig.deal(("box:1:cards", "dealer") * 2)
    assert rig.all("hand.started")[0]["boxes"][0]["stakes"] == {"ante": 1000, "blind": 1000, "trips": 500}
    assert not rig.all("breach.noted")
    assert not rig.all("incident.opened")


def test_nobody_waits_for_long_for_a_reader_that_is_away() -> None:
    rig = GapRig()
    rig.announce(1)
    rig.put(1, ante={1000: 1}, blind={1000: 1})
    rig.silent = True
    rig.pause(300)
    rig.key("HAND")
    rig.pause(6000)
    rig.silent = False
    rig.deal(("box:1:cards", "dealer") * 2)
    assert rig.all("hand.started")
    assert {place for place in BET_PLACES if rig.lie[place]} == {"box:1:ante", "box:1:blind"}


@pytest.mark.parametrize("gap", [300, 1000, 3000, 5000])
@pytest.mark.parametrize("given_first", [True, False])
def test_a_stake_that_is_changed_at_the_tray_stands(gap: int, given_first: bool) -> None:
    """One chip of 1000 for two of 500, in any order, while the boxes decide."""
    rig = three_boxes(RfidRig())
    spot, tray = rig.lie["box:1:ante"], rig.lie["tray"]
    large, small = set(spot), set(sorted(tag for tag in tray if CHIP_TAGS[tag] == "c500")[:2])
    halves = [(spot, tray, large), (tray, spot, small)]
    for source, target, tags in halves if given_first else halves[::-1]:
        source.difference_update(tags)
        target.update(tags)
        rig.pause(gap)
    rig.pause(10_000)
    assert not rig.all("incident.opened")
    assert not rig.all("breach.noted")


def test_a_stake_that_is_taken_to_the_tray_is_told_after_a_while() -> None:
    rig = three_boxes(RfidRig())
    rig.take("box:1:ante", settle=7000)
    assert not rig.all("incident.opened")
    rig.pause(4000)
    assert [one["code"] for one in rig.all("incident.opened")] == ["I-42"]
