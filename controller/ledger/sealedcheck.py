"""Proves that nothing was changed in what is never published: boxes, the names of their keys, the auditor's keys.

The published bytes are chained without it, so it has a running digest of its own for each stream, which is signed
beside every ``ledger.signed``. No secret is needed: what is held together is what lies encrypted.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from controller.contract.following import Fault
from controller.contract.integrity import GENESIS, sealed_digest, sealed_text
from controller.contract.keyring import Keyring
from controller.contract.topics import Source
from controller.ledger import kinds

_AT_ONCE = 500
_ROWS = (
    "SELECT row.row, row.stream, row.sequence, row.type, row.body, row.key, row.secret, "
    'hand_key.sealed AS "hand_key.sealed" '
    "FROM row LEFT JOIN hand_key ON hand_key.hand = row.key "
    "WHERE row.row > ? AND (row.key IS NOT NULL OR row.secret IS NOT NULL OR row.type = 'ledger.signed') "
    "ORDER BY row.row LIMIT ?"
)
_COLUMNS = ("row", "stream", "sequence", "type", "body", "key", "secret", "hand_key.sealed")
_SIGNED = ("sha256", "signature")
_FORM = re.compile("[0-9a-f]{128}")
_SEALED = (
    "SELECT stream, sequence, EXISTS (SELECT 1 FROM row WHERE row.stream = sealed.stream "
    "AND row.sequence = sealed.sequence AND row.type = 'ledger.signed') FROM sealed "
    "WHERE (stream, sequence) > (?, ?) ORDER BY stream, sequence LIMIT ?"
)
SINCE = 2
"""The schema from which on the sealed part is bound."""


def check(
    connection: sqlite3.Connection,
    source: Source,
    about: Mapping[str, str],
    keys: Keyring | None,
    go_on: Callable[[int], bool],
) -> Iterator[Fault]:
    """Every fault of the sealed part. Raises ``sqlite3.Error`` for a file that cannot be read.

    ``about``: what the file says about itself.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < SINCE:
        return
    digests: dict[str, str] = {}
    after = _number(about.get("sealed_from"))
    while True:
        connection.execute("BEGIN")
        try:
            read = kinds.anything(connection)
            rows = read.execute(_ROWS, (after, _AT_ONCE)).fetchall()
            signed = _signed(read, rows)
            heads = read.execute("SELECT stream, sealed FROM head").fetchmany(_AT_ONCE)
        finally:
            connection.execute("ROLLBACK")
        for number, stream, sequence, kind, body, name, box, auditors in rows:
            if not go_on(number):
                return
            if number <= after:
                yield Fault(number, stream, sequence, f"changed: what lies sealed is in no order behind row {after}")
                return
            after = number
            if what := kinds.wrong(_COLUMNS, (number, stream, sequence, kind, body, name, box, auditors)):
                shown = "?" if kinds.wrong(("stream", "sequence"), (stream, sequence)) else stream
                yield Fault(number, shown, sequence if shown == stream else 0, f"damaged: what lies sealed: {what}")
                continue
            at = digests.get(stream, GENESIS)
            if kind == "ledger.signed":
                found = signed.get((stream, sequence))
                what = _against(at, found, keys, body, source.stream(stream), about["ledger"], sequence)
                if what is not None:
                    yield Fault(number, stream, sequence, what)
                    if found is not None and kinds.wrong(_SIGNED, found) is None:
                        digests[stream] = found[0]  # each change is told once
            elif name is None or box is None:
                yield Fault(number, stream, sequence, "changed: half of what lay sealed with it is gone")
            else:
                digests[stream] = sealed_digest(at, sequence, name, box, auditors)
        if len(rows) < _AT_ONCE:
            break
    yield from _strays(connection, go_on)
    for stream, sealed in heads:
        if sealed != digests.get(stream, GENESIS):
            yield _at(stream, 0, "changed: what lies sealed at the end is not what was sealed")


def _strays(connection: sqlite3.Connection, go_on: Callable[[int], bool]) -> Iterator[Fault]:
    """Signatures over the sealed part that lie beside no ``ledger.signed``."""
    after = ("", -(2**63))
    while rows := kinds.anything(connection).execute(_SEALED, (*after, _AT_ONCE)).fetchall():
        for stream, sequence, known in rows:
            if what := kinds.wrong(("stream", "sequence"), (stream, sequence)):
                yield _at(stream, sequence, f"damaged: a signature over what lies sealed: {what}")
                return
            if (stream, sequence) <= after:
                raise sqlite3.DatabaseError("its signatures lie in no order")
            after = (stream, sequence)
            if not known:
                yield _at(stream, sequence, "inserted: a signature over what lies sealed beside no ledger.signed")
        if not go_on(0):
            return


def _at(stream: object, sequence: object, what: str) -> Fault:
    """A fault of a place that can be named by anything."""
    named = isinstance(stream, str) and isinstance(sequence, int)
    return Fault(None, str(stream), int(str(sequence)), what) if named else Fault(None, "?", 0, what)


def _signed(read: sqlite3.Cursor, rows: list[Any]) -> Mapping[tuple[str, int], tuple[Any, Any]]:
    """What was signed over the sealed part, for the signatures among these rows."""
    found = {}
    for _, stream, sequence, kind, *_ in rows:
        if kind == "ledger.signed":
            one = read.execute(
                "SELECT sha256, signature FROM sealed WHERE stream = ? AND sequence = ?", (stream, sequence)
            ).fetchone()
            if one is not None:
                found[stream, sequence] = one
    return found


def _against(
    at: str, found: tuple[Any, Any] | None, keys: Keyring | None, body: bytes, source: str, ledger: str, sequence: int
) -> str | None:
    if found is None:
        return "removed: the signature over what lies sealed before it"
    if what := kinds.wrong(_SIGNED, found):
        return f"damaged: the signature over what lies sealed before it: {what}"
    if _FORM.fullmatch(found[1]) is None:
        return "changed: the signature over what lies sealed before it is none"
    if found[0] != at:
        return "changed: what lies sealed before it is not what was sealed"
    if keys is None:
        return None
    return keys.sealed(_key_of(body), found[1], sealed_text(source, ledger, sequence, at))


def _key_of(body: bytes) -> str:
    try:
        return str(json.loads(body)["data"]["key"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""  # no event: following the chain has said so


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else -(2**63)
