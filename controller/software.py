"""Which program this is: version, and a hash of the source it runs from."""

import base64
import hashlib
from importlib.metadata import PackageNotFoundError, distribution
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


def changed() -> list[str]:
    """Files of the installed package that are not as its wheel recorded them, or are gone.

    A source tree that is installed in place has no such record; its files are covered by ``software`` alone.
    """
    try:
        recorded = distribution("feltd").files or []
    except PackageNotFoundError:
        return []
    return sorted(
        str(file)
        for file in recorded
        if file.hash is not None and _digest(Path(str(file.locate())), file.hash.mode) != file.hash.value
    )


def _digest(path: Path, mode: str) -> str:
    try:
        content = path.read_bytes()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(hashlib.new(mode, content).digest()).rstrip(b"=").decode("ascii")
