"""Key files: making and reading them. None of them ever comes near the project or a log.

========== =================================== ==========================================================
device     32 random bytes in hex              on the device; opens the secrets of hands that are being played
signing    Ed25519 private key, PEM            on the device; signs the heads of the streams
auditor    X25519 key pair, PEM                the private half is the auditor's and is not kept on the device
========== =================================== ==========================================================

A private file has the mode 0600 or stricter; a systemd credential may show 0440.
"""

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from controller.contract import named
from controller.contract.integrity import key_id
from controller.contract.keyfile import TEST_KEY
from controller.ledger.errors import KeyFileError
from controller.private import open_to_others

_MAKE = "make it with `feltd keys`"


@dataclass(frozen=True, slots=True)
class Keys:
    """What a ledger is opened with.

    ``device`` wraps the keys of the hands (32 bytes). Without ``auditor`` nobody can open a closed card after its
    hand; without ``signing`` the streams are chained and not signed. ``signing_before`` hands over to ``signing``
    where the ledger was signed with it so far.
    """

    device: bytes = field(repr=False)
    auditor: X25519PublicKey | None = None
    signing: Ed25519PrivateKey | None = field(default=None, repr=False)
    signing_before: Ed25519PrivateKey | None = field(default=None, repr=False)

    @property
    def auditor_id(self) -> str | None:
        """The name of the key that is sealed to; ``None`` where there is none."""
        return None if self.auditor is None else key_id(self.auditor.public_bytes_raw())

    @classmethod
    def load(
        cls,
        *,
        device: Path,
        auditor: Path | None = None,
        signing: Path | None = None,
        signing_before: Path | None = None,
        create: bool = False,
        test: bool | None = None,
    ) -> "Keys":
        """Read the key files. ``create`` makes a missing device key: for test mode and ``feltd keys`` only.

        Raises ``KeyFileError`` with the file and the remedy.
        """
        if create and not device.exists():
            create_device_key(device)
        return cls(
            device=load_device_key(device),
            auditor=load_auditor_public_key(auditor) if auditor else None,
            signing=load_signing_key(signing, test=test) if signing else None,
            signing_before=(
                load_signing_key(signing_before, test=test, field_name="ledger.signing_key_before")
                if signing_before
                else None
            ),
        )


def create_device_key(path: Path) -> None:
    """Write a new device key, mode 0600. Raises ``KeyFileError`` if the file is there already."""
    _write(path, secrets.token_hex(32).encode() + b"\n", 0o600)


def create_signing_key(path: Path, public: Path, *, test: bool = False) -> None:
    """Write a new Ed25519 key, mode 0600, and its public half for the subscribers; ``test``: for rehearsals alone."""
    key = Ed25519PrivateKey.generate()
    mark = TEST_KEY if test else b""
    _write(path, mark + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    _write(public, mark + key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), 0o644)


def create_auditor_key(path: Path, public: Path) -> None:
    """Write a new X25519 key for the auditor, mode 0600, and its public half for the device."""
    key = X25519PrivateKey.generate()
    _write(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    _write(public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), 0o644)


def load_device_key(path: Path) -> bytes:
    """Read the device key, 32 bytes."""
    text = _read_private("ledger.device_key", path)
    try:
        key = bytes.fromhex(text.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != 32:
        raise KeyFileError("ledger.device_key", str(path), f"does not hold 64 hex digits; {_MAKE}")
    return key


def load_signing_key(
    path: Path, *, test: bool | None = None, field_name: str = "ledger.signing_key"
) -> Ed25519PrivateKey:
    """Read the key that signs the streams. With ``test`` it must be one for rehearsals, or for live play.

    ``field_name``: what an error calls it.
    """
    key = _private_pem(field_name, path)
    if test is not None and _read(field_name, path).startswith(TEST_KEY) != test:
        meant, told = ("rehearsals", "feltd keys --test") if test else ("live play", "feltd keys")
        raise KeyFileError(field_name, str(path), f"is no key for {meant}; make one with `{told}`")
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(field_name, str(path), f"is not an Ed25519 key; {_MAKE}")
    return key


def load_auditor_key(path: Path) -> X25519PrivateKey:
    """Read the auditor's private key, to open what was sealed."""
    key = _private_pem("card key", path)
    if not isinstance(key, X25519PrivateKey):
        raise KeyFileError("card key", str(path), "is not an X25519 key; use the auditor's private key")
    return key


def load_auditor_public_key(path: Path) -> X25519PublicKey:
    """Read the auditor's public key, to seal with."""
    key = _public_pem("ledger.auditor_public_key", path)
    if not isinstance(key, X25519PublicKey):
        raise KeyFileError("ledger.auditor_public_key", str(path), f"is not an X25519 public key; {_MAKE}")
    return key


def load_verify_key(path: Path) -> Ed25519PublicKey:
    """Read the public half of a signing key."""
    key = _public_pem("key", path)
    if not isinstance(key, Ed25519PublicKey):
        raise KeyFileError("key", str(path), "is not an Ed25519 public key; use the one pinned at enrolment")
    return key


def _write(path: Path, content: bytes, mode: int) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise KeyFileError(
            "key file", str(path), "is there already; move it away first, a key is not replaced"
        ) from None
    except OSError as error:
        raise KeyFileError("key file", str(path), f"cannot be written: {error.strerror}") from error


def _read_private(field_name: str, path: Path) -> bytes:
    content = _read(field_name, path)
    if remedy := open_to_others(path):
        raise KeyFileError(field_name, str(path), remedy)
    return content


def _read(field_name: str, path: Path) -> bytes:
    try:
        return named.read(path)
    except OSError as error:
        raise KeyFileError(field_name, str(path), f"cannot be read: {error.strerror}; {_MAKE}") from error


def _private_pem(field_name: str, path: Path) -> object:
    content = _read_private(field_name, path)
    try:
        return load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(field_name, str(path), f"is not a PEM private key without a password; {_MAKE}") from None


def _public_pem(field_name: str, path: Path) -> object:
    content = _read(field_name, path)
    try:
        return load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise KeyFileError(field_name, str(path), f"is not a PEM public key; {_MAKE}") from None
