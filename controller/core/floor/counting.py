"""Counts of the tray: opener, closer, shift and spot checks, with who signed them (HR-4.1)."""

from dataclasses import dataclass
from typing import Literal

from controller.core import incidents
from controller.core.errors import BadCommand
from controller.core.floor import words
from controller.core.floor.words import SUPERVISORS, Data
from controller.core.inputs import Command
from controller.core.out import Out

REASONS = ("open", "close", "shift", "fill", "credit", "spot_check")
SIGNED = ("open", "close", "shift")
"""Counts that a dealer and a supervisor sign together."""


@dataclass(frozen=True, slots=True)
class Count:
    """What somebody counted: lines, how, and who answers for it."""

    lines: list[Data]
    method: Literal["rfid", "manual", "both"]
    by: list[dict[str, str]]


def read(out: Out, command: Command) -> Count | None:
    """The count that a command carries: its own lines, or what the tray's antenna last read. ``None``: neither."""
    by, given = words.second(out, command), words.lines(out, command)
    seen = out.state.tray
    if given is not None:
        return Count(given, "manual" if seen is None else "both", by)
    if seen is None:
        return None
    kinds = {d.value: d for d in out.setup.chipset.denominations}
    lines = [
        {"class": kinds[value].kind, "denomination": value, "count": count, "amount": value * count}
        for value, count in seen
        if value in kinds
    ]
    return Count(lines, "rfid", by)


def count(out: Out, command: Command) -> None:
    """``count``: reason, lines?, with?: the tray was counted. Without lines the antenna's last reading is taken."""
    reason = words.choice(command, "reason", REASONS, "spot_check")
    told = read(out, command)
    if told is None:
        raise BadCommand("lines", None, "say how many chips of each denomination lie in the tray")
    if out.state.play is not None and reason in SIGNED:
        out.breach("hand_open", "BLOCK", f"hand {out.state.play.id} has to end first")
        return
    record(out, reason, told)


def record(out: Out, reason: str, told: Count) -> None:
    """``tray.counted``; what differs from the book is told, and a person has to look at it (I-31)."""
    if reason in SIGNED and "closing_count" in out.setup.profile.requires and not _signed(told):
        out.breach("one_signature", "BLOCK", "a dealer and a supervisor sign this count together: name both")
        return
    state, floor, day = out.state, out.state.floor, out.day()
    seen = dict(state.tray or ())
    total, expected = words.total(told.lines), floor.tray
    number = floor.counts + 1
    name = f"{out.setup.table}-{day.replace('-', '')}-c{number}"
    data: Data = {"count": name, "number": number, "reason": reason, "lines": told.lines, "total": total}
    data |= {"expected": expected, "variance": None if expected is None else total - expected}
    data |= {"method": told.method, "unread": 0}
    words.cash(out, "tray.counted", told.by, data)
    off = [
        {"denomination": line["denomination"], "expected": seen[line["denomination"]], "seen": line["count"]}
        for line in told.lines
        if told.method == "both" and line["denomination"] in seen and line["count"] != seen[line["denomination"]]
    ]
    if off or (expected is not None and total != expected):
        _differs(out, told, off, expected, total)


def _signed(told: Count) -> bool:
    roles = {person["role"] for person in told.by}
    return len(told.by) > 1 and bool(roles & set(SUPERVISORS))


def _differs(out: Out, told: Count, off: list[Data], expected: int | None, total: int) -> None:
    facts = {"expected": expected, "seen": total}
    name = incidents.open_one(
        out,
        "I-31",
        "tray_differs",
        "tray_differs",
        holds="none",
        proposed="recount",
        alternatives=("accept",),
        severity="low",
        facts=facts,
        of_hand=False,
    )
    words.cash(out, "tray.differs", told.by, {"lines": off, "last_place_seen": None, "incident": name})
