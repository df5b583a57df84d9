"""The daemon as a process of its own: started, killed, stopped, and asked over its command socket."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller import client
from simulators.errors import ProductFailure

READY_S = 20.0
STOP_S = 20.0


class DaemonProcess:
    """``feltd run`` on a configuration. It says itself when it is ready, as it does to systemd."""

    def __init__(self, config: Path, speed: float, capture: Path | None = None, folder: Path | None = None) -> None:
        """``folder``: where it runs, and leaves a core file if it ever does."""
        self._folder = folder
        self._config = config
        self._capture = capture
        self._speed = speed
        self._process: subprocess.Popen[bytes] | None = None
        self.log = config.with_name("feltd.log")
        self.socket = config.with_name("feltd.sock")

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process, once it was started."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start and wait for READY. Raises ``ProductFailure``."""
        notify = self._config.with_name("notify")
        notify.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener, self.log.open("ab") as log:
            listener.bind(str(notify))
            command = [sys.executable, "-m", "controller.cli", "run", "-c", str(self._config)]
            self._process = subprocess.Popen(
                [*command, "--test-speed", str(self._speed), "--log", "json", *self._captured()],
                env={**os.environ, "NOTIFY_SOCKET": str(notify), "PYTHONPATH": _home()},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            self._wait_ready(listener, self._process)

    def _captured(self) -> list[str]:
        return ["--capture", str(self._capture)] if self._capture else []

    def _wait_ready(self, listener: socket.socket, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + READY_S
        listener.settimeout(0.1)
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if b"READY=1" in listener.recv(4096).split(b"\n"):
                    return
            except TimeoutError:
                continue
        self.kill()
        raise ProductFailure(f"the daemon did not become ready: {self.last_words()}")

    def ask(self, command: str, args: Mapping[str, Any] | None = None, **who: str) -> dict[str, Any]:
        """One request at the command socket; its answer. Raises ``ProductFailure`` when nobody answers."""
        try:
            return client.ask(self.socket, {"command": command, "args": dict(args or {}), **who})
        except client.NotReachable as error:
            raise ProductFailure(f"{error}; {self.last_words()}") from error

    def kill(self) -> None:
        """``kill -9``."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int | None:
        """SIGTERM, and the exit code; ``None`` when it did not run, or would not end and was killed."""
        if self._process is None or not self.running:
            return None
        self._process.terminate()
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def last_words(self) -> str:
        """The last line of its log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if self.log.exists() else []
        return lines[-1] if lines else "it said nothing"


def feltd(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one command of ``feltd`` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "controller.cli", *arguments],
        env={**os.environ, "PYTHONPATH": _home()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _home() -> str:
    """Our packages, wherever the caller stands."""
    home = str(Path(__file__).resolve().parent.parent)
    return os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH", "")) if part)
