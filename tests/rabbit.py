"""A RabbitMQ of its own on loopback, with its MQTT plugin (3.1.1): users and rights by the shipped script."""

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from simulators.broker import HOST, free_port
from tests.running import ROOT
from tests.waiting import wait_until

HOME = Path("/usr/lib/rabbitmq/bin")
PERMISSIONS = ROOT / "config" / "rabbitmq" / "permissions.sh"


def rabbit_programs() -> Path | None:
    """Where its programs are, ``None`` where it is not installed (Debian: rabbitmq-server)."""
    return HOME if (HOME / "rabbitmq-server").exists() else None


class Rabbit:
    """One node in a folder. A context manager; up when it is entered."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._epmd = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True)
        (folder / "enabled_plugins").write_text("[rabbitmq_mqtt].\n")
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp = none\nmqtt.listeners.tcp.1 = {HOST}:{self.port}\n"
            "mqtt.allow_anonymous = false\nmqtt.exchange = amq.topic\n"
        )
        script = PERMISSIONS.read_text(encoding="utf-8")
        # Test tables have a root of their own.
        (folder / "permissions.sh").write_text(script.replace("felt\\\\.v1", "felt-test\\\\.v1"), encoding="utf-8")
        self._environ = {
            **os.environ,
            "HOME": str(folder),
            "RABBITMQ_NODENAME": "felt@localhost",
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_ADDRESS": HOST,
            "ERL_EPMD_PORT": str(self._epmd),
            "RABBITMQCTL": str(HOME / "rabbitmqctl"),
        }

    def __enter__(self) -> Self:
        with (self._folder / "out").open("wb") as out:
            command = [str(HOME / "rabbitmq-server")]
            self._process = subprocess.Popen(command, stdout=out, stderr=out, env=self._environ)
        try:
            wait_until(self._is_up, 90, "RabbitMQ")
            wait_until(self._has_booted, 60, "its plugins")
        except AssertionError:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def table(self, site: str, table: str, password: str) -> None:
        """A table with the rights that the shipped script gives."""
        self._run(["sh", str(self._folder / "permissions.sh"), "table", site, table])
        self.control("change_password", f"{site}-{table}", password)

    def subscriber(self, name: str, password: str, *streams: str) -> None:
        """A subscriber with those of the shipped script."""
        self._run(["sh", str(self._folder / "permissions.sh"), "subscriber", name, *streams])
        self.control("change_password", name, password)

    def screen(self, name: str, password: str, *streams: str) -> None:
        """One that only reads."""
        self._run(["sh", str(self._folder / "permissions.sh"), "screen", name, *streams])
        self.control("change_password", name, password)

    def control(self, *arguments: str) -> None:
        """``rabbitmqctl``."""
        self._run([str(HOME / "rabbitmqctl"), "--quiet", *arguments])

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(command, env=self._environ, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def _is_up(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "out").read_text()
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0

    def _has_booted(self) -> bool:
        return bool(re.search(r"completed with \d+ plugins", (self._folder / "out").read_text()))

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                subprocess.run([str(HOME / "rabbitmqctl"), "stop"], env=self._environ, capture_output=True, check=False)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        # The port mapper that the node has started for itself.
        epmd = shutil.which("epmd")
        if epmd is not None:
            subprocess.run([epmd, "-port", str(self._epmd), "-kill"], capture_output=True, check=False, timeout=20)
