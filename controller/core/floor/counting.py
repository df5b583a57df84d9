"""Counts of the tray: opener, closer, shift and spot checks, with who signed them (HR-4.1).

What differs from the book is counted again, twice, and then accepted with two signatures or not at all (I-31).
"""

from dataclasses import dataclass
from typing import Literal

from controller.core import incidents
from controller.core.errors import BadCommand
from controller.core.floor import words
from controller.core.floor.words import SUPERVISORS, Data
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.state import Incident

REASONS = ("open", "close", "shift", "fill", "credit", "spot_check")
SIGNED = ("open", "close", "shift")
"""Counts that a dealer and a supervisor sign together."""
RECOUNTS = 2
"""How often a tray that differs is counted again before anybody may accept it (I-31)."""


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
    return Count(words.as_lines(out, seen), "rfid", by)


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
    before = differing(out)
    total = words.total(told.lines)
    expected = floor.tray if floor.tray is not None or before is None else before.facts["expected"]
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
    off = off or _still_off(told, before)
    if off or (expected is not None and total != expected):
        _differs(out, told.by, off, expected, total)
    elif before is not None:
        incidents.close(out, before.id, "resumed", "attested")


def at_slip(out: Out, kind: str, slip: str, by: list[dict[str, str]], off: list[Data], expected: int | None) -> None:
    """The antenna's count when a slip is completed; ``off``: the denominations that are not as they should be."""
    lines = words.as_lines(out, out.state.tray or ())
    total = words.total(lines)
    data: Data = {"count": slip, "reason": kind, "lines": lines, "total": total, "expected": expected}
    data |= {"variance": None if expected is None else total - expected, "method": "rfid", "unread": 0}
    words.cash(out, "tray.counted", by, data, subject=slip)
    if off or (expected is not None and total != expected):
        _differs(out, by, off, expected, total)


def differing(out: Out) -> Incident | None:
    """The incident of a tray that is not what it should be, if one is open (I-31)."""
    return next((one for one in out.state.incidents.values() if one.kind == "tray_differs"), None)


def accepted(out: Out, incident: Incident, command: Command, ruling: str) -> Data | None:
    """What accepting a tray as it is comes to; ``None`` where it may not be accepted yet (I-31).

    Raises ``BadCommand`` for the ruling that it is counted again: a count is what does that.
    """
    if ruling != "accept":
        raise BadCommand("ruling", ruling, "count the tray again (feltd count spot_check): a count that agrees ends it")
    done = incident.facts.get("recounts", 0)
    if done < RECOUNTS:
        asked = f"the tray is counted again {RECOUNTS} times before it is accepted as it is; {done} counts so far"
        out.breach("recount_due", "BLOCK", asked)
        return None
    by = words.second(out, command)
    if len(by) < 2:
        out.breach("one_signature", "BLOCK", "two persons accept a tray that differs: name the other")
        return None
    return {"by": by, "signatures": len(by), "effects": {"tray": incident.facts["seen"]}}


def _signed(told: Count) -> bool:
    roles = {person["role"] for person in told.by}
    return len(told.by) > 1 and bool(roles & set(SUPERVISORS))


def _still_off(told: Count, before: Incident | None) -> list[Data]:
    """The denominations that were off before, and are counted otherwise than they should be again."""
    lies = {line["denomination"]: line["count"] for line in told.lines}
    return [
        line | {"seen": lies.get(line["denomination"], 0)}
        for line in (before.facts.get("lines", ()) if before is not None else ())
        if lies.get(line["denomination"], 0) != line["expected"]
    ]


def _differs(out: Out, by: list[dict[str, str]], off: list[Data], expected: int | None, total: int) -> None:
    """A first count that differs opens the incident, each one after it is a recount."""
    before = differing(out)
    facts: Data = {"expected": expected, "seen": total, "lines": off, "recounts": 0}
    if before is not None:
        name = before.id
        adds = facts | {"recounts": before.facts.get("recounts", 0) + 1, "expected": before.facts["expected"]}
        adds["lines"] = before.facts.get("lines", [])
        out.emit("play", "incident.updated", name, {"incident": name, "adds": adds, "basis": "attested"})
    else:
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
    words.cash(out, "tray.differs", by, {"lines": off, "last_place_seen": None, "incident": name})
