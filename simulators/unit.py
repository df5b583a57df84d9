"""A daemon under the service manager of its machine: started, killed and stopped as an operator does it."""

from pathlib import Path

from simulators.errors import ProductFailure
from simulators.process import DaemonProcess
from simulators.reach import Reach


class UnitDaemon(DaemonProcess):
    """``systemd:UNIT``. The unit is of Type=notify, so that the manager's ``start`` waits until it is ready."""

    def __init__(self, config: Path, unit: str, reach: Reach) -> None:
        super().__init__(config, 1)
        self._unit = unit
        self._reach = reach

    @property
    def running(self) -> bool:
        """Whether the manager calls it active."""
        return self._reach.run("systemctl", "is-active", "--quiet", self._unit).returncode == 0

    def start(self) -> None:
        """Start it. Raises ``ProductFailure`` where it does not become ready."""
        done = self._reach.run("systemctl", "start", self._unit)
        if done.returncode != 0 or not self.running:
            raise ProductFailure(f"{self._unit} did not become ready: {done.stderr.strip()} {self.last_words()}")

    def kill(self) -> None:
        """``kill -9`` of its main process. The manager may start it again by itself."""
        self._reach.run("systemctl", "kill", "--signal=KILL", "--kill-who=main", self._unit)

    def stop(self) -> int | None:
        """Stop it; 0 where the manager calls that success, ``None`` where it did not run."""
        if not self.running:
            return None
        self._reach.run("systemctl", "stop", self._unit)
        return 1 if self._reach.run("systemctl", "is-failed", "--quiet", self._unit).returncode == 0 else 0

    def last_words(self) -> str:
        """The last line of its journal."""
        said = self._reach.run("journalctl", "--unit", self._unit, "--lines=1", "--output=cat", "--quiet")
        return said.stdout.strip() or "it said nothing"
