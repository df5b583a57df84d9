"""Chips come to the tray and leave it by slip: asked for, signed by two persons, or cancelled (I-31).

Each slip has the next number of its table; nothing is ever numbered twice, and no number is left out.
"""

from collections import Counter

from controller.core.cash.state import Slip
from controller.core.errors import BadCommand
from controller.core.floor import counting, words
from controller.core.floor.words import SUPERVISORS, Data, person
from controller.core.inputs import Command
from controller.core.out import Out

HANDLERS = ("dealer", "cage", *SUPERVISORS)
"""Who handles chips, and so may sign a slip; one of the two who do watches over the table."""


def fill(out: Out, command: Command) -> None:
    """``fill``: lines: chips are asked for from the cage. By who watches over the table."""
    _request(out, command, "fill")


def credit(out: Out, command: Command) -> None:
    """``credit``: lines: chips are to go back to the cage. By who watches over the table."""
    _request(out, command, "credit")


def _request(out: Out, command: Command, kind: str) -> None:
    told = [line for line in words.lines(out, command) or [] if line["count"]]
    if not told:
        raise BadCommand("lines", command.args.get("lines"), "say how many chips of each denomination")
    total, book = words.total(told), out.state.floor.tray
    if kind == "credit" and book is not None and total > book:
        raise BadCommand("lines", total, f"the tray has {book} by the book: no more can go back")
    if not words.needs_open(out):
        return
    if command.role and command.role not in SUPERVISORS:
        asked = f"{' or '.join(SUPERVISORS)} asks for a {kind}, not {command.role}"
        out.breach("slip_by", "BLOCK", asked)
        return
    differs = counting.differing(out)
    if differs is not None:
        asked = f"the tray is not what it should be: {differs.id} is ruled before chips come or go"
        out.breach("fills_held", "BLOCK", asked)
        return
    number = out.state.cash.slips + 1
    name, seen = f"{out.setup.table}-s{number:05d}", out.state.tray
    data: Data = {"slip": name, "number": number, "kind": kind, "lines": told, "total": total}
    data |= {"requester": person(command), "signatures": []}
    data["tray"] = None if seen is None else [[value, count] for value, count in seen]
    words.cash(out, "slip.requested", [person(command)], data, subject=name)


def slip(out: Out, command: Command) -> None:
    """``slip``: slip (its id or number; may be left out where one is open), do (``complete`` ``cancel``), with?.

    It is completed with two signatures once the chips lie in the tray, or have left it; then an antenna's count is
    held against what it should be. It is cancelled with a reason.
    """
    what = words.choice(command, "do", ("complete", "cancel"))
    one = _find(out, command)
    if what == "cancel":
        if not command.reason:
            raise BadCommand("reason", "", "say in a few words why: a slip is cancelled with its reason")
        words.cash(
            out,
            "slip.cancelled",
            [person(command)],
            _data(out, one) | {"reason": command.reason, "signatures": []},
            subject=one.id,
        )
        return
    by = words.second(out, command)
    if not signed(by):
        asked = f"a slip is signed by two: one of {', '.join(SUPERVISORS)}, and another of them, dealer or cage"
        out.breach("slip_signatures", "BLOCK", asked)
        return
    words.cash(out, "slip.completed", by, _data(out, one) | {"signatures": by}, subject=one.id)
    _compare(out, one, by)


def signed(by: list[dict[str, str]]) -> bool:
    """Whether two persons who handle chips stand behind it, and one of them watches over the table."""
    roles = [who["role"] for who in by]
    return len(by) > 1 and all(role in HANDLERS for role in roles) and any(role in SUPERVISORS for role in roles)


def _find(out: Out, command: Command) -> Slip:
    named, known = command.args.get("slip"), out.state.cash.open
    found = [one for one in known.values() if named in (None, one.id, str(one.number))]
    if len(found) != 1:
        raise BadCommand("slip", named, f"name an open slip: {', '.join(known) or 'there is none'}")
    return found[0]


def _data(out: Out, one: Slip) -> Data:
    data: Data = {"slip": one.id, "number": one.number, "kind": one.kind}
    staff, role = one.requester
    asked = {"requester": {"staff": staff, "role": role}} if staff else {}
    return data | {"lines": words.as_lines(out, one.lines), "total": one.total} | asked


def _compare(out: Out, one: Slip, by: list[dict[str, str]]) -> None:
    """The antenna's count at slip close: before, and what came or went; else by the book alone (I-31)."""
    seen = out.state.tray
    if seen is None:
        return
    off: list[Data] = []
    expected = out.state.floor.tray
    if one.tray is not None:
        wanted, lies = Counter(dict(one.tray)), Counter(dict(seen))
        for value, count in one.lines:
            wanted[value] += count if one.kind == "fill" else -count
        expected = sum(value * count for value, count in wanted.items())
        off = [
            {"denomination": value, "expected": max(0, wanted[value]), "seen": lies[value]}
            for value in sorted({*wanted, *lies})
            if wanted[value] != lies[value]
        ]
    counting.at_slip(out, one.kind, one.id, by, off, expected)
