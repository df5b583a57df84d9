"""What a dealer says where no device reads closed cards: which ones lie face up on the board, and in a hand shown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from simulators.scripts.acts import Act, Order, Show, Slide
from simulators.scripts.scenario import Scenario

STREETS = {3: 3, 4: 1, 5: 1}
"""So many cards lie on the board: so many of them are new."""


@dataclass(slots=True)
class ByWord:
    """One table, and what lies open on it. ``dealer`` is who names the cards."""

    dealer: str
    own: dict[int, list[str]] = field(default_factory=dict)
    board: list[str] = field(default_factory=list)

    def acts(self, acts: Iterable[Act]) -> Iterator[Act]:
        """The same acts, with the cards named by the dealer once they lie open."""
        for act in acts:
            match act:
                case Slide(card=str(card), place="seat", seat=int(seat)):
                    self.own.setdefault(seat, []).append(card)
                    yield act
                case Slide(card=str(card), place="board"):
                    self.board.append(card)
                    yield act
                    if new := STREETS.get(len(self.board)):
                        yield self._says(cards=self.board[-new:])
                case Show(seat=int(seat)):
                    yield self._says(seat=seat, cards=self.own[seat])
                case _:
                    yield act

    def _says(self, **what: object) -> Order:
        return Order("cards", what, self.dealer, "dealer")


def named_in(scenario: Scenario, dealer: str) -> Scenario:
    """The same scenario at such a table."""
    word = ByWord(dealer)
    steps = tuple(replace(step, acts=tuple(word.acts(step.acts))) for step in scenario.steps)
    return replace(scenario, steps=steps)
