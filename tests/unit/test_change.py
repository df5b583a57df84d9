"""Change made during a hand is no bet, whichever half comes first; what does not come out even is told."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.table import Table
from drivers.readings import DeviceLost
from tests.tills import Half, Till, dealt
from tests.unit.test_rfid_table import HOLES

GAPS = (300, 1500, 5000)
GAP = pytest.mark.parametrize("gap", GAPS)
GIVEN_FIRST = pytest.mark.parametrize("given_first", [True, False])
TRAY = pytest.mark.parametrize("tray", [True, False])
CALL = [(3, "call", 1000)]


def five(seat: int = 3) -> tuple[Half, Half]:
    """A chip of 5000 before a seat becomes 1000 there and 4000 on the stack."""
    spot, stack = f"bet:{seat}", f"stack:{seat}"
    return [(spot, "tray", [5000])], [("tray", spot, [1000]), ("tray", stack, [1000] * 4)]


def ordered(halves: tuple[Half, Half], given_first: bool) -> tuple[Half, Half]:
    return halves if given_first else (halves[1], halves[0])


# --- after the decision --------------------------------------------------------------------------------------


@GAP
@GIVEN_FIRST
@TRAY
def test_change_of_a_call_is_no_bet(gap: int, given_first: bool, tray: bool) -> None:
    table = dealt(tray=tray)
    table.bet(3, 5000)
    table.change(*ordered(five(), given_first), gap=gap)
    table.run(12_000)
    assert table.actions() == CALL
    table.won_by(3)
    assert table.told() == []
    assert len(table.all("hand.closed")) == 1


@pytest.mark.parametrize("seed", range(4))
@GIVEN_FIRST
def test_the_same_where_antennas_miss_tags(seed: int, given_first: bool) -> None:
    table = dealt(chance=0.8, seed=seed)
    table.bet(3, 5000)
    table.change(*ordered(five(), given_first), gap=2000)
    table.run(12_000)
    assert table.actions() == CALL
    assert table.told() == []


ON_THE_SPOT: dict[str, tuple[list[int], Half, Half]] = {
    "a raise of small chips becomes large ones": (
        [1000, 1000, 1000, 500, 500, 500, 500],
        [("bet:3", "tray", [1000, 1000, 1000, 500, 500, 500, 500])],
        [("tray", "bet:3", [5000])],
    ),
    "a large chip becomes small ones": (
        [5000, 1000],
        [("bet:3", "tray", [5000])],
        [("tray", "bet:3", [1000] * 4 + [500] * 2)],
    ),
    "ten of 100 for one of 1000": ([1000, 1000, 1000], [("bet:3", "tray", [1000])], [("tray", "bet:3", [100] * 10)]),
    "through the stack": (
        [1000, 1000, 1000],
        [("bet:3", "tray", [1000]), ("stack:3", "tray", [500, 500])],
        [("tray", "bet:3", [500, 500]), ("tray", "stack:3", [1000])],
    ),
}


@pytest.mark.parametrize("kind", ON_THE_SPOT)
@GAP
@GIVEN_FIRST
def test_chips_of_a_raise_are_changed_where_they_lie(kind: str, gap: int, given_first: bool) -> None:
    table = dealt()
    put, given_, taken = ON_THE_SPOT[kind]
    table.bet(3, *put)
    raised = [(3, "raise", sum(put))]
    table.change(*ordered((given_, taken), given_first), gap=gap)
    table.run(10_000)
    assert table.actions() == raised
    table.won_by(3)
    assert table.told() == []


@GIVEN_FIRST
def test_a_call_out_of_change_that_was_put_on_the_spot_is_taken_back_chip_by_chip(given_first: bool) -> None:
    table = dealt()
    table.bet(3, 5000)
    halves: tuple[Half, Half] = ([("bet:3", "tray", [5000])], [("tray", "bet:3", [1000] * 5)])
    table.change(*ordered(halves, given_first), gap=2000)
    for _ in range(4):
        table.move([("bet:3", "stack:3", [1000])])
        table.run(1500)
    assert table.actions() == CALL
    table.won_by(3)
    assert table.told() == []


@GIVEN_FIRST
def test_what_was_announced_and_paid_with_a_larger_chip(given_first: bool) -> None:
    table = dealt()
    table.key("RAISE", "60", "ENTER")
    table.bet(3, 5000)
    assert table.actions() == [(3, "raise", 3000)]
    known = table.told()
    halves: tuple[Half, Half] = (
        [("bet:3", "tray", [5000])],
        [("tray", "bet:3", [1000] * 3), ("tray", "stack:3", [1000] * 2)],
    )
    table.change(*ordered(halves, given_first), gap=2500)
    table.run(10_000)
    assert table.actions() == [(3, "raise", 3000)]
    assert table.told() == known == ["words_first"]


@GAP
@GIVEN_FIRST
def test_others_act_during_the_change(gap: int, given_first: bool) -> None:
    table = dealt()
    table.bet(3, 5000)
    first, second = ordered(five(), given_first)
    table.move(first)
    table.run(gap // 2)
    table.bet(1, 500, wait=gap // 2)
    table.move(second)
    table.run(4000)
    table.key("CHECK")
    assert table.actions() == [*CALL, (1, "call", 1000), (2, "check", 1000)]
    assert table.told() == []


@GAP
@GIVEN_FIRST
def test_two_seats_change_at_once(gap: int, given_first: bool) -> None:
    table = dealt()
    table.bet(3, 5000)
    table.bet(1, 500)
    mine, theirs = five(), ([("bet:1", "tray", [500])], [("tray", "bet:1", [100] * 5)])
    for half in (*ordered(mine, given_first), *ordered(theirs, not given_first))[::2]:
        table.move(half)
        table.run(gap // 2)
    for half in (*ordered(mine, given_first), *ordered(theirs, not given_first))[1::2]:
        table.move(half)
        table.run(gap // 2)
    table.run(10_000)
    assert table.actions() == [*CALL, (1, "call", 1000)]
    assert table.told() == []


# --- before the decision -------------------------------------------------------------------------------------


@GAP
@GIVEN_FIRST
@pytest.mark.parametrize("seat", [3, 1])
def test_a_chip_of_the_stack_is_changed_before_the_decision(gap: int, given_first: bool, seat: int) -> None:
    """While it is the seat's turn, or another one's."""
    table = dealt()
    stack = f"stack:{seat}"
    table.change(*ordered(([(stack, "tray", [5000])], [("tray", stack, [1000] * 5)]), given_first), gap=gap)
    if seat == 1:
        table.bet(3, 1000)
        table.bet(1, 1000, 1000, 1000, 1000, 500)
        assert table.actions() == [*CALL, (1, "raise", 5000)]
    else:
        table.bet(3, 1000, 1000, 1000, 1000, 1000)
        assert table.actions() == [(3, "raise", 5000)]
    assert table.told() == []


@pytest.mark.parametrize("gap", GAPS)
def test_change_that_never_comes_to_rest_on_the_stack_is_staked(gap: int) -> None:
    """The dealer puts the change before the seat, and what it calls with stays there."""
    table = dealt()
    table.change(
        [("stack:3", "tray", [5000])], [("tray", "bet:3", [1000] * 2), ("tray", "stack:3", [1000] * 3)], gap=gap
    )
    table.run(2500)
    assert table.actions() == [(3, "raise", 2000)]
    assert table.told() == []


@GAP
def test_change_is_put_before_the_seat_first_and_paid_for_then(gap: int) -> None:
    table = dealt()
    table.change([("tray", "bet:3", [1000] * 5)], [("stack:3", "tray", [5000])], gap=gap)
    table.run(3000)
    assert table.actions() == [(3, "raise", 5000)]
    assert table.told() == []


@pytest.mark.parametrize("gap", [200, 450, 700])
@pytest.mark.parametrize("then", [300, 1500, 4000])
def test_a_chip_that_is_taken_for_change_before_it_was_a_call(gap: int, then: int) -> None:
    """Others wait meanwhile: nobody is out of turn."""
    table = dealt()
    table.bet(3, 5000, wait=gap)
    table.move(five()[0])
    table.run(then)
    table.move([("stack:1", "bet:1", [500])])
    table.run(300)
    table.move(five()[1])
    table.run(4000)
    assert table.actions() == [*CALL, (1, "call", 1000)]
    assert table.told() == []


@GAP
@GIVEN_FIRST
@pytest.mark.parametrize("seat", [1, 2])
@pytest.mark.parametrize("late", [False, True])
def test_change_of_a_blind(gap: int, given_first: bool, seat: int, late: bool) -> None:
    """In the deal, or once the cards lie there."""
    table = Till()
    table.open()
    due = {1: 500, 2: 1000}[seat]
    table.bet(1, 1000 if seat == 1 else 500)
    table.bet(2, 5000 if seat == 2 else 1000)
    known = table.told()
    if late:
        table.deal(HOLES)
    large = {1: 1000, 2: 5000}[seat]
    small = [500] if seat == 1 else [1000] * 4
    halves: tuple[Half, Half] = (
        [(f"bet:{seat}", "tray", [large])],
        [("tray", f"bet:{seat}", [due]), ("tray", f"stack:{seat}", small)],
    )
    table.change(*ordered(halves, given_first), gap=gap)
    if not late:
        table.deal(HOLES)
    table.run(10_000)
    table.bet(3, 1000)
    assert table.actions() == CALL
    assert table.told() == known


# --- between rounds ------------------------------------------------------------------------------------------


def _last_call() -> Till:
    """Seat 1 calls a raise to 3000 with 5000, and the round is over: 500 of it lie there as the blind."""
    table = dealt()
    table.bet(3, 1000, 1000, 1000)
    table.fold(1)
    table.bet(2, 5000)
    assert table.actions() == [(3, "raise", 3000), (1, "fold", 500), (2, "call", 3000)]
    return table


BACK: Half = [("tray", "bet:2", [1000] * 2), ("tray", "stack:2", [1000] * 3)]


def _flop(table: Till) -> None:
    for card, place in (("2c", "burn"), ("3c", "board"), ("9d", "board"), ("Ts", "board")):
        table.slide(card, place)
    table.run(2500)


@GAP
@GIVEN_FIRST
@pytest.mark.parametrize("sweep", ["before", "after"])
def test_change_of_the_last_call(gap: int, given_first: bool, sweep: str) -> None:
    table = _last_call()
    table.change(*ordered(([("bet:2", "tray", [5000])], BACK), given_first), gap=gap)
    if sweep == "before":
        for seat in (1, 2, 3):
            table.put(list(table.places[f"bet:{seat}"]), "pot")
    _flop(table)
    if sweep == "after":
        for seat in (1, 2, 3):
            table.put(list(table.places[f"bet:{seat}"]), "pot")
        table.run(2500)
    table.bet(2, 1000)
    table.bet(3, 500, 500, 500, 500)
    table.fold(2)
    assert table.actions()[3:] == [(2, "bet", 1000), (3, "raise", 2000), (2, "fold", 1000)]
    table.won_by(3)
    assert table.told() == []
    assert len(table.all("hand.closed")) == 1


@GIVEN_FIRST
@pytest.mark.parametrize("gap", [1500, 4000])
def test_change_of_the_last_call_while_the_flop_is_laid(gap: int, given_first: bool) -> None:
    table = _last_call()
    first, second = ordered(([("bet:2", "tray", [5000])], BACK), given_first)
    table.move(first)
    _flop(table)
    table.move(second)
    table.run(gap)
    for seat in (1, 2, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(2500)
    table.bet(2, 1000)
    table.bet(3, 500, 500, 500, 500)
    table.fold(2)
    assert table.actions()[3:] == [(2, "bet", 1000), (3, "raise", 2000), (2, "fold", 1000)]
    table.won_by(3)
    assert table.told() == []


@GIVEN_FIRST
def test_change_of_the_last_call_that_is_short_is_told_once(given_first: bool) -> None:
    table = _last_call()
    short: Half = [("tray", "bet:2", [1000] * 2), ("tray", "stack:2", [1000] * 2)]
    table.change(*ordered(([("bet:2", "tray", [5000])], short), given_first), gap=1500)
    table.run(60_000)
    assert table.told() == ["chips_loose"]
    _flop(table)
    table.move([("tray", "stack:2", [1000])])
    for seat in (1, 2, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(3000)
    table.bet(2, 1000)
    assert table.actions()[3:] == [(2, "bet", 1000)]
    assert table.told() == ["chips_loose"]


@GIVEN_FIRST
def test_change_that_goes_straight_into_the_pot(given_first: bool) -> None:
    table = _last_call()
    halves: tuple[Half, Half] = (
        [("bet:2", "tray", [5000])],
        [("tray", "pot", [1000] * 2), ("tray", "stack:2", [1000] * 3)],
    )
    table.change(*ordered(halves, given_first), gap=2500)
    for seat in (1, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(12_000)
    assert table.told() == []
    assert table.worth("stack:2") == 7000


@GIVEN_FIRST
def test_a_chip_of_the_pot_is_changed(given_first: bool) -> None:
    table = _last_call()
    for seat in (1, 2, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(2500)
    table.change(*ordered(([("pot", "tray", [5000])], [("tray", "pot", [1000] * 5)]), given_first), gap=3000)
    table.run(10_000)
    table.move([("pot", "stack:2", [1000] * 2)])  # what is too much of the call
    table.run(10_000)
    assert table.told() == []


# --- what does not come out even -----------------------------------------------------------------------------


def test_too_little_is_told_once_and_put_right() -> None:
    table = dealt()
    table.bet(3, 5000)
    table.change(five()[0], [("tray", "bet:3", [1000]), ("tray", "stack:3", [1000] * 3)], gap=2000)
    assert table.told() == []
    table.run(20_000)
    assert table.told() == ["chips_loose"]
    assert "gave 5000 to the tray and got 4000" in table.all("breach.noted")[0]["asked"]
    table.move([("tray", "stack:3", [1000])])
    table.run(12_000)
    assert table.actions() == CALL
    table.won_by(3)
    assert table.told() == ["chips_loose"]
    assert len(table.all("hand.closed")) == 1


def test_too_much_is_told_once_and_put_right() -> None:
    table = dealt()
    table.bet(3, 5000)
    table.change([*five()[1], ("tray", "stack:3", [1000])], five()[0], gap=2000)
    table.run(20_000)
    assert table.told() == ["chips_loose"]
    assert "gave 5000 to the tray and got 6000" in table.all("breach.noted")[0]["asked"]
    table.move([("stack:3", "tray", [1000])])
    table.run(12_000)
    table.won_by(3)
    assert table.told() == ["chips_loose"]


def test_a_stake_that_is_taken_away_for_good_is_told() -> None:
    table = dealt()
    table.bet(3, 5000)
    table.move(five()[0])
    table.run(7000)
    assert table.told() == []
    table.run(4000)
    assert table.told() == ["chips_loose"]
    assert "1000 are staked" in table.all("breach.noted")[0]["asked"]
    table.move(five()[1])
    table.run(20_000)
    assert table.actions() == CALL
    table.won_by(3)
    assert table.told() == ["chips_loose"]


@pytest.mark.parametrize("before", [True, False])
def test_chips_of_the_tray_are_nobodys_stake(before: bool) -> None:
    """Whether the seat is to act or has acted."""
    table = dealt()
    if not before:
        table.bet(3, 1000)
    acted = table.actions()
    table.move([("tray", "bet:3", [1000] * 3)])
    table.run(7000)
    assert table.told() == []
    table.run(4000)
    assert table.actions() == acted
    assert table.told() == ["chips_loose"]
    assert not table.all("bet.returned")
    table.move([("bet:3", "tray", [1000] * 3)])
    table.run(20_000)
    assert table.actions() == acted
    assert table.told() == ["chips_loose"]


def test_chips_of_the_tray_that_are_paid_for_late_are_a_stake_then() -> None:
    table = dealt()
    table.move([("tray", "bet:3", [1000] * 5)])
    table.run(15_000)
    assert table.actions() == []
    table.move([("stack:3", "tray", [5000])])
    table.run(3000)
    assert table.actions() == [(3, "raise", 5000)]
    assert table.told() == ["chips_loose"]


@pytest.mark.parametrize("seat", [2, 3])
def test_a_chip_that_goes_to_the_tray_for_nothing_is_told(seat: int) -> None:
    table = dealt()
    table.move([(f"stack:{seat}", "tray", [5000])])
    table.run(7000)
    assert table.told() == []
    table.run(60_000)
    assert table.told() == ["chips_loose"]
    assert f"seat {seat} gave 5000 to the tray and got 0" in table.all("breach.noted")[0]["asked"]
    table.move([("tray", f"stack:{seat}", [1000] * 5)])
    table.run(20_000)
    table.bet(3, 1000)
    assert table.actions() == CALL
    table.won_by(3)
    assert table.told() == ["chips_loose"]


def test_a_chip_that_another_seat_gets_has_not_gone_to_the_tray() -> None:
    table = dealt()
    table.move([("stack:1", "stack:2", [1000])])
    table.run(30_000)
    assert [one for one in table.told() if one == "chips_loose"] == []


def test_a_string_of_own_chips_is_one_still() -> None:
    table = dealt()
    table.bet(3, 5000)
    table.change(*five(), gap=1500)
    table.run(2500)
    table.bet(3, 1000)
    assert table.told() == ["string_bet"]


def test_the_dealer_takes_another_chip_than_was_given() -> None:
    table = dealt()
    table.bet(3, 1000, 1000, 1000)
    table.change([("bet:3", "tray", [1000, 1000])], [("tray", "bet:3", [500] * 2)], gap=2500)
    table.run(20_000)
    assert table.actions() == [(3, "raise", 3000)]
    assert table.told() == ["chips_loose"]


def test_chips_sold_during_a_hand_are_no_change() -> None:
    table = dealt()
    table.move([("tray", "stack:3", [5000])])
    table.run(20_000)
    table.bet(3, 1000)
    assert table.actions() == CALL
    assert table.told() == []


# --- the chips of others -------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [True, False])
def test_the_chips_of_another_seat_are_no_stake(before: bool) -> None:
    table = dealt()
    if not before:
        table.bet(3, 1000)
    acted = table.actions()
    table.move([("stack:2", "bet:3", [1000])])
    table.run(7000)
    assert table.told() == []
    table.run(4000)
    assert table.actions() == acted
    assert table.told() == ["others_chips"]
    assert "seat 3 got 1000 from seat 2" in table.all("breach.noted")[0]["asked"]
    table.move([("bet:3", "stack:2", [1000])])
    table.run(10_000)
    if before:
        table.bet(3, 1000)
    assert table.actions() == CALL
    table.won_by(3)
    assert table.told() == ["others_chips"]


@GAP
@GIVEN_FIRST
def test_two_players_change_between_them(gap: int, given_first: bool) -> None:
    table = dealt()
    table.bet(3, 5000)
    halves: tuple[Half, Half] = (
        [("bet:3", "stack:2", [5000])],
        [("stack:2", "bet:3", [1000]), ("stack:2", "stack:3", [1000] + [500] * 4)],
    )
    table.change(*ordered(halves, given_first), gap=gap)
    table.run(10_000)
    assert table.told() == ["others_chips"]  # 1000 are missing
    table.move([("stack:1", "stack:3", [1000])])
    table.run(10_000)
    assert table.actions() == CALL


# --- stacks that nobody reads --------------------------------------------------------------------------------


@GIVEN_FIRST
@pytest.mark.parametrize("gap", [800, 3000])
def test_change_of_a_call_where_no_stack_is_read(given_first: bool, gap: int) -> None:
    table = dealt(stacks=False)
    table.bet(3, 5000)
    table.change(*ordered(five(), given_first), gap=gap)
    table.run(12_000)
    assert table.actions() == CALL
    assert table.told() == []


def test_change_that_was_made_unseen_is_staked_at_once() -> None:
    """The stack gave a chip that no antenna saw, and what it got comes from the tray straight to the spot."""
    table = dealt(stacks=False)
    table.move([("stack:3", "tray", [5000])])
    table.run(1500)
    table.move([("tray", "bet:3", [1000] * 2), ("tray", "stack:3", [1000] * 3)])
    table.run(2000)
    table.bet(1, 500, 1000)
    assert table.actions() == [(3, "raise", 2000), (1, "call", 2000)]
    assert table.told() == []


# --- what comes between --------------------------------------------------------------------------------------


@GIVEN_FIRST
def test_the_hand_ends_during_the_change(given_first: bool) -> None:
    table = dealt()
    table.bet(3, 5000)
    first, second = ordered(five(), given_first)
    table.move(first)
    table.run(800)
    for seat in (1, 2):
        table.fold(seat, 1500)
    assert table.all("award.computed")
    table.move(second)
    table.won_by(3)
    assert table.told() == []
    assert len(table.all("hand.closed")) == 1


@GIVEN_FIRST
@pytest.mark.parametrize("gap", [300, 1500, 5000])
def test_a_restart_during_the_change(given_first: bool, gap: int) -> None:
    table = dealt()
    table.bet(3, 5000)
    first, second = ordered(five(), given_first)
    table.move(first)
    table.run(gap)
    table.restart()
    table.run(1500)
    table.move(second)
    table.run(15_000)
    assert table.actions() == CALL
    table.won_by(3)
    assert table.told() == []


@GIVEN_FIRST
@pytest.mark.parametrize("lost", ["tray0", "bets0", "stacks0"])
def test_a_reader_is_away_during_the_change(given_first: bool, lost: str) -> None:
    table = dealt()
    table.bet(3, 5000)
    first, second = ordered(five(), given_first)
    table.move(first)
    table.run(1500)
    table.silent = {lost}
    table.feed(DeviceLost(lost, 0, "unplugged", "x"))
    table.move(second)
    table.run(5000)
    table.silent = set()
    table.run(10_000)
    assert table.actions() == CALL
    assert set(table.told()) <= {"device_lost"}


def test_a_keyed_decision_is_taken_back_during_the_change() -> None:
    table = dealt()
    table.bet(3, 5000)
    table.bet(1, 500)
    table.key("CHECK")
    table.run(500)
    table.put(list(table.places["bet:1"]), "pot")
    table.move(five()[0])
    table.run(1500)
    table.move(five()[1])
    table.run(10_000)
    assert table.told() == []


def test_the_wait_is_a_setting() -> None:
    table = Till()
    table.setup = replace(table.setup, timing=replace(table.setup.timing, change_ms=2000))
    table.table = Table(table.setup)
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal(HOLES)
    table.bet(3, 5000)
    table.move(five()[0])
    table.run(2000)
    assert table.told() == []
    table.run(1500)
    assert table.told() == ["chips_loose"]


# --- whatever is changed -------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.data())
@pytest.mark.ci
def test_even_change_is_never_told_and_moves_no_money(data: st.DataObject) -> None:
    """Any chips of a seat for any others of the same value, in any order and at the pace of people."""
    table = dealt()
    put = data.draw(st.sampled_from([[1000], [5000], [1000, 1000, 1000], [5000, 1000, 500, 500]]), label="stake")
    table.bet(3, *put)
    acted = table.actions()
    for _ in range(data.draw(st.integers(1, 2), label="changes")):
        place = data.draw(st.sampled_from(["bet:3", "stack:3"]), label="place")
        kinds = table.setup.chipset.tags
        lying = sorted(int(kinds[tag]) for tag in table.places[place])
        large = data.draw(st.sampled_from([value for value in lying if value > 100] or [0]), label="large")
        if not large:
            continue
        unit = data.draw(st.sampled_from([v for v in (1000, 500, 100) if v < large and large // v <= 10]), label="unit")
        backs = large // unit
        stays = data.draw(st.integers(0, backs), label="to the stack") if place == "stack:3" else 0
        given_: Half = [(place, "tray", [large])]
        taken: Half = [("tray", place, [unit] * (backs - stays))] + (
            [("tray", "stack:3", [unit] * stays)] if stays else []
        )
        gap = data.draw(st.integers(300, 5000), label="gap")
        table.change(*ordered((given_, taken), data.draw(st.booleans(), label="given first")), gap=gap)
    table.run(9000)
    assert table.actions() == acted
    table.won_by(3)
    assert table.told() == []
    assert len(table.all("hand.closed")) == 1
