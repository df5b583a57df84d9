"""What a person's ruling does to a round of boxes. The ruling itself is recorded by ``controller.core.rulings``."""

from controller.core import incidents
from controller.core.facts import BoxDecided, Finished, Turned
from controller.core.out import Out
from controller.core.rules.ultimate import closing, deal, decide, misdeal, showing
from controller.core.rules.ultimate.state import Coup
from controller.core.rules.ultimate.talk import MULTIPLES, Data
from controller.core.state import Incident

OUTCOMES = {
    "play_on": "resumed",
    "bets_stand": "resumed",
    "restore": "corrected",
    "return_excess": "corrected",
    "pay_as_computed": "corrected",
    "stands": "resumed",
    "open_boxes": "resumed",
    "name_card": "resumed",
    "separate": "resumed",
}


def effects(coup: Coup, incident: Incident, ruling: str) -> Data:
    """What the record of a ruling must say for the state: premature cards that stand."""
    if ruling == "play_on" and incident.kind == "street_premature":
        return {"standing_slots": [i for i, slot in enumerate(coup.slots) if slot.premature and not slot.gone]}
    return {}


def carry_out(out: Out, coup: Coup, incident: Incident, ruling: str, by: Data, card: str) -> None:
    """Do what was ruled; ``incident.ruled`` stands already."""
    if ruling == "redeal":
        misdeal.redeal(out, coup, incident.id, [by])
        return
    if ruling == "void":
        misdeal.void(out, coup, incident.kind, incident.id, [by])
        return
    incidents.close(out, incident.id, OUTCOMES[ruling], "attested")
    match incident.kind, ruling:
        case "bet_irregular", "return_excess":
            _return_excess(out, coup, incident)
        case "dealer_premature", "play_on":
            _dealer_stands(out, coup)
        case "payout_wrong", "pay_as_computed" | "stands":
            _paid(out, coup, incident, ruling)
        case "collected_closed", _:
            for number in closing.unrevealed(coup):
                showing.reveal(out, coup, number, Turned("box", number, basis="attested"))
            closing.finished(out, Finished(basis="attested"))
        case "card_unsure", "name_card":
            _name(out, coup, incident, card)
        case _:
            deal.street(out, coup)
    if out.state.table.coup is coup:
        closing.settle_ready(out, coup)


def _return_excess(out: Out, coup: Coup, incident: Incident) -> None:
    """The largest PLAY that the chips cover stands, the rest goes back; with less there is no PLAY yet."""
    number = incident.facts["box"]
    box = coup.boxes[number]
    legal = [m * box.stake("ante") for m in MULTIPLES[coup.decision] if m * box.stake("ante") <= incident.facts["lies"]]
    if legal and coup.phase == "decide" and number in coup.waiting(coup.decision):
        decide.accept(out, coup, number, BoxDecided("play", number, legal[-1], basis="attested"), legal[-1])


def _dealer_stands(out: Out, coup: Coup) -> None:
    """The dealer's cards stay open; the boxes decide on, and the round is settled when they have."""
    if coup.phase == "reveal":
        showing.dealer(out, coup, Turned("dealer", basis="attested"))


def _paid(out: Out, coup: Coup, incident: Incident, ruling: str) -> None:
    number = incident.facts["box"]
    settled = closing.result(out, coup, number)
    if settled is not None and not coup.boxes[number].settled:
        paid = settled.pays if ruling == "pay_as_computed" else closing.seen_paid(out, coup, number)
        closing.emit(out, coup, number, settled, paid, "attested", ())


def _name(out: Out, coup: Coup, incident: Incident, card: str) -> None:
    """A person has read the card that nobody could name (I-17): it lies open now."""
    slot, place = incident.facts["slot"], incident.facts["place"]
    box = coup.slots[slot].box
    opened: Data = {"slot": slot, "place": place, "card": card, "named": True}
    if coup.slots[slot].salt is not None:
        opened["salt"] = coup.slots[slot].salt  # what was bound is that nobody knew it
    cause = {"board": "street", "dealer": "dealer"}.get(place, "tabled")
    out.hand("card.opened", opened | ({} if box is None else {"box": box}) | {"cause": cause}, "attested")
    if place == "board":
        deal.street(out, coup)
    elif place == "dealer":
        showing.dealer(out, coup, Turned("dealer", basis="attested"))
    elif box is not None:
        showing.reveal(out, coup, box, Turned("box", box, basis="attested"))
