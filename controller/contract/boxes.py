"""The events of Ultimate: boxes against the house. Part of the catalogue, which reads it."""

from controller.contract.schema import (
    ANY,
    BOOL,
    CARD,
    CATEGORY,
    COUNT,
    FRACTION,
    KEY,
    MAP,
    MONEY,
    PERSON,
    RULES,
    SEAT,
    TEXT,
    Schema,
    known,
    many,
    obj,
    one,
    some,
)

_SPOT = one("ante", "blind", "trips", "play")
_CHIPS = many(obj({"class": one("value", "colour", "promo"), "denomination": MONEY, "count": COUNT}))
_STAGE = one("before_deal", "decision_1", "decision_2", "decision_3")
_BET = {
    "box": SEAT,
    "spot": _SPOT,
    "amount": MONEY,
    # Ours: what lies on the spot from now on. ``amount`` is all of it in bet.placed, what went in bet.withdrawn.
    "lies": MONEY,
    "chips": _CHIPS,
    "stage": _STAGE,
    "multiple?": FRACTION,
    "locked": BOOL,
}
_STAKED = obj({"box": SEAT, "player?": TEXT, "dark": BOOL, "owner_seen_box?": SEAT, "stakes": MAP, "folded?": BOOL})
_ALLOWED = many(obj({"kind": KEY, "min?": known(MONEY), "max?": known(MONEY)}))
_SHOWN = {"cards": some(CARD, 2), "best": some(CARD, 5), "category": CATEGORY}
_SETTLED = {
    "box": SEAT,
    "against": one("win", "lose", "tie", "fold"),
    "lines": many(
        obj(
            {
                "spot": _SPOT,
                "stake": MONEY,
                "outcome": one("win", "lose", "push", "returned"),
                "odds?": FRACTION,
                "pays": MONEY,
                "net": MONEY,
                # Ours: what rounding kept, luck chips that were taken, what the limit of a box cut.
                "left?": FRACTION,
                "taken?": MONEY,
                "capped?": MONEY,
            }
        )
    ),
    "stake": MONEY,
    "returned": MONEY,
    "house_net": MONEY,
    "promo_stake": MONEY,
    "rounding_left": MONEY,
}
_READING = known(one("push", "settle"))
_SWITCHES = obj(
    {
        "dealer_not_qualified": obj({"ante": _READING, "play": _READING, "blind": _READING}),
        "fold_trips": known(one("lost", "settled")),
    }
)

STARTED: dict[str, Schema] = {
    "game?": one("holdem", "omaha", "ultimate"),
    "boxes?": many(_STAKED),
    "paytables?": obj({"trips": KEY, "blind": KEY}),
    "switches?": _SWITCHES,
    "pit_boss?": known(PERSON),
}
"""What ``hand.started`` says of a round of boxes."""

RESULT = obj(
    {
        "revision": COUNT,
        "board": many(CARD),
        "dealer": known(obj(_SHOWN | {"qualified": BOOL})),
        "boxes": many(obj(_SETTLED)),
        "house_net": MONEY,
    }
)
"""The result of a round."""

BETWEEN: dict[str, dict[str, Schema]] = {
    "boxes.announced": {"boxes": many(SEAT), "valid": one("until_changed", "one_round"), "by": PERSON, "rules?": RULES},
}
"""Events that belong to no round."""

ROUND: dict[str, dict[str, Schema]] = {
    "bet.placed": _BET,
    "bet.withdrawn": _BET,
    "bet.refused": {
        "box": SEAT,
        "spot": _SPOT,
        "amount": MONEY,
        "rules": RULES,
        "allowed": _ALLOWED,
        "excess?": MONEY,
        "why?": TEXT,
    },
    "box.decided": {
        "box": SEAT,
        "decision": COUNT,
        "kind": one("check", "play", "fold", "dark"),
        "amount": MONEY,
        "multiple?": known(FRACTION),
        "locked": BOOL,
    },
    # Ours: the dealer takes back an entry; the box is asked again.
    "box.undone": {"box": SEAT, "decision": COUNT, "refers": COUNT},
    "dealer.revealed": _SHOWN | {"qualified": BOOL, "rules": RULES},
    "box.revealed": {"box": SEAT} | _SHOWN,
    # Ours: what lies on a spot while the dealer takes and pays.
    "spot.counted": {"box": SEAT, "spot": _SPOT, "amount": MONEY, "expected": known(MONEY), "agrees": BOOL},
    "box.settled": _SETTLED | {"switches": _SWITCHES, "paid": known(MONEY), "agrees": known(BOOL)},
}
"""Events of a round, stakes before the deal included."""

CASH: dict[str, dict[str, Schema]] = {
    "payout.made": {"box": SEAT, "amount": MONEY, "lines": ANY, "computed": MONEY, "agrees": known(BOOL)},
    "colour.assigned": {"colour": KEY, "player?": TEXT, "box?": SEAT, "value": MONEY, "count": COUNT},
    "colour.released": {"colour": KEY, "player?": TEXT, "box?": SEAT, "value": MONEY, "count": COUNT},
}
"""Chips between tray and boxes."""
