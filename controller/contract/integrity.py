"""The hashes and texts by which a reader proves that nothing was changed, left out or put in."""

import hashlib

GENESIS = "0" * 64
"""``prev`` of the first event of a stream."""


def digest(body: bytes) -> str:
    """SHA-256 of the exact bytes of an event, as 64 hex digits."""
    return hashlib.sha256(body).hexdigest()


def signed_text(source: str, ledger: str, sequence: int, sha256: str) -> bytes:
    """What the signature in ``ledger.signed`` is made over: the head of one stream of one ledger."""
    return f"felt-sign|1|{source}|{ledger}|{sequence:016d}|{sha256}".encode()


def key_id(public_key: bytes) -> str:
    """The name of a signing key: the first 16 hex digits of the SHA-256 of its 32 raw bytes."""
    return hashlib.sha256(public_key).hexdigest()[:16]


def commitment(hand: str, slot: int, card: str, salt: str) -> str:
    """What a closed card is bound to before anybody sees it (events.md section 3)."""
    return hashlib.sha256(f"felt1|{hand}|{slot}|{card}|{salt}".encode()).hexdigest()


def rotation_text(source: str, ledger: str, old: str, public_key: str, valid_from: str) -> bytes:
    """What both keys sign in ``key.rotated``: the old key's name, the new key in hex, and the row it is used from."""
    return f"felt-key|1|{source}|{ledger}|{old}|{public_key}|{valid_from}".encode()
