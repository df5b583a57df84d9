"""The catalogue's accounts and devices: what the streams ``cash`` and ``ops`` carry (events.md 5.5 and 5.6)."""

from controller.contract.schema import (
    ANY,
    BOOL,
    COUNT,
    HASH,
    KEY,
    MONEY,
    NUMBER,
    PERSON,
    ROLE,
    SEAT,
    TEXT,
    UUID,
    Schema,
    known,
    many,
    obj,
    one,
)

SOFTWARE = obj({"version": TEXT, "sha256": known(HASH)})
_LINES = many(obj({"class": KEY, "denomination": ANY, "count": COUNT, "amount": MONEY}))
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
    "key.rotated": {
        "old": KEY,
        "new": KEY,
        "valid_from": NUMBER,
        "signed_by_old": TEXT,
        "public_key": HASH,
        "old_public_key?": HASH,
        "signed_by_new": TEXT,
    },
    "device.up": _DEVICE,
    "device.lost": _DEVICE,
    "device.fault": _DEVICE,
    "device.cleared": _DEVICE,
    "device.conflict": _DEVICE,
    "recovery.completed": {
        "gap_ms": known(COUNT),
        "differences": many(ANY),
        "cause?": KEY,
        "incident?": KEY,
        "confirmed_by?": many(PERSON),
    },
    "clock.stepped": {"before": TEXT, "after": TEXT, "step_ms": MONEY, "synced": known(BOOL)},
    "link.lost": _LINK,
    "link.restored": _LINK,
    "test.entered": {"by": ANY, "restored": ANY},
    "test.left": {"by": ANY, "restored": ANY},
}
