"""A rig that does not fit its table, or is not ready, is told at once; a recorded hand is no scenario."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from simulators import expand, rehearse, runnable
from simulators.broker import free_port
from simulators.verdict import Exit
from tests.running import write_config

SCENARIO = Path(__file__).parent / "scenarios" / "whole-hand.toml"
RIG = """\
schema = 1
kind = "wire"
[dut]
start = "exec:feltd run"
config = "table.toml"
broker = "mqtt://127.0.0.1:1883"
[devices.shoe0]
as = "shoe"
port = "usb:1-1"
[devices.tray0]
as = "feig"
port = "tcp::10001"
[devices.keys0]
as = "keypad"
port = "usb:1-3"
"""
DEVICES = {
    "shoe0": ("shoe", "usb://1209:F001"),
    "tray0": ("feig", "tcp://127.0.0.1:10001"),
    "keys0": ("keypad", "usb://1209:F002"),
}


def check(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    write_config(folder, DEVICES)
    path = folder / "rig.toml"
    path.write_text(text, encoding="utf-8")
    code = runnable.main([str(SCENARIO), "--rig", str(path)])
    return code, capsys.readouterr().err


def test_a_rig_that_fits_is_sound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(tmp_path, RIG, capsys) == (Exit.PASSED, "")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("usb:1-3", "usb:1-9x", "usb:1-3"),
        ("usb:1-3", "usb:1-2", "usb:1-3"),
        ("tcp::10001", "tcp:127.0.0.1:99999", "tcp:HOST:PORT"),
        ("devices.tray0", "devices.trey0", "did you mean 'tray0'"),
        ('as = "feig"', 'as = "fieg"', "did you mean 'feig'"),
        ('as = "feig"', 'as = "mercury"', "has the driver feig there"),
        ('config = "table.toml"', 'config = "nope.toml"', "nope.toml"),
    ],
)
def test_a_rig_that_does_not_fit_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, says: str
) -> None:
    code, said = check(tmp_path, RIG.replace(old, new), capsys)
    assert code == Exit.SCRIPT
    assert says in said
    assert "rig.toml" in said


def test_a_recorded_hand_is_said_to_be_for_rehearse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hand.phh"
    path.write_text("variant = 'NT'\n", encoding="utf-8")
    for command in (expand.main, runnable.main):
        assert command([str(path)]) == Exit.SCRIPT
        assert "feltsim rehearse" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "code", "says"),
    [
        ("", "", Exit.RIG, "cannot reach its broker"),
        ("usb:1-3", "usb:1-9", Exit.SCRIPT, "devices.keys0.port"),
        ('config = "table.toml"', 'config = "none.toml"', Exit.SCRIPT, "none.toml"),
    ],
)
def test_a_rig_that_is_not_ready_is_in_every_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, code: Exit, says: str
) -> None:
    """A service that reads only the reports must not take an evening without a rig for one without a fault."""
    write_config(tmp_path, DEVICES)
    path = tmp_path / "rig.toml"
    path.write_text(RIG.replace(":1883", f":{free_port()}").replace(old, new), encoding="utf-8")
    where = [tmp_path / "out.xml", tmp_path / "report.json"]
    wanted = ["--rig", str(path), "--json", "--junit", str(where[0]), "--report", str(where[1])]
    assert rehearse.main([str(SCENARIO), *wanted]) == code
    said = capsys.readouterr()
    assert says in said.err
    suite = ET.parse(where[0]).getroot().find("testsuite")
    assert suite is not None
    error = suite.find("testcase/error")
    assert error is not None
    assert says in error.get("message", "")
    assert suite.get("errors") == "1"
    for document in (json.loads(said.out), json.loads(where[1].read_text(encoding="utf-8"))):
        assert (document["exit"], document["cases"], document["broken_off"]["played"]) == (code, [], 0)
        assert says in document["broken_off"]["why"]
