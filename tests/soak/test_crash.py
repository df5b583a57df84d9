"""A hundred kills at random moments; ``make soak`` makes a thousand."""

import sys
import time
from pathlib import Path

import pytest

from simulators.broker import mosquitto_program
from tests.soak.crash import crash

pytestmark = [
    pytest.mark.wires,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(mosquitto_program() is None, reason="mosquitto is not installed"),
]
LONGEST_S = 360


def test_a_table_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    figures = crash(tmp_path, kills=100, seed=7, until=time.monotonic() + LONGEST_S)
    sys.stdout.write(f"{figures}\n")
    assert figures.wrong == []
    assert figures.kills > 5
