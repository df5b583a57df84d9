"""The start of a hand: who is dealt in, where the button stands, what is posted before the cards."""

from typing import Any

from controller.core.facts import Basis, HandAttested, Sources
from controller.core.floor import conditions
from controller.core.out import Out
from controller.core.rules import positions
from controller.core.rules.positions import Positions
from controller.core.setup import Limits
from controller.core.state import Hand


def attest(out: Out, fact: HandAttested, seed: bytes | None) -> bool:
    """HAND: shuffle and cut are attested, the hand starts and the stakes due are posted. True if the seed is used."""
    state = out.state
    if state.hand is not None:
        hand = state.hand
        if not hand.paid and not hand.actions:  # the cards came first: the blinds that are owed are posted now
            post(out, hand, fact.basis, fact.evidence)
        elif hand.phase == "award":
            out.breach("payout_unfinished", "BLOCK", "press DONE when chips are pushed and cards collected")
        else:
            out.breach("no_shuffle", "BLOCK", f"hand {hand.id} is being played; it has to end first")
        return False
    if not may_start(out, seed):
        return False
    hand = start(out, fact.basis, fact.evidence, seed or b"", shuffled=True)
    post(out, hand, fact.basis, fact.evidence)
    return True


def may_start(out: Out, seed: bytes | None) -> bool:
    """Whether a hand may begin now; each reason against it is a recorded BLOCK."""
    if not conditions.told(out, conditions.before_hand(out)):
        return False
    if seed is None:
        out.breach("no_seed", "BLOCK", "no hand seed was fed; this is a fault of the controller")
        return False
    return True


def start(out: Out, basis: Basis, evidence: Sources, seed: bytes, *, shuffled: bool) -> Hand:
    """``hand.started``: the button moves, the seats are dealt in, the blinds are known but not yet posted."""
    state, setup = out.state, out.setup
    at = positions.find(out)
    if at.button != state.button:
        placed = {"seat": at.button, "how": "moved", "rules": out.rules("button_moved"), "basis": "derived"}
        out.emit("play", "button.placed", setup.table, placed)
    day = out.day()
    number = state.hands_today + 1 if day == state.day else 1
    data: dict[str, Any] = {
        "number": number,
        "game": setup.profile.game,
        "profile": {"sha256": setup.profile.sha256},
        "structure": state.limits.structure or setup.profile.structure,
        "unit": setup.chipset.unit,
        "burns": setup.profile.burns_per_street,
        "limits": limits_data(state.limits),
        "button": at.button,
        "small_blind_seat": at.small,
        "small_blind_place": at.small_place,
        "big_blind_seat": at.big,
        "own_cards": setup.profile.own_cards,
        "seats": _seat_lines(out, at),
        "deck": state.floor.deck or setup.deck.id,
        "shuffled": shuffled,
        "cut": {"done": shuffled, "by": None},
        "dealer": person(out, "dealer"),
        "inspector": person(out, "inspector"),
        "basis": basis,
        "evidence": [{"device": e.device, "reading": str(e.reading)} for e in evidence],
    }
    if state.replaces is not None:
        data["replaces"] = state.replaces
    hand = f"{setup.table}-{day.replace('-', '')}-{number:04d}"
    return out.start_hand(hand, day, data, {"seed": seed.hex()})


def _seat_lines(out: Out, at: Positions) -> list[dict[str, Any]]:
    """The seats of a hand: those dealt in, and those whose player is away or waits, with the blinds they miss."""
    state = out.state
    lines = []
    for number, stack in positions.with_chips(state).items():
        seat, dealt = state.seats[number], number in at.stacks
        missed = seat.missed if dealt else positions.missed(out, at, number)
        due = positions.posts(at, state.limits, number, missed) if dealt else []
        line: dict[str, Any] = {"seat": number, "stack": stack, "dealt_in": dealt}
        line["owes"] = sum(amount for _, amount in due) if dealt else positions.owed(state.limits, missed)
        line |= {"posts": [{"kind": kind, "amount": amount} for kind, amount in due]}
        line |= {} if dealt else {"missed": list(missed)}
        lines.append(line if seat.player is None else line | {"player": seat.player})
    return lines


def person(out: Out, role: str) -> dict[str, str] | None:
    """Who is logged in for a role, as records name people; ``None`` where nobody is."""
    who = next((staff for staff, has in sorted(out.state.staff.items()) if has == role), None)
    return None if who is None else {"staff": who, "role": role}


def limits_data(limits: Limits) -> dict[str, Any]:
    """Limits as the contract spells them; what is as customary is left out."""
    data: dict[str, Any] = {"small_blind": limits.small_blind, "big_blind": limits.big_blind, "ante": limits.ante}
    more = {name: getattr(limits, name) for name in ("structure", "small_bet", "big_bet", "table_min", "straddle")}
    return data | {"ante_kind": limits.ante_kind} | {name: value for name, value in more.items() if value}


def dues(hand: Hand) -> list[tuple[int, str, int]]:
    """What is still to be posted: (seat, kind, amount), antes first, then the blinds, then who comes back."""
    limits = hand.limits
    due: list[tuple[int, str, int]] = []
    if limits.ante and limits.ante_kind == "each":
        due += [(seat, "ante", limits.ante) for seat in hand.order]
    elif limits.ante:
        due.append((hand.big, "big_blind_ante", limits.ante))
    if hand.small is not None:
        due.append((hand.small, "small", limits.small_blind))
    due.append((hand.big, "big", limits.big_blind))
    return [one for one in (*due, *hand.owed) if one[:2] not in hand.posted]


def post(out: Out, hand: Hand, basis: Basis, evidence: Sources) -> None:
    """All that is due; a stack that is too short posts what it has (C17)."""
    for seat, kind, amount in dues(hand):
        post_one(out, hand, seat, kind, amount, basis, evidence)


def post_one(out: Out, hand: Hand, seat: int, kind: str, due: int, basis: Basis, evidence: Sources) -> None:
    """``blind.posted`` for one stake that is due; a stack that is too short posts what it has (C17)."""
    stack = hand.stack[seat]
    amount = due if stack is None else min(due, stack)
    if amount == 0 and due > 0 and kind not in ("small", "big"):
        return
    all_in = stack is not None and stack == amount
    posted = {"seat": seat, "kind": kind, "amount": amount, "due": due, "all_in": all_in}
    out.hand("blind.posted", posted, basis, evidence)
