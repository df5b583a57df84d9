"""Which store a name means."""

from pathlib import Path

from backoffice.errors import UsageError
from backoffice.sqlite import SqliteStore
from backoffice.store import Store


def open_store(where: str, *, create: bool = False) -> Store:
    """A file name, or ``postgresql://...``; only with ``create`` a store is begun where there is none.

    Raises ``StoreError`` and ``UsageError``.
    """
    if where.startswith(("postgresql://", "postgres://")):
        from backoffice.postgres import PostgresStore  # noqa: PLC0415 - psycopg is an extra

        return PostgresStore(where, create=create)
    if "://" in where:
        raise UsageError("store", where, "name a file, or write postgresql://user@host/database")
    path = Path(where)
    if not create and not path.is_file():
        raise UsageError("store", where, "no such store: check its name, or begin it with feltoffice enrol")
    return SqliteStore(path, create=create)
