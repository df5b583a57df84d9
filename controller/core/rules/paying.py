"""From the award to the closed hand: announced, raked, pushed, tipped. All of it is held against the award."""

from typing import Any

from controller.core import incidents
from controller.core.facts import Announced, Finished, Pushed, RakeDropped, Sources, Tipped
from controller.core.out import Out, cite
from controller.core.rules import raking
from controller.core.rules.button import clockwise_from
from controller.core.rules.refusing import refuse
from controller.core.state import Hand


def won(hand: Hand) -> dict[int, int]:
    """What each seat gets by the award, in minor units."""
    total = dict.fromkeys(hand.order, 0)
    for pot in hand.pots:
        for winner in pot["winners"]:
            total[winner["seat"]] += winner["amount"]
    return total


def winners(hand: Hand) -> tuple[int, ...]:
    """The seats that win something, from the left of the button."""
    shares = won(hand)
    return tuple(seat for seat in clockwise_from(hand.order, hand.button) if shares[seat])


def _awarded(out: Out, tried: str, seat: int | None, evidence: Sources) -> Hand | None:
    """The hand whose award stands, or ``None`` with a refusal that says no more than what lies on the table."""
    hand = out.state.hand
    if hand is None or hand.phase != "award":
        waiting = [s for s in hand.live if s not in hand.shown] if hand is not None and hand.phase == "showdown" else []
        why = f"hands of seats {waiting} are shown or given up first" if waiting else "no pot is being awarded"
        refuse(out, tried, seat, why, evidence)
        if waiting:
            out.breach("announced_early", "FLAG", why, seat=seat, evidence=evidence)
        return None
    return hand


# --- the announcement ----------------------------------------------------------------------------------------


def announced(out: Out, fact: Announced) -> None:
    """``winner.announced`` (HR-15.2). Another winner than the award's: HOLD before the push (I-35)."""
    hand = _awarded(out, "announce", None, fact.evidence)
    if hand is None:
        return
    if held := out.state.held:
        refuse(out, "announce", None, held.asks, fact.evidence)
        return
    agrees = set(fact.seats) == set(winners(hand))
    out.hand("winner.announced", {"seats": list(fact.seats), "agrees": agrees}, fact.basis, fact.evidence)
    if not agrees:
        facts = {"announced": list(fact.seats), "computed": list(winners(hand))}
        incidents.award_mismatch(out, "I-35", "wrong_announcement", fact.seats, facts, fact.evidence)


# --- rake and tips -------------------------------------------------------------------------------------------


def dropped(out: Out, fact: RakeDropped) -> None:
    """Chips went into the rake box (BG-5.30); another amount than computed is held (I-43)."""
    hand = _awarded(out, "rake", None, fact.evidence)
    if hand is None:
        return
    rake = out.setup.profile.rake or raking.NO_RAKE
    if hand.dropped is not None:
        refuse(out, "rake", None, "the rake of this hand has been dropped already", fact.evidence)
        return
    raking.taken(out, hand, rake, fact.amount, fact.basis, fact.evidence)
    if fact.amount != hand.rake:
        facts = {"computed": hand.rake, "dropped": fact.amount}
        incidents.award_mismatch(out, "I-43", "rake_wrong", (), facts, fact.evidence)


def tipped(out: Out, fact: Tipped) -> None:
    """``tip.given``: out of what the seat has won, into the dealers' box; between hands out of its stack."""
    if out.state.hand is None and out.state.session is not None:
        _tipped_between_hands(out, fact)
        return
    hand = _awarded(out, "tip", fact.seat, fact.evidence)
    if hand is None:
        return
    left = won(hand).get(fact.seat, 0) - hand.tips.get(fact.seat, 0)
    if fact.amount > left:
        why = f"a tip comes out of what the seat has won; {left} are left of it"
        refuse(out, "tip", fact.seat, why, fact.evidence)
        return
    data = {"seat": fact.seat, "amount": fact.amount, "to": "dealer_box"}
    out.hand("tip.given", data, fact.basis, fact.evidence)


def _tipped_between_hands(out: Out, fact: Tipped) -> None:
    """A tip that no hand knows of; at a table of boxes every tip is one (I-26: the stack may be so much smaller)."""
    seat = out.state.seats.get(fact.seat)
    if seat is None or (seat.stack is not None and fact.amount > seat.stack):
        why = "nobody sits there" if seat is None else f"the seat has {seat.stack}"
        refuse(out, "tip", fact.seat, why, fact.evidence)
        return
    data: dict[str, Any] = {"seat": fact.seat, "amount": fact.amount, "to": "dealer_box", "basis": fact.basis}
    out.emit("play", "tip.given", out.setup.table, data | {"evidence": cite(fact.evidence)})


# --- the push ------------------------------------------------------------------------------------------------


def pushed(out: Out, fact: Pushed) -> None:
    """Chips went from the pot to a seat; what the award does not give it is held (I-19, HR-12.19, RS-9.8)."""
    hand = _awarded(out, "push", fact.seat, fact.evidence)
    if hand is None:
        return
    if held := out.state.held:
        refuse(out, "push", fact.seat, held.asks, fact.evidence)
        return
    profile = out.setup.profile
    if profile.announce_winner and hand.announced is None:
        asked = "the winner is announced before the pot is pushed"
        out.breach("not_announced", "FLAG", asked, seat=fact.seat, evidence=fact.evidence)
    if profile.rake is not None and profile.rake.box and hand.rake and hand.dropped is None:
        asked = f"the rake of {hand.rake} goes into box {profile.rake.box} before the rest is pushed"
        out.breach("pushed_before_rake", "FLAG", asked, seat=fact.seat, evidence=fact.evidence)
    due = won(hand).get(fact.seat, 0) - sum(amount or 0 for seat, amount in hand.pushed if seat == fact.seat)
    right = due > 0 and (fact.amount is None or fact.amount <= due)
    data = {"pot": _pot_of(hand, fact.seat), "seat": fact.seat, "amount": fact.amount, "agrees": right}
    out.hand("award.paid", data, fact.basis, fact.evidence)
    if not right:
        facts = {"seat": fact.seat, "due": max(0, due), "seen": fact.amount}
        incidents.award_mismatch(out, "I-19", "wrong_push", (fact.seat,), facts, fact.evidence)


def _pot_of(hand: Hand, seat: int) -> int:
    """The pot that is pushed to a seat next: side pots before the main pot (CM-5)."""
    mine = [pot["pot"] for pot in hand.pots if any(winner["seat"] == seat for winner in pot["winners"])]
    before = sum(1 for pushed_to, _ in hand.pushed if pushed_to == seat)
    return mine[-1 - min(before, len(mine) - 1)] if mine else 0


# --- the end -------------------------------------------------------------------------------------------------


def finished(out: Out, fact: Finished) -> None:
    """DONE: the pots are pushed and the cards collected; the hand closes unless a person still has to rule.

    A keypad has one key for the end of a hand: it attests that the winner was announced, the rake dropped and the
    pots pushed, side pots first (CM-5), where nothing else has told so.
    """
    hand = out.state.hand
    if hand is None or hand.phase != "award":
        refuse(out, "done", None, "no award is due; the hand has not ended", fact.evidence)
        return
    if not _attested(out, hand, fact):
        return
    shares = _shares(hand)
    result = {
        "revision": 0,
        "board": hand.board,
        "seats": [_line(hand, seat, shares[seat]) for seat in hand.order],
        "pots": hand.pots,
        "rake": hand.rake,
        "tips": sum(hand.tips.values()),
        "winners": [seat for seat in hand.order if shares[seat]],
    }
    data = {
        "result": result,
        "incidents": list(hand.incidents),
        "breaches": list(hand.breaches),
        "degraded": hand.degraded,
        "duration_ms": out.t_ms(hand.id, hand.t_ms),
        "actions": hand.actions,
    }
    out.hand("hand.closed", data, fact.basis, fact.evidence)


def _attested(out: Out, hand: Hand, fact: Finished) -> bool:
    """What DONE says beside the end itself. False where a push is missing and a person has to look at it."""
    profile = out.setup.profile
    if profile.announce_winner and hand.announced is None:
        out.hand("winner.announced", {"seats": list(winners(hand)), "agrees": True}, fact.basis, fact.evidence)
    rake = profile.rake
    if rake is not None and rake.box and rake.rate_num and hand.dropped is None:
        raking.taken(out, hand, rake, None, fact.basis, fact.evidence)
    if hand.pushed:
        return _all_pushed(out, hand, fact)
    counted = dict(fact.stacks)
    for pot in reversed(hand.pots):
        for winner in pot["winners"]:
            known = winner["seat"] in counted
            paid = {"pot": pot["pot"], "seat": winner["seat"]}
            paid |= {"amount": winner["amount"] if known else None, "agrees": True if known else None}
            out.hand("award.paid", paid, fact.basis, fact.evidence)
    return True


def _all_pushed(out: Out, hand: Hand, fact: Finished) -> bool:
    """Whether every winner was seen to get what is due, as far as the pushes were counted; else HOLD (I-19)."""
    if hand.upheld or any(amount is None for _, amount in hand.pushed):
        return True
    for seat, due in won(hand).items():
        seen = sum(amount or 0 for to, amount in hand.pushed if to == seat)
        if seen != due:
            facts = {"seat": seat, "due": due, "seen": seen}
            incidents.award_mismatch(out, "I-19", "wrong_push", (seat,), facts, fact.evidence)
            return False
    return True


def _shares(hand: Hand) -> dict[int, int]:
    """What each seat got: the award, or the counted pushes where a person let them stand against it."""
    due = won(hand)
    amounts = [amount for _, amount in hand.pushed]
    whole = hand.upheld and None not in amounts and sum(a or 0 for a in amounts) == sum(due.values())
    if not whole or not all(seat in due for seat, _ in hand.pushed):
        return due
    return {seat: sum(amount or 0 for to, amount in hand.pushed if to == seat) for seat in due}


def _line(hand: Hand, seat: int, share: int) -> dict[str, Any]:
    staked, tips = hand.staked(seat), hand.tips.get(seat, 0)
    stack, got = hand.stack[seat], share - tips
    line: dict[str, Any] = {"seat": seat, "in": staked, "out": got, "net": got - staked}
    line["stack_after"] = None if stack is None else stack + got
    if seat in hand.shown:
        line["tabled"] = [slot.card for slot in hand.own(seat)]
    return line
