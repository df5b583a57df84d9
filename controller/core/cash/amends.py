"""Money that belongs to nobody, and money that is put right once a hand is final."""

import re

from controller.core.cash.state import BOXES
from controller.core.errors import BadCommand
from controller.core.floor import words
from controller.core.floor.words import Data, person
from controller.core.inputs import Command
from controller.core.out import Out

COMMON = ("floor", "table", "pot", "board", "muck", "burn", "shoe", "tray", "drop", "rake", "tips")
"""Where chips may be found at any table; the floor is around it."""
OF_SEATS = re.compile(r"(?:seat|stack|bet):([1-9]\d?)")
OF_BOXES = re.compile(r"(?:box:([1-9]\d?)(?::(?:ante|blind|trips|play))?)")


def orphan(out: Out, command: Command) -> None:
    """``orphan``: amount, place: chips of nobody were found; they are kept apart from the tray and paid in."""
    amount, place = words.amount(out, command), words.text(command, "place")
    if not _exists(out, place):
        boxes = out.setup.profile.game == "ultimate"
        kinds = "box:2:trips, box:2" if boxes else "seat:3, stack:3, bet:3"
        last = f"the {'boxes' if boxes else 'seats'} are 1 to {out.setup.seats}"
        raise BadCommand("place", place, f"name a place of this table: {kinds}, {', '.join(COMMON)}; {last}")
    words.cash(out, "orphan.found", [person(command)], {"amount": amount, "place": place})


def found(out: Out, place: str, amount: int) -> None:
    """Antennas see chips at the place of nobody, between hands, and nobody has taken them for long."""
    if out.state.cash.orphans.get(place) != amount:
        words.cash(out, "orphan.found", [], {"amount": amount, "place": place}, basis="sensor")


def adjust(out: Out, command: Command) -> None:
    """``adjust``: hand, amount, from, to, with: what went to a wrong place in a hand that is final is put right.

    Places: ``seat:3`` ``box:2`` ``tray`` ``drop`` ``rake`` ``tips``. Between hands, with two signatures, one of who may
    rule, and a reason (I-19: later than that nothing of the hand itself is corrected). A seat is who was in that hand
    and has sat there ever since: nobody pays for who sat there before. So a hand of a session that has ended concerns
    tray and boxes only, be the table open or closed; the ledger knows whether there was one and whether it is final.
    """
    hand, amount = words.text(command, "hand"), words.amount(out, command)
    source, target = _place(out, command, "from"), _place(out, command, "to")
    finals = out.state.cash.finals
    if hand not in finals and not _of_before(out, hand):
        last = finals[-1] if finals else "none is yet"
        remedy = f"name a hand of this table that is final; the last one of this session: {last}; before that, dispute"
        raise BadCommand("hand", hand, remedy)
    for name, place in (("from", source), ("to", target)):
        if place.startswith("seat:") and int(place[5:]) not in out.state.cash.played.get(hand, ()):
            remedy = "who sits there was not in that hand: name tray, and settle it with the player at the cage"
            raise BadCommand(name, place, remedy)
    if source == target:
        raise BadCommand("to", target, "name another place than where the money comes from")
    if not command.reason:
        raise BadCommand("reason", "", "say in a few words why: an adjustment is recorded with its reason")
    if out.state.play is not None:
        out.breach("adjusted_in_hand", "BLOCK", "stacks are put right between hands only")
        return
    have = _has(out, source)
    if have is not None and have < amount:
        raise BadCommand("amount", amount, f"{source} has {have}")
    by, may = words.second(out, command), out.setup.profile.may_rule
    if len(by) < 2 or not {who["role"] for who in by} & set(may):
        asked = f"two persons sign an adjustment, one of them {' or '.join(may)}"
        out.breach("adjustment_by", "BLOCK", asked)
        return
    data: Data = {"hand": hand, "amount": amount, "from": source, "to": target, "reason": command.reason}
    data |= {"refers": {"type": "hand.final"}, "signatures": by}
    words.cash(out, "adjustment.recorded", by, data, subject=hand)


def _of_before(out: Out, hand: str) -> bool:
    """Whether a hand can be one of an earlier session, or of this one too long ago to be kept in mind."""
    playing, pending = out.state.play, out.state.pending
    now = {one for one in (playing and playing.id, pending and pending.hand) if one}
    return hand not in now and re.fullmatch(rf"{re.escape(out.setup.table)}-\d{{8}}-\d{{4,6}}", hand) is not None


def _exists(out: Out, place: str) -> bool:
    """Whether the table has this place: one of all tables, one of its seats or boxes, or one that a device watches."""
    kind = OF_BOXES if out.setup.profile.game == "ultimate" else OF_SEATS
    if found := kind.fullmatch(place):
        return int(found[1]) <= out.setup.seats
    return place in COMMON or any(place in device.places.values() for device in out.setup.devices)


def _place(out: Out, command: Command, name: str) -> str:
    place = words.text(command, name)
    kind, _, number = place.partition(":")
    boxes = out.setup.profile.game == "ultimate"
    if kind == "seat" and number.isdecimal() and int(number) in out.state.seats and place == f"seat:{int(number)}":
        return place
    if kind == "box" and boxes and number.isdecimal() and 1 <= int(number) <= out.setup.seats:
        return f"box:{int(number)}"
    if place in ("tray", *BOXES):
        return place
    taken = ", ".join(f"seat:{seat}" for seat in sorted(out.state.seats))
    known = ", ".join(filter(None, (taken, "box:1 and so on" if boxes else "", "tray", *BOXES)))
    raise BadCommand(name, place, f"use one of {known}")


def _has(out: Out, place: str) -> int | None:
    """What lies at a place by the book; ``None`` where nobody counted it."""
    if place.startswith("seat:"):
        return out.state.seats[int(place[5:])].stack
    if place in BOXES:
        return out.state.cash.boxes[place]
    return out.state.floor.tray if place == "tray" else None
