"""A real daemon process for tests: its configuration, its log, its socket."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from controller.client import NotReachable, ask
from controller.core.records import Record
from controller.ledger.reading import read_records
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent
CHIPS = ROOT / "config" / "chips" / "example.toml"


def write_config(folder: Path, devices: Mapping[str, tuple[str, str]] | None = None, more: str = "") -> Path:
    """A test table in ``folder``. ``devices``: name -> (driver, uri). ``more`` goes before the first table."""
    text = f"""
schema = 1
site = "zg1"
table = "t07"
kind = "shoe"
seats = 6
profile = "rs_holdem"
state_dir = "{folder}"
test = true
{more}
[limits]
small_blind = 100
big_blind = 200
[chips]
file = "{CHIPS}"
"""
    for name, (driver, uri) in (devices or {}).items():
        channels = {"shoe": '{ "0" = "shoe" }', "feig": '{ "0" = "tray" }'}.get(driver, "{}")
        text += f'[devices.{name}]\ndriver = "{driver}"\nuri = "{uri}"\nchannels = {channels}\n'
    path = folder / "table.toml"
    path.write_text(text, encoding="utf-8")
    return path


def command(config: Path, *arguments: str) -> list[str]:
    """The command line of a daemon."""
    return [sys.executable, "-m", "controller.cli", "run", "-c", str(config), "--log", "json", *arguments]


class Running:
    """``feltd run`` in a process of its own, ready when the constructor returns. A context manager."""

    def __init__(self, config: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        self.folder = config.parent
        self.socket = self.folder / "t07.sock"
        self.ledger = self.folder / "t07.ledger"
        self.log = self.folder / "feltd.log"
        self._before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command(config, *arguments), cwd=ROOT, stderr=log, env={**os.environ, **(environ or {})}
            )
        try:
            wait_until(lambda: self._said("ready") or self.process.poll() is not None, 20, "ready")
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
        except AssertionError:
            self.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def lines(self, since: int = 0) -> list[dict[str, Any]]:
        """The log, as far as it is JSON, from that byte on. A line that is still being written is not among them."""
        if not self.log.exists():
            return []
        with self.log.open("rb") as log:
            log.seek(since)
            whole = log.read().splitlines(keepends=True)
        return [json.loads(line) for line in whole if line.startswith(b"{") and line.endswith(b"\n")]

    def _said(self, event: str) -> dict[str, Any] | None:
        return next((line for line in self.lines(self._before) if line["event"] == event), None)

    @property
    def ready(self) -> dict[str, Any]:
        """What this start said when it was ready."""
        said = self._said("ready")
        assert said is not None
        return said

    def tell(self, command: str, by: str = "", reason: str = "", /, **args: Any) -> dict[str, Any]:
        """A command over the socket; its answer."""
        return ask(self.socket, {"command": command, "args": args, "by": by, "reason": reason})

    def do(self, command: str, by: str = "", reason: str = "", /, **args: Any) -> list[str]:
        """A command that must be obeyed; the types of its records."""
        answer = self.tell(command, by, reason, **args)
        assert answer["ok"], answer
        return [record["type"] for record in answer["records"]]

    @property
    def status(self) -> dict[str, Any]:
        """The table as ``feltd status`` shows it."""
        status: dict[str, Any] = self.tell("status")["status"]
        return status

    def records(self, *types: str) -> list[Record]:
        """What the ledger holds, of these types or all."""
        return [record for record in read_records(self.ledger) if not types or record.type in types]

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def kill(self) -> None:
        """SIGKILL: as a power cut."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)

    def gone(self) -> bool:
        """Whether nobody answers at the socket."""
        try:
            ask(self.socket, {"command": "status"})
        except NotReachable:
            return True
        return False
