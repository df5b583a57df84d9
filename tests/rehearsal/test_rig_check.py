"""A rig that does not fit its table, or is not ready, is told at once; a recorded hand is no scenario."""

import json
import re
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from simulators import config, expand, fitting, rehearse, runnable
from simulators import rig as rigs
from simulators.broker import free_port
from simulators.cases import Ask, Found, play
from simulators.plan import of_scenario
from simulators.reach import Here
from simulators.scripts import scenario
from simulators.through.rigged import Bench
from simulators.verdict import Exit
from tests.running import CHIPS as EXAMPLE
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


CHIPS = """\
id = "try"
[[denominations]]
id = "five"
value = 500
[[denominations]]
id = "ten"
value = 1000
"""
SMALL = '[[denominations]]\nid = "one"\nvalue = 100'
TRAY = '[devices.tray0]\nas = "feig"\nport = "tcp::10001"\n'


def table(folder: Path) -> Path:
    """A table on which the scenario can be played."""
    (folder / "chips.toml").write_text(CHIPS, encoding="utf-8")
    path = write_config(folder, DEVICES)
    text = path.read_text(encoding="utf-8").replace(str(EXAMPLE), "chips.toml")
    text = text.replace("small_blind = 100\nbig_blind = 200", "small_blind = 1000\nbig_blind = 2000")
    path.write_text(text, encoding="utf-8")
    return path


def check(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    table(folder)
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


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("table.toml", "seats = 6", "seats = 2", r"seats = 2: .* at place 3: give it 3 or more"),
        ("table.toml", "rs_holdem", "rs_omaha", r"profile = 'rs_omaha': .* run\.profile = 'rs_holdem': write"),
        ("table.toml", "[limits]", "[override]\nshow_all = true\n[limits]", r"override \(show_all\) = True: .* False"),
        ("table.toml", "test = true", 'test = true\nclosed_cards = "unread"', r"closed_cards = 'unread': .*'read'"),
        ("table.toml", "devices.tray0", "devices.trey0", r"devices\.tray0 = None: .*did you mean 'trey0'"),
        ("table.toml", '{ "0" = "tray" }', '{ "0" = "pot" }', r'tray0\.channels\."0" = None: .* has tray there'),
        ("chips.toml", "value = 1000", "value = 2000", r"chips\.file = \[500, 2000\]: .* of 500, 1000: add 1000"),
        ("chips.toml", 'id = "try"', f'id = "try"\n{SMALL}', r"smallest chip, 500.*: leave 100 out"),
        ("rig.toml", TRAY, "", r"devices\.tray0 = None: .* needs it: add"),
    ],
)
def test_a_table_that_does_not_fit_the_scenario_is_refused_before_anything_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, says: str
) -> None:
    """By ``feltsim check``, and by the rehearsal before the daemon is started."""
    table(tmp_path)
    path = tmp_path / "rig.toml"
    path.write_text(RIG.replace("usb:1-3", "usb:1-2") if file == path.name else RIG, encoding="utf-8")
    changed = tmp_path / file
    text = changed.read_text(encoding="utf-8")
    assert old in text
    changed.write_text(text.replace(old, new), encoding="utf-8")
    rig = rigs.read(path)
    script = scenario.load(SCENARIO)
    assert any(re.search(says, str(fault)) for fault in fitting.unfit(SCENARIO, of_scenario(script), rig))
    assert runnable.main([str(SCENARIO), "--rig", str(path)]) == Exit.SCRIPT
    with closing(Here()) as reach:
        case = play(Found(SCENARIO, "hand"), Ask("wires", rig=(rig, Bench(None, reach))))
    assert (case.outcome, len(case.lines)) == ("wrong", 1)
    assert re.search(says, case.lines[0])
    assert not list(tmp_path.glob("*.ledger"))


@pytest.mark.parametrize("name", ["both-tables", "ultimate-dark-box"])
def test_at_a_table_of_antennas_channels_chips_and_cards_are_the_rigs(tmp_path: Path, name: str) -> None:
    path = SCENARIO.with_name(f"{name}.toml")
    pick = next(pick for pick in scenario.cases(path) if pick.table == "rfid")
    plan = of_scenario(scenario.load(path, pick))
    uris = {one.name: f"serial://{tmp_path}/{one.name}" for one in plan.layout.devices}
    uris["keys0"] = "usbip://127.0.0.1:1/1-1"
    config.write(plan, tmp_path, uris, "mqtt://127.0.0.1:1883", "5", tmp_path / "ledger")
    text = '[dut]\nconfig = "table.toml"\nbroker = "mqtt://127.0.0.1:1883"\nstart = "exec:feltd run"\n'
    for number, one in enumerate(plan.layout.devices, 1):
        port = f"usb:1-{number}" if one.driver == "keypad" else f"pty:{one.name}"
        text += f'[devices.{one.name}]\nas = "{one.driver}"\nport = "{port}"\n'
    (tmp_path / "rig.toml").write_text(f'schema = 1\nkind = "wire"\n{text}', encoding="utf-8")
    rig = rigs.read(tmp_path / "rig.toml")
    assert [str(fault) for fault in (*rigs.unsound(rig), *fitting.unfit(path, plan, rig))] == []
    low, high = f",c{plan.stakes.unit}\n", f",c{max(plan.stakes.chips)}\n"
    for file, swapped, field in (("deck.csv", (",As", ",Ks"), "deck.file"), ("chips.csv", (low, high), "chips.tags")):
        changed = tmp_path / file
        before = changed.read_text(encoding="utf-8")
        assert all(word in before for word in swapped)
        text = before.replace(swapped[0], "?").replace(swapped[1], swapped[0]).replace("?", swapped[1])
        changed.write_text(text, encoding="utf-8")
        assert [fault.field for fault in fitting.unfit(path, plan, rig)] == [field]
        changed.write_text(before, encoding="utf-8")


def test_a_table_of_another_machine_is_held_to_what_its_own_file_says(tmp_path: Path) -> None:
    path = table(tmp_path)
    text = path.read_text(encoding="utf-8").replace("seats = 6", "seats = 2").replace("chips.toml", "/none/chips.toml")
    path.write_text(text, encoding="utf-8")
    path = tmp_path / "rig.toml"
    path.write_text(RIG.replace('start = "exec:feltd run"', 'reach = "ssh://dut"'), encoding="utf-8")
    faults = list(fitting.unfit(SCENARIO, of_scenario(scenario.load(SCENARIO)), rigs.read(path)))
    assert [fault.field for fault in faults] == ["seats"]


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
    table(tmp_path)
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
