"""The line that plays a failed case again: pasted, it plays that case alone, and the same comes of it."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from simulators import capture
from simulators.rehearse import main
from simulators.verdict import Exit

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
MISSED = '[[expect]]\nid = "never-comes"\nevent = "deck.changed"\n'
VARIANTS = """
[[variant]]
name = "late"
insert = { after = "raise", steps = [ { do = "pause", ms = 700 } ] }
[[variant]]
name = "stopped"
stop_after = "raise"
final = "none"
expect = [ { event = "deck.changed" } ]
"""
SWEPT = """
[sweep]
gap_ms = [200, 600]
profile = ["rs_holdem", "hr_thp"]
kill_after = "every_step"
"""


def told(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """What a rehearsal has reported of its cases: steps with all that was drawn too, but not how long it took."""
    report = folder / "report.json"
    main([*arguments, "--report", str(report)])
    cases: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["cases"]
    for case in cases:
        del case["ms"]
        case["notes"] = [note for note in case["notes"] if not note.startswith("bundle: ")]
    return cases


def pasted(folder: Path, line: str) -> list[dict[str, Any]]:
    """The same of the line, pasted."""
    command = shlex.split(line)
    assert command[:2] == ["feltsim", "rehearse"]
    return told(folder, *command[2:])


def written(file: Path, more: str = "", *, seed: int = 23, source: str = "whole-hand.toml") -> Path:
    """A hand with a seed of its own, in which something is missed."""
    text = (SCENARIOS / source).read_text(encoding="utf-8")
    assert "seed = 7" in text
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{text.replace('seed = 7', f'seed = {seed}')}\n{MISSED}{more}", encoding="utf-8")
    return file


def same_again(folder: Path, cases: list[dict[str, Any]], outcome: str = "failed") -> None:
    assert cases
    for case in cases:
        assert case["outcome"] == outcome, case["lines"]
        assert pasted(folder, case["again"]) == [case]


@pytest.mark.parametrize("through", [(), ("--through", "virtual")])
def test_variants_and_the_seed_of_the_file(through: tuple[str, ...], tmp_path: Path) -> None:
    written(tmp_path / "hands" / "one.toml", VARIANTS)
    written(tmp_path / "hands" / "two.toml", seed=24)
    cases = told(tmp_path, str(tmp_path / "hands"), *through)
    assert [case["seed"] for case in cases] == [23, 23, 23, 24]
    assert len({json.dumps(case["steps"]) for case in cases}) == 4
    assert all("--seed" not in case["again"] for case in cases)
    same_again(tmp_path, cases)


def test_a_seed_that_was_given_takes_the_place_of_the_files(tmp_path: Path) -> None:
    file = written(tmp_path / "hand.toml")
    (own,) = told(tmp_path, str(file))
    cases = told(tmp_path, str(file), "--seed", "7")
    assert (cases[0]["seed"], own["seed"]) == (7, 23)
    assert cases[0]["steps"] != own["steps"]
    same_again(tmp_path, cases)


@pytest.mark.ci
def test_what_is_swept_over(tmp_path: Path) -> None:
    cases = told(tmp_path, str(written(tmp_path / "hand.toml", SWEPT)), "--through", "virtual")
    assert len(cases) == 8
    assert len({case["again"] for case in cases}) == 8
    same_again(tmp_path, cases)


@pytest.mark.parametrize(
    "how",
    [
        ["--reads", "field"],
        ["--table", "rfid", "--closed-cards", "unread", "--shoe"],
        ["--table", "six"],
        ["--seed", "5", "--faults", "seed=7"],
    ],
)
@pytest.mark.ci
def test_kinds_of_table_and_how_well_they_read(how: list[str], tmp_path: Path) -> None:
    file = written(tmp_path / "hands" / "both.toml", source="both-tables.toml")
    cases = told(tmp_path, str(file.parent), "--through", "virtual", "--limit", "2", *how)
    same_again(tmp_path, cases)


def test_a_night_calls_files_by_where_they_are(tmp_path: Path) -> None:
    """Two files of one name in two folders are two cases, not one that is flaky."""
    written(tmp_path / "a" / "hand.toml")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "hand.toml").write_text((SCENARIOS / "whole-hand.toml").read_text("utf-8"), encoding="utf-8")
    (tmp_path / "night.toml").write_text('schema = 1\ncases = ["a/**", "b/**"]\n', encoding="utf-8")
    failed, passed = told(tmp_path, "--night", str(tmp_path / "night.toml"), "--through", "virtual")
    assert (failed["case"], passed["case"]) == ("a/hand[shoe]", "b/hand[shoe]")
    same_again(tmp_path, [failed])
    same_again(tmp_path, [passed], "passed")


@pytest.mark.needs_shared
@pytest.mark.parametrize(
    "how",
    [
        ["--through", "facts", "--seed", "3"],
        ["--through", "virtual", "--faults", "seed=5"],
        ["--through", "virtual", "--table", "rfid", "--reads", "field", "--faults", "seed=5,rate=0.5"],
    ],
)
@pytest.mark.ci
def test_recorded_hands_in_a_folder_and_alone(how: list[str], shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "phh" / "pluribus"
    some = sorted(folder.rglob("*.phh"))[:2]
    for where in ([str(folder), "--limit", "2"], [str(file) for file in some]):
        for case in told(tmp_path, *where, *how):
            assert pasted(tmp_path, case["again"]) == [case]


@pytest.mark.slow
@pytest.mark.wires
def test_a_capture(tmp_path: Path) -> None:
    file = tmp_path / "hand.pcapng"
    assert capture.main([str(file), "--play", str(SCENARIOS / "whole-hand.toml")]) == Exit.PASSED
    same_again(tmp_path, told(tmp_path, str(file)), "passed")


@pytest.mark.slow
@pytest.mark.wires
def test_over_wires(tmp_path: Path) -> None:
    (case,) = told(tmp_path, str(written(tmp_path / "hand.toml", VARIANTS)), "--through", "wires", "--limit", "1")
    (again,) = pasted(tmp_path, case["again"])
    assert (again["case"], again["lines"], again["seed"]) == (case["case"], case["lines"], 23)
    drawn = [[step.get("drawn") for step in one["steps"]] for one in (case, again)]
    assert drawn[0] == drawn[1]


def test_a_name_that_no_case_has_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "hand.toml", VARIANTS)
    assert main([str(file), "--as", "hand[early][shoe]"]) == Exit.SCRIPT
    assert "hand[late][shoe]" in capsys.readouterr().err
