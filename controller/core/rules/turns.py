"""Whose turn it is: decisions in turn and out of turn, and what follows by itself (CM-15, HR-A12; rules.md 9.2)."""

from typing import Any

from controller.core import incidents
from controller.core.facts import Declared
from controller.core.out import Out
from controller.core.rules import acting, betting, judging, sentences, showdown
from controller.core.rules.betting import Bounds
from controller.core.rules.button import clockwise_from
from controller.core.rules.judging import Judged
from controller.core.rules.refusing import refuse
from controller.core.state import Early, Hand


def declare(out: Out, fact: Declared) -> None:
    """A seat's decision, keyed or sensed (HR-11.7, HR-12.4-12.6, RS-3.3, RS-4.4)."""
    hand = out.state.hand
    if hand is None:
        refuse(out, fact.kind, fact.seat, "no hand is being played", fact.evidence)
        return
    if out.state.held is not None:
        acting.refuse(out, hand, fact, "held", asks=out.state.held.asks)
        return
    if fact.kind == "fold" and (hand.phase == "showdown" or (hand.phase == "board" and hand.must_show)):
        _muck(out, hand, fact)
        return
    bounds = betting.bounds(hand, out.setup.profile)
    if bounds is None or hand.phase != "bet":
        if hand.phase == "deal":
            acting.refuse(out, hand, fact, "before_deal_ends")
        else:
            refuse(out, fact.kind, fact.seat, f"no decision is due ({hand.phase})", fact.evidence)
        return
    if fact.seat is not None and fact.seat != bounds.seat:
        out_of_turn(out, hand, fact, bounds)
        return
    judged = judging.judge(hand, fact, bounds)
    early = unbound(hand, bounds.seat, judged)
    if judged.problem is not None:
        acting.refuse(out, hand, fact, judged.problem, bounds)
    elif early is not None:
        acting.refuse(out, hand, fact, "bound", bounds, bound=sentences.tried(early.kind, early.to))
    else:
        acting.accept(out, hand, fact, bounds, judged.kind, judged.to)


def declare_early(out: Out, hand: Hand, seat: int, early: Early) -> None:
    """The turn has come to a seat whose chips lie there already: they count now (CM-15)."""
    bounds = betting.bounds(hand, out.setup.profile)
    assert bounds is not None
    fact = Declared("call" if early.to <= hand.level else "raise", seat, early.to, basis="derived")
    judged = judging.judge(hand, fact, bounds)
    if judged.problem is not None:
        acting.refuse(out, hand, fact, judged.problem, bounds)
    else:
        acting.accept(out, hand, fact, bounds, judged.kind, judged.to, read_as="CM-15")


def _muck(out: Out, hand: Hand, fact: Declared) -> None:
    waiting = [seat for seat in showdown.order(hand) if seat not in hand.shown]
    seat = fact.seat if fact.seat is not None else (waiting[0] if waiting else None)
    if seat is None or seat not in hand.live:
        refuse(out, "fold", seat, "no hand of this seat is waiting to be shown", fact.evidence)
        return
    showdown.mucked(out, seat, fact.evidence)


def out_of_turn(out: Out, hand: Hand, fact: Declared, bounds: Bounds) -> None:
    """A decision of another seat than the one to act: FLAG and back up; a fold stands at once.

    What was said binds the seat while nobody changes the action to it. HOLD (I-20) where somebody behind acts on it.
    """
    seat = fact.seat
    assert seat is not None
    may = acting.allowed(bounds)
    said = sentences.sentence("out_of_turn", seat, fact.kind, fact.to, hand, bounds, may)
    if fact.kind == "fold" and seat in hand.live and seat not in hand.all_in:
        out.breach("out_of_turn", "FLAG", said, allowed=may, seat=seat, evidence=fact.evidence)
        acting.fold(out, hand, seat, fact.basis, fact.evidence, read_as="CM-15", in_turn=False)
        return
    data: dict[str, Any] = {"seat": seat, "tried": {"kind": fact.kind, "to": fact.to}}
    data |= {"rules": out.rules("out_of_turn"), "allowed": may, "why": said}
    waits = betting.needs_to_act(hand, seat)
    behind = [other for other in hand.early if waits and _is_behind(hand, seat, other)]
    if waits:
        to = hand.bet.get(seat, 0) if fact.kind in ("check", "fold") else fact.to
        to = hand.level if to is None else to
        early = {"kind": fact.kind, "to": to, "level": hand.level, "sensed": fact.basis == "sensor"}
        data["early"] = early
    out.hand("action.refused", data, fact.basis, fact.evidence)
    out.breach("out_of_turn", "FLAG", said, allowed=may, seat=seat, evidence=fact.evidence)
    if behind:
        incidents.acted_behind(out, bounds.seat, (*behind, seat), fact.evidence)


def _is_behind(hand: Hand, seat: int, other: int) -> bool:
    """Whether ``seat`` speaks after ``other``, counted from the seat to act."""
    ring = clockwise_from(hand.order, hand.to_act or 0)
    return ring.index(seat) > ring.index(other)


def binding(hand: Hand, seat: int) -> Early | None:
    """What the seat said out of turn, if it still binds it."""
    early = hand.early.get(seat)
    return early if early is not None and early.level == hand.level else None


def unbound(hand: Hand, seat: int, judged: Judged) -> Early | None:
    """The decision out of turn that this one goes against, or ``None``."""
    early = binding(hand, seat)
    if early is None:
        return None
    raises = ("bet", "raise", "all_in")
    same = early.kind == judged.kind or (early.kind in raises and judged.kind in (*raises, "call"))
    return None if same and (early.kind not in raises or early.to == judged.to) else early


def follow(out: Out) -> None:
    """What follows by itself: a seat that is being left folds, chips that lay there early count."""
    for _ in range(2 * out.setup.seats):
        hand = out.state.hand
        if hand is None or hand.phase != "bet" or hand.to_act is None or out.state.held is not None:
            return
        seat = hand.to_act
        early = binding(hand, seat)
        if seat in hand.leaving:
            acting.fold(out, hand, seat, "derived", (), read_as=next(iter(out.rules("leave_in_hand")), None))
        elif early is not None and early.sensed:
            declare_early(out, hand, seat, early)
            if out.state.hand is hand and hand.to_act == seat:
                return  # it does not fit any more: a person sorts it out
        else:
            return
