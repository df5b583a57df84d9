"""A recording becomes a scenario that plays by itself to the same end, at both kinds of table."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.capture import words
from controller.capture.reading import Said
from controller.core.inputs import Input
from controller.core.records import Record
from controller.core.setup import Setup
from controller.core.table import Table
from simulators.capture import main
from simulators.errors import ScriptError
from simulators.rehearse import Ask, Found, play
from simulators.rehearse import main as rehearse
from simulators.scripts import scenario
from simulators.scripts.recorded import scenario_of
from simulators.scripts.variants import Pick
from simulators.verdict import Exit

HERE = Path(__file__).parent / "scenarios"


def recorded(monkeypatch: pytest.MonkeyPatch, file: str, pick: Pick) -> Iterator[Said]:
    """All that enters the core while a scenario is played, as a capture tells it."""
    said: list[dict[str, Any]] = []
    setups: list[Setup] = []
    tables: list[Table] = []
    feed = Table.feed

    def heard(table: Table, what: Input) -> list[Record]:
        tables.append(table)
        if table is tables[0]:  # a scenario that seals cards is played a second time
            setups.append(table.setup)
            said.append(json.loads(words.input_line(what)))
        return feed(table, what)

    with monkeypatch.context() as patch:
        patch.setattr(Table, "feed", heard)
        case = play(Found(HERE / file, "original", pick), Ask("virtual"))
    assert case.outcome == "passed", case.lines
    origin = {"run": "r1", "origin": {"setup": json.loads(json.dumps(words.plain(setups[0]))), "row": 0, "devices": []}}
    return (Said(0, line) for line in (origin, *said))


@pytest.mark.parametrize(
    ("file", "table"),
    [
        ("whole-hand.toml", "shoe"),
        ("side-pot.toml", "shoe"),
        ("both-tables.toml", "rfid"),
        ("shoe-unplugged.toml", "shoe"),
    ],
)
def test_a_recording_plays_again_to_the_same_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, table: Any
) -> None:
    text = scenario_of(recorded(monkeypatch, file, Pick("", table)), tmp_path / "again.pcapng")
    expected = scenario.load(HERE / file, Pick("", table))
    wanted = expected.final.stacks
    assert wanted or file == "shoe-unplugged.toml"
    own = [line for line in text.splitlines() if line.startswith("# was seen")]
    final = "".join(f"{seat} = {stack}\n" for seat, stack in wanted.items())
    path = tmp_path / "again.toml"
    path.write_text(f"{text}\n[final]\nconserved = true\n[final.stacks]\n{final}", encoding="utf-8")
    case = play(Found(path, "again", Pick("", table)), Ask("virtual"))
    unexpected = [line for line in case.lines if not line.startswith("unexpected ")]
    assert unexpected == []
    assert bool(case.lines) == bool(own), (case.lines, own)
    assert case.hands == 1


def test_what_was_noted_is_left_to_the_author(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = scenario_of(recorded(monkeypatch, "both-tables.toml", Pick("", "rfid")), tmp_path / "again.pcapng")
    assert "# was seen, and has to be expected: breach.noted, CM-16\n" in text
    assert "{ 500 = 1 }" in text
    assert 'from = "seat:3"\nto = "muck"\ncount = 2' in text


def test_unplugging_is_an_act(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = scenario_of(recorded(monkeypatch, "shoe-unplugged.toml", Pick("", "shoe")), tmp_path / "again.pcapng")
    assert 'do = "device.unplug"\ndevice = "shoe0"' in text
    assert 'do = "device.plug"\ndevice = "shoe0"' in text


def test_boxes_and_captures_without_a_table_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="holds no run"):
        scenario_of([], tmp_path / "none.pcapng")
    said = recorded(monkeypatch, "ultimate-dark-box.toml", Pick("", "shoe"))
    with pytest.raises(ScriptError, match="only poker"):
        scenario_of(said, tmp_path / "boxes.pcapng")


@pytest.mark.slow
@pytest.mark.wires
def test_a_capture_of_wires_becomes_a_scenario_that_passes(tmp_path: Path) -> None:
    capture, script = tmp_path / "hand.pcapng", tmp_path / "hand.toml"
    assert main([str(capture), "--play", str(HERE / "whole-hand.toml")]) == Exit.PASSED
    assert main([str(capture), "--as-scenario", str(script)]) == Exit.PASSED
    assert main([str(capture), "--as-scenario", str(script)]) == Exit.SCRIPT, "an existing file is not overwritten"
    case = play(Found(script, "again", Pick("", "shoe")), Ask("virtual"))
    assert case.outcome == "passed", case.lines
    (tmp_path / "nightly.toml").write_text('schema = 1\ncases = ["*.pcapng"]\n', encoding="utf-8")
    assert rehearse(["--night", str(tmp_path / "nightly.toml")]) == Exit.PASSED


@pytest.mark.parametrize(("file", "table"), [("both-tables.toml", "rfid"), ("shoe-unplugged.toml", "shoe")])
def test_a_recording_is_a_case_and_expects_what_the_table_told_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, table: Any
) -> None:
    said = recorded(monkeypatch, file, Pick("", table))
    path = tmp_path / "again.toml"
    path.write_text(scenario_of(said, tmp_path / "again.pcapng", expects=True), encoding="utf-8")
    script = scenario.load(path)
    assert {"hand.closed"} < {one.event for one in script.expects}
    case = play(Found(path, "again"), Ask("virtual"))
    assert (case.outcome, case.lines) == ("passed", [])
    other = re.sub(r"net = -?\d+", "net = 7", path.read_text(encoding="utf-8"), count=1)
    path.write_text(other, encoding="utf-8")
    assert play(Found(path, "again"), Ask("virtual")).outcome == "failed"


def test_a_capture_that_is_none_is_wrong_as_a_case(tmp_path: Path) -> None:
    path = tmp_path / "night.pcapng"
    path.write_bytes(b"no capture at all")
    assert play(Found(path, "night"), Ask("virtual")).outcome == "wrong"


def test_a_recording_plays_where_nobody_said_through_what(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It presses keys: without a word it is played on virtual devices, and not passed over."""
    script = tmp_path / "back.toml"
    said = recorded(monkeypatch, "whole-hand.toml", Pick("", "shoe"))
    script.write_text(scenario_of(said, tmp_path / "back.pcapng"), encoding="utf-8")
    assert rehearse([str(script), "--report", str(tmp_path / "report.json")]) == Exit.PASSED
    (case,) = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["cases"]
    assert case["outcome"] == "passed"
    assert "--through virtual" in case["again"]
    assert rehearse([str(script), "--through", "facts"]) == Exit.NOTHING
