"""What is published in the place of rows that the broker refused: whether it was made of them.

It is no event of the chain, so nothing is signed over it; but it follows from the row, all but the cause.
"""

import json
import re
import sqlite3
from collections.abc import Iterator

from controller.contract.envelope import withheld
from controller.contract.errors import ContractError
from controller.contract.following import Fault
from controller.ledger import database, kinds

_CAUSE = re.compile(r"[a-z0-9_]{1,64}")
_AT_ONCE = 500
_ROWS = (
    "SELECT withheld.row, withheld.body, row.stream, row.sequence, row.body AS original "
    "FROM withheld LEFT JOIN row ON row.row = withheld.row WHERE withheld.row > ? ORDER BY withheld.row LIMIT ?"
)


def stands_for(original: bytes, instead: bytes) -> bool:
    """Whether these are the bytes that take the place of an event, for whatever cause."""
    try:
        cause = json.loads(instead)["data"]["cause"]
        return _CAUSE.fullmatch(cause) is not None and withheld(original, cause) == instead
    except (ValueError, KeyError, TypeError, RecursionError, ContractError):
        return False


def check(connection: sqlite3.Connection) -> Iterator[Fault]:
    """What stands in the place of a row and was not made of it. Raises ``sqlite3.Error``."""
    after = -(2**63)
    while rows := kinds.anything(connection).execute(_ROWS, (after, _AT_ONCE)).fetchall():
        for row, instead, stream, sequence, original in database.ascending(rows, after):
            if what := kinds.wrong(("body",), (instead,)):
                yield Fault(row, "?", 0, f"damaged: what would be published in its place: {what}; {database.RESTORE}")
            elif original is None:
                yield Fault(row, "?", 0, "inserted: it would be published in the place of a row that is not there")
            elif kinds.wrong(("stream", "sequence", "body"), (stream, sequence, original)):
                pass  # the row itself is told
            elif not stands_for(original, instead):
                what = "changed: what would be published in its place is not made of it; the row itself is published"
                yield Fault(row, stream, sequence, what)
            after = row
