"""The catalogue's accounts and devices: what the streams ``cash``, ``guard`` and ``ops`` carry (events.md 5.5, 5.6)."""

from controller.contract.schema import (
    ANY,
    BOOL,
    COUNT,
    HASH,
    KEY,
    KEY_ID,
    MONEY,
    NUMBER,
    PERSON,
    ROLE,
    SEAT,
    TEXT,
    TIME,
    UUID,
    Schema,
    known,
    many,
    obj,
    one,
    some,
)

SOFTWARE = obj({"version": TEXT, "sha256": known(HASH)})
_LINES = many(obj({"class": KEY, "denomination": ANY, "count": COUNT, "amount": MONEY}))
_SLIP = {"slip": KEY, "number": COUNT, "kind": one("fill", "credit"), "lines": _LINES, "total": MONEY}
_BOX = {
    "box": TEXT,
    "computed": MONEY,
    "counted": known(MONEY),
    # Ours: the box was taken from the table now; else it was taken away before and is counted now.
    "emptied": BOOL,
}
_BY_PLACE: Schema = {"type": "object", "additionalProperties": MONEY}
_CHIPS = {
    "place": KEY,
    "denomination": known(MONEY),
    "value": known(MONEY),
    "case": KEY,
    "tags": many({"type": "string", "pattern": "^[0-9A-F]+$"}),
}
_LINK = {
    "since": TEXT,
    "queued": COUNT,
    "range": {"type": "object", "additionalProperties": obj({"from": NUMBER, "to": NUMBER})},
    "cause?": TEXT,
}
_DEVICE = {
    "device": KEY,
    "role": ANY,
    "kind?": KEY,
    "model?": TEXT,
    "serial?": TEXT,
    "firmware?": TEXT,
    "path?": TEXT,
    "cause?": TEXT,
    "since_ms?": COUNT,
    "hand?": known(KEY),
    "attempt?": COUNT,
    "ignored?": COUNT,
    "counts?": obj({"crc?": COUNT, "resync?": COUNT, "dropped?": COUNT, "timeouts?": COUNT}),
}

CASH: dict[str, dict[str, Schema]] = {
    "tray.counted": {
        "count": ANY,
        "number?": COUNT,
        "reason": one("open", "close", "shift", "fill", "credit", "spot_check"),
        "lines": _LINES,
        "total": MONEY,
        "expected": known(MONEY),
        "variance": known(MONEY),
        "method": one("rfid", "manual", "both"),
        "unread": COUNT,
    },
    "chips.bought": {
        "seat?": SEAT,
        "box?": SEAT,
        "amount": MONEY,
        "means": one("cash", "chips", "voucher", "marker"),
        "lines?": _LINES,
        "when": one("between_hands", "deferred"),
        "stack_after": known(MONEY),
    },
    "chips.redeemed": {
        "seat?": SEAT,
        "box?": SEAT,
        "amount": MONEY,
        "means": one("cash", "chips", "voucher", "marker"),
        "lines?": _LINES,
        "place?": one("desk", "table"),
        "when": one("between_hands", "deferred"),
        "stack_after": known(MONEY),
    },
    "chips.changed": {"given": _LINES, "taken": _LINES, "seat?": SEAT},
    "tray.differs": {
        "lines": many(obj({"denomination": ANY, "expected": COUNT, "seen": COUNT})),
        "last_place_seen": known(KEY),
        "incident": known(KEY),
    },
}

CASH |= {
    "slip.requested": _SLIP
    | {
        "requester": PERSON,
        "signatures": many(PERSON),
        # Ours: what the tray's antenna read at that moment, as (value, count).
        "tray": known(many(some(COUNT, 2))),
    },
    "slip.completed": _SLIP | {"signatures": some(PERSON, 2), "requester?": PERSON},
    "slip.cancelled": _SLIP | {"reason": TEXT, "signatures": many(PERSON), "requester?": PERSON},
    "drop.collected": _BOX,
    "rake.collected": _BOX,
    "tips.collected": _BOX,
    "orphan.found": {"amount": MONEY, "place": KEY},
    "meter.read": {
        "since": TIME,
        "at": TIME,
        "reason": one("hour", "close", "shift", "request"),
        "drop": MONEY,
        "fills": MONEY,
        "credits": MONEY,
        "opener": known(MONEY),
        "closer": known(MONEY),
        "rake": MONEY,
        "tips": MONEY,
        "orphans": MONEY,
        "bets_by_spot": _BY_PLACE,
        "wins_by_spot": _BY_PLACE,
        "hands": COUNT,
        "hands_void": COUNT,
        "through": obj({"play": NUMBER, "cash": NUMBER}),
    },
    "adjustment.recorded": {
        "amount": MONEY,
        "from": KEY,
        "to": KEY,
        "reason": TEXT,
        "refers": TEXT,
        "signatures": some(PERSON, 2),
    },
}

GUARD: dict[str, dict[str, Schema]] = {
    "chip.unknown": _CHIPS,
    "chip.duplicate": _CHIPS,
    "chip.listed": _CHIPS,
    "stack.reduced": {
        "place": KEY,
        "denomination": known(MONEY),
        "value": known(MONEY),
        "case": KEY,
        "booked": MONEY,
        "counted": MONEY,
    },
}

SYSTEM: dict[str, dict[str, Schema]] = {
    "staff.login": {
        "staff": known(TEXT),
        "role": known(ROLE),
        "result": one("ok", "denied", "locked"),
        "place": KEY,
    },
    "daemon.started": {
        "software": SOFTWARE,
        "config_sha256": known(HASH),
        "profile_sha256": known(HASH),
        "boot?": ANY,
        "reason?": TEXT,
        "self_test?": many(ANY),
        "open_hand?": known(KEY),
        "to_confirm?": HASH,
        # Ours: the name of the auditor's key that closed cards are sealed to.
        "auditor_key?": known(KEY_ID),
    },
    "daemon.stopped": {"reason": TEXT, "software?": SOFTWARE, "open_hand?": known(KEY)},
    "ledger.began": {
        "previous": known(
            obj(
                {
                    "ledger": UUID,
                    "heads": {
                        "type": "object",
                        "additionalProperties": obj({"sequence": NUMBER, "sha256": HASH}),
                    },
                }
            )
        ),
        "reason": KEY,
    },
    "ledger.filling": {"used": COUNT, "limit": COUNT, "oldest_unsent": ANY, "new_hands_refused": BOOL},
    "device.up": _DEVICE,
    "device.lost": _DEVICE,
    "device.fault": _DEVICE,
    "device.cleared": _DEVICE,
    "device.conflict": _DEVICE,
    "recovery.completed": {
        "gap_ms": known(COUNT),
        # The events that told what lay otherwise than on record.
        "differences": known(
            many(obj({"event": KEY, "hand?": KEY, "n?": COUNT, "seat?": known(SEAT), "box?": SEAT, "place?": KEY}))
        ),
        "cause?": KEY,
        "incident?": KEY,
        "confirmed_by?": many(PERSON),
        # Ours: places that no antenna had read when it was told.
        "unread?": many(KEY),
        # Ours: a key that may have been pressed before, and of whose press nothing is on record: it is pressed again.
        "again?": obj({"key": KEY, "seats": many(SEAT)}),
    },
    "clock.stepped": {"before": TEXT, "after": TEXT, "step_ms": MONEY, "synced": known(BOOL)},
    "link.lost": _LINK,
    "link.restored": _LINK,
    "test.entered": {"by": ANY, "restored": ANY},
    "test.left": {"by": ANY, "restored": ANY},
}
