"""A serial device that a test plays by hand: the master end of a real pty under a stable name."""

import os
import select
import tty
from pathlib import Path


class PtyWire:
    """Plugged in from the start. ``uri`` is what a driver opens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.uri = f"serial://{path}?baud=38400"
        self.master: int | None = None
        self.plug()

    def plug(self) -> None:
        """A new pty under the same name."""
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.path.unlink(missing_ok=True)
        self.path.symlink_to(os.ttyname(slave))
        os.close(slave)

    def unplug(self) -> None:
        """The name goes and the port hangs up."""
        self.path.unlink(missing_ok=True)
        if self.master is not None:
            os.close(self.master)
            self.master = None

    def send(self, data: bytes) -> None:
        """Bytes to the host."""
        assert self.master is not None
        os.write(self.master, data)

    def heard(self, seconds: float = 0.0) -> bytes:
        """Bytes from the host, at the latest after so many seconds; empty too where nobody has the port open."""
        assert self.master is not None
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return b""
        try:
            return os.read(self.master, 4096)
        except OSError:
            return b""  # Nobody has it open.


def open_files() -> int:
    """How many descriptors this process holds."""
    return len(list(Path("/proc/self/fd").iterdir()))
