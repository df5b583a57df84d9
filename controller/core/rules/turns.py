"""Who acts when it is not their turn, and what follows by itself when it is (CM-15, HR-A12; rules.md 9.2)."""

from typing import Any

from controller.core import incidents
from controller.core.facts import Declared
from controller.core.out import Out
from controller.core.rules import acting, betting, sentences
from controller.core.rules.betting import Bounds
from controller.core.rules.button import clockwise_from
from controller.core.rules.judging import Judged
from controller.core.state import Early, Hand


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
            acting.declare_early(out, hand, seat, early)
            if out.state.hand is hand and hand.to_act == seat:
                return  # it does not fit any more: a person sorts it out
        else:
            return
