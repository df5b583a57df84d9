"""Which program this is: version, and a hash of the files it runs from."""

import base64
import hashlib
import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

VERSION = "0.1.0"
PACKAGES = ("config", "controller", "drivers")
"""What the daemon loads: its code, its schema, the profiles, pay tables and rules it plays by."""


def software() -> dict[str, str]:
    """``version`` and ``sha256``, for ``daemon.started`` and ``table.opened``.

    The hash covers every file of the packages, in the order of their names, by name and content: two devices that say
    the same hash run the same program by the same rules, from a wheel or from a source tree. What Python keeps in
    ``__pycache__`` is left out, for it differs between machines; docs/security.md says what follows. Raises
    ``OSError`` where a file cannot be read.
    """
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for name, content in sorted(_files(root)):
        digest.update(name + b"\0" + content)
    return {"version": VERSION, "sha256": digest.hexdigest()}


def _files(root: Path) -> Iterator[tuple[bytes, bytes]]:
    """Name and digest of each file. A folder that is a link is told as such: Python would load what lies behind it."""
    for package in PACKAGES:
        for folder, inner, files in os.walk(root / package, onerror=_raise):
            inner[:] = [name for name in inner if name != "__pycache__"]
            for path in (Path(folder, name) for name in inner + files):
                if path.is_file():
                    content = path.read_bytes()
                elif path.is_symlink():
                    content = os.fsencode(path.readlink())
                else:
                    continue
                yield os.fsencode(path.relative_to(root).as_posix()), hashlib.sha256(content).digest()


def _raise(error: OSError) -> None:
    """A folder that cannot be listed is not passed over."""
    raise error


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
