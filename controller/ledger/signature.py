"""Who signs the heads of the streams, and when."""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controller.contract.integrity import key_id, signed_text

ENDS_A_HAND = frozenset({"hand.closed", "hand.voided"})
SIGNED_AT_ONCE = ENDS_A_HAND | {"table.closed"}


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
        self.key_id = key_id(key.public_key().public_bytes_raw())

    def sign(self, source: str, ledger: str, sequence: int, sha256: str) -> dict[str, object]:
        """The ``data`` of a ``ledger.signed`` for the head named."""
        return {
            "head": {"sequence": f"{sequence:016d}", "sha256": sha256},
            "key": self.key_id,
            "signature": self._key.sign(signed_text(source, ledger, sequence, sha256)).hex(),
        }
