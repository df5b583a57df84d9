"""A real sshd on loopback with keys of its own, and the client's configuration that leads to it."""

import getpass
import os
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from simulators.broker import free_port
from tests.waiting import wait_until

PROGRAM = "/usr/sbin/sshd"
SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
PidFile {folder}/sshd.pid
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
AllowStreamLocalForwarding yes
"""
CLIENT = """\
IdentityFile {folder}/client
IdentitiesOnly yes
UserKnownHostsFile {folder}/known
"""


class Sshd:
    """One server, as long as the block lasts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.config = folder / "ssh_config"
        self.uri = f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        folder = self.folder
        for name in ("host", "client"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(command, check=True, timeout=30)
        key = (folder / "host.pub").read_text(encoding="ascii")
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {key}", encoding="ascii")
        self.config.write_text(CLIENT.format(folder=folder), encoding="utf-8")
        server = folder / "sshd_config"
        server.write_text(SERVER.format(folder=folder, port=self.port), encoding="utf-8")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # where it parts with its privileges
        self._log = (folder / "sshd.log").open("wb")
        self._process = subprocess.Popen([PROGRAM, "-D", "-e", "-f", str(server)], stderr=self._log)
        wait_until(self._listens, what="sshd")
        return self

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(10)
        self._log.close()
