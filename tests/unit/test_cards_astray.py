"""A hand is tabled from what lies at its seat, and a card that moves on is dealt where it finally rests."""

from typing import Any

import pytest

from controller.core.session import Session
from drivers.readings import DeviceConflict, DeviceLost, TagsSeen
from tests.closed import Antennas
from tests.tills import dealt
from tests.unit.test_rfid_table import HOLES


def begun(made: type[Antennas] = Antennas, **given: Any) -> Any:
    table = made(**given)
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    return table


def called(**given: Any) -> Any:
    """Everybody has called before the flop."""
    table = begun(**given)
    table.deal(HOLES)
    table.bet(3, 1000)
    table.bet(1, 500)
    table.key("CHECK")
    for seat in (1, 2, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(1500)
    return table


def river(**given: Any) -> Any:
    """Before the showdown."""
    table = called(**given)
    for burn, cards in (("2c", ("3c", "9d", "Ts")), ("4c", ("4d",)), ("5c", ("8h",))):
        table.slide(burn, "burn", 1200)
        for card in cards:
            table.slide(card, "board", 700)
        table.run(1500)
        for _ in range(3):
            table.key("CHECK")
    return table


def kinds(table: Antennas) -> list[tuple[str, list[int]]]:
    return [(one["kind"], one["seats"]) for one in table.all("incident.opened")]


def kept(table: Antennas) -> None:
    assert Session.restore(table.setup, table.records).state == table.table.session.state


def exchange(table: Antennas) -> None:
    places = table.places
    places["seat:1"], places["seat:2"] = places["seat:2"], places["seat:1"]


BOTH = pytest.mark.parametrize("unread", [False, True])


@BOTH
def test_cards_that_two_seats_exchange_are_told_at_once_and_neither_hand_is_tabled(unread: bool) -> None:
    table = river(unread=unread)
    exchange(table)
    table.run(4500)
    assert kinds(table) == [("cards_exchanged", [1, 2])]
    for seat in "12":
        table.key(seat, "SHOW")
        table.run(5000)
    assert kinds(table) == [("cards_exchanged", [1, 2])]
    assert table.all("card.opened")[5:] == table.all("hand.tabled") == table.all("hand.turned") == []
    exchange(table)
    table.run(2500)
    table.say("rule", incident="I-14", ruling="play_on")
    table.key("1", "SHOW")
    table.run(2500)
    assert sorted(table.all("hand.tabled")[0]["cards"]) == ["Ah", "As"]
    assert len(kinds(table)) == 1
    kept(table)


@BOTH
def test_cards_exchanged_in_the_middle_of_a_hand_are_told_at_once(unread: bool) -> None:
    table = called(unread=unread)
    exchange(table)
    table.run(4500)
    assert kinds(table) == [("cards_exchanged", [1, 2])]
    kept(table)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_card_that_two_seats_read_has_not_moved_until_one_of_them_loses_it(leaves: bool) -> None:
    """Readers tell changes only: a tag that was copied is told once by each of two channels, and they conflict."""
    table = dealt()
    tags = {seat: list(table.places[f"seat:{seat}"]) for seat in (1, 2)}
    tags[2].append(tags[1][0])

    def tells(seat: int) -> None:
        table.reading += 1
        table.silent = set()
        table.feed(TagsSeen("cards0", table.reading, str(seat), frozenset(tags[seat]), complete=True))
        table.silent = {"cards0"}

    table.silent = {"cards0"}
    tells(2)
    table.run(6000)
    assert table.told() == []
    if leaves:
        del tags[1][0]
        tells(1)
        table.run(4000)
        assert table.told() == ["cards_exchanged"]
        return
    table.feed(DeviceConflict("cards0", 1, tags[1][0], ("1", "2")))
    table.run(20_000)
    assert "cards_exchanged" not in table.told()


def test_an_exchange_right_before_the_showdown_is_found_when_a_hand_is_shown() -> None:
    table = river()
    exchange(table)
    table.run(250)
    table.key("1", "SHOW")
    table.run(5000)
    assert kinds(table) == [("cards_exchanged", [1, 2])]
    assert table.all("hand.tabled") == []


@pytest.mark.parametrize("left", [0, 1])
def test_cards_that_do_not_lie_there_are_not_tabled_unless_a_person_says_so(left: int) -> None:
    table = river()
    cards = table.places["seat:1"]
    table.places["seat:1"] = cards[:left]
    table.run(250)
    table.key("1", "SHOW")
    table.run(6000)
    assert kinds(table) == [("cards_missing", [1])]
    assert table.all("hand.tabled") == []
    assert all(card not in str(table.all("incident.opened")) for card in ("As", "Ah"))
    table.say("rule", incident="I-14", ruling="as_read")
    assert sorted(table.all("hand.tabled")[0]["cards"]) == ["Ah", "As"]
    kept(table)


def test_a_card_that_is_read_late_is_waited_for() -> None:
    table = river()
    cards = table.places["seat:1"]
    table.places["seat:1"] = cards[:1]
    table.run(250)
    table.key("1", "SHOW")
    table.run(1000)
    assert table.all("hand.tabled") == []
    table.places["seat:1"] = cards
    table.run(500)
    assert [one["seat"] for one in table.all("hand.tabled")] == [1]
    assert kinds(table) == []


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_not_absence(seed: int) -> None:
    table = river()
    table.chance = 0.7
    table.random.seed(seed)
    for seat in "123":
        table.key(seat, "SHOW")
    table.run(4000)
    assert [one["seat"] for one in table.all("hand.tabled")] == [1, 2, 3]
    assert kinds(table) == []


@BOTH
@pytest.mark.parametrize("wait", [250, 6000])
def test_other_cards_of_the_deck_at_a_seat_are_not_tabled(unread: bool, wait: int) -> None:
    table = river(unread=unread)
    table.places["seat:1"] = [table.card["Qd"], table.card["Qc"]]
    table.run(wait)
    table.key("1", "SHOW")
    table.run(6000)
    assert len(kinds(table)) == 1, "one fact is one matter"
    assert kinds(table)[0][0] in ("cards_switched", "too_many_cards")
    assert table.all("hand.tabled") == []
    kept(table)


class Silent(Antennas):
    """Its readers can be told to say nothing: nothing has changed."""

    silent = False

    def _poll(self) -> None:
        if not self.silent:
            super()._poll()


def test_a_reader_that_is_gone_leaves_the_showdown_to_the_keys() -> None:
    table = river(made=Silent)
    table.silent = True
    table.feed(DeviceLost("cards0", 0, "unplugged", "x"))
    table.key("1", "SHOW")
    assert [one["seat"] for one in table.all("hand.tabled")] == [1]


def test_a_reader_that_says_nothing_says_that_nothing_has_changed() -> None:
    table = river(made=Silent)
    table.silent = True
    table.key("1", "SHOW")
    assert [one["seat"] for one in table.all("hand.tabled")] == [1]


@BOTH
@pytest.mark.parametrize("away", [500, 1000, 3000])
@pytest.mark.parametrize("turn", [0, 1])
def test_a_card_that_rests_at_a_wrong_seat_is_dealt_where_it_belongs(unread: bool, away: int, turn: int) -> None:
    table = begun(unread=unread)
    for now in (0, 1):
        for seat in (1, 2, 3):
            card = HOLES[seat][2 * now : 2 * now + 2]
            if (seat, now) == (2, turn):
                table.slide(card, "seat:3", away)
            table.slide(card, f"seat:{seat}")
    table.run(3000)
    assert [one["seat"] for one in table.all("card.dealt")] == [1, 2, 3, 1, 2, 3]
    assert kinds(table) == []
    kept(table)


def test_a_card_that_stays_at_a_wrong_seat_is_a_misdeal() -> None:
    table = begun()
    for card, seat in (("As", 1), ("Ks", 3), ("7c", 3), ("Ah", 1), ("Kh", 2), ("2d", 3)):
        table.slide(card, f"seat:{seat}")
    table.run(6000)
    assert kinds(table) == [("too_many_cards", [])]
    kept(table)


def test_cards_of_one_pass_are_dealt_in_any_order() -> None:
    table = begun()
    for pass_ in ((("7c", 3), ("Ks", 2), ("As", 1)), (("2d", 3), ("Kh", 2), ("Ah", 1))):
        for card, seat in pass_:
            table.slide(card, f"seat:{seat}", 100)
        table.run(1500)
    assert [one["seat"] for one in table.all("card.dealt")] == [1, 2, 3, 1, 2, 3]
    assert kinds(table) == []


@pytest.mark.parametrize("away", [500, 1000, 2000])
def test_a_burn_card_that_rests_on_the_board_is_one_card(away: int) -> None:
    table = called()
    table.slide("2c", "board", away)
    table.slide("2c", "burn")
    for card in ("3c", "9d", "Ts"):
        table.slide(card, "board")
    table.run(3000)
    assert kinds(table) == []
    assert [one["place"] for one in table.all("card.dealt")[6:]] == ["burn", "board", "board", "board"]
    assert table.all("street.opened")[0]["board"] == ["3c", "9d", "Ts"]
    kept(table)
