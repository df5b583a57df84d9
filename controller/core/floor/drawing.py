"""The draw for the button through the shoe: before the first hand each card is one player's (HR-10.4, CM-21)."""

from collections.abc import Mapping

from controller.core.facts import CardCame, CardDoubtful
from controller.core.floor import button
from controller.core.floor.words import Data
from controller.core.out import Out, cite
from controller.core.rules.refusing import refuse


def due(out: Out) -> bool:
    """Whether a card that comes now belongs to the draw: the deck is verified, nobody has drawn, no hand was played."""
    state, needs = out.state, out.setup.profile.requires
    begun = state.session is None or state.play is not None or state.hands or state.hands_void
    if "button_draw" not in needs or begun or state.floor.drawn or state.incidents:
        return False
    return state.floor.verified or "deck_face_up" not in needs


def dealt(out: Out, so_far: Mapping[int, CardCame], fact: CardCame | CardDoubtful) -> dict[int, CardCame]:
    """One more card of the draw, clockwise from the dealer's left. The last one places the button.

    The cards lie open and are told with ``button.placed``. A card that nobody can name, or that came already, begins
    the draw anew.
    """
    players = [number for number, seat in sorted(out.state.seats.items()) if not seat.away]
    cards = {number: came for number, came in so_far.items() if number in players}
    known = fact.card if isinstance(fact, CardCame) else None
    if known is None or any(came.card == known for came in cards.values()) or len(players) < 2:
        why = "this card cannot be read: draw again"
        if len(players) < 2:
            why = "two players are needed for the draw"
        elif out.setup.unread:
            why = "no card is read here: say what was drawn (feltd button --draw SEAT=CARD SEAT=CARD)"
        refuse(out, "draw", None, why, fact.evidence)
        return {}
    assert isinstance(fact, CardCame)
    cards[next(number for number in players if number not in cards)] = fact
    if len(cards) < len(players):
        return cards
    drawn = {number: came.card or "" for number, came in cards.items()}
    seat = button.drawn(drawn, out.setup.profile.first_button)
    data: Data = {"seat": seat, "how": "draw", "rules": out.rules(button.key(drawn, seat)), "basis": "sensor"}
    data["draw"] = [{"seat": number, "card": card} for number, card in sorted(drawn.items())]
    data["evidence"] = cite(tuple(source for came in cards.values() for source in came.evidence))
    out.emit("play", "button.placed", out.setup.table, data)
    return {}
