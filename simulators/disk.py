"""A disk that fills up, on demand: a small file system of its own for a ledger, and a file that takes its room.

It never holds anything else. In a rehearsal on this machine it is a tmpfs in the folder of the run, which only root may
mount; a rig names one of the machine under test (``dut.disk``).
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from controller.ledger.files import LEVELS, MB, RESERVE_MB, Filling, Retention
from simulators.errors import RigError
from simulators.reach import Here, Reach

SIZE_MB = 96
"""Of the file system of a rehearsal: more than what a daemon keeps free, and little of anybody's memory."""
MOST_MB = 8192
"""A disk of a rig above this size is not one that was made to be filled."""
BALLAST = "feltsim.ballast"
LEAVES_KB = RESERVE_MB * 1000 // 2
"""Unless a step says otherwise: no new hand may begin, and the one under way can be written to its end."""
VIRTUAL_USED, VIRTUAL_FREE = 1 * MB, 1000 * MB
"""On a disk that there is not: what its ledger takes, and what is free unless it is full."""


class Disk:
    """One file system. ``folder`` is where it is mounted."""

    def __init__(self, folder: Path, reach: Reach | None = None, *, own: bool = False) -> None:
        self.folder = folder
        self._reach = reach or Here()
        self._own = own

    @classmethod
    def mounted(cls, folder: Path) -> Self:
        """A new one, in memory. Raises ``RigError`` where that is not allowed: ask ``refusal`` before."""
        folder.mkdir(mode=0o700)
        options = f"size={SIZE_MB}m,mode=0700"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "feltsim", str(folder)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RigError(f"{folder}: no file system can be mounted there: {done.stderr.strip()}")
        return cls(folder, own=True)

    def fill(self, leave_kb: int) -> None:
        """Take all its room but ``leave_kb``. Raises ``RigError``, also for a disk too large to be one for this."""
        size, free = (
            int(word) for word in self._run("df", "-B1", "--output=size,avail", str(self.folder)).split()[-2:]
        )
        if size > MOST_MB * MB:
            raise RigError(f"{self.folder}: a disk of {size // MB} MB is not filled: give a small one of its own")
        room = free - leave_kb * 1024
        if room > 0:
            self._run("fallocate", "-l", str(room), str(self.folder / BALLAST))

    def free(self) -> None:
        """Give its room back."""
        self._run("rm", "-f", str(self.folder / BALLAST))

    def close(self) -> None:
        """Free it, and take away what was mounted here."""
        self.free()
        if self._own:
            self._run("umount", "-l", str(self.folder))

    def _run(self, *command: str) -> str:
        done = self._reach.run(*command)
        if done.returncode != 0:
            raise RigError(f"{self.folder}: {command[0]}: {done.stderr.strip()}")
        return done.stdout


def refusal() -> str:
    """Why no file system can be made here; empty where one can."""
    return "" if os.geteuid() == 0 else "only root can mount a small disk to fill: be root, or give a rig a dut.disk"


def told(*, free: int) -> Mapping[str, Any]:
    """What the shell tells of a disk with so many bytes free (``ledger.filling``)."""
    limit = max(1, min(Retention().limit_mb * MB, VIRTUAL_USED + free - RESERVE_MB * MB))
    full = Filling(VIRTUAL_USED, limit).level >= LEVELS[-1]
    return {"used": VIRTUAL_USED, "limit": limit, "oldest_unsent": None, "new_hands_refused": full}
