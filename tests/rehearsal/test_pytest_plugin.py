"""The fixtures that others write their tests with, in a pytest of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.running import ROOT

OTHERS = """
import pytest

DEAL = {"do": "cards.deal", "seats": [2, 3, 1], "each": 2, "pattern": "one_by_one"}


@pytest.mark.table("whole-hand.toml")
def test_a_hand_step_by_step(play, seen, never):
    play(DEAL)
    assert seen("hand.started", number=1).data["button"] == 1
    play({"id": "raise", "do": "declare", "seat": 1, "kind": "raise", "number": 3000})
    seen("action.taken", seat=1, kind="raise", to=3000)
    play({"do": "card.move", "from": "seat:2", "to": "muck"}, {"do": "card.move", "from": "seat:3", "to": "muck"})
    seen("award.computed")
    never("incident.opened")
    play({"do": "cards.collect"})
    seen("hand.closed")


@pytest.mark.table("whole-hand.toml")
def test_what_does_not_come(play, seen):
    play(DEAL)
    seen("deck.changed")


@pytest.mark.table("whole-hand.toml")
def test_what_must_not_come(play, never):
    play(DEAL)
    never("hand.started")


@pytest.mark.table("whole-hand.toml")
def test_a_daemon_of_its_own(daemon):
    assert daemon.running


def test_no_table(play):
    pass
"""


def test_a_test_of_others_plays_sees_and_fails_where_it_should(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests/rehearsal/scenarios/whole-hand.toml", tmp_path)
    (tmp_path / "test_others.py").write_text(OTHERS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "simulators.pytest_plugin", "-p", "no:cacheprovider"]
    ran = subprocess.run([*command, "."], capture_output=True, text=True, check=False, timeout=110, cwd=tmp_path)
    told = ran.stdout
    assert "PASSED test_others.py::test_a_hand_step_by_step" in told, told + ran.stderr
    assert "never seen: deck.changed" in told
    assert "must never be seen, and was: hand.started" in told
    assert "SKIPPED" in told
    assert "say which table" in told
