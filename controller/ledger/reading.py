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
from controller.ledger.errors import KeyFileError, LedgerDamaged
from controller.ledger.restoring import as_record


def read_records(path: Path, *, auditor: X25519PrivateKey | None = None, hand: str | None = None) -> Iterator[Record]:
    """All records of a ledger, or those of a hand, in row order.

    With the ``auditor``'s private key each record has its secret, where it was sealed to that key; without it none
    has. Raises ``LedgerError`` for a file that cannot be read, ``KeyFileError`` for another auditor's key.
    """
    with closing(database.connect_read_only(path)) as connection:
        try:
            ledger = database.said(connection, "ledger") or ""
            opener = _Opener(path, connection, ledger, auditor)
            where = "" if hand is None else "WHERE hand = ?"
            query = f"SELECT row, stream, sequence, body, key, secret FROM row {where} ORDER BY row"  # noqa: S608 - fixed
            rows = database.ascending(connection.execute(query, () if hand is None else (hand,)))
            for _, stream, sequence, body, key, box in rows:
                secret = None
                try:
                    if box is not None:
                        secret = opener.open(key, box, bound_to(stream, sequence, ledger))
                    record = as_record(stream, body, secret)
                except (InvalidTag, *database.NO_EVENT) as error:
                    raise _damaged(path, stream, sequence) from error
                if auditor is not None and box is None and record.type == "card.dealt" and "commit" in record.data:
                    raise _damaged(path, stream, sequence)
                yield record
        except database.UNREADABLE as error:
            raise database.unusable(path, error) from error


def _damaged(path: Path, stream: str, sequence: int) -> LedgerDamaged:
    remedy = "or what lies sealed with it, is not what was written; read a copy that feltd verify calls whole"
    return LedgerDamaged(path, f"event {sequence} of {stream}, {remedy}")


class _Opener:
    """The auditor's way into the secrets of a ledger. Keeps the key of one hand at a time."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, ledger: str, auditor: X25519PrivateKey | None
    ) -> None:
        self._path = path
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
        found = self._connection.execute(
            'SELECT sealed AS "hand_key.sealed" FROM hand_key WHERE hand = ?', (name,)
        ).fetchone()
        if found is None:
            raise LedgerDamaged(self._path, f"the key of {name} is gone; read a copy that feltd verify calls whole")
        if found[0] is None:
            return None  # it was sealed to no auditor
        try:
            return AESGCM(open_sealed(auditor, found[0], key_place(self._ledger, name)))
        except InvalidTag:
            raise KeyFileError("card key", name, "does not open this hand; use the key it was sealed to") from None
