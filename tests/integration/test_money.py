"""Money with the real process: words of the command line, a kill in the middle, the same sums afterwards."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from controller.ledger.verify import verify
from tests.running import ROOT, Running, write_config


def feltd(running: Running, *words: str, code: int = 0) -> str:
    """One command of the command line at this table."""
    asked = [sys.executable, "-m", "controller.cli", *words, "--socket", str(running.socket)]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def all_of(running: Running, *words: Sequence[str]) -> None:
    for one in words:
        feltd(running, *one)


@pytest.mark.ci
def test_slips_boxes_and_meters_survive_a_kill(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    with Running(config) as running:
        all_of(
            running,
            ("login", "s-11", "dealer"),
            ("login", "s-12", "chief_inspector"),
            ("count", "open", "--lines", "100=100", "500=20", "--with", "s-11", "--by", "s-12"),
            ("open", "--by", "s-12"),
            ("seat", "1", "--by", "s-12"),
            ("buyin", "1", "5000", "--by", "s-11"),
            ("fill", "500=10", "--by", "s-12"),
        )
        assert "slip t07-s00001: fill of 5000 is open" in feltd(running, "status")
        assert "signed by two" in feltd(running, "slip", "complete", "--by", "s-12", code=1)
        running.kill()
    capture = tmp_path / "capture.pcapng"
    with Running(config, "--capture", str(capture)) as running:
        all_of(
            running,
            ("slip", "complete", "--by", "s-12", "--with", "s-11"),
            ("credit", "100=50", "--by", "s-12"),
        )
        assert "name an open slip: t07-s00002" in feltd(running, "slip", "complete", "9", "--by", "s-12", code=2)
        all_of(
            running,
            ("slip", "cancel", "--by", "s-12", "--reason", "not needed"),
            ("collect", "drop", "--counted", "5000", "--by", "s-12", "--with", "s-11"),
        )
        told = feltd(running, "meters", "--by", "s-12")
        for line in ("drop       5000", "opener     20000", "fills      5000", "closer     not counted"):
            assert line in told
        feltd(running, "close", "--lines", "100=50", "500=30", "--with", "s-11", "--by", "s-12")
        records = running.records()
        assert running.stop() == 0
    asked = [record.data["number"] for record in records if record.type == "slip.requested"]
    assert asked == [1, 2]
    read = [record.data for record in records if record.type == "meter.read"]
    assert [one["reason"] for one in read if one["reason"] != "hour"] == ["request", "close"]
    last = read[-1]
    assert last["drop"] + last["closer"] + last["credits"] - last["opener"] - last["fills"] == 0
    assert int(last["through"]["cash"]) > int(read[0]["through"]["cash"])
    assert verify(running.ledger).ok
    replay = [sys.executable, "-m", "controller.cli", "verify", str(running.ledger), "--capture", str(capture)]
    done = subprocess.run(replay, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 runs replayed" in done.stdout


def test_nothing_is_put_right_in_a_hand_that_is_not_on_record(tmp_path: Path) -> None:
    with Running(write_config(tmp_path)) as running:
        all_of(
            running,
            ("login", "s-11", "dealer"),
            ("login", "s-12", "chief_inspector"),
            ("collect", "drop", "--counted", "0", "--by", "s-12", "--with", "s-11"),
        )
        for hand in ("t07-20261130-0001", "t07-99999999-9999", "t99-20261130-0001", "no hand", "é"):
            words = ("adjust", hand, "100", "tray", "drop", "--by", "s-12", "--with", "s-11", "--reason", "wrong")
            said = feltd(running, *words, code=2)
            assert f"hand = {hand!r}: no such hand of this table is final" in said
        assert "restoring the table" not in running.log.read_text(encoding="utf-8")
        assert not [one for one in running.records() if one.type == "adjustment.recorded"]
