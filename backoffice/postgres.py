"""The store on PostgreSQL, for a house with many tables. Needs the extra ``postgresql`` (psycopg 3)."""

from collections.abc import Iterator, Sequence
from typing import Any

from backoffice.errors import StoreError, UsageError
from backoffice.sqlstore import EVENTS, INSERT, NO_STORE, PAYLOAD, TABLES, SqlStore, from_row, values
from backoffice.store import Event

try:
    import psycopg
except ImportError as missing:
    raise UsageError("store", "postgresql", "needs psycopg: pip install 'feltd[postgresql]'") from missing


class PostgresStore(SqlStore):
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

    def put(self, events: Sequence[Event]) -> dict[tuple[str, str, str], bytes]:
        """See ``Store``."""
        there: dict[tuple[str, str, str], bytes] = {}
        insert = INSERT.format(now="to_char(now() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
        try:
            with self._connection.transaction():
                for event in events:
                    if not self._run(insert, values(event)).rowcount:
                        there[event.key] = bytes(self._read(PAYLOAD, event.key)[0][0])
        except psycopg.Error as error:
            raise StoreError(f"events cannot be stored ({error})") from error
        return there

    def events(self, table: str, ledger: str) -> Iterator[Event]:
        """See ``Store``. Reads through a cursor of the server's: an archive may be larger than our memory."""
        try:
            with self._connection.transaction(), self._connection.cursor("events") as cursor:
                cursor.execute(_marked(EVENTS), (ledger, f"{table}/%"))
                for row in cursor:
                    yield from_row(row)
        except psycopg.Error as error:
            raise StoreError(f"the store cannot be read ({error})") from error

    def close(self) -> None:
        """See ``Store``."""
        self._connection.close()

    def _run(self, query: str, arguments: Sequence[object]) -> "psycopg.Cursor[Any]":
        try:
            return self._connection.execute(_marked(query), arguments)
        except psycopg.Error as error:
            raise StoreError(f"the store cannot be used ({error})") from error


def _marked(query: str) -> bytes:
    """With PostgreSQL's marks for the arguments; no query of ours says ``?`` or ``%`` for anything else."""
    return query.replace("?", "%s").encode()
