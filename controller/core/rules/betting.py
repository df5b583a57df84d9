"""The betting of one round: whose turn it is and what may be staked. Pure questions to a hand.

Amounts are integers in minor units; totals are for the round ("raise to").
"""

from typing import Literal, NamedTuple

from controller.core.rules.button import clockwise_from
from controller.core.rules.profile import Profile
from controller.core.state import Hand

LATE = ("turn", "river")
"""Rounds 3 and 4: the big bet of fixed limit, and BG's duty to open (BG-5.25)."""


class Bounds(NamedTuple):
    """What the seat to act may do. Amounts in minor units; totals are for the round ("raise to").

    ``call`` is what a call adds now (0: nothing is owed), already cut to the stack. ``min_to``/``max_to`` bound a bet
    or raise; ``max_to`` ``None`` means that nobody knows the stack. ``raising`` is ``None`` where no raise may be,
    and ``barred`` says which rule bars it. ``must_open``: checking is not allowed (BG-5.25). ``least_by`` and
    ``most_by`` name what sets the bounds: keys of ``breaches.IDS``.
    """

    seat: int
    call: int
    raising: Literal["bet", "raise"] | None
    min_to: int
    max_to: int | None
    barred: str | None = None
    must_open: bool = False
    least_by: str = "min_raise"
    most_by: str = "over_stack"


def needs_to_act(hand: Hand, seat: int) -> bool:
    """Whether the round waits for this seat: it can bet, and has not acted or not matched."""
    all_in = hand.all_in
    if seat not in hand.live or seat in all_in:
        return False
    bet = hand.bet.get(seat, 0)
    if len(all_in) >= len(hand.live) - 1:
        others = [other for other in hand.live if other != seat]
        if set(others) <= set(all_in) and bet >= max([hand.bet.get(other, 0) for other in others], default=0):
            return False  # nobody is left who could answer, and there is nothing to match (C22 is the other case)
    return seat not in hand.acted or bet < hand.level


def next_to_act(hand: Hand, after: int) -> int | None:
    """The next seat clockwise after ``after`` for which the round waits; ``None``: the round is over."""
    if len(hand.live) < 2:
        return None
    for seat in clockwise_from(hand.order, after):
        if needs_to_act(hand, seat):
            return seat
    return None


def opens_street(hand: Hand) -> int | None:
    """Who opens a round after the flop: the first active seat left of the button (HR-12.4, HR-A7, RS-4.2).

    So the button is usually last, which follows and is no rule of its own (RS-7.9, RS-A5).
    """
    active = hand.can_bet
    if len(active) < 2:
        return None
    return next(seat for seat in clockwise_from(hand.order, hand.button) if seat in active)


def bet_size(hand: Hand) -> int:
    """The prescribed size of a bet and of a raise in fixed limit (RS-7.11): small before the turn, then big."""
    limits = hand.limits
    return limits.large_bet if hand.street in LATE else limits.low_bet


def bounds(hand: Hand, profile: Profile) -> Bounds | None:
    """What the seat to act may do; ``None``: no action is due.

    Everybody has the same options (BG-5.8, BG-5.23) within the structure (HR-11.8, BG-6.2, BG-6.3, RS-7.10, RS-7.11,
    RS-7.12) and its least bet and raise (CM-1, CM-2, CM-3).
    """
    seat = hand.to_act
    if seat is None:
        return None
    bet, stack = hand.bet.get(seat, 0), hand.stack[seat]
    level = hand.level
    owed = level - bet if level > bet else 0
    call = owed if stack is None or owed <= stack else stack
    top = None if stack is None else bet + stack
    least, least_by = _least(hand, profile)
    most, most_by = top, "over_stack"
    if hand.structure != "no_limit":
        limit, limited_by = _limit(hand, profile, bet, owed, least)
        if top is None or limit < top:
            most, most_by = limit, limited_by
    barred = _barred(hand, profile, seat, top)
    if barred is None and most is not None and most <= level:
        barred = most_by  # the pot is too small for any raise (BG-6.2)
    if most is not None and most < least:
        least = most
    must_open = not level and profile.open_late_rounds == "duty" and hand.street in LATE
    kind: Literal["bet", "raise"] = "raise" if level else "bet"
    return Bounds(seat, call, None if barred else kind, least, most, barred, must_open, least_by, most_by)


def _least(hand: Hand, profile: Profile) -> tuple[int, str]:
    """The smallest total of a bet or raise that no short stack excuses, and what asks for it."""
    if hand.structure == "fixed_limit":
        return hand.level + bet_size(hand), "fixed_size"
    if hand.level:
        if profile.min_raise == "any_greater":
            return hand.level + hand.unit, "any_greater"
        return hand.level + hand.step, "min_raise"
    if profile.open_late_rounds != "free" and hand.street in LATE:
        return hand.limits.minimum, "table_minimum"
    return hand.limits.big_blind, "min_bet"


def _limit(hand: Hand, profile: Profile, bet: int, owed: int, least: int) -> tuple[int, str]:
    """The largest total that the structure allows whatever the stack, payable in chips of the table."""
    if hand.structure == "fixed_limit":
        return least, "fixed_size"
    pot = hand.pot
    rule = profile.pot_limit_rule
    adds = pot if rule == "amount_in" else owed + pot if rule == "raise_by_precall_pot" else owed + pot + owed
    most = bet + adds
    most -= most % hand.unit
    if most < least and (not hand.level or rule != "amount_in"):
        most = least  # the smallest bet is always possible, however small the pot (CM-1)
    return most, "over_pot"


def _answerable(hand: Hand, seat: int) -> bool:
    """Whether a raise of this seat would ask anything of another: one that has more than what it would call already."""
    for other in hand.live:
        if other != seat and other not in hand.all_in:
            stack = hand.stack[other]
            if stack is None or hand.bet.get(other, 0) + stack > hand.level:
                return True
    return False


def capped(hand: Hand, profile: Profile) -> bool:
    """Whether the increases of this round are used up (HR-11.8, HR-A1)."""
    if profile.raise_cap is None or (len(hand.live) == 2 and not profile.raise_cap_heads_up):
        return False
    opened = profile.raise_cap_counts_open_bet and hand.street != "preflop" and hand.level > 0
    return hand.raises + opened >= profile.raise_cap


def _barred(hand: Hand, profile: Profile, seat: int, top: int | None) -> str | None:
    """Why this seat may not raise: a key of ``breaches.IDS``."""
    level = hand.level
    if top is not None and top <= level:
        return "short_stack"
    if not _answerable(hand, seat):
        return "nobody_to_answer"
    if capped(hand, profile):
        return "raise_cap"
    raised = hand.street == "preflop" and level > hand.limits.big_blind
    if raised and not profile.blinds_reraise and seat in (hand.small, hand.big):
        return "blind_reraise"
    acted = hand.acted.get(seat)
    if acted is None:
        return None
    if acted == 0 and not profile.check_raise and level:
        return "check_raise"
    return "not_reopened" if _closed(hand, profile, level - acted) else None


def _closed(hand: Hand, profile: Profile, faced: int) -> bool:
    """Whether what a seat that has acted faces is less than what opens raising again (CM-3, C19)."""
    if hand.structure == "fixed_limit":
        size = bet_size(hand)
        return 2 * faced < size if profile.reopen == "half_in_limit" else faced < size
    return profile.min_raise != "any_greater" and faced < hand.step


def is_full(hand: Hand, profile: Profile, increment: int) -> bool:
    """Whether an increase by ``increment`` counts as a full bet or raise."""
    if hand.structure != "fixed_limit":
        return increment > 0 if profile.min_raise == "any_greater" else increment >= hand.step
    size = bet_size(hand)
    return 2 * increment >= size if profile.reopen == "half_in_limit" else increment >= size


def next_least(hand: Hand, profile: Profile, to: int) -> int:
    """The smallest raise over a bet or raise to ``to`` (``min_next`` of ``action.taken``)."""
    if hand.structure == "fixed_limit":
        return to + bet_size(hand)
    if profile.min_raise == "any_greater":
        return to + hand.unit
    return to + max(hand.step, to - hand.level)
