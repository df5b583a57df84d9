"""The hashes and texts by which a reader proves that nothing was changed, left out or put in."""

import hashlib

SIGNED_AT_ONCE = frozenset({"hand.closed", "hand.voided", "table.closed", "key.rotated"})
"""After one of these every stream is signed before anything else is written."""
MOST_UNSIGNED = 1000
"""More events than a signing table ever leaves unsigned in one stream."""
_ANY = ("utf-8", "surrogatepass")
"""Half a surrogate can be in what was forged: JSON can say it, UTF-8 cannot."""
GENESIS = "0" * 64
"""``prev`` of the first event of a stream."""

_EMPTY = hashlib.sha256()
"""Copied for each event: to make one anew takes as long as to hash with it."""


def digest(body: bytes) -> str:
    """SHA-256 of the exact bytes of an event, as 64 hex digits."""
    whole = _EMPTY.copy()
    whole.update(body)
    return whole.hexdigest()


def signed_text(source: str, ledger: str, sequence: int, sha256: str) -> bytes:
    """What the signature in ``ledger.signed`` is made over: the head of one stream of one ledger."""
    return f"felt-sign|1|{source}|{ledger}|{sequence:016d}|{sha256}".encode(*_ANY)


def key_id(public_key: bytes) -> str:
    """The name of a public key (Ed25519, X25519): the first 16 hex digits of the SHA-256 of its 32 raw bytes."""
    return hashlib.sha256(public_key).hexdigest()[:16]


def commitment(hand: str, slot: int, card: str, salt: str) -> str:
    """What a closed card is bound to before anybody sees it (events.md section 3)."""
    return hashlib.sha256(f"felt1|{hand}|{slot}|{card}|{salt}".encode(*_ANY)).hexdigest()


def rotation_text(source: str, ledger: str, old: str, public_key: str, valid_from: str) -> bytes:
    """What both keys sign in ``key.rotated``: the old key's name, the new key in hex, and the row it is used from."""
    return f"felt-key|1|{source}|{ledger}|{old}|{public_key}|{valid_from}".encode(*_ANY)


def sealed_digest(before: str, sequence: int, key: str, box: bytes, auditors: bytes | None) -> str:
    """The digest of all that lies sealed in a stream up to ``sequence``; ``before`` is that up to the one before.

    ``box`` is encrypted, and ``auditors`` is its key as it is sealed to the auditor, so the digest tells nothing.
    """
    parts = (before.encode(), f"{sequence:016d}".encode(), key.encode(), box, auditors or b"")
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()


def sealed_text(source: str, ledger: str, sequence: int, sha256: str) -> bytes:
    """What is signed over the sealed part of a stream beside the ``ledger.signed`` of that sequence."""
    return f"felt-sealed|1|{source}|{ledger}|{sequence:016d}|{sha256}".encode(*_ANY)
