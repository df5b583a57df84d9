"""Devices do not tell the same of a card (I-13 to I-16, I-18): a person looks, unless they come to agree.

The shoe and the antennas; or the antennas now and when the cards were dealt.
"""

from typing import Any

from controller.core import incidents
from controller.core.facts import CardsAstray, ShoeAgrees, ShoeDiffers
from controller.core.out import Out
from controller.core.rules import dealing
from controller.core.state import Incident

CODES = {
    "missing": ("I-15", "cards_differs", "card_missing"),
    "unseen": ("I-16", "cards_differs", "card_past_shoe"),
    "other": ("I-18", "card_conflict", "cards_disagree"),
}
"""What it is: the code of the incident, the key of its rules, and its kind."""


def differs(out: Out, fact: ShoeDiffers) -> None:
    """One incident for all cards of one kind of difference. What lies open speaks; which cards it was stays sealed."""
    hand = out.state.hand
    if hand is None:
        return
    if fact.what == "foreign":
        incidents.foreign_card(out, fact.evidence, tag_known=False)
        return
    code, key, kind = CODES[fact.what]
    secret = {"cards": list(fact.cards)} if fact.cards else None
    known = next((i for i in out.state.incidents.values() if i.kind == kind and i.hand == hand.id), None)
    if known is not None:
        _counted(out, known.id, known.facts["cards"] + 1, fact)
        return
    misdeal = fact.what == "unseen" and not hand.substantial
    facts: dict[str, Any] = {"cards": 1} | ({"place": fact.place} if fact.place else {})
    incidents.open_one(
        out,
        code,
        key,
        kind,
        holds="hand",
        proposed="redeal" if misdeal else "play_on",
        alternatives=("play_on", "void") if misdeal else ("redeal", "void"),
        seats=() if fact.seat is None else (fact.seat,),
        facts=facts,
        evidence=fact.evidence,
        secret=secret,
    )


def agrees(out: Out, fact: ShoeAgrees) -> None:
    """The word that was missing has come: where it was the last one, the incident is over by itself."""
    hand = out.state.hand
    kind = CODES[fact.what][2]
    known = next((i for i in out.state.incidents.values() if i.kind == kind), None)
    if hand is None or known is None or known.hand != hand.id:
        return
    left = known.facts["cards"] - 1
    if left:
        _counted(out, known.id, left, fact)
        return
    incidents.close(out, known.id, "resumed")
    dealing.open_street(out, hand)


def _counted(out: Out, incident: str, cards: int, fact: ShoeDiffers | ShoeAgrees) -> None:
    out.hand("incident.updated", {"incident": incident, "adds": {"cards": cards}}, fact.basis, fact.evidence)


def astray(out: Out, fact: CardsAstray) -> None:
    """Cards do not lie where they were dealt (I-14): no hand is tabled until a person has looked.

    The hand stays live: the cards go back to where they belong and the hand is shown again, or what was dealt stands.
    """
    hand = out.state.hand
    seats = tuple(sorted({*fact.others} if fact.seat is None else {fact.seat, *fact.others}))
    kind = f"cards_{fact.what}"
    if hand is None or any(i.kind == kind and _among(fact.seat, seats, i) for i in out.state.incidents.values()):
        return
    if fact.what == "switched" and any(incidents.is_too_many_at(i, fact.seat) for i in out.state.incidents.values()):
        return  # the same cards
    dealt = len(hand.board) if fact.seat is None else len(hand.own(fact.seat))
    live = fact.what in ("missing", "exchanged", "switched")
    incidents.open_one(
        out,
        "I-14",
        "card_conflict",
        kind,
        holds="hand",
        proposed="play_on",
        alternatives=("as_read", "void") if live else ("void",),
        seats=seats,
        facts={"seat": fact.seat, "others": list(fact.others), "dealt": dealt},
        evidence=fact.evidence,
    )


def _among(seat: int | None, seats: tuple[int, ...], incident: Incident) -> bool:
    known = {incident.facts["seat"], *incident.facts["others"]}
    return seat in known and set(seats) <= known
