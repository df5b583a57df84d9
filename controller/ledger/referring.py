"""What only the ledger can say in a record: the ids of the events that it refers to, and how far the streams go."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from controller.contract.checkpoint import Head
from controller.contract.envelope import event_id
from controller.core.records import Record
from controller.ledger import database, files


def resolved(path: Path, connection: sqlite3.Connection, record: Record, heads: Mapping[str, Head]) -> dict[str, Any]:
    """The data of a record. The core names an event by its type and its hand, or by nothing but the streams.

    Raises ``ValueError`` where this file, or the archived one before it, has no such event.
    """
    data = record.data
    if "through" in data:
        last = {stream: heads.get(stream, Head()).sequence for stream in data["through"]}
        return data | {"through": {stream: f"{sequence:016d}" for stream, sequence in last.items()}}
    refers = data.get("refers")
    if isinstance(refers, dict):
        return data | {"refers": named(path, connection, record.hand, refers)}
    if isinstance(refers, list) and refers and isinstance(refers[0], dict):
        return data | {"refers": [named(path, connection, one["hand"], one) for one in refers]}
    return data


def named(path: Path, connection: sqlite3.Connection, hand: str | None, what: Mapping[str, str]) -> str:
    """The id of the newest event of a type of a hand, in this file or an archived one. Raises ``ValueError``."""
    found = connection.execute(
        "SELECT stream, sequence FROM row WHERE hand = ? AND type = ? ORDER BY row DESC LIMIT 1", (hand, what["type"])
    ).fetchone()
    if found is not None:
        return event_id(database.said(connection, "ledger") or "", *found)
    previous = files.previous(path, connection)
    if previous is None or not files.lies(previous):
        raise ValueError(f"this ledger has no {what['type']} of hand {hand}")
    with closing(database.connect_read_only(previous)) as older:
        return named(previous, older, hand, what)
