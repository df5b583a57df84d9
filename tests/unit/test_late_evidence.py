"""What is heard late, at once, or not where it belongs yet: no seat is guessed, no order invented, nobody accused."""

from collections.abc import Iterable

import pytest

from controller.core.inputs import HandSeed
from controller.core.table import Table
from drivers.readings import DeviceLost, DeviceUp, TagsSeen
from tests.felt import setup, through_json
from tests.shoetable import ShoeTable
from tests.unit.test_rfid_table import Rfid, _started

MS = 1_000_000
FUSE_MS = setup().timing.fuse_ms


class Shoe(ShoeTable):
    """Three players at a shoe table, whose shoe may have to say a card again."""

    def __init__(self) -> None:
        super().__init__(setup())
        self.feed(HandSeed(bytes(32)))
        self.say("open", button=2)
        for seat in (1, 2, 3):
            self.say("seat", seat=seat, stack=10_000)
        self.key("HAND")
        for card in ("2c", "3c", "4c", "5c", "6c", "7c"):
            self.slide(card)
        self.key("CALL", "CALL", "CHECK")

    def slide(self, *cards: str, wait: int = 100, late: bool = False) -> None:
        super().slide(*cards, wait=wait, late=late)

    def told(self, *types: str) -> list[tuple[str, int | None]]:
        return [(r.type, r.data.get("seat")) for r in self.records if r.type in types]

    def actions(self) -> list[tuple[int, str]]:
        taken = [r.data for r in self.records if r.type == "action.taken" and r.data["street"] == "flop"]
        return [(data["seat"], data["kind"]) for data in taken]


def test_a_decision_that_was_keyed_before_a_late_card_is_taken_after_it() -> None:
    table = Shoe()
    table.slide("8c", "9c", "Tc")
    table.key("CHECK", "BET", "2", "0", "0", "ENTER")
    assert table.actions() == []
    table.slide("Jc", late=True)
    assert table.actions() == [(3, "check"), (1, "bet")]
    assert table.told("action.refused", "breach.noted") == []


def test_a_decision_that_was_keyed_before_the_card_was_drawn_is_refused() -> None:
    table = Shoe()
    table.slide("8c", "9c", "Tc")
    table.key("CHECK")
    table.slide("Jc")
    assert table.actions() == []
    assert [kind for kind, _ in table.told("action.refused", "street.opened")] == ["action.refused", "street.opened"]
    table.key("CHECK")
    assert table.actions() == [(3, "check")]


def test_a_decision_waits_for_a_card_only_so_long() -> None:
    table = Shoe()
    table.key("CHECK")
    assert not table.told("action.refused")
    table.run(FUSE_MS)
    assert len(table.told("action.refused")) == 1


def test_after_a_refusal_for_want_of_a_card_no_seat_is_guessed() -> None:
    table = Shoe()
    table.slide("8c", "9c", "Tc")
    table.key("CHECK")
    table.run(FUSE_MS)
    table.slide("Jc", late=True)
    table.key("CHECK")  # whose? The one that was refused, or the next player's?
    assert table.actions() == []
    table.key("3", "CHECK", "CHECK")
    assert table.actions() == [(3, "check"), (1, "check")]


# --- antennas --------------------------------------------------------------------------------------------------


def muck(table: Rfid, cards: Iterable[str]) -> None:
    table.put([table.card[card] for card in cards], "muck")


@pytest.mark.parametrize("holes", [{1: "AsAh", 2: "KsKh", 3: "7c2d"}, {1: "7c2d", 2: "KsKh", 3: "AsAh"}])
def test_folds_that_one_inventory_shows_are_told_in_turn(holes: dict[int, str]) -> None:
    table = Rfid()
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal(holes)
    for seat in (3, 1):
        muck(table, (holes[seat][:2], holes[seat][2:]))
    table.run(2500)
    assert [(seat, kind) for seat, kind, _ in table.actions()] == [(3, "fold"), (1, "fold")]
    assert table.troubles() == []


@pytest.mark.parametrize("late_ms", [100, 400, 900, 1900])
def test_a_fold_that_the_muck_shows_late_still_comes_before_the_next(late_ms: int) -> None:
    """Its cards left the seat first; those that came later lie on them and are read."""
    table = _started()
    table.put([table.card["7c"], table.card["2d"]], "in the muck, under others")
    table.run(300)
    muck(table, ("As", "Ah"))
    table.run(late_ms)
    muck(table, ("7c", "2d"))
    table.run(2500)
    assert [(seat, kind) for seat, kind, _ in table.actions()] == [(3, "fold"), (1, "fold")]
    assert table.troubles() == []


def test_a_fold_while_the_player_to_act_looks_at_his_cards_is_out_of_turn_and_told_before_his_chips() -> None:
    table = _started()
    held = table.places.pop("seat:3")
    table.run(300)
    muck(table, ("As", "Ah"))
    table.run(1000)
    table.bet(3, 1000, wait=1000)
    assert table.actions() == []
    table.run(2 * FUSE_MS)
    table.put(held, "seat:3")
    table.run(1000)
    assert [(seat, kind) for seat, kind, _ in table.actions()] == [(1, "fold"), (3, "call")]
    assert [(b["what"], b["seat"]) for b in table.all("breach.noted")] == [("out_of_turn", 1)]


def _seated() -> Rfid:
    """HAND has not been pressed yet, and a chip of seat 2 is not read."""
    table = Rfid()
    table.open(hand=False)
    table.put(table.chips("stack:2", 500), "deep in the stack")
    table.run(12_000)
    return table


@pytest.mark.parametrize("late_ms", [0, 200, FUSE_MS - 600])
def test_a_chip_that_is_read_just_after_hand_is_no_difference(late_ms: int) -> None:
    table = _seated()
    table.key("HAND")
    table.run(late_ms)
    table.put(table.places["deep in the stack"], "stack:2")
    table.run(2 * FUSE_MS)
    assert [line["stack"] for line in table.all("attestation.recorded")[0]["stacks"]] == [10_000] * 3
    assert table.troubles() == []


@pytest.mark.parametrize("arriving", [False, True])
def test_a_chip_that_is_never_read_is_a_difference_whatever_else_arrives(arriving: bool) -> None:
    table = _seated()
    if arriving:
        table.put(table.chips("stack:2", 500), "not read for a moment")
        table.run(12_000)
        table.put(table.places["not read for a moment"], "stack:2")
        table.run(260)
    table.key("HAND")
    table.run(2 * FUSE_MS)
    assert table.all("attestation.recorded") == []
    assert [(b["what"], b["seat"]) for b in table.all("breach.noted")] == [("stack_differs", 2)]


def test_a_blind_does_not_overtake_a_hand_that_waits() -> None:
    table = _seated()
    table.put(table.chips("stack:1", 500), "bet:1")
    table.run(FUSE_MS // 2)
    table.key("HAND")
    table.run(2 * FUSE_MS)
    told = [r.type for r in table.records if r.type in ("breach.noted", "hand.started", "blind.posted")]
    assert told[0] == "breach.noted"
    assert table.all("breach.noted")[0]["what"] == "stack_differs"


def test_a_fold_that_is_seen_with_the_last_card_of_the_deal_is_told_after_it() -> None:
    table = Rfid()
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    for card, seat in (("7c", 1), ("Ks", 2), ("As", 3), ("2d", 1), ("Kh", 2)):
        table.slide(card, f"seat:{seat}")
    table.slide("Ah", "seat:3", wait=0)
    muck(table, ("As", "Ah"))
    table.run(1500)
    assert not table.actions()  # one card was never seen before the seat
    table.put([table.card["Ah"]], "seat:3")
    table.run(1500)
    muck(table, ("As", "Ah"))
    table.run(2500)
    assert [(seat, kind) for seat, kind, _ in table.actions()] == [(3, "fold")]
    assert table.troubles() == []


def test_a_blind_that_came_while_a_reader_was_lost_is_posted_when_it_is_back() -> None:
    table = Rfid()
    table.feed(DeviceUp("stacks0", 1, "reader", "M", "1", "1", "p"))
    table.open()
    table.feed(DeviceLost("stacks0", 2, "timeout", "p"))
    table.bet(1, 500)
    assert not table.all("hand.started")
    table.feed(DeviceUp("stacks0", 3, "reader", "M", "1", "1", "p"))
    table.run(1500)
    table.bet(2, 1000)
    posted = [(b["seat"], b["kind"], b["amount"]) for b in table.all("blind.posted")]
    assert posted == [(1, "small", 500), (2, "big", 1000)]
    assert not table.all("breach.noted")


def test_chips_that_are_swept_after_an_unseen_fold_are_not_taken_back() -> None:
    table = _started()
    muck(table, ("7c", "2d"))
    table.run(2500)
    table.bet(1, 1000, 500)
    table.feed(DeviceLost("cards0", 0, "timeout", "p"))
    muck(table, ("Ks", "Kh"))
    for seat in (1, 2):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(4000)
    assert [(seat, kind) for seat, kind, _ in table.actions()] == [(3, "fold"), (1, "raise"), (2, "fold")]
    assert not table.all("breach.noted")


class Away(Rfid):
    """A table some of whose readers are away for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.away: set[str] = set()

    def _poll(self) -> None:
        for device in self.setup.devices:
            for channel, place in device.places.items() if device.name not in self.away else ():
                self.reading += 1
                seen = frozenset(self.places.get(place, []))
                self.feed(TagsSeen(device.name, self.reading, channel, seen, complete=True))

    def leave(self, device: str) -> None:
        self.away.add(device)
        self.feed(DeviceLost(device, 0, "timeout", "p"))

    def back(self, device: str) -> None:
        self.away.remove(device)
        self.feed(DeviceUp(device, 1, "reader", "M", "1", "1", "p"))


class Blind(Away):
    """The same, without a device that was ever called lost: it gave no answer for a while, and its driver says so."""

    def _poll(self) -> None:
        super()._poll()
        for device in self.setup.devices:
            for channel in device.places if device.name in self.away else ():
                self.reading += 1
                self.feed(TagsSeen(device.name, self.reading, channel, frozenset(), complete=False))

    def leave(self, device: str) -> None:
        self.away.add(device)

    def back(self, device: str) -> None:
        self.away.remove(device)


def _away(made: type[Away] = Away) -> Away:
    table = made()
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal({1: "AsAh", 2: "KsKh", 3: "7c2d"})
    return table


LONG = 10_000
"""Longer than anything waits for a reader, in ms."""


@pytest.mark.parametrize("made", [Away, Blind])
@pytest.mark.parametrize("silent", [600, 900, 1150, 1500, 2200, 3500])
def test_a_raise_that_followed_an_unseen_fold_waits_for_the_reader_of_cards(silent: int, made: type[Away]) -> None:
    table = _away(made)
    table.leave("cards0")
    muck(table, ("7c", "2d"))
    table.bet(1, 1000, 1000, 500, wait=silent)
    assert table.actions() == []
    table.back("cards0")
    table.run(LONG)
    assert [(seat, kind) for seat, kind, _ in table.actions()] == [(3, "fold"), (1, "raise")]
    assert not table.all("breach.noted")
    assert not table.all("action.refused")


@pytest.mark.parametrize("made", [Away, Blind])
@pytest.mark.parametrize("silent", [600, 900, 1150, 1500, 2200, 3500])
def test_a_fold_that_followed_an_unseen_bet_waits_for_the_reader_of_bets(silent: int, made: type[Away]) -> None:
    table = _away(made)
    table.leave("bets0")
    table.put(table.chips("stack:3", 1000, 1000, 1000), "bet:3")
    muck(table, ("As", "Ah"))
    table.run(silent)
    assert table.actions() == []
    table.back("bets0")
    table.run(LONG)
    assert [(seat, kind) for seat, kind, _ in table.actions()] == [(3, "raise"), (1, "fold")]
    assert not table.all("breach.noted")


@pytest.mark.parametrize("made", [Away, Blind])
def test_several_acts_that_came_while_a_reader_was_away_keep_their_turns(made: type[Away]) -> None:
    table = _away(made)
    table.leave("cards0")
    muck(table, ("7c", "2d"))
    table.bet(1, 1000, 1000, 500, wait=1000)
    table.bet(2, 1000, 1000, wait=1000)
    table.back("cards0")
    table.run(LONG)
    assert [(seat, kind) for seat, kind, _ in table.actions()] == [(3, "fold"), (1, "raise"), (2, "call")]
    assert not table.all("breach.noted")


def test_a_decision_waits_for_a_reader_that_stays_away_only_so_long() -> None:
    table = _away()
    table.leave("cards0")
    table.bet(1, 500, wait=LONG)
    assert [data["seat"] for data in table.all("breach.noted")] == [1]
    assert "I-33" in [data["code"] for data in table.all("incident.opened")]


@pytest.mark.parametrize("lost", ["", "stacks0", "keys0"])
def test_out_of_turn_is_flagged_at_once_where_nothing_can_have_been_missed(lost: str) -> None:
    table = _away()
    if lost:
        table.leave(lost)
    table.bet(1, 500, wait=FUSE_MS)
    assert [data["seat"] for data in table.all("breach.noted")] == [1]


def test_out_of_turn_is_flagged_when_the_reader_has_told_that_nothing_was_missed() -> None:
    table = _away()
    table.leave("cards0")
    table.bet(1, 500, wait=1500)
    assert not table.all("breach.noted")
    table.back("cards0")
    table.run(FUSE_MS + 500)
    assert [data["seat"] for data in table.all("breach.noted")] == [1]
    assert table.actions() == []


def test_words_bind_the_chips_that_follow_them_and_not_those_that_lay_there() -> None:
    table = _started()
    table.bet(3, 1000, wait=500)  # the call is seen, and does not rest yet
    table.key("RAISE", "60", "ENTER")  # what the next player says
    table.bet(1, 1000, 1000, 500)
    assert table.actions() == [(3, "call", 1000), (1, "raise", 3000)]
    assert table.troubles() == []


def test_cards_that_were_taken_out_of_play_are_not_dealt_by_a_restart() -> None:
    table = _started()
    table.slide("2c", "burn")
    for card in ("3c", "4c", "5c"):
        table.slide(card, "board", wait=1500)  # nobody has acted
    (incident,) = table.all("incident.opened")
    table.say("rule", incident=incident["incident"], ruling="proposed")
    assert table.all("incident.closed")
    dealt = len(table.all("card.dealt"))
    table.table = Table.restore(table.setup, through_json(table.records))
    table.run(3000)
    assert len(table.all("card.dealt")) == dealt
    assert len(table.all("incident.opened")) == 1
