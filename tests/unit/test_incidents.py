"""What a person must rule on: it is held, proposed, ruled by who may, and carried out."""

from dataclasses import replace

import pytest

from controller.core.cards import commitment
from controller.core.errors import BadCommand
from controller.core.facts import (
    Called,
    CardCame,
    CardDoubtful,
    Declared,
    Evidence,
    Finished,
    HandAttested,
    Shown,
    Undone,
)
from controller.core.inputs import Command, HandSeed, Input, Tick
from controller.core.table import Table
from drivers.readings import (
    CardSeen,
    DeviceCleared,
    DeviceFault,
    DeviceLost,
    DeviceUp,
    KeyPressed,
    KeyReleased,
    Reading,
    TagsSeen,
)
from tests.felt import HR, RS, SECOND, WALL, Felt, setup


def test_i4_premature_flop_is_dealt_again_without_a_second_burn() -> None:
    felt = Felt(setup(profile=HR, blinds=(500, 1000))).open([10_000, 10_000, 10_000]).deal()
    felt.act("r3000", "c")
    felt.do(CardCame("next", "2s"))
    assert not felt.all("incident.opened")
    for card in ("7h", "4c", "Js"):
        felt.do(CardCame("next", card))
    opened = felt.all("incident.opened")
    assert [(i["code"], i["holds"], i["sa"]) for i in opened] == [("I-4", "hand", True)]
    assert "chief_inspector" in opened[0]["who_may_rule"]
    assert [c["cause"] for c in felt.all("card.opened")] == ["premature"] * 3
    felt.do(Declared("call"))
    assert not felt.taken
    felt.say("rule", "dealer", "I am only the dealer", incident="I-4", ruling="proposed")
    assert felt.session.state.held is not None
    felt.say("rule", "chief_inspector", "betting was open", incident="I-4", ruling="proposed")
    assert [c["outcome"] for c in felt.all("incident.closed")] == ["resumed"]
    felt.act("c")
    for card in ("Qs", "6d", "7h"):  # a card that went back into the stub may come again
        felt.do(CardCame("next", card))
    assert felt.all("street.opened")[-1]["cards"] == ["Qs", "6d", "7h"]
    assert felt.all("street.opened")[-1]["burned"]


def test_the_big_blinds_skipped_option_is_named() -> None:
    felt = Felt().open([5000, 5000, 5000]).deal().act("c", "c")
    felt.do(CardCame("next", "2s"))
    felt.do(CardCame("next", "3s"))
    assert felt.all("incident.opened")[0]["rules"][0] == "RS-3.5"


def test_i17_an_unsure_board_card_is_named_by_a_person() -> None:
    felt = Felt().open([5000, 5000]).deal().act("c", "k")
    for card in ("2s", "3s", "4s"):
        felt.do(CardCame("next", card))
    felt.do(CardDoubtful("low_confidence", "9d", evidence=(Evidence("shoe0", 9),)))
    incident = felt.all("incident.opened")[0]
    assert incident["code"] == "I-17"
    assert not felt.all("street.opened")
    with pytest.raises(BadCommand, match="card"):
        felt.say("rule", incident="I-17", ruling="name_card", card="9x")
    with pytest.raises(BadCommand, match="out already"):
        felt.say("rule", incident="I-17", ruling="name_card", card="3s")
    felt.say("rule", incident="I-17", ruling="name_card", card="9c")
    assert felt.all("street.opened")[0]["board"] == ["3s", "4s", "9c"]
    assert "'9d'" not in str([r.data for r in felt.records])


def test_i17_an_unsure_closed_card_holds_only_when_its_value_is_needed() -> None:
    felt = Felt().open([5000, 5000])
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    felt.do(CardCame("next", "As"))
    felt.do(CardDoubtful("low_confidence", "Kd", evidence=(Evidence("shoe0", 2),)))
    felt.do(CardCame("next", "Ad"))
    felt.do(CardCame("next", "Kh"))
    assert not felt.all("incident.opened")
    felt.act("a", "c").show(1)
    felt.do(Shown(2))
    assert [i["code"] for i in felt.all("incident.opened")] == ["I-17"]
    felt.say("rule", incident="I-17", ruling="proposed", card="Kd")
    assert felt.all("hand.tabled")[-1]["cards"] == ["Kd", "Kh"]


def test_i13_a_card_of_another_deck_holds_the_hand() -> None:
    felt = Felt().open([5000, 5000])
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    felt.do(CardDoubtful("unknown", None, evidence=(Evidence("shoe0", 1),)))
    assert [(i["code"], i["holds"]) for i in felt.all("incident.opened")] == [("I-13", "hand")]


def test_a_called_misdeal_is_redealt_as_an_exact_replay() -> None:
    felt = Felt().open([5000, 5000, 5000]).deal()
    felt.do(Called("misdeal"))
    felt.say("rule", incident="I-2", ruling="proposed")
    old = felt.all("hand.started")[0]
    assert felt.all("hand.voided")[0]["returned"] == [{"seat": 1, "amount": 50}, {"seat": 2, "amount": 100}]
    felt.deal()
    new = felt.all("hand.started")[1]
    assert (new["button"], new["replaces"]) == (old["button"], old["hand"])
    assert felt.all("hand.redealt")[0]["new"] == new["hand"]


def test_a_hand_cannot_close_while_an_incident_of_it_is_open() -> None:
    felt = Felt().open([5000, 5000]).deal().act("f")
    felt.do(Called("void"))
    felt.do(Finished())
    assert not felt.all("hand.closed")
    felt.say("rule", incident="I-37", ruling="play_on")
    felt.do(Finished())
    assert felt.all("hand.closed")


def test_a_ruling_needs_a_reason_and_a_known_incident() -> None:
    felt = Felt().open([5000, 5000]).deal()
    felt.do(Called("void"))
    with pytest.raises(BadCommand, match="reason"):
        felt.do(Command("rule", {"incident": "I-37"}, "s-1", "manager", ""))
    with pytest.raises(BadCommand, match="name an open incident"):
        felt.say("rule", incident="I-99")
    with pytest.raises(BadCommand, match="can be ruled"):
        felt.say("rule", incident="I-37", ruling="blame the player")


class Desk:
    """A whole table fed with readings, one second apart."""

    def __init__(self) -> None:
        self.table = Table(setup())
        self.no = self.at = 0

    def feed(self, what: object, wait: int = SECOND) -> list[str]:
        self.no += 1
        self.at += wait
        if isinstance(what, KeyPressed):
            return [*self._feed(what), *self._feed(KeyReleased(what.device, what.reading, what.key))]
        return self._feed(what)

    def _feed(self, what: object) -> list[str]:
        return [r.type for r in self.table.feed(Input(self.no, self.at, WALL + self.at, what))]  # type: ignore[arg-type]

    def open(self) -> None:
        self.feed(Command("open", {"button": 2}, "s-1", "manager"))
        for seat in (1, 2):
            self.feed(Command("seat", {"seat": seat, "stack": 5000}, "s-1", "manager"))
        self.feed(HandSeed(bytes(32)))


def card(number: int, value: str | None, confidence: int = 100) -> Reading:
    return CardSeen("shoe0", number, "0", value, None, confidence, number)


def test_a_card_sent_again_after_a_lost_acknowledgement_is_no_second_card() -> None:
    desk = Desk()
    desk.open()
    desk.feed(KeyPressed("keys0", 1, "HAND"))
    assert "card.dealt" in desk.feed(card(1, "As"))
    assert desk.feed(card(1, "As")) == []
    assert "card.dealt" in desk.feed(card(2, "Ks"))


def test_another_shoe_counts_its_cards_from_the_start() -> None:
    desk = Desk()
    desk.open()
    up = DeviceUp("shoe0", 0, "shoe", "felt-shoe", "A1", "1", "usb")
    desk.feed(up)
    desk.feed(KeyPressed("keys0", 1, "HAND"))
    desk.feed(card(7, "As"))
    desk.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    desk.feed(DeviceUp("shoe0", 0, "shoe", "felt-shoe", "B2", "1", "usb"))
    assert "card.dealt" in desk.feed(card(1, "Ks"))


def test_a_lost_shoe_bars_the_next_hand_until_it_is_back() -> None:
    desk = Desk()
    desk.open()
    assert desk.feed(DeviceLost("shoe0", 0, "unplugged", "usb")) == ["device.lost", "incident.opened"]
    assert desk.feed(DeviceLost("shoe0", 0, "missing", "usb", 2)) == ["device.lost"]
    assert desk.feed(KeyPressed("keys0", 1, "HAND")) == ["breach.noted"]
    back = DeviceUp("shoe0", 0, "shoe", "felt-shoe", "A1", "1", "usb", 3)
    assert desk.feed(back) == ["device.up", "incident.closed"]
    assert "hand.started" in desk.feed(KeyPressed("keys0", 2, "HAND"))


def test_an_incident_of_the_closed_table_keeps_its_number_for_itself() -> None:
    """A device may be missing before the first opening of the day, and be so still after it."""
    desk = Desk()
    desk.feed(DeviceLost("keys0", 0, "missing", "usb"))
    desk.open()
    desk.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    ids = list(desk.table.session.state.incidents)
    assert [name.rpartition("-")[2] for name in ids] == ["i1", "i2"]
    desk.feed(Command("close", {}, "s-1", "manager"))
    day = 24 * 3600 * SECOND
    desk.feed(DeviceUp("keys0", 0, "keypad", "hid", "", "", "usb", 2), day)
    desk.feed(DeviceLost("keys0", 0, "missing", "usb"))
    desk.open()
    desk.feed(DeviceUp("shoe0", 0, "shoe", "felt-shoe", "A1", "1", "usb", 2))
    desk.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    later = list(desk.table.session.state.incidents)
    assert [name.rpartition("-")[2] for name in later] == ["i1", "i2"]
    assert len({*ids, *later}) == 4


def test_the_tray_is_counted_once_it_rests() -> None:
    desk = Desk()
    tags = frozenset({"E0"})
    assert desk.feed(TagsSeen("tray0", 1, "0", tags, complete=True)) == []
    assert desk.feed(TagsSeen("tray0", 2, "0", frozenset(), complete=False), SECOND // 10) == []
    assert desk.table.deadline() is not None
    assert desk.feed(Tick()) == ["tray.counted", "chip.unknown"]
    assert desk.table.deadline() is None


def test_an_exact_replay_deals_in_nobody_new() -> None:
    felt = Felt().open([5000, 5000, 5000]).deal()
    felt.do(Called("misdeal"))
    felt.say("rule", incident="I-2", ruling="proposed")
    felt.say("seat", seat=7, stack=5000)
    felt.deal()
    old, new = felt.all("hand.started")
    assert (new["small_blind_seat"], new["big_blind_seat"]) == (old["small_blind_seat"], old["big_blind_seat"])
    assert 7 not in felt.hand.order


def test_cards_after_the_award_foul_no_deck() -> None:
    felt = Felt().open([5000, 5000]).deal({1: "AsKs"}).act("f")
    for card in ("As", "As", "Ks"):
        felt.do(CardCame("next", card))
    assert not felt.all("incident.opened")
    assert [b["what"] for b in felt.all("breach.noted")] == ["payout_unfinished"] * 3
    felt.done()
    assert felt.all("hand.closed")


def test_a_fouled_deck_is_one_incident_however_often_it_shows() -> None:
    felt = Felt().open([5000, 5000]).deal({1: "AsKs"}).act("c", "k")
    for card in ("As", "Ks", "As"):
        felt.do(CardCame("next", card))
    assert len(felt.all("incident.opened")) == 1


def test_blinds_are_posted_by_hand_after_all_the_cards() -> None:
    felt = Felt().open([5000, 5000, 5000])
    felt.session.seed(bytes(32))
    for card in ("2c", "3c", "4c", "5c", "6c", "7c"):
        felt.do(CardCame("next", card))
    assert felt.all("breach.noted")[0]["what"] == "blinds_after_cards"
    felt.do(HandAttested())
    assert [b["amount"] for b in felt.all("blind.posted")] == [50, 100]
    assert (felt.legal.seat, felt.legal.call) == (3, 100)


@pytest.mark.parametrize("stack", [20_000, None])
@pytest.mark.parametrize("to", [50, 100, 200, 500])
def test_all_in_is_the_whole_stack_and_never_takes_chips_back(stack: int | None, to: int) -> None:
    felt = Felt().open([stack, stack, stack]).deal().act("r600")
    felt.do(Declared("all_in", None, to))
    for action in felt.all("action.taken"):
        assert action["added"] > 0
    if stack is not None or to <= 50:
        assert not felt.taken


def test_a_muck_is_taken_back_alone() -> None:
    felt = Felt().open([5000, 5000]).deal().act("c", "k").street().act("k", "k").street().act("k", "k").street()
    felt.act("b100", "c")
    felt.do(Declared("fold", 2))
    assert felt.all("hand.mucked")
    felt.do(Undone())
    assert felt.hand.live == (1, 2)
    assert felt.hand.phase == "showdown"
    assert felt.all("action.undone")[-1]["seat"] == 2
    felt.show(1, 2)
    assert felt.all("award.computed")


def test_show_without_a_seat_is_the_seat_whose_turn_it_is() -> None:
    felt = Felt().open([5000, 5000]).deal().act("c", "k").street().act("k", "k").street().act("k", "k").street()
    felt.act("b100", "c")
    felt.do(Shown(None))
    felt.do(Shown(None))
    assert [t["seat"] for t in felt.all("hand.tabled")] == [1, 2]


def test_no_hand_begins_while_a_needed_device_is_away_whatever_was_ruled() -> None:
    desk = Desk()
    desk.open()
    desk.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    desk.feed(Command("rule", {"incident": "I-33", "ruling": "wait"}, "s-1", "manager", "go on"))
    assert "hand.started" not in desk.feed(KeyPressed("keys0", 1, "HAND"))
    desk.feed(DeviceUp("shoe0", 0, "shoe", "felt-shoe", "A1", "1", "usb", 2))
    assert "hand.started" in desk.feed(KeyPressed("keys0", 2, "HAND"))


def test_a_hand_that_lost_a_needed_device_says_that_it_was_degraded() -> None:
    desk = Desk()
    desk.open()
    desk.feed(KeyPressed("keys0", 1, "HAND"))
    desk.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    assert desk.table.session.state.hand is not None
    assert desk.table.session.state.hand.degraded
    opened = [record for record in desk.table.session.out.records if record.type == "incident.opened"]
    assert [record.data["phase"] for record in opened] == ["deal"]


def test_a_named_card_is_bound_to_nobody_knowing_it() -> None:
    felt = Felt().open([5000, 5000])
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    felt.do(CardCame("next", "As"))
    felt.do(CardDoubtful("low_confidence", "Kd", evidence=(Evidence("shoe0", 2),)))
    felt.do(CardCame("next", "Ad"))
    felt.do(CardCame("next", "Kh"))
    felt.act("a", "c").show(1)
    felt.do(Shown(2))
    felt.say("rule", incident="I-17", ruling="proposed", card="Kd")
    opened = next(c for c in felt.all("card.opened") if c["card"] == "Kd")
    dealt = next(c for c in felt.all("card.dealt") if c["slot"] == opened["slot"])
    assert opened["named"]
    assert dealt["commit"] == commitment(felt.hand.id, opened["slot"], "??", opened["salt"])


def test_an_amount_beyond_stack_and_pot_names_the_rule_of_the_bound_it_gives() -> None:
    felt = Felt(setup(replace(RS, structure="pot_limit"))).open([10_000] * 3)
    breach = felt.deal().refused("r100000")
    assert breach["rules"][0] == "RS-7.12"
    plain = Felt().open([10_000] * 3).deal().refused("r100000")
    assert plain["rules"][0] == "RS-7.10"


def test_events_say_that_a_device_is_away_and_for_how_long() -> None:
    desk = Desk()
    desk.open()
    desk.feed(KeyPressed("keys0", 1, "HAND"))

    def pressed(number: int) -> list[bool]:
        desk.no, desk.at = desk.no + 1, desk.at + SECOND
        made = desk.table.feed(Input(desk.no, desk.at, WALL + desk.at, KeyPressed("keys0", number, "FOLD")))
        return ["degraded" in record.data for record in made if record.hand]

    def lasted(what: object) -> int | None:
        desk.feed(what)
        told = [record for record in desk.table.session.out.records if record.type in ("device.up", "device.cleared")]
        lasted: int | None = told[0].data.get("since_ms")
        return lasted

    assert not any(pressed(2))
    desk.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    out = desk.table.session.out
    lost_records = list(out.records)
    assert all(pressed(3))
    (lost,) = (record for record in lost_records if record.type == "device.lost")
    assert out.state.play is not None
    assert lost.hand == out.state.play.id, "events of a device name the hand that was played"
    assert lasted(DeviceUp("shoe0", 0, "shoe", "felt-shoe", "A1", "1", "usb", 2)) == 2000
    assert not any(pressed(4))
    desk.feed(DeviceFault("shoe0", 0, "jam"))
    assert lasted(DeviceCleared("shoe0", 0, "jam")) == 1000
    assert lasted(DeviceCleared("shoe0", 0, "jam")) is None, "nobody knows when it began"


def test_a_proposal_to_give_a_hand_up_says_what_goes_back_to_whom() -> None:
    felt = Felt().open([5000, 5000, 5000]).deal().act("c", "f")
    felt.do(Called("void"))
    proposed, stakes = felt.all("incident.opened")[0]["proposed"], ((1, 50), (2, 100), (3, 100))
    assert proposed == {"ruling": "void", "effects": [{"seat": seat, "amount": amount} for seat, amount in stakes]}
    felt.say("rule", incident="I-37")
    assert felt.all("hand.voided")[0]["returned"] == proposed["effects"]
