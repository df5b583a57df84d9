"""Makes ledger files that cannot be read, in the ways a disk or a person may leave them."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

GARBLED = (
    "UPDATE row SET body = CAST(X'ff7b' AS TEXT) WHERE stream = 'play' AND sequence = ?",
    "UPDATE row SET body = CAST(body AS TEXT) WHERE stream = 'play' AND sequence = ?",
    "UPDATE row SET body = 7 WHERE stream = 'play' AND sequence = ?",
    "UPDATE row SET sequence = sequence + 0.5 WHERE stream = 'play' AND sequence = ?",
)
"""What makes the row of a sequence one that cannot be read, by ``rot``."""


def rot(path: Path, sql: str, *values: object) -> None:
    """Write what the schema of a ledger forbids, beside whoever has the file open."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as connection:
        connection.execute("DROP TRIGGER row_is_frozen")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT, ', ''), 'STRICT', '')")
        connection.execute("UPDATE sqlite_schema SET sql = rtrim(sql, ', ')")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'sequence INTEGER', 'sequence ')")
        (version,) = connection.execute("PRAGMA schema_version").fetchone()
        connection.execute(f"PRAGMA schema_version = {version + 1}")
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as connection:
        connection.execute(sql, values)


def _emptied(path: Path) -> None:
    _gone(path)
    path.touch()


def _garbage(path: Path) -> None:
    _gone(path)
    path.write_bytes(b"\xa5" * 9000)


def _folder(path: Path) -> None:
    _gone(path)
    path.mkdir()


def _gone(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        part = path.with_name(path.name + ending)
        if part.is_dir():
            part.rmdir()
        part.unlink(missing_ok=True)


def _dangling(path: Path) -> None:
    _gone(path)
    path.symlink_to(path.with_name("nowhere"))


def _another(path: Path) -> None:
    _gone(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")


def _half(path: Path) -> None:
    if not path.exists():
        return _garbage(path)
    content = path.read_bytes()
    _gone(path)
    path.write_bytes(content[:4096])
    return None


def _nameless(path: Path) -> None:
    _with_meta(path, "DELETE FROM meta")


def _unspeakable(path: Path) -> None:
    _with_meta(path, "UPDATE meta SET value = CAST(X'ff' AS TEXT)")


def _with_meta(path: Path, sql: str) -> None:
    if not path.is_file():
        return _garbage(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)
    return None


NO_LEDGER: Mapping[str, Callable[[Path], None]] = {
    "empty": _emptied,
    "garbage": _garbage,
    "a folder": _folder,
    "a link to nowhere": _dangling,
    "another database": _another,
    "its first page alone": _half,
    "says nothing of itself": _nameless,
    "says what is no text": _unspeakable,
}
"""What may stand where a ledger was; each makes it of the file, or where there is none."""
