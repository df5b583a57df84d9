"""The retained snapshot holds what the events of ``play`` have told, and nothing else."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from backoffice.asking import _told
from controller.contract.schemas import SNAPSHOT
from controller.contract.state import snapshot_body
from controller.core import guard
from controller.core.picture import picture
from controller.core.records import Record
from tests.boxes import Boxes
from tests.felt import Felt, setup
from tests.unit.test_paying import HOLES
from tests.unit.test_ultimate_round import example_b, pay

LEDGER = "8b0e6a54-6f0e-4d0e-9d53-1c6d1b1d7c11"


def snapshot(felt: Felt | Boxes) -> dict[str, Any]:
    """As it is published; it fits the contract."""
    body = snapshot_body(LEDGER, len(felt.records), test=True, picture=picture(felt.setup, felt.session.state))
    told: dict[str, Any] = json.loads(body)
    Draft202012Validator(SNAPSHOT).validate(told)
    return told


class Reader:
    """What a subscriber of ``play`` knows without any snapshot."""

    def __init__(self) -> None:
        self.session: str | None = None
        self.hand: str | None = None
        self.n = 0
        self.board: list[str] = []
        self.hands = self.void = 0
        self.incidents: list[str] = []
        self.stacks: dict[int, int | None] = {}
        self.staked = 0
        self.final = True

    def take(self, record: Record) -> None:
        data = record.data
        if record.stream != "play":
            return
        if data.get("hand") == self.hand is not None:
            self.n = data["n"] + 1
        match record.type:
            case "table.opened":
                self.session, self.hands, self.void = record.session, 0, 0
            case "table.closed":
                self.session, self.stacks = None, {}
            case "hand.started":
                self.hand, self.n, self.board, self.staked = data["hand"], data["n"] + 1, [], 0
                self.stacks |= {line["seat"]: line["stack"] for line in data.get("seats", ())}
            case "blind.posted" | "action.taken":
                put: int = data["amount"] if record.type == "blind.posted" else data["added"]
                self.staked += put
                have = self.stacks[data["seat"]]
                self.stacks[data["seat"]] = None if have is None else have - put
            case "bet.returned":
                self.staked -= data["amount"]
                self.stacks[data["seat"]] = (self.stacks[data["seat"]] or 0) + data["amount"]
            case "card.opened" if data["place"] == "board":
                self.board.append(data["card"])
            case "hand.closed":
                self.hand, self.final = None, False
                self.hands += 1
                self.stacks |= {line["seat"]: line["stack_after"] for line in data["result"].get("seats", ())}
            case "hand.voided":
                self.hand = None
                self.void += 1
            case "hand.final":
                self.final = True
            case "incident.opened":
                self.incidents.append(data["incident"])
            case "incident.closed":
                self.incidents.remove(data["incident"])


def agrees(felt: Felt) -> None:
    """The snapshot and the events tell the same."""
    reader, told = Reader(), snapshot(felt)
    for record in felt.records:
        reader.take(record)
    hand = told["hand"] or {}
    assert (told["session"], hand.get("hand")) == (reader.session, reader.hand)
    assert (told["hands"], told["hands_void"], told["final"]) == (reader.hands, reader.void, reader.final)
    assert [one["incident"] for one in told["incidents"]] == reader.incidents
    if hand:
        assert (hand["n"], hand["board"], hand["pot"]) == (reader.n, reader.board, reader.staked)
        seats = {seat["seat"]: seat["stack"] for seat in told["seats"]}
        assert {seat: stack for seat, stack in reader.stacks.items() if seat in seats} == seats


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["f", "k", "c", "b300", "r900", "a"]), min_size=1, max_size=14))
def test_it_tells_what_the_events_have_told(words: list[str]) -> None:
    felt = Felt().open([5000, 5000, 5000]).deal(HOLES, board="2c3d4h9s8c")
    for word in words:
        hand = felt.session.state.hand
        if hand is None:
            break
        if hand.phase == "board":
            felt.street()
        elif hand.phase == "bet":
            try:
                felt.act(word)
            except AssertionError:
                felt.act("c" if felt.legal.call else "k")
        agrees(felt)
    agrees(felt)


def test_no_card_stands_in_it_that_does_not_lie_open() -> None:
    felt = Felt().open([5000, 5000, 5000]).deal(HOLES, board="2c3d4h9s8c")
    assert not {"As", "Ah", "Ks", "Kh"} & set(json.dumps(snapshot(felt)).split('"'))
    felt.act("c", "c", "k").street()
    assert snapshot(felt)["hand"]["board"] == ["2c", "3d", "4h"]


def test_what_only_surveillance_knows_is_left_out() -> None:
    table = setup(unit=1, test=False)
    felt = Felt(replace(table, chipset=replace(table.chipset, listed={"C1": "stolen"}))).open([1000, 1000])
    before = snapshot(felt)
    guard.listed(felt.session.out, "stack:1", ["C1"])
    assert snapshot(felt) == before
    assert felt.session.state.silent


def test_a_table_of_boxes_has_one_too() -> None:
    felt = example_b()
    told = snapshot(felt)
    assert told["game"] == "ultimate"
    assert told["boxes"] == [1, 2, 3]
    assert told["hand"]["boxes"] == [1, 2, 3]
    assert len(told["hand"]["board"]) == 5
    pay(felt)
    assert snapshot(felt)["hand"] is None
    assert not snapshot(felt)["final"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"test":true}', b'{"test":false,"ledger":"x","sequence":"1"}'])
def test_the_office_takes_no_noise_and_no_snapshot_of_the_other_mode(body: bytes) -> None:
    assert _told(body, test=True) is None
