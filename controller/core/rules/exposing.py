"""Closed cards that lie face up too soon (I-1 to I-3).

One that the dealer turned over in the deal is replaced, more of them are a misdeal; a player's own stays in play.
"""

from controller.core import incidents
from controller.core.cards import CARDS
from controller.core.errors import BadCommand
from controller.core.facts import Basis, Called, Exposed, SightDiffers, Sources
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
    _by_dealer(out, hand, index, card, "attested", ())


def sighted(out: Out, fact: Exposed) -> None:
    """A camera sees a seat's closed card face up before the hands are shown.

    The newest card of a seat in the deal is the dealer's doing; every other one is the player's own: the hand stays
    live, and who exposed it is told so (I-3).
    """
    hand = out.state.hand
    if hand is None or fact.seat not in hand.live or hand.phase in ("showdown", "award"):
        return
    own = [(i, s) for i, s in enumerate(hand.slots) if s.place == "seat" and s.seat == fact.seat and not s.gone]
    if any(slot.opened and slot.card == fact.card for _, slot in own):
        return
    read = [i for i, slot in own if not slot.opened and slot.card == fact.card]
    unread = [i for i, slot in own if not slot.opened and slot.card is None]
    if not read and not unread:
        incidents.card_conflict(out, SightDiffers("seat", fact.card, fact.seat, fact.basis, fact.evidence))
        return
    index = (read or unread)[0]
    if hand.phase == "deal" and index == own[-1][0] and read:
        _by_dealer(out, hand, index, fact.card, fact.basis, fact.evidence)
        return
    opened = {"slot": index, "place": "seat", "seat": fact.seat, "card": fact.card, "salt": hand.slots[index].salt}
    named = {} if read else {"named": True}
    out.hand("card.opened", opened | named | {"cause": "exposed_by_player"}, fact.basis, fact.evidence)
    asked = f"seat {fact.seat} let a closed card be seen: the hand stays live"
    out.breach("card_exposed_by_player", "FLAG", asked, seat=fact.seat, evidence=fact.evidence, basis=fact.basis)


def _by_dealer(out: Out, hand: Hand, index: int, card: str, basis: Basis, evidence: Sources) -> None:
    slot = hand.slots[index]
    seat = slot.seat
    opened = {"slot": index, "place": "seat", "seat": seat, "card": card, "salt": slot.salt}
    before = exposures(hand)
    out.hand("card.opened", opened | {"cause": "exposed_by_dealer"}, basis, evidence)
    if index < FIRST or before:
        incidents.called(out, Called("misdeal", basis=basis, evidence=evidence))
        return
    asked = f"a card of seat {seat} was exposed by the dealer: the card after the deal replaces it"
    out.breach("card_exposed", "FLAG", asked, seat=seat)


def exposures(hand: Hand) -> int:
    """How many closed cards the dealer has exposed in this deal."""
    return sum(1 for slot in hand.slots if slot.exposed)
