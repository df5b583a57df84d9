"""What people say at the command socket, and who carries it out."""

from collections.abc import Callable

from controller.core import seating
from controller.core.cash import amends, boxes, meters, slips
from controller.core.errors import BadCommand
from controller.core.floor import attesting, button, chips, confirming, counting, deck, opening, seats, settings, staff
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules import correcting, exposing, naming
from controller.core.rules.ultimate import colours
from controller.core.rulings import rule

COMMANDS: dict[str, Callable[[Out, Command], None]] = {
    "login": staff.login,
    "logout": staff.logout,
    "confirm": confirming.confirm,
    "open": opening.open_table,
    "close": opening.close_table,
    "count": counting.count,
    "deck": deck.deck,
    "button": button.button,
    "settings": settings.settings,
    "shift": settings.shift,
    "attest": attesting.attest,
    "report": attesting.report,
    "override": attesting.override,
    "seat": seats.take,
    "leave": seats.leave,
    "away": seating.away,
    "back": seating.back,
    "buyin": seats.buy,
    "redeem": chips.redeem,
    "change": chips.change,
    "fill": slips.fill,
    "credit": slips.credit,
    "slip": slips.slip,
    "collect": boxes.collect,
    "meters": meters.meters,
    "orphan": amends.orphan,
    "adjust": amends.adjust,
    "straddle": seating.straddle,
    "exposed": exposing.exposed,
    "cards": naming.cards,
    "announce": seating.announce,
    "push": seating.push,
    "rake": seating.rake,
    "tip": seating.tip,
    "dispute": correcting.dispute,
    "rule": rule,
    "colour": colours.colour,
}


def obey(out: Out, command: Command) -> None:
    """Carry out one command. Raises ``BadCommand`` for what cannot be read; a rule's refusal is a record."""
    act = COMMANDS.get(command.name)
    if act is None:
        raise BadCommand("command", command.name, f"use one of {', '.join(sorted(COMMANDS))}")
    act(out, command)
