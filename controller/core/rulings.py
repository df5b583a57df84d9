"""Carrying out a person's ruling. The controller proposes; whoever may rule decides, and it is recorded (CM-23)."""

from typing import Any

from controller.core import incidents, system
from controller.core.cards import CARDS
from controller.core.errors import BadCommand
from controller.core.facts import CardCame, Declared, Finished, Kind, Shown
from controller.core.floor import button, counting
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules import correcting, dealing, paying, showdown, turns
from controller.core.rules.ultimate import ruling as ultimate
from controller.core.rules.ultimate.state import Coup
from controller.core.state import Hand, Incident

OUTCOMES = dict.fromkeys(("redeal_street", "name_card", "play_on", "back_up", "scramble", "as_read"), "resumed")
OUTCOMES |= dict.fromkeys(incidents.AGAINST_AWARD.values(), "corrected")


def rule(out: Out, command: Command) -> None:
    """``rule``: incident (id, or its code where only one is open), ruling (``proposed`` or a name), reason.

    ``correct`` of a disputed result says how: moves, tabled.
    """
    incident = _find(out, str(command.args.get("incident", "")), command.role)
    ruling = str(command.args.get("ruling", "proposed"))
    ruling = incident.proposed if ruling == "proposed" else ruling
    known = (incident.proposed, *incident.alternatives)
    if ruling not in known:
        raise BadCommand("ruling", ruling, f"this incident can be ruled: proposed, {', '.join(known)}")
    if command.role not in incident.who_may_rule:
        asked = f"{' or '.join(incident.who_may_rule)} may rule, not {command.role or 'somebody without a role'}"
        out.breach("may_not_rule", "BLOCK", asked)
        return
    if not command.reason:
        raise BadCommand("reason", "", "say in a few words why: a ruling is recorded with its reason")
    more: dict[str, Any] = {}
    if incident.kind == "tray_differs":
        accepted = counting.accepted(out, incident, command, ruling)
        if accepted is None:
            return
        more = accepted
    if incident.kind == correcting.KIND:
        correcting.ruled(out, incident, command, ruling)
        return
    coup = out.state.table.coup
    if coup is not None and incident.hand == coup.id:
        _rule_round(out, coup, incident, command, ruling)
        return
    hand = out.state.hand
    card = _named(hand, command) if ruling == "name_card" else ""
    by = {"staff": command.by, "role": command.role}
    data: dict[str, Any] = {
        "incident": incident.id,
        "code": incident.code,
        "ruling": ruling,
        "follows_proposal": ruling == incident.proposed,
        "against_rules": out.rules(incident.kind) if ruling == "stands" else [],
        "reason": command.reason,
        "by": [by],
        "signatures": 1,
        "effects": _effects(hand, ruling),
    } | more
    if incident.silent:
        out.emit("guard", "incident.ruled", incident.id, data | {"basis": "attested"})
        incidents.close(out, incident.id, "noted", "attested")
        return
    of_hand = hand is not None and incident.hand == hand.id
    if of_hand:
        out.hand("incident.ruled", data, "attested")
    else:
        out.emit("play", "incident.ruled", incident.id, data | {"basis": "attested"})
    if hand is None or not of_hand:
        incidents.close(out, incident.id, OUTCOMES.get(ruling, "noted"), "attested")
        button.ruled(out, incident, ruling, by)
    elif ruling in ("void", "redeal"):
        _give_up(out, hand, incident, ruling, by)
    else:
        incidents.close(out, incident.id, OUTCOMES.get(ruling, "noted"), "attested")
        if ruling == "name_card":
            _name_card(out, hand, incident, card)
        elif ruling in ("call", "complete_raise"):
            to = None if ruling == "call" else incident.facts["min_to"]
            kind: Kind = "call" if ruling == "call" else "raise"
            turns.declare(out, Declared(kind, incident.facts["seat"], to, basis="attested"))
        elif incident.kind == "payout_differs" and ruling == "stands":
            paying.finished(out, Finished(basis="attested"))
        elif ruling == "as_read" and incident.facts["seat"] is not None:
            _shown_as_read(out, hand, incident.facts["seat"])
        else:
            dealing.open_street(out, hand)


def _rule_round(out: Out, coup: Coup, incident: Incident, command: Command, ruling: str) -> None:
    """A ruling about a round of boxes."""
    card = _named(coup, command) if ruling == "name_card" else ""
    by = {"staff": command.by, "role": command.role}
    data: dict[str, Any] = {
        "incident": incident.id,
        "code": incident.code,
        "ruling": ruling,
        "follows_proposal": ruling == incident.proposed,
        "against_rules": out.rules(incident.kind) if ruling == "stands" else [],
        "reason": command.reason,
        "by": [by],
        "signatures": 1,
        "effects": ultimate.effects(coup, incident, ruling),
    }
    out.hand("incident.ruled", data, "attested")
    ultimate.carry_out(out, coup, incident, ruling, by, card)


def _find(out: Out, name: str, role: str) -> Incident:
    state = out.state
    if name in state.incidents:
        return state.incidents[name]
    silent = state.silent.get(name)
    if silent is not None and role in silent.who_may_rule:  # nobody else learns by asking that it is there
        return silent
    coded = [i for i in state.incidents.values() if i.code == name]
    if len(coded) == 1:
        return coded[0]
    known = ", ".join(f"{i.id} ({i.code})" for i in state.incidents.values()) or "none is open"
    raise BadCommand("incident", name, f"name an open incident: {known}")


def _named(hand: Hand | Coup | None, command: Command) -> str:
    card = str((command.args.get("args") or {}).get("card", command.args.get("card", "")))
    if card not in CARDS:
        raise BadCommand("card", card, "name the card as rank and suit, for example As or Td")
    # Held against what everybody can see. An answer that depends on a closed card would name it to whoever asks; where
    # the same card lies face down, the deck is found to be fouled when it is turned over.
    if hand is not None and any(slot.card == card and slot.opened and not slot.gone for slot in hand.slots):
        raise BadCommand("card", card, "this card is out already; look again, or rule void for a fouled deck")
    return card


def _effects(hand: Hand | None, ruling: str) -> dict[str, Any]:
    if ruling == "scramble" and hand is not None:  # the flop is laid again from the same cards (CM-14)
        flop = [i for i, slot in enumerate(hand.slots) if slot.place == "board" and not slot.gone]
        return {"returned_slots": flop}
    if ruling == "redeal_street" and hand is not None:
        return {"returned_slots": [i for i, slot in enumerate(hand.slots) if slot.premature and not slot.gone]}
    return {}


def _give_up(out: Out, hand: Hand, incident: Incident, ruling: str, by: dict[str, str]) -> None:
    """Void the hand, all stakes back; after ``redeal`` the next hand is its exact replay (CM-11)."""
    showdown.void(out, hand, incident.kind, incident.id, [by])
    system.doubts(out, hand)
    if ruling == "redeal":
        stem, number = hand.id.rsplit("-", 1)
        data: dict[str, Any] = {"old": hand.id, "new": f"{stem}-{int(number) + 1:04d}", "kept": ["button", "blinds"]}
        data |= {"seats": list(hand.order), "incident": incident.id, "rules": out.rules("misdeal"), "basis": "attested"}
        out.emit("play", "hand.redealt", hand.id, data)
    incidents.close_all(out, hand.id, "redealt" if ruling == "redeal" else "voided")


def _shown_as_read(out: Out, hand: Hand, seat: int) -> None:
    """The cards that lie open are those that the table's devices read (I-18): a hand that is due is tabled as such."""
    if hand.phase == "showdown" and seat not in hand.shown:
        showdown.shown(out, Shown(seat, basis="attested"))
    else:
        dealing.open_street(out, hand)


def _name_card(out: Out, hand: Hand, incident: Incident, card: str) -> None:
    slot, place = incident.facts["slot"], incident.facts["place"]
    if slot is None:  # it lies on the board, and no device of the table has read it (I-18)
        dealing.card(out, CardCame("board", card, basis="attested"), None)
        return
    seat = hand.slots[slot].seat
    opened: dict[str, Any] = {"slot": slot, "place": place, "card": card, "named": True}
    if place == "board":
        out.hand("card.opened", opened | {"cause": "street"}, "attested")
        dealing.open_street(out, hand)
    elif seat is not None:
        opened |= {"seat": seat, "salt": hand.slots[slot].salt, "cause": "tabled"}
        out.hand("card.opened", opened, "attested")
        showdown.shown(out, Shown(seat, basis="attested"))
