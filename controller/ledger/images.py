"""The state between two hands, kept beside the rows: a restart in a long session reads only what came after it.

It is a shortcut and no record. It is bound to the ends of the streams at its row and to the device's key, so what the
rows do not lead to is not believed; without one that fits, a restart reads the whole session.
"""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.contract.checkpoint import Head
from controller.contract.following import Fault
from controller.contract.integrity import digest
from controller.core.records import Record
from controller.ledger import database

SINCE = 4
"""The schema from which on there are images."""
_KEEP = "INSERT INTO image (row, form, heads, body, mac) VALUES (?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Image:
    """The state after a row, as ``controller.core.image`` writes it."""

    row: int
    state: Any


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a table is rebuilt from: ``records``, on top of ``image`` where there is one (the core's JSON).

    ``opened``: the last ``table.opened`` of this file, wherever the records begin.
    """

    image: Any | None
    opened: Record | None
    records: Iterable[Record]


def key(device: bytes, ledger: str) -> bytes:
    """What the images of a ledger are bound with."""
    return hmac.digest(device, f"felt-image|{ledger}".encode(), hashlib.sha256)


def keep(
    connection: sqlite3.Connection, secret: bytes, row: int, form: str, heads: Mapping[str, Head], state: Any
) -> None:
    """Put an image in the place of the one before. Raises ``sqlite3.Error``; the old one stands then."""
    body = json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode()
    ends = json.dumps({stream: head.to_json() for stream, head in sorted(heads.items())})
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("DELETE FROM image")
        connection.execute(_KEEP, (row, form, ends, body, _mac(secret, row, form, ends, body)))
        connection.execute("COMMIT")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def newest(connection: sqlite3.Connection, secret: bytes, form: str) -> Image | None:
    """The image of a file, or ``None`` where there is none that this program reads and the rows lead to."""
    try:
        found = _kept(connection)
        if found is None or found[1] != form or not _stands(connection, secret, found):
            return None
    except database.UNREADABLE as error:
        if database.is_surroundings(error):
            raise
        return None  # ``changed`` tells it
    return Image(found[0], json.loads(found[3]))


def made_with(connection: sqlite3.Connection, secret: bytes) -> bool:
    """Whether there is an image that this key has bound, wherever the rows lead. Raises ``sqlite3.Error``."""
    found = _kept(connection)
    return found is not None and _bound(secret, found)


def changed(connection: sqlite3.Connection, secret: bytes) -> Fault | None:
    """What is wrong with the image: no row leads to it, another key made it, or it cannot be read. ``None``: nothing.

    Raises ``sqlite3.Error`` for what is around the file.
    """
    try:
        found = _kept(connection)
        if found is None or _stands(connection, secret, found):
            return None
    except database.UNREADABLE as error:
        if database.is_surroundings(error):
            raise
        return Fault(None, "", 0, f"changed: the state that is kept beside the rows cannot be read ({error})")
    what = "changed: the state that is kept beside the rows is not theirs, or the device has another key now"
    return Fault(found[0], "", 0, what)


def _kept(connection: sqlite3.Connection) -> tuple[Any, ...] | None:
    """The row of the table. Raises ``sqlite3.Error``, also where the table is gone."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < SINCE:
        return None  # an archived file from before there were images
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'image'").fetchone():
        raise sqlite3.OperationalError("no such table: image")  # a view could have us read for ever
    found: tuple[Any, ...] | None = connection.execute(
        "SELECT row, form, heads, body, mac FROM image ORDER BY row DESC LIMIT 1"
    ).fetchone()
    return found


def _stands(connection: sqlite3.Connection, secret: bytes, found: tuple[Any, ...]) -> bool:
    if not _bound(secret, found):
        return False
    for stream, head in json.loads(found[2]).items():
        at = (stream, int(head["sequence"]))
        stands = connection.execute("SELECT body FROM row WHERE stream = ? AND sequence = ?", at).fetchone()
        if stands is None or digest(stands[0]) != head["sha256"]:
            return False
    return True


def _bound(secret: bytes, found: tuple[Any, ...]) -> bool:
    row, form, ends, body, mac = found
    return hmac.compare_digest(mac, _mac(secret, row, form, ends, body))


def _mac(secret: bytes, row: int, form: str, ends: str, body: bytes) -> bytes:
    head = json.dumps([row, form, ends]).encode()
    return hmac.digest(secret, head + b"|" + body, hashlib.sha256)
