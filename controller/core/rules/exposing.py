"""A closed card that the dealer turned over in the deal (I-1, I-2): one is replaced, more of them are a misdeal."""

from controller.core import incidents
from controller.core.cards import CARDS
from controller.core.errors import BadCommand
from controller.core.facts import Called
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.state import Hand

FIRST = 2
"""An exposure among so many first cards of a deal is a misdeal (CM-11)."""


def exposed(out: Out, command: Command) -> None:
    """``exposed``: seat, card?: the dealer turned over the newest card of a seat, before anybody has acted.

    The deal goes on; the next card after it replaces the exposed one, which becomes the first burn (CM-11b). Two of
    them, or one of the first two cards: a misdeal (CM-11).
    """
    hand = out.state.hand
    seat, named = command.args.get("seat"), command.args.get("card")
    if hand is None or seat not in hand.order or not hand.own(seat) or hand.actions or hand.street != "preflop":
        raise BadCommand("seat", seat, "name a seat with cards, before the first decision of a hand")
    slot = hand.own(seat)[-1]
    index = next(i for i, one in enumerate(hand.slots) if one is slot)
    card = slot.card or named
    if card not in CARDS:
        raise BadCommand("card", named, "nobody has read this card: say what it is, for example As")
    opened = {"slot": index, "place": "seat", "seat": seat, "card": card, "salt": slot.salt}
    before = exposures(hand)
    out.hand("card.opened", opened | {"cause": "exposed_by_dealer"}, "attested")
    if index < FIRST or before:
        incidents.called(out, Called("misdeal", basis="attested"))
        return
    asked = f"a card of seat {seat} was exposed by the dealer: the card after the deal replaces it"
    out.breach("card_exposed", "FLAG", asked, seat=seat)


def exposures(hand: Hand) -> int:
    """How many closed cards the dealer has exposed in this deal."""
    return sum(1 for slot in hand.slots if slot.exposed)
