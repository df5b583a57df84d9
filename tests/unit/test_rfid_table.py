"""The RFID table from readings to records: chips that move are stakes, cards that move are deals and folds."""

import random
from collections.abc import Iterable
from typing import Any

import pytest

from controller.core.cards import DECK
from controller.core.inputs import Command, HandSeed, Input, Tick
from controller.core.setup import Chipset, Deck, Denomination, DeviceInfo, Limits, Setup
from controller.core.table import Table
from drivers.readings import DeviceCleared, DeviceConflict, DeviceLost, KeyPressed, KeyReleased, TagsSeen
from tests.felt import HR, RS, WALL

MS = 1_000_000
SEATS = 3
VALUES = (5000, 1000, 500, 100, 50)
POLL = 250 * MS


def _setup(profile: Any) -> Setup:
    chips = {f"C{value:04d}{n:04d}": str(value) for value in VALUES for n in range(200)}
    cards = {f"D{n:04d}": card for n, card in enumerate(DECK)}
    ring = range(1, SEATS + 1)
    devices = (
        DeviceInfo("cards0", "feig", {str(s): f"seat:{s}" for s in ring} | {"b": "board", "u": "burn", "m": "muck"}),
        DeviceInfo("stacks0", "feig", {str(s): f"stack:{s}" for s in ring} | {"p": "pot"}),
        DeviceInfo("bets0", "feig", {str(s): f"bet:{s}" for s in ring}),
        DeviceInfo("keys0", "keypad", {}, "keypad"),
    )
    chipset = Chipset("t", tuple(Denomination(str(v), v) for v in VALUES), chips)
    return Setup(
        "zg1", "t07", "rfid", SEATS, profile, Limits(500, 1000), chipset, Deck("d1", cards), devices, test=True
    )


class Rfid:
    """A table with antennas. ``chance`` below 1 makes each tag be missed at random in each inventory."""

    def __init__(self, profile: Any = RS, chance: float = 1.0, seed: int = 1) -> None:
        self.setup = _setup(profile)
        self.table = Table(self.setup)
        self.places: dict[str, list[str]] = {}
        self.chance, self.random = chance, random.Random(seed)
        self.at = self.no = self.reading = 0
        self.records: list[Any] = []
        self.next_poll = 0
        self.spare = {str(v): [tag for tag, d in self.setup.chipset.tags.items() if d == str(v)] for v in VALUES}
        self.card = {card: tag for tag, card in self.setup.deck.tags.items()}

    def feed(self, what: Any) -> None:
        self.no += 1
        self.records += self.table.feed(Input(self.no, self.at, WALL + self.at, what))

    def say(self, name: str, **args: Any) -> None:
        self.feed(Command(name, args, "s-01", "chief_inspector", "test"))

    def run(self, ms: int) -> None:
        """Let time pass: the readers poll, the core gets its ticks."""
        end = self.at + ms * MS
        while True:
            due = self.table.deadline()
            when = min(self.next_poll, due if due is not None else self.next_poll)
            if when > end:
                break
            self.at = max(self.at, when)
            if self.at >= self.next_poll:
                self.next_poll = self.at + POLL
                self._poll()
            else:
                self.feed(Tick())
        self.at = end

    def _poll(self) -> None:
        for device in self.setup.devices:
            for channel, place in device.places.items():
                lying = self.places.get(place, [])
                seen = frozenset(t for t in lying if self.random.random() <= self.chance)
                self.reading += 1
                self.feed(TagsSeen(device.name, self.reading, channel, seen, complete=True))

    def key(self, *keys: str) -> None:
        for name in keys:
            for key in name if name.isdigit() else [name]:
                self.reading += 1
                self.feed(KeyPressed("keys0", self.reading, key))
                self.run(60)
                self.feed(KeyReleased("keys0", self.reading, key))
                self.run(60)

    def put(self, tags: Iterable[str], place: str) -> None:
        for tag in tags:
            for held in self.places.values():
                if tag in held:
                    held.remove(tag)
            self.places.setdefault(place, []).append(tag)

    def chips(self, place: str, *values: int) -> list[str]:
        """Tags of these values that lie at a place."""
        tags: list[str] = []
        for value in values:
            tags.append(
                next(t for t in self.places[place] if self.setup.chipset.tags[t] == str(value) and t not in tags)
            )
        return tags

    def bet(self, seat: int, *values: int, wait: int = 2500) -> None:
        self.put(self.chips(f"stack:{seat}", *values), f"bet:{seat}")
        self.run(wait)

    def slide(self, card: str, place: str, wait: int = 600) -> None:
        self.put([self.card[card]], place)
        self.run(wait)

    def open(self, stack: tuple[int, ...] = (5000, 1000, 1000, 1000, 500, 500, 500, 500), *, hand: bool = True) -> None:
        self.say("open", button=SEATS)
        for seat in range(1, SEATS + 1):
            self.put([self.spare[str(value)].pop() for value in stack], f"stack:{seat}")
            self.say("seat", seat=seat, stack=sum(stack))
        self.feed(HandSeed(bytes(32)))
        self.run(4000)
        if hand:
            self.key("HAND")

    def deal(self, holes: dict[int, str]) -> None:
        for turn in (0, 1):
            for seat in range(1, SEATS + 1):
                card = holes[seat][2 * turn : 2 * turn + 2]
                self.slide(card, f"seat:{seat}")
        self.run(1500)

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [r.data for r in self.records if r.type == kind]

    def actions(self) -> list[tuple[int, str, int]]:
        return [(a["seat"], a["kind"], a["to"]) for a in self.all("action.taken")]

    def troubles(self) -> list[dict[str, Any]]:
        return self.all("breach.noted") + self.all("incident.opened")


HOLES = {1: "AsAh", 2: "KsKh", 3: "7c2d"}


def _started(**more: Any) -> Rfid:
    table = Rfid(**more)
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal(HOLES)
    return table


@pytest.mark.parametrize(("chance", "seed"), [(1.0, 1)] + [(0.8, n) for n in range(6)])
def test_a_whole_hand_is_understood_from_tags_alone(chance: float, seed: int) -> None:
    table = _started(chance=chance, seed=seed)
    assert [(b["seat"], b["kind"], b["amount"]) for b in table.all("blind.posted")] == [
        (1, "small", 500),
        (2, "big", 1000),
    ]
    table.put([table.card["7c"], table.card["2d"]], "muck")
    table.run(2500)
    table.bet(1, 1000, 1000, 500)  # raise to 3000
    table.bet(2, 1000, 1000)
    assert table.actions() == [(3, "fold", 0), (1, "raise", 3000), (2, "call", 3000)]
    for seat in (1, 2):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(1000)
    table.slide("2c", "burn")
    for card in ("3c", "9d", "Ts"):
        table.slide(card, "board")
    table.run(1500)
    assert table.all("street.opened")[0]["board"] == ["3c", "9d", "Ts"]
    table.key("CHECK")
    table.key("CHECK")
    for burn, card in (("4c", "4d"), ("5c", "8h")):
        table.slide(burn, "burn")
        table.slide(card, "board")
        table.run(1500)
        table.key("CHECK")
        table.key("CHECK")
    table.key("1", "SHOW")
    table.key("2", "SHOW")
    table.run(3000)  # a card that the last inventory missed is waited for
    assert table.all("award.computed")[0]["pots"][0]["winners"] == [{"seat": 1, "amount": 6000}]
    table.put(list(table.places["pot"]), "stack:1")
    for place in ("seat:1", "seat:2", "board", "burn", "muck"):
        table.put(list(table.places[place]), "stub")
    table.run(6000)
    closed = table.all("hand.closed")[0]["result"]
    assert [(s["seat"], s["stack_after"]) for s in closed["seats"]] == [(1, 13000), (2, 7000), (3, 10000)]
    assert [(p["seat"], p["amount"], p["agrees"]) for p in table.all("award.paid")] == [(1, 6000, True)]
    assert table.troubles() == []


def test_a_string_of_chips_is_a_call() -> None:
    table = _started(profile=HR)
    table.bet(3, 1000)  # the call
    table.bet(3, 1000)  # and then more
    assert table.actions() == [(3, "call", 1000)]
    assert [b["rules"][0] for b in table.all("breach.noted")] == ["HR-12.11"]
    assert [(b["seat"], b["amount"], b["cause"]) for b in table.all("bet.returned")] == [(3, 1000, "string_bet")]


def test_chips_of_one_movement_that_trickle_in_are_one_bet() -> None:
    table = _started()
    tags = table.chips("stack:3", 1000, 1000, 500, 500)
    for tag in tags:
        table.put([tag], "bet:3")
        table.run(300)
    table.run(2500)
    assert table.actions() == [(3, "raise", 3000)]
    assert table.all("action.taken")[0]["movements"] == 1


def test_a_silent_oversized_chip_is_a_call_and_a_spoken_one_a_raise() -> None:
    silent = _started()
    silent.bet(3, 5000)
    assert (
        silent.all("action.taken")[0] | {"kind": "call", "to": 1000, "read_as": "CM-17"}
        == (silent.all("action.taken")[0])
    )
    spoken = _started()
    spoken.key("RAISE", "100", "ENTER")
    spoken.bet(3, 5000)
    assert spoken.actions() == [(3, "raise", 5000)]
    assert spoken.all("action.taken")[0]["declared"] == {"kind": "raise", "number": 5000}


def test_chips_out_of_turn_are_backed_up() -> None:
    table = _started()
    table.bet(1, 500)
    assert table.actions() == []
    assert "RS-3.2" in table.all("breach.noted")[0]["rules"]
    table.put(table.chips("bet:1", 500)[:1], "stack:1")
    table.run(2500)
    table.bet(3, 1000)
    table.bet(1, 500)
    assert table.actions() == [(3, "call", 1000), (1, "call", 1000)]


def test_flicker_and_a_card_lifted_and_returned_are_nothing() -> None:
    table = _started()
    count = len(table.records)
    for _ in range(6):
        held = table.places["seat:1"]
        table.places["seat:1"] = []
        table.run(200)
        table.places["seat:1"] = held
        table.run(300)
    held = table.places["bet:1"]
    table.places["bet:1"] = []
    table.run(1200)
    table.places["bet:1"] = held
    table.run(2000)
    assert len(table.records) == count


def test_a_foreign_deck_and_chips_of_nobody_are_not_followed() -> None:
    table = _started()
    count = len(table.records)
    table.places.setdefault("seat:2", []).extend(["E00401", "E00402"])
    table.run(3000)
    assert len(table.records) == count


def test_a_staging_read_on_the_way_to_a_seat_is_no_card_there() -> None:
    table = Rfid()
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.put([table.card["As"]], "seat:2")
    table.run(260)
    table.slide("As", "seat:1", 2500)
    assert [c["seat"] for c in table.all("card.dealt")] == [1]


def test_a_lost_reader_moves_nothing() -> None:
    table = _started()
    count = len(table.records)
    table.feed(DeviceLost("bets0", 0, "unplugged", "x"))
    table.run(2000)
    assert [r.type for r in table.records[count:]] == ["device.lost", "incident.opened"]


def test_what_two_antennas_claim_at_once_is_believed_from_neither_until_that_is_over() -> None:
    table = Rfid()
    table.open()
    tag = table.chips("stack:1", 500)[0]
    table.feed(DeviceConflict("bets0", 1, tag, ("1", "2")))
    table.put([tag], "bet:1")
    table.run(4000)
    assert table.all("blind.posted") == []
    table.feed(DeviceCleared("bets0", 2, "conflict"))
    table.run(4000)
    assert (1, "small", 500) in [(b["seat"], b["kind"], b["amount"]) for b in table.all("blind.posted")]


def test_a_wrong_push_is_held_until_it_is_right() -> None:
    table = _started()
    table.put([table.card["7c"], table.card["2d"]], "muck")
    table.run(2500)
    table.put([table.card["As"], table.card["Ah"]], "muck")
    table.run(2500)
    assert table.all("award.computed")[0]["pots"][0]["winners"] == [{"seat": 2, "amount": 1000}]
    table.put(list(table.places["bet:1"]) + list(table.places["bet:2"]), "stack:1")  # to the wrong player
    for place in ("seat:2", "muck"):
        table.put(list(table.places[place]), "stub")
    table.run(14_000)
    assert [i["code"] for i in table.all("incident.opened")] == ["I-19"]
    assert not table.all("hand.closed")
    table.put(table.chips("stack:1", 1000, 500)[:2], "stack:2")
    table.run(4000)
    table.say("rule", incident="I-19", ruling="proposed")
    table.run(6000)
    assert table.all("hand.closed")[0]["result"]["winners"] == [2]


def _called() -> Rfid:
    """The first round is over, and its chips are in the pot."""
    table = _started()
    for seat, values in ((3, (1000,)), (1, (500,))):
        table.bet(seat, *values)
    table.key("CHECK")
    for seat in (1, 2, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(1500)
    return table


def test_a_burn_that_is_read_after_the_flop_was_there_before_it() -> None:
    table = _called()
    for card in ("3c", "9d", "Ts"):
        table.slide(card, "board")
    table.slide("2c", "burn", 3000)
    assert [c["place"] for c in table.all("card.dealt")][6:] == ["burn", "board", "board", "board"]
    assert table.all("street.opened")[0]["board"] == ["3c", "9d", "Ts"]
    assert table.troubles() == []


def test_a_burn_that_never_comes_is_missed() -> None:
    table = _called()
    for card in ("3c", "9d", "Ts"):
        table.slide(card, "board")
    table.run(5000)
    assert [i["code"] for i in table.all("incident.opened")] == ["I-6"]


@pytest.mark.parametrize("late", [200, 1200])
def test_what_players_do_before_the_last_card_of_the_flop_is_read_counts_all_the_same(late: int) -> None:
    table = _called()
    table.slide("2c", "burn")
    table.slide("3c", "board")
    table.slide("9d", "board")
    table.key("CHECK")
    table.put(table.chips("stack:2", 1000, 1000), "bet:2")
    table.run(late)
    table.slide("Ts", "board", 4000)
    assert table.actions()[-2:] == [(1, "check", 0), (2, "bet", 2000)]
    assert table.troubles() == []
    assert not table.all("action.refused")
