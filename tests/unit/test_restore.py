"""Recovery is replay: after every input the state rebuilt from records alone equals the live state."""

import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.cards import DECK
from controller.core.errors import BadCommand
from controller.core.facts import (
    Called,
    CardCame,
    CardDoubtful,
    CardsNamed,
    Declared,
    Evidence,
    Fact,
    Finished,
    HandAttested,
    Refused,
    ShoeAgrees,
    ShoeDiffers,
    Shown,
    TrayCounted,
    Undone,
)
from controller.core.inputs import Command, Input
from controller.core.rules import unread
from controller.core.session import Session
from controller.core.table import Table
from drivers.readings import DeviceLost, DeviceUp
from tests.felt import HR, RS, Felt, restores, setup, through_json

DECISIONS = st.builds(
    Declared,
    st.sampled_from(["fold", "check", "call", "call", "bet", "raise", "all_in"]),
    st.sampled_from([None, None, None, 1, 2, 3]),
    st.sampled_from([None, 100, 200, 300, 500, 900, 5000]),
)
CARDS = st.builds(CardCame, st.just("next"), st.sampled_from([*DECK, None]))
FACTS: st.SearchStrategy[Fact] = st.one_of(
    DECISIONS,
    DECISIONS,
    CARDS,
    st.builds(HandAttested),
    st.builds(Shown, st.integers(1, 4)),
    st.builds(Finished),
    st.builds(Undone),
    st.builds(Called, st.sampled_from(["misdeal", "void"])),
    st.builds(Refused, st.just("?"), st.just("no such key")),
    st.builds(TrayCounted, st.just(((1, 7),))),
    st.builds(CardDoubtful, st.sampled_from(["unknown", "low_confidence"]), st.none()),
    st.builds(CardsNamed, st.lists(st.sampled_from(DECK), min_size=1, max_size=3, unique=True).map(tuple)),
    st.builds(Shown, st.integers(1, 4), st.lists(st.sampled_from(DECK), max_size=3, unique=True).map(tuple)),
    st.builds(ShoeDiffers, st.sampled_from(["missing", "unseen", "other", "foreign"]), st.just("board")),
    st.builds(ShoeAgrees, st.sampled_from(["missing", "unseen"])),
)
RULINGS = st.builds(
    lambda code, ruling, card: Command(
        "rule", {"incident": code, "ruling": ruling, "card": card}, "s-9", "manager", "because"
    ),
    st.sampled_from(["I-2", "I-4", "I-5", "I-11", "I-13", "I-15", "I-16", "I-17", "I-18", "I-37"]),
    st.sampled_from(["proposed", "void", "play_on", "redeal"]),
    st.sampled_from(DECK),
)


def chips(session: Session) -> int | None:
    """All chips of the players, wherever they are; ``None`` where a stack is not known."""
    state = session.state
    hand = state.hand
    total = 0
    for number, seat in state.seats.items():
        stack = hand.stack.get(number, seat.stack) if hand is not None else seat.stack
        if stack is None:
            return None
        total += stack
    return total + (hand.pot if hand is not None else 0)


class Story:
    """A felt on which whatever is possible happens, helped along so that hands really get played."""

    def __init__(self, profile: Any, stacks: list[int | None], **more: Any) -> None:
        self.felt = Felt(setup(profile=profile, **more)).open(stacks)
        self.deck: list[str] = []
        self.total = chips(self.felt.session)

    def helpful(self, chance: random.Random) -> Fact:
        session = self.felt.session
        hand = session.state.hand
        if hand is None:
            session.seed(bytes([chance.randrange(256)] * 32))
            self.deck = list(DECK)
            chance.shuffle(self.deck)
            return HandAttested(evidence=(Evidence("keys0", self.felt.at),))
        if hand.phase == "bet":
            legal = session.legal()
            assert legal is not None
            if legal.raising and chance.random() < 0.3:
                top = legal.max_to if legal.max_to is not None else legal.min_to * 2
                return Declared(legal.raising, None, chance.choice([legal.min_to, top]))
            if legal.call and chance.random() < 0.3:
                return Declared("fold")
            return Declared("call" if legal.call else "check")
        if hand.phase == "award":
            return Finished()
        waiting = [s for s in hand.live if s not in hand.shown]
        if hand.phase == "showdown" or (hand.must_show and waiting):
            faces = self.faces(2, chance) if self.felt.setup.unread else ()
            return Shown(chance.choice(waiting), faces)
        if self.felt.setup.unread:
            unnamed = unread.unnamed(hand)
            if len(unnamed) == (3 if hand.street == "preflop" else 1):
                return CardsNamed(self.faces(len(unnamed), chance))
            return CardCame("next", None, evidence=(Evidence("shoe0", len(self.felt.records)),))
        card = self.deck.pop() if self.deck else None
        return CardCame("next", card, evidence=(Evidence("shoe0", len(self.felt.records)),))

    def faces(self, count: int, chance: random.Random) -> tuple[str, ...]:
        """Cards that nobody has read lie face up: cards of the deck, and in the end any."""
        return tuple(self.deck.pop() if self.deck else chance.choice(DECK) for _ in range(count))

    def check(self) -> None:
        felt = self.felt
        restores(felt.session, felt.records)
        if self.total is not None:
            assert chips(felt.session) == self.total


@settings(max_examples=120)
@given(
    seed=st.integers(0, 2**32),
    profile=st.sampled_from([RS, HR, replace(RS, heads_up_small_blind="left_of_button")]),
    stacks=st.lists(st.sampled_from([None, 120, 300, 1000, 5000]), min_size=2, max_size=5),
    wild=st.lists(st.one_of(FACTS, RULINGS), max_size=25),
    closed=st.sampled_from(["read", "unread"]),
)
@pytest.mark.ci
def test_restored_equals_live_after_every_input(
    seed: int, profile: Any, stacks: list[int | None], wild: list[Fact | Command], closed: str
) -> None:
    chance = random.Random(seed)
    story = Story(profile, stacks, closed_cards=closed)
    pending = list(wild)
    for _ in range(60):
        if pending and chance.random() < 0.3:
            what = pending.pop()
            if isinstance(what, Command) and not any(
                i.code == what.args["incident"] for i in story.felt.session.state.incidents.values()
            ):
                continue
            with suppress(BadCommand):  # a ruling that does not fit: the state below shows that nothing changed
                story.felt.do(what)
        else:
            story.felt.do(story.helpful(chance))
        story.check()


def test_a_closed_card_is_in_no_data_before_it_is_opened() -> None:
    felt = Felt().open([5000, 5000, 5000]).deal({1: "AsKs", 2: "QdQh", 3: "7c2d"}).act("r300", "c", "f").street()
    felt.act("k", "k").street().act("k", "k").street().act("b500", "f").done()
    text = str([r.data for r in felt.records])
    assert not any(f"'{card}'" in text for card in ("As", "Ks", "Qd", "Qh", "7c", "2d"))


def test_t_ms_goes_on_after_a_restart() -> None:
    felt = Felt().open([5000, 5000]).deal()
    session = Session.restore(felt.setup, through_json(felt.records))
    before = felt.records[-1].data["t_ms"]
    records = session.apply(Declared("call"), 5, 5)  # another boot: the monotonic clock starts anew
    assert records[0].data["t_ms"] == before
    assert records[0].data["n"] == felt.records[-1].data["n"] + 1


def test_a_device_is_unknown_after_a_restart_until_it_answers() -> None:
    table = Table(setup(unit=1))
    names = [device.name for device in table.setup.devices]
    assert set(table.status()["devices"].values()) == {"unknown"}
    up = DeviceUp(names[0], 1, "shoe", "FS-1", "S", "1", "usb")
    records = table.feed(Input(1, 1, 1, up))
    assert table.status()["devices"][names[0]] == "up"
    again = Table.restore(setup(unit=1), records)
    assert again.status()["devices"][names[0]] == "unknown"
    again.feed(Input(2, 2, 2, DeviceLost(names[0], 2, "unplugged", "usb")))
    assert again.status()["devices"][names[0]] == "lost"
    again.feed(Input(3, 3, 3, up))
    assert again.status()["devices"][names[0]] == "up"
