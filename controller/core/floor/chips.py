"""Chips go back for cash, and chips are changed for chips of the same value (HR-6.5, HR-A19, CM-22)."""

from controller.core.errors import BadCommand
from controller.core.floor import words
from controller.core.floor.seats import MEANS
from controller.core.floor.words import Data, person
from controller.core.inputs import Command
from controller.core.out import Out


def redeem(out: Out, command: Command) -> None:
    """``redeem``: amount, seat?, place? (``desk`` or ``table``), means?: chips are exchanged for cash.

    That is the cash desk's work (HR-6.5); cash that was paid at the table is on record as what it is (HR-A19).
    """
    amount = words.amount(out, command)
    place = words.choice(command, "place", ("desk", "table"), "desk" if command.role == "cage" else "table")
    means = words.choice(command, "means", MEANS, "cash")
    seat = words.taken(out, command) if command.args.get("seat") is not None else None
    stack = None if seat is None else out.state.seats[seat].stack
    if stack is not None and amount > stack:
        raise BadCommand("amount", amount, f"seat {seat} has {stack}")
    if not words.needs_open(out):
        return
    if seat is not None and out.state.play is not None:
        out.breach("redeemed_in_hand", "BLOCK", "chips in front of a player stay there until the hand ends", seat=seat)
        return
    data: Data = {"amount": amount, "means": means, "lines": words.lines(out, command) or [], "place": place}
    data |= {"when": "between_hands", "stack_after": None if stack is None else stack - amount}
    words.cash(out, "chips.redeemed", [person(command)], data if seat is None else data | {"seat": seat})
    if place == "table" and out.rules("cash_at_table"):
        out.breach("cash_at_table", "FLAG", "chips are exchanged for cash at the cash desk only", seat=seat)
    if stack is not None and stack > amount:
        asked = f"{amount} left the table and {stack - amount} stays in play: chips leave with their player"
        out.breach("chips_off_table", "FLAG", asked, seat=seat)


def change(out: Out, command: Command) -> None:
    """``change``: given, taken (lines), seat?: chips for chips of equal value."""
    given, taken = words.lines(out, command, "given"), words.lines(out, command, "taken")
    if given is None or taken is None:
        raise BadCommand("given", command.args.get("given"), "say which chips were given and which were taken")
    if words.total(given) != words.total(taken):
        raise BadCommand("taken", words.total(taken), f"an exchange is of equal value: {words.total(given)} was given")
    seat = words.taken(out, command) if command.args.get("seat") is not None else None
    data: Data = {"given": given, "taken": taken}
    words.cash(out, "chips.changed", [person(command)], data if seat is None else data | {"seat": seat})
