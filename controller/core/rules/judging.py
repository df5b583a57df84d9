"""What a decision of the seat to act amounts to, and what is wrong with it. Pure; nothing is decided here."""

from typing import NamedTuple

from controller.core.facts import Declared
from controller.core.rules.betting import Bounds
from controller.core.state import Hand


class Judged(NamedTuple):
    """``kind`` and ``to`` (the seat's total for the round) as meant; ``problem``: a key of ``breaches.IDS``."""

    problem: str | None
    kind: str
    to: int


def judge(hand: Hand, fact: Declared, bounds: Bounds) -> Judged:
    """Judge a decision against the bounds (HR-11.7, HR-12.4 to 12.6, BG-5.4 to 5.22, RS-3.3, RS-4.3, RS-4.4)."""
    bet, stack = hand.bet.get(bounds.seat, 0), hand.stack[bounds.seat]
    if fact.kind == "fold":
        return Judged(None, "fold", bet)
    if fact.kind == "check":
        problem = "check_facing_bet" if bounds.call else "must_open" if bounds.must_open else None
        return Judged(problem, "check", bet)
    if fact.kind == "call":
        return Judged(None if bounds.call else "call_nothing", "call", bet + bounds.call)
    to = fact.to
    if fact.kind == "all_in" and to is None:
        if stack is None:
            return Judged("stack_unknown", "all_in", 0)
        to = bet + stack
    if to is None:
        return Judged("amount_missing", fact.kind, 0)
    return _amount(hand, fact, bounds, to)


def _amount(hand: Hand, fact: Declared, bounds: Bounds, to: int) -> Judged:
    bet, stack = hand.bet.get(bounds.seat, 0), hand.stack[bounds.seat]
    if to % hand.unit and (stack is None or to != bet + stack):
        return Judged("not_whole_chips", fact.kind, to)
    if stack is not None and to > bet + stack:
        bounded = bounds.raising is not None and bounds.max_to is not None and bounds.max_to < bet + stack
        return Judged(bounds.most_by if bounded else "over_stack", fact.kind, to)
    if fact.kind == "all_in" and ((stack is not None and to != bet + stack) or to <= bet):
        return Judged("not_the_stack", "all_in", to)
    if fact.kind == "bet" and hand.level:
        return Judged("bet_facing_bet", "bet", to)
    if fact.kind == "all_in" and (to <= hand.level or bounds.barred == "nobody_to_answer"):
        return Judged(None if bounds.call else "call_nothing", "call", min(to, max(hand.level, bet)))
    if bounds.raising is None:
        return Judged(bounds.barred, fact.kind, to)
    if to <= hand.level or (to < bounds.min_to and not (fact.kind == "all_in" and stack is None)):
        return Judged(bounds.least_by, bounds.raising, to)
    if bounds.max_to is not None and to > bounds.max_to:
        return Judged(bounds.most_by, bounds.raising, to)
    return Judged(None, bounds.raising, to)
