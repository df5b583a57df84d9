"""The betting of one round: whose turn it is and what may be staked. Pure questions to a hand."""

from dataclasses import dataclass
from typing import Literal

from controller.core.rules.button import clockwise_from
from controller.core.rules.profile import Profile
from controller.core.state import Hand


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the seat to act may do. Amounts in minor units; totals are for the round ("raise to").

    ``call`` is what a call adds now (0: a check is due), already cut to the stack. ``min_to``/``max_to`` bound a bet
    or raise; ``max_to`` ``None`` means that nobody knows the stack. ``raising`` is ``None`` where no raise may be,
    and ``barred`` says which rule bars it.
    """

    seat: int
    call: int
    raising: Literal["bet", "raise"] | None
    min_to: int
    max_to: int | None
    barred: str | None = None


def needs_to_act(hand: Hand, seat: int) -> bool:
    """Whether the round waits for this seat: it can bet, and has not acted or not matched."""
    if seat not in hand.live or seat in hand.all_in:
        return False
    bet = hand.bet.get(seat, 0)
    others = [other for other in hand.live if other != seat]
    if all(other in hand.all_in for other in others) and bet >= max((hand.bet.get(o, 0) for o in others), default=0):
        return False  # nobody is left who could answer, and there is nothing to match (C22 is the other case)
    return seat not in hand.acted or bet < hand.level


def next_to_act(hand: Hand, after: int) -> int | None:
    """The next seat clockwise after ``after`` for which the round waits; ``None``: the round is over."""
    if len(hand.live) < 2:
        return None
    return next((seat for seat in clockwise_from(hand.order, after) if needs_to_act(hand, seat)), None)


def opens_street(hand: Hand) -> int | None:
    """Who opens a round after the flop: the first active seat left of the button (HR-12.4, HR-A7, RS-4.2)."""
    active = hand.can_bet
    if len(active) < 2:
        return None
    return next(seat for seat in clockwise_from(hand.order, hand.button) if seat in active)


def bounds(hand: Hand, profile: Profile) -> Bounds | None:
    """What the seat to act may do (CM-1, CM-2, CM-3, HR-11.8), or ``None`` when no action is due."""
    seat = hand.to_act
    if seat is None:
        return None
    bet, stack = hand.bet.get(seat, 0), hand.stack[seat]
    owed = max(0, hand.level - bet)
    call = owed if stack is None else min(owed, stack)
    most = None if stack is None else bet + stack
    least = hand.level + hand.step
    barred = _barred(hand, profile, seat, most)
    if most is not None:
        least = min(least, most)
    kind: Literal["bet", "raise"] = "raise" if hand.level else "bet"
    return Bounds(seat, call, None if barred else kind, least, most, barred)


def _could_answer(hand: Hand, seat: int) -> bool:
    """Whether a raise would ask anything of this seat: it has more than what it would call already."""
    stack = hand.stack[seat]
    return seat not in hand.all_in and (stack is None or hand.bet.get(seat, 0) + stack > hand.level)


def _barred(hand: Hand, profile: Profile, seat: int, most: int | None) -> str | None:
    """Why this seat may not raise: a key of ``breaches.IDS``."""
    if most is not None and most <= hand.level:
        return "short_stack"
    if not any(_could_answer(hand, other) for other in hand.live if other != seat):
        return "nobody_to_answer"
    capped = profile.raise_cap is not None and hand.raises >= profile.raise_cap
    if capped and (profile.raise_cap_heads_up or len(hand.live) > 2):
        return "raise_cap"
    if seat in hand.acted and hand.level - hand.acted[seat] < hand.step:
        return "not_reopened"
    return None
