"""Serves one replay: the same bytes once more, from the current ledger or an archived one."""

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from controller.delivery.publisher import Message
from controller.delivery.requests import Refusal, ReplayWanted
from controller.ledger import database, files
from controller.ledger.errors import LedgerError

AT_ONCE = 5
"""How many messages of a replay are under way beside what is new."""
_BATCH = 50
UNREADABLE_NOW = {"error": "busy", "retry_ms": 60_000}
"""The answer where a file cannot be read: it may have been locked, or a whole copy may be put in its place."""

Unread = Callable[[Path, LedgerError], None]
"""Is told of each file that could not be read, and why. Must not raise."""


class Replay:
    """The answer to one request, message by message. Holds a read-only connection until ``close``."""

    def __init__(self, wanted: ReplayWanted, file: Path, connection: sqlite3.Connection, unread: Unread) -> None:
        self._wanted = wanted
        self._file = file
        self._connection = connection
        self._unread = unread
        self._batch = _BATCH
        self._next = wanted.first
        self._left = wanted.most
        self._ready: deque[tuple[int, bytes]] = deque()
        self._over = False
        self.under_way: set[int] = set()

    def next(self) -> Message | None:
        """The next message; the last one says how it ends. ``None`` after that.

        What lies before a row that cannot be read goes out; there the replay ends with an error.
        """
        if self._over:
            return None
        try:
            if not self._ready:
                self._ready.extend(self._fetch())
            if not self._ready:
                self._over = True
                return self._wanted.address.answer(self._end())
        except LedgerError as error:
            self._over = True
            self._unread(self._file, error)
            return self._wanted.address.answer(UNREADABLE_NOW)
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
        """The next rows. Raises ``LedgerError``, where they cannot be read one by one either."""
        try:
            return self._read()
        except LedgerError:
            if self._batch == 1:
                raise
            self._batch = 1
            return self._read()

    def _read(self) -> list[tuple[int, bytes]]:
        last = self._wanted.last
        last = self._head() if last is None else last
        with _named(self._file):
            found = self._connection.execute(
                "SELECT sequence, body FROM row WHERE stream = ? AND sequence >= ? AND sequence <= ? "
                "ORDER BY sequence LIMIT ?",
                (self._wanted.stream, self._next, last, min(self._batch, self._left)),
            ).fetchall()
            if not all(isinstance(sequence, int) and isinstance(body, bytes) for sequence, body in found):
                raise sqlite3.DatabaseError(f"no event behind {self._wanted.stream} {self._next - 1}")
            return list(database.ascending(found, self._next - 1))

    def _end(self) -> dict[str, object]:
        head, last = self._head(), self._wanted.last
        rest = self._next <= (head if last is None else min(head, last))
        return {"done": True, "next": f"{self._next:016d}" if rest else None, "head": f"{head:016d}"}

    def _head(self) -> int:
        with _named(self._file):
            found = self._connection.execute(
                "SELECT sequence FROM head WHERE stream = ?", (self._wanted.stream,)
            ).fetchone()
            head = found[0] if found else 0
            if not isinstance(head, int):
                raise sqlite3.DatabaseError(f"the end of {self._wanted.stream} is no number")
            return head


def begin(path: Path, wanted: ReplayWanted, unread: Unread) -> Replay | Refusal:
    """Find the ledger that is asked for. What cannot be read is told, and looked past where it is another one."""
    lost: list[Path] = []

    def note(file: Path, error: LedgerError) -> None:
        unread(file, error)
        lost.append(file)

    known: set[str | None] = set()
    for file, about in _told([path] if wanted.ledger is None else _kept(path, note), note):
        if wanted.ledger in (None, about["ledger"]):
            try:
                with _named(file):
                    return Replay(wanted, file, database.connect_read_only(file), unread)
            except LedgerError as error:
                note(file, error)
        known.add(about.get("previous"))
    # An archived file is named after its ledger, so it is known which one it would be.
    if path in lost or any(file.stem.endswith(f"Z-{wanted.ledger}") for file in lost):
        return Refusal(wanted.address, UNREADABLE_NOW)
    if wanted.ledger in known:
        return Refusal(wanted.address, {"error": "pruned", **_lowest(path, wanted.stream, unread)})
    return Refusal(wanted.address, {"error": "unknown_ledger"})


def is_ours(path: Path, ledger: str, unread: Unread) -> bool:
    """Whether a ledger is one of this table's device, kept or deleted. What cannot be read is told, and is not ours."""
    told = _told(_kept(path, unread), unread)
    return any(ledger in (about["ledger"], about.get("previous")) for _, about in told)


def _kept(path: Path, unread: Unread) -> list[Path]:
    """The current file, then the archived ones, the newest first."""
    try:
        return [path, *reversed(files.archived(path))]
    except OSError as error:
        folder = files.archive_folder(path)
        unread(folder, database.unusable(folder, error))
        return [path]


def _told(kept: Iterable[Path], unread: Unread) -> Iterator[tuple[Path, dict[str, str]]]:
    """What each file says of itself."""
    for file in kept:
        try:
            with _reading(file) as connection:
                about = database.meta(connection)
                if "ledger" not in about:
                    raise sqlite3.DatabaseError("it does not say which ledger it is")
        except LedgerError as error:
            unread(file, error)
        else:
            yield file, about


def _lowest(path: Path, stream: str, unread: Unread) -> dict[str, str | None]:
    """The first event of a stream that is still kept, and in which ledger: each numbers its own."""
    for file in reversed(_kept(path, unread)):
        try:
            with _reading(file) as connection:
                (found,) = connection.execute("SELECT min(sequence) FROM row WHERE stream = ?", (stream,)).fetchone()
                about = database.meta(connection)
        except LedgerError as error:
            unread(file, error)
            continue
        if isinstance(found, int):
            return {"lowest": f"{found:016d}", "ledger": about.get("ledger")}
    return {"lowest": None, "ledger": None}


@contextmanager
def _reading(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a file to be read. Raises ``LedgerError`` for whatever goes wrong until it is closed."""
    with _named(file), closing(database.connect_read_only(file)) as connection:
        yield connection


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Whatever goes wrong in reading a file is a ``LedgerError`` that names it."""
    try:
        yield
    except (*database.UNREADABLE, OSError) as error:
        raise database.unusable(file, error) from error
