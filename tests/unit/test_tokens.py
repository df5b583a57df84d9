"""Chips of a rehearsal: exact amounts, heaps, change at the tray that is no bet, and how well tags are read."""

from collections import Counter
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.dealer import KeyDown, Lay, Lift
from simulators.dealer_rfid import AntennaDealer
from simulators.errors import RigError
from simulators.readrate import ReadRate, chip_chance
from simulators.scripts.acts import DECK, MoveChips, Push, SeatStart, Stake, Sweep
from simulators.scripts.scenario import PACE
from simulators.tokens import card_tag, chip_tag, exact, heap, opening_chips, second_deck_tag

KINDS = (50, 100, 500, 1000, 5000)


@given(st.integers(1, 2000).map(lambda units: 50 * units))
def test_a_heap_is_worth_its_amount(amount: int) -> None:
    counts = heap(amount, KINDS)
    assert sum(value * count for value, count in counts.items()) == amount
    assert exact(amount, counts) == counts


def test_what_the_smallest_chip_does_not_divide_is_refused() -> None:
    with pytest.raises(RigError, match="75 cannot be paid"):
        heap(75, KINDS)


@given(st.dictionaries(st.sampled_from(KINDS), st.integers(0, 4)), st.integers(0, 600).map(lambda units: 50 * units))
def test_an_exact_amount_is_found_where_there_is_one(has: dict[int, int], amount: int) -> None:
    found = exact(amount, has)
    sums = {0}
    for value, count in has.items():
        sums = {total + value * number for total in sums for number in range(count + 1)}
    assert (found is not None) == (amount in sums)
    if found is not None:
        assert sum(value * count for value, count in found.items()) == amount
        assert all(count <= has[value] for value, count in found.items())


def dealer(*stacks: dict[int, int]) -> AntennaDealer:
    seats = [SeatStart(n, "p", sum(v * c for v, c in s.items()), MappingProxyType(s)) for n, s in enumerate(stacks, 1)]
    return AntennaDealer(opening_chips(KINDS, seats), 50, 1, PACE)


def test_who_is_short_of_exact_chips_changes_at_the_tray_and_every_chip_is_still_there() -> None:
    table = dealer({5000: 2}, {1000: 3})
    before = table.tokens.total()
    deeds = [timed.deed for act in (Stake(1, 1050), Sweep(), Push(2, 550)) for timed in table.deeds(act)]
    places = [deed.place for deed in deeds if isinstance(deed, Lift | Lay)]
    assert places[:6] == ["stack:1", "tray", "tray", "stack:1", "stack:1", "bet:1"]
    assert places.count("bet:1") == 2  # there and into the pot: the change never touched it
    assert table.tokens.worth("stack:1") == 10_000 - 1050
    assert table.tokens.worth("stack:2") == 3550
    assert table.tokens.worth("pot") == 500
    assert table.tokens.total() == before


@given(st.dictionaries(st.sampled_from(KINDS), st.integers(0, 3), min_size=1), st.data())
def test_one_chip_changed_is_always_enough(has: dict[int, int], data: st.DataObject) -> None:
    worth = sum(value * count for value, count in has.items())
    if not worth:
        return
    amount = 50 * data.draw(st.integers(1, worth // 50))
    table = dealer({value: count for value, count in has.items() if count})
    before = table.tokens.total()
    list(table.deeds(Stake(1, amount)))
    assert table.tokens.worth("bet:1") == amount
    assert table.tokens.total() == before


def test_a_single_chip_that_raises_is_announced() -> None:
    table = dealer({5000: 2})
    deeds = [timed.deed for timed in table.deeds(Stake(1, 5000, raises=True))]
    assert [deed.key for deed in deeds if isinstance(deed, KeyDown)] == ["RAISE", "1", "0", "0", "ENTER"]


def test_a_string_moves_in_parts_and_what_is_not_there_cannot_move() -> None:
    table = dealer({1000: 3})
    laid = [t.deed for t in table.deeds(MoveChips("stack:1", "bet:1", {1000: 3}, 2, 500)) if isinstance(t.deed, Lay)]
    assert [len(deed.tags) for deed in laid] == [1, 2]
    with pytest.raises(RigError, match="has not the chips"):
        list(table.deeds(MoveChips("stack:1", "bet:1", {1000: 1})))


def test_tags_of_chips_and_cards_are_all_different() -> None:
    tags = [chip_tag(value, number) for value in KINDS for number in range(200)]
    tags += [card_tag(card) for card in DECK] + [second_deck_tag(card) for card in DECK]
    assert len(set(tags)) == len(tags)


# ------------------------------------------------------------------ how well they are read


def heard(reads: ReadRate, tags: list[str], times: int = 4000) -> Counter[str]:
    total: Counter[str] = Counter()
    for _ in range(times):
        total.update(reads(1, tags))
    return total


def test_two_cards_on_each_other_are_read_and_the_third_is_doubtful() -> None:
    tags = [card_tag(card) for card in DECK[:5]]
    rates = [heard(ReadRate("cards"), tags)[tag] / 4000 for tag in tags]
    assert rates[0] > 0.95
    assert rates[1] > 0.9
    assert 0.5 < rates[2] < 0.7
    assert rates[4] < 0.4
    assert all(rate > 0.95 for rate in (heard(ReadRate("board", spread=[1]), tags)[tag] / 4000 for tag in tags))


def test_a_stack_reads_to_twenty_and_fades_to_thirty_five() -> None:
    assert chip_chance(0, 1) == chip_chance(19, 1) > 0.97
    assert 0.97 > chip_chance(25, 1) > chip_chance(34, 1) > 0.5
    assert chip_chance(35, 1) == 0.1
    assert chip_chance(0, 5) < chip_chance(0, 1)


def test_dead_tags_are_never_heard_and_slow_ones_later_and_the_seed_decides() -> None:
    tags = [card_tag(card) for card in DECK[:2]]
    assert heard(ReadRate("s", dead=[tags[0]]), tags)[tags[0]] == 0
    firsts = []
    for number in range(200):
        reads = ReadRate(f"slow/{number}")
        firsts.append(next(n for n in range(100) if tags[1] in reads(1, tags)))
    assert 5 < sum(first >= 1 for first in firsts) < 60
    assert max(firsts) >= 3
    once, again = (heard(ReadRate("same"), tags, 50) for _ in range(2))
    assert once == again
