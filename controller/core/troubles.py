"""Incidents that are no matter of a hand's rules: devices that are away, the ledger, a power cut (I-32, I-33)."""

from typing import Any

from controller.core.incidents import close, open_one
from controller.core.out import Out
from controller.core.rules.due import to_show


def device_lost(out: Out, device: str, cause: str) -> None:
    """A device that this table needs is gone (I-33): the hand goes on as far as it can, no new one begins."""
    if any(i.kind == "device_lost" and i.facts["device"] == device for i in out.state.incidents.values()):
        return
    facts = {"device": device, "cause": cause}
    open_one(
        out,
        "I-33",
        "device_lost",
        "device_lost",
        holds="none",
        proposed="wait",
        severity="low",
        facts=facts,
        of_hand=False,
    )


def ledger_fault(out: Out, facts: dict[str, Any], kind: str = "ledger_fault") -> None:
    """The ledger is not what was written (I-32): play goes on where it stands, no new hand begins unseen.

    ``reading_unrecorded``: what a device said can be no event, so the ledger lacks what it would have led to.
    """
    if any(i.kind == kind for i in out.state.incidents.values()):
        return
    open_one(
        out,
        "I-32",
        "ledger_fault",
        kind,
        holds="none",
        proposed="stands",
        severity="stop",
        facts=facts,
        of_hand=False,
    )


def resume(out: Out) -> str | None:
    """A hand was open when the power went, and the house wants a person to let it go on (I-32). ``None``: nobody asked.

    Where the hand is held already, whoever rules on that has looked.
    """
    state, house = out.state, out.setup
    if not house.profile.confirm_resume or house.test or state.play is None or state.held is not None:
        return None
    if any(i.hand == state.play.id for i in state.incidents.values()):
        return None
    facts = {"hand": state.play.id}
    holds, others = "hand", ("void",)
    return open_one(
        out, "I-32", "ledger_fault", "resume", holds=holds, proposed="play_on", alternatives=others, facts=facts
    )


def pressed_in_vain(out: Out) -> dict[str, Any]:
    """SHOW may have been pressed before the restart, and waited for cards: only what it led to is on record.

    So it is told which hands are to be shown still. Every other key is on record, or what it meant lies on the felt.
    """
    hand = out.state.hand
    seats = [] if hand is None else [seat for seat in to_show(hand) if seat not in hand.turned]
    return {"again": {"key": "SHOW", "seats": seats}} if seats else {}


def device_back(out: Out, device: str) -> None:
    """The device answered again: its incident closes by itself."""
    for incident in list(out.state.incidents.values()):
        if incident.kind == "device_lost" and incident.facts["device"] == device:
            close(out, incident.id, "resumed")
