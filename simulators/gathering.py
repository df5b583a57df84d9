"""What the table of a rig leaves behind, brought from its machine into a folder; and what could not be had, and why."""

import base64
import binascii
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from controller.faults import BadConfiguration, read_toml
from simulators.errors import RigError
from simulators.process import DaemonProcess
from simulators.reach import Reach
from simulators.rig import Rig

LEDGER = """
import base64, sqlite3, sys
ledger, copy = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True), sqlite3.connect(":memory:")
ledger.backup(copy)
print(base64.b64encode(copy.serialize()).decode())
"""
"""A ledger as it is between two rows, though its daemon goes on writing."""
FILE = """
import base64, sys
print(base64.b64encode(open(sys.argv[1], "rb").read()).decode())
"""
NAMED = (("chips", "file"), ("chips", "tags"), ("deck", "file"))
"""Where a table's file names others. Never a key, a password or the staff: they are nobody's evidence."""
MOST_LINES = "20000"
"""So much of a journal at most."""


class Gathering:
    """All that belongs to the run of a rig's table, into ``folder``. ``missing`` grows with what could not be had."""

    def __init__(self, rig: Rig, reach: Reach, folder: Path) -> None:
        self._rig = rig
        self._reach = reach
        self._folder = folder
        self.missing: list[str] = []

    def all(self, daemon: DaemonProcess, logged: int) -> list[str]:
        """``logged``: so many bytes of the daemon's log are of an earlier run. What is missing, a line each."""
        self._configuration()
        self._brought("ledger", self._rig.dut.ledger, LEDGER)
        self._log(daemon, logged)
        if not self._rig.start.startswith("exec:"):
            self.missing.append("capture.pcapng: only a daemon that the rig starts with exec: is told to make one")
        return self.missing

    def _configuration(self) -> None:
        rig = self._rig
        for file in (rig.file, rig.config):
            self._tried(file.name, partial(shutil.copy, file, self._folder / file.name))
        for name in self._named():
            there = Path(name)
            if rig.remote and not there.is_absolute():
                self.missing.append(f"{there.name}: {name} of {rig.config.name} is given from a folder of the machine")
                continue
            self._brought(there.name, rig.config.parent / there, FILE)

    def _named(self) -> Iterator[str]:
        """The files that the table's file names."""
        with suppress(BadConfiguration):  # a file that cannot be read names none
            tree = read_toml(self._rig.config)
            for section, key in NAMED:
                if isinstance(part := tree.get(section), dict) and isinstance(name := part.get(key), str):
                    yield name

    def _brought(self, name: str, there: Path, program: str) -> None:
        def bring() -> None:
            done = self._reach.run(self._reach.python, "-c", program, str(there))
            if done.returncode != 0:
                raise RigError(f"{there}: {(done.stderr.strip().splitlines() or ['cannot be read'])[-1]}")
            (self._folder / name).write_bytes(base64.b64decode(done.stdout, validate=False))

        self._tried(name, bring)

    def _log(self, daemon: DaemonProcess, logged: int) -> None:
        rig, name = self._rig, "feltd.log"
        if not rig.start:
            self.missing.append(f"{name}: the rig did not start this daemon; its service manager keeps the log")
        elif rig.start.startswith("systemd:"):
            unit = rig.start.removeprefix("systemd:")
            command = ("journalctl", "--unit", unit, "--output=cat", "--quiet", f"--lines={MOST_LINES}")

            def journal() -> None:
                done = self._reach.run(*command)
                if done.returncode != 0:
                    raise RigError(f"the journal of {unit}: {done.stderr.strip() or 'journalctl failed'}")
                (self._folder / name).write_text(done.stdout, encoding="utf-8")

            self._tried(name, journal)
        else:
            self._tried(name, lambda: (self._folder / name).write_bytes(daemon.log.read_bytes()[logged:]))

    def _tried(self, name: str, bring: Callable[[], object]) -> None:
        try:
            bring()
        except (OSError, RigError, binascii.Error) as error:
            self.missing.append(f"{name}: {error}")
