"""Captures of the real daemon on real wires: replayed, opened by Wireshark, cut by a kill, played again."""

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from controller.capture import pcapng, wire
from controller.ledger.reading import read_records
from drivers.readings import KeyPressed, KeyReleased, Reading
from drivers.supervisor import Supervisor
from simulators.hardware.keypad import Keypad
from simulators.plan import of_scenario
from simulators.playing import ScenarioRun
from simulators.process import feltd
from simulators.scripts import scenario
from simulators.through.wires import WiresStage
from simulators.verdict import Case
from tests.running import ROOT
from tests.waiting import wait_until

SCENARIOS = Path(__file__).resolve().parent.parent / "rehearsal" / "scenarios"
TSHARK = shutil.which("tshark")
SPEED = 10
"""The scenarios' own clock."""


def feltsim(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simulators.cli", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT, stdin=subprocess.DEVNULL
    )


def played(name: str, folder: Path) -> Path:
    """Play a scenario over wires with a capture; the folder with ``ledger`` and ``capture.pcapng``."""
    script = scenario.load(SCENARIOS / f"{name}.toml")
    stage = WiresStage(of_scenario(script), folder, SPEED)
    case = Case(name, "passed")
    try:
        ScenarioRun(script, stage.plan, stage).play(case)
    finally:
        stage.close()
    assert case.lines == []
    return folder


def _replayed_exactly(folder: Path, runs: int = 1) -> int:
    """``feltd verify`` finds what the capture leads to in the ledger; how many packets there are."""
    arguments = ("--capture", str(folder / "capture.pcapng"), "--card-key", str(folder / "ledger.card-key"))
    verified = feltd("verify", str(folder / "ledger"), *arguments)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert f"capture: {runs} runs replayed" in verified.stdout
    assert "fault" not in verified.stdout
    with (folder / "capture.pcapng").open("rb") as file:
        links = Counter(packet.interface.name for packet in pcapng.read(file))
    assert set(links) == {"inputs", "shoe0", "keys0", "tray0"}
    return sum(links.values())


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
@pytest.mark.timeout(180)
@pytest.mark.ci
def test_a_hand_over_wires_is_replayed_exactly_opened_and_played_again_byte_for_byte(tmp_path: Path) -> None:
    folder = played("whole-hand", tmp_path)
    packets = _replayed_exactly(folder)
    _opens_in_wireshark(folder / "capture.pcapng", packets)
    _played_into_a_daemon(folder)


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.parametrize(("name", "runs"), [("shoe-unplugged", 1), ("daemon-killed", 2)])
def test_a_hand_over_wires_with_an_accident_is_replayed_exactly(name: str, runs: int, tmp_path: Path) -> None:
    """Quick siblings: the whole hand above, and the same accident without a capture in test_scenarios.py."""
    folder = played(name, tmp_path)
    _replayed_exactly(folder, runs)
    if runs > 1:
        _played_into_a_daemon(folder)


def _played_into_a_daemon(folder: Path) -> None:
    again = folder / "again"
    arguments = [
        str(folder / "capture.pcapng"),
        "-c",
        str(folder / "table.toml"),
        "--speed",
        str(SPEED),
        "--ledger",
        str(again),
    ]
    ran = feltsim("replay", *arguments)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "8 commands, 0 refused" in ran.stdout

    def told(path: Path) -> list[tuple[object, ...]]:
        """What happened on the felt, without times, ids and hashes."""
        names = ("seat", "amount", "kind", "to", "card", "street", "cards", "result")
        records = [
            record for record in read_records(path) if record.stream == "play" and record.type != "ledger.signed"
        ]
        return [(record.type, *(record.data.get(name) for name in names)) for record in records]

    assert told(again) == told(folder / "ledger")
    shown = feltsim("capture", str(folder / "capture.pcapng"))
    assert "shoe0: shoe at usbip://" in shown.stdout
    assert "14 x CardSeen" in shown.stdout


@pytest.mark.wires
def test_a_capture_that_usbmon_made_of_a_real_keypad_is_played_too(tmp_path: Path) -> None:
    keypad, at = Keypad(), 1_796_040_000 * 10**9
    keypad.tap("CHECK", "4", "ENTER")
    reports = keypad.poll(0)
    file = tmp_path / "usbmon.pcapng"
    blocks = [pcapng.section("dumpcap"), pcapng.interface("usbmon1", wire.USB)]
    for number, report in enumerate(reports):
        packet = wire.wrap(wire.USB, 7, at, report, inward=True)
        blocks.append(pcapng.packet(0, at + number * 20_000_000, packet))
    file.write_bytes(b"".join(blocks))
    command = [sys.executable, "-m", "simulators.cli", "replay", str(file), "--device", "keys0=1-7:keypad"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        uri = json.loads(process.stdout.readline())["devices"]["keys0"]
        readings: list[Reading] = []

        def emit(reading: Reading) -> bool:
            readings.append(reading)
            return True

        supervisor = Supervisor("keys0", uri, "keypad", emit=emit, clock=time.monotonic_ns, test_mode=True)
        supervisor.start()
        try:
            wait_until(supervisor.up, 20, "the keypad")
            process.stdin.write(b"begin\n")
            process.stdin.flush()
            wait_until(lambda: len([r for r in readings if isinstance(r, KeyReleased)]) == 3, 20, "three keys")
        finally:
            supervisor.stop()
            process.stdin.close()
    assert [r.key for r in readings if isinstance(r, KeyPressed)] == ["CHECK", "4", "ENTER"]


def test_what_cannot_be_replayed_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "no.pcapng").write_bytes(b"GIF89a" + bytes(40))
    ran = feltsim("replay", str(tmp_path / "no.pcapng"))
    assert ran.returncode == 2
    assert "no pcapng" in ran.stderr
    file = tmp_path / "bare.pcapng"
    file.write_bytes(pcapng.section("t") + pcapng.interface("usbmon1", wire.USB))
    assert "--device" in feltsim("replay", str(file)).stderr
