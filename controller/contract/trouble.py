"""The catalogue's breaches and incidents (events.md 5.4): what was against a rule, and what a person has to rule on."""

from controller.contract.schema import (
    ANY,
    BOOL,
    COUNT,
    KEY,
    MAP,
    MONEY,
    PERSON,
    ROLE,
    RULES,
    SEAT,
    SHARES,
    TEXT,
    TIME,
    Schema,
    known,
    many,
    obj,
    one,
)

TROUBLE: dict[str, dict[str, Schema]] = {
    "action.refused": {
        "seat?": known(SEAT),
        "tried": obj({"kind": KEY, "to?": known(MONEY)}),
        "rules": RULES,
        "allowed": many(obj({"kind": KEY, "min?": known(MONEY), "max?": known(MONEY)})),
        # What was said out of turn and binds while the action to the seat does not change.
        "early?": obj({"kind": KEY, "to": MONEY, "level": MONEY, "sensed": BOOL}),
    },
    "breach.noted": {
        "rules": RULES,
        "reaction": one("FLAG", "INFO", "BLOCK", "HOLD"),
        "seat?": known(SEAT),
        "box?": SEAT,
        "what": KEY,
        "asked?": ANY,
        "allowed_now?": many(ANY),
        "reported?": BOOL,
        "by?": PERSON,
        "repeat": COUNT,
    },
    "incident.opened": {
        "incident": KEY,
        "code": {"type": "string", "pattern": "^I-[0-9]+$"},
        "rules": RULES,
        "severity": one("low", "high", "stop"),
        "phase?": known(KEY),
        "sa?": known(BOOL),
        "holds": one("seat", "hand", "table", "none"),
        "seats?": many(SEAT),
        "boxes?": many(SEAT),
        "kind": KEY,
        "facts": MAP,
        "proposed?": known(obj({"ruling": KEY, "effects?": SHARES})),
        "alternatives?": many(ANY),
        "signatures_needed": COUNT,
        "who_may_rule": many(ROLE),
        "due_ms?": COUNT,
        # Ours: when, so that what is due counts on after a restart.
        "at?": TIME,
    },
    "incident.updated": {"incident": KEY, "adds": MAP, "severity?": one("low", "high", "stop")},
    "incident.ruled": {
        "incident": KEY,
        "ruling": KEY,
        "follows_proposal": BOOL,
        "against_rules": RULES,
        "reason": TEXT,
        "by": many(PERSON),
        "signatures": ANY,
    },
    "incident.closed": {
        "incident": KEY,
        "outcome": one("resumed", "corrected", "voided", "redealt", "noted"),
        "held_ms": known(COUNT),
        "refers?": many(TEXT),
    },
    "override.used": {"rules": RULES, "reason": TEXT, "by": ANY, "until": ANY},
}

SILENT = ("incident.opened", "incident.updated", "incident.ruled", "incident.closed")
"""What stands in ``guard`` where only surveillance may know of it: fraud with chips (I-29)."""
