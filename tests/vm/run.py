"""``make test-vm``: boots a machine with feltd on it, has it checked from inside, and tells what was seen.

    python -m tests.vm.run [--minutes 60]

The console, the daemon's journal and the rehearsal's report are left in ``build/vm``.
"""

import argparse
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import FrameType

from tests.vm import image
from tests.vm.errors import NoMachine
from tests.vm.machine import Machine

FOLDER = image.ROOT / "build" / "vm"
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs"}
EXIT_CODES = """\
exit codes:
  0  everything held
  1  something did not
  2  wrong usage
  3  the machine could not be built, or did not end in time
"""


class Exit(IntEnum):
    """How it ended."""

    HELD = 0
    FAILED = 1
    NO_MACHINE = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it. Returns an exit code."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="make test-vm", description=__doc__, epilog=EXIT_CODES, formatter_class=raw)
    parser.add_argument("--minutes", type=float, default=60.0, help="from power on to power off")
    asked = parser.parse_args(arguments)
    began = time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"[{time.monotonic() - began:6.1f} s] {text}\n")
        sys.stdout.flush()

    signal.signal(signal.SIGTERM, _ended)  # so that the machine is switched off
    try:
        _ready()
        with _alone(), tempfile.TemporaryDirectory(prefix="felt-vm-") as sockets:
            made = image.build(FOLDER, say)
            say("booting; the console goes to build/vm/console.log")
            failed = _watch(made, Path(sockets), asked.minutes * 60, say)
    except NoMachine as fault:
        say(f"no machine: {fault}")
        return Exit.NO_MACHINE
    say(f"{failed} failed" if failed else "everything held")
    return Exit.FAILED if failed else Exit.HELD


def _ended(number: int, frame: FrameType | None) -> None:
    del number, frame
    sys.exit(Exit.NO_MACHINE)


def _ready() -> None:
    """Raises ``NoMachine`` naming what is missing here."""
    missing = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    if missing:
        raise NoMachine(f"missing: {' '.join(missing)} (Debian: apt-get install {' '.join(missing)})")
    if os.geteuid() != 0:
        raise NoMachine("root builds the file system of the machine: run it as root")


@contextmanager
def _alone() -> Iterator[None]:
    """Raises ``NoMachine`` where another run builds in the same folder."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            raise NoMachine(f"{FOLDER}: another run is at work there: wait for its end") from held
        yield


def _watch(made: image.Image, sockets: Path, seconds: float, say: image.Say) -> int:
    """Let the machine run to its end and tell its reports; how many checks failed. Raises ``NoMachine``."""
    failed, ended = 0, False
    console = FOLDER / "console.log"
    console.unlink(missing_ok=True)
    with Machine(made, console, sockets) as machine:
        for report in machine.reports(seconds):
            match report:
                case {"ask": "plug"}:
                    machine.plug()
                    machine.answer()
                case {"ask": "unplug"}:
                    machine.unplug()
                    machine.answer()
                case {"check": name, "failed": why}:
                    failed += 1
                    say(f"FAILED  {name}: {why}")
                case {"check": name, "saw": saw}:
                    say(f"ok      {name}" + "".join(f"\n{'':20}{line}" for line in saw))
                case {"ended": _}:
                    ended = True
        machine.ended()
    _evidence(made.disk)
    if not ended:
        raise NoMachine("it went off before the check had ended: see build/vm/console.log")
    return failed


def _evidence(disk: Path) -> None:
    """Take journal and reports off the disk."""
    target = FOLDER / "evidence"
    shutil.rmtree(target, ignore_errors=True)
    command = ["debugfs", "-R", f"rdump /opt/check/evidence {FOLDER}", os.fspath(disk)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    if not target.is_dir():
        raise NoMachine(f"the machine left no evidence: {done.stderr.strip()}")


if __name__ == "__main__":
    sys.exit(main())
