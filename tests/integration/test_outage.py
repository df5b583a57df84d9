"""A broker that is away for fifty thousand records: all arrive, in order, and memory stays flat."""

from pathlib import Path

import pytest

from benchmarks.drain import drain
from simulators.broker import mosquitto_program

pytestmark = [
    pytest.mark.wires,
    pytest.mark.skipif(mosquitto_program() is None, reason="mosquitto is not installed"),
]
SLACK_MB = 16
"""What interpreter and SQLite settle on differs from run to run; a backlog of this size in memory would be more."""


@pytest.mark.parametrize("rows", [3_000, pytest.param(50_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_a_long_outage(tmp_path: Path, rows: int) -> None:
    figures = drain(tmp_path, rows)
    assert figures["heard"] == rows
    assert figures["disorder"] == 0
    assert figures["most_mb"] < figures["before_mb"] + SLACK_MB
