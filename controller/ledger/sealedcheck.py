"""Proves that nothing was changed in what is never published: boxes, the names of their keys, the auditor's keys.

The published bytes are chained without it, so it has a running digest of its own for each stream, which is signed
beside every ``ledger.signed``. No secret is needed: what is held together is what lies encrypted.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from controller.contract.following import Fault
from controller.contract.integrity import GENESIS, sealed_digest, sealed_text
from controller.contract.keyring import Keyring
from controller.contract.topics import Source
from controller.ledger import database

_AT_ONCE = 500
_ROWS = (
    "SELECT row.row, row.stream, row.sequence, row.type, row.body, row.key, row.secret, hand_key.sealed "
    "FROM row LEFT JOIN hand_key ON hand_key.hand = row.key "
    "WHERE row.row > ? AND (row.key IS NOT NULL OR row.secret IS NOT NULL OR row.type = 'ledger.signed') "
    "ORDER BY row.row LIMIT ?"
)
SINCE = 2
"""The schema from which on the sealed part is bound."""


def check(
    connection: sqlite3.Connection, source: Source, keys: Keyring | None, go_on: Callable[[int], bool]
) -> Iterator[Fault]:
    """Every fault of the sealed part. Raises ``sqlite3.Error`` for a file that cannot be read."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < SINCE:
        return
    about = database.meta(connection)
    digests: dict[str, str] = {}
    after = _number(about.get("sealed_from"))
    while True:
        connection.execute("BEGIN")
        try:
            rows = connection.execute(_ROWS, (after, _AT_ONCE)).fetchall()
            signed = _signed(connection, rows)
            heads = dict(connection.execute("SELECT stream, sealed FROM head"))
        finally:
            connection.execute("ROLLBACK")
        for number, stream, sequence, kind, body, name, box, auditors in rows:
            if not go_on(number):
                return
            if number <= after:
                yield Fault(number, stream, sequence, f"changed: what lies sealed is in no order behind row {after}")
                return
            after = number
            at = digests.get(stream, GENESIS)
            if kind == "ledger.signed":
                found = signed.get((stream, sequence))
                what = _against(at, found, keys, body, source.stream(stream), about["ledger"], sequence)
                if what is not None:
                    yield Fault(number, stream, sequence, what)
                    if found is not None:
                        digests[stream] = found[0]  # each change is told once
            elif name is None or box is None:
                yield Fault(number, stream, sequence, "changed: half of what lay sealed with it is gone")
            else:
                digests[stream] = sealed_digest(at, sequence, name, box, auditors)
        if len(rows) < _AT_ONCE:
            break
    for stream, sealed in heads.items():
        if sealed != digests.get(stream, GENESIS):
            yield Fault(None, stream, 0, "changed: what lies sealed at the end is not what was sealed")


def _signed(connection: sqlite3.Connection, rows: list[Any]) -> Mapping[tuple[str, int], tuple[str, str]]:
    """What was signed over the sealed part, for the signatures among these rows."""
    found = {}
    for _, stream, sequence, kind, *_ in rows:
        if kind == "ledger.signed":
            one = connection.execute(
                "SELECT sha256, signature FROM sealed WHERE stream = ? AND sequence = ?", (stream, sequence)
            ).fetchone()
            if one is not None:
                found[stream, sequence] = one
    return found


def _against(
    at: str, found: tuple[str, str] | None, keys: Keyring | None, body: bytes, source: str, ledger: str, sequence: int
) -> str | None:
    if found is None:
        return "removed: the signature over what lies sealed before it"
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
