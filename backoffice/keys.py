"""Key files of the back office: its own, to countersign, and the public halves that tables have given it."""

import os
import stat
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from backoffice.errors import UsageError
from controller.contract import named
from controller.contract.keyfile import TEST_KEY


def create(folder: Path) -> tuple[Path, Path]:
    """Make the key that countersigns checkpoints; returns the private file, mode 0600, and the public one.

    A folder that is not there is made, for its owner alone. Raises ``UsageError``.
    """
    key = Ed25519PrivateKey.generate()
    private, public = folder / "office-key", folder / "office.pub"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    except OSError as error:
        raise UsageError("folder", str(folder), f"cannot be written: {error.strerror}") from error
    return private, public


def office_key(path: Path) -> Ed25519PrivateKey:
    """The key that countersigns. Raises ``UsageError``."""
    key = _private(path)
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError("key", str(path), "is not an Ed25519 key: make one with feltoffice keys")
    return key


def auditor_key(path: Path) -> X25519PrivateKey:
    """The auditor's private key. Raises ``UsageError``."""
    key = _private(path)
    if not isinstance(key, X25519PrivateKey):
        raise UsageError("key", str(path), "is not an X25519 key: use the auditor's private key")
    return key


def public_key(path: Path, *, test: bool | None = None) -> Ed25519PublicKey:
    """The public half of a signing key; with ``test`` it must be one for rehearsals, or for live play.

    Raises ``UsageError``.
    """
    try:
        content = named.read(path)
        key = load_pem_public_key(content)
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise UsageError("key", str(path), f"cannot be read as a public key ({error})") from error
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError("key", str(path), "is not an Ed25519 key: use signing.pub of the table")
    if test is not None and content.startswith(TEST_KEY) != test:
        meant = "rehearsals: leave --test out" if test else "live play: it signs rehearsals, add --test"
        raise UsageError("key", str(path), f"is no key for {meant}")
    return key


def secret(field: str, path: Path) -> bytes:
    """The content of a file that its owner alone may read. Raises ``UsageError``, which names ``field``."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise UsageError(field, str(path), f"others can read it (mode {mode:04o}): chmod 600 it")
        return named.read(path)
    except OSError as error:
        raise UsageError(field, str(path), f"cannot be read: {error.strerror}") from error


def password(field: str, path: Path) -> str:
    """The password that is in a file. Raises ``UsageError``."""
    try:
        return secret(field, path).decode().rstrip("\n")
    except UnicodeDecodeError as error:
        raise UsageError(field, str(path), "is no text in UTF-8") from error


def _private(path: Path) -> object:
    try:
        return load_pem_private_key(secret("key", path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError("key", str(path), f"cannot be read as a private key ({error})") from error
