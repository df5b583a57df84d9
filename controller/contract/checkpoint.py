"""Heads that somebody outside the device has seen: the one proof that the end of a ledger was not cut off.

The back office takes them from what it has stored, countersigns them with a key of its own, and keeps the file where
nobody at the table can reach it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from controller.contract.errors import ContractError
from controller.contract.integrity import GENESIS, key_id


@dataclass(frozen=True, slots=True)
class Head:
    """The last event of a stream. Sequence 0 and zeros before the first."""

    sequence: int = 0
    sha256: str = GENESIS

    def to_json(self) -> dict[str, str]:
        """As the contract writes a head."""
        return {"sequence": f"{self.sequence:016d}", "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The heads of one ledger. ``time`` is when they were seen; ``key`` and ``signature`` are the back office's."""

    ledger: str
    heads: Mapping[str, Head]
    time: str = ""
    key: str = ""
    signature: str = field(default="", repr=False)

    @classmethod
    def from_json(cls, path: Path) -> "Checkpoint":
        """Read ``{"ledger": ..., "heads": {stream: {"sequence": ..., "sha256": ...}}}``. Raises ``ContractError``."""
        try:
            content = json.loads(path.read_bytes())
            heads = {name: Head(int(head["sequence"]), str(head["sha256"])) for name, head in content["heads"].items()}
            rest = {name: str(content.get(name, "")) for name in ("time", "key", "signature")}
            return cls(str(content["ledger"]), heads, **rest)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = f"is no checkpoint ({error}); give the file that the back office wrote"
            raise ContractError(f"checkpoint: {str(path)!r}: {remedy}") from error

    def to_json(self) -> dict[str, Any]:
        """As it is written to a file."""
        heads = {stream: head.to_json() for stream, head in sorted(self.heads.items())}
        return {
            "ledger": self.ledger,
            "heads": heads,
            "time": self.time,
            "key": self.key,
            "signature": self.signature,
        }

    def text(self) -> bytes:
        """What the back office signs."""
        heads = "|".join(f"{stream}:{head.sequence:016d}:{head.sha256}" for stream, head in sorted(self.heads.items()))
        return f"felt-checkpoint|1|{self.ledger}|{self.time}|{heads}".encode()

    def countersigned(self, key: Ed25519PrivateKey) -> Self:
        """The same heads under the back office's key."""
        name = key_id(key.public_key().public_bytes_raw())
        return replace(self, key=name, signature=key.sign(self.text()).hex())

    def is_signed_by(self, key: Ed25519PublicKey) -> bool:
        """Whether this key countersigned exactly these heads."""
        try:
            key.verify(bytes.fromhex(self.signature), self.text())
        except (InvalidSignature, ValueError):
            return False
        return self.key == key_id(key.public_bytes_raw())
