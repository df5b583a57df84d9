"""A shoe that tells only that a card leaves: what lies open is named by whoever sees it."""

from dataclasses import replace
from typing import Any

import pytest

from controller.core.cards import UNKNOWN
from controller.core.errors import BadCommand
from controller.core.facts import CardCame, CardsNamed
from controller.core.inputs import HandSeed, Input
from controller.core.session import Session
from controller.core.table import Table
from drivers.readings import CardSeen, CardSighted
from drivers.veil import Veil
from tests.felt import WALL, Felt, setup
from tests.unit.test_witnesses import AtShoe


class Unread(Felt):
    """A shoe table whose cards nobody reads."""

    def __init__(self) -> None:
        super().__init__(setup(closed_cards="unread"))
        self.open([1000, 1000, 1000]).attest_hand()
        self.slide(6)

    def slide(self, cards: int) -> None:
        for _ in range(cards):
            self.do(CardCame("next", None))

    def name(self, cards: str, **args: Any) -> None:
        self.say("cards", "dealer", "", cards=cards.split(), **args)

    def street(self, burn: bool = True) -> "Unread":
        self.slide(4 if self.hand.street == "preflop" else 2)
        return self

    def places(self) -> list[str]:
        return [slot.place for slot in self.hand.slots]


def kept(felt: Felt) -> bool:
    return Session.restore(felt.setup, felt.records).state == felt.session.state


def test_a_hand_is_played_with_every_open_card_named() -> None:
    felt = Unread()
    felt.act("c", "c", "k").street()
    assert felt.hand.phase == "board"
    assert felt.session.due().as_data() == {"what": "name", "rules": ["CM-24"], "place": "board", "cards": 3}
    assert felt.all("incident.opened") == []
    felt.name("3c 9d Ts")
    assert felt.all("street.opened")[0]["board"] == ["3c", "9d", "Ts"]
    felt.act("k", "k", "k").street().name("4d")
    felt.act("k", "k", "k").street().name("8h")
    felt.act("k", "k", "k")
    felt.do_muck(2)
    felt.name("As Ad", seat=1)
    felt.name("Ks Kd", seat=3)
    assert felt.all("award.computed")[0]["pots"][0]["winners"] == [{"seat": 1, "amount": 300}]
    felt.done()
    assert len(felt.all("hand.closed")) == 1
    assert not felt.all("incident.opened") + felt.all("device.fault")
    assert kept(felt)


def test_what_was_bound_as_unknown_says_so_when_it_is_named() -> None:
    felt = Unread()
    felt.act("c", "c", "k").street().name("3c 9d Ts")
    assert all(one["named"] and one["basis"] == "attested" for one in felt.all("card.opened"))
    closed = [record.secret for record in felt.records if record.type == "card.dealt" and record.secret]
    assert {secret["card"] for secret in closed} == {UNKNOWN}


def test_a_flop_may_be_named_card_by_card_and_by_a_device() -> None:
    felt = Unread()
    felt.act("c", "c", "k").street().name("3c")
    felt.do(CardsNamed(("9d", "Ts")))
    assert felt.all("street.opened")[0]["cards"] == ["3c", "9d", "Ts"]


def test_a_run_out_may_be_named_when_all_of_it_lies_there() -> None:
    felt = Unread()
    felt.act("a", "a", "f")
    felt.slide(8)
    assert felt.places()[6:] == ["burn", "board", "board", "board", "burn", "board", "burn", "board"]
    felt.name("3c 9d Ts 4d 8h")
    assert [one["street"] for one in felt.all("street.opened")] == ["flop", "turn", "river"]
    assert [one["cards"] for one in felt.all("street.opened")] == [["3c", "9d", "Ts"], ["4d"], ["8h"]]
    assert felt.hand.phase == "showdown"
    assert kept(felt)


def test_a_turn_before_the_flop_was_named_and_bet_on_is_premature() -> None:
    felt = Unread()
    felt.act("c", "c", "k").street()
    felt.slide(2)
    assert [one["kind"] for one in felt.all("incident.opened")] == ["street_premature"]


def test_show_asks_for_the_names_and_changes_nothing() -> None:
    felt = Unread()
    felt.act("c", "c", "k").street().name("3c 9d Ts")
    before = felt.picture()
    felt.show(1)
    assert felt.last[0].type == "action.refused"
    assert "feltd cards CARD CARD --seat 1" in felt.last[0].data["why"]
    assert felt.picture() == before


@pytest.mark.parametrize(
    ("cards", "seat", "remedy"),
    [
        ("3c 9d Ts 4d", None, "3 common cards wait"),
        ("3c 3c", None, "different cards"),
        ("1c", None, "rank and suit"),
        ("As", 1, "2 cards of this seat"),
        ("As Ad", 7, "0 cards of this seat"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_remedy(cards: str, seat: int | None, remedy: str) -> None:
    felt = Unread()
    felt.act("c", "c", "k").street()
    before = felt.picture()
    with pytest.raises(BadCommand, match=remedy):
        felt.name(cards, seat=seat)
    assert felt.picture() == before


def test_a_card_that_lies_open_cannot_be_another_one_too() -> None:
    felt = Unread()
    felt.act("c", "c", "k").street().name("3c 9d Ts")
    with pytest.raises(BadCommand, match="lies open already"):
        felt.name("3c Ad", seat=1)
    felt.act("k", "k", "k").street()
    felt.do(CardsNamed(("3c",)))
    assert [one["code"] for one in felt.all("incident.opened")] == ["I-11"]


def test_where_cards_are_read_naming_them_tells_nothing() -> None:
    felt = Felt().open([1000, 1000]).deal({1: "As Ad", 2: "Ks Kd"})
    for cards in (["As", "Ad"], ["2c", "2d"]):
        with pytest.raises(BadCommand, match="0 cards of this seat"):
            felt.say("cards", "dealer", "", seat=1, cards=cards)


def test_the_shoe_tells_that_a_card_came_and_nobody_doubts_it() -> None:
    table = Table(setup(closed_cards="unread"))
    number = 0

    def feed(what: Any) -> list[str]:
        nonlocal number
        number += 1
        return [record.type for record in table.feed(Input(number, number * 10**9, WALL + number * 10**9, what))]

    feed(HandSeed(bytes(32)))
    assert "device.fault" not in feed(CardSeen("shoe0", 1, "0", None, None, 100, 1))


# --- a camera over the felt ---------------------------------------------------------------------------------------


class Seen(AtShoe):
    """A shoe table whose cards nobody reads, and a camera that sees what lies face up."""

    def __init__(self, regions: dict[str, str], *, shoe: bool = True) -> None:
        super().__init__(regions, shoe=shoe)
        self.setup = replace(self.setup, closed_cards="unread")
        self.table = Table(self.setup)
        self.veil = Veil(open_=[region for region, place in regions.items() if place != "shoe"])

    def feed(self, what: Any) -> None:
        super().feed(self.veil.over(what, self.at) if isinstance(what, CardSeen | CardSighted) else what)

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [record.data for record in self.records if record.type == kind]


def test_a_camera_names_the_board_and_the_hands_that_are_shown() -> None:
    table = Seen({"1": "seat:1", "2": "seat:2", "9": "board"})
    table.open()
    for card in ("As", "Ks", "Ah", "Kh"):
        table.slide(card)
    table.key("CALL", "CHECK")
    number = 0
    for street in (("3c", "9d", "Ts"), ("4d",), ("8h",)):
        table.slide("2c")
        for card in street:
            number += 1
            table.slide(card)
            table.sight(number, card, "board")
        table.run(1000)
        table.key("CHECK", "CHECK")
    assert [one["cards"] for one in table.all("street.opened")] == [["3c", "9d", "Ts"], ["4d"], ["8h"]]
    first = table.all("card.dealt")[0]["seat"]
    for seat, cards in ((first, ("As", "Ah")), (3 - first, ("Ks", "Kh"))):
        for card in cards:
            number += 1
            table.sight(number, card, f"seat:{seat}")
        table.run(1000)
    assert len(table.all("hand.tabled")) == 2
    assert table.all("award.computed")[0]["pots"][0]["winners"][0]["seat"] == first
    assert table.all("incident.opened") == []


@pytest.mark.parametrize("shoe", [True, False])
def test_a_camera_at_the_mouth_of_the_shoe_names_no_card(shoe: bool) -> None:
    table = Seen({"5": "shoe"}, shoe=shoe)
    table.open()
    for number, card in enumerate(("As", "Ks", "Ah", "Kh"), 1):
        if shoe:
            table.slide(card)
        table.sight(number, card, "shoe")
    table.run(8000)
    assert len(table.all("card.dealt")) == 4
    secrets = [record.secret for record in table.records if record.type == "card.dealt" and record.secret]
    assert {secret["card"] for secret in secrets} == {UNKNOWN}
    assert table.all("incident.opened") == table.all("device.fault") == []
