"""A closed result is disputed and put right while it is not final (I-19, CM-19); after that money is adjusted only."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from controller.contract.catalogue import DATA
from controller.core.errors import BadCommand
from controller.core.inputs import Command
from controller.core.session import Session
from tests.felt import Felt, restores, through_json
from tests.houses import house
from tests.marks import shows
from tests.unit.test_paying import HOLES, awarded
from tests.unit.test_ultimate_round import example_b, pay

HR = house("hr_thp")


def closed(unit: int = 1) -> Felt:
    """Seat 1 has got 900, seats 2 and 3 nothing; the hand is closed and not final."""
    felt = awarded(HR, unit=unit).done()
    assert felt.session.state.pending is not None
    return felt


def rule(felt: Felt, ruling: str = "correct", **args: Any) -> None:
    felt.do(Command("rule", {"incident": "I-19", "ruling": ruling, **args}, "s-3", "manager", "cards speak"))


def move(source: str, target: str, amount: int) -> dict[str, Any]:
    return {"from": source, "to": target, "amount": amount}


def lines(result: dict[str, Any]) -> dict[int, tuple[int, int, int]]:
    return {line["seat"]: (line["out"], line["net"], line["stack_after"]) for line in result["seats"]}


@shows("CM-19", "CM-23")
def test_a_ruling_moves_the_pot_to_whom_it_belongs() -> None:
    felt = closed()
    before = felt.all("hand.closed")[0]["result"]
    felt.say("dispute", "dealer", "seat 2 had the straight")
    (opened,) = felt.all("incident.opened")
    assert (opened["code"], opened["kind"], opened["holds"]) == ("I-19", "result_disputed", "table")
    assert "CM-19" in opened["rules"]
    restores(felt.session, felt.records)
    rule(felt, moves=[move("seat:1", "seat:2", 900)])
    types = [record.type for record in felt.last]
    assert types == ["incident.ruled", "hand.corrected", "incident.closed", "hand.final"]
    told = felt.all("hand.corrected")[0]
    assert told["refers"] == {"type": "hand.closed"}
    assert told["by"] == [{"staff": "s-3", "role": "manager"}]
    assert told["incident"] == opened["incident"]
    result = told["result"]
    assert result["revision"] == 1
    assert lines(result) == {1: (0, -300, 4700), 2: (900, 600, 5600), 3: lines(before)[3]}
    assert result["winners"] == [2]
    assert before["revision"] == 0, "the event of before is not touched"
    assert lines(before)[1] == (900, 600, 5600)
    assert [felt.session.state.seats[seat].stack for seat in (1, 2, 3)] == [4700, 5600, 4700]
    final = felt.all("hand.final")[0]
    assert (final["revision"], final["reason"], final["refers"]) == (1, "ruled", {"type": "hand.corrected"})
    assert felt.all("incident.closed")[0]["outcome"] == "corrected"
    numbers = [record.data["n"] for record in felt.records if record.hand == told["hand"]]
    assert numbers == sorted(set(numbers))
    assert felt.session.state.cash.meters.wins == {"seat:1": 0, "seat:2": 900, "seat:3": 0}
    restores(felt.session, felt.records)


def test_a_result_that_stands_is_final_as_it_was() -> None:
    felt = closed()
    felt.say("dispute", "dealer", "he says so")
    rule(felt, "stands")
    assert not felt.all("hand.corrected")
    final = felt.all("hand.final")[0]
    assert (final["revision"], final["reason"], final["refers"]) == (0, "ruled", {"type": "hand.closed"})
    with pytest.raises(BadCommand, match="adjust"):
        felt.say("dispute", "dealer", "again")


def test_rake_and_tips_are_corrected_with_their_boxes() -> None:
    felt = awarded(house("rs_holdem", rake__rate="5%"))
    felt.say("tip", "dealer", seat=1, amount=100)
    felt.done()
    cash = felt.session.state.cash
    rake = felt.all("hand.closed")[0]["result"]["rake"]
    assert rake
    felt.say("dispute", "dealer", "no rake was due, and 50 of the tip was change")
    rule(felt, moves=[move("rake", "seat:1", rake), move("tips", "seat:1", 50)])
    result = felt.all("hand.corrected")[0]["result"]
    assert (result["rake"], result["tips"]) == (0, 50)
    assert sum(line["in"] for line in result["seats"]) == sum(line["out"] for line in result["seats"]) + 50
    assert (cash.boxes["rake"], cash.boxes["tips"]) == (0, 50)
    assert (cash.meters.rake, cash.meters.tips) == (0, 50)
    restores(felt.session, felt.records)


def test_cards_that_were_read_wrongly_are_put_right() -> None:
    felt = closed()
    felt.say("dispute", "dealer", "the eight was a nine")
    rule(felt, tabled=[{"seat": 2, "cards": ["Ks", "Kd"]}], moves=[])
    result = felt.all("hand.corrected")[0]["result"]
    assert result["seats"][1]["tabled"] == ["Ks", "Kd"]
    assert result["seats"][0]["tabled"] == ["As", "Ah"]


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing": ({}, "moves", "say what is corrected"),
    "a place": ({"moves": [move("seat:9", "seat:2", 100)]}, "moves.from", "seat:1, seat:2, seat:3, rake, tips"),
    "the same": ({"moves": [move("seat:1", "seat:1", 100)]}, "moves.to", "another place"),
    "too much": ({"moves": [move("seat:3", "seat:2", 100)]}, "moves.from", "got 0"),
    "no rake": ({"moves": [move("rake", "seat:2", 100)]}, "moves.from", "only 0"),
    "a spot": ({"moves": [move("house", "seat:2", 100)]}, "moves.from", "seat:1"),
    "chips": ({"moves": [move("seat:1", "seat:2", 7)]}, "amount", "smallest chip, 5"),
    "a hand": ({"tabled": [{"seat": 9, "cards": ["Ks", "Kd"]}]}, "tabled.seat", "showed no hand"),
    "a card": ({"tabled": [{"seat": 2, "cards": ["As", "Kd"]}]}, "tabled.cards", "lay nowhere else"),
    "few cards": ({"tabled": [{"seat": 2, "cards": ["Kd"]}]}, "tabled.cards", "2 cards"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_corrected_is_named_and_changes_nothing(what: str) -> None:
    args, field, remedy = WRONG[what]
    felt = closed(unit=5)
    felt.say("dispute", "dealer", "why")
    state, count = felt.session.state, len(felt.records)
    with pytest.raises(BadCommand, match=remedy) as error:
        rule(felt, **args)
    assert error.value.field == field
    assert len(felt.records) == count
    assert state.pending is not None
    assert state.pending.result["revision"] == 0


def test_the_next_hand_waits_and_gets_no_chips_in_play() -> None:
    """Accounting may be disputed until substantial action on the next hand; that hand is held meanwhile."""
    felt = closed().deal(HOLES)
    assert felt.session.state.pending is not None
    stacks = dict(felt.hand.stack)
    felt.say("dispute", "dealer", "the pot went to the wrong seat")
    felt.refused("c")
    rule(felt, moves=[move("seat:1", "seat:2", 500)])
    assert felt.hand.stack == {**stacks, 1: stacks[1] - 500}
    assert felt.session.state.seats[2].behind == 500
    restores(felt.session, felt.records)
    felt.act("f", "f").done()
    assert sum(seat.stack or 0 for seat in felt.session.state.seats.values()) == 15_000
    restores(felt.session, felt.records)


@shows("CM-19")
def test_how_a_hand_was_read_is_not_disputed_in_the_next_one() -> None:
    felt = closed().deal(HOLES)
    felt.say("dispute", "dealer", "the eight was a nine")
    with pytest.raises(BadCommand, match="CM-19"):
        rule(felt, tabled=[{"seat": 2, "cards": ["Ks", "Kd"]}])


@shows("CM-19")
def test_a_dispute_comes_too_late_after_substantial_action() -> None:
    felt = closed().deal(HOLES).act("c", "c")
    assert felt.all("hand.final")[0]["reason"] == "next_hand"
    with pytest.raises(BadCommand, match="adjust"):
        felt.say("dispute", "dealer", "the last pot")


def test_who_has_left_is_settled_at_the_cage() -> None:
    felt = closed()
    felt.say("leave", seat=1)
    felt.say("dispute", "dealer", "why")
    with pytest.raises(BadCommand, match="cage"):
        rule(felt, moves=[move("seat:1", "seat:2", 100)])


def test_only_who_may_rule_corrects() -> None:
    felt = closed()
    felt.say("dispute", "dealer", "why")
    felt.say("rule", "dealer", "why", incident="I-19", ruling="correct", moves=[move("seat:1", "seat:2", 100)])
    assert felt.all("breach.noted")[-1]["what"] == "may_not_rule"
    assert not felt.all("hand.corrected")


def test_the_table_does_not_close_on_a_dispute() -> None:
    felt = closed()
    felt.say("dispute", "dealer", "why")
    felt.say("close")
    assert felt.all("breach.noted")[-1]["what"] == "held"


def test_a_spot_is_paid_again_at_a_table_of_boxes() -> None:
    felt = example_b()
    pay(felt)
    before = felt.all("hand.closed")[0]["result"]
    won = {f"{b['box']}:{one['spot']}": one["net"] for b in before["boxes"] for one in b["lines"]}
    assert won["1:ante"] == 1000
    felt.say("dispute", "pit_boss", "box 1 was paid too much on ANTE")
    args = {"incident": "I-19", "ruling": "correct", "moves": [move("box:1:ante", "house", 1000)]}
    felt.do(Command("rule", args, "s-3", "pit_boss", "it was a push"))
    result = felt.all("hand.corrected")[0]["result"]
    box = next(one for one in result["boxes"] if one["box"] == 1)
    line = next(one for one in box["lines"] if one["spot"] == "ante")
    assert (line["net"], line["pays"], line["outcome"]) == (0, 0, "push")
    assert result["house_net"] == before["house_net"] + 1000
    assert sum(one["net"] for box in result["boxes"] for one in box["lines"]) == -result["house_net"]
    assert felt.all("hand.final")[0]["revision"] == 1
    told = felt.all("hand.corrected")[0] | {"refers": "the ledger's to name"}
    Draft202012Validator(DATA["hand.corrected"]).validate(told)
    assert Session.restore(felt.setup, through_json(felt.records)).state == felt.session.state
