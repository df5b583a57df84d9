"""Cards and chips that are not where they should be in mid-hand: a person is asked, once, after a while."""

import pytest

from drivers.readings import DeviceLost
from tests.tills import Till, dealt


def flop() -> Till:
    """Everybody has called, the chips are in the pot, and three cards lie there."""
    table = dealt()
    table.bet(3, 1000)
    table.bet(1, 500)
    table.key("CHECK")
    sweep(table)
    for card, place in (("2c", "burn"), ("3c", "board"), ("9d", "board"), ("Ts", "board")):
        table.slide(card, place)
    table.run(2500)
    assert table.told() == []
    return table


def sweep(table: Till) -> None:
    for seat in (1, 2, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(2500)


def asked(table: Till) -> list[tuple[str, str, list[int]]]:
    return [(one["code"], one["kind"], one["seats"]) for one in table.all("incident.opened")]


def away(table: Till, *places: str) -> dict[str, list[str]]:
    return {place: table.places.pop(place) for place in places}


ALL = ("seat:1", "seat:2", "seat:3", "board")


def test_all_cards_off_the_felt_are_one_matter() -> None:
    table = flop()
    cards = away(table, "seat:1", "seat:2", "seat:3")
    table.run(40_000)
    assert asked(table) == []
    table.run(8_000)
    assert asked(table) == [("I-14", "cards_missing", [1, 2, 3])]
    table.run(60_000)
    assert len(asked(table)) == 1
    table.places |= cards
    table.run(2500)
    table.say("rule", incident="I-14", ruling="play_on")
    table.run(60_000)
    assert len(asked(table)) == 1
    assert not any(card in str(table.all("incident.opened")) for card in ("As", "Kh", "7c"))
    table.kept()


def test_the_whole_felt_is_cleared() -> None:
    table = flop()
    away(table, *ALL)
    table.run(60_000)
    assert asked(table)[0] == ("I-14", "cards_off_board", [])
    table.kept()


def test_one_hand_is_missed_and_one_of_its_cards_for_twice_as_long() -> None:
    table = flop()
    table.places["seat:2"].pop()
    table.run(80_000)
    assert asked(table) == []
    table.run(15_000)
    assert asked(table) == [("I-14", "cards_missing", [2])]


def test_a_player_looks_at_the_cards_again_and_again() -> None:
    table = flop()
    for _ in range(4):
        cards = away(table, "seat:2")
        table.run(20_000)
        table.places |= cards
        table.run(3000)
    assert asked(table) == []


def test_cards_of_a_hand_that_was_folded_by_key_may_be_taken() -> None:
    table = flop()
    table.key("FOLD")
    table.run(1000)
    away(table, "seat:1")
    table.run(90_000)
    assert asked(table) == []


@pytest.mark.parametrize(("ms", "told"), [(8_000, []), (12_000, [("I-14", "cards_off_board", [])])])
def test_a_common_card_is_taken_away(ms: int, told: list[tuple[str, str, list[int]]]) -> None:
    table = flop()
    card = table.places["board"].pop()
    table.run(ms)
    assert asked(table) == told
    table.places["board"].append(card)
    table.run(20_000)
    assert asked(table) == told
    table.kept()


@pytest.mark.parametrize(("ms", "told"), [(2500, []), (5000, [("I-14", "cards_out_of_muck", [1, 2])])])
def test_a_card_is_taken_out_of_the_muck(ms: int, told: list[tuple[str, str, list[int]]]) -> None:
    """And lies before another seat, which could play it."""
    table = flop()
    table.fold(1)
    table.put([table.card["As"]], "seat:2")
    table.run(ms)
    table.put([table.card["As"]], "muck")
    table.run(5000)
    assert asked(table) == told
    assert table.actions()[-1] == (1, "fold", 0)
    table.kept()


@pytest.mark.parametrize("place", ["seat:1", "board"])
def test_a_hand_that_was_given_up_is_taken_back(place: str) -> None:
    table = flop()
    table.fold(1)
    table.put([table.card["As"], table.card["Ah"]], place)
    table.run(5000)
    assert asked(table) == [("I-14", "cards_out_of_muck", [1])]


@pytest.mark.parametrize(("ms", "told"), [(6500, []), (9500, [("I-19", "pot_differs", [2])])])
def test_chips_of_the_pot_come_to_a_stack_in_mid_hand(ms: int, told: list[tuple[str, str, list[int]]]) -> None:
    table = flop()
    table.move([("pot", "stack:2", [1000])])
    table.run(ms)
    table.move([("stack:2", "pot", [1000])])
    table.run(12_000)
    assert asked(table) == told
    if told:
        assert table.all("incident.opened")[0]["facts"] == {"expected": 9000, "seen": 10_000}
        table.say("rule", incident="I-19", ruling="proposed")
    table.bet(1, 1000)
    assert table.actions()[-1] == (1, "bet", 1000)
    table.kept()


def test_change_for_a_stake_out_of_the_pot_is_none_of_that() -> None:
    table = dealt()
    table.bet(3, 5000)
    table.bet(1, 500)
    table.key("CHECK")
    for seat in (1, 2):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.put([table.spare["1000"].pop() for _ in range(4)], "pot")
    table.run(2000)
    table.move([("bet:3", "pot", [5000])])
    table.run(1500)
    table.move([("pot", "stack:3", [1000] * 4)])
    table.run(15_000)
    assert asked(table) == []


@pytest.mark.parametrize("place", ["muck", "burn", "seat:2"])
def test_a_common_card_lies_elsewhere(place: str) -> None:
    table = flop()
    table.put([table.card["9d"]], place)
    table.run(8000)
    assert asked(table) == []
    table.run(60_000)
    assert asked(table) == [("I-14", "cards_off_board", [])]
    assert "9d" not in str(table.all("incident.opened"))
    table.put([table.card["9d"]], "board")
    table.run(2500)
    table.say("rule", incident="I-14", ruling="play_on")
    table.run(60_000)
    assert len(asked(table)) == 1
    table.kept()


@pytest.mark.parametrize("place", ["board", "burn"])
@pytest.mark.parametrize(("cards", "ms"), [(("As", "Ah"), 45_000), (("As",), 90_000)])
def test_cards_of_a_live_hand_lie_elsewhere(place: str, cards: tuple[str, ...], ms: int) -> None:
    table = flop()
    table.put([table.card[card] for card in cards], place)
    table.run(ms - 2000)
    assert asked(table) == []
    table.run(5000)
    assert asked(table) == [("I-14", "cards_missing", [1])]
    table.kept()


def test_one_of_two_cards_lies_in_the_muck() -> None:
    table = flop()
    table.put([table.card["Ks"]], "muck")
    table.run(85_000)
    assert asked(table) == []
    table.run(8000)
    assert asked(table) == [("I-14", "cards_missing", [2])]


@pytest.mark.parametrize("gap", [1000, 30_000])
def test_cards_that_follow_one_another_into_the_muck_are_a_fold(gap: int) -> None:
    table = flop()
    for card in ("As", "Ah"):
        table.put([table.card[card]], "muck")
        table.run(gap)
    table.run(100_000)
    assert asked(table) == []
    assert table.actions()[-1] == (1, "fold", 0)


@pytest.mark.parametrize("place", ["board", "burn", "muck"])
@pytest.mark.ci
def test_cards_that_lie_elsewhere_for_a_while_only(place: str) -> None:
    table = flop()
    for _ in range(3):
        table.put([table.card["As"]], place)
        table.run(40_000)
        table.put([table.card["As"]], "seat:1")
        table.run(3000)
    table.put([table.card["9d"]], place if place != "board" else "muck")
    table.run(8000)
    table.put([table.card["9d"]], "board")
    table.run(20_000)
    assert [one for one in asked(table) if one[1] != "cards_out_of_muck"] == []


def test_all_cards_are_collected_when_the_hand_is_over() -> None:
    table = flop()
    table.fold(1)
    table.fold(2)
    for place in ("seat:3", "board", "burn"):
        table.put(list(table.places[place]), "muck")
    table.run(100_000)
    assert [one for one in asked(table) if one[0] == "I-14"] == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.ci
def test_noise_is_not_absence(seed: int) -> None:
    table = flop()
    table.chance = 0.6
    table.random.seed(seed)
    table.run(100_000)
    assert table.told() == []


def test_a_reader_that_is_away_explains_it() -> None:
    table = flop()
    cards = away(table, *ALL)
    table.run(5000)
    table.silent = {"cards0"}
    table.feed(DeviceLost("cards0", 0, "unplugged", "x"))
    table.run(90_000)
    table.places |= cards
    table.silent = set()
    table.run(5000)
    assert [one[1] for one in asked(table)] == ["device_lost"]
