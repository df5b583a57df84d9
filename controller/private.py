"""Which files and folders other accounts could read or write: what holds a secret, and what a table builds upon."""

import os
import stat
from pathlib import Path


def open_to_others(path: Path) -> str | None:
    """What is wrong with the mode of a file that holds a secret, and what to do; ``None`` where it is private.

    Private is 0600 or stricter. Since version 254 systemd hands a credential over by an access list, whose mask shows
    as the group's right to read; its folder is closed to all but the service. Raises ``OSError``.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    credential = os.environ.get("CREDENTIALS_DIRECTORY") == str(path.parent)
    if mode & (0o037 if credential else 0o077):
        return f"others can read it (mode {mode:04o}); chmod 600 it"
    return None


def writable_by_others(folder: Path) -> str | None:
    """What is wrong with a folder in which every account may put and replace files; ``None`` where it is closed.

    The sticky bit does not help: a file that is not there yet can be put there before ours. Raises ``OSError``.
    """
    mode = stat.S_IMODE(folder.stat().st_mode)
    return f"others can write in it (mode {mode:04o}); chmod 700 it" if mode & stat.S_IWOTH else None
