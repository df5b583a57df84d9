"""Whether the file under the rows is whole: the pages of each table, and its indexes against it.

A start reads by the indexes, so a file whose rows are all well can still be one that no daemon starts on.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

from controller.contract.following import Fault
from controller.ledger import database

MOST = 20
"""How many faults of this kind are told of a table."""
_STEPS = 5_000
"""After so many steps of SQLite the caller is asked whether to go on: some tens of rows."""
_INDEX = (" missing from index ", "wrong # of entries in index ")
"""What SQLite says where the table is well and an index is not its own: it can be built anew."""


def schema(connection: sqlite3.Connection) -> Iterator[Fault]:
    """Whether the file has the tables and indexes of the schema that it names: a start goes by that number."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    steps = database.steps()
    if not 1 <= version <= max(steps):
        what = f"schema {version} is none of this program's, 1 to {max(steps)}; {database.NEWER}"
        yield Fault(None, "?", 0, what)
        return
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        made.executescript("".join(step for number, step in steps.items() if number <= version))
        due = _names(made)
        made.executescript("".join(step for number, step in steps.items() if number > version))
        later = _names(made) - due
    found = _names(connection)
    for kind, name in sorted(due - found):
        yield Fault(None, "?", 0, f"removed: the {kind} {name} of the file; {database.RESTORE}")
    for kind, name in sorted(later & found):
        yield Fault(
            None, "?", 0, f"changed: schema {version} is named, and {kind} {name} is of a later one; {database.COPY}"
        )


def _names(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Tables and indexes that a step has made."""
    named = connection.execute("SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'index')")
    return {(kind, name) for kind, name in named if not name.startswith("sqlite_")}


def check(connection: sqlite3.Connection, go_on: Callable[[int], bool]) -> Iterator[Fault]:
    """What SQLite finds, table by table. ``go_on`` is asked with 0, between the rows. Raises ``sqlite3.Error``."""
    ended = False

    def stop() -> bool:
        nonlocal ended
        ended = ended or not go_on(0)
        return ended

    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    connection.set_progress_handler(stop, _STEPS)
    try:
        for table in tables:
            for told in _told(connection, table):
                if ended:
                    return
                remedy = database.RESTORE
                if any(word in told for word in _INDEX):
                    remedy = "stop the daemon and run feltd ledger compact, which builds the indexes anew"
                what = f"damaged: table {table} or an index of it ({' '.join(told.split())}); {remedy}"
                yield Fault(None, "?", 0, what)
    finally:
        connection.set_progress_handler(None, 0)


def _told(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    """What is wrong with a table. Raises ``sqlite3.OperationalError`` for what is around the file."""
    name = table.replace("'", "''")
    try:
        for (told,) in connection.execute(f"PRAGMA integrity_check('{name}')").fetchmany(MOST):
            if told != "ok":
                yield told.replace("*** in database main ***", "")
    except database.UNREADABLE as error:
        if database.is_surroundings(error) and "interrupted" not in str(error):
            raise
        yield str(error)
