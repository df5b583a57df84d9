"""A ledger file is made smaller in its place; where it is not whole, the whole file anew from its rows.

An index says nothing that the rows do not say. So a file that cannot be read by its indexes is whole as long as its
rows are: their chains, signatures and ends prove it. Nothing is put in its place that ``verify`` does not call whole,
and the damaged file is kept. SQLite would copy some damage silently, so only a file that is whole is made smaller.
"""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from controller.ledger import beside, database, files, locks
from controller.ledger.errors import LedgerDamaged, LedgerError
from controller.ledger.verify import verify

COPIES = (
    "INSERT INTO meta SELECT * FROM old.meta NOT INDEXED ORDER BY name",
    "INSERT INTO row SELECT * FROM old.row NOT INDEXED ORDER BY row",
    "INSERT INTO head SELECT * FROM old.head NOT INDEXED ORDER BY stream",
    "INSERT INTO hand_key SELECT * FROM old.hand_key NOT INDEXED ORDER BY hand",
    "INSERT INTO withheld SELECT * FROM old.withheld NOT INDEXED ORDER BY row",
    "INSERT INTO sealed SELECT * FROM old.sealed NOT INDEXED ORDER BY stream, sequence",
)
"""All that a ledger is; the state that is kept beside the rows is only a shortcut, and is made again.

In order: without one SQLite would copy the indexes as they are.
"""
PARTS = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Compacted:
    """Sizes in bytes. ``damaged``: where the file lies now that was not whole."""

    before: int
    after: int
    damaged: Path | None = None


def compact(path: Path) -> Compacted:
    """Give unused pages back to the disk; make a file anew that is not whole. Nobody may write it meanwhile.

    Raises ``LedgerBusy`` for a running daemon, ``LedgerDamaged`` where the rows are not whole, ``LedgerError``.
    """
    database.keep_log(path)
    if not path.is_file():
        raise LedgerError(path, "no such file; name a ledger that a daemon has written")
    lock = locks.take(files.real(path))
    try:
        lock.hold_file()
        before = path.stat().st_size
        whole = _whole(path)
        with closing(database.connect(path, durable=True)) as connection:
            damaged = None if whole and _in_place(connection) else _anew(lock.path, connection)
        if damaged is not None:
            _put_in_place(lock.path, damaged)
        return Compacted(before, path.stat().st_size, damaged)
    except (OSError, *database.UNREADABLE) as error:
        raise database.unusable(path, error) from error
    finally:
        lock.release()


def _whole(path: Path) -> bool:
    """Whether ``verify`` calls it so. Raises ``LedgerError`` for what is around the file."""
    try:
        return verify(path, archive=False).ok
    except LedgerDamaged:
        return False


def _in_place(connection: sqlite3.Connection) -> bool:
    """Whether SQLite can do it. Raises ``sqlite3.Error`` where what is around the file is in the way."""
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except database.UNREADABLE as error:
        if database.is_surroundings(error):
            raise
        return False
    return True


def _anew(path: Path, old: sqlite3.Connection) -> Path:
    """Copy the rows into a new file beside the old one, and prove it. Returns where the old one is to be kept.

    Raises ``LedgerError``, ``OSError`` and ``sqlite3.Error``: then the old file is where and what it was.
    """
    kept, coming = path.with_name(path.name + ".damaged"), files.next_file(path)
    if kept.exists():
        raise LedgerError(path, f"{kept.name} of an earlier time lies beside it; move that away first")
    _remove(coming)
    try:
        _copy(path, old, coming)
    except database.UNREADABLE as error:
        _remove(coming)
        if database.is_surroundings(error):
            raise
        raise LedgerDamaged(path, f"its rows cannot be read ({error}); {database.COPY}") from error
    except (LedgerError, OSError):
        _remove(coming)
        raise
    return kept


def _copy(path: Path, old: sqlite3.Connection, coming: Path) -> None:
    # In one piece: with a log beside it, a file can not be moved.
    if old.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
        raise LedgerError(path, "somebody is reading it; end that, then run this again")
    with closing(database.connect(coming, durable=True)) as new:
        database.migrate(new, coming)
        if old.execute("PRAGMA user_version").fetchone() != new.execute("PRAGMA user_version").fetchone():
            raise LedgerDamaged(path, f"its schema is not this feltd's, so its rows cannot be moved; {database.COPY}")
        new.execute("ATTACH ? AS old", (str(path),))
        new.execute("BEGIN IMMEDIATE")
        for copy in COPIES:
            new.execute(copy)
        (last,) = new.execute("SELECT coalesce(max(row), 0) AS row FROM row").fetchone()
        if last < (counted := _counted(old)):
            raise LedgerDamaged(
                path, f"what it holds is not whole (rows {last + 1} to {counted} are missing); {database.COPY}"
            )
        new.execute("COMMIT")
        new.execute("DETACH old")
        new.execute("PRAGMA journal_mode = DELETE")
    was, now = path.stat(), coming.stat()
    coming.chmod(was.st_mode & 0o777)
    if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):  # by hand of another account than the daemon's
        os.chown(coming, was.st_uid, was.st_gid)
    report = verify(coming, archive=False)
    if not report.ok:
        raise LedgerDamaged(path, f"what it holds is not whole ({report.faults[0]}); {database.COPY}")


def _counted(old: sqlite3.Connection) -> int:
    """How far the damaged file counts, 0 where it cannot say any more."""
    try:
        return beside.counted(old)
    except database.UNREADABLE as error:
        if database.is_surroundings(error):
            raise
        return 0


def _put_in_place(path: Path, kept: Path) -> None:
    """A crash in between leaves the new file to be moved by the next start."""
    files.sync_folder(path.parent)
    path.rename(kept)
    files.sync_folder(path.parent)
    files.finish_archiving(path)


def _remove(path: Path) -> None:
    for ending in reversed(PARTS):  # the file last: a log that is left alone would bar the next one
        path.with_name(path.name + ending).unlink(missing_ok=True)
