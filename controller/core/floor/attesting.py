"""What no sensor sees: a person's word that a rule is kept, that it was broken, or that play goes on all the same."""

import re

from controller.core import incidents
from controller.core.errors import BadCommand
from controller.core.floor import conditions, words
from controller.core.floor.words import Data, person
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules.breaches import Reaction
from controller.core.rules.ultimate import stakes

REPORTABLE: dict[str, Reaction] = {
    "HR-2.1": "FLAG",
    "HR-3.1": "BLOCK",
    "HR-3.2": "BLOCK",
    "HR-6.1": "FLAG",
    "HR-6.2": "FLAG",
    "HR-6.5": "FLAG",
    "HR-6.3": "HOLD",
    "HR-7.1": "HOLD",
    "HR-7.2": "FLAG",
    "HR-9.3": "FLAG",
    "HR-11.1": "INFO",
    "HR-11.9": "FLAG",
    "HR-12.2": "FLAG",
    "HR-12.7": "FLAG",
    "HR-12.8": "FLAG",
    "HR-12.9": "FLAG",
    "HR-12.10": "FLAG",
    "HR-12.12": "FLAG",
    "HR-23.1": "INFO",
    "HR-A17": "INFO",
    "HR-A22": "INFO",
    "BG-2.1": "HOLD",
    "BG-2.2": "HOLD",
    "BG-4.4": "BLOCK",
    "BG-5.5": "FLAG",
    "BG-5.14": "FLAG",
    "BG-5.20": "FLAG",
    "BG-5.29": "FLAG",
    "RS-2.4": "FLAG",
    "RS-11.1": "BLOCK",
    "LT-1.4": "FLAG",
    "LT-1.5": "BLOCK",
    "LT-6.5": "FLAG",
    "LT-6.6": "FLAG",
    "LT-6.7": "FLAG",
    "LT-6.9": "FLAG",
    "CM-20": "INFO",
    "CM-22": "FLAG",
}
"""The rules that a person can report broken, and what the house does about it. A BLOCK bars the next hand."""
HELD = {
    "HR-6.3": ("I-28", "strange_chip"),
    "HR-7.1": ("I-9", "house_hand"),
    "BG-2.1": ("I-9", "house_hand"),
    "BG-2.2": ("I-43", "house_take"),
}
"""What is reported with HOLD: the incident's code, and its breach key."""
SHAPE = re.compile(r"(HR|BG|RS|LT|CM)-(A?\d+[a-z]?|\d+\.\d+)")


def _rules(out: Out, command: Command) -> list[str]:
    """The rules that a command names: ``rule``, or a list ``rules``. Only those of this table's text."""
    given = command.args.get("rules")
    rules = [words.text(command, "rule")] if given is None else given
    if not isinstance(rules, list) or not 0 < len(rules) <= 32:
        raise BadCommand("rules", given, "give a list of rule ids")
    family = out.setup.profile.family
    for rule in rules:
        match = SHAPE.fullmatch(rule) if isinstance(rule, str) else None
        if match is None or match[1] not in (family, "CM"):
            raise BadCommand("rule", rule, f"name a rule of this table's text ({family}-1.1) or a common one (CM-1)")
    return list(rules)


def attest(out: Out, command: Command) -> None:
    """``attest``: rule or rules, statement?, scope?, shows?: a person's word for what no sensor sees (rules.md 9.4).

    ``shows`` with HR-20.2: the amounts on the sign; where they are not those of the table, nothing is attested.
    """
    rules = _rules(out, command)
    if rules == ["LT-2.2"]:
        stakes.announce(out, command)
        return
    scope = words.choice(command, "scope", ("shift", "hand"), "shift")
    statement = command.args.get("statement", "done")
    if not isinstance(statement, str) or not re.fullmatch(r"[a-z0-9_]{1,64}", statement):
        raise BadCommand("statement", statement, "give a key of small letters, for example done")
    if "HR-20.2" in rules and not _sign_agrees(out, command):
        return
    data: Data = {"rules": rules, "statement": statement, "scope": scope, "by": person(command), "basis": "attested"}
    out.emit("play", "attestation.recorded", out.setup.table, data)


def _sign_agrees(out: Out, command: Command) -> bool:
    """Whether the sign at the table shows the blinds that are played (HR-20.2)."""
    shows = command.args.get("shows")
    if shows is None:
        return True
    if not isinstance(shows, dict):
        raise BadCommand("shows", shows, "give small_blind and big_blind as they stand on the sign")
    inner = Command("shows", shows)
    small, big = words.whole(inner, "small_blind", 0), words.whole(inner, "big_blind", 0)
    limits = out.state.limits
    if (small, big) == (limits.small_blind, limits.big_blind):
        return True
    asked = f"the sign shows {small}/{big}; the table plays {limits.small_blind}/{limits.big_blind}"
    out.breach("display_differs", "FLAG", asked)
    return False


def report(out: Out, command: Command) -> None:
    """``report``: rule, seat?, what?: a person saw that a rule is broken that no sensor watches (rules.md 9.4)."""
    rule = _rules(out, command)[0]
    if rule not in REPORTABLE:
        own = [known for known in REPORTABLE if known.startswith((out.setup.profile.family, "CM"))]
        raise BadCommand("rule", rule, f"this one the table sees by itself; what can be reported: {', '.join(own)}")
    seat = words.seat(out, command) if command.args.get("seat") is not None else None
    asked = command.reason or f"{command.by} saw that {rule} was not kept"
    if rule in HELD:
        code, key = HELD[rule]
        holds, seats = "hand" if out.state.play is not None else "table", () if seat is None else (seat,)
        void = ("void",) if out.state.play is not None else ()
        facts = {"reported_by": person(command), "asked": asked}
        incidents.open_one(
            out, code, key, key, holds=holds, proposed="play_on", alternatives=void, seats=seats, facts=facts
        )
        return
    more: Data = {"reported": True, "by": person(command)}
    out.breach("reported", REPORTABLE[rule], asked, seat=seat, rules=[rule], basis="attested", more=more)


def override(out: Out, command: Command) -> None:
    """``override``: rule or rules, until? (``hand`` ``shift`` ``session``): play goes on against a BLOCK.

    By a person who may rule, with a reason; it is on record (CM-23).
    """
    rules = _rules(out, command)
    until = words.choice(command, "until", ("hand", "shift", "session"), "hand")
    known = conditions.overridable(out)
    for rule in rules:
        if rule not in known:
            may = ", ".join(sorted(known)) or "none at this table"
            raise BadCommand("rule", rule, f"no person can set this aside; what can be: {may}")
    if command.role not in out.setup.profile.may_rule:
        asked = f"{' or '.join(out.setup.profile.may_rule)} may, not {command.role or 'somebody without a role'}"
        out.breach("may_not_override", "BLOCK", asked)
        return
    if not command.reason:
        raise BadCommand("reason", "", "say in a few words why: an override is recorded with its reason")
    data: Data = {"rules": rules, "reason": command.reason, "by": person(command), "until": until}
    out.emit("play", "override.used", out.setup.table, data | {"basis": "attested"})
