"""The ledger as an outbox: what the broker has not acknowledged yet. Used by the pump, on a connection of its own."""

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import structlog

from controller.contract.envelope import withheld
from controller.ledger import database
from controller.ledger.standins import stands_for

_MARK_MS = 200
"""How long a mark waits for whoever writes: a commit that stalls must not stall delivery."""

_log = structlog.get_logger("ledger")


@dataclass(frozen=True, slots=True)
class Unsent:
    """A row that is to be published: its place and the exact bytes."""

    row: int
    stream: str
    sequence: int
    type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much is unsent: the number of rows, and per stream the first and the last sequence."""

    rows: int
    ranges: dict[str, tuple[int, int]]


class Outbox:
    """Reads unsent rows and marks sent ones. Raises ``sqlite3.Error`` as it comes: the pump decides."""

    def __init__(self, path: Path) -> None:
        self._connection = database.connect(path, durable=False)
        try:
            about = database.meta(self._connection)
            if "ledger" not in about:
                raise sqlite3.DatabaseError("it says nothing of itself")
        except database.UNREADABLE:
            self._connection.close()
            raise
        self.ledger = about["ledger"]

    def next_session(self) -> int:
        """Number a new connection to the broker. The number never comes again, also not after a power cut."""
        try:
            self._connection.execute("PRAGMA synchronous = FULL")
            found = self._connection.execute(
                "UPDATE meta SET value = CAST(value AS INTEGER) + 1 "
                "WHERE name = 'session' AND value NOT GLOB '*[^0-9]*' AND length(value) BETWEEN 1 AND 18 "
                "RETURNING value"
            ).fetchone()
        finally:
            self._connection.execute("PRAGMA synchronous = NORMAL")
        if found is None:
            raise sqlite3.DatabaseError("the number of its last connection is none")
        return int(found[0])

    def last_row(self) -> int:
        """The last row that is committed, 0 in an empty file."""
        (row,) = self._connection.execute("SELECT coalesce(max(row), 0) AS row FROM row").fetchone()
        return int(row)

    def unsent(self, after: int, limit: int, but: Collection[str] = ()) -> list[Unsent]:
        """The next unacknowledged rows after a row, in row order; a withheld one as what stands in its place.

        ``but``: streams that are left out.
        """
        found = self._connection.execute(
            'SELECT row.row, stream, sequence, type, row.body, withheld.body AS "withheld.body" '
            "FROM row INDEXED BY row_unacked LEFT JOIN withheld ON withheld.row = row.row "
            "WHERE acked = 0 AND row.row > ? AND stream NOT IN (SELECT value FROM json_each(?)) "
            "ORDER BY row.row LIMIT ?",
            (after, json.dumps(list(but)), limit),
        )
        return [self._goes(Unsent(*row), instead) for *row, instead in database.ascending(found, after)]

    def _goes(self, item: Unsent, instead: bytes | None) -> Unsent:
        """The row, or what stands in its place where that was made of it."""
        if instead is None:
            return item
        if not stands_for(item.body, instead):
            _log.error("what stands in a row's place is not made of it; the row goes", row=item.row)
            return item
        return replace(item, type="record.withheld", body=instead)

    def mark_acked(self, rows: Iterable[int]) -> bool:
        """The broker has taken these rows. ``False`` where somebody is writing all the time: say it again later."""
        try:
            self._connection.execute(f"PRAGMA busy_timeout = {_MARK_MS}")
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                return False
            raise
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {database.BUSY_MS}")
        try:
            self._connection.executemany("UPDATE row SET acked = 1 WHERE row = ?", [(row,) for row in rows])
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return True

    def withhold(self, item: Unsent, cause: str) -> Unsent:
        """Decide, once and for good, what is published instead of a row."""
        found = self._connection.execute("SELECT body FROM withheld WHERE row = ?", (item.row,)).fetchone()
        if found is not None and stands_for(item.body, found[0]):
            return replace(item, type="record.withheld", body=found[0])
        try:
            body = withheld(item.body, cause)
        except database.NO_EVENT as error:
            raise sqlite3.DatabaseError(f"row {item.row} is no event") from error
        self._connection.execute("INSERT OR REPLACE INTO withheld (row, body) VALUES (?, ?)", (item.row, body))
        return replace(item, type="record.withheld", body=body)

    def release(self, item: Unsent) -> None:
        """Take back ``withhold``: what stood for the row was refused as well, so nobody has seen it."""
        self._connection.execute("DELETE FROM withheld WHERE row = ?", (item.row,))

    def backlog(self) -> Backlog:
        """Count what is unsent. Takes time in proportion to it."""
        found = self._connection.execute(
            "SELECT stream, count(*), min(sequence) AS sequence, max(sequence) AS sequence "
            "FROM row INDEXED BY row_unacked WHERE acked = 0 GROUP BY stream"
        ).fetchall()
        return Backlog(sum(count for _, count, _, _ in found), {stream: (low, high) for stream, _, low, high in found})

    def depth(self) -> int:
        """How many rows are unsent, by the index alone."""
        (count,) = self._connection.execute(
            "SELECT count(*) FROM row INDEXED BY row_unacked WHERE acked = 0"
        ).fetchone()
        return int(count)

    def oldest(self) -> dict[str, str] | None:
        """What has waited longest: its ``time``, ``stream`` and ``sequence``; ``None`` where nothing waits."""
        found = self._connection.execute(
            "SELECT body FROM row INDEXED BY row_unacked WHERE acked = 0 ORDER BY row LIMIT 1"
        ).fetchone()
        if found is None:
            return None
        try:
            event = json.loads(found[0])
            datetime.now(UTC) - datetime.fromisoformat(event["time"])  # an age can be told of it
            return {"time": event["time"], "stream": event["source"].rsplit("/", 1)[1], "sequence": event["sequence"]}
        except (*database.NO_EVENT, IndexError) as error:
            raise sqlite3.DatabaseError("what has waited longest to be sent is no event") from error

    def close(self) -> None:
        """Close this connection to the file."""
        self._connection.close()
