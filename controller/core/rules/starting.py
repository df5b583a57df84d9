"""The start of a hand: who is dealt in, where the button stands, what is posted before the cards."""

from typing import Any

from controller.core.facts import Basis, HandAttested, Sources
from controller.core.out import Out
from controller.core.rules.button import blinds, clockwise_from, next_button
from controller.core.setup import Limits
from controller.core.state import Hand


def attest(out: Out, fact: HandAttested, seed: bytes | None) -> bool:
    """HAND: shuffle and cut are attested, the hand starts and the stakes due are posted. True if the seed is used."""
    state = out.state
    if state.hand is not None:
        hand = state.hand
        if hand.phase == "deal" and not hand.paid:
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


def playing(out: Out) -> dict[int, int | None]:
    """The seats that can be dealt in, with their stacks: whoever has chips, or chips that nobody counted."""
    counted = out.state.counted
    stacks = {n: counted.get(n) if seat.stack is None else seat.stack for n, seat in sorted(out.state.seats.items())}
    return {n: stack for n, stack in stacks.items() if stack is None or stack > 0}


def may_start(out: Out, seed: bytes | None) -> bool:
    """Whether a hand may begin now; each reason against it is a recorded BLOCK."""
    state, profile = out.state, out.setup.profile
    if state.session is None:
        out.breach("no_session", "BLOCK", "the table is not open; open it first")
        return False
    if state.incidents:
        codes = ", ".join(sorted(i.code for i in state.incidents.values()))
        out.breach("held", "BLOCK", f"no new hand while {codes} is open; it has to be ruled or cleared first")
        return False
    seats = playing(out)
    if len(seats) < profile.players_min:
        out.breach("too_few_players", "BLOCK", f"{len(seats)} players with chips; {profile.players_min} are needed")
        return False
    if len(seats) > profile.players_max:
        out.breach("too_many_players", "BLOCK", f"{len(seats)} players; at most {profile.players_max} may play")
        return False
    if state.button is None:
        out.breach("no_button", "BLOCK", "the button has no seat; place it first")
        return False
    if seed is None:
        out.breach("no_seed", "BLOCK", "no hand seed was fed; this is a fault of the controller")
        return False
    return True


def start(out: Out, basis: Basis, evidence: Sources, seed: bytes, *, shuffled: bool) -> Hand:
    """``hand.started``: the button moves, the seats are dealt in, the blinds are known but not yet posted."""
    state, setup = out.state, out.setup
    stacks = playing(out)
    button = state.button
    assert button is not None
    if state.button_moves and state.replaces is None:
        button = next_button(setup.profile, button, state.small, stacks)
        rules = ["HR-17.1"] if setup.profile.family == "HR" else ["RS-2.1"]
        placed = {"seat": button, "how": "moved", "rules": rules, "basis": "derived"}
        out.emit("play", "button.placed", setup.table, placed)
    day = out.day()
    number = state.hands_today + 1 if day == state.day else 1
    order = clockwise_from(stacks, button)
    small, big = blinds(setup.profile, button, order)
    data: dict[str, Any] = {
        "number": number,
        "game": setup.profile.game,
        "profile": {"sha256": setup.profile.sha256},
        "structure": state.limits.structure or setup.profile.structure,
        "unit": setup.chipset.unit,
        "burns": setup.profile.burns_per_street,
        "limits": limits_data(state.limits),
        "button": button,
        "small_blind_seat": small,
        "big_blind_seat": big,
        "own_cards": setup.profile.own_cards,
        "seats": [_seat_line(out, seat, stack) for seat, stack in stacks.items()],
        "deck": setup.deck.id,
        "shuffled": shuffled,
        "cut": {"done": shuffled, "by": None},
        "dealer": _person(out, "dealer"),
        "inspector": _person(out, "inspector"),
        "basis": basis,
        "evidence": [{"device": e.device, "reading": str(e.reading)} for e in evidence],
    }
    if state.replaces is not None:
        data["replaces"] = state.replaces
    hand = f"{setup.table}-{day.replace('-', '')}-{number:04d}"
    return out.start_hand(hand, day, data, {"seed": seed.hex()})


def _seat_line(out: Out, seat: int, stack: int | None) -> dict[str, Any]:
    line: dict[str, Any] = {"seat": seat, "stack": stack, "dealt_in": True, "owes": 0, "posts": []}
    player = out.state.seats[seat].player
    return line if player is None else line | {"player": player}


def _person(out: Out, role: str) -> dict[str, str] | None:
    who = next((staff for staff, has in sorted(out.state.staff.items()) if has == role), None)
    return None if who is None else {"staff": who, "role": role}


def limits_data(limits: Limits) -> dict[str, Any]:
    """Limits as the contract spells them."""
    data: dict[str, Any] = {"small_blind": limits.small_blind, "big_blind": limits.big_blind, "ante": limits.ante}
    return data | {"ante_kind": limits.ante_kind}


def post(out: Out, hand: Hand, basis: Basis, evidence: Sources) -> None:
    """Antes first, then the blinds; a stack that is too short posts what it has (C17)."""
    limits = hand.limits
    if limits.ante and limits.ante_kind == "each":
        for seat in hand.order:
            post_one(out, hand, seat, "ante", limits.ante, basis, evidence)
    elif limits.ante:
        post_one(out, hand, hand.big, "big_blind_ante", limits.ante, basis, evidence)
    post_one(out, hand, hand.small, "small", limits.small_blind, basis, evidence)
    post_one(out, hand, hand.big, "big", limits.big_blind, basis, evidence)


def post_one(out: Out, hand: Hand, seat: int, kind: str, due: int, basis: Basis, evidence: Sources) -> None:
    """``blind.posted`` for one stake that is due; a stack that is too short posts what it has (C17)."""
    stack = hand.stack[seat]
    amount = due if stack is None else min(due, stack)
    if amount == 0 and due > 0 and kind not in ("small", "big"):
        return
    all_in = stack is not None and stack == amount
    posted = {"seat": seat, "kind": kind, "amount": amount, "due": due, "all_in": all_in}
    out.hand("blind.posted", posted, basis, evidence)
