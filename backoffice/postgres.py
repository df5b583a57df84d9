"""The store on PostgreSQL, for a house with many tables. Needs the extra ``postgresql`` (psycopg 3)."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

from backoffice.errors import StoreError, UsageError
from backoffice.store import COLUMNS, GAPS, NO_STORE, TABLES, Event, Pin, from_row, gap_ranges, values

try:
    import psycopg
except ImportError as missing:
    raise UsageError("store", "postgresql", "needs psycopg: pip install 'feltd[postgresql]'") from missing


class PostgresStore:
    """One connection, used by one thread. ``synchronous_commit`` is on: what is stored survives a crash."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        try:
            self._connection = psycopg.connect(url, autocommit=True, connect_timeout=10)
            self._run("set synchronous_commit = on", ())
            if not create and self._run("select to_regclass('event'), to_regclass('pin')", ()).fetchone() != (
                "event",
                "pin",
            ):
                self._connection.close()
                raise UsageError("store", self._connection.info.dbname, NO_STORE)
            self._connection.execute(TABLES.format(bool="boolean", bytes="bytea").encode())
        except psycopg.Error as error:
            raise StoreError(f"the database cannot be used as a store ({error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, events: Sequence[Event]) -> dict[tuple[str, str, str], bytes]:
        """See ``Store``."""
        there: dict[tuple[str, str, str], bytes] = {}
        places = ", ".join(["%s"] * 11)
        now = "to_char(now() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
        insert = f"insert into event ({COLUMNS}, received) values ({places}, {now}) on conflict do nothing"  # noqa: S608
        try:
            with self._connection.transaction():
                for event in events:
                    inserted = self._run(insert, values(event))
                    if not inserted.rowcount:
                        found = self._run(
                            "select payload from event where source = %s and ledger = %s and sequence = %s", event.key
                        )
                        there[event.key] = bytes(found.fetchall()[0][0])
        except psycopg.Error as error:
            raise StoreError(f"events cannot be stored ({error})") from error
        return there

    def replace(self, event: Event) -> None:
        """See ``Store``."""
        self._run(
            "update event set type = %s, payload = %s where source = %s and ledger = %s and sequence = %s "
            "and type = 'record.withheld'",
            (event.type, event.payload, *event.key),
        )

    def events(self, table: str, ledger: str) -> Iterator[Event]:
        """See ``Store``. Reads through a cursor of the server's: an archive may be larger than our memory."""
        try:
            with self._connection.transaction(), self._connection.cursor("events") as cursor:
                cursor.execute(
                    f"select {COLUMNS} from event where ledger = %s and source like %s order by row_no",  # noqa: S608
                    (ledger, f"{table}/%"),
                )
                for row in cursor:
                    yield from_row(row)
        except psycopg.Error as error:
            raise StoreError(f"the store cannot be read ({error})") from error

    def ledgers(self, table: str) -> list[str]:
        """See ``Store``."""
        found = self._run(
            "select ledger from event where source like %s group by ledger order by min(received)", (f"{table}/%",)
        )
        return [ledger for (ledger,) in found.fetchall()]

    def highest(self, source: str, ledger: str) -> int:
        """See ``Store``."""
        found = self._run("select max(sequence) from event where source = %s and ledger = %s", (source, ledger))
        return int(found.fetchall()[0][0] or 0)

    def gaps(self, source: str, ledger: str) -> list[tuple[int, int]]:
        """See ``Store``."""
        return gap_ranges(self._run(GAPS.format("%s"), (source, ledger)).fetchall())

    def withheld(self, table: str, ledger: str) -> list[tuple[str, int]]:
        """See ``Store``."""
        found = self._run(
            "select source, sequence from event where ledger = %s and source like %s and type = 'record.withheld' "
            "order by source, sequence",
            (ledger, f"{table}/%"),
        )
        return [(source, int(sequence)) for source, sequence in found.fetchall()]

    def pin(self, pin: Pin) -> None:
        """See ``Store``."""
        self._run(
            "insert into pin (site_table, test, public_key) values (%s, %s, %s) on conflict do nothing",
            (pin.table, pin.test, pin.key),
        )

    def pins(self, table: str | None = None) -> list[Pin]:
        """See ``Store``."""
        found = self._run("select site_table, test, public_key from pin order by site_table", ())
        return [Pin(name, test, bytes(key)) for name, test, key in found.fetchall() if table in (None, name)]

    def close(self) -> None:
        """See ``Store``."""
        self._connection.close()

    def _run(self, query: str, arguments: Sequence[object]) -> "psycopg.Cursor[Any]":
        try:
            return self._connection.execute(query.encode(), arguments)
        except psycopg.Error as error:
            raise StoreError(f"the store cannot be used ({error})") from error
