"""Whatever happens at a table of any structure: chips are conserved, refusals change nothing, what is legal is
accepted, every hand ends, and the state restored from records equals the live one.
"""

import random
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.cards import DECK
from controller.core.errors import BadCommand
from controller.core.facts import (
    Announced,
    CardCame,
    Declared,
    Fact,
    Finished,
    HandAttested,
    Pushed,
    RakeDropped,
    Shown,
    StakePlaced,
    Tipped,
)
from controller.core.inputs import Command
from controller.core.records import Record
from controller.core.rules.betting import Bounds
from controller.core.session import Session
from tests.felt import Felt, restores, setup
from tests.houses import house

BG_RAKE: dict[str, Any] = {
    "rake__rate": "5%",
    "rake__box": "rake-1",
    "approvals": [{"of": "rake", "authority": "the house", "reference": "1", "date": "2026-01-01"}],
}
HOUSES = [
    house("hr_thp"),
    house("hr_thp_customary", rake__rate="5%", rake__cap=40, rake__rounding_mode="up"),
    house("bg_holdem", structure="pot_limit", **BG_RAKE),
    house("bg_holdem_customary"),
    house("rs_holdem", straddle=True),
    house("rs_holdem", structure="pot_limit"),
    house("rs_holdem", structure="fixed_limit", raise_cap=3, raise_cap_heads_up=False),
    house("rs_omaha", rake__rate="5%", rake__no_flop=True),
]
SEATS = st.integers(1, 6)
AMOUNTS = st.sampled_from([None, 100, 200, 300, 500, 900, 5000])
WILD: st.SearchStrategy[Fact | Command] = st.one_of(
    st.builds(
        Declared,
        st.sampled_from(["fold", "check", "call", "bet", "raise", "all_in"]),
        st.one_of(st.none(), SEATS),
        AMOUNTS,
        st.sampled_from(["keyed", "sensor"]),
    ),
    st.builds(StakePlaced, SEATS, st.sampled_from([0, 50, 100, 200, 300, 1000]), st.integers(1, 2)),
    st.builds(Announced, st.lists(SEATS, min_size=1, max_size=2).map(tuple)),
    st.builds(Pushed, SEATS, AMOUNTS),
    st.builds(RakeDropped, st.sampled_from([0, 5, 10, 25])),
    st.builds(Tipped, SEATS, st.sampled_from([1, 25, 1000])),
    st.builds(
        lambda name, seat: Command(name, {"seat": seat}, "s-9", "manager", "because"),
        st.sampled_from(["away", "back", "leave", "straddle"]),
        SEATS,
    ),
    st.builds(
        lambda code, ruling: Command("rule", {"incident": code, "ruling": ruling}, "s-9", "manager", "because"),
        st.sampled_from(["I-10", "I-19", "I-20", "I-22", "I-35", "I-43"]),
        st.sampled_from(["proposed", "stands", "void"]),
    ),
)


def chips(session: Session) -> int:
    """All chips of the players, wherever they are."""
    state, hand = session.state, session.state.hand
    behind = sum(hand.stack.get(n, s.stack) if hand else s.stack for n, s in state.seats.items())  # type: ignore[misc]
    return behind + (hand.pot if hand is not None else 0)


def gone(records: list[Record], left: dict[int, int | None]) -> int:
    """What these records take off the table: rake, tips, and the stacks of those who have left."""
    total = 0
    for record in records:
        if record.type == "hand.closed":
            result = record.data["result"]
            total += result["rake"] + result["tips"]
            total += sum(line["stack_after"] for line in result["seats"] if line["seat"] in left)
        elif record.type == "seat.left" and "hand" not in record.data:
            total += record.data["stack"] or 0
        elif record.type == "tip.given" and "hand" not in record.data:
            total += record.data["amount"]
    return total


class Machine:
    """A table that is helped along, with whatever else comes in between."""

    def __init__(self, profile: Any, stacks: list[int], ante: int, seed: int) -> None:
        self.chance = random.Random(seed)
        self.felt = Felt(setup(profile=profile))
        self.felt.say("open", button=len(stacks), limits={"small_blind": 50, "big_blind": 100, "ante": ante})
        for seat, stack in enumerate(stacks, 1):
            self.felt.say("seat", seat=seat, stack=stack)
        self.deck: list[str] = []

    @property
    def session(self) -> Session:
        return self.felt.session

    def do(self, what: Fact | Command) -> None:
        """One input, and what holds after every input."""
        session, before = self.session, chips(self.session)
        hand = session.state.hand
        left = dict.fromkeys(hand.leaving) if hand is not None else {}
        with suppress(BadCommand):
            self.felt.do(what)
            assert chips(session) == before - gone(self.felt.last, left)
        restores(session, self.felt.records)
        session.due()

    def helpful(self) -> Fact | Command:
        """What moves the hand on."""
        state, chance = self.session.state, self.chance
        hand = state.hand
        if (held := state.held) is not None:
            return Command("rule", {"incident": held.id, "ruling": "void"}, "s-9", "manager", "on")
        if hand is None:
            self.session.seed(bytes([chance.randrange(256)] * 32))
            self.deck = list(DECK)
            chance.shuffle(self.deck)
            return HandAttested()
        if hand.phase == "bet":
            legal = self.session.legal()
            assert legal is not None
            return self.decide(legal)
        waiting = [s for s in hand.live if s not in hand.shown]
        if hand.phase == "showdown" or (hand.must_show and waiting and hand.phase == "board"):
            return Shown(chance.choice(waiting))
        return Finished() if hand.phase == "award" else CardCame("next", self.deck.pop())

    def decide(self, legal: Bounds) -> Declared:
        """One of the legal decisions."""
        roll = self.chance.random()
        if legal.raising and (roll < 0.35 or (legal.must_open and roll < 0.9)):
            assert legal.max_to is not None
            return Declared(legal.raising, None, self.chance.choice([legal.min_to, legal.max_to]))
        if roll > 0.85 or legal.must_open:
            return Declared("fold")
        return Declared("call" if legal.call else "check")


TABLES = {
    "seed": st.integers(0, 2**32),
    "profile": st.sampled_from(HOUSES),
    "stacks": st.lists(st.sampled_from([120, 300, 1000, 5000]), min_size=2, max_size=6),
    "ante": st.sampled_from([0, 0, 10]),
}


@settings(max_examples=50)
@given(**TABLES, wild=st.lists(WILD, max_size=25))
@pytest.mark.ci
def test_chips_are_conserved_and_recovery_equals_play(
    seed: int, profile: Any, stacks: list[int], ante: int, wild: list[Fact | Command]
) -> None:
    machine = Machine(profile, stacks, ante, seed)
    pending = list(wild)
    for _ in range(70):
        if pending and machine.chance.random() < 0.35:
            machine.do(pending.pop())
        elif len(machine.session.state.seats) > 1:
            machine.do(machine.helpful())


@settings(max_examples=40)
@given(**TABLES)
def test_what_is_legal_is_accepted_and_every_hand_ends(seed: int, profile: Any, stacks: list[int], ante: int) -> None:
    machine = Machine(profile, stacks, ante, seed)
    felt = machine.felt
    for _ in range(200):
        what = machine.helpful()
        felt.do(what)
        if isinstance(what, Declared):
            assert felt.taken, (what, felt.last)
        if felt.last[-1].type == "hand.closed":
            break
    assert felt.all("hand.closed")
    result = felt.all("hand.closed")[0]["result"]
    assert sum(s["in"] for s in result["seats"]) == sum(s["out"] for s in result["seats"]) + result["rake"]


@settings(max_examples=40)
@given(**TABLES, kind=st.sampled_from(["check", "call", "bet", "raise", "all_in"]), to=st.integers(1, 6000))
def test_a_refused_decision_changes_nothing(
    seed: int, profile: Any, stacks: list[int], ante: int, kind: Any, to: int
) -> None:
    machine = Machine(profile, stacks, ante, seed)
    felt = machine.felt
    for _ in range(machine.chance.randrange(2, 60)):
        felt.do(machine.helpful())
        if felt.session.state.hand is None:
            break
    if felt.session.state.hand is None or felt.hand.phase != "bet":
        return
    before, legal = felt.picture(), felt.legal
    felt.do(Declared(kind, None, to if kind in ("bet", "raise", "all_in") else None))
    if felt.taken:
        done = next(r.data for r in felt.last if r.type == "action.taken")
        if done["kind"] in ("bet", "raise"):
            assert legal.min_to <= done["to"] <= legal.max_to
    else:
        assert felt.picture() == before
