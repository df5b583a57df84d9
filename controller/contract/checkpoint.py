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

from controller.contract import named
from controller.contract.errors import NoCheckpoint
from controller.contract.integrity import GENESIS, key_id

_GIVE = "give the file that the back office wrote"
UNCHECKED = "the checkpoint's countersignature was not checked: give --office-key"
"""What a report notes that was made with a checkpoint and without the key of who must have countersigned it."""
_DIGITS = 16
_LONGEST = 40


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
        """Read ``{"ledger": ..., "heads": {stream: {"sequence": ..., "sha256": ...}}}``. Raises ``NoCheckpoint``."""
        file = f"checkpoint {path}"
        try:
            content = json.loads(named.read(path))
        except OSError as error:
            raise NoCheckpoint("checkpoint", str(path), f"cannot be read ({error.strerror}); {_GIVE}") from error
        except (ValueError, RecursionError):
            raise NoCheckpoint("checkpoint", str(path), f"is no checkpoint: is no JSON; {_GIVE}") from None
        about = {"time": "", "key": "", "signature": ""} | _object(file, content)
        heads = {}
        for stream, said in _object(f"{file}: heads", about.get("heads")).items():
            place = f"{file}: heads.{stream[:_LONGEST]!r}"
            head = _object(place, said)
            heads[stream] = Head(_number(f"{place}.sequence", head), _text(f"{place}.sha256", head.get("sha256")))
        ledger, *rest = [_text(f"{file}: {name}", about.get(name)) for name in ("ledger", "time", "key", "signature")]
        return cls(ledger, heads, *rest)

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


def _object(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NoCheckpoint(place, _shown(value), f"is no checkpoint: must be an object; {_GIVE}")
    return value


def _text(place: str, value: Any) -> str:
    if not isinstance(value, str):
        raise NoCheckpoint(place, _shown(value), f"is no checkpoint: must be a text; {_GIVE}")
    return value


def _number(place: str, head: Mapping[str, Any]) -> int:
    text = _text(place, head.get("sequence"))
    if not (text.isascii() and text.isdecimal() and len(text) == _DIGITS):
        raise NoCheckpoint(place, _shown(text), f"is no checkpoint: must have {_DIGITS} digits; {_GIVE}")
    return int(text)


def _shown(value: Any) -> object:
    """What stood there, no longer than a line."""
    if isinstance(value, dict | list):
        return type(value).__name__
    return value if len(str(value)) <= _LONGEST else f"{str(value)[:_LONGEST]}..."
