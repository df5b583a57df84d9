"""Where events are kept: the exact bytes, by source, ledger and sequence. SQLite by default, PostgreSQL by URL.

Nothing is parsed again that could be compared byte by byte, and nothing is ever updated but a ``record.withheld``
that gives way to its original.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from backoffice.errors import StoreError, UsageError


@dataclass(frozen=True, slots=True)
class Event:
    """One stored event. ``source`` ends in the stream; ``sequence`` and ``row`` are 16 digits and sort as text."""

    source: str
    ledger: str
    sequence: str
    row: str
    type: str
    day: str
    session: str | None
    subject: str | None
    happened: str
    test: bool
    payload: bytes

    @property
    def key(self) -> tuple[str, str, str]:
        """What no two events share."""
        return self.source, self.ledger, self.sequence


@dataclass(frozen=True, slots=True)
class Pin:
    """A key that was pinned for a table at its enrolment. ``table`` is ``/felt/{site}/{table}``."""

    table: str
    test: bool
    key: bytes


class Store(Protocol):
    """What a store can do. Everything raises ``StoreError`` where it fails."""

    def put(self, events: Sequence[Event]) -> dict[tuple[str, str, str], bytes]:
        """Store all in one transaction, durable on return; the bytes that stood there already, by key."""

    def replace(self, event: Event) -> None:
        """Put the original in the place of its ``record.withheld``."""

    def events(self, table: str, ledger: str) -> Iterator[Event]:
        """The events of a table's ledger in the order of ``row``."""

    def ledgers(self, table: str) -> list[str]:
        """The ledgers of a table in the order in which they were first heard of."""

    def highest(self, source: str, ledger: str) -> int:
        """The highest sequence of a stream that is stored, 0 for none."""

    def gaps(self, source: str, ledger: str) -> list[tuple[int, int]]:
        """The ranges below the highest sequence that are missing."""

    def withheld(self, table: str, ledger: str) -> list[tuple[str, int]]:
        """Source and sequence of what was withheld and has no original yet."""

    def pin(self, pin: Pin) -> None:
        """Pin a key. Pinning it again changes nothing."""

    def pins(self, table: str | None = None) -> list[Pin]:
        """The pinned keys, of one table or of all."""

    def close(self) -> None:
        """Give it back."""


TABLES = """
create table if not exists event (
  source text not null, ledger text not null, sequence char(16) not null, row_no char(16) not null, type text not null,
  gamingday text, session text, subject text, happened text not null, received text not null, test {bool} not null,
  payload {bytes} not null, primary key (source, ledger, sequence));
create index if not exists event_subject on event (subject);
create index if not exists event_day on event (gamingday, type);
create index if not exists event_row on event (ledger, row_no);
create index if not exists event_withheld on event (ledger, source, sequence) where type = 'record.withheld';
create table if not exists pin (
  site_table text not null, test {bool} not null, public_key {bytes} not null,
  primary key (site_table, test, public_key))
"""
COLUMNS = "source, ledger, sequence, row_no, type, gamingday, session, subject, happened, test, payload"
GAPS = (
    "select before, sequence from (select sequence, lag(sequence) over (order by sequence) as before from event "
    "where source = {0} and ledger = {0}) as steps "
    "where cast(sequence as bigint) <> coalesce(cast(before as bigint), 0) + 1 order by sequence"
)


def open_store(where: str) -> Store:
    """A file name, or ``postgresql://...``. Raises ``StoreError`` and ``UsageError``."""
    if where.startswith(("postgresql://", "postgres://")):
        from backoffice.postgres import PostgresStore  # noqa: PLC0415 - psycopg is an extra

        return PostgresStore(where)
    if "://" in where:
        raise UsageError("store", where, "name a file, or write postgresql://user@host/database")
    return SqliteStore(Path(where))


def gap_ranges(steps: Iterable[tuple[str | None, str]]) -> list[tuple[int, int]]:
    """Where the sequence jumps, as ranges of what is missing."""
    return [(int(before or 0) + 1, int(sequence) - 1) for before, sequence in steps]


class SqliteStore:
    """One file, used by one thread."""

    def __init__(self, path: Path) -> None:
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=10)
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


def from_row(row: Sequence[Any]) -> Event:
    """The event of the columns in the order of ``COLUMNS``."""
    return Event(*(*row[:9], bool(row[9]), bytes(row[10])))


def values(event: Event) -> tuple[object, ...]:
    """The columns of an event in the order of ``COLUMNS``."""
    return (
        *event.key,
        event.row,
        event.type,
        event.day,
        event.session,
        event.subject,
        event.happened,
        event.test,
        event.payload,
    )
