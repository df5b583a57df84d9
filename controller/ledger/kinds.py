"""Which kind of value each column of a ledger holds: looked at in one place, wherever a file is read.

The schema says it too (``STRICT``), and that binds no damaged file: a page in the place of another, or a person with an
editor, puts anything anywhere. Columns go by their name. Where that means two kinds, a query names the table with it:
``hand_key.sealed`` beside ``head.sealed``, and a ``withheld.body`` that is not there in a join.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

_NULL = type(None)
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("row", "sequence", "acked", "seq", "user_version"), (int,)),
    **dict.fromkeys(("stream", "type", "name", "value", "sha256", "sealed", "signature", "form", "heads"), (str,)),
    **dict.fromkeys(("hand", "key"), (str, _NULL)),
    **dict.fromkeys(("body", "mac"), (bytes,)),
    **dict.fromkeys(("secret", "restart", "hand_key.sealed", "withheld.body"), (bytes, _NULL)),
}
_WORDS = {int: "a number", float: "a broken number", str: "a text", bytes: "bytes", _NULL: "nothing"}


def wrong(names: Iterable[str], values: Iterable[Any]) -> str | None:
    """What is of another kind than the columns of these names hold, in words; ``None`` where nothing is."""
    for name, value in zip(names, values, strict=True):
        if type(value) not in _KINDS.get(name, _WORDS):
            return f"{name} holds {_WORDS[type(value)]} and not {_WORDS[_KINDS[name][0]]}"
    return None


def held(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The ``row_factory`` of each connection to a ledger. Raises ``sqlite3.DatabaseError``, as for a broken page."""
    # Each row that is read comes by here: no list is made of the names.
    for column, value in zip(cursor.description, values, strict=False):
        if type(value) not in _KINDS.get(column[0], _WORDS):
            raise sqlite3.DatabaseError(f"its {wrong([column[0]], [value])}")
    return values


def anything(connection: sqlite3.Connection) -> sqlite3.Cursor:
    """A cursor for who tells what is wrong row by row: it gives whatever stands there."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor
