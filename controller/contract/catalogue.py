"""The catalogue: every event type we publish, its stream and what its ``data`` holds.

The table is the one place where a field is defined. The JSON Schemas, the AsyncAPI document and the checks of the
rehearsal are made from it. Fields are only ever added; a new field raises the minor version in ``VERSIONS``.
"""

from controller.contract import boxes
from controller.contract.books import CASH, GUARD, SOFTWARE, SYSTEM
from controller.contract.schema import (
    ANY,
    BOOL,
    CARD,
    CATEGORY,
    COUNT,
    EVIDENCE,
    FRACTION,
    HASH,
    KEY,
    KEY_ID,
    MAP,
    MONEY,
    NUMBER,
    PERSON,
    ROLE,
    RULES,
    SALT,
    SEAT,
    SHARES,
    TEXT,
    TIME,
    Schema,
    known,
    many,
    obj,
    one,
    some,
)
from controller.contract.trouble import SILENT, TROUBLE

VERSIONS: dict[str, str] = {}
"""Types whose schema is not 1.0 any more."""


def version_of(kind: str) -> str:
    """Major and minor version of the schema we write for a type."""
    return VERSIONS.get(kind, "1.0")


_BASIS = {"basis": one("sensor", "keyed", "attested", "derived"), "evidence?": EVIDENCE, "degraded?": BOOL}
_HAND = {"hand": KEY, "n": COUNT, "t_ms?": COUNT} | _BASIS
_PERHAPS_HAND = {"hand?": KEY, "n?": COUNT, "t_ms?": COUNT} | {
    f"{name.removesuffix('?')}?": _BASIS[name] for name in _BASIS
}
_RETURNED = many(obj({"seat?": SEAT, "box?": SEAT, "spot?": KEY, "amount": MONEY}))
_POTS = many(obj({"pot": COUNT, "amount": MONEY, "eligible": many(SEAT)}))
_AWARDS = many(
    obj(
        {
            "pot": COUNT,
            "amount": MONEY,
            "rake": MONEY,
            "eligible": many(SEAT),
            "winners": SHARES,
            "odd": SHARES,
            "by": one("hand", "last"),
        }
    )
)
_RESULT = obj(
    {
        "revision": COUNT,
        "board": many(CARD),
        "seats": many(
            obj(
                {
                    "seat": SEAT,
                    "in": MONEY,
                    "out": MONEY,
                    "net": MONEY,
                    "stack_after": known(MONEY),
                    "tabled?": many(CARD),
                }
            )
        ),
        "pots": _AWARDS,
        "rake": MONEY,
        "tips": MONEY,
        "winners": ANY,
    }
)
_PLACE = {"slot": COUNT, "place": one("seat", "box", "dealer", "board", "burn"), "seat?": SEAT, "box?": SEAT}
_STREET = one("preflop", "flop", "turn", "river")
_CASH = {"currency": ANY, "shift": KEY, "by": many(PERSON)}
_SEATING = {"seat": SEAT, "player?": TEXT, "age_and_identity_checked_by?": PERSON, "owed?": ANY}

TABLE: dict[str, dict[str, Schema]] = {
    "table.opened": {
        "game": one("holdem", "omaha", "ultimate"),
        "profile": obj({"name": KEY, "version": TEXT, "sha256": HASH, "language": KEY}),
        "approvals": many(MAP),
        "currency": obj({"code": KEY, "exponent": COUNT}),
        "shift": KEY,
        "limits": MAP,
        "rake?": known(obj({"id": KEY, "rate": FRACTION, "cap": known(MONEY), "rounding": ANY, "no_flop": ANY})),
        "seats?": ANY,
        "boxes?": ANY,
        "chipset": obj({"id": KEY, "denominations": many(obj({"id": KEY, "class": KEY, "value": known(MONEY)}))}),
        "deck": KEY,
        "capabilities": many(KEY),
        "software": SOFTWARE,
        "opener": known(TEXT),
        "staff": many(PERSON),
        # Ours: when, so that meters know since when they run.
        "at?": TIME,
    },
    "table.closed": {
        "closer": known(TEXT),
        "hands": COUNT,
        "hands_void": COUNT,
        "incidents_open": COUNT,
        "by": many(PERSON),
    },
    "settings.changed": {
        "old": ANY,
        "new": ANY,
        "reason": TEXT,
        "by": PERSON,
        # Of a new configuration: the two persons that it needs.
        "approval?": obj({"of": KEY, "by": many(obj({"staff": TEXT, "role?": ROLE}))}),
        "from_hand?": known(KEY),
        "lapses?": RULES,
        "at?": TIME,
    },
    "staff.assigned": {"by": PERSON, "function": ROLE, "relieves?": known(PERSON), "count?": ANY},
    "staff.relieved": {"by": PERSON, "function": ROLE, "count?": ANY},
    "deck.verified": {"deck": KEY, "count": COUNT, "ok": BOOL, "before": ANY, "method": KEY, "by": PERSON},
    "deck.changed": {
        "old": known(KEY),
        "new": KEY,
        "reason": one("schedule", "requested", "fouled", "marked", "damaged"),
        "by": PERSON,
    },
    "button.placed": {
        "seat": SEAT,
        "how": one("draw", "moved", "corrected"),
        "draw?": many(obj({"seat": SEAT, "card": CARD})),
        "rules?": RULES,
    },
    "seat.taken": _SEATING,
    "seat.left": _SEATING,
    "seat.away": _SEATING,
    "seat.back": _SEATING | {"waits?": BOOL},
    # Within a hand it is part of that hand's result; without one it came out of the stack between hands.
    "tip.given": {"seat?": SEAT, "amount": MONEY, "to": one("dealer_box")},
    "attestation.recorded": {
        "rules": RULES,
        "statement": KEY,
        "scope": one("shift", "hand"),
        "by": known(PERSON),
        "sha256?": HASH,
        "cut_by?": one("player", "dealer", "inspector", ""),
    },
}

HAND: dict[str, dict[str, Schema]] = {
    "hand.started": {
        "number": COUNT,
        "profile": obj({"sha256": HASH}),
        "structure?": KEY,
        "limits": MAP,
        "button?": known(SEAT),
        "seats?": many(
            obj(
                {
                    "seat": SEAT,
                    "player?": TEXT,
                    "stack": known(MONEY),
                    "dealt_in": BOOL,
                    "owes?": MONEY,
                    "posts?": many(obj({"kind": one("missed_live", "missed_dead"), "amount": MONEY})),
                    "missed?": many(one("small", "big")),
                }
            ),
        ),
        "small_blind_seat?": known(SEAT),
        "small_blind_place?": SEAT,
        "big_blind_seat?": SEAT,
        "own_cards?": COUNT,
        "unit?": MONEY,
        "burns?": COUNT,
        "deck": known(KEY),
        "shuffled": known(BOOL),
        "cut": known(obj({"done": BOOL, "by": ANY})),
        "dealer": known(PERSON),
        "inspector?": known(PERSON),
        "replaces?": KEY,
    }
    | boxes.STARTED,
    "blind.posted": {
        "seat": SEAT,
        "kind": one("small", "big", "ante", "big_blind_ante", "straddle", "missed_live", "missed_dead"),
        "amount": MONEY,
        "due": MONEY,
        "all_in": BOOL,
    },
    "card.dealt": _PLACE | {"face": one("closed", "open"), "commit?": HASH},
    "card.opened": _PLACE
    | {
        "card": CARD,
        "salt?": SALT,
        "named?": BOOL,
        "cause": one("street", "tabled", "all_in", "dealer", "exposed_by_dealer", "exposed_by_player", "premature"),
    },
    "action.taken": {
        "street": _STREET,
        "seat": SEAT,
        "kind": one("fold", "check", "call", "bet", "raise"),
        "all_in": BOOL,
        "added": MONEY,
        "to": MONEY,
        "call_before": MONEY,
        "pot_before": MONEY,
        "raise_no?": COUNT,
        "full_raise?": BOOL,
        "min_next?": known(MONEY),
        "increment?": MONEY,
        "stack_after": known(MONEY),
        "declared?": obj({"kind": KEY, "number?": known(MONEY)}),
        "movements?": COUNT,
        "read_as?": ANY,
        "in_turn": BOOL,
        "elapsed_ms?": COUNT,
    },
    # Ours: the dealer takes back an entry. Whoever keeps a round's stakes sets the seat to ``to``.
    "action.undone": {
        "seat": SEAT,
        "kind": one("fold", "check", "call", "bet", "raise"),
        "refers": COUNT,
        "to": MONEY,
    },
    "bet.returned": {
        "seat": SEAT,
        "amount": MONEY,
        "cause": one("uncalled", "string_bet", "irregular", "change", "voided"),
    },
    "street.closed": {"street": _STREET, "stakes": SHARES, "pots": _POTS, "next": known(KEY)},
    "street.opened": {
        "street": _STREET,
        "cards": many(CARD),
        "board": many(CARD),
        "burned": BOOL,
        "to_act": known(SEAT),
    },
    "showdown.started": {"order": many(SEAT), "must_show": many(SEAT), "may_muck": many(SEAT), "pots": _POTS},
    "hand.turned": {"seat": SEAT, "cards": COUNT},
    "hand.tabled": {
        "seat": SEAT,
        "cards": many(CARD),
        "best?": some(CARD, 5),
        "category?": CATEGORY,
        "royal?": BOOL,
        "own_used?": ANY,
    },
    "hand.mucked": {"seat": SEAT, "cause": one("fold", "muck", "killed", "left"), "rules?": RULES},
    "award.computed": {"pots": _AWARDS},
    "winner.announced": {"seats": many(SEAT), "agrees": BOOL},
    "rake.taken": {
        "computed": MONEY,
        "dropped": known(MONEY),
        "base": MONEY,
        "rate": FRACTION,
        "cap": known(MONEY),
        "rounded": ANY,
        "mode?": one("down", "nearest", "up"),
        "box?": KEY,
        "by_pot": many(ANY),
        "exempt?": ANY,
        "agrees": known(BOOL),
    },
    "award.paid": {"pot": COUNT, "seat": SEAT, "amount": known(MONEY), "agrees": known(BOOL)},
    "hand.closed": {
        "result": {"anyOf": [_RESULT, boxes.RESULT]},
        "incidents": many(KEY),
        "breaches": many(ANY),
        "degraded": BOOL,
        "duration_ms": COUNT,
        "actions": COUNT,
    },
    # Ours: ``moves``, what the new result gives to another place than the one before.
    "hand.corrected": {
        "result": {"anyOf": [_RESULT, boxes.RESULT]},
        "refers": TEXT,
        "incident": KEY,
        "by": many(PERSON),
        "moves?": many(obj({"from": KEY, "to": KEY, "amount": MONEY})),
    },
    "hand.voided": {"cause": KEY, "incident?": KEY, "returned": _RETURNED, "rake": MONEY, "by": ANY},
    "hand.redealt": {"old": KEY, "new": KEY, "kept": ANY, "seats?": ANY, "incident?": KEY, "rules": RULES},
    "hand.final": {
        "revision": COUNT,
        "refers": TEXT,
        "reason": one("next_hand", "table_closed", "ruled"),
    },
}

ANY_STREAM: dict[str, dict[str, Schema]] = {
    "ledger.signed": {
        "head": obj({"sequence": NUMBER, "sha256": HASH}),
        "key": KEY_ID,
        "signature": {"type": "string", "pattern": "^[0-9a-f]{128}$"},
    },
    "key.rotated": {
        "old": KEY,
        "new": KEY,
        "valid_from": NUMBER,
        "signed_by_old": TEXT,
        "public_key": HASH,
        "old_public_key?": HASH,
        "signed_by_new": TEXT,
    },
    "record.withheld": {"original_type": KEY, "original_sha256": HASH, "cause": KEY},
}

STREAMS_OF: dict[str, tuple[str, ...]] = (
    dict.fromkeys(TABLE | HAND | TROUBLE | boxes.BETWEEN | boxes.ROUND, ("play",))
    | dict.fromkeys(CASH | boxes.CASH, ("cash",))
    | dict.fromkeys(SYSTEM, ("ops",))
    | dict.fromkeys(GUARD, ("guard",))
    | dict.fromkeys(SILENT, ("play", "guard"))
    | dict.fromkeys(ANY_STREAM, ("play", "cash", "ops", "guard"))
)
"""In which streams a type may stand."""

DATA: dict[str, Schema] = {
    kind: obj(common | fields)
    for common, types in (
        (_PERHAPS_HAND, TABLE),
        (_HAND, HAND | boxes.ROUND),
        (_PERHAPS_HAND, TROUBLE | boxes.BETWEEN),
        (_CASH | _PERHAPS_HAND, CASH | boxes.CASH),
        ({}, SYSTEM),
        (_BASIS, GUARD),
        ({}, ANY_STREAM),
    )
    for kind, fields in types.items()
}
"""The schema of ``data`` by type."""
