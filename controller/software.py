"""Which program this is: version, and a hash of the source it runs from."""

import hashlib
from pathlib import Path

VERSION = "0.1.0"


def software() -> dict[str, str]:
    """``version`` and ``sha256``, for ``daemon.started`` and ``table.opened``.

    The hash covers the source files of the daemon and its drivers, by name and content, so that two devices
    that say the same hash run the same program.
    """
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for package in ("controller", "drivers"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return {"version": VERSION, "sha256": digest.hexdigest()}
