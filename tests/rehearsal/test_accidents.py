"""Accidents as steps: links that are deaf, slow or noisy, and a clock that is set."""

from pathlib import Path

import pytest

from simulators.errors import ScriptError
from simulators.rehearse import Ask, Found, play
from simulators.scripts import scenario
from simulators.scripts.acts import DeviceAct
from simulators.verdict import Case

HAND = (Path(__file__).parent / "scenarios" / "whole-hand.toml").read_text(encoding="utf-8")


def with_step(tmp_path: Path, step: str) -> Path:
    path = tmp_path / "case.toml"
    path.write_text(HAND.replace('[[step]]\nid = "raise"', f'[[step]]\n{step}\n\n[[step]]\nid = "raise"', 1))
    return path


def played(tmp_path: Path, step: str) -> Case:
    return play(Found(with_step(tmp_path, step), "case"), Ask("virtual"))


@pytest.mark.parametrize(
    ("step", "acts"),
    [
        ('do = "device.deaf"\ndevice = "tray0"\nms = 400', [("fault", {"kind": "deaf", "ms": 400})]),
        ('do = "device.slow"\ndevice = "shoe0"\nms = 3000', [("fault", {"kind": "slow", "ms": 3000})]),
        (
            'do = "link.noise"\ndevice = "shoe0"\nms = 2000\nrate = 60\nkinds = ["split", "glue"]',
            [
                ("fault", {"kind": "split", "ms": 2000, "rate": 0.6, "seed": 7}),
                ("fault", {"kind": "glue", "ms": 2000, "rate": 0.6, "seed": 8}),
            ],
        ),
        ('do = "clock.step"\nms = -90000', [("clock", {"ms": -90000})]),
    ],
)
def test_an_accident_costs_nothing_that_the_protocols_make_good(
    tmp_path: Path, step: str, acts: list[tuple[str, dict[str, object]]]
) -> None:
    case = played(tmp_path, step)
    assert case.outcome == "passed", case.lines
    assert case.faulted
    steps = scenario.load(tmp_path / "case.toml").steps
    found = [(act.what, dict(act.args)) for one in steps for act in one.acts if isinstance(act, DeviceAct)]
    assert found == acts


@pytest.mark.parametrize(
    ("step", "remedy"),
    [
        ('do = "link.noise"\ndevice = "shoe0"\nkinds = ["hum"]', "a link knows drop"),
        ('do = "link.noise"\ndevice = "shoe0"\nkinds = ["drop"]\nrate = 300', "in percent"),
        ('do = "device.deaf"\ndevice = "cards0"', "shoe0"),
        ('do = "clock.step"\nms = 0', "negative for backwards"),
    ],
)
def test_what_is_wrong_with_an_accident_is_refused(tmp_path: Path, step: str, remedy: str) -> None:
    with pytest.raises(ScriptError, match=remedy):
        scenario.load(with_step(tmp_path, step))


@pytest.mark.wires
def test_the_clock_of_the_machine_is_not_set_over_wires(tmp_path: Path) -> None:
    path = with_step(tmp_path, 'do = "clock.step"\nms = 5000')
    case = play(Found(path, "case"), Ask("wires"))
    assert (case.outcome, case.lines[0].split(":")[0]) == ("skipped", "clock.step")
