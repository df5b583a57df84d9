"""Cards that have come and are not told yet: one that moves on is dealt where it finally rests.

In the deal a card at a seat that is not due waits for those before it, or to be moved on to where it belongs; for a
while only, for it may be a misdeal. One tag is one card: what has moved is never a second one.
"""

from collections import Counter
from dataclasses import replace

from controller.core.facts import CardCame
from controller.core.sensing.cards import Cards
from controller.core.sensing.inorder import Told
from controller.core.sensing.shoe_beside import ShoeBeside
from controller.core.sensing.whereabouts import MS, Move
from controller.core.setup import Setup
from controller.core.state import Hand, State


class Newcomers:
    """Not restored after a crash: a card that was told to nobody is met anew where it lies."""

    def __init__(self, setup: Setup, cards: Cards, shoe: ShoeBeside | None) -> None:
        self._cards = cards
        self._shoe = shoe
        self._patience = setup.timing.in_flight_ms * MS
        self._untold: dict[str, Told] = {}

    def moved(self, move: Move, at: int, state: State, later: list[Told]) -> None:
        """A card has come to rest elsewhere. What that says is added to ``later``, in place of what it said before."""
        earlier = self._moved_on(move, later)
        if earlier is not None:
            self._cards.untold(move.tag)
        fact = self._cards.moved(move, at, state)
        if isinstance(fact, CardCame):
            if earlier is not None:
                fact = replace(fact, evidence=(*fact.evidence, *earlier.evidence))
            elif self._shoe is not None:
                fact = self._shoe.landed(fact, move.since, state)
            self._untold[move.tag] = (move.since, fact)
        if fact is not None:
            later.append((move.since, fact))

    def _moved_on(self, move: Move, later: list[Told]) -> CardCame | None:
        """What was to be told of a card that lies elsewhere now: taken from ``later``.

        A card that a seat holds may be in a hand: only one that lies at another place of the deal has moved on. A
        common card that is taken away again before its turn has not come.
        """
        told = self._untold.pop(move.tag, None)
        if told is None or told not in later:
            return None
        fact, after = told[1], move.after or ""
        assert isinstance(fact, CardCame)
        if after in ("board", "burn") or after.startswith("seat:") or (not after and fact.place == "board"):
            later.remove(told)
            return fact
        self._untold[move.tag] = told
        return None

    def in_turn(
        self, later: list[Told], held: list[Told], until: int | None, at: int, hand: Hand | None
    ) -> tuple[list[Told], list[Told], int | None]:
        """What can be told now, in order; what waits, the cards of the deal among it; and until when."""
        if hand is None or hand.phase != "deal":
            return later, held, until
        now: list[Told] = []
        waits = list(later)
        dealt = Counter(slot.seat for slot in hand.slots if slot.place == "seat" and not slot.gone)
        while waits:
            ready = (one for one in waits if at - one[0] >= self._patience or _due(hand, one, dealt))
            told = next(ready, None)
            if told is None:
                break
            waits.remove(told)
            now.append(told)
            if isinstance(told[1], CardCame) and told[1].place == "seat":
                dealt[told[1].seat] += 1
        times = [since + self._patience for since, _ in waits] + ([] if until is None else [until])
        return now, held + waits, min(times, default=None)


def _due(hand: Hand, told: Told, dealt: Counter[int | None]) -> bool:
    """Whether a seat is owed a card by now: by the count of cards that have come, for two may settle in any order."""
    fact, players, came = told[1], len(hand.order), dealt.total()
    if not isinstance(fact, CardCame) or fact.place != "seat" or came >= hand.own_cards * players:
        return True
    owed = sum(hand.order[turn % players] == fact.seat for turn in range(came + 1))
    return dealt[fact.seat] < owed
