"""A plug that is pulled again and again: a few times in the quick tests, a thousand times in the slow ones."""

import sys
from pathlib import Path

import pytest

from tests.soak.replug import KINDS, MOST_KB, replug, replug_table

pytestmark = [pytest.mark.wires, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("cycles", [12, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_plug_that_is_pulled_again_and_again_leaks_nothing(tmp_path: Path, kind: str, cycles: int) -> None:
    figures = replug(tmp_path, kind, cycles)
    sys.stdout.write(f"{figures}\n")
    assert (figures.threads, figures.files) == (0, 0)
    assert figures.attempts > cycles
    if cycles >= 1000:  # over a few cycles the interpreter's own first needs are larger than any leak
        assert figures.memory_kb <= MOST_KB[0]


@pytest.mark.parametrize("cycles", [12, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_daemon_whose_plugs_are_pulled_again_and_again_keeps_nothing(tmp_path: Path, cycles: int) -> None:
    figures = replug_table(tmp_path, cycles)
    sys.stdout.write(f"{figures}\n")
    assert (figures.threads, figures.files) == (0, 0)
    if cycles >= 1000:
        assert figures.memory_kb <= MOST_KB[1]
