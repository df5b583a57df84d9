"""What lies before a seat that has acted, when a restarted daemon reads its spot for the first time.

It is what the seat acted with. More of it is a second movement of the same act; the first chips of a seat that acted
without any are out of turn.
"""

import pytest

from tests.tills import Till, dealt


def breaches(table: Till) -> list[str]:
    return [one["what"] for one in table.all("breach.noted")]


def restarted(table: Till) -> None:
    table.restart()
    table.run(2500)
    assert breaches(table) == []


@pytest.mark.parametrize("more", [[1000], [1000, 500], [500]])
def test_more_than_what_it_acted_with_is_a_string(more: list[int]) -> None:
    table = dealt()
    table.bet(3, 1000)
    restarted(table)
    table.bet(3, *more)
    assert breaches(table) == ["string_bet"]
    assert [(one["seat"], one["amount"]) for one in table.all("bet.returned")] == [(3, sum(more))]


def test_chips_of_a_seat_that_checked_are_out_of_turn() -> None:
    table = dealt()
    table.bet(3, 1000)
    table.bet(1, 500)
    table.key("CHECK")
    table.run(2500)
    for seat in (1, 2, 3):
        table.put(list(table.places[f"bet:{seat}"]), "pot")
    table.run(1000)
    table.slide("2c", "burn")
    for card in ("3c", "9d", "Ts"):
        table.slide(card, "board")
    table.run(1500)
    hand = table.table.session.state.hand
    assert hand is not None
    first = hand.to_act
    assert first is not None
    assert hand.street == "flop"
    table.key("CHECK")
    table.run(1500)
    restarted(table)
    table.bet(first, 1000)
    assert breaches(table) == ["out_of_turn"]
