"""Captures of the real daemon on real wires: replayed, opened by Wireshark, sealed outside test mode, cut by a kill."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from controller.capture import pcapng
from controller.ledger.keys import create_auditor_key, create_device_key, create_signing_key
from simulators.plan import of_scenario
from simulators.playing import ScenarioRun
from simulators.process import feltd
from simulators.scripts import scenario
from simulators.through.wires import WiresStage
from simulators.verdict import Case
from tests.running import Running, write_config

SCENARIOS = Path(__file__).resolve().parent.parent / "rehearsal" / "scenarios"
TSHARK = shutil.which("tshark")


def played(name: str, folder: Path) -> Path:
    """Play a scenario over wires with a capture; the folder with ``ledger`` and ``capture.pcapng``."""
    script = scenario.load(SCENARIOS / f"{name}.toml")
    stage = WiresStage(of_scenario(script), folder, 5)
    case = Case(name, "passed")
    try:
        ScenarioRun(script, stage.plan, stage).play(case)
    finally:
        stage.close()
    assert case.lines == []
    return folder


@pytest.mark.wires
@pytest.mark.parametrize("name", ["whole-hand", "shoe-unplugged", "daemon-killed"])
def test_a_hand_over_wires_is_replayed_exactly(name: str, tmp_path: Path) -> None:
    folder = played(name, tmp_path)
    arguments = ("--capture", str(folder / "capture.pcapng"), "--card-key", str(folder / "ledger.card-key"))
    verified = feltd("verify", str(folder / "ledger"), *arguments)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert f"capture: {2 if name == 'daemon-killed' else 1} runs replayed" in verified.stdout
    assert "fault" not in verified.stdout
    with (folder / "capture.pcapng").open("rb") as file:
        links = Counter(packet.interface.name for packet in pcapng.read(file))
    assert set(links) == {"inputs", "shoe0", "keys0", "tray0"}
    if name == "whole-hand":
        _opens_in_wireshark(folder / "capture.pcapng", sum(links.values()))


def _opens_in_wireshark(path: Path, packets: int) -> None:
    """``make test`` installs tshark, as it does mosquitto."""
    assert TSHARK is not None, "tshark is not installed (Debian: apt-get install tshark)"
    asked = [TSHARK, "-r", str(path), "-T", "fields", "-e", "frame.protocols", "-e", "frame.interface_name"]
    read = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    rows = [line.split("\t") for line in read.stdout.splitlines()]
    assert len(rows) == packets
    found = {name: protocols.split(":")[0] for protocols, name in rows}
    assert found == {"inputs": "user_dlt", "shoe0": "usb", "keys0": "usb", "tray0": "rtacser"}
    torn = path.with_name("torn.pcapng")
    torn.write_bytes(path.read_bytes()[:-9])
    read = subprocess.run(
        [TSHARK, "-r", str(torn), "-T", "fields", "-e", "frame.number"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert len(read.stdout.split()) == packets - 1


@pytest.mark.wires
def test_outside_test_mode_a_capture_is_sealed_to_the_auditor(tmp_path: Path) -> None:
    create_auditor_key(tmp_path / "auditor", tmp_path / "auditor.pub")
    create_device_key(tmp_path / "device")
    create_signing_key(tmp_path / "signing", tmp_path / "signing.pub")
    # Neither broker nor devices are there: the table says so and is ready all the same.
    config = write_config(tmp_path, {"shoe0": ("shoe", "usb://1209:f001/A"), "keys0": ("keypad", "usb://1209:f002/A")})
    keys = '[broker]\nuri = "mqtt://127.0.0.1:1"\n[ledger]\ndevice_key = "device"\nsigning_key = "signing"\n'
    text = config.read_text(encoding="utf-8").replace("test = true\n", "") + keys
    config.write_text(text, encoding="utf-8")
    capture = tmp_path / "table.capture"
    refused = feltd("run", "-c", str(config), "--capture", str(capture))
    assert refused.returncode == 2
    assert "ledger.auditor_public_key" in refused.stderr
    config.write_text(text + 'auditor_public_key = "auditor.pub"\n', encoding="utf-8")
    with Running(config, "--capture", str(capture)) as daemon:
        daemon.do("login", staff="s-01", role="dealer")
        assert daemon.stop() == 0
    assert b"s-01" not in capture.read_bytes()
    ledger = str(tmp_path / "t07.ledger")
    assert "--card-key" in feltd("verify", ledger, "--capture", str(capture)).stderr
    opened = feltd("verify", ledger, "--capture", str(capture), "--card-key", str(tmp_path / "auditor"))
    assert opened.returncode == 0, opened.stdout + opened.stderr
    assert "1 runs replayed" in opened.stdout
