"""Opening incidents: what a person must rule on, with a proposal. Rulings are carried out in ``rulings``."""

from collections.abc import Sequence
from typing import Any

from controller.core import overdue
from controller.core.facts import Called, CardCame, CountsDiffer, SightDiffers, Sources
from controller.core.out import Out
from controller.core.rules.ultimate.state import Coup
from controller.core.state import Hand, Incident, Severity

PREMATURE = {"preflop": "I-4", "flop": "I-5", "turn": "I-5"}


def open_one(
    out: Out,
    code: str,
    key: str,
    kind: str,
    *,
    holds: str,
    proposed: str,
    alternatives: tuple[str, ...] = (),
    severity: Severity = "high",
    seats: tuple[int, ...] = (),
    boxes: tuple[int, ...] = (),
    facts: dict[str, Any] | None = None,
    evidence: Sources = (),
    secret: dict[str, Any] | None = None,
    of_hand: bool = True,
) -> str:
    """Emit ``incident.opened`` and return its id. ``of_hand`` false: a matter of the table, not of a hand."""
    state = out.state
    playing = state.play
    hand = playing if of_hand else None
    day = out.day() if state.session is None else state.day
    before = state.incidents_today if day == state.incidents_day else 0
    name = f"{out.setup.table}-{day.replace('-', '')}-i{before + 1}"
    data: dict[str, Any] = {
        "incident": name,
        "code": code,
        "rules": out.rules(key),
        "severity": severity,
        "phase": playing.phase if playing is not None else "between_hands",
        "sa": playing.substantial if playing is not None else False,
        "holds": holds,
        "seats": list(seats),
        "kind": kind,
        "facts": facts or {},
        "proposed": {"ruling": proposed, "effects": _effects(hand, proposed)},
        "alternatives": list(alternatives),
        "signatures_needed": 1,
        "who_may_rule": list(out.setup.profile.may_rule),
    } | overdue.asked(out)
    if boxes:
        data["boxes"] = list(boxes)
    if hand is not None:
        out.hand("incident.opened", data, "derived", evidence, secret=secret)
    else:
        cites = [{"device": e.device, "reading": str(e.reading)} for e in evidence]
        data |= {"basis": "derived", "evidence": cites}
        out.emit("play", "incident.opened", name, data, secret=secret)
    out.hold(name)
    return name


def _effects(hand: Hand | Coup | None, proposed: str) -> list[dict[str, int]]:
    """What the proposal gives to whom: every stake goes back where the hand is given up (CM-12)."""
    if not isinstance(hand, Hand) or proposed not in ("void", "redeal"):
        return []
    staked = [(seat, hand.staked(seat)) for seat in hand.order]
    return [{"seat": seat, "amount": amount} for seat, amount in staked if amount]


def premature_board(out: Out, hand: Hand, evidence: Sources) -> None:
    """A board card while betting is open (I-4, I-5): one incident for all cards of the street (CM-13)."""
    code = PREMATURE[hand.street]
    if any(i.code == code and i.hand == hand.id for i in out.state.incidents.values()):
        return
    key = "option_skipped" if hand.street == "preflop" and hand.to_act == hand.big else "premature_board"
    facts = {"street": hand.street, "to_act": hand.to_act}
    seats = (hand.to_act,) if hand.to_act is not None else ()
    open_one(
        out,
        code,
        key,
        "street_premature",
        holds="hand",
        proposed="redeal_street",
        alternatives=("void",),
        seats=seats,
        facts=facts,
        evidence=evidence,
    )


def fouled_deck(out: Out, fact: CardCame) -> None:
    """The same rank and suit twice (I-11, C21): play stops, all stakes go back once a person confirms (CM-12)."""
    if any(i.kind == "deck_fouled" for i in out.state.incidents.values()):
        return
    open_one(
        out,
        "I-11",
        "fouled_deck",
        "deck_fouled",
        holds="hand",
        proposed="void",
        severity="stop",
        evidence=fact.evidence,
        secret={"card": fact.card},
    )


def foreign_card(out: Out, evidence: Sources, tag_known: bool) -> None:
    """A card that is not of this deck (I-13). Neither its tag nor a hash of it leaves the process."""
    open_one(
        out,
        "I-13",
        "foreign_card",
        "card_unknown",
        holds="hand",
        proposed="void",
        alternatives=("play_on",),
        severity="stop",
        facts={"registered": tag_known},
        evidence=evidence,
    )


def unsure_card(out: Out, slot: int, place: str, seat: int | None, evidence: Sources) -> None:
    """A card that nobody can name, and the hand now needs its value (I-17): a person reads it and says."""
    if any(i.kind == "card_unsure" and i.facts.get("slot") == slot for i in out.state.incidents.values()):
        return
    open_one(
        out,
        "I-17",
        "unsure_card",
        "card_unsure",
        holds="hand",
        proposed="name_card",
        alternatives=("void",),
        seats=() if seat is None else (seat,),
        facts={"slot": slot, "place": place},
        evidence=evidence,
    )


def card_conflict(out: Out, fact: SightDiffers) -> None:
    """Two devices name different cards (I-18): play waits until a person has looked, for open cards speak.

    A common card that only the witness sees can be named by that person; else what the table's devices read stands,
    or the hand is void.
    """
    hand = out.state.hand
    place = {"place": fact.place, "seat": fact.seat}
    if hand is None:
        return
    if any(i.kind == "card_conflict" and place.items() <= i.facts.items() for i in out.state.incidents.values()):
        return
    room = fact.place == "board" and len(hand.board) < 5
    open_one(
        out,
        "I-18",
        "card_conflict",
        "card_conflict",
        holds="hand",
        proposed="name_card" if room else "as_read",
        alternatives=("as_read", "void") if room else ("void",),
        seats=() if fact.seat is None else (fact.seat,),
        facts=place | {"slot": None},
        evidence=fact.evidence,
        secret={"card": fact.card},
    )


MISPLACED = {
    "wrong_seat": ("I-9", "misdealt_order"),
    "too_many_cards": ("I-10", "misdealt"),
    "too_few_cards": ("I-10", "misdealt"),
    "no_burn": ("I-6", "no_burn"),
    "extra_burn": ("I-7", "extra_burn"),
    "four_card_flop": ("I-8", "four_card_flop"),
    "board_full": ("I-8", "board_full"),
}
PROPOSED = {"no_burn": "stands", "extra_burn": "stands", "four_card_flop": "scramble", "board_full": "play_on"}
"""What is proposed for a card at a wrong place; a misdeal, as far as it is still one, for all others."""


def is_too_many_at(incident: Incident, seat: int | None) -> bool:
    """Whether it is asked already what cards beyond its own do before a seat (I-10)."""
    return incident.kind == "too_many_cards" and incident.facts.get("seat") == seat


def misplaced_card(out: Out, hand: Hand, problem: str, fact: CardCame) -> None:
    """A card lies where the deal does not send it (I-6 to I-10): misdeal before substantial action (CM-11)."""
    code, key = MISPLACED[problem]
    if any(i.kind == problem and i.hand == hand.id for i in out.state.incidents.values()):
        return
    switched = [i for i in out.state.incidents.values() if i.kind == "cards_switched" and i.facts["seat"] == fact.seat]
    if problem == "too_many_cards" and switched:
        return  # they lie in place of the seat's own: asked already
    misdealt = problem not in PROPOSED
    proposed = PROPOSED.get(problem) or ("redeal" if not hand.substantial else "play_on")
    facts = {"place": fact.place} | ({} if fact.seat is None else {"seat": fact.seat})
    others = tuple(other for other in ("redeal", "play_on", "void") if other != proposed)
    open_one(
        out,
        code,
        key,
        problem,
        holds="hand",
        proposed=proposed,
        alternatives=others if misdealt else ("void",),
        facts=facts,
        evidence=fact.evidence,
    )


def unclear_stake(out: Out, seat: int, facts: dict[str, Any], evidence: Sources) -> None:
    """Chips that could be a call or a raise (I-22, CM-17): whoever may rule asks the player."""
    open_one(
        out,
        "I-22",
        "unclear_stake",
        "stake_unclear",
        holds="hand",
        proposed="complete_raise",
        alternatives=("call",),
        seats=(seat,),
        facts=facts,
        evidence=evidence,
    )


def counts_differ(out: Out, fact: CountsDiffer) -> None:
    """Antennas and books do not come to agree (I-19): the push is looked at before the hand is closed.

    Chips of the pot on a stack are a push before there is an award: they go back, and the hand goes on.
    """
    kind = f"{fact.what}_differs"
    if any(i.kind == kind for i in out.state.incidents.values()):
        return
    pushed = fact.what in ("payout", "pot")
    open_one(
        out,
        "I-19" if pushed else "I-15",
        "wrong_push" if pushed else kind,
        kind,
        holds="hand",
        proposed="correct_push",
        alternatives=("stands",) if fact.what != "pot" else ("play_on", "void"),
        seats=() if fact.seat is None else (fact.seat,),
        facts={"expected": fact.expected, "seen": fact.seen},
        evidence=fact.evidence,
    )


def acted_behind(out: Out, skipped: int, seats: tuple[int, ...], evidence: Sources) -> None:
    """Somebody behind acted on a decision out of turn (I-20, CM-15): who was skipped still speaks first."""
    if any(i.kind == "acted_behind" for i in out.state.incidents.values()):
        return
    open_one(
        out,
        "I-20",
        "out_of_turn",
        "acted_behind",
        holds="hand",
        proposed="back_up",
        alternatives=("void",),
        seats=seats,
        facts={"skipped": skipped},
        evidence=evidence,
    )


AGAINST_AWARD = {
    "wrong_push": "correct_push",
    "wrong_announcement": "announce_again",
    "rake_wrong": "correct_drop",
}
"""Kinds of incident where people did otherwise than the award, and what is proposed; a person may let it stand."""


def award_mismatch(
    out: Out, code: str, kind: str, seats: tuple[int, ...], facts: dict[str, Any], evidence: Sources
) -> None:
    """Announced, dropped or pushed otherwise than computed (I-19, I-35, I-43): held until it is put right."""
    if any(i.kind == kind for i in out.state.incidents.values()):
        return
    open_one(
        out,
        code,
        kind,
        kind,
        holds="hand",
        proposed=AGAINST_AWARD[kind],
        alternatives=("stands",),
        seats=seats,
        facts=facts,
        evidence=evidence,
    )


def called(out: Out, fact: Called) -> None:
    """MISDEAL or VOID, pressed twice: a keypad never rules, it calls the person who may (HR-22.1, CM-11)."""
    hand = out.state.hand
    if hand is not None and any(i.kind == f"{fact.what}_called" for i in out.state.incidents.values()):
        return
    early = hand is not None and not hand.substantial
    misdeal = fact.what == "misdeal"
    open_one(
        out,
        "I-2" if misdeal else "I-37",
        "misdeal" if misdeal else "person_called",
        f"{fact.what}_called",
        holds="hand" if hand is not None else "none",
        proposed=("redeal" if early else "play_on") if misdeal else "void",
        alternatives=("void", "play_on") if misdeal else ("play_on",),
        evidence=fact.evidence,
    )


def close(out: Out, name: str, outcome: str, basis: Any = "derived", refers: Sequence[dict[str, str]] = ()) -> None:
    """Emit ``incident.closed``. ``refers``: the events of its effect, by type and hand; the ledger knows their ids."""
    incident = out.state.silent.get(name) or out.state.incidents[name]
    data: dict[str, Any] = {"incident": name, "code": incident.code, "outcome": outcome, "refers": list(refers)}
    data["held_ms"] = out.held_ms(name)
    if incident.silent:
        out.emit("guard", "incident.closed", name, data | {"basis": basis})
    elif incident.hand is not None and out.state.play is not None and out.state.play.id == incident.hand:
        out.hand("incident.closed", data, basis)
    else:
        out.emit("play", "incident.closed", name, data | {"basis": basis})


def close_all(out: Out, hand: str, outcome: str) -> None:
    """A hand was given up, and with it all that had to be ruled in it: each refers to the event that says so."""
    for name in [one.id for one in out.state.incidents.values() if one.hand == hand]:
        close(out, name, outcome, "attested", refers=[{"type": "hand.voided", "hand": hand}])
