"""What is asked of files before the table acts: whether another daemon has the table, whether the ledger has a hand."""

import sqlite3
from contextlib import closing
from pathlib import Path

import structlog

from controller.errors import LocalError
from controller.ledger import database, locks, referring
from controller.ledger.errors import LedgerBusy, LedgerError
from controller.ledger.locks import Lock

log = structlog.get_logger()


def only_one(path: Path) -> Lock:
    """The lock of the table's socket: one daemon a table, whichever its ledger. Raises ``LocalError``."""
    try:
        return locks.take(path)
    except LedgerBusy as busy:
        raise LocalError("socket.path", str(path), f"is another daemon's: {busy.remedy}") from busy


def final(ledger: Path, hand: str) -> bool:
    """Whether a hand is on record as final, in this file or an archived one.

    Where the files cannot be read now the table itself finds out, when it writes: ``True``.
    """
    try:
        with closing(database.connect_read_only(ledger)) as connection:
            referring.named(ledger, connection, hand, {"type": "hand.final"})
    except ValueError:
        return False
    except (sqlite3.Error, LedgerError) as error:
        log.warning("whether a hand is final cannot be looked up", hand=hand, error=str(error))
    return True
