"""Decisions: fold, check, call, bet, raise. A decision is accepted as it is, or refused and nothing changes."""

from typing import Any

from controller.core.facts import Declared, Sources
from controller.core.out import Out
from controller.core.rules import betting, dealing, showdown
from controller.core.rules.betting import Bounds
from controller.core.state import Hand


def allowed(bounds: Bounds) -> list[dict[str, Any]]:
    """What may be done now, as the contract spells it: ``min``/``max`` are totals for the round."""
    bet_now = bounds.call
    kinds: list[dict[str, Any]] = [{"kind": "fold", "min": 0, "max": 0}]
    kinds.append({"kind": "call" if bet_now else "check", "min": bet_now, "max": bet_now})
    if bounds.raising:
        kinds.append({"kind": bounds.raising, "min": bounds.min_to, "max": bounds.max_to})
    return kinds


def declare(out: Out, fact: Declared) -> None:
    """A seat's decision, keyed or sensed (HR-11.7, HR-12.4-12.6, RS-3.3, RS-4.4)."""
    hand = out.state.hand
    if hand is None:
        showdown.refuse(out, fact.kind, fact.seat, "no hand is being played", fact.evidence)
        return
    if out.state.held is not None:
        _refuse(out, hand, fact, "held", f"incident {out.state.held.id} has to be ruled first")
        return
    if fact.kind == "fold" and (hand.phase == "showdown" or (hand.phase == "board" and hand.must_show)):
        _muck(out, hand, fact)
        return
    bounds = betting.bounds(hand, out.setup.profile)
    if bounds is None or hand.phase != "bet":
        if hand.phase == "deal":
            _refuse(out, hand, fact, "before_deal_ends", "betting starts when all cards are dealt")
        else:
            showdown.refuse(out, fact.kind, fact.seat, f"no decision is due ({hand.phase})", fact.evidence)
        return
    if fact.seat is not None and fact.seat != bounds.seat:
        asked = f"seat {bounds.seat} is to act"
        _refuse(out, hand, fact, "out_of_turn", asked, bounds, reaction="FLAG")
        return
    problem, kind, to = _judge(out, hand, fact, bounds)
    if problem is not None:
        _refuse(out, hand, fact, problem, _asked(problem, bounds, hand), bounds)
        return
    _accept(out, hand, fact, bounds, kind, to)


def _muck(out: Out, hand: Hand, fact: Declared) -> None:
    waiting = [seat for seat in showdown.order(hand) if seat not in hand.shown]
    seat = fact.seat if fact.seat is not None else (waiting[0] if waiting else None)
    if seat is None or seat not in hand.live:
        showdown.refuse(out, "fold", seat, "no hand of this seat is waiting to be shown", fact.evidence)
        return
    showdown.mucked(out, seat, fact.evidence)


def _judge(out: Out, hand: Hand, fact: Declared, bounds: Bounds) -> tuple[str | None, str, int]:
    """What the decision amounts to: (breach key or None, kind, total for the round)."""
    bet = hand.bet.get(bounds.seat, 0)
    if fact.kind == "fold":
        return None, "fold", bet
    if fact.kind == "check":
        return ("check_facing_bet" if bounds.call else None), "check", bet
    if fact.kind == "call":
        return (None if bounds.call else "call_nothing"), "call", bet + bounds.call
    to = fact.to
    if fact.kind == "all_in" and to is None:
        stack = hand.stack[bounds.seat]
        if stack is None:
            return "stack_unknown", "all_in", 0
        to = bet + stack
    if to is None:
        return "amount_missing", fact.kind, 0
    return _judge_amount(out, hand, fact, bounds, to)


def _judge_amount(out: Out, hand: Hand, fact: Declared, bounds: Bounds, to: int) -> tuple[str | None, str, int]:
    bet, stack = hand.bet.get(bounds.seat, 0), hand.stack[bounds.seat]
    if to % out.setup.chipset.unit and (stack is None or to != bet + stack):
        return "not_whole_chips", fact.kind, to
    if stack is not None and to > bet + stack:
        return "over_stack", fact.kind, to
    if fact.kind == "bet" and hand.level:
        return "bet_facing_bet", "bet", to
    if fact.kind == "all_in" and (to <= hand.level or bounds.barred == "nobody_to_answer"):
        return (None if bounds.call else "call_nothing"), "call", min(to, max(hand.level, bet))
    if bounds.raising is None:
        return bounds.barred, fact.kind, to
    if to <= hand.level or (to < bounds.min_to and not (fact.kind == "all_in" and stack is None)):
        return ("min_raise" if hand.level else "min_bet"), bounds.raising, to
    return None, bounds.raising, to


def _asked(problem: str, bounds: Bounds, hand: Hand) -> str:
    sentences = {
        "check_facing_bet": f"{bounds.call} are owed: call, raise or fold",
        "call_nothing": "there is nothing to call: check",
        "bet_facing_bet": f"a bet of {hand.level} stands: call or raise",
        "over_stack": f"at most {bounds.max_to} lie in front of the seat",
        "min_raise": f"a raise goes to at least {bounds.min_to}",
        "min_bet": f"a bet is at least {bounds.min_to}",
        "raise_cap": "the raises of this round are used up: call or fold",
        "not_reopened": "the all-in was no full raise: call or fold",
        "short_stack": "the stack is too short to raise: call or fold",
        "nobody_to_answer": "nobody is left who could answer a raise: call or fold",
        "not_whole_chips": "the amount is not payable in chips of this table",
        "stack_unknown": "the stack is not known: key the amount with ALLIN",
        "amount_missing": "the amount is missing: key the total for the round and ENTER",
    }
    return sentences[problem]


def _accept(out: Out, hand: Hand, fact: Declared, bounds: Bounds, kind: str, to: int) -> None:
    seat = bounds.seat
    bet, stack = hand.bet.get(seat, 0), hand.stack[seat]
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
    }
    full = False
    if kind in ("bet", "raise"):
        increment = to - hand.level
        full = increment >= hand.step
        counts = kind == "raise" and (full or out.setup.profile.raise_cap_counts == "every_increase")
        data |= {
            "raise_no": hand.raises + counts,
            "full_raise": full,
            "min_next": to + (increment if full else hand.step),
        }
    data |= {
        "stack_after": None if stack is None else stack - added,
        "movements": 1,
        "in_turn": True,
        "elapsed_ms": max(0, out.t_ms(hand.id, hand.t_ms) - hand.began_t_ms),
    }
    if fact.kind != kind or fact.to is not None:
        data["declared"] = {"kind": fact.kind, "number": fact.to}
    if fact.kind == "all_in" and kind == "call" and to != (fact.to if fact.to is not None else bet + (stack or 0)):
        data["read_as"] = "CM-4"
    substantial = hand.substantial
    out.hand("action.taken", data, fact.basis, fact.evidence)
    if kind == "raise" and not full:
        info = out.rules("short_all_in_raise")
        if info:
            out.breach("short_all_in_raise", "INFO", "all-in for less than a full raise", seat=seat)
    if hand.substantial and not substantial:
        showdown.final(out, "next_hand")
    if hand.to_act is None:
        dealing.close_round(out, hand)


def _refuse(
    out: Out,
    hand: Hand,
    fact: Declared,
    key: str,
    asked: str,
    bounds: Bounds | None = None,
    reaction: Any = "BLOCK",
) -> None:
    """``action.refused``, and the breach behind it where a rule forbids the entry. Nothing else changes."""
    may = allowed(bounds) if bounds is not None else []
    rules = out.rules(key)
    seat = fact.seat if fact.seat is not None else (bounds.seat if bounds is not None else hand.to_act)
    data: dict[str, Any] = {"seat": seat, "tried": {"kind": fact.kind, "to": fact.to}, "rules": rules}
    data |= {"allowed": may, "why": asked}
    out.hand("action.refused", data, fact.basis, fact.evidence)
    if rules:
        out.breach(key, reaction, asked, allowed=may, seat=seat, evidence=fact.evidence)


def undo(out: Out, evidence: Sources) -> None:
    """The last keyed decision is taken back, if nothing has followed it: all since then counts as not said."""
    hand = out.state.hand
    if hand is None or hand.before is None:
        showdown.refuse(out, "undo", None, "nothing can be taken back; call a person with VOID", evidence)
        return
    before = hand.before
    seat = before.to_act
    data = {"seat": seat, "refers": before.n - 1, "to": before.bet.get(seat, 0) if seat is not None else 0}
    out.hand("action.undone", data, "keyed", evidence)
