"""What must not be published: encrypted at rest, each hand under a key of its own.

The key of a hand lies in the file twice. Wrapped under the device key, so that a restart can play the hand to its
end; this one is deleted in the transaction that closes the hand. Sealed to the auditor's public key, so that an
auditor, and nobody at the table, can open it later. How boxes are made is told in ``contract.sealed``.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from controller.contract.sealed import decrypt, encrypt, key_place, seal_to
from controller.ledger import database, images
from controller.ledger.errors import KeyFileError, LedgerDamaged, LedgerError

_COPY = f"{database.COPY}; verify has no such key: whether a copy has it whole, only a start tells"
TABLE_KEY = "table"
"""The key of secrets that belong to no hand, or to one that is closed already."""


class Vault:
    """Makes, keeps, finds and retires the keys of the hands. Works inside the transaction of its caller."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, ledger: str, device: bytes, auditor: X25519PublicKey | None
    ) -> None:
        self._path = path
        self._connection = connection
        self._ledger = ledger
        self._device = AESGCM(device)
        self._image_key = images.key(device, ledger)
        self._auditor = auditor
        self._open: dict[str, AESGCM] = {}

    def seal(self, hand: str | None, secret: dict[str, Any], place: bytes) -> tuple[str, bytes]:
        """Encrypt; returns the name of the key that was used, and the box."""
        name = hand or TABLE_KEY
        key = self._key(name) or self._create(name)
        if key is None:
            name = TABLE_KEY
            key = self._key(name) or self._create(name)
            assert key is not None  # the table's key is never retired
        plain = json.dumps(secret, ensure_ascii=False, separators=(",", ":")).encode()
        return name, encrypt(key, plain, place)

    def auditors(self, name: str) -> bytes | None:
        """The key of that name as it is sealed to the auditor; ``None`` where there is no auditor."""
        found = self._connection.execute(
            'SELECT sealed AS "hand_key.sealed" FROM hand_key WHERE hand = ?', (name,)
        ).fetchone()
        return None if found is None else found[0]

    def unseal(self, name: str, box: bytes, place: bytes) -> dict[str, Any] | None:
        """Decrypt; ``None`` when the hand is closed and its key gone.

        Raises ``KeyFileError`` for a device key that is not this ledger's, ``LedgerDamaged`` for what lies sealed.
        """
        key = self._key(name)
        if key is None:
            return None
        try:
            content: dict[str, Any] = json.loads(decrypt(key, box, place))
        except InvalidTag:
            raise LedgerDamaged(self._path, f"a secret under {name} is not what was sealed; {database.COPY}") from None
        return content

    def retire(self, hand: str) -> None:
        """Delete what could open the hand's secrets on this device. The row stays: the key is not made again.

        The file's write-ahead log holds the wrapped key until it is emptied, which the ledger does at once.
        """
        self._connection.execute(
            "INSERT INTO hand_key (hand) VALUES (?) ON CONFLICT (hand) DO UPDATE SET restart = NULL",
            (hand,),
        )
        self._open.pop(hand, None)

    def forget(self) -> None:
        """Drop what is kept in memory: a transaction was rolled back, and its keys with it."""
        self._open.clear()

    def _key(self, name: str) -> AESGCM | None:
        if name in self._open:
            return self._open[name]
        found = self._connection.execute("SELECT restart FROM hand_key WHERE hand = ?", (name,)).fetchone()
        if found is None or found[0] is None:
            return None
        try:
            key = AESGCM(decrypt(self._device, found[0], key_place(self._ledger, name)))
        except InvalidTag:
            raise self._wrong(name) from None
        self._open[name] = key
        return key

    def _create(self, name: str) -> AESGCM | None:
        """A new key; ``None`` if the name had one already, which is retired."""
        if self._connection.execute("SELECT 1 FROM hand_key WHERE hand = ?", (name,)).fetchone():
            return None
        raw = AESGCM.generate_key(256)
        place = key_place(self._ledger, name)
        self._connection.execute(
            "INSERT INTO hand_key (hand, restart, sealed) VALUES (?, ?, ?)",
            (
                name,
                encrypt(self._device, raw, place),
                seal_to(self._auditor, raw, place) if self._auditor else None,
            ),
        )
        self._open[name] = AESGCM(raw)
        return self._open[name]

    def _wrong(self, name: str) -> KeyFileError | LedgerError:
        """One of two things: another device key, or another box than what was wrapped with it."""
        if self._opens_others(name):
            return LedgerDamaged(
                self._path,
                f"the key of {name} as a restart needs it is damaged, for the device key opens others here; {_COPY}",
            )
        remedy = (
            f"does not open the key of {name}: give the key that the ledger {self._path} was made with; "
            f"where it is that one, the ledger is damaged there: {_COPY}"
        )
        return KeyFileError("ledger.device_key", f"ledger {self._ledger}", remedy)

    def _opens_others(self, but: str) -> bool:
        """Whether the device key has made something else in this file."""
        wrapped = "SELECT hand, restart FROM hand_key WHERE restart IS NOT NULL AND hand != ?"
        for name, box in self._connection.execute(wrapped, (but,)):
            try:
                decrypt(self._device, box, key_place(self._ledger, name))
            except InvalidTag:
                continue
            return True
        return images.made_with(self._connection, self._image_key)
