"""Entries that were keyed before the table heard of a card: they wait for it, and no seat is ever guessed.

A shoe says a card again where the first message was lost, so the card may come after the decision that followed it. An
entry that makes no sense before a card waits ``fuse_ms``. A card that the shoe had told before (``late``) was there
first; a card that is told for the first time was not, and then the entry is judged as it stands.
"""

from dataclasses import dataclass, field

from controller.core.facts import Declared, Fact, Finished, HandAttested, Refused
from controller.core.state import State

LATE_CARD = "a card came late and the entry before was refused: key the seat first, so that none is guessed"


@dataclass(slots=True)
class Patience:
    """The entries of one table that wait. ``wait`` is how long at most, in ns."""

    wait: int
    _waiting: list[Fact] = field(default_factory=list)
    _until: int = 0
    _look_at: int | None = None
    _given_up: bool = False
    """Entries have waited in vain: whether they were wrong, the next card will tell."""
    _named: bool = False
    """They were right: the next decision must name its seat."""

    def entered(self, facts: list[Fact], at: int, state: State) -> list[Fact]:
        """What of an entry can be told now."""
        facts = [self._asked(fact) for fact in facts]
        due = _card_due(state) and any(isinstance(fact, Declared | Finished) for fact in facts)
        if not self._waiting and not due:
            return facts
        if not self._waiting:
            self._until = at + self.wait
        self._waiting += facts
        return []

    def _asked(self, fact: Fact) -> Fact:
        match fact:
            case Declared(seat=None) if self._named:
                return Refused(fact.kind, LATE_CARD, None, fact.evidence)
            case Declared() | HandAttested() | Finished():
                self._named = False
        return fact

    def card(self, at: int, *, late: bool) -> list[Fact]:
        """A card is about to be told: the entries that were keyed before it and must be told first."""
        if late:
            self._named, self._given_up = self._given_up, False
            self._look_at = at if self._waiting else None
            return []
        self._given_up = False
        return self._all()

    def tick(self, at: int, state: State) -> list[Fact]:
        """Let time pass: one entry after the other, because each may change what the next means."""
        self._look_at = None
        if not self._waiting:
            return []
        if at >= self._until:
            self._given_up = True
            return self._all()
        if _card_due(state):
            return []
        first = self._waiting.pop(0)
        self._look_at = at if self._waiting else None
        return [first]

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        if not self._waiting:
            return None
        return self._until if self._look_at is None else min(self._look_at, self._until)

    def _all(self) -> list[Fact]:
        facts, self._waiting = self._waiting, []
        return facts


def _card_due(state: State) -> bool:
    """Whether cards come next, and no decision."""
    if state.hand is not None:
        return state.hand.phase in ("deal", "board")
    coup = state.table.coup
    return coup is not None and coup.phase in ("deal", "board")
