"""Whatever happens at a table of boxes: chips add up, a refusal changes nothing, rounds end, recovery equals play."""

import random
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.contract.catalogue import DATA, STREAMS_OF
from controller.core.cards import DECK
from controller.core.errors import BadCommand
from controller.core.facts import (
    BoxDecided,
    Called,
    CardCame,
    CardDoubtful,
    CardsMoved,
    Evidence,
    Fact,
    Finished,
    HandAttested,
    StakeLies,
    Turned,
    Undone,
)
from controller.core.inputs import Command
from controller.core.rules.ultimate.house import NotQualified
from controller.core.rules.ultimate.talk import MULTIPLES, allowed
from tests.boxes import Boxes, setup
from tests.felt import restores

BOX = st.integers(1, 4)
SPOTS = st.sampled_from(["ante", "blind", "trips", "play"])
AMOUNTS = st.sampled_from([0, 500, 1000, 1500, 2000, 3000, 4000])
BASIS: Any = st.sampled_from(["keyed", "sensor"])
FACTS: st.SearchStrategy[Any] = st.one_of(
    st.builds(StakeLies, BOX, SPOTS, AMOUNTS, basis=BASIS),
    st.builds(StakeLies, BOX, SPOTS, AMOUNTS, basis=BASIS),
    st.builds(
        BoxDecided, st.sampled_from(["check", "play", "fold"]), st.one_of(st.none(), BOX), st.one_of(st.none(), AMOUNTS)
    ),
    st.builds(
        CardCame, st.sampled_from(["next", "box", "dealer", "board", "muck"]), st.sampled_from([*DECK, None]), BOX
    ),
    st.builds(Turned, st.just("box"), BOX),
    st.builds(Turned, st.sampled_from(["dealer", "board", "next"])),
    st.builds(CardsMoved, BOX, st.sampled_from(["lifted", "touched", "away", "not_under_play"])),
    st.builds(HandAttested),
    st.builds(Finished, basis=BASIS),
    st.builds(Undone),
    st.builds(Called, st.sampled_from(["misdeal", "void"])),
    st.builds(CardDoubtful, st.sampled_from(["unknown", "low_confidence"]), st.none()),
)
RULINGS = st.builds(
    lambda code, ruling, card: Command(
        "rule", {"incident": code, "ruling": ruling, "card": card}, "s-1", "pit_boss", "so"
    ),
    st.sampled_from(["I-4", "I-5", "I-11", "I-13", "I-14", "I-17", "I-19", "I-28", "I-37", "I-40", "I-41", "I-42"]),
    st.sampled_from(["proposed", "proposed", "play_on", "redeal", "void", "stands"]),
    st.sampled_from(DECK),
)
NO_CHANGE = ("action.refused", "bet.refused", "breach.noted")


class Story:
    """A table of boxes on which whatever is possible happens, helped along so that rounds really get played."""

    def __init__(self, chance: random.Random, house: dict[str, Any]) -> None:
        self.chance = chance
        self.felt = Boxes(setup(house=house | {"trips_posted": (500, 1000)}))
        self.felt.open([1, 2, 3, 4], {1: "p-1", 2: "p-1"})
        self.deck: list[str] = []

    def helpful(self) -> Fact | Command:
        session, chance = self.felt.session, self.chance
        table = session.state.table
        incidents = list(session.state.incidents.values())
        if incidents and chance.random() < 0.7:
            incident = incidents[0]
            ruling = chance.choice(["proposed", *incident.alternatives])
            return Command(
                "rule", {"incident": incident.id, "ruling": ruling, "card": self.spare()}, "s-1", "pit_boss", "so"
            )
        coup = table.coup
        if coup is None:
            return self.stake() if not table.staked or chance.random() < 0.4 else self.shuffled()
        if coup.phase == "decide":
            number = chance.choice(coup.waiting(coup.decision))
            kinds: Any = ["check", "play", "fold"] if coup.decision < 3 else ["play", "fold"]
            kind = chance.choice(kinds)
            amount = chance.choice(MULTIPLES[coup.decision]) * coup.boxes[number].stake("ante")
            if kind == "play" and chance.random() < 0.5:
                return StakeLies(number, "play", amount)
            return BoxDecided(kind, number, amount if kind == "play" else None)
        laid = [slot for _, slot in coup.cards("board")]
        if coup.phase == "reveal" or (coup.phase == "board" and len(laid) == 5):
            return Turned("next")
        if coup.phase == "settle":
            return self.settle()
        return CardCame("next", self.spare(), evidence=(Evidence("shoe0", len(self.felt.records)),))

    def stake(self) -> Fact:
        number = self.chance.choice([1, 2, 3, 4])
        box = self.felt.session.state.table.boxes.get(number)
        if box is None:
            return StakeLies(number, "ante", 1000, basis=self.chance.choice(["keyed", "sensor"]))
        if box.stake("blind") != box.stake("ante"):
            return StakeLies(number, "blind", box.stake("ante"), basis=self.chance.choice(["keyed", "sensor"]))
        if number == 2 and not box.stake("play"):
            return StakeLies(2, "play", 2 * box.stake("ante"))
        return StakeLies(number, "trips", self.chance.choice([0, 500, 1000]), basis="sensor")

    def shuffled(self) -> Fact:
        self.deck = list(DECK)
        self.chance.shuffle(self.deck)
        return HandAttested()

    def spare(self) -> str:
        return self.deck.pop() if self.deck else "As"

    def settle(self) -> Fact:
        from controller.core.rules.ultimate import closing

        felt, coup = self.felt, self.felt.coup
        if closing.unrevealed(coup):
            return Turned("next")
        for number in coup.boxes:
            lines = closing.unsettled_spots(felt.session.out, coup, number)
            for line in lines:
                if line.spot in coup.boxes[number].sensed and self.chance.random() < 0.9:
                    return StakeLies(number, line.spot, closing.expected(line))
        return Finished()

    def step(self, what: Fact | Command) -> None:
        before = deepcopy(self.felt.session.state)
        with suppress(BadCommand):
            self.felt.do(what)
            self.check(before)

    def check(self, before: Any) -> None:
        felt = self.felt
        restores(felt.session, felt.records)
        if felt.last and all(record.type in NO_CHANGE for record in felt.last):
            assert bare(before) == bare(felt.session.state)
        for closed in (record.data for record in felt.last if record.type == "hand.closed"):
            boxes = closed["result"]["boxes"]
            assert sum(line["net"] for box in boxes for line in box["lines"]) == -closed["result"]["house_net"]
            assert all(box["returned"] == box["stake"] - box["house_net"] for box in boxes)
            assert sum(box["house_net"] for box in boxes) == closed["result"]["house_net"]


def bare(state: Any) -> Any:
    """The state without what counts records."""
    copy = replace(state, repeats={}, seen={}, table=deepcopy(state.table))
    if copy.table.coup is not None:
        copy.table.coup = replace(copy.table.coup, n=0, t_ms=0, breaches=())
    if copy.table.coming is not None:
        copy.table.coming = None
    return copy


HOUSES = st.fixed_dictionaries(
    {
        "fold_trips": st.sampled_from(["lost", "settled"]),
        "board": st.sampled_from(["drawn", "predealt"]),
        "misdeal_after_play": st.sampled_from(["bets_stay", "play_returned"]),
        "max_payout": st.sampled_from([None, 2000]),
        "not_qualified": st.sampled_from(
            [NotQualified("push", "settle", "settle"), NotQualified("push", "push", "push")]
        ),
        "payout_unit": st.sampled_from([1, 500]),
    }
)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), house=HOUSES, wild=st.lists(st.one_of(FACTS, FACTS, RULINGS), max_size=20))
@pytest.mark.ci
def test_whatever_happens(seed: int, house: dict[str, Any], wild: list[Any]) -> None:
    story = Story(random.Random(seed), house)
    pending = list(wild)
    for _ in range(70):
        if pending and story.chance.random() < 0.25:
            story.step(pending.pop())
        else:
            story.step(story.helpful())
    finish(story)


def finish(story: Story) -> None:
    """Helped along and with every incident ruled, the round ends."""
    for _ in range(250):
        if story.felt.session.state.table.coup is None and not story.felt.session.state.incidents:
            break
        story.step(story.helpful())
    assert story.felt.session.state.table.coup is None, story.felt.whats()
    kinds = [r.type for r in story.felt.records]
    assert kinds.count("hand.started") == kinds.count("hand.closed") + kinds.count("hand.voided")
    assert kinds.count("incident.opened") == kinds.count("incident.closed")


@pytest.mark.parametrize("seed", range(6))
def test_records_fit_the_contract(seed: int) -> None:
    story = Story(random.Random(seed), {"misdeal_after_play": "bets_stay"})
    for _ in range(120):
        story.step(story.helpful())
    finish(story)
    checks = {kind: jsonschema.Draft202012Validator(schema) for kind, schema in DATA.items()}
    for record in story.felt.records:
        data = dict(record.data)
        if record.type == "hand.final":
            data["refers"] = "named by the ledger"
        if record.type == "incident.closed":
            data["refers"] = ["named by the ledger" for _ in data["refers"]]
        if record.type == "table.opened":
            data["software"] = {"version": "0", "sha256": None}
        checks[record.type].validate(data)
        assert record.stream in STREAMS_OF[record.type]


def test_every_legal_decision_is_accepted() -> None:
    for words in ([], ["1k"], ["1k", "1k"]):
        offered = allowed(at(words).coup, at(words).coup.boxes[1])
        assert offered
        for entry in offered:
            felt = at(words)
            felt.do(BoxDecided(entry["kind"], 1, entry["min"] or None))
            assert felt.all("box.decided")[-1]["kind"] == entry["kind"]
            assert felt.all("box.decided")[-1]["amount"] == entry["min"]


def at(words: list[str]) -> Boxes:
    felt = Boxes().open([1]).bet(1).deal()
    for word, cards in zip(words, (3, 2), strict=False):
        felt.act(word).board(cards)
    return felt
