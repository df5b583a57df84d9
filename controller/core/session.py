"""The rules' door: facts and commands in, records out. A refusal changes nothing but what is on record."""

from collections.abc import Iterable
from typing import Any

from controller.core import commands, differing, incidents, said, system
from controller.core.evolve import evolve
from controller.core.facts import (
    Announced,
    Called,
    CardCame,
    CardDoubtful,
    CardsAstray,
    CardsNamed,
    ChangeDiffers,
    CountsDiffer,
    Declared,
    Exposed,
    Fact,
    Finished,
    HandAttested,
    Pushed,
    RakeDropped,
    Refused,
    ShoeAgrees,
    ShoeDiffers,
    Shown,
    SightDiffers,
    StakePlaced,
    Tipped,
    TrayCounted,
    Undone,
)
from controller.core.floor import drawing
from controller.core.image import state_of
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.records import Record
from controller.core.rules import (
    acting,
    betting,
    dealing,
    due,
    exposing,
    naming,
    paying,
    showdown,
    stakes,
    starting,
    turns,
)
from controller.core.rules.betting import Bounds
from controller.core.rules.due import Due
from controller.core.rules.refusing import refuse
from controller.core.rules.ultimate import judge as ultimate
from controller.core.rules.ultimate import start
from controller.core.setup import Setup
from controller.core.state import State


class Session:
    """One table under its rules, without sensing."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.state = State(limits=setup.limits)
        self.out = Out(setup, self.state)
        self._seed: bytes | None = None
        self._draw: dict[int, CardCame] = {}
        """The cards of a draw that is not complete: after a restart it begins anew."""

    @classmethod
    def restore(cls, setup: Setup, records: Iterable[Record], image: Any | None = None) -> "Session":
        """Rebuild the state from records alone, with their secrets.

        ``image``: the state that the records before these led to. Raises ``ValueError`` for one of another program.
        """
        session = cls(setup)
        if image is not None:
            session.state = state_of(image)
            session.out = Out(setup, session.state)
        for record in records:
            evolve(session.state, record)
        return session

    @property
    def wants_seed(self) -> bool:
        """Whether 32 random bytes for the next hand should be fed."""
        return self._seed is None

    def seed(self, seed: bytes) -> None:
        """Feed the next hand's seed ahead."""
        self._seed = seed

    def legal(self) -> Bounds | None:
        """Who must act now and what that seat may do; ``None`` when no decision is due."""
        hand = self.state.hand
        return None if hand is None else betting.bounds(hand, self.setup.profile)

    def due(self) -> Due:
        """What is due now, when it is not a bet as well: a post, a card, a show, a push, a ruling."""
        return due.due(self.state, self.setup.profile)

    def apply(self, fact: Fact, at: int, wall: int) -> list[Record]:
        """Judge one fact. ``at`` monotonic ns, ``wall`` ns since 1970."""
        self.out.begin(at, wall)
        self.judge(fact)
        return self.out.records

    def command(self, command: Command, at: int, wall: int) -> list[Record]:
        """Carry out one command. Raises ``BadCommand`` for what cannot be read; nothing has changed then."""
        said.check(command)
        self.out.begin(at, wall)
        if command.name == "no_more_bets" and self.setup.profile.game == "ultimate":
            self._used(start.command(self.out, command, self._seed))
        else:
            commands.obey(self.out, command)
        turns.follow(self.out)
        return self.out.records

    def judge(self, fact: Fact) -> None:
        """Judge one fact within the input that ``out`` has begun."""
        out = self.out
        if self.setup.profile.game == "ultimate":
            self._used(ultimate.judge(out, fact, self._seed))
            return
        self._poker(fact)
        if not isinstance(fact, Undone):
            turns.follow(out)

    def _poker(self, fact: Fact) -> None:
        out = self.out
        match fact:
            case Declared():
                turns.declare(out, fact)
            case CardCame():
                self._card(fact)
            case CardDoubtful():
                self._doubtful(fact)
            case HandAttested() if self.setup.kind == "rfid":
                stakes.attest(out, fact, self._seed)
            case HandAttested():
                self._used(starting.attest(out, fact, self._seed))
            case StakePlaced():
                self._used(stakes.placed(out, fact, self._seed))
            case ChangeDiffers():
                stakes.uneven(out, fact)
            case CountsDiffer():
                incidents.counts_differ(out, fact)
            case Shown():
                showdown.shown(out, fact)
            case CardsNamed():
                naming.named(out, fact)
            case ShoeDiffers():
                differing.differs(out, fact)
            case CardsAstray():
                differing.astray(out, fact)
            case ShoeAgrees():
                differing.agrees(out, fact)
            case Exposed():
                exposing.sighted(out, fact)
            case SightDiffers():
                incidents.card_conflict(out, fact)
            case Finished():
                self._finish(fact)
            case Announced():
                paying.announced(out, fact)
            case Pushed():
                paying.pushed(out, fact)
            case RakeDropped():
                paying.dropped(out, fact)
            case Tipped():
                paying.tipped(out, fact)
            case Undone():
                acting.undo(out, fact.evidence)
            case Called():
                incidents.called(out, fact)
            case Refused():
                refuse(out, fact.tried, fact.seat, fact.why, fact.evidence)
            case TrayCounted():
                system.tray(out, fact)

    def _used(self, used: bool) -> None:
        if used:
            self._seed = None

    def _card(self, fact: CardCame) -> None:
        if drawing.due(self.out):
            self._draw = drawing.dealt(self.out, self._draw, fact)
            return
        self._used(dealing.card(self.out, fact, self._seed))

    def _doubtful(self, fact: CardDoubtful) -> None:
        if drawing.due(self.out):
            self._draw = drawing.dealt(self.out, self._draw, fact)
            return
        self._card(CardCame("next", None, basis=fact.basis, evidence=fact.evidence, guess=fact.card))
        hand = self.state.hand
        if hand is None or not hand.slots or not hand.slots[-1].doubted:  # an open card's doubt is no secret
            for source in fact.evidence:
                system.doubtful(self.out, source, fact.why, fact.card)
        if fact.why == "unknown" and self.state.hand is not None:
            incidents.foreign_card(self.out, fact.evidence, tag_known=False)

    def _finish(self, fact: Finished) -> None:
        held = self.state.held
        if held is not None and self.state.hand is not None:
            why = held.asks
            refuse(self.out, "done", None, why, fact.evidence)
            return
        hand = self.state.hand
        paying.finished(self.out, fact)
        if hand is not None and self.state.hand is None:
            system.doubts(self.out, hand)
