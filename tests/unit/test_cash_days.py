"""Random days: chips and money are conserved, numbers have no holes, and recovery at any moment is replay."""

import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.cards import DECK
from controller.core.errors import BadCommand
from controller.core.facts import CardCame, Declared, Finished, HandAttested, Shown
from controller.core.inputs import Command
from controller.core.rules.profile import Rake
from controller.core.session import Session
from tests.felt import through_json
from tests.floors import ANY_STACK, CHIPS, House

STACKS = [2000, 2000, 2000]
FLOAT = 5000
WORDS = (
    "buyin",
    "redeem",
    "tip",
    "fill",
    "credit",
    "complete",
    "cancel",
    "collect",
    "adjust",
    "orphan",
    "shift",
    "close",
)


class Day:
    """A day of one table: hands are played and money moves. What came from outside is counted apart from the core."""

    def __init__(self, seed: int) -> None:
        made = House("hr_thp_customary", **ANY_STACK).setup
        profile = replace(made.profile, rake=Rake(rate_num=1, rate_den=20))
        self.felt = House.of(replace(made, profile=profile)).ready(STACKS)
        self.chance = random.Random(seed)
        self.outside = FLOAT + sum(STACKS)
        """All chips that should be somewhere at this table."""
        self.taken = 0
        """What was carried away in boxes of chips."""

    # --- what happens ---------------------------------------------------------------------------------------

    def hand(self) -> None:
        """One whole hand, played with whatever comes to mind."""
        felt, deck = self.felt, list(DECK)
        self.chance.shuffle(deck)
        felt.session.seed(bytes(32))
        felt.do(HandAttested())
        while felt.session.state.hand is not None:
            hand = felt.hand
            waiting = [seat for seat in hand.live if seat not in hand.shown]
            if hand.phase == "bet":
                legal = felt.legal
                if legal.raising and self.chance.random() < 0.3:
                    felt.do(Declared(legal.raising, None, legal.min_to))
                else:
                    felt.do(Declared("call" if legal.call else "check"))
            elif hand.phase == "award":
                if self.chance.random() < 0.3:
                    felt.say("tip", seat=self.chance.choice(hand.order), amount=20)
                felt.do(Finished())
            elif hand.phase == "showdown" or (hand.must_show and waiting):
                felt.do(Shown(waiting[0]))
            else:
                felt.do(CardCame("next", deck.pop()))

    def money(self, word: str) -> None:
        chance, felt, state = self.chance, self.felt, self.felt.session.state
        seat, amount = chance.choice((1, 2, 3)), chance.choice((50, 100, 700))
        two: dict[str, Any] = {"with": "s-3"}
        match word:
            case "buyin":
                self.say(word, seat=seat, amount=amount)
            case "redeem":
                if self.say(word, seat=seat, amount=amount, place=(place := chance.choice(("desk", "table")))):
                    self.outside -= amount if place == "desk" else 0
            case "tip":
                self.say(word, seat=seat, amount=amount)
            case "fill" | "credit":
                self.say(word, lines=[{"denomination": 1, "count": amount}])
            case "complete" if state.cash.open:
                one = chance.choice(list(state.cash.open.values()))
                if self.say("slip", do="complete", slip=one.id, **two):
                    self.outside += one.total if one.kind == "fill" else -one.total
            case "cancel" if state.cash.open:
                self.say("slip", do="cancel", slip=chance.choice(list(state.cash.open)))
            case "collect":
                what = chance.choice(("drop", "rake", "tips"))
                before = 0 if what == "drop" else state.cash.boxes[what]
                if self.say(word, what=what, counted=state.cash.boxes[what] if chance.random() < 0.5 else None):
                    self.taken += before if self.felt.all(f"{what}.collected")[-1]["emptied"] else 0
            case "adjust" if state.cash.finals:
                places = [*(f"seat:{n}" for n in (1, 2, 3)), "tray", "rake", "tips"]
                move = {"hand": state.cash.finals[-1], "from": chance.choice(places), "to": chance.choice(places)}
                self.say(word, amount=10, **move, **two)
            case "orphan":
                self.say(word, amount=amount, place="floor")
            case "shift":
                self.say(word, shift=f"x{len(felt.records)}", lines=self.book(), **two)
            case "close":
                self.close()

    def close(self) -> None:
        """The table closes with an exact count, and opens again with the same stacks, brought anew."""
        felt = self.felt
        for name in list(felt.session.state.cash.open):
            self.say("slip", do="cancel", slip=name)
        lies = felt.session.state.floor.tray or 0
        felt.by("s-1", "dealer", "close", lines=self.book(), **{"with": "s-3"})
        assert felt.session.state.session is None
        self.outside -= lies + sum(seat.stack or 0 for seat in self.seats.values())
        felt.ready(STACKS)
        self.outside += FLOAT + sum(STACKS)

    def book(self) -> list[dict[str, int]]:
        self.seats = dict(self.felt.session.state.seats)
        return [{"denomination": 1, "count": self.felt.session.state.floor.tray or 0}]

    def say(self, word: str, **args: Any) -> bool:
        """Whether it was done: a refusal is on record, and what cannot be read is not."""
        with suppress(BadCommand):
            records = self.felt.do(Command(word, args, "s-1" if "with" in args else "s-2", "inspector", "test"))
            if "with" in args and args["with"] == "s-3" and word == "shift":
                return not self.felt.breaches
            return not any(one["reaction"] == "BLOCK" for one in self.felt.breaches) and bool(records)
        return False

    # --- what holds at any moment ---------------------------------------------------------------------------

    def check(self) -> None:
        state = self.felt.session.state
        assert Session.restore(self.felt.setup, through_json(self.felt.records)).state == state
        assert state.floor.tray is not None
        stacks = sum(seat.stack or 0 for seat in state.seats.values())
        boxes = state.cash.boxes["rake"] + state.cash.boxes["tips"]
        assert stacks + state.floor.tray + boxes + self.taken == self.outside
        numbers = [one["number"] for one in self.felt.all("slip.requested")]
        assert numbers == list(range(1, len(numbers) + 1))
        meters = state.cash.meters
        assert sum(meters.bets.values()) - sum(meters.wins.values()) >= 0
        if meters.opener is not None and not self.felt.all("adjustment.recorded"):
            assert meters.drop + state.floor.tray + meters.credits - meters.opener - meters.fills == 0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), words=st.lists(st.sampled_from([*WORDS, "hand", "hand"]), max_size=25))
def test_chips_and_money_are_conserved_over_random_days(seed: int, words: list[str]) -> None:
    assert CHIPS[0]["count"] == FLOAT
    day = Day(seed)
    for word in words:
        if word == "hand":
            day.hand()
        else:
            day.money(word)
        day.check()
