"""How sealed boxes are made and opened: AES-256-GCM with random nonces, keys sealed by X25519.

The text that a box is bound to names its place, so that it cannot be moved to another one. What the boxes hold, and
who keeps which key, is the ledger's business.
"""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE = 12
_POINT = 32


def bound_to(stream: str, sequence: int, ledger: str) -> bytes:
    """The place that a secret is bound to."""
    return f"{stream}|{sequence:016d}|{ledger}".encode()


def key_place(ledger: str, name: str) -> bytes:
    """The place that a hand's key is bound to."""
    return f"hand-key|{ledger}|{name}".encode()


def encrypt(key: AESGCM, plain: bytes, place: bytes) -> bytes:
    """Nonce, ciphertext and tag."""
    nonce = os.urandom(_NONCE)
    return nonce + key.encrypt(nonce, plain, place)


def decrypt(key: AESGCM, box: bytes, place: bytes) -> bytes:
    """The plain bytes. Raises ``InvalidTag`` for another key, another place or a changed box."""
    try:
        return key.decrypt(box[:_NONCE], box[_NONCE:], place)
    except ValueError as error:  # shorter than a box can be
        raise InvalidTag from error


def seal_to(public: X25519PublicKey, plain: bytes, place: bytes) -> bytes:
    """A box that only the owner of the private key can open: the one-time public key, then the ciphertext."""
    once = X25519PrivateKey.generate()
    point = once.public_key().public_bytes_raw()
    return point + encrypt(_shared(once.exchange(public), point, public), plain, place)


def open_sealed(private: X25519PrivateKey, box: bytes, place: bytes) -> bytes:
    """The content of ``seal_to``. Raises ``InvalidTag`` for another key, another place or a changed box."""
    point = box[:_POINT]
    secret = private.exchange(X25519PublicKey.from_public_bytes(point))
    return decrypt(_shared(secret, point, private.public_key()), box[_POINT:], place)


def _shared(secret: bytes, point: bytes, public: X25519PublicKey) -> AESGCM:
    derive = HKDF(algorithm=SHA256(), length=32, salt=point + public.public_bytes_raw(), info=b"felt-seal|1")
    return AESGCM(derive.derive(secret))
