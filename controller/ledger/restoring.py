"""What a table is rebuilt from: its records since it was last opened, across an archived file if need be."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from controller.contract.following import Fault
from controller.core.records import Record, Stream
from controller.ledger import database, files, images
from controller.ledger.errors import LedgerDamaged, LedgerError

SINCE = (
    "SELECT row, stream, sequence, body, key, secret FROM row "
    "WHERE row >= ? AND type NOT IN ('ledger.began', 'ledger.signed', 'key.rotated') ORDER BY row"
)
"""What the core wrote from a row on."""


LOGINS = "SELECT body FROM row WHERE type = 'staff.login' ORDER BY row DESC LIMIT ?"


def logins(path: Path, most: int) -> list[bytes]:
    """The last attempts to log in, oldest first; of a file that has few, those of the one before as well.

    Raises ``LedgerError``.
    """
    with closing(database.connect_read_only(path)) as connection:
        try:
            found = [body for (body,) in connection.execute(LOGINS, (most,))][::-1]
            older = files.previous(path, connection)
        except database.UNREADABLE as error:
            raise database.unusable(path, error) from error
    if older is not None and files.lies(older) and len(found) < most:
        found[:0] = logins(older, most - len(found))
    return found


def last(connection: sqlite3.Connection, limit: int) -> list[bytes]:
    """The bodies of a file's last rows, oldest first. Raises ``sqlite3.Error``."""
    found = connection.execute("SELECT body FROM row ORDER BY row DESC LIMIT ?", (limit,)).fetchall()
    return [body for (body,) in reversed(found)]


def last_said(path: Path, connection: sqlite3.Connection, limit: int) -> list[bytes]:
    """``last``, and where the file has just begun also the end of the one before. Raises ``sqlite3.Error``."""
    found = last(connection, limit)
    before = files.previous(path, connection)
    if len(found) == limit or before is None or not files.lies(before):
        return found
    with closing(database.connect_read_only(before)) as older:
        return [*last(older, limit - len(found)), *found]


def as_record(stream: Stream, body: bytes, secret: dict[str, Any] | None) -> Record:
    """The record that a body was made from. Raises one of ``database.NO_EVENT`` where it was made from none."""
    event: Mapping[str, Any] = json.loads(body)
    kind, subject, data = event["type"], event.get("subject", ""), event["data"]
    day, session = event["gamingday"], event.get("session")
    texts = isinstance(kind, str) and isinstance(subject, str) and isinstance(day, str)
    if not (texts and isinstance(data, dict) and isinstance(session, str | None)):
        raise TypeError("no event")
    return Record(stream, kind, subject, data, secret, day, session)


def restored(path: Path, stream: Stream, sequence: int, body: bytes, secret: dict[str, Any] | None) -> Record:
    """``as_record`` of a row that the state depends on: without it there is none. Raises ``LedgerDamaged``."""
    try:
        return as_record(stream, body, secret)
    except database.NO_EVENT as error:
        what = "is no event any more and the table cannot be rebuilt"
        raise LedgerDamaged(path, f"event {sequence} of {stream} {what}: {database.COPY}") from error


def last_opening(connection: sqlite3.Connection) -> int:
    """The row of the last ``table.opened`` of a file, 0 without one."""
    found = connection.execute("SELECT row FROM row WHERE type = 'table.opened' ORDER BY row DESC LIMIT 1").fetchone()
    return int(found[0]) if found else 0


def record_at(path: Path, connection: sqlite3.Connection, row: int) -> Record | None:
    """The record of one row, without its secret; ``None`` for row 0."""
    found = connection.execute("SELECT stream, sequence, body FROM row WHERE row = ?", (row,)).fetchone()
    if found is None:
        return None
    stream, sequence, body = found
    return restored(path, stream, sequence, body, None)


def beginning(
    path: Path, connection: sqlite3.Connection, device: bytes, form: str, rows: Callable[[int], Iterable[Record]]
) -> images.Beginning:
    """The state that was kept last since the last opening, and the records behind it; all of them where none was.

    ``rows`` reads this file's records from a row on. Of an archived file the hands are over: nobody needs their
    secrets. Raises ``LedgerError``, ``sqlite3.Error``.
    """
    opening = last_opening(connection)
    opened = record_at(path, connection, opening)
    image = images.newest(connection, images.key(device, database.said(connection, "ledger") or ""), form)
    if image is not None and image.row > opening:
        return images.Beginning(image.state, opened, rows(image.row + 1))
    held = None if opening else earlier(path, connection, device, form)
    if held is None:
        return images.Beginning(None, opened, rows(opening))
    return images.Beginning(held.image, opened, chain(held.records, rows(0)))


def check_image(connection: sqlite3.Connection, secret: bytes) -> tuple[Fault, ...]:
    """Whether the state that was kept is the one that the rows lead to; where not, nothing was built on it."""
    fault = images.changed(connection, secret)
    return () if fault is None else (fault,)


def earlier(path: Path, connection: sqlite3.Connection, device: bytes, form: str) -> images.Beginning | None:
    """``beginning`` of the archived file before this one, ``None`` for the first. Raises as that does."""
    previous = files.previous(path, connection)
    if previous is None:
        return None
    if not files.lies(previous):
        why = f"no such file: {path.name} was begun after it, and since then no table was opened, so a start needs it"
        anew = (
            f"move {path.name} away with its -wal and -shm and begin a new ledger (the office rules: feltoffice accept)"
        )
        raise LedgerError(previous, f"{why}; put it back from a copy, or {anew}")
    with closing(database.connect_read_only(previous)) as older:
        return beginning(previous, older, device, form, lambda first: list(_records(previous, older, first)))


def _records(path: Path, connection: sqlite3.Connection, first: int) -> Iterator[Record]:
    for _, stream, sequence, body, _, _ in database.ascending(connection.execute(SINCE, (first,))):
        yield restored(path, stream, sequence, body, None)
