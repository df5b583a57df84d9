"""Whether the archived file before a ledger is the one that ledger.began names: by the ends of its streams, so quickly.

What lies before an end is chained to it, and is the archived file's own check's (``verify`` of that).
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.contract.checkpoint import Head
from controller.contract.following import Fault
from controller.contract.integrity import digest
from controller.contract.topics import STREAMS
from controller.ledger import database, files
from controller.ledger.errors import LedgerDamaged, LedgerError

_BEGAN = "SELECT body FROM row WHERE row = 1"
_LAST = "SELECT sequence, body FROM row WHERE stream = ? ORDER BY sequence DESC LIMIT 1"

GONE = "is missing"
REMEDY = "put in its place a copy of it that feltd verify calls whole and whose ends fit (feltd ledger archives)"


@dataclass(frozen=True, slots=True)
class Before:
    """The file before another (``after``), and what of it is not as that one says.

    ``missing``: why there is nothing to compare, in words; empty where it was compared. What ``lies`` there all the
    same cannot be read by us, or not now. One that does not may have been pruned.
    """

    path: Path
    after: Path
    faults: tuple[Fault, ...] = ()
    missing: str = ""
    lies: bool = True


def before(path: Path, connection: sqlite3.Connection) -> Before | None:
    """The archived file before this one, ``None`` for the first.

    Raises ``sqlite3.Error`` where this one cannot be read.
    """
    said, file = _said(connection), files.previous(path, connection)
    if said is None:
        if file is None:
            return None
        return Before(file, path, (_fault(file, "inserted", "no ledger.began names it"),), "no ledger.began names it")
    ledger, heads = said
    if file is None:
        lost = files.folder_before(path) / f"{ledger}.ledger"
        what = "the file does not say any more which one was before, and ledger.began does"
        return Before(lost, path, (_fault(lost, "changed", what),), GONE, lies=False)
    try:
        if not file.exists():
            return Before(file, path, (), GONE, lies=False)
        return Before(file, path, tuple(_against(file, ledger, heads)))
    except OSError as error:
        return Before(file, path, (), f"cannot be read here ({error.strerror})")
    except LedgerError as error:
        return Before(file, path, (), f"cannot be read here ({error.remedy})")


def walk(path: Path) -> Iterator[Before]:
    """All files before this one, newest first, as far as they lie there. Raises ``LedgerError``."""
    seen: set[Path] = set()
    while path not in seen:
        seen.add(path)
        with closing(database.connect_read_only(path)) as connection:
            try:
                found = before(path, connection)
            except database.UNREADABLE as error:
                raise database.unusable(path, error) from error
        if found is None:
            return
        yield found
        if found.missing:
            return
        path = found.path


def _said(connection: sqlite3.Connection) -> tuple[str, Mapping[str, Head]] | None:
    """The ledger before this one and its ends, as the first event says; ``None`` where it says of none."""
    found = connection.execute(_BEGAN).fetchone()
    try:
        event = json.loads(found[0])
        previous: Mapping[str, Any] | None = event["data"]["previous"] if event["type"] == "ledger.began" else None
        if previous is None:
            return None
        heads = {stream: Head(int(head["sequence"]), head["sha256"]) for stream, head in previous["heads"].items()}
        return str(previous["ledger"]), heads
    except database.NO_EVENT:
        return None  # the check of this file tells that it is no event


def _against(file: Path, ledger: str, heads: Mapping[str, Head]) -> Iterator[Fault]:
    try:
        with closing(database.connect_read_only(file)) as connection:
            named = database.said(connection, "ledger")
            if named != ledger:
                yield _fault(file, "changed", f"it is ledger {named} and not {ledger}")
                return
            for stream in STREAMS:
                due, last = heads.get(stream, Head()), connection.execute(_LAST, (stream,)).fetchone() or (0, None)
                if last[0] < due.sequence:
                    what = f"{stream} {last[0] + 1} to {due.sequence} are missing at its end"
                    yield _fault(file, "removed", what, stream, due.sequence)
                elif last[0] > due.sequence:
                    yield _fault(file, "inserted", f"{stream} goes on behind its end", stream, last[0])
                elif last[1] is not None and digest(last[1]) != due.sha256:
                    yield _fault(file, "changed", f"the end of {stream} has another hash", stream, due.sequence)
    except LedgerDamaged:
        yield _fault(file, "damaged", "it cannot be read")
    except database.UNREADABLE as error:
        database.of_the_file(file, error)
        yield _fault(file, "damaged", f"it cannot be read ({error})")


def _fault(file: Path, how: str, what: str, stream: str = "?", sequence: int = 0) -> Fault:
    return Fault(None, stream, sequence, f"{how}: the archived file {file.name}: {what}; {REMEDY}")
