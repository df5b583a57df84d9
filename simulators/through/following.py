"""Following a recorded hand under house rules it was not played by.

As long as the rules accept what the record says, the dealer keys exactly that. Once an entry is refused (a
fourth raise under HR-11.8), the dealer keys the least that keeps that seat in the hand, and from there the record
is followed where it is still possible: a seat does what it did next in that round if it may, otherwise the least:
check, call, or the bet that BG-5.25 asks for.
"""

from collections.abc import Iterator, Sequence

from controller.core.rules.acting import allowed
from simulators.plan import Plan
from simulators.scripts.acts import DECK, Act, Declare, Finish, Muck, Script, Show, Slide
from simulators.seen import Seen
from simulators.through.facts import FactsStage
from simulators.through.stage import Journal

BOARD = {"preflop": 3, "flop": 1, "turn": 1}
MOST_ACTS = 400
"""No hand of eleven players under any rules is longer: a bound, so that a fault cannot play for ever."""


class Follower:
    """Plays one script through the rules and notes what the dealer really did."""

    def __init__(self, script: Script, plan: Plan, journal: Journal | None = None) -> None:
        self.script = script
        self.stage = FactsStage(plan, journal)
        self.acts: list[Act] = []
        self.departed = False
        """Whether the rules refused what the record says."""

    @property
    def seen(self) -> Sequence[Seen]:
        """Every event so far."""
        return self.stage.seen

    def play(self) -> None:
        """Play the hand to its end."""
        for number, act in enumerate(self.script.acts):
            if self._perform(act):
                continue
            self.departed = True
            self._least()
            self._improvise(self.script.acts[number + 1 :])
            return

    def _perform(self, act: Act) -> bool:
        before = len(self.seen)
        self.stage.perform(act)
        self.acts.append(act)
        return not any(event.type == "action.refused" for event in self.seen[before:])

    def _improvise(self, rest: Sequence[Act]) -> None:
        cards = self._cards(rest)
        wishes = _by_round(rest)
        for _ in range(MOST_ACTS):
            hand = self.stage.session.state.hand
            if hand is None:
                return
            match hand.phase:
                case "bet":
                    self._decide(wishes)
                case "board":
                    for place in ("burn", *("board",) * BOARD[hand.street]):
                        self._perform(Slide(next(cards), place))
                    del wishes[:1]
                case "showdown":
                    seat = next(s for s in (*hand.must_show, *hand.live) if s in hand.live and s not in hand.shown)
                    wish = next((a for a in rest if isinstance(a, Show | Muck) and a.seat == seat), Show(seat))
                    if not self._perform(wish):
                        self._perform(Show(seat))
                case _:
                    self._perform(Finish())

    def _cards(self, rest: Sequence[Act]) -> Iterator[str]:
        """The cards the record still has, then what a deck has left."""
        slides = [act.card for act in rest if isinstance(act, Slide) and act.card is not None]
        dealt = {act.card for act in self.script.acts if isinstance(act, Slide)}
        yield from slides
        yield from (card for card in DECK if card not in dealt)

    def _decide(self, wishes: list[list[Declare]]) -> None:
        bounds = self.stage.session.legal()
        if bounds is None:
            return
        wished = next((act for act in (wishes[0] if wishes else []) if act.seat == bounds.seat), None)
        if wished is not None:
            wishes[0].remove(wished)
            possible = {option["kind"] for option in allowed(bounds)} | {"all_in"}
            payable = wished.to is None or bounds.max_to is None or wished.to <= bounds.max_to
            if payable and wished.kind in possible and self._perform(wished):
                return
        self._least()

    def _least(self) -> None:
        """The least that keeps the seat to act in the hand."""
        bounds = self.stage.session.legal()
        if bounds is None:
            return
        if bounds.must_open and not bounds.call:
            self._perform(Declare("bet", bounds.seat, bounds.min_to))
        else:
            self._perform(Declare("call" if bounds.call else "check", bounds.seat))


def _by_round(acts: Sequence[Act]) -> list[list[Declare]]:
    """The decisions still on record, one list a round."""
    rounds: list[list[Declare]] = [[]]
    for act in acts:
        if isinstance(act, Slide) and act.place == "burn":
            rounds.append([])
        elif isinstance(act, Declare):
            rounds[-1].append(act)
    return rounds
