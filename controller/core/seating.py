"""What people say of seats and pots where nothing senses it: away, back, a straddle, the winner, rake and tips."""

from typing import Any

from controller.core.errors import BadCommand
from controller.core.facts import Announced, Pushed, RakeDropped, Tipped
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules import paying, positions, starting
from controller.core.rules.button import clockwise_from


def _taken(out: Out, command: Command) -> int:
    seat = command.args.get("seat")
    if isinstance(seat, bool) or not isinstance(seat, int) or seat not in out.state.seats:
        known = ", ".join(map(str, sorted(out.state.seats))) or "nobody sits at the table"
        raise BadCommand("seat", seat, f"name a seat that is taken: {known}")
    return seat


def _tell(out: Out, kind: str, data: dict[str, Any]) -> None:
    if out.state.hand is not None:
        out.hand(kind, data, "attested")
    else:
        out.emit("play", kind, out.setup.table, data | {"basis": "attested"})


def away(out: Out, command: Command) -> None:
    """``away``: seat. Not dealt in from the next hand on; blinds that pass are missed (I-24, CM-18)."""
    seat = _taken(out, command)
    if out.state.seats[seat].away:
        raise BadCommand("seat", seat, "is away already")
    _tell(out, "seat.away", {"seat": seat, "owed": _owed(out, seat)})


def back(out: Out, command: Command) -> None:
    """``back``: seat, waits?. Posts what was missed with the next hand, or waits to be the big blind (I-24)."""
    seat, profile = _taken(out, command), out.setup.profile
    state = out.state.seats[seat]
    if not state.away:
        raise BadCommand("seat", seat, "is not away")
    waits = command.args.get("waits", profile.missed_blinds == "wait")
    if not isinstance(waits, bool):
        raise BadCommand("waits", waits, "give true to wait for the big blind, or false to post")
    if not waits and profile.missed_blinds == "wait" and state.missed:
        raise BadCommand("waits", waits, "here one who missed blinds comes back as the big blind: leave it out")
    _tell(out, "seat.back", {"seat": seat, "owed": _owed(out, seat), "waits": waits and bool(state.missed)})


def _owed(out: Out, seat: int) -> int:
    return positions.owed(out.state.limits, out.state.seats[seat].missed)


def leave_in_hand(out: Out, seat: int) -> None:
    """A player gives the seat up during the hand: folds now or at the next turn; an all-in hand stays (HR-A12)."""
    hand = out.state.hand
    assert hand is not None
    if seat in hand.leaving:
        raise BadCommand("seat", seat, "is being left already")
    _tell(out, "seat.left", {"seat": seat, "owed": 0, "stack": hand.stack[seat]})


def straddle(out: Out, command: Command) -> None:
    """``straddle``: seat. The player left of the big blind posts one before the cards, where the house plays it."""
    seat = _taken(out, command)
    hand = out.state.hand
    asked = None
    if not out.setup.profile.straddle:
        asked = "this house plays no straddle"
    elif hand is None or hand.phase != "deal" or hand.slots or starting.dues(hand):
        asked = "a straddle is posted after the blinds and before the first card"
    elif hand.straddle is not None:
        asked = f"seat {hand.straddle} has posted one already"
    elif len(hand.order) < 3 or seat != clockwise_from(hand.order, hand.big)[0]:
        asked = "only the seat left of the big blind may post one, and not heads-up"
    if asked is not None or hand is None:
        out.breach("no_straddle", "BLOCK", f"seat {seat} was to straddle, but {asked}", seat=seat)
        return
    due, stack = hand.limits.straddles, hand.stack[seat]
    if stack is not None and stack <= due:
        told = f"seat {seat} was to straddle, but it has {stack} and a straddle of {due} has to leave chips behind"
        out.breach("no_straddle", "BLOCK", told, seat=seat)
        return
    starting.post_one(out, hand, seat, "straddle", due, "attested", ())


# --- the end of a hand, where no sensor sees it --------------------------------------------------------------


def _amount(command: Command) -> int:
    amount = command.args.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int) or amount < 0:
        raise BadCommand("amount", amount, "give a whole number of minor units")
    return amount


def announce(out: Out, command: Command) -> None:
    """``announce``: seats. The dealer tells who wins (HR-15.2)."""
    seats = command.args.get("seats")
    if not isinstance(seats, list) or not seats or not all(s in out.state.seats for s in seats):
        raise BadCommand("seats", seats, "give the list of the seats that win")
    paying.announced(out, Announced(tuple(seats), basis="attested"))


def push(out: Out, command: Command) -> None:
    """``push``: seat, amount. Chips went from the pot to the seat."""
    paying.pushed(out, Pushed(_taken(out, command), _amount(command), basis="attested"))


def rake(out: Out, command: Command) -> None:
    """``rake``: amount. What went into the rake box (BG-5.30)."""
    paying.dropped(out, RakeDropped(_amount(command), basis="attested"))


def tip(out: Out, command: Command) -> None:
    """``tip``: seat, amount. A winner gave it to the dealers' box."""
    paying.tipped(out, Tipped(_taken(out, command), _amount(command), basis="attested"))
