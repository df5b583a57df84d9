"""What lies where a capture is to be written or read: a capture, a damaged one, or something else altogether.

What is no capture is never touched. A damaged one is put aside under another name, so that a table can begin anew.
"""

import io
import os
import stat
from pathlib import Path
from typing import BinaryIO

from controller.capture import pcapng, sealedfile
from controller.capture.errors import CaptureDamaged, CaptureError, CaptureUnwritable

LOOKED_AT = 4096
MOST_DAMAGED = 9
"""So many damaged files are kept beside a capture: a disk that goes on damaging them is not filled."""
NO_CAPTURE = "is no pcapng file and no sealed capture: name what `feltd run --capture` was given, or a new file"


def is_capture(head: bytes) -> bool:
    """Whether a file that begins so is, or was, a capture of either kind.

    One changed bit does not make it another file, nor zeros in the place of all that a power cut kept from the disk.
    An empty file is one that was only begun.
    """
    return sealedfile.begins(head) or pcapng.begins(head) or not any(head)


def begins_as_capture(path: Path) -> bool:
    """Whether this file is, or was, a capture. Raises ``OSError``."""
    with path.open("rb") as file:
        return is_capture(file.read(LOOKED_AT))


def whole_length(path: Path, descriptor: int, *, sealed: bool) -> int:
    """After how many bytes of a file a run may be added.

    Raises ``CaptureError`` for what is no capture of this kind, ``CaptureDamaged`` where nothing may be added.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise CaptureError(path, "is no regular file; name another one with --capture")
    with os.fdopen(os.dup(descriptor), "rb") as file:
        head = file.read(LOOKED_AT)
        if not is_capture(head):
            raise CaptureError(path, f"{NO_CAPTURE}; it was left as it is")
        if (pcapng.begins if sealed else sealedfile.begins)(head):
            other = "a plain one of test mode" if sealed else "a sealed one, of a table outside test mode"
            raise CaptureError(path, f"is {other}; name another file with --capture")
        return _whole(path, file, sealed=sealed)


def _whole(path: Path, file: BinaryIO, *, sealed: bool) -> int:
    file.seek(0)
    try:
        whole = sealedfile.whole_length(file) if sealed else pcapng.whole_length(file)
    except pcapng.Damaged as error:
        raise CaptureDamaged(path, str(error)) from error
    if not whole and file.seek(0, io.SEEK_END):
        raise CaptureDamaged(path, "nothing of it is whole")
    return whole


def put_aside(path: Path) -> Path:
    """Give a damaged capture another name, which no file has; that name. Raises ``CaptureUnwritable``."""
    for number in range(1, MOST_DAMAGED + 1):
        aside = path.with_name(f"{path.name}.damaged" + (f".{number}" if number > 1 else ""))
        if not os.path.lexists(aside):
            try:
                return path.replace(aside)
            except OSError as error:
                raise CaptureUnwritable(path, f"is damaged and cannot be put aside ({error})") from error
    raise CaptureUnwritable(path, f"is damaged, as {MOST_DAMAGED} before it: look at the disk, put them elsewhere")
