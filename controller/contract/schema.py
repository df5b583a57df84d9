"""A short way to write JSON Schema: the words that the catalogue of events is made of."""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

LIMIT = 2**53 - 1
"""The largest number that every JSON reader keeps exact."""

ANY: Schema = {}
BOOL: Schema = {"type": "boolean"}
TEXT: Schema = {"type": "string"}
KEY: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_.:/-]+$"}
MONEY: Schema = {"type": "integer", "minimum": -LIMIT, "maximum": LIMIT}
COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": LIMIT}
SEAT: Schema = {"type": "integer", "minimum": 1, "maximum": 99}
CARD: Schema = {"type": "string", "pattern": "^[2-9TJQKA][cdhs]$"}
HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
KEY_ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{16}$"}
SALT: Schema = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
NUMBER: Schema = {"type": "string", "pattern": "^[0-9]{16}$"}
TIME: Schema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$"}
DAY: Schema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
UUID: Schema = {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}
MAP: Schema = {"type": "object"}


def one(*keys: str) -> Schema:
    """One of the words listed."""
    return {"type": "string", "enum": list(keys)}


def many(item: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": item}


def some(item: Schema, low: int, high: int | None = None) -> Schema:
    """A list of ``low`` to ``high`` items, of exactly ``low`` without ``high``."""
    return many(item) | {"minItems": low, "maxItems": low if high is None else high}


def known(schema: Schema) -> Schema:
    """A value that exists and may not be known: ``null`` then, never 0."""
    return {"anyOf": [schema, {"type": "null"}]}


def obj(fields: Mapping[str, Schema]) -> Schema:
    """An object. A name that ends in ``?`` may be absent; what is not named is allowed and not described."""
    required = [name for name in fields if not name.endswith("?")]
    schema: Schema = {"type": "object", "properties": {name.removesuffix("?"): value for name, value in fields.items()}}
    return schema | {"required": required} if required else schema


RULES = many({"type": "string", "pattern": "^[A-Z][A-Za-z0-9.-]*$"})
ROLE = one("dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician")
PERSON = obj({"staff": TEXT, "role": ROLE})
SHARES = many(obj({"seat": SEAT, "amount": MONEY}))
FRACTION = obj({"num": MONEY, "den": COUNT})
EVIDENCE = many(obj({"device": KEY, "reading": TEXT}))
CATEGORY = one(
    "high_card",
    "pair",
    "two_pair",
    "three",
    "straight",
    "flush",
    "full_house",
    "four",
    "straight_flush",
    "royal_flush",
)
