"""Reads a ledger without writing it: for export, and for the auditor who may open what was never shown."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from controller.contract.sealed import bound_to, decrypt, key_place, open_sealed
from controller.core.records import Record
from controller.ledger import database
from controller.ledger.errors import KeyFileError
from controller.ledger.restoring import as_record


def read_records(path: Path, *, auditor: X25519PrivateKey | None = None, hand: str | None = None) -> Iterator[Record]:
    """All records of a ledger, or those of a hand, in row order.

    With the ``auditor``'s private key each record has its secret, where it was sealed to that key; without it none
    has. Raises ``LedgerError`` for a file that cannot be read, ``KeyFileError`` for another auditor's key.
    """
    with closing(database.connect_read_only(path)) as connection:
        try:
            ledger = database.meta(connection)["ledger"]
            opener = _Opener(connection, ledger, auditor)
            where = "" if hand is None else "WHERE hand = ?"
            query = f"SELECT stream, sequence, body, key, secret FROM row {where} ORDER BY row"  # noqa: S608 - fixed texts
            for stream, sequence, body, key, box in connection.execute(query, () if hand is None else (hand,)):
                secret = None if box is None else opener.open(key, box, bound_to(stream, sequence, ledger))
                yield as_record(stream, body, secret)
        except sqlite3.Error as error:
            raise database.unusable(path, error) from error


class _Opener:
    """The auditor's way into the secrets of a ledger. Keeps the key of one hand at a time."""

    def __init__(self, connection: sqlite3.Connection, ledger: str, auditor: X25519PrivateKey | None) -> None:
        self._connection = connection
        self._ledger = ledger
        self._auditor = auditor
        self._name = ""
        self._key: AESGCM | None = None

    def open(self, name: str, box: bytes, place: bytes) -> dict[str, Any] | None:
        if self._auditor is None:
            return None
        if name != self._name:
            self._name, self._key = name, self._find(name, self._auditor)
        if self._key is None:
            return None
        secret: dict[str, Any] = json.loads(decrypt(self._key, box, place))
        return secret

    def _find(self, name: str, auditor: X25519PrivateKey) -> AESGCM | None:
        found = self._connection.execute("SELECT sealed FROM hand_key WHERE hand = ?", (name,)).fetchone()
        if found is None or found[0] is None:
            return None
        try:
            return AESGCM(open_sealed(auditor, found[0], key_place(self._ledger, name)))
        except InvalidTag:
            raise KeyFileError("card key", name, "does not open this hand; use the key it was sealed to") from None
