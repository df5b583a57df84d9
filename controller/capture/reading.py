"""Opens a capture, plain or sealed, with the older files that belong to it, and tells what is in it in order."""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from controller.capture import older, pcapng, sealedfile, wire
from controller.capture.errors import CaptureDamaged, CaptureError
from controller.capture.recorder import INPUTS, kept
from controller.capture.wire import Passed

MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Said:
    """A line of the interface of inputs: an input, a call of a driver, or the begin of a run. ``at`` in ns."""

    at: int
    what: Mapping[str, Any]
    place: str = ""
    """In which file it stands, and where."""


def parts(path: Path) -> list[Path]:
    """A capture's files, the oldest first. Raises ``CaptureError`` where there is none."""
    if not path.is_file():
        raise CaptureError(path, "no such file; name what `feltd run --capture` was given")
    files = [path]
    for number in range(1, MOST_KEPT):
        if not (file := kept(path, number)).exists():
            break
        files.append(file)
    for file in files:
        try:
            if not older.begins_as_capture(file):
                raise CaptureError(file, older.NO_CAPTURE)
        except OSError as error:
            raise CaptureError(file, f"cannot be read ({error})") from error
    return files[::-1]


def torn(path: Path) -> int:
    """How many bytes at the end of one file are no whole block: it was cut, or a crash has torn it off.

    No key is needed. Raises ``CaptureError`` where the file is empty, damaged or cannot be read.
    """
    try:
        whole_length = sealedfile.whole_length if sealedfile.is_sealed(path) else pcapng.whole_length
        with path.open("rb") as file:
            whole, size = whole_length(file), file.seek(0, io.SEEK_END)
    except pcapng.Damaged as error:
        raise CaptureDamaged(path, str(error)) from error
    except OSError as error:
        raise CaptureError(path, f"cannot be read ({error})") from error
    if not size:
        raise CaptureError(
            path, "is empty: nothing was captured, or the copy went wrong; use the file as it was written"
        )
    return size - whole


def unproven(path: Path) -> Iterator[str]:
    """Why it cannot be known that a capture is as it was written, file by file. Raises ``CaptureError``."""
    for file in parts(path):
        if left := torn(file):
            remedy = "what was to follow is missing; use the file as it was written"
            yield f"{file.name} is cut: its last {left} bytes are no whole block: {remedy}"
        if sealedfile.is_sealed(file):
            continue
        with file.open("rb") as stream:
            bare = pcapng.bare_sections(stream)
        if bare:
            by = "an earlier version or another program wrote them"
            yield f"{file.name}: {bare} sections have no digests ({by}): what changed in them may go unnoticed"


def packets(path: Path, auditor: X25519PrivateKey | None = None) -> Iterator[pcapng.Packet]:
    """The packets of one file. Raises ``CaptureError``."""
    try:
        if not sealedfile.is_sealed(path):
            with path.open("rb") as file:
                yield from pcapng.read(file)
            return
        if auditor is None:
            raise CaptureError(path, "is sealed: give the auditor's private key with --card-key")
        yield from pcapng.read(io.BytesIO(b"".join(sealedfile.opened(path, auditor))))
    except pcapng.Damaged as error:
        raise CaptureDamaged(path, str(error)) from error
    except OSError as error:
        raise CaptureError(path, f"cannot be read ({error})") from error


def told(path: Path, auditor: X25519PrivateKey | None = None) -> Iterator[Said | Passed]:
    """All that a capture tells, in order, through all its files. Raises ``CaptureError``."""
    for file in parts(path):
        for packet in packets(file, auditor):
            if packet.interface.link_type != wire.USER:
                passed = wire.unwrap(packet)
                if passed is not None:
                    yield passed
            elif packet.interface.name == INPUTS:
                yield Said(packet.at, _line(file, packet.data), f"{file.name}, before byte {packet.end}")


def _line(path: Path, data: bytes) -> Mapping[str, Any]:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CaptureDamaged(path, f"a line of its inputs is no JSON ({error})") from error
    if not isinstance(said, dict):
        raise CaptureDamaged(path, "a line of its inputs is no object")
    return said
