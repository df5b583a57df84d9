"""The single writer's lock. It goes with the process, however that ends.

It is held twice: on a file beside the ledger, which bears the ledger's name, and on the ledger's file itself. So a new
file under the name of one that was moved away has the lock of that name, and the one that was moved has its own.
"""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from controller.ledger.errors import LedgerBusy, LedgerError


@dataclass(slots=True)
class Lock:
    """What is held of one ledger. Made by ``take``."""

    path: Path
    _name: int
    _file: int | None = None

    def hold_file(self) -> None:
        """Lock the file that has the path now, in the place of another that had it.

        Called before SQLite opens it: a descriptor of the file that is closed takes SQLite's own locks with it.
        Raises ``LedgerBusy``, ``LedgerError``.
        """
        try:
            held = os.open(self.path, os.O_RDWR)
        except OSError as error:
            raise LedgerError(self.path, f"cannot be locked ({error.strerror}); check the file's owner") from error
        if self._file is not None and os.path.sameopenfile(held, self._file):
            os.close(held)
            return
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            remedy = "another process writes it, under the name that the file had before; stop that daemon first"
            raise LedgerBusy(self.path, remedy) from None
        if self._file is not None:
            os.close(self._file)
        self._file = held

    def in_place(self) -> bool:
        """Whether the ledger's path still leads to the file that is held."""
        try:
            return self._file is not None and os.path.samestat(os.fstat(self._file), self.path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give it up: after SQLite has closed the file."""
        for held in (self._file, self._name):
            if held is not None:
                os.close(held)
        self._file = None


def take(path: Path) -> Lock:
    """Take the lock of a name: of a ledger, or of what else is one process's alone.

    ``path`` is the real one, so a symbolic link leads to the same lock. A hard link would have a log of its own: a file
    with a second name is refused. Raises ``LedgerBusy``, ``LedgerError``.
    """
    try:
        name = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise LedgerError(path, f"cannot be locked ({error.strerror}); check the folder and its owner") from error
    try:
        fcntl.flock(name, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(name, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(name)
        raise LedgerBusy(path, f"process {holder} has it; stop that daemon first") from None
    try:
        names = path.stat().st_nlink if path.exists() else 1
        if names > 1:
            remedy = "a second daemon could write it under the other; remove all but one (find its inode: ls -i)"
            os.close(name)
            raise LedgerError(path, f"has {names} names (hard links): {remedy}")
        os.ftruncate(name, 0)
        os.pwrite(name, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        os.close(name)
        raise LedgerError(path, f"cannot be locked ({error.strerror}); is the disk full or read-only?") from error
    return Lock(path, name)
