"""Reads a small file that a person names: a key, a checkpoint. A slip of the hand may name anything."""

import errno
import os
import stat
from pathlib import Path

MOST = 1 << 20
"""Bytes; some hundred times what any of them has."""


def read(path: Path) -> bytes:
    """The content. Raises ``OSError``, also for what is no regular file: a pipe, for which one would wait, or a device.

    What is larger than ``MOST`` is not read whole.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        content = file.read(MOST + 1)
    if len(content) > MOST:
        raise OSError(errno.EFBIG, f"is larger than {MOST >> 20} MB", str(path))
    return content
