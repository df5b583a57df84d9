"""What becomes of a decision: it is accepted as it is, or refused and nothing changes."""

from dataclasses import replace
from typing import Any

from controller.core.facts import Basis, Declared, Kind, Sources, StakePlaced
from controller.core.out import Out
from controller.core.rules import betting, dealing, refusing, sentences, showdown
from controller.core.rules.betting import Bounds
from controller.core.state import Hand


def allowed(bounds: Bounds) -> list[dict[str, Any]]:
    """What may be done now, as the contract spells it: ``min``/``max`` are totals for the round."""
    bet_now = bounds.call
    kinds: list[dict[str, Any]] = [{"kind": "fold", "min": 0, "max": 0}]
    if bet_now or not bounds.must_open:
        kinds.append({"kind": "call" if bet_now else "check", "min": bet_now, "max": bet_now})
    if bounds.raising:
        kinds.append({"kind": bounds.raising, "min": bounds.min_to, "max": bounds.max_to})
    return kinds


def accept_sensed(
    out: Out, hand: Hand, fact: StakePlaced, kind: Kind, read_as: str | None, to: int | None = None
) -> None:
    """Accept what chips did as the decision of the seat to act; ``read_as`` is the rule that decided its meaning."""
    bounds = betting.bounds(hand, out.setup.profile)
    assert bounds is not None
    spoken = fact.spoken
    if to is None:
        to = hand.bet.get(fact.seat, 0) + bounds.call if kind == "call" else fact.total
    told = Declared(kind if spoken is None else spoken.kind, fact.seat, None if spoken is None else spoken.to)
    told = replace(told, basis=fact.basis, evidence=fact.evidence)
    accept(out, hand, told, bounds, kind, to, movements=fact.movements, read_as=read_as)


def accept(
    out: Out,
    hand: Hand,
    fact: Declared,
    bounds: Bounds,
    kind: str,
    to: int,
    *,
    movements: int = 1,
    read_as: str | None = None,
) -> None:
    """``action.taken``: ``kind`` up to ``to``, the seat's total for the round, as the decision of the seat to act."""
    seat = bounds.seat
    bet, stack, before_step = hand.bet.get(seat, 0), hand.stack[seat], hand.step
    added = to - bet
    all_in = (stack is not None and added == stack and added > 0) or (stack is None and fact.kind == "all_in")
    data: dict[str, Any] = {
        "street": hand.street,
        "seat": seat,
        "kind": kind,
        "all_in": all_in,
        "added": added,
        "to": to,
        "call_before": bounds.call,
        "pot_before": hand.pot,
        "stack_after": None if stack is None else stack - added,
        "movements": movements,
        "in_turn": True,
        "elapsed_ms": max(0, out.t_ms(hand.id, hand.t_ms) - hand.began_t_ms),
    }
    full, increment = False, to - hand.level
    if kind in ("bet", "raise"):
        profile = out.setup.profile
        full = betting.is_full(hand, profile, increment)
        counts = kind == "raise" and (full or profile.raise_cap_counts == "every_increase")
        data |= {
            "raise_no": hand.raises + counts,
            "full_raise": full,
            "min_next": betting.next_least(hand, profile, to),
            "increment": max(hand.step, increment),
        }
    if fact.kind != kind or fact.to is not None:
        data["declared"] = {"kind": fact.kind, "number": fact.to}
    if fact.kind == "all_in" and kind == "call" and to != (fact.to if fact.to is not None else bet + (stack or 0)):
        read_as = read_as or "CM-4"
    if read_as is not None:
        data["read_as"] = read_as
    note = None
    if kind == "raise" and not full:
        note = "short_all_in_raise"
    elif kind == "raise" and increment < before_step:
        note = "small_raise"
    _emit(out, hand, data, fact.basis, fact.evidence, note)


def fold(
    out: Out, hand: Hand, seat: int, basis: Basis, evidence: Sources, *, read_as: str | None, in_turn: bool = True
) -> None:
    """A seat gives its hand up without having been asked, or by leaving."""
    bet, stack = hand.bet.get(seat, 0), hand.stack[seat]
    owed = max(0, hand.level - bet)
    data: dict[str, Any] = {"street": hand.street, "seat": seat, "kind": "fold", "all_in": False, "added": 0, "to": bet}
    data |= {"call_before": owed if stack is None else min(owed, stack), "pot_before": hand.pot, "stack_after": stack}
    data |= {"movements": 0, "in_turn": in_turn}
    if read_as is not None:
        data["read_as"] = read_as
    _emit(out, hand, data, basis, evidence)


NOTES = {
    "short_all_in_raise": "its all-in is less than a full raise; it stands as table stakes",
    "small_raise": "its raise is less than the last increment; any greater sum is a raise",
}


def _emit(out: Out, hand: Hand, data: dict[str, Any], basis: Basis, evidence: Sources, note: str | None = None) -> None:
    """``action.taken`` and what comes with it: the hand before is final with substantial action, a round may end."""
    substantial = hand.substantial
    out.hand("action.taken", data, basis, evidence)
    if note is not None and out.rules(note):
        out.breach(note, "INFO", f"seat {data['seat']} raised to {data['to']}: {NOTES[note]}", seat=data["seat"])
    if hand.substantial and not substantial:
        showdown.final(out, "next_hand")
    if hand.to_act is None:
        dealing.close_round(out, hand)


def refuse(out: Out, hand: Hand, fact: Declared, key: str, bounds: Bounds | None = None, **more: object) -> None:
    """``action.refused``, and the breach behind it where a rule forbids the entry. Nothing else changes."""
    may = allowed(bounds) if bounds is not None else []
    rules = out.rules(key)
    seat = fact.seat if fact.seat is not None else (bounds.seat if bounds is not None else hand.to_act)
    asked = sentences.sentence(key, seat, fact.kind, fact.to, hand, bounds, may, **more)
    data: dict[str, Any] = {"seat": seat, "tried": {"kind": fact.kind, "to": fact.to}, "rules": rules}
    data |= {"allowed": may, "why": asked}
    out.hand("action.refused", data, fact.basis, fact.evidence)
    if rules:
        out.breach(key, "BLOCK", asked, allowed=may, seat=seat, evidence=fact.evidence)


def undo(out: Out, evidence: Sources) -> None:
    """The last keyed decision is taken back, if nothing has followed it: all since then counts as not said."""
    hand = out.state.hand
    before = None if hand is None else hand.earlier()
    if hand is None or before is None:
        refusing.refuse(out, "undo", None, "nothing can be taken back; call a person with VOID", evidence)
        return
    mucked = next((seat for seat in before.live if seat not in hand.live), None)
    seat = before.to_act if before.to_act is not None else mucked
    data = {"seat": seat, "refers": before.n - 1, "to": before.bet.get(seat, 0) if seat is not None else 0}
    out.hand("action.undone", data, "keyed", evidence)
