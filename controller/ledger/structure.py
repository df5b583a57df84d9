"""Whether the file under the rows is whole: what it is made of, the pages of each table, its indexes against it.

A start reads by the indexes, so a file whose rows are all well can still be one that no daemon starts on.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from controller.contract.following import Fault
from controller.ledger import database
from controller.ledger.errors import LedgerDamaged

MOST = 20
"""How many faults of this kind are told of a table."""
_STEPS = 5_000
"""After so many steps of SQLite the caller is asked whether to go on: some tens of rows."""
_INDEX = (" missing from index ", "wrong # of entries in index ")
"""What SQLite says where the table is well and an index is not its own: it can be built anew."""

_STATISTICS = {("table", f"sqlite_stat{number}") for number in (1, 3, 4)}
"""What ``ANALYZE`` makes."""


def schema(connection: sqlite3.Connection) -> Iterator[Fault]:
    """Whether the file has what the steps up to its schema make, word for word, and nothing else.

    A start goes by the number of the schema; a trigger acts whenever something is written, and a table or a view can
    hold what was to be kept nowhere.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not 1 <= version <= max(database.steps()):
        what = f"schema {version} is none of this program's, 1 to {max(database.steps())}; {database.NEWER}"
        yield Fault(None, "?", 0, what)
        return
    for one in _differences(connection, version):
        yield one.fault()


def foreign(connection: sqlite3.Connection) -> tuple[Fault, ...]:
    """What a start tells: what the steps did not make. What is gone is told by ``schema``. Raises ``sqlite3.Error``."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return tuple(one.fault() for one in _differences(connection, version) if one.how != "removed")


def bring_up(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the newest schema; before anything is written, refuse what would act on it.

    Raises ``LedgerDamaged`` for a trigger or a changed table, ``LedgerError``, ``sqlite3.Error``.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if 0 <= version <= max(database.steps()):
        for one in _differences(connection, version):
            if one.acts:
                why = "acts on what is written, so nothing is written; find out who made it"
                raise LedgerDamaged(path, f"its {one.kind} {one.shown} is not this program's and {why}; {one.remedy}")
    database.migrate(connection, path)


@dataclass(frozen=True, slots=True)
class _Difference:
    """What a file has otherwise than the steps make it: ``removed``, ``changed``, ``inserted``, or ``later``."""

    how: str
    kind: str
    name: str
    schema: int

    @property
    def shown(self) -> str:
        """The name, whatever it is made of."""
        return self.name if self.name.isidentifier() else repr(self.name[:60])

    @property
    def acts(self) -> bool:
        """Whether writing by the program would do what the program does not know of.

        The state that is kept beside the rows is only a shortcut, and is looked at before it is used.
        """
        if self.kind == "trigger":
            return self.how != "removed"
        return self.kind == "table" and self.how == "changed" and self.name != "image"

    @property
    def remedy(self) -> str:
        """What to do."""
        return database.COPY if self.how == "later" else database.RESTORE

    def fault(self) -> Fault:
        """As the check tells it."""
        what = {
            "removed": f"removed: the {self.kind} {self.shown} of the file",
            "changed": f"changed: the {self.kind} {self.shown} of the file is not what this program made",
            "inserted": f"inserted: the {self.kind} {self.shown}, which this program did not make",
            "later": f"changed: schema {self.schema} is named, and {self.kind} {self.shown} is of a later one",
        }[self.how]
        return Fault(None, "?", 0, f"{what}; {self.remedy}")


def _differences(connection: sqlite3.Connection, version: int) -> Iterator[_Difference]:
    """What the file has more, less or other than the steps up to ``version`` make."""
    steps = database.steps()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        made.executescript("".join(step for number, step in steps.items() if number <= version))
        due = _parts(made)
        made.executescript("".join(step for number, step in steps.items() if number > version))
        later = _parts(made).keys() - due.keys()
    found = _parts(connection)
    for kind, name in sorted(due.keys() | found.keys()):
        how = None
        if (kind, name) not in found:
            how = "removed"
        elif (kind, name) not in due:
            how = "later" if (kind, name) in later else "inserted"
        elif found[kind, name] != due[kind, name]:
            how = "changed"
        if how is not None:
            yield _Difference(how, kind, name, version)


def _parts(connection: sqlite3.Connection) -> dict[tuple[str, str], tuple[str, str]]:
    """Tables, indexes, triggers and views: the table of each, and the words that made it.

    The words are compared as they are: a step is never edited once a file was made by it. What SQLite keeps for
    planning queries is its own; of what else bears its name, each has to be one that the steps lead to.
    """
    named = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    parts = {(str(kind), str(name)): (str(table), str(sql)) for kind, name, table, sql in named}
    return {key: made for key, made in parts.items() if key not in _STATISTICS}


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
