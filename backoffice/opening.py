"""Which store a name means."""

from pathlib import Path

from backoffice.errors import UsageError
from backoffice.sqlite import SqliteStore
from backoffice.store import Store


def open_store(where: str) -> Store:
    """A file name, or ``postgresql://...``. Raises ``StoreError`` and ``UsageError``."""
    if where.startswith(("postgresql://", "postgres://")):
        from backoffice.postgres import PostgresStore  # noqa: PLC0415 - psycopg is an extra

        return PostgresStore(where)
    if "://" in where:
        raise UsageError("store", where, "name a file, or write postgresql://user@host/database")
    return SqliteStore(Path(where))
