"""The signing keys of one table as a verifier knows them: what was pinned, and what pinned keys have handed over to."""

from collections.abc import Iterable, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from controller.contract.integrity import key_id, rotation_text, signed_text


class Keyring:
    """Begins with the keys that were pinned at enrolment. A rotation that both keys signed adds one and ends one.

    Each answer is what is wrong, or ``None``.
    """

    def __init__(self, pinned: Iterable[Ed25519PublicKey]) -> None:
        self._keys = {key_id(key.public_bytes_raw()): key for key in pinned}
        self._ended: dict[str, int] = {}

    @property
    def keys(self) -> list[Ed25519PublicKey]:
        """All keys that are trusted by now."""
        return list(self._keys.values())

    def next_ledger(self) -> None:
        """Rows begin anew: what was replaced in the ledger before is not trusted in the next one at all."""
        for name in self._ended:
            self._keys.pop(name, None)
        self._ended.clear()

    def signature(
        self, data: Mapping[str, Any], row: int, source: str, ledger: str, head: tuple[int, str]
    ) -> str | None:
        """Hold the ``data`` of a ``ledger.signed`` against the head before it."""
        name = str(data.get("key"))
        key = self._keys.get(name)
        if key is None:
            return f"signed with a key that was not given: {name!r}"
        if row > self._ended.get(name, row):
            return f"signed with a key that was replaced at row {self._ended[name]}: {name!r}"
        if not _fits(key, data.get("signature"), signed_text(source, ledger, *head)):
            return "its signature is not valid for the event before it"
        return None

    def sealed(self, name: str, signature: object, text: bytes) -> str | None:
        """Hold the signature over the sealed part of a stream against the key of the ``ledger.signed`` beside it."""
        key = self._keys.get(name)
        if key is None or _fits(key, signature, text):
            return None  # a strange key is told where the event itself is looked at
        return "the signature over what lies sealed is not valid"

    def rotation(self, data: Mapping[str, Any], row: int, source: str, ledger: str) -> str | None:
        """Take the new key of a ``key.rotated`` if the old one is trusted and both have signed."""
        old, new = str(data.get("old")), str(data.get("new"))
        try:
            raw = bytes.fromhex(str(data.get("public_key")))
            key = Ed25519PublicKey.from_public_bytes(raw)
        except ValueError:
            return "the new key is no Ed25519 key"
        if key_id(raw) != new:
            return "the new key does not have the name that is given"
        if old not in self._keys:
            return f"the old key was not given: {old!r}"
        text = rotation_text(source, ledger, old, raw.hex(), str(data.get("valid_from")))
        if not _fits(self._keys[old], data.get("signed_by_old"), text):
            return "the old key has not signed the new one"
        if not _fits(key, data.get("signed_by_new"), text):
            return "the new key has not signed for itself"
        self._keys[new] = key
        self._ended.setdefault(old, row)  # the other streams say it too, behind the first
        return None


def _fits(key: Ed25519PublicKey, signature: object, text: bytes) -> bool:
    try:
        key.verify(bytes.fromhex(str(signature)), text)
    except (InvalidSignature, ValueError):
        return False
    return True
