"""What stands beside the rows and in no chain: what the file says about itself, and how it counts its rows.

Nothing signs it. But it can only be of certain forms, and a start and the pump build upon it.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping

from controller.contract.following import Fault
from controller.ledger import database, kinds

_NUMBER = re.compile(r"[0-9]{1,18}")
_NAME = re.compile(r"[^\x00-\x1f]{1,255}")
_FORMS: Mapping[str, re.Pattern[str]] = {
    "ledger": _NAME,
    "site": _NAME,
    "table": _NAME,
    "test": re.compile("true|false"),
    "session": _NUMBER,
    "sealed_from": _NUMBER,
    "previous": _NAME,
    "previous_file": re.compile(r"(?!\.)[^/\x00-\x1f]{1,255}"),
    "signing_key": re.compile("[0-9a-f]{16}"),
}
"""What a file says about itself."""
_MOST = 20
"""How many faults of a kind are told: a damaged page can hold anything, and lead back to itself."""


def about(connection: sqlite3.Connection) -> tuple[dict[str, str], list[Fault]]:
    """What the file says about itself as far as it can be read, and what is wrong there.

    Raises ``sqlite3.Error``.
    """
    said: dict[str, str] = {}
    faults: list[Fault] = []
    for name, value in kinds.anything(connection).execute("SELECT name, value FROM meta ORDER BY name"):
        shown = repr(name)[:60]
        if len(faults) == _MOST:
            break
        if what := kinds.wrong(("name", "value"), (name, value)):
            faults.append(_fault(f"changed: what the file says of itself: {shown}: {what}"))
        elif name not in _FORMS or name in said:
            faults.append(_fault(f"inserted: the file says what none says of itself: {shown}"))
        else:
            said[name] = value
            if _FORMS[name].fullmatch(value) is None:
                faults.append(_fault(f"changed: what the file says of itself: {shown} is not of its form"))
    return said, faults


def check(connection: sqlite3.Connection) -> Iterator[Fault]:
    """Whether the file counts as many rows as it has. Raises ``sqlite3.Error``."""
    connection.execute("BEGIN")  # a daemon may be writing
    try:
        (last,), said = (
            connection.execute("SELECT coalesce(max(row), 0) AS row FROM row").fetchone(),
            counted(connection),
        )
    finally:
        connection.execute("ROLLBACK")
    if said > last:
        yield Fault(None, "?", 0, f"removed: rows {last + 1} to {said}, to which the file counts; {database.COPY}")
    elif said < last:
        yield _fault(f"changed: the file counts up to row {said}, and its last row is {last}")


def counted(connection: sqlite3.Connection) -> int:
    """The number of the last row that was ever written, as SQLite counts them; 0 where that is no number.

    Raises ``sqlite3.Error``.
    """
    found = kinds.anything(connection).execute("SELECT seq FROM sqlite_sequence WHERE name = 'row'").fetchone()
    return found[0] if found is not None and isinstance(found[0], int) else 0


def _fault(what: str) -> Fault:
    return Fault(None, "?", 0, f"{what}; {database.RESTORE}")
