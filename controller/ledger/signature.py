"""Who signs the heads of the streams, and when."""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from controller.contract.integrity import SIGNED_AT_ONCE, key_id, rotation_text, sealed_text, signed_text

__all__ = ["ENDS_A_HAND", "SIGNED_AT_ONCE", "Signer", "SigningRhythm"]

ENDS_A_HAND = frozenset({"hand.closed", "hand.voided"})


@dataclass(frozen=True, slots=True)
class SigningRhythm:
    """How long a head may stay unsigned: at most so many rows of a stream, and so many milliseconds.

    At each hand's end and when the table closes, all streams are signed whatever the rhythm says.
    """

    rows: int = 500
    period_ms: int = 60_000


class Signer:
    """Signs heads with one Ed25519 key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public: Ed25519PublicKey = key.public_key()
        self.key_id = key_id(self.public.public_bytes_raw())

    def sign(self, source: str, ledger: str, sequence: int, sha256: str) -> dict[str, object]:
        """The ``data`` of a ``ledger.signed`` for the head named."""
        return {
            "head": {"sequence": f"{sequence:016d}", "sha256": sha256},
            "key": self.key_id,
            "signature": self._key.sign(signed_text(source, ledger, sequence, sha256)).hex(),
        }

    def sign_sealed(self, source: str, ledger: str, sequence: int, sha256: str) -> str:
        """The signature under the digest of all that lies sealed in a stream; it is never published."""
        return self._key.sign(sealed_text(source, ledger, sequence, sha256)).hex()

    def take_over(self, before: Ed25519PrivateKey, source: str, ledger: str, row: int) -> dict[str, object]:
        """The ``data`` of a ``key.rotated``: from this row on our key signs, and both keys say so."""
        old, new = key_id(before.public_key().public_bytes_raw()), self.public.public_bytes_raw().hex()
        text = rotation_text(source, ledger, old, new, f"{row:016d}")
        return {
            "old": old,
            "new": self.key_id,
            "old_public_key": before.public_key().public_bytes_raw().hex(),
            "public_key": new,
            "valid_from": f"{row:016d}",
            "signed_by_old": before.sign(text).hex(),
            "signed_by_new": self._key.sign(text).hex(),
        }
