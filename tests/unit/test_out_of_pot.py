"""Chips of the pot before a seat are no stake; what a seat gave to the pot in this round it may have back."""

from dataclasses import replace

import pytest

from controller.core.setup import DeviceInfo
from controller.core.table import Table
from tests.tills import Till, dealt
from tests.unit.test_gone import flop
from tests.unit.test_rfid_table import HOLES

NEXT = slice(3, None)


def test_a_chip_of_the_pot_is_no_stake() -> None:
    table = flop()
    table.move([("pot", "bet:1", [1000])])
    table.run(7000)
    assert table.told() == []
    table.run(60_000)
    assert table.told() == ["others_chips"]
    assert table.actions()[NEXT] == []
    table.move([("bet:1", "pot", [1000])])
    table.run(3000)
    table.bet(1, 1000)
    assert table.actions()[NEXT] == [(1, "bet", 1000)]
    table.won_by(1)
    assert table.told() == ["others_chips"]


@pytest.mark.parametrize("gap", [0, 3000])
@pytest.mark.parametrize("own_first", [True, False])
def test_own_chips_beside_it_are_a_stake(gap: int, own_first: bool) -> None:
    table = flop()
    halves = [[("stack:1", "bet:1", [1000])], [("pot", "bet:1", [1000])]]
    table.change(*(halves if own_first else halves[::-1]), gap=gap)
    table.run(15_000)
    assert table.actions()[NEXT] == [(1, "bet", 1000)]
    assert table.told() == ["others_chips"]
    table.kept()


@pytest.mark.parametrize("seat", [1, 2])
def test_it_goes_back_at_once(seat: int) -> None:
    table = flop()
    table.move([("pot", f"bet:{seat}", [1000, 500])])
    table.run(5000)
    table.move([(f"bet:{seat}", "pot", [1000, 500])])
    table.run(60_000)
    assert table.told() == []
    assert table.actions()[NEXT] == []


def test_it_is_no_stake_of_the_next_round_either() -> None:
    table = flop()
    for _ in range(2):
        table.key("CHECK")
    table.move([("pot", "bet:3", [1000])])
    table.run(9000)
    table.key("CHECK")
    table.slide("4c", "burn")
    table.slide("5d", "board", 15_000)
    assert table.actions()[NEXT] == [(1, "check", 0), (2, "check", 0), (3, "check", 0)]
    assert table.told() == ["others_chips"]


@pytest.mark.parametrize("gap", [300, 1500, 5000])
def test_a_stake_that_was_swept_too_early_goes_back(gap: int) -> None:
    table = dealt()
    table.bet(3, 1000)
    before = table.told()
    table.change([("bet:3", "pot", [1000])], [("pot", "bet:3", [1000])], gap=gap)
    told = [one for one in table.told() if one not in before]
    table.run(30_000)
    assert table.actions() == [(3, "call", 1000)]
    assert "others_chips" not in told
    table.bet(1, 500)
    assert table.actions()[1:] == [(1, "call", 1000)]


@pytest.mark.parametrize("gap", [300, 3000])
def test_a_bet_that_was_thrown_into_the_pot_is_set_straight(gap: int) -> None:
    table = flop()
    table.change([("stack:1", "pot", [1000])], [("pot", "bet:1", [1000])], gap=gap)
    table.run(30_000)
    assert table.actions()[NEXT] == [(1, "bet", 1000)]
    assert table.told() == []


@pytest.mark.parametrize("gap", [300, 3000])
@pytest.mark.parametrize("source", ["stack:1", "bet:1"])
@pytest.mark.parametrize("given_first", [True, False])
def test_the_pot_makes_change(gap: int, source: str, given_first: bool) -> None:
    table = flop()
    if source == "bet:1":
        table.bet(1, 1000)
    halves = [[(source, "pot", [1000])], [("pot", "bet:1", [500, 500])]]
    table.change(*(halves if given_first else halves[::-1]), gap=gap)
    table.run(30_000)
    assert table.actions()[NEXT] == [(1, "bet", 1000)]
    assert "others_chips" not in table.told()
    table.kept()


def test_a_chip_of_the_rake_is_no_stake() -> None:
    table = Till()
    table.setup = replace(table.setup, devices=(*table.setup.devices, DeviceInfo("rake0", "feig", {"0": "rake"})))
    table.table = Table(table.setup)
    table.put([table.spare["1000"].pop()], "rake")
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal(HOLES)
    table.move([("rake", "bet:3", [1000])])
    table.run(20_000)
    assert table.actions() == []
    assert table.told() == ["others_chips"]
    table.move([("bet:3", "rake", [1000])])
    table.run(3000)
    table.bet(3, 1000)
    assert table.actions() == [(3, "call", 1000)]


def test_what_an_earlier_hand_left_in_the_pot_is_its_winners() -> None:
    table = flop()
    table.fold(1)
    table.fold(2)
    table.put(list(table.places["pot"])[:-1], "stack:3")
    for place in ("seat:3", "board", "burn", "muck"):
        table.put(list(table.places.get(place, [])), "stub")
    table.run(12_000)
    before = table.told()
    table.put(list(table.places["pot"]), "bet:3")
    table.run(30_000)
    assert "others_chips" not in table.told()[len(before) :]


def test_after_a_restart_chips_are_met_where_they_lie() -> None:
    table = flop()
    table.bet(1, 1000)
    table.restart()
    table.run(20_000)
    assert table.told() == []


@pytest.mark.parametrize("seed", range(2))
def test_the_pot_is_paid_across_the_spot(seed: int) -> None:
    table: Till = flop()
    table.chance = 0.8
    table.random.seed(seed)
    table.fold(1)
    table.fold(2)
    table.put(list(table.places["pot"]), "bet:3")
    table.run(3000)
    table.put(list(table.places["bet:3"]), "stack:3")
    table.run(12_000)
    assert table.told() == []
