"""Cards that were bound as unknown, and the faces that name them."""

from collections.abc import Sequence

from controller.core import incidents
from controller.core.out import Out
from controller.core.state import Hand, Slot


def faces(slots: Sequence[tuple[int, Slot]], cards: Sequence[str]) -> dict[int, str]:
    """Which of these cards of a seat nobody had read, by slot; none where the faces are more or fewer than those.

    Which of a player's cards came first is not known then, and nothing depends on it.
    """
    known = {slot.card for _, slot in slots}
    unknown = [index for index, slot in slots if slot.card is None]
    rest = [card for card in cards if card not in known]
    return dict(zip(unknown, rest, strict=True)) if len(unknown) == len(rest) else {}


def no_longer_unsure(out: Out, hand: Hand) -> None:
    """A person was asked for a card (I-17) that has been named meanwhile."""
    for incident in list(out.state.incidents.values()):
        slot = incident.facts.get("slot") if incident.kind == "card_unsure" and incident.hand == hand.id else None
        if slot is not None and hand.slots[slot].card is not None:
            incidents.close(out, incident.id, "resumed")


def unnamed(hand: Hand) -> list[int]:
    """The slots of the common cards that lie open and that nobody has named."""
    return [i for i, slot in enumerate(hand.slots) if slot.place == "board" and slot.card is None and not slot.gone]
