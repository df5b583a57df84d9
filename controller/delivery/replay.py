"""Serves one replay: the same bytes once more, from the current ledger or an archived one."""

import sqlite3
from collections import deque
from contextlib import closing
from pathlib import Path

from controller.delivery.publisher import Message
from controller.delivery.requests import Refusal, ReplayWanted
from controller.ledger import database, files

AT_ONCE = 5
"""How many messages of a replay are under way beside what is new."""
_BATCH = 50


class Replay:
    """The answer to one request, message by message. Holds a read-only connection until ``close``."""

    def __init__(self, wanted: ReplayWanted, connection: sqlite3.Connection) -> None:
        self._wanted = wanted
        self._connection = connection
        self._next = wanted.first
        self._left = wanted.most
        self._ready: deque[tuple[int, bytes]] = deque()
        self._over = False
        self.under_way: set[int] = set()

    def next(self) -> Message | None:
        """The next message; the last one says how it ends. ``None`` after that. Raises ``sqlite3.Error``."""
        if self._over:
            return None
        if not self._ready:
            self._ready.extend(self._fetch())
        if not self._ready:
            self._over = True
            return self._wanted.address.answer(self._end())
        sequence, body = self._ready.popleft()
        self._next, self._left = sequence + 1, self._left - 1
        return self._wanted.address.event(body)

    @property
    def over(self) -> bool:
        """Whether all is said and taken."""
        return self._over and not self.under_way

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()

    def _fetch(self) -> list[tuple[int, bytes]]:
        last = self._wanted.last
        found: list[tuple[int, bytes]] = self._connection.execute(
            "SELECT sequence, body FROM row WHERE stream = ? AND sequence >= ? AND sequence <= ? "
            "ORDER BY sequence LIMIT ?",
            (self._wanted.stream, self._next, self._head() if last is None else last, min(_BATCH, self._left)),
        ).fetchall()
        return found

    def _end(self) -> dict[str, object]:
        head, last = self._head(), self._wanted.last
        rest = self._next <= (head if last is None else min(head, last))
        return {"done": True, "next": f"{self._next:016d}" if rest else None, "head": f"{head:016d}"}

    def _head(self) -> int:
        found = self._connection.execute(
            "SELECT sequence FROM head WHERE stream = ?", (self._wanted.stream,)
        ).fetchone()
        return int(found[0]) if found else 0


def begin(path: Path, wanted: ReplayWanted) -> Replay | Refusal:
    """Find the ledger that is asked for. Raises ``sqlite3.Error`` and ``LedgerError`` for a file that fails."""
    known: set[str] = set()
    for file in (path, *reversed(files.archived(path))):
        connection = database.connect_read_only(file)
        about = database.meta(connection)
        if wanted.ledger in (None, about["ledger"]):
            return Replay(wanted, connection)
        connection.close()
        known.add(about.get("previous", ""))
    if wanted.ledger in known:
        return Refusal(wanted.address, {"error": "pruned", **_lowest(path, wanted.stream)})
    return Refusal(wanted.address, {"error": "unknown_ledger"})


def _lowest(path: Path, stream: str) -> dict[str, str | None]:
    """The first event of a stream that is still kept, and in which ledger: each numbers its own."""
    for file in (*files.archived(path), path):
        with closing(database.connect_read_only(file)) as connection:
            (found,) = connection.execute("SELECT min(sequence) FROM row WHERE stream = ?", (stream,)).fetchone()
            if found is not None:
                return {"lowest": f"{found:016d}", "ledger": database.meta(connection)["ledger"]}
    return {"lowest": None, "ledger": None}


def is_ours(path: Path, ledger: str) -> bool:
    """Whether a ledger is one of this table's device, kept or deleted."""
    for file in (path, *files.archived(path)):
        with closing(database.connect_read_only(file)) as connection:
            about = database.meta(connection)
        if ledger in (about["ledger"], about.get("previous")):
            return True
    return False
