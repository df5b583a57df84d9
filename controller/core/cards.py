"""Cards, their closed values and the commitments to them."""

import hashlib
import hmac

RANKS = "23456789TJQKA"
SUITS = "cdhs"
DECK: tuple[str, ...] = tuple(rank + suit for rank in RANKS for suit in SUITS)
CARDS = frozenset(DECK)
UNKNOWN = "??"
"""Stands for a card whose value nobody knows, so that records of closed cards keep one size."""


def salt(seed: bytes, slot: int) -> str:
    """The salt of one card: 16 bytes in hex, derived from the hand's seed (events.md section 3).

    ``slot`` never repeats within a hand, so no two cards share a salt, and one salt says nothing of another.
    """
    return hmac.digest(seed, b"felt1|salt|%d" % slot, "sha256")[:16].hex()


def commitment(hand: str, slot: int, card: str, card_salt: str) -> str:
    """The commitment to a closed card (events.md section 3): 64 hex digits."""
    return hashlib.sha256(f"felt1|{hand}|{slot}|{card}|{card_salt}".encode()).hexdigest()
