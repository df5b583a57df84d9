"""A rig: simulated devices on ports of their own, a daemon that runs already, and what is checked before the night."""

import json
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from simulators import config
from simulators import rig as rigs
from simulators.broker import MosquittoBroker, free_port
from simulators.errors import RigError, ScriptError
from simulators.plan import of_scenario
from simulators.process import DaemonProcess
from simulators.reach import Here
from simulators.rehearse import main
from simulators.scripts import scenario
from simulators.subscriber import Subscriber
from simulators.through.wires import PERSISTENT
from simulators.verdict import Exit

SCENARIO = Path(__file__).resolve().parent / "scenarios" / "whole-hand.toml"
RIG = """\
schema = 1
name = "bench"
kind = "wire"
usbip = "127.0.0.1:{usbip}"
[dut]
reach = "local"
config = "table.toml"
broker = "mqtt://127.0.0.1:{broker}"
[devices.shoe0]
as = "shoe"
port = "usb:1-1"
serial = "SHOE-0001"
[devices.keys0]
as = "keypad"
port = "usb:1-2"
[devices.tray0]
as = "feig"
port = "pty:tray0"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "rig.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.wires
def test_a_rig_takes_no_answer_for_an_event(tmp_path: Path) -> None:
    """A back office on the same broker asks the table, and is answered, while the rig listens."""
    event = json.dumps({"id": "1", "source": "/felt/rig/t01/ops", "type": "daemon.started", "data": {}})
    with MosquittoBroker(tmp_path) as broker:
        heard = Subscriber(broker.port, "felt-test/v1/rig/t01")
        other = Client(CallbackAPIVersion.VERSION2)
        other.connect("127.0.0.1", broker.port)
        other.loop_start()
        try:
            for topic, body in (("cmd/replay", "{}"), ("reply/office/1", "{}"), ("state", "{}"), ("ops/daemon", event)):
                other.publish(f"felt-test/v1/rig/t01/{topic}", body, qos=1).wait_for_publish(10)
            assert heard.until(lambda: len(heard.seen) == 1, 10)
        finally:
            other.loop_stop()
            heard.close()


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(180)
def test_a_daemon_that_runs_already_is_under_test(tmp_path: Path) -> None:
    script = scenario.load(SCENARIO)
    broker = MosquittoBroker(tmp_path, basic=PERSISTENT.format(folder=tmp_path))
    broker.start()
    port = free_port()
    usbip = f"usbip://127.0.0.1:{port}"
    uris = {"shoe0": f"{usbip}/1-1", "keys0": f"{usbip}/1-2", "tray0": f"serial://{tmp_path}/tray0?baud=38400"}
    table = config.write(of_scenario(script), tmp_path, uris, broker.uri, broker.versions[0], tmp_path / "ledger")
    daemon = DaemonProcess(table, 1)
    try:
        daemon.start()
        path = written(tmp_path, RIG.format(usbip=port, broker=broker.port))
        out = tmp_path / "out.xml"
        assert main([str(SCENARIO), "--rig", str(path), "--junit", str(out)]) == Exit.PASSED
        assert 'name="governor"' in out.read_text(encoding="utf-8")
        assert daemon.running
    finally:
        daemon.stop()
        broker.stop()


@pytest.mark.parametrize(
    ("old", "new", "error", "says"),
    [
        ('kind = "wire"', 'kind = "felt"', ScriptError, "actuator"),
        ('reach = "local"', 'reach = "telnet://dut"', RigError, "ssh://user@host:port"),
        ('reach = "local"', 'reach = "ssh://table:secret@dut"', RigError, "a password never stands in it"),
        ('reach = "local"', 'reach = "ssh://dut"\nstart = "exec:feltd run"', RigError, "systemd:UNIT"),
        ('reach = "local"', 'reach = "local"\nstart = "init:feltd"', RigError, "systemd:UNIT"),
        ('"mqtt://127.0.0.1:1"', '"mqtts://far:8883"', RigError, "loopback"),
        ('port = "pty:tray0"', 'port = "com3"', RigError, "tray0.port"),
        ("schema = 1", "schema = 1\nwhat = 2", ScriptError, "what"),
    ],
)
def test_a_rig_file_is_read_strictly(tmp_path: Path, old: str, new: str, error: type[Exception], says: str) -> None:
    text = RIG.format(usbip=1, broker=1).replace(old, new)
    with pytest.raises(error, match=says):
        rigs.read(written(tmp_path, text))


def test_the_preflight_stops_the_night(tmp_path: Path) -> None:
    script = scenario.load(SCENARIO)
    uris = {name: f"serial://{tmp_path}/{name}" for name in ("shoe0", "keys0", "tray0")}
    table = config.write(of_scenario(script), tmp_path, uris, "mqtt://127.0.0.1:1", "5", tmp_path / "ledger")
    path = written(tmp_path, RIG.format(usbip=0, broker=1))
    assert main([str(SCENARIO), "--rig", str(path)]) == Exit.RIG  # nobody answers
    rig = rigs.read(path)
    (tmp_path / "ledger").write_bytes(b"")
    with pytest.raises(RigError, match="new ledger"):
        rigs.preflight(rig, tmp_path, Here(), running=False)
    (tmp_path / "ledger").unlink()
    assert rigs.preflight(rig, tmp_path, Here(), running=False)["table"] == "rig/t01"
    table.write_text(table.read_text(encoding="utf-8").replace("devices.tray0", "devices.tray9"), encoding="utf-8")
    with pytest.raises(RigError, match="no device tray0"):
        rigs.preflight(rigs.read(path), tmp_path, Here(), running=False)
