"""A daemon on another machine: reached through a real sshd, and under a service manager."""

import shutil
import socketserver
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller import client
from simulators import config
from simulators import reach as reaches
from simulators.broker import MosquittoBroker, free_port
from simulators.errors import ProductFailure, RigError
from simulators.plan import of_scenario
from simulators.process import DaemonProcess
from simulators.reach import Here, There
from simulators.rehearse import main
from simulators.scripts import scenario
from simulators.through.wires import PERSISTENT
from simulators.unit import UnitDaemon
from simulators.verdict import Exit
from tests.rehearsal.test_rig import RIG, SCENARIO, written
from tests.sshd import Sshd

HOME = Path(__file__).resolve().parents[2]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    folder = tmp_path / "ssh"
    folder.mkdir()
    with Sshd(folder) as running:
        yield running


@pytest.fixture
def there(server: Sshd, tmp_path: Path) -> Iterator[There]:
    reach = There(server.uri, tmp_path, server.config)
    yield reach
    reach.close()


@pytest.mark.wires
def test_commands_run_there_word_by_word(there: There) -> None:
    done = there.run("printf", "%s|", "two words", "a'b", "$HOME")
    assert (done.returncode, done.stdout) == (0, "two words|a'b|$HOME|")
    assert there.run("sh", "-c", "exit 3").returncode == 3
    found = reaches.machine(there)
    assert found["kernel"] == Here().run("uname", "-r").stdout.strip()
    offset, within = found["clock_offset_ms"].removesuffix(")").split(" (within ")
    assert abs(int(offset)) <= int(within) + 1, "it is the same clock"


@pytest.mark.wires
def test_a_machine_that_does_not_answer_is_the_rigs_fault(server: Sshd, tmp_path: Path) -> None:
    nobody = There(f"ssh://127.0.0.1:{free_port()}", tmp_path, server.config)
    with pytest.raises(RigError, match="refused"):
        nobody.run("true")
    with pytest.raises(RigError, match="cannot be carried"):
        nobody.socket(Path("/run/none.sock"))


class Echo(socketserver.StreamRequestHandler):
    """Answers a request as a daemon does."""

    def handle(self) -> None:
        self.wfile.write(b'{"said": ' + self.rfile.readline().strip() + b"}\n")


@pytest.mark.wires
def test_a_socket_there_answers_here(there: There, tmp_path: Path) -> None:
    path = tmp_path / "there.sock"
    with socketserver.ThreadingUnixStreamServer(str(path), Echo) as daemon:
        threading.Thread(target=daemon.serve_forever, daemon=True).start()
        here = there.socket(path)
        assert here != path
        assert there.socket(path) == here
        assert client.ask(here, {"command": "status"}) == {"said": {"command": "status"}}
        daemon.shutdown()
    there.close()
    assert not here.exists()


@pytest.mark.wires
def test_a_ledger_is_read_where_it_lies(there: There, tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    assert reaches.last_row(there, path) == 0
    with sqlite3.connect(path) as ledger:
        ledger.execute("CREATE TABLE row (row INTEGER PRIMARY KEY, body BLOB)")
        ledger.executemany("INSERT INTO row (body) VALUES (?)", [(b"one",), (b"tw\xc3\xb6",), (b"three",)])
    for reach in (there, Here()):
        assert reaches.last_row(reach, path) == 3
        assert reaches.bodies_after(reach, path, 1) == [b"tw\xc3\xb6", b"three"]
    path.write_bytes(b"nonsense that is no ledger")
    with pytest.raises(RigError, match="cannot be read there"):
        reaches.last_row(there, path)


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(240)
def test_a_daemon_on_another_machine_is_under_test(server: Sshd, tmp_path: Path) -> None:
    script = scenario.load(SCENARIO)
    broker = MosquittoBroker(tmp_path, basic=PERSISTENT.format(folder=tmp_path))
    broker.start()
    port = free_port()
    usbip = f"usbip://127.0.0.1:{port}"
    uris = {"shoe0": f"{usbip}/1-1", "keys0": f"{usbip}/1-2", "tray0": f"serial://{tmp_path}/tray0?baud=38400"}
    table = config.write(of_scenario(script), tmp_path, uris, broker.uri, broker.versions[0], tmp_path / "ledger")
    feltd = tmp_path / "feltd"
    feltd.write_text(f'#!/bin/sh\nPYTHONPATH={HOME} exec {sys.executable} -m controller.cli "$@"\n')
    feltd.chmod(0o755)
    reach = f'reach = "{server.uri}"\nssh_config = "{server.config}"\nfeltd = "{feltd}"'
    text = RIG.format(usbip=port, broker=broker.port).replace('reach = "local"', reach)
    daemon = DaemonProcess(table, 1)
    try:
        daemon.start()
        out = tmp_path / "out.xml"
        assert main([str(SCENARIO), "--rig", str(written(tmp_path, text)), "--junit", str(out)]) == Exit.PASSED
        assert f'name="reach" value="{server.uri}"' in out.read_text(encoding="utf-8")
        assert daemon.running
    finally:
        daemon.stop()
        broker.stop()


# ---------------------------------------------------------------------- systemd


class Manager(Here):
    """A stand-in for a service manager: it starts, kills and stops a real daemon, and is asked as systemd is."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self.daemon = daemon
        self.asked: list[tuple[str, ...]] = []
        self.failed = False

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        if command[0] not in ("systemctl", "journalctl"):
            return super().run(*command)
        self.asked.append(command)
        code, told = 0, ""
        match command[1]:
            case "start" if not self.daemon.running:
                self.daemon.start()
            case "is-active":
                code = 0 if self.daemon.running else 3
            case "is-failed":
                code = 0 if self.failed else 1
            case "kill":
                self.daemon.kill()
            case "stop":
                self.failed = self.daemon.stop() != 0
            case "--unit":
                told = self.daemon.last_words()
        return subprocess.CompletedProcess(command, code, told, "")


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(180)
def test_a_daemon_under_a_service_manager_is_started_killed_and_stopped(tmp_path: Path) -> None:
    script = scenario.load(SCENARIO)
    uris = {name: f"serial://{tmp_path}/{name}" for name in ("shoe0", "keys0", "tray0")}
    table = config.write(of_scenario(script), tmp_path, uris, "mqtt://127.0.0.1:1", "5", tmp_path / "ledger")
    manager = Manager(DaemonProcess(table, 1))
    unit = UnitDaemon(table, "feltd@t01", manager)
    try:
        assert unit.stop() is None
        unit.start()
        assert unit.running
        assert unit.ask("status")["status"]["table"] == "t01"
        unit.kill()
        assert manager.run("systemctl", "is-active").returncode == 3
        unit.start()
        assert unit.stop() == 0
        assert ("systemctl", "kill", "--signal=KILL", "--kill-who=main", "feltd@t01") in manager.asked
    finally:
        manager.daemon.stop()


def test_a_unit_that_does_not_become_ready_failed(tmp_path: Path) -> None:
    class Refuses(Here):
        def run(self, *command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.CompletedProcess(command, 1, "no such key", "Job failed.")

    with pytest.raises(ProductFailure, match=r"feltd@t01 did not become ready: Job failed\. no such key"):
        UnitDaemon(tmp_path / "table.toml", "feltd@t01", Refuses()).start()


def test_the_tests_have_a_server() -> None:
    assert shutil.which("sshd", path="/usr/sbin"), "apt-get install openssh-server"
