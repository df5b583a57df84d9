"""Rehearsal without devices: acts become facts and go straight to the rules."""

from collections.abc import Callable, Iterable, Iterator

from controller.core.facts import CardCame, CardDoubtful, Declared, Fact, Finished, HandAttested, Shown
from controller.core.sensing import ultimate_keys
from controller.core.session import Session
from simulators.plan import Plan
from simulators.scripts.acts import (
    Act,
    Attest,
    Check,
    Declare,
    Finish,
    Muck,
    Order,
    Pause,
    Prompt,
    Rule,
    Show,
    Slide,
    Unsensed,
)
from simulators.through.moments import Moment, Then
from simulators.through.stage import MS, Inside, Journal, NotRunnable, command_of

ACT_MS = 1000


class FactsStage(Inside):
    """A table of the rules alone."""

    def __init__(self, plan: Plan, journal: Journal | None = None) -> None:
        super().__init__(plan, journal)
        self.session = Session(plan.setup())
        for order in plan.opening():
            self.perform(order)

    def pause(self, ms: int) -> None:
        """Let time pass."""
        self._now += ms * MS

    def perform(self, act: Act) -> None:
        """Perform one act. Raises ``NotRunnable`` for an act that needs devices."""
        self._now += ACT_MS * MS
        if isinstance(act, Order | Rule):
            self.keep(self.session.command(command_of(act, self._seen), self._now, self.wall))
            return
        facts = list(facts_of(act))
        for fact in ultimate_keys.read(facts) if self.plan.boxes else facts:
            if self.session.wants_seed:
                self.session.seed(self.next_seed())
            self.keep(self.session.apply(fact, self._now, self.wall))

    def moments(self, act: Act) -> Iterable[Then]:
        """Raises ``NotRunnable``: here nothing takes time, so nothing happens at the same time."""
        raise NotRunnable(f"{type(act).__name__} beside another act needs time; rehearse through virtual or wires")

    def moment(self, what: Moment) -> None:
        """Raises ``NotRunnable``, see ``moments``."""
        raise NotRunnable(f"{type(what).__name__} needs devices; rehearse through virtual or wires")

    def until(self, ask: Callable[[], bool], timeout_ms: int) -> bool:
        """Nothing happens by itself here."""
        self.pause(0 if ask() else timeout_ms)
        return ask()

    def close(self) -> None:
        """Nothing to close."""


def facts_of(act: Act, min_confidence: int = 90) -> Iterator[Fact]:
    """What sensing would make of an act. Raises ``NotRunnable`` for what only devices can show."""
    match act:
        case Attest():
            yield HandAttested()
        case Slide(card=None):
            yield CardDoubtful("unknown", None)
        case Slide(card=card, confidence=confidence) if confidence < min_confidence:
            yield CardDoubtful("low_confidence", card)
        case Slide(card=card):
            yield CardCame("next", card)
        case Declare(kind=kind, seat=seat, to=to, name_seat=named):
            yield Declared(kind, seat if named else None, to)
        case Show(seat=seat):
            yield Shown(seat)
        case Muck(seat=seat):
            yield Declared("fold", seat)
        case Finish():
            yield Finished()
        case Pause() | Prompt() | Unsensed() | Check():
            return
        case _:
            raise NotRunnable(f"{type(act).__name__} needs devices; rehearse through virtual or wires")
