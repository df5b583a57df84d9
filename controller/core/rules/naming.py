"""Cards that nobody had read and that lie face up now: what they are (CM-24).

Where a house does not have its closed cards read, a card is bound as unknown when it comes, and its value is told once
it lies open: by antennas at a place that may be read, by a camera, or by a person.
"""

from controller.core import incidents
from controller.core.cards import CARDS
from controller.core.errors import BadCommand
from controller.core.facts import CardCame, CardsNamed, Shown
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules import dealing, showdown, unread


def named(out: Out, fact: CardsNamed) -> None:
    """Common cards that lie open are named, in the order in which they came; the rest of them may follow."""
    hand = out.state.hand
    if hand is None:
        return
    unknown = unread.unnamed(hand)
    lying = {slot.card for slot in hand.slots if slot.opened and not slot.gone}
    for index, card in zip(unknown, fact.cards, strict=False):
        if card in lying:
            incidents.fouled_deck(out, CardCame("board", card, None, fact.basis, fact.evidence))
            return
        cause = "premature" if hand.slots[index].premature else "street"
        data = {"slot": index, "place": "board", "card": card, "cause": cause, "named": True}
        out.hand("card.opened", data, fact.basis, fact.evidence)
        lying.add(card)
    unread.no_longer_unsure(out, hand)
    dealing.open_street(out, hand)


def cards(out: Out, command: Command) -> None:
    """``cards``: cards, seat?: a person says what lies face up where no device can: the board, or a hand that is shown.

    Only what nobody has read can be named, so no answer tells anything of a closed card.
    """
    hand, seat = out.state.hand, command.args.get("seat")
    given = list(command.args.get("cards") or ())
    if not given or len(set(given)) != len(given) or not set(given) <= CARDS:
        raise BadCommand("cards", given, "name different cards as rank and suit, for example As Td")
    if hand is None:
        raise BadCommand("cards", given, "no hand is played: nothing lies open")
    if any(slot.card in given and slot.opened and not slot.gone for slot in hand.slots):
        raise BadCommand("cards", given, "one of these lies open already; look again, or call a misdeal")
    if seat is None:
        if len(given) > (open_ := len(unread.unnamed(hand))):
            raise BadCommand("cards", given, f"{open_} common cards wait for a name")
        named(out, CardsNamed(tuple(given), "attested"))
        return
    slots = [slot for slot in hand.own(seat) if slot.card is None]
    if seat not in hand.live or hand.phase == "deal" or len(slots) != len(given):
        raise BadCommand("seat", seat, f"{len(slots)} cards of this seat wait for a name: give all, once they lie open")
    showdown.shown(out, Shown(seat, tuple(given), "attested"))
