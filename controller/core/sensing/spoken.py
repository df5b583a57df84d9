"""What was announced and keyed at a table with antennas: it waits for its chips and goes with them.

Words count that were said before the chips moved (HR-12.7, I-22): chips that lay there first are taken as they are.
"""

from dataclasses import dataclass, field

from controller.core.facts import Declared, Fact, Refused
from controller.core.state import State


@dataclass(slots=True)
class Spoken:
    """The announcements of one table. ``lapse``: so long in ns one waits for chips."""

    lapse: int
    _said: list[tuple[int, Declared]] = field(default_factory=list)

    def say(self, at: int, fact: Declared) -> None:
        """Somebody announces; the last word of a seat counts."""
        self._said = [one for one in self._said if one[1].seat != fact.seat] + [(at, fact)]

    def to(self, seat: int, began: int, state: State) -> int:
        """The total that was announced for chips that began to move at ``began``; 0 where none was."""
        index = self._of(seat, began, state)
        return 0 if index is None else self._said[index][1].to or 0

    def take(self, seat: int, began: int, state: State) -> Declared | None:
        """The announcement that goes with these chips."""
        index = self._of(seat, began, state)
        return None if index is None else self._said.pop(index)[1]

    def _of(self, seat: int, began: int, state: State) -> int | None:
        """Without a seat it is about whose turn it is."""
        to_act = state.hand.to_act if state.hand is not None else None
        for index, (at, fact) in enumerate(self._said):
            if at <= began and (fact.seat == seat or (fact.seat is None and to_act == seat)):
                return index
        return None

    def unanswered(self, state: State) -> list[tuple[int, int]]:
        """Words of the seat to act that wait for chips: the seat, and the total that they mean."""
        hand = state.hand
        if hand is None or hand.phase != "bet" or hand.to_act is None or state.held is not None:
            return []
        seat = hand.to_act
        stack = hand.stack.get(seat)
        most = None if stack is None else hand.bet.get(seat, 0) + stack
        call = hand.level if most is None else min(hand.level, most)
        meant = [
            fact.to or (most if fact.kind == "all_in" else call) for _, fact in self._said if fact.seat in (seat, None)
        ]
        return [(seat, to) for to in meant if to]

    def lapsed(self, at: int, early: bool) -> list[Fact]:
        """What was announced and never followed by chips is refused, so that it binds nobody later.

        ``early``: chips lie there and wait for cards; so do words, once more as long.
        """
        old = [fact for since, fact in self._said if at - since >= self._patience(early)]
        self._said = [(since, fact) for since, fact in self._said if fact not in old]
        return [Refused(f"{f.kind}", "no chips followed what was keyed", f.seat, f.evidence) for f in old]

    def deadlines(self, early: bool) -> list[int]:
        """When ``lapsed`` is due, in monotonic ns."""
        return [at + self._patience(early) for at, _ in self._said]

    def _patience(self, early: bool) -> int:
        return 2 * self.lapse if early else self.lapse
