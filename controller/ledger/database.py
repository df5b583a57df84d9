"""The SQLite file under the ledger: opening, settings and migrations."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from controller.ledger import kinds
from controller.ledger.errors import LedgerDamaged, LedgerError

BUSY_MS = 5_000
"""How long a connection waits for another that writes."""
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What reading raises where a file is damaged: the text of an error can be damaged itself."""


def make(path: Path) -> None:
    """Make an empty file where there is none.

    Only there: closing a descriptor of the file would take the locks of every other connection of this process with it,
    and a reader in another process would then delete the log we write to. Raises ``LedgerError`` as ``keep_log`` does.
    """
    keep_log(path)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def keep_log(path: Path) -> None:
    """Leave a write-ahead log alone whose file is missing or empty: SQLite would throw it away, and the rows in it.

    Raises ``LedgerError`` for one that is not empty.
    """
    real = Path(os.path.realpath(path))
    log = real.with_name(real.name + "-wal")
    if _size(real) or not _size(log):
        return
    how = "is empty" if real.exists() else "is missing"
    remedy = f"put the ledger back beside it, or move {log.name} and {real.name}-shm away with it"
    raise LedgerError(path, f"{how}, and committed rows may be in {log.name} alone; {remedy}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def connect(path: Path, *, durable: bool) -> sqlite3.Connection:
    """Open the file for writing in WAL mode; transactions are begun by hand.

    A ``durable`` connection has synced a transaction when COMMIT returns. The other one, for the marks of what
    the broker has acknowledged, leaves the sync to the next durable commit: a lost mark is a repeated event, and
    those are allowed. It also does the checkpoints, so that an append seldom waits for one.
    """
    try:
        make(path)
        connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {4000 if durable else 1000}")
        # A deleted restart key is overwritten, not only unlinked.
        connection.execute("PRAGMA secure_delete = ON")
        connection.row_factory = kinds.held
    except (OSError, sqlite3.Error) as error:
        raise unusable(path, error) from error
    return connection


def wipe_log(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log into the file and empty it; ``False`` where somebody is reading it: try again later.

    What was overwritten in the file then stands nowhere any more. Nobody is waited for. An error of the disk counts as
    "not now": nothing of what was committed depends on it, and the next append meets it and says so.
    """
    try:
        connection.execute("PRAGMA busy_timeout = 0")
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    return not busy


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open the file for reading beside a running daemon or without one. Raises ``LedgerError``."""
    keep_log(path)
    if not path.is_file():
        raise LedgerError(path, "no such file; name a ledger that a daemon has written")
    # Without a write-ahead log there is nothing to miss, and a file on a read-only medium can be read too.
    real = Path(os.path.realpath(path))
    still = not real.with_name(real.name + "-wal").exists() and not os.access(real.parent, os.W_OK)
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if still else ''}",
            uri=True,
            timeout=BUSY_MS / 1000,
            isolation_level=None,
        )
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    except UNREADABLE as error:
        raise unusable(path, error) from error
    if not {"meta", "row", "head"} <= tables:
        connection.close()
        raise LedgerDamaged(path, f"holds no ledger, or has lost it; {COPY}")
    connection.row_factory = kinds.held
    return connection


def steps() -> dict[int, str]:
    """The numbered steps of the schema, in their order, as SQL."""
    found = (entry for entry in resources.files("controller.ledger").joinpath("schema").iterdir())
    ordered = sorted((entry for entry in found if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return {int(entry.name[:4]): entry.read_text(encoding="utf-8") for entry in ordered}


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the newest schema, each numbered step in one transaction. Raises ``LedgerError``."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    numbered = steps()
    if version > max(numbered):
        raise LedgerError(path, f"schema {version} is newer than this program's, {max(numbered)}; {NEWER}")
    for number, script in numbered.items():
        if number > version:
            connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")


def meta(connection: sqlite3.Connection) -> dict[str, str]:
    """What the file says about itself: nothing where it is new. Raises ``sqlite3.Error``."""
    about = dict(ascending(connection.execute("SELECT name, value FROM meta ORDER BY name"), ""))
    if about and (missing := [name for name in SAID if name not in about]):
        raise sqlite3.DatabaseError(f"it does not say its {missing[0]}")
    return about


def said(connection: sqlite3.Connection, name: str) -> str | None:
    """One thing of that, whatever the others are. Raises ``sqlite3.Error``."""
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


SAID = ("ledger", "site", "table", "test", "session")
"""What each file says about itself."""


COPY = (
    "while the daemon is stopped, move it away with its -wal and -shm and put in its place a copy that holds all that "
    "was sent (feltd verify COPY --checkpoint FILE --office-key FILE proves it), never an older one; where there is "
    "none, begin a new ledger, on which the office rules (feltoffice accept)"
)
"""What to do with a file whose rows cannot be read, whoever has met it; `feltd verify` meets it too.

A table that goes on with an older copy gives numbers again that were sent: a forgery to whoever has the events.
"""
RESTORE = f"stop the daemon and run feltd ledger compact: it makes the file anew if its rows are whole; if not: {COPY}"
"""What to do with a file that is damaged somewhere."""
NEWER = f"run the feltd that wrote it; where this one did, the file is damaged: {COPY}"
SURROUNDINGS = ("unable to open", "locked", "disk I/O", "readonly", "full", "busy", "interrupted", "attempt to write")
"""What SQLite says when the file may be well and what is around it is not; all else it says of the file itself."""


def is_surroundings(error: Exception) -> bool:
    """Whether the file may be well all the same."""
    return isinstance(error, sqlite3.OperationalError) and any(word in str(error) for word in SURROUNDINGS)


NO_EVENT = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What reading the bytes of a row raises where they are no event any more."""


def ascending(rows: Iterable[Any], after: Any = -(2**63)) -> Iterator[Any]:
    """These rows, which begin with their number, as long as it grows.

    In a damaged file a page can lead back to an earlier one, and reading would never end. Raises
    ``sqlite3.DatabaseError`` there.
    """
    for row in rows:
        if row[0] <= after:
            raise sqlite3.DatabaseError(f"its rows lie in no order behind row {after}")
        after = row[0]
        yield row


def of_the_file(path: Path, error: Exception) -> None:
    """Nothing where the file itself is damaged. Raises ``LedgerError`` where what is around it is the cause."""
    if is_surroundings(error):
        raise unusable(path, error) from error


def unusable(path: Path, error: Exception) -> LedgerError:
    """The typed error for what the operating system or SQLite said."""
    if isinstance(error, UnicodeDecodeError):
        return LedgerDamaged(path, f"not a whole SQLite file (a text is no UTF-8); {RESTORE}")
    if "not a database" in str(error):
        remedy = "name a ledger that a daemon has written; where it was one, its beginning is destroyed"
        return LedgerDamaged(path, f"no SQLite file, and so no ledger: {remedy}: {COPY}")
    if isinstance(error, sqlite3.DatabaseError) and not is_surroundings(error):
        return LedgerDamaged(path, f"not a whole SQLite file ({error}); {RESTORE}")
    return LedgerError(path, f"cannot be used ({error}); check the folder, its owner and the free space")
