"""A table for tests of the core: seats, stacks, and short words for what happens on the felt."""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

from controller.core import image
from controller.core.cards import DECK
from controller.core.facts import Called, CardCame, Declared, Fact, Finished, HandAttested, Shown
from controller.core.inputs import Command
from controller.core.records import Record
from controller.core.rules.profile import Profile, Rake
from controller.core.session import Session
from controller.core.setup import Chipset, Deck, Denomination, DeviceInfo, Limits, Setup

RS = Profile("rs_holdem", "1", "0" * 64, "sr", "RS", players_max=11, rake=Rake())
HR = Profile(
    "hr_thp",
    "1",
    "1" * 64,
    "hr",
    "HR",
    players_max=11,
    raise_cap=3,
    heads_up_small_blind="left_of_button",
    show_all=True,
    rake=Rake(),
)
DEVICES = (
    DeviceInfo("shoe0", "shoe", {}, "shoe"),
    DeviceInfo("keys0", "keypad", {}, "keypad"),
    DeviceInfo("tray0", "feig", {"0": "tray"}, "reader"),
)
SECOND = 1_000_000_000
WALL = 1_796_000_000 * SECOND


def setup(profile: Profile = RS, blinds: tuple[int, int] = (50, 100), unit: int = 1, **more: Any) -> Setup:
    chips = Chipset("test", (Denomination("c", unit),))
    fields: dict[str, Any] = {"devices": DEVICES, "test": True} | more
    return Setup("zg1", "t07", "shoe", 11, profile, Limits(*blinds), chips, Deck("d1"), **fields)


class Felt:
    """A session with players; every act takes one second. ``records`` keeps all, ``last`` those of the last act."""

    def __init__(self, table: Setup | None = None) -> None:
        self.setup = table or setup()
        self.session = Session(self.setup)
        self.records: list[Record] = []
        self.last: list[Record] = []
        self.at = 0
        self._deck: list[str] = []

    def do(self, what: Fact | Command) -> list[Record]:
        self.at += SECOND
        wall = WALL + self.at
        if isinstance(what, Command):
            self.last = self.session.command(what, self.at, wall)
        else:
            self.last = self.session.apply(what, self.at, wall)
        self.records += self.last
        return self.last

    def say(self, name: str, role: str = "manager", reason: str = "test", /, **args: Any) -> list[Record]:
        return self.do(Command(name, args, "s-01", role, reason))

    def open(self, stacks: Sequence[int | None], button: int | None = None) -> Self:
        """Seats 1.. with these stacks; the button on the last seat, so that seat 1 is left of it."""
        self.say("open", button=button or len(stacks))
        for seat, stack in enumerate(stacks, 1):
            self.say("seat", seat=seat, stack=stack)
        return self

    def deal(self, holes: dict[int, str] | None = None, board: str = "", dead: str = "") -> Self:
        """HAND and every closed card; ``holes`` fixes some seats' cards, ``board`` is kept for later streets."""
        self.attest_hand()
        return self.cards(holes, board, dead)

    def attest_hand(self) -> Self:
        """HAND: the hand begins and the blinds are posted."""
        self.session.seed(bytes(32))
        self.do(HandAttested())
        assert self.session.state.hand is not None, [r.data for r in self.last]
        return self

    def cards(self, holes: dict[int, str] | None = None, board: str = "", dead: str = "") -> Self:
        """Every closed card, as ``deal`` does it."""
        hand = self.hand
        fixed = {seat: _cards(text) for seat, text in (holes or {}).items()}
        kept = {card for cards in fixed.values() for card in cards} | set(_cards(board)) | set(_cards(dead))
        spare = [card for card in DECK if card not in kept]
        own = {seat: fixed.get(seat) or [spare.pop() for _ in range(hand.own_cards)] for seat in hand.order}
        for turn in range(hand.own_cards):
            for seat in hand.order:
                self.do(CardCame("next", own[seat][turn]))
        self._deck = spare
        self._board = _cards(board) or [spare.pop() for _ in range(5)]
        return self

    def street(self, burn: bool = True) -> Self:
        """The burn and the cards of the next street."""
        hand = self.hand
        count = 3 if hand.street == "preflop" else 1
        if burn:
            self.do(CardCame("next", self._deck.pop()))
        for _ in range(count):
            self.do(CardCame("next", self._board.pop(0)))
        return self

    def act(self, *words: str) -> Self:
        """``f`` fold, ``k`` check, ``c`` call, ``b600``/``r1600`` to that total, ``a`` all-in."""
        names = {"f": "fold", "k": "check", "c": "call", "b": "bet", "r": "raise", "a": "all_in"}
        for word in words:
            to = int(word[1:]) if len(word) > 1 else None
            self.do(Declared(names[word[0]], None, to))  # type: ignore[arg-type]
            assert self.taken, f"{word}: {[(r.type, r.data) for r in self.last]}"
        return self

    def refused(self, word: str) -> dict[str, Any]:
        """The act must be refused; returns the breach (or the refusal where no rule is broken)."""
        before = self.picture()
        names = {"f": "fold", "k": "check", "c": "call", "b": "bet", "r": "raise", "a": "all_in"}
        self.do(Declared(names[word[0]], None, int(word[1:]) if len(word) > 1 else None))  # type: ignore[arg-type]
        assert not self.taken, [r.type for r in self.last]
        assert self.picture() == before
        return self.last[-1].data

    def picture(self) -> Any:
        """The hand without what counts records: a refusal leaves it as it was."""
        hand = self.session.state.hand
        return None if hand is None else deepcopy(replace(hand, n=0, t_ms=0, breaches=(), before=None))

    def show(self, *seats: int) -> Self:
        for seat in seats:
            self.do(Shown(seat))
        return self

    def do_muck(self, seat: int) -> Self:
        """A hand is given up untabled at the showdown."""
        self.do(Declared("fold", seat))
        return self

    def call_misdeal(self) -> Self:
        """The dealer calls for somebody who may rule a misdeal."""
        self.do(Called("misdeal"))
        return self

    def done(self) -> Self:
        self.do(Finished())
        return self

    @property
    def hand(self) -> Any:
        assert self.session.state.hand is not None
        return self.session.state.hand

    @property
    def legal(self) -> Any:
        bounds = self.session.legal()
        assert bounds is not None
        return bounds

    @property
    def taken(self) -> bool:
        return any(record.type == "action.taken" for record in self.last)

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [record.data for record in self.records if record.type == kind]

    def result(self) -> dict[int, int]:
        """Stack after the last closed hand by seat."""
        return {line["seat"]: line["stack_after"] for line in self.all("hand.closed")[-1]["result"]["seats"]}


def _cards(text: str) -> list[str]:
    compact = text.replace(" ", "")
    return [compact[i : i + 2] for i in range(0, len(compact), 2)]


def restores(session: Session, records: Sequence[Record]) -> None:
    """Records alone rebuild the state, and between two hands so does what is kept of it."""
    assert Session.restore(session.setup, through_json(records)).state == session.state
    if session.state.play is None:
        kept = json.loads(json.dumps(image.of(session.state)))
        assert Session.restore(session.setup, [], kept).state == session.state


def through_json(records: Sequence[Record]) -> list[Record]:
    """The records as a ledger gives them back: what JSON cannot carry is lost."""
    return [
        Record(
            r.stream,
            r.type,
            r.subject,
            json.loads(json.dumps(r.data)),
            None if r.secret is None else json.loads(json.dumps(r.secret)),
            r.day,
            r.session,
        )
        for r in records
    ]
