"""Opens what was sealed to the auditor: the closed cards of a ledger file, each held against what was published.

Reads a copy of the ledger's file; the table it came from is not asked.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backoffice.errors import StoreError, UsageError
from controller.contract.integrity import commitment
from controller.contract.sealed import bound_to, decrypt, key_place, open_sealed


@dataclass(frozen=True, slots=True)
class Opened:
    """What was sealed of one event. ``fits``: whether it is the card that was bound; ``None`` where none was."""

    row: int
    type: str
    hand: str | None
    secret: dict[str, Any]
    fits: bool | None

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "row": f"{self.row:016d}",
            "type": self.type,
            "hand": self.hand,
            "sealed": self.secret,
            "fits": self.fits,
        }


def unseal(path: Path, auditor: X25519PrivateKey, hand: str | None = None) -> Iterator[Opened]:
    """Every sealed secret in row order, or those of a hand.

    Raises ``StoreError`` for a file that cannot be read, ``UsageError`` for another auditor's key or a hand that the
    ledger does not have.
    """
    if not path.is_file():
        raise UsageError("ledger", str(path), "no such file: give a copy of the ledger")
    query = "SELECT row, stream, sequence, type, hand, body, key, secret FROM row WHERE secret IS NOT NULL"
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as connection:
            ledger = dict(connection.execute("SELECT name, value FROM meta"))["ledger"]
            keys: dict[str, AESGCM | None] = {}
            if hand is None:
                rows = connection.execute(f"{query} ORDER BY row")
            else:
                if connection.execute("SELECT 1 FROM row WHERE hand = ? LIMIT 1", (hand,)).fetchone() is None:
                    raise UsageError("--hand", hand, "no such hand in this ledger: write its id as its events have it")
                rows = connection.execute(f"{query} AND hand = ? ORDER BY row", (hand,))
            last = -(2**63)
            for row, stream, sequence, kind, of_hand, body, name, box in rows:
                if row <= last:  # a page of a damaged file can lead back to an earlier one
                    raise StoreError(f"{path}: its rows lie in no order behind row {last}: give a whole copy")
                last = row
                if name not in keys:
                    keys[name] = _key(connection, ledger, name, auditor)
                key = keys[name]
                if key is None:
                    continue  # sealed to nobody: the table has no auditor
                secret = json.loads(decrypt(key, box, bound_to(stream, sequence, ledger)))
                yield Opened(row, kind, of_hand, secret, _fits(json.loads(body)["data"], of_hand, secret))
    except (sqlite3.Error, KeyError, TypeError, ValueError, RecursionError, InvalidTag) as error:
        raise StoreError(f"{path}: cannot be opened as a ledger ({type(error).__name__} {error})") from error


def _key(connection: sqlite3.Connection, ledger: str, name: str, auditor: X25519PrivateKey) -> AESGCM | None:
    found = connection.execute("SELECT sealed FROM hand_key WHERE hand = ?", (name,)).fetchone()
    if found is None or found[0] is None:
        return None
    try:
        return AESGCM(open_sealed(auditor, found[0], key_place(ledger, name)))
    except InvalidTag:
        raise UsageError("key", name, "does not open this hand; use the key it was sealed to") from None


def _fits(data: dict[str, Any], hand: str | None, secret: dict[str, Any]) -> bool | None:
    if "commit" not in data or hand is None or "salt" not in secret:
        return None
    return bool(commitment(hand, data["slot"], secret["card"], secret["salt"]) == data["commit"])
