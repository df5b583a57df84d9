"""The archived files of a ledger: what there is, and deleting what need not be kept any longer."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from controller.contract.following import Fault
from controller.ledger import database, files, linked
from controller.ledger.errors import LedgerDamaged
from controller.ledger.verify import handed_over, verify


@dataclass(frozen=True, slots=True)
class Archived:
    """One file: its ledger, the times of its first and last event, and how many there are."""

    path: Path
    ledger: str
    first: str
    last: str
    rows: int

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "file": str(self.path),
            "ledger": self.ledger,
            "first": self.first,
            "last": self.last,
            "rows": self.rows,
        }


def listed(path: Path) -> list[Archived]:
    """All archived files of a ledger, oldest first. Raises ``LedgerError``."""
    found = []
    for file in files.archived(path):
        try:
            with closing(database.connect_read_only(file)) as connection:
                read = connection.execute
                (first,) = read("SELECT body FROM row ORDER BY row LIMIT 1").fetchone()
                (rows, last) = read("SELECT row, body FROM row ORDER BY row DESC LIMIT 1").fetchone()
                ledger = database.meta(connection)["ledger"]
            found.append(Archived(file, ledger, str(json.loads(first)["time"]), str(json.loads(last)["time"]), rows))
        except database.UNREADABLE as error:
            raise database.unusable(file, error) from error
        except database.NO_EVENT as error:
            raise LedgerDamaged(file, f"its first or last row is no event; {linked.REMEDY}") from error
    return found


def verified(path: Path, keys: Sequence[Ed25519PublicKey] | None) -> Iterator[Fault]:
    """What is wrong with any row of the archived files, each fault with its file's name; a newest one that is missing.

    A key that handed over to one of ``keys`` in a later file is as good as that. Raises ``LedgerError``.
    """
    known = None if keys is None else [*keys, *handed_over(path)]
    for one in linked.walk(path):
        if one.missing:
            if one.after == path:  # an older one may have been pruned
                what = f"removed: the archived file {one.path.name} {one.missing}; put a copy of it back"
                yield Fault(None, "?", 0, what)
            return
        try:
            faults = verify(one.path, public_keys=known).faults
            known = None if known is None else [*known, *handed_over(one.path)]
        except LedgerDamaged as error:
            faults = (Fault(None, "?", 0, f"not checked: {error.remedy}"),)
        yield from (replace(fault, what=f"{one.path.name}: {fault.what}") for fault in faults)


def prune(path: Path, before: str, *, really: bool) -> list[Path]:
    """Delete the archived files whose last event is of a day before ``before`` (``2025-11-30``); returns them.

    The newest one stays, whatever its age: a restart may need it. Raises ``LedgerError``.
    """
    doomed = [one.path for one in listed(path)[:-1] if one.last[:10] < before]
    for file in doomed:
        if really:
            file.unlink()
    return doomed
