"""``feltsim capture`` on files that are not as they were written: empty, cut in the middle, torn at their end."""

from pathlib import Path

import pytest

from simulators import capture
from simulators.verdict import Exit
from tests.unit.test_capture import Taped


def taken(folder: Path, *, sealed: bool) -> tuple[Path, list[str]]:
    """A capture of a short run and the command that reads it."""
    taped = Taped(folder, auditor=sealed)
    taped.play()
    taped.end()
    return taped.capture, [str(taped.capture), *(["--card-key", str(folder / "auditor")] if sealed else [])]


@pytest.mark.parametrize("sealed", [False, True])
def test_a_cut_capture_is_read_and_said_to_be_cut(
    tmp_path: Path, sealed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path, command = taken(tmp_path, sealed=sealed)
    whole = path.read_bytes()
    assert capture.main(command) == Exit.PASSED
    told = capsys.readouterr()
    assert not told.err
    for length in (len(whole) // 2 + 1, len(whole) // 2 + 2, len(whole) - 3, 3):
        path.write_bytes(whole[:length])
        assert capture.main(command) == capture.CUT
        said = capsys.readouterr()
        assert "is cut" in said.err
        assert "inputs:" in said.out
    assert capture.CUT not in [code for code in Exit if code is not Exit.PARTLY]


def test_an_empty_capture_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.pcapng"
    path.touch()
    for more in ([], ["--as-scenario", str(tmp_path / "s.toml")], ["--open", str(tmp_path / "plain")]):
        assert capture.main([str(path), *more]) == Exit.SCRIPT
        said = capsys.readouterr()
        assert "is empty" in said.err
        assert not said.out
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_written_from_a_cut_capture_says_so_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, command = taken(tmp_path, sealed=True)
    path.write_bytes(path.read_bytes()[:-3])
    assert capture.main([*command, "--open", str(tmp_path / "plain.pcapng")]) == capture.CUT
    assert "is cut" in capsys.readouterr().err
    assert capture.main([str(tmp_path / "plain.pcapng")]) == Exit.PASSED
