"""Writes a capture while a table runs: every byte of every device, and all that enters the core, in order.

Each block goes to the kernel at once, so that a killed process loses none. A file that has grown to its limit is put
away as ``FILE.1`` (the one before as ``FILE.2``, and so on), and the oldest is deleted: the disk is never filled.
A capture is an aid: where it cannot be written the table plays on, and ``failure`` says why.
"""

import os
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from controller.capture import older, pcapng, sealedfile, wire, words
from controller.capture.errors import CaptureError, CaptureUnwritable
from controller.core.inputs import Input
from controller.core.setup import Setup

INPUTS = "inputs"
PROGRAM = "feltd"
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class CapturedDevice:
    """A device as it was configured: what its conversation is made from again."""

    name: str
    driver: str
    uri: str
    expect: Mapping[str, str]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a run was: enough to play it again. ``row`` is the ledger's last row before it."""

    setup: Setup
    ledger: str
    row: int
    devices: tuple[CapturedDevice, ...]


class Recorder:
    """One run of one table. Any thread may call; order is that of the calls.

    At the start raises ``CaptureDamaged`` where a damaged file lies, ``CaptureUnwritable`` where the disk takes
    nothing, and ``CaptureError`` where something was named that is no place for a capture.
    """

    def __init__(
        self,
        path: Path,
        origin: Origin,
        *,
        mono_ns: int,
        wall_ns: int,
        auditor: X25519PublicKey | None,
        limit_mb: int = 64,
        keep: int = 4,
        failed: Callable[[str], None] = lambda _why: None,
    ) -> None:
        self.failure = ""
        self._path = path
        self._origin = origin
        self._auditor = auditor
        self._limit = limit_mb * MB
        self._keep = keep
        self._failed = failed
        self._run = str(uuid.uuid4())
        self._part = 0
        self._wall, self._mono = wall_ns, mono_ns
        self._links = {device.name: wire.link_type(device.uri) for device in origin.devices}
        self._numbers = {device.name: number for number, device in enumerate(origin.devices, 1)}
        self._lock = threading.Lock()
        self._sealer: sealedfile.Sealer | None = None
        self._chain = pcapng.Chain()
        self._file = -1
        try:
            self._file = self._open()
            self._start(mono_ns)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise CaptureError(path, f"cannot be written ({error}); name a file with --capture") from error
        except OSError as error:
            remedy = "make room or let it be written, and start the table again; or name another file with --capture"
            raise CaptureUnwritable(path, f"cannot be written ({error}); {remedy}") from error

    # ------------------------------------------------------------ what enters the core

    def input(self, what: Input) -> None:
        """An input is about to be fed."""
        self._line(words.input_line(what), what.at)

    def restored(self, row: int, at: int) -> None:
        """The last input could not be stored: the table was thrown away and restored from the ledger up to ``row``."""
        self._line(words.line(restored=row), at)

    # ------------------------------------------------------------ what passed between a device and its driver

    def received(self, device: str, data: bytes, now: int) -> None:
        """Bytes from a device were given to its driver."""
        self._bytes(device, data, now, inward=True)

    def sent(self, device: str, data: bytes, now: int) -> None:
        """A driver sends a frame."""
        self._bytes(device, data, now, inward=False)

    def called(self, device: str, what: str, now: int, **about: Any) -> None:
        """A driver was called for another reason than bytes."""
        self._line(words.line(device=device, call=what, **about), now)

    def close(self) -> None:
        """The run is over."""
        with self._lock:
            if not self.failure:
                self.failure = "closed"
                self._let_go()

    # ------------------------------------------------------------ the file

    def _line(self, said: bytes, now: int) -> None:
        self._write(lambda at: pcapng.packet(0, at, said), now)

    def _bytes(self, device: str, data: bytes, now: int, *, inward: bool) -> None:
        number, kind = self._numbers[device], self._links[device]
        self._write(lambda at: pcapng.packet(number, at, wire.wrap(kind, number, at, data, inward=inward)), now)

    def _write(self, block: Callable[[int], bytes], now: int) -> None:
        """Write one block at the table's time ``now``: the wall clock of the start and the time since then."""
        with self._lock:
            if self.failure:
                return
            try:
                self._put(block(self._at(now)))
                if self._size >= self._limit:
                    self._rotate(now)
            except (OSError, CaptureError) as error:
                self.failure = str(error)
                self._let_go()
        if self.failure:
            self._failed(self.failure)

    def _at(self, now: int) -> int:
        # A driver that has not begun yet knows no time.
        return self._wall + max(now, self._mono) - self._mono

    def _put(self, block: bytes) -> None:
        block = self._chain.add(block)
        data = self._sealer.seal(block) if self._sealer else block
        self._size += len(data)
        while data:
            data = data[os.write(self._file, data) :]

    def _open(self) -> int:
        """Open the file for more, without the tail that a crash has torn off."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            whole = older.whole_length(self._path, descriptor, sealed=self._auditor is not None)
            os.ftruncate(descriptor, whole)
            os.lseek(descriptor, 0, os.SEEK_END)
        except (OSError, CaptureError):
            os.close(descriptor)
            raise
        self._size = whole
        return descriptor

    def _start(self, now: int) -> None:
        """Begin the first section, or leave the file as it was found."""
        found = self._size
        try:
            self._begin(now)
        except OSError:
            os.ftruncate(self._file, found)
            if not found:
                self._path.unlink()
            self._let_go()
            raise

    def _begin(self, now: int) -> None:
        """Begin a section: who this is, and which interfaces there are."""
        self._part += 1
        if self._auditor is not None:
            self._sealer = sealedfile.Sealer(self._auditor)
            os.write(self._file, self._sealer.head)
        self._chain = pcapng.Chain()
        self._put(pcapng.section(PROGRAM))
        for name, kind in {INPUTS: wire.USER, **self._links}.items():
            self._put(pcapng.interface(name, kind))
        origin = words.plain(self._origin) if self._part == 1 else None
        began = words.line(run=self._run, part=self._part, mono=self._mono, wall=self._wall, origin=origin)
        self._put(pcapng.packet(0, self._at(now), began))

    def _let_go(self) -> None:
        descriptor, self._file = self._file, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _rotate(self, now: int) -> None:
        self._let_go()
        kept(self._path, self._keep).unlink(missing_ok=True)
        for number in range(self._keep - 1, -1, -1):
            if (older := kept(self._path, number)).exists():
                older.replace(kept(self._path, number + 1))
        self._file = self._open()
        self._begin(now)


def kept(path: Path, number: int) -> Path:
    """The name of an older file of a capture; 0 is the one that is written."""
    return path.with_name(f"{path.name}.{number}") if number else path
