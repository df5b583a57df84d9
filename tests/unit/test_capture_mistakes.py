"""``feltsim capture``: an argument that cannot be used is one line and code 2; nothing that is there is overwritten."""

from pathlib import Path

import pytest

from controller.ledger.keys import create_auditor_key
from simulators import capture
from simulators.verdict import Exit
from tests.unit.test_capture import Taped

SCENARIO = Path(__file__).resolve().parent.parent / "rehearsal" / "scenarios" / "whole-hand.toml"
CASES = [
    ("sealed --open there --card-key auditor", "--open = "),
    ("sealed --open no/x --card-key auditor", "--open = "),
    ("sealed --open new", "--card-key"),
    ("sealed --open new --card-key nokey", "card key"),
    ("sealed --open new --card-key there", "card key"),
    ("sealed --open new --card-key other", "another key"),
    ("plain --open new --card-key auditor", "is not sealed"),
    ("plain --as-scenario there", "--as-scenario = "),
    ("plain --as-scenario no/x", "--as-scenario = "),
    ("plain --as-scenario .", "--as-scenario = "),
    ("sealed --card-key nokey", "card key"),
    ("sealed", "--card-key"),
    ("none", "no such file"),
    (".", "no such file"),
    ("no/x --play {}", "no such folder"),
    ("there --play {}", "no pcapng file"),
    (". --play {}", "no pcapng file"),
    ("new --play none", "give a readable file"),
]


@pytest.mark.parametrize(("arguments", "says"), CASES)
def test_it_is_one_line_and_nothing_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: str, says: str
) -> None:
    for name in ("plain", "sealed"):
        (tmp_path / f"of-{name}").mkdir()
        taped = Taped(tmp_path / f"of-{name}", auditor=name == "sealed")
        taped.play()
        taped.end()
        taped.capture.rename(tmp_path / name)
    (tmp_path / "of-sealed" / "auditor").rename(tmp_path / "auditor")
    create_auditor_key(tmp_path / "other", tmp_path / "other.pub")
    (tmp_path / "there").write_text("mine")
    monkeypatch.chdir(tmp_path)
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()}
    assert capture.main([str(SCENARIO) if one == "{}" else one for one in arguments.split()]) == Exit.SCRIPT
    said = capsys.readouterr()
    assert not said.out
    assert said.err.count("\n") == 1, said.err
    assert says in said.err
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()} == before
