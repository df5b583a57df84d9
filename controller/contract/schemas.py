"""JSON Schemas of whole events, made from the catalogue."""

from controller.contract.catalogue import DATA, STREAMS_OF, version_of
from controller.contract.schema import (
    ANY,
    BOOL,
    CARD,
    COUNT,
    DAY,
    HASH,
    KEY,
    MONEY,
    NUMBER,
    SEAT,
    SHARES,
    TEXT,
    TIME,
    UUID,
    Schema,
    known,
    many,
    obj,
    one,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAME = "[a-z0-9-]{1,32}"


SNAPSHOT = obj(
    {
        "ledger": UUID,
        "sequence": NUMBER,
        "test": BOOL,
        "game": one("holdem", "omaha", "ultimate"),
        "session": known(TEXT),
        "gamingday": TEXT,
        "shift": TEXT,
        "hands": COUNT,
        "hands_void": COUNT,
        "button?": known(SEAT),
        "seats": many(obj({"seat": SEAT, "player?": TEXT, "stack": known(MONEY), "away": BOOL})),
        "boxes?": many(SEAT),
        "hand": known(
            obj(
                {
                    "hand": KEY,
                    "n": COUNT,
                    "board": many(known(CARD)),
                    "phase": KEY,
                    "street?": KEY,
                    "pot?": MONEY,
                    "to_act?": known(SEAT),
                    "live?": many(SEAT),
                    "bets?": SHARES,
                    "boxes?": many(SEAT),
                }
            )
        ),
        "final": BOOL,
        "incidents": many(obj({"incident": KEY, "code": KEY, "holds": KEY})),
    }
)
"""The retained ``snapshot``: the table up to event ``sequence`` of ``play``. ``final``: no result can be disputed."""


def envelope_schema() -> Schema:
    """What all events have in common."""
    return obj(
        {
            "specversion": {"const": "1.0"},
            "id": TEXT,
            "source": TEXT,
            "type": TEXT,
            "time": TIME,
            "subject?": TEXT | {"minLength": 1},
            "datacontenttype": one("application/json"),
            "dataschema": TEXT,
            "sequence": NUMBER,
            "ledger": UUID,
            "row": NUMBER,
            "gamingday": DAY,
            "session?": TEXT,
            "test": BOOL,
            "prev": HASH,
            "data": ANY,
        }
    )


def own_schema(kind: str) -> Schema:
    """What one type adds to the envelope. Raises ``KeyError`` for a type that is not in the catalogue."""
    streams = "|".join(STREAMS_OF[kind])
    return obj(
        {
            "id": {"type": "string", "pattern": rf"^[0-9a-f-]{{36}}/({streams})/[0-9]{{16}}$"},
            "source": {"type": "string", "pattern": f"^/felt/{NAME}/{NAME}/({streams})$"},
            "type": {"const": kind},
            "dataschema": {"const": f"urn:felt:schema:{kind}:{version_of(kind)}"},
            "data": DATA[kind],
        }
    )


def event_schema(kind: str) -> Schema:
    """The complete schema of one event type, to stand alone."""
    urn = f"urn:felt:schema:{kind}:{version_of(kind)}"
    return {"$schema": DIALECT, "$id": urn, "title": kind, "allOf": [envelope_schema(), own_schema(kind)]}
