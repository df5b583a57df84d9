"""A rig: simulated devices on ports of their own, a daemon that runs already, and what is checked before the night."""

import json
import secrets
import shutil
import subprocess
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from controller.contract.integrity import key_id
from controller.ledger.keys import create_signing_key, load_verify_key
from simulators import config, runnable
from simulators import rig as rigs
from simulators.broker import MosquittoBroker, free_port
from simulators.brokerat import connect, emptied, on_port
from simulators.errors import RigError, ScriptError
from simulators.plan import of_scenario
from simulators.playing import ScenarioRun
from simulators.process import DaemonProcess
from simulators.reach import Here
from simulators.rehearse import main
from simulators.scripts import scenario
from simulators.subscriber import Subscriber
from simulators.through.stage import Journal
from simulators.through.virtual import VirtualStage
from simulators.through.wires import PERSISTENT
from simulators.verdict import Case, Exit
from tests.certificates import Authority

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
def test_a_daemon_that_runs_already_is_under_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
        text = RIG.format(usbip=port, broker=broker.port)
        path = written(tmp_path, text.replace("[dut]", '[dut]\nkey = "ledger.signing-key.pub"'))
        out = tmp_path / "out.xml"
        assert main([str(SCENARIO), "--rig", str(path), "--junit", str(out)]) == Exit.PASSED
        assert 'name="governor"' in out.read_text(encoding="utf-8")
        assert daemon.running
        create_signing_key(tmp_path / "other", tmp_path / "other.pub", test=True)
        path = written(tmp_path, text.replace("[dut]", '[dut]\nkey = "other.pub"'))
        capsys.readouterr()
        assert main([str(SCENARIO), "--rig", str(path)]) == Exit.RIG
        assert "dut.key: the table signs with the key" in capsys.readouterr().err
    finally:
        daemon.stop()
        broker.stop()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "wire"', 'kind = "felt"', "unknown here"),
        ('reach = "local"', 'reach = "telnet://dut"', "ssh://user@host:port"),
        ('reach = "local"', 'reach = "ssh://table:secret@dut"', "a password never stands in it"),
        ('reach = "local"', 'reach = "ssh://dut"\nstart = "exec:feltd run"', "systemd:UNIT"),
        ('reach = "local"', 'reach = "local"\nstart = "init:feltd"', "systemd:UNIT"),
        ('"mqtt://127.0.0.1:1"', '"mqtt://far:1883"', "write mqtts://far:8883"),
        ('"mqtt://127.0.0.1:1"', '"mqtts://me:secret@far"', "password never stands"),
        ('"mqtt://127.0.0.1:1"', '"mqtt://127.0.0.1:port"', "write mqtt://127.0.0.1:1883"),
        ("[devices.shoe0]", '[broker]\nca = "ca.pem"\n[devices.shoe0]', "no such file"),
        ("[devices.shoe0]", '[broker]\nca = "rig.toml"\n[devices.shoe0]', "speaks TLS"),
        ("[devices.shoe0]", '[broker]\npassword = "rig.toml"\n[devices.shoe0]', "whose password"),
        ('serial = "SHOE-0001"', 'expect = { colour = "red" }', "colour"),
        ("[devices.shoe0]", '[clock]\nsource = "dut"\n[devices.shoe0]', "rig-host"),
        ('reach = "local"', 'reach = "local"\ndisk = "disk"', "from the root"),
        ('port = "pty:tray0"', 'port = "com3"', "tray0.port"),
        ('port = "pty:tray0"', 'port = "tcp:127.0.0.1"', "tray0.port"),
        ('usbip = "127.0.0.1:1"', 'usbip = "127.0.0.1"', "HOST:PORT"),
        ('reach = "local"', 'reach = "local"\nstart = "fork:feltd"', "dut.start"),
        (
            "[devices.shoe0]",
            '[power]\nboard = "/dev/none"\nshoe0 = "relay:x"\n[devices.shoe0]',
            "power.shoe0 = 'relay:x'",
        ),
        ("[devices.shoe0]", '[power]\nboard = "/dev/none"\nshoe0 = 1\n[devices.shoe0]', "power.shoe0"),
        ("schema = 1", "schema = 1\nwhat = 2", "what"),
    ],
)
def test_a_rig_file_is_read_strictly(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = RIG.format(usbip=1, broker=1).replace(old, new)
    path = written(tmp_path, text)
    with pytest.raises(ScriptError, match=says):
        rigs.read(path)
    assert main([str(SCENARIO), "--rig", str(path)]) == Exit.SCRIPT
    assert runnable.main([str(SCENARIO), "--rig", str(path)]) == Exit.SCRIPT


def test_the_rigs_key_is_one_for_rehearsals(tmp_path: Path) -> None:
    """So no live meter accepts what is signed with it."""
    create_signing_key(tmp_path / "live", tmp_path / "live.pub")
    create_signing_key(tmp_path / "rig", tmp_path / "rig.pub", test=True)
    text = RIG.format(usbip=1, broker=1)
    wrong = {
        "live.pub": "feltd keys --test",
        "rig": "public half",
        "none.pub": "public half",
        "rig.toml": "public half",
    }
    for name, says in wrong.items():
        with pytest.raises(ScriptError, match=says) as refused:
            rigs.read(written(tmp_path, text.replace("[dut]", f'[dut]\nkey = "{name}"')))
        assert refused.value.field == "dut.key"
        assert refused.value.line
    public = load_verify_key(tmp_path / "rig.pub")
    rig = rigs.read(written(tmp_path, text.replace("[dut]", '[dut]\nkey = "rig.pub"')))
    assert rig.key == key_id(public.public_bytes_raw())


@pytest.mark.wires
def test_the_preflight_stops_the_night(tmp_path: Path) -> None:
    script = scenario.load(SCENARIO)
    uris = {name: f"serial://{tmp_path}/{name}" for name in ("shoe0", "keys0", "tray0")}
    with MosquittoBroker(tmp_path) as broker:
        table = config.write(of_scenario(script), tmp_path, uris, broker.uri, "5", tmp_path / "ledger")
        path = written(tmp_path, RIG.format(usbip=0, broker=broker.port))
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
    with pytest.raises(RigError, match=r"cannot reach its broker mqtt://127\.0\.0\.1"):
        emptied(rig.broker, "rig", "felt-test/v1/rig/t01", running=False)


@pytest.mark.wires
def test_a_broker_with_something_from_before_is_no_broker_for_a_night(tmp_path: Path) -> None:
    own, other = "felt-test/v1/rig/t01", "felt/v1/hall/t09/state"
    with MosquittoBroker(tmp_path) as broker:
        at = on_port(broker.port)
        heard = Subscriber(at, own)
        heard.close()  # its session goes on
        put = at.client("other", clean=True)
        connect(put, at)
        try:
            event = {"id": "1", "source": "/felt/rig/t01/ops", "type": "daemon.started", "data": {}}
            put.publish(f"{own}/ops/daemon", json.dumps(event), qos=1).wait_for_publish(10)
            put.publish(f"{own}/state", "{}", qos=1, retain=True).wait_for_publish(10)
            emptied(at, "rig", own, running=True)
            with pytest.raises(RigError, match=f"{own}/state lies there"):
                emptied(at, "rig", own, running=False)
            put.publish(other, "{}", qos=1, retain=True).wait_for_publish(10)
            with pytest.raises(RigError, match=f"{other} lies there"):
                emptied(at, "rig", own, running=True)
        finally:
            put.disconnect()
            put.loop_stop()
        again = Subscriber(at, own)
        try:
            assert not again.until(lambda: bool(again.seen), 0.5)
        finally:
            again.close()


TLS = """
per_listener_settings true
listener {plain} 127.0.0.1
allow_anonymous true
listener {tls} 127.0.0.1
allow_anonymous false
password_file {folder}/passwords
cafile {folder}/ca.crt
certfile {folder}/broker.crt
keyfile {folder}/broker.key
persistence true
persistence_location {folder}/
max_queued_messages 0
user root
"""


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(180)
@pytest.mark.skipif(shutil.which("mosquitto_passwd") is None, reason="mosquitto_passwd writes the broker's passwords")
def test_the_rig_hears_its_broker_over_tls_and_knows_who_stands_at_its_ports(tmp_path: Path) -> None:
    Authority(tmp_path).issue("broker", "127.0.0.1")
    secret = secrets.token_hex(8)
    (tmp_path / "password").write_text(f"{secret}\n", encoding="utf-8")
    command = ["mosquitto_passwd", "-c", "-b", str(tmp_path / "passwords"), "rig", secret]
    subprocess.run(command, check=True, capture_output=True)
    tls, usb = free_port(), free_port()
    basic = TLS.replace("{plain}", "{{port}}").replace("{tls}", str(tls)).replace("{folder}", str(tmp_path))
    broker = MosquittoBroker(tmp_path, basic=basic.replace("{{port}}", "{port}"))
    broker.start()
    usbip = f"usbip://127.0.0.1:{usb}"
    uris = {"shoe0": f"{usbip}/1-1", "keys0": f"{usbip}/1-2", "tray0": f"serial://{tmp_path}/tray0?baud=38400"}
    script = scenario.load(SCENARIO)
    table = config.write(of_scenario(script), tmp_path, uris, broker.uri, broker.versions[0], tmp_path / "ledger")
    text = RIG.format(usbip=usb, broker=0).replace("mqtt://127.0.0.1:0", f"mqtts://127.0.0.1:{tls}")
    text = text.replace(
        "[devices.shoe0]", '[broker]\nca = "ca.crt"\nuser = "rig"\npassword = "password"\n[devices.shoe0]'
    )
    text = text.replace('serial = "SHOE-0001"', 'serial = "SHOE-0001"\nexpect = { serial = "SHOE-0001" }')
    daemon = DaemonProcess(table, 1)
    try:
        daemon.start()
        path, out = written(tmp_path, text), tmp_path / "out.xml"
        assert main([str(SCENARIO), "--rig", str(path), "--junit", str(out)]) == Exit.PASSED
        said = out.read_text(encoding="utf-8")
        assert 'name="device.shoe0" value="FS-1 SHOE-0001' in said
        assert 'name="actuator_ms"' in said
        written(tmp_path, text.replace('expect = { serial = "SHOE-0001" }', 'expect = { serial = "SHOE-0007" }'))
        assert main([str(SCENARIO), "--rig", str(path)]) == Exit.RIG
        written(tmp_path, text)
        (tmp_path / "password").write_text("another\n", encoding="utf-8")
        assert main([str(SCENARIO), "--rig", str(path)]) == Exit.RIG
    finally:
        daemon.stop()
        broker.stop()


def test_an_act_that_is_too_late_is_the_rigs_fault(tmp_path: Path) -> None:
    script = scenario.load(SCENARIO)
    plan, case = of_scenario(script), Case("case", "passed")
    journal = Journal(tmp_path / "ledger", plan.seed)

    class Sluggish(VirtualStage):
        """A rig that needs a second for every pause."""

        def pause(self, ms: int) -> None:
            super().pause(ms + 1000)

    try:
        stage = Sluggish(plan, journal)
        ScenarioRun(script, plan, stage, most_late_ms=1000).step(script.steps[0])
        with pytest.raises(RigError, match=r"step .* began 1000 ms late, clock\.max_act_late_ms = 20"):
            ScenarioRun(script, plan, stage, most_late_ms=20).play(case)
    finally:
        journal.close()
