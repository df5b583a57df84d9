"""The store in one SQLite file: what ``feltoffice`` uses unless it is told otherwise."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from backoffice.errors import StoreError, UsageError
from backoffice.store import COLUMNS, GAPS, NO_STORE, TABLES, Event, Pin, from_row, gap_ranges, values


class SqliteStore:
    """One file, used by one thread."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=10)
            if not create:
                made = self._connection.execute("select name from sqlite_schema where name in ('event', 'pin')")
                if len(made.fetchall()) < 2:
                    self._connection.close()
                    raise UsageError("store", str(path), NO_STORE)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = full")
            self._connection.executescript(TABLES.format(bool="integer", bytes="blob"))
        except sqlite3.Error as error:
            raise StoreError(f"{path}: cannot be used as a store ({error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, events: Sequence[Event]) -> dict[tuple[str, str, str], bytes]:
        """See ``Store``."""
        there: dict[tuple[str, str, str], bytes] = {}
        try:
            self._connection.execute("begin immediate")
            for event in events:
                inserted = self._connection.execute(
                    f"insert into event ({COLUMNS}, received) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "  # noqa: S608
                    "strftime('%Y-%m-%dT%H:%M:%fZ')) on conflict do nothing",
                    values(event),
                )
                if not inserted.rowcount:
                    (there[event.key],) = self._connection.execute(
                        "select payload from event where source = ? and ledger = ? and sequence = ?", event.key
                    ).fetchone()
            self._connection.execute("commit")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            raise StoreError(f"events cannot be stored ({error})") from error
        return there

    def replace(self, event: Event) -> None:
        """See ``Store``."""
        self._run(
            "update event set type = ?, payload = ? where source = ? and ledger = ? and sequence = ? "
            "and type = 'record.withheld'",
            (event.type, event.payload, *event.key),
        )

    def events(self, table: str, ledger: str) -> Iterator[Event]:
        """See ``Store``."""
        found = self._run(
            f"select {COLUMNS} from event where ledger = ? and source like ? order by row_no",  # noqa: S608
            (ledger, f"{table}/%"),
        )
        for row in found:
            yield from_row(row)

    def ledgers(self, table: str) -> list[str]:
        """See ``Store``."""
        found = self._run(
            "select ledger from event where source like ? group by ledger order by min(received)", (f"{table}/%",)
        )
        return [ledger for (ledger,) in found]

    def highest(self, source: str, ledger: str) -> int:
        """See ``Store``."""
        (found,) = self._run("select max(sequence) from event where source = ? and ledger = ?", (source, ledger))
        return int(found[0] or 0)

    def gaps(self, source: str, ledger: str) -> list[tuple[int, int]]:
        """See ``Store``."""
        return gap_ranges(self._run(GAPS.format("?"), (source, ledger)))

    def withheld(self, table: str, ledger: str) -> list[tuple[str, int]]:
        """See ``Store``."""
        found = self._run(
            "select source, sequence from event where ledger = ? and source like ? and type = 'record.withheld' "
            "order by source, sequence",
            (ledger, f"{table}/%"),
        )
        return [(source, int(sequence)) for source, sequence in found]

    def pin(self, pin: Pin) -> None:
        """See ``Store``."""
        self._run(
            "insert into pin (site_table, test, public_key) values (?, ?, ?) on conflict do nothing",
            (pin.table, pin.test, pin.key),
        )

    def pins(self, table: str | None = None) -> list[Pin]:
        """See ``Store``."""
        found = self._run("select site_table, test, public_key from pin order by site_table", ())
        return [Pin(name, bool(test), key) for name, test, key in found if table in (None, name)]

    def close(self) -> None:
        """See ``Store``."""
        self._connection.close()

    def _run(self, query: str, arguments: Sequence[object]) -> sqlite3.Cursor:
        try:
            return self._connection.execute(query, arguments)
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be used ({error})") from error
