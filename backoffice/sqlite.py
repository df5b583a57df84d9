"""The store in one SQLite file: what ``feltoffice`` uses unless it is told otherwise."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from backoffice.errors import StoreError, UsageError
from backoffice.sqlstore import EVENTS, INSERT, NO_STORE, PAYLOAD, TABLES, SqlStore, from_row, values
from backoffice.store import Event


class SqliteStore(SqlStore):
    """One file, used by one thread."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        try:
            if create:
                _make(path)
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=10)
            if not create:
                made = self._connection.execute("select name from sqlite_schema where name in ('event', 'pin')")
                if len(made.fetchall()) < 2:
                    self._connection.close()
                    raise UsageError("store", str(path), NO_STORE)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = full")
            self._connection.executescript(TABLES.format(bool="integer", bytes="blob"))
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path}: cannot be used as a store ({error})") from error

    def put(self, events: Sequence[Event]) -> dict[tuple[str, str, str], bytes]:
        """See ``Store``."""
        there: dict[tuple[str, str, str], bytes] = {}
        insert = INSERT.format(now="strftime('%Y-%m-%dT%H:%M:%fZ')")
        try:
            self._connection.execute("begin immediate")
            for event in events:
                if not self._connection.execute(insert, values(event)).rowcount:
                    (there[event.key],) = self._connection.execute(PAYLOAD, event.key).fetchone()
            self._connection.execute("commit")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            raise StoreError(f"events cannot be stored ({error})") from error
        return there

    def events(self, table: str, ledger: str) -> Iterator[Event]:
        """See ``Store``."""
        for row in self._run(EVENTS, (ledger, f"{table}/%")):
            yield from_row(row)

    def close(self) -> None:
        """See ``Store``."""
        self._connection.close()

    def _run(self, query: str, arguments: Sequence[object]) -> sqlite3.Cursor:
        try:
            return self._connection.execute(query, arguments)
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be used ({error})") from error


def _make(path: Path) -> None:
    """A new file is its owner's alone: stream ``guard`` is in it. What SQLite keeps beside it has the same mode."""
    if str(path) != ":memory:":
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
