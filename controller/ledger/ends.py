"""Where each stream of a ledger ends: what the next row is written behind."""

import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from controller.contract.checkpoint import Head
from controller.contract.integrity import digest
from controller.ledger.database import COPY, NO_EVENT
from controller.ledger.errors import LedgerDamaged
from controller.ledger.outbox import Unsent


@dataclass(slots=True)
class Tail:
    """Where the next row goes. A copy of it grows within a transaction and replaces it after the commit."""

    row: int = 0
    heads: dict[str, Head] = field(default_factory=dict)
    sealed: dict[str, str] = field(default_factory=dict)
    unsigned: dict[str, int] = field(default_factory=dict)
    day: str = ""
    session: str | None = None
    written: list[Unsent] = field(default_factory=list)
    """The rows of this transaction."""

    def to_grow(self) -> "Tail":
        """A copy for the next transaction, which has written nothing yet."""
        return Tail(self.row, dict(self.heads), dict(self.sealed), dict(self.unsigned), self.day, self.session)


def read(connection: sqlite3.Connection, path: Path) -> Tail:
    """Find the ends of all streams, in time that does not depend on the size of the file.

    Raises ``LedgerDamaged`` where an end is not the one that was written.
    """
    tail = Tail()
    ask = connection.execute
    (tail.row,) = ask("SELECT coalesce(max(row), 0) AS row FROM row").fetchone()
    for stream, sequence, sha256, sealed in ask("SELECT stream, sequence, sha256, sealed FROM head"):
        tail.sealed[stream] = sealed
        last = ask(
            "SELECT sequence, body FROM row WHERE stream = ? ORDER BY sequence DESC LIMIT 1", (stream,)
        ).fetchone()
        if last is None or last[0] != sequence or digest(last[1]) != sha256:
            raise LedgerDamaged(path, f"the end of stream {stream} was lost or changed; run feltd verify")
        tail.heads[stream] = Head(sequence, sha256)
        (signed,) = ask(
            "SELECT coalesce(max(sequence), 0) AS sequence FROM row WHERE stream = ? AND type = 'ledger.signed'",
            (stream,),
        ).fetchone()
        tail.unsigned[stream] = sequence - signed
    last = ask("SELECT body FROM row WHERE row = ?", (tail.row,)).fetchone()
    if last is not None:
        try:
            event = json.loads(last[0])
            tail.day = event["gamingday"]
            tail.session = None if event["type"] == "table.closed" else event.get("session")
        except NO_EVENT as error:
            raise LedgerDamaged(path, f"its last row {tail.row} is no event; {COPY}") from error
    return tail
