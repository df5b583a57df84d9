"""What the rules concluded: the only thing that is journaled, chained, signed and published."""

from dataclasses import dataclass, field
from typing import Any, Literal

Stream = Literal["play", "cash", "ops", "guard"]
REFUSALS = frozenset({"action.refused", "bet.refused"})
"""Types of records that say that an entry was not taken."""


@dataclass(slots=True)
class Record:
    """One record, one type per event of the contract.

    ``data`` is JSON-shaped and final: nobody changes it after it has left the core. ``secret`` holds what
    must not be published (a closed card and its salt, a hand's seed): the ledger encrypts it into a column of
    its own. ``day`` is the gaming day (``2026-11-30``), ``session`` one opening of the table or ``None``.
    The ledger adds sequence, ``prev``, time (the wall time of the input) and bytes, once.
    """

    stream: Stream
    type: str
    subject: str
    data: dict[str, Any]
    secret: dict[str, Any] | None = field(default=None, repr=False)
    day: str = ""
    session: str | None = None

    @property
    def hand(self) -> str | None:
        """The hand this record belongs to, or ``None``."""
        hand = self.data.get("hand")
        return hand if isinstance(hand, str) else None
