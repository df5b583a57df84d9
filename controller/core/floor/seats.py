"""Players take seats, buy chips and leave (HR-3, HR-9, HR-21, BG-2.6; CM-22)."""

from controller.core import seating
from controller.core.floor import conditions, words
from controller.core.floor.words import Data, person
from controller.core.inputs import Command
from controller.core.out import Out

MEANS = ("cash", "chips", "voucher", "marker")


def take(out: Out, command: Command) -> None:
    """``seat``: seat, player?, stack? (minor units; ``null``: nobody counted it; left out: 0), checked?.

    ``checked``: who seats the player has looked at age, identity and dress (HR-3.1, HR-3.2).
    """
    seat = words.seat(out, command)
    stack = command.args.get("stack", 0)
    if stack is not None and stack != 0:
        words.amount(out, command, "stack")
    player = words.text(command, "player") if command.args.get("player") is not None else None
    checked = words.flag(command, "checked")
    if not words.needs_open(out) or not _free(out, seat):
        return
    if not conditions.told(out, conditions.before_seat(out, checked=checked), seat):
        return
    if stack and not _joins_with(out, seat, stack):
        return
    data: Data = {"seat": seat, "owed": 0, "stack": None if stack is None else 0, "basis": "attested"}
    if checked:
        data["age_and_identity_checked_by"] = person(command)
    out.emit("play", "seat.taken", out.setup.table, data if player is None else data | {"player": player})
    if stack:
        _bought(out, seat, stack, "chips", command)


def _free(out: Out, seat: int) -> bool:
    """One player a place (HR-21.1), and no more players than the text allows (BG-2.6)."""
    profile = out.setup.profile
    if seat in out.state.seats:
        out.breach("seat_taken", "BLOCK", f"seat {seat} is taken: one player per place", seat=seat)
        return False
    if len(out.state.seats) >= profile.players_max and profile.players_over == "seat":
        asked = f"seat {seat} was to be taken, but {profile.players_max} players have seats already: no seat is free"
        out.breach("too_many_players", "BLOCK", asked, seat=seat)
        return False
    return True


def _bounds(out: Out) -> tuple[int | None, int | None]:
    profile, blind = out.setup.profile, out.state.limits.big_blind
    low, high = profile.buy_in_min_bb, profile.buy_in_max_bb
    return None if low is None else low * blind, None if high is None else high * blind


def _joins_with(out: Out, seat: int, amount: int) -> bool:
    """Whether a joining amount keeps the house's bounds (HR-9.2, HR-A2)."""
    low, high = _bounds(out)
    if (low is not None and amount < low) or (high is not None and amount > high):
        exact = f"exactly {low}" if low == high else f"from {low} to {high if high is not None else 'any amount'}"
        out.breach("buy_in", "BLOCK", f"{amount} is offered; a player joins with {exact}", seat=seat)
        return False
    usual = 10 * out.state.limits.big_blind
    if amount != usual and low != high and out.rules("buy_in_unusual"):
        out.breach("buy_in_unusual", "INFO", f"{amount} is not ten big blinds, {usual}", seat=seat)
    return True


def _adds(out: Out, seat: int, stack: int, amount: int) -> bool:
    """Whether a top-up stays within the largest joining amount (HR-A4)."""
    _, high = _bounds(out)
    if high is not None and stack + amount > high:
        asked = f"{amount} on top of {stack} is more than {high}, the most a player may bring into play"
        out.breach("top_up_over", "BLOCK", asked, seat=seat)
        return False
    return True


def _bought(out: Out, seat: int, amount: int, means: str, command: Command, when: str = "between_hands") -> None:
    before = out.state.seats[seat].stack
    after = None if before is None else before + (amount if when == "between_hands" else 0)
    data: Data = {"seat": seat, "amount": amount, "means": means, "lines": [], "when": when, "stack_after": after}
    words.cash(out, "chips.bought", [person(command)], data)


def buy(out: Out, command: Command) -> None:
    """``buyin``: seat, amount, means?, done?: from the dealer, or brought from the desk (HR-6.2, HR-9.1).

    Between hands only (HR-9.4, CM-22). ``done``: the sale has happened in a hand; the chips lie behind until it ends.
    """
    seat, amount = words.taken(out, command), words.amount(out, command)
    means, done = words.choice(command, "means", MEANS, "cash"), words.flag(command, "done")
    if out.state.play is not None and out.state.hand is None:
        out.breach("top_up_in_hand", "BLOCK", "chips are bought between two rounds only", seat=seat)
        return
    if out.state.hand is not None:
        if not done:
            out.breach("top_up_in_hand", "BLOCK", "chips are bought between two hands only", seat=seat)
            return
        _bought(out, seat, amount, means, command, "deferred")
        asked = f"{amount} was bought in a hand: it lies behind and plays from the next hand"
        out.breach("top_up_in_hand", "FLAG", asked, seat=seat)
        return
    stack = out.state.seats[seat].stack
    if stack == 0 and not _joins_with(out, seat, amount):
        return
    if stack and not _adds(out, seat, stack, amount):
        return
    _bought(out, seat, amount, means, command)


def leave(out: Out, command: Command) -> None:
    """``leave``: seat. In a hand it counts as a fold, at the latest with the next turn (HR-9.5, HR-A12)."""
    seat = words.taken(out, command)
    hand = out.state.hand
    if hand is not None and seat in hand.order:
        seating.leave_in_hand(out, seat)
        return
    data: Data = {"seat": seat, "owed": 0, "stack": out.state.seats[seat].stack, "basis": "attested"}
    out.emit("play", "seat.left", out.setup.table, data)
