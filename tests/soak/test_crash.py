"""Kills at random moments: a few here on every change, a hundred more in CI, a thousand with ``make soak``."""

import sys
from pathlib import Path

import pytest

from simulators.broker import mosquitto_program
from tests.soak.crash import crash

pytestmark = [
    pytest.mark.wires,
    pytest.mark.timeout(900),
    pytest.mark.skipif(mosquitto_program() is None, reason="mosquitto is not installed"),
]


@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.ci
def test_a_table_that_is_killed_again_and_again_loses_nothing(tmp_path: Path, kills: int) -> None:
    figures = crash(tmp_path, kills=kills, seed=7)
    sys.stdout.write(f"{figures}\n")
    assert figures.wrong == []
    assert figures.kills == kills
    assert figures.replayed_by_pokerkit == figures.hands
