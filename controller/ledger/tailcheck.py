"""A look at the end of each stream at the start: short whatever the size of the file."""

import json
import sqlite3
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from controller.contract.checkpoint import Head
from controller.contract.following import Fault
from controller.contract.integrity import key_id
from controller.contract.keyring import Keyring
from controller.contract.topics import STREAMS
from controller.ledger import database
from controller.ledger.verify import ROWS, follow, stored

MOST_UNSIGNED = 2000
"""How far back it looks where nothing was signed."""


def check(
    connection: sqlite3.Connection, heads: Mapping[str, Head], public: Ed25519PublicKey | None
) -> tuple[Fault, ...]:
    """Follow each stream from its last signature on, and hold that signature against our own key."""
    faults: list[Fault] = []
    for stream in STREAMS:
        try:
            faults += _check(connection, stream, heads[stream], public)
        except database.UNREADABLE as error:
            faults.append(Fault(None, stream, 0, f"the end cannot be read ({error})"))
    return tuple(faults)


def last_signed_by(connection: sqlite3.Connection) -> str | None:
    """The key that signed last, ``None`` where nothing is signed."""
    found = [_last_signature(connection, stream) for stream in STREAMS]
    newest = max((one for one in found if one is not None), default=None)
    return None if newest is None else _said(newest[2], "data", "key")


def _last_signature(connection: sqlite3.Connection, stream: str) -> tuple[int, int, bytes] | None:
    """Row, sequence and bytes of the last signature of a stream."""
    found: tuple[int, int, bytes] | None = connection.execute(
        "SELECT row, sequence, body FROM row WHERE stream = ? AND type = 'ledger.signed' "
        "ORDER BY sequence DESC LIMIT 1",
        (stream,),
    ).fetchone()
    return found


def _check(
    connection: sqlite3.Connection, stream: str, head: Head, public: Ed25519PublicKey | None
) -> tuple[Fault, ...]:
    begin, keys = max(1, head.sequence - MOST_UNSIGNED), None
    signature = _last_signature(connection, stream)
    if signature is not None and signature[1] >= begin:
        begin = signature[1]
        # A stream that has been silent since can still end with the signature of an older key.
        if public is not None and _said(signature[2], "data", "key") == key_id(public.public_bytes_raw()):
            keys = Keyring([public])
    rows = connection.execute(f"{ROWS} WHERE stream = ? AND sequence >= ? ORDER BY sequence", (stream, begin))
    follower = follow(database.meta(connection), keys)
    for number, row in enumerate(rows):
        one = stored(*row)
        if number == 0 and begin > 1:
            follower.begin_at(stream, Head(begin - 1, _said(one.body, "prev")))
        follower.follow(one)
    end = follower.chains.get(stream)
    if end is not None and (end.sequence, end.sha256) != (head.sequence, head.sha256):
        follower.fault(Fault(end.row, stream, end.sequence, "changed: the stream's end has another hash"))
    return follower.report().faults


def _said(body: bytes, *path: str) -> str:
    """A text in an event; empty for bytes that are no event, which the follower tells in its own words."""
    try:
        value = json.loads(body)
        for name in path:
            value = value[name]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return str(value)
