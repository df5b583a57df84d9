"""The ledger's file among its neighbours: what a file says about itself, and the archive of older ones.

A ledger that has grown or aged is put away as a whole, while the table is closed and the broker has everything. The
next file begins with ``ledger.began``, which names the one before and the ends of its streams, so that the chain goes
on. A file is never thinned out: what was signed as a whole stays whole.
"""

import json
import os
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from controller.contract.checkpoint import Head
from controller.contract.topics import Source
from controller.ledger import database
from controller.ledger.errors import LedgerDamaged, LedgerError

MB = 1_000_000
RESERVE_MB = 64
"""What a disk must keep free: the hand under way, the log that grows before a checkpoint, the signatures."""
LEVELS = (80, 90, 100)
"""Per cent of the bound at which ``ledger.filling`` is told; at the last one no new hand begins."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How large and how old a ledger file may grow.

    ``limit_mb``: no new hand begins above it. ``archive_mb``, ``archive_days``: above them the file is archived at a
    start that finds the table closed. Nothing is ever deleted by itself: ``feltd ledger prune`` is a person's act.
    """

    limit_mb: int = 4096
    archive_mb: int = 512
    archive_days: int = 31


@dataclass(frozen=True, slots=True)
class Filling:
    """How full it is, in bytes. ``limit``: the bound, or less where the disk has less."""

    used: int
    limit: int

    @property
    def level(self) -> int:
        """The highest of ``LEVELS`` that is reached, 0 below all of them."""
        return max((level for level in LEVELS if self.used * 100 >= level * self.limit), default=0)


def filling(path: Path, retention: Retention) -> Filling:
    """Measure the file with its log, and the disk it is on. Raises ``LedgerError``."""
    try:
        used = sum(part.stat().st_size for part in (path, _beside(real(path), "-wal")) if part.exists())
        free = shutil.disk_usage(path.parent).free
    except OSError as error:
        raise database.unusable(path, error) from error
    # A disk without room: what there is fills it, however small it is.
    return Filling(used, max(1, min(retention.limit_mb * MB, used + max(0, free - RESERVE_MB * MB))))


def real(path: Path) -> Path:
    """The file itself, whichever links name it: what lies beside a ledger lies beside that."""
    return Path(os.path.realpath(path))


def describe(connection: sqlite3.Connection, path: Path, source: Source, *, test: bool, new_id: str | None) -> None:
    """Say in a new file what it is, or check what an old one says."""
    about = database.meta(connection)
    if not about and connection.execute("SELECT 1 FROM row LIMIT 1").fetchone():
        raise LedgerDamaged(path, f"does not say whose ledger it is; {database.COPY}")
    wanted = {"site": source.site, "table": source.table, "test": "true" if test else "false"}
    if not about:
        about = wanted | {"ledger": new_id or str(uuid.uuid4()), "session": "0"}
        say(connection, about)
    for name, value in wanted.items():
        if about[name] != value:
            raise LedgerError(path, f"its {name} is {about[name]!r} and not {value!r}; give the ledger of this table")


def archive_folder(path: Path) -> Path:
    """Where the older files of a ledger lie."""
    return _beside(real(path), ".archive")


def previous(path: Path, connection: sqlite3.Connection) -> Path | None:
    """The file before the one that is open, or ``None`` for the first. It may have been deleted.

    Raises ``sqlite3.Error``.
    """
    name = database.said(connection, "previous_file")
    if name is None:
        return None
    if folder_before(path) / name == path:
        raise sqlite3.DatabaseError("it names itself as the file before it")
    return folder_before(path) / name


def lies(path: Path) -> bool:
    """Whether a file lies there. Raises ``LedgerError`` where nobody can tell."""
    try:
        return path.exists()
    except OSError as error:
        raise database.unusable(path, error) from error


def folder_before(path: Path) -> Path:
    """Where the file before a ledger lies, or before an archived one."""
    return path.parent if path.parent.name.endswith(".archive") else archive_folder(path)


def archived(path: Path) -> list[Path]:
    """The archived files, oldest first."""
    return sorted(archive_folder(path).glob("*.ledger"))


def next_file(path: Path) -> Path:
    """Where a file is made that is to take this one's place."""
    return _beside(path, ".next")


def finish_archiving(path: Path) -> None:
    """Complete what a crash has interrupted. Only under the lock.

    Raises ``LedgerError`` where a log lies beside a missing file: no crash leaves that, as a file has none when it is
    put away, and SQLite would apply the log to the file that takes its place.
    """
    coming = next_file(path)
    if path.exists():
        # The file itself last: a log that is left alone would bar the next one.
        for ending in ("-wal", "-shm", "-journal", ""):
            _beside(coming, ending).unlink(missing_ok=True)
    elif coming.exists():
        database.keep_log(path)
        coming.rename(path)
        sync_folder(path.parent)


def is_due(connection: sqlite3.Connection, path: Path, retention: Retention, wall_ns: int) -> bool:
    """Whether the file is to be put away, and may be: nothing unsent, and no table open in it."""
    read = connection.execute
    first = read("SELECT body FROM row ORDER BY row LIMIT 1").fetchone()
    if first is None or read("SELECT 1 FROM row INDEXED BY row_unacked WHERE acked = 0 LIMIT 1").fetchone():
        return False
    (last,) = read("SELECT body FROM row ORDER BY row DESC LIMIT 1").fetchone()
    try:
        age_s = wall_ns / 1e9 - datetime.fromisoformat(json.loads(first[0])["time"]).timestamp()
        event = json.loads(last)
        closed = event.get("session") is None or event["type"] == "table.closed"
    except database.NO_EVENT:
        return False  # the check tells it, and a person has to look before it goes anywhere
    return closed and (path.stat().st_size >= retention.archive_mb * MB or age_s >= retention.archive_days * 86_400)


def is_due_now(path: Path, retention: Retention, wall_ns: int) -> bool:
    """``is_due`` beside a running daemon. Raises ``LedgerError`` and ``sqlite3.Error``."""
    with closing(database.connect_read_only(path)) as connection:
        return is_due(connection, path, retention, wall_ns)


def put_away(path: Path, begin: Callable[[Path, Mapping[str, str], Mapping[str, Head]], None]) -> Path | None:
    """Move the file into the archive; ``begin`` writes the next one, given what it is to say about the one before.

    Returns where the old one is now; ``None`` when somebody is reading it, and then nothing has changed. A crash at
    any point leaves either the old file in its place, or the new one to be moved there by ``finish_archiving``.
    """
    with closing(database.connect(path, durable=True)) as connection:
        about = database.meta(connection)
        (first,) = connection.execute("SELECT body FROM row ORDER BY row LIMIT 1").fetchone()
        heads = {s: Head(n, h) for s, n, h in connection.execute("SELECT stream, sequence, sha256 FROM head")}
        try:
            # In one piece, with no log beside it, it can be copied and read anywhere.
            if connection.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
                return None
        except sqlite3.OperationalError:
            return None
    began = json.loads(first)["time"][:19].translate(str.maketrans("", "", "-:"))
    target = archive_folder(path) / f"{began}Z-{about['ledger']}.ledger"
    target.parent.mkdir(mode=0o700, exist_ok=True)
    coming = next_file(path)
    begin(coming, about | {"previous_file": target.name}, heads)
    sync_folder(path.parent)
    path.rename(target)
    sync_folder(target.parent)
    sync_folder(path.parent)
    finish_archiving(path)
    return target


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def say(connection: sqlite3.Connection, about: Mapping[str, str]) -> None:
    """Write what the file says about itself."""
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", about.items())
    connection.execute("COMMIT")


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
