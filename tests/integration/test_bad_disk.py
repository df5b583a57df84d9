"""Torn, lost and failing writes and syncs: what was said to be durable is there, or its absence is told."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from controller.contract.checkpoint import Checkpoint, Head
from controller.ledger.errors import LedgerError
from controller.ledger.verify import verify
from tests.ledgers import WALL, Desk, new_desk, play, record
from tests.running import ROOT
from tests.shimming import built, needs_compiler

pytestmark = [pytest.mark.wires, needs_compiler]


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("faults", tmp_path_factory.mktemp("shim"))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = new_desk(tmp_path / "table")
    with desk.open() as ledger:
        play(ledger, hands=3)
    return desk


def write(desk: Desk, shim: Path, mode: str, after: int, seed: int = 0, hands: int = 6) -> list[dict[str, Any]]:
    """What a process said that wrote on such a disk."""
    faults = {"MODE": mode, "AFTER": str(after), "SEED": str(seed), "MATCH": desk.path.name}
    environ = {**os.environ, "LD_PRELOAD": str(shim)} | {f"FELT_SHIM_{name}": value for name, value in faults.items()}
    command = [sys.executable, "-m", "tests.writing_process", str(desk.folder), str(hands)]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    if mode in ("crash", "liar"):
        assert done.returncode == -9, done.stderr
    else:
        assert done.returncode >= 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
    # The last line may be cut off: it was not said then.
    return [json.loads(line) for line in done.stdout.splitlines() if line.endswith("}")]


def last_row(said: list[dict[str, Any]], otherwise: int = 0) -> int:
    return max((line["row"] for line in said if "row" in line), default=otherwise)


def goes_on(desk: Desk) -> None:
    with desk.open() as ledger:
        assert ledger.check_tail() == ()
        assert list(ledger.restore_rows())
        ledger.append([record("seat.left", seat=1)], WALL)
    assert verify(desk.path).ok


CRASHES = [
    pytest.param(after, seed, marks=[pytest.mark.slow] if seed else [])
    for seed in range(3)
    for after in (1, 2, 3, 5, 8, 13, 21, 34, 55, 90)
]


@pytest.mark.parametrize(("after", "seed"), CRASHES)
def test_a_power_cut_loses_nothing_that_was_durable(desk: Desk, shim: Path, after: int, seed: int) -> None:
    before = verify(desk.path).rows
    said = write(desk, shim, "crash", after, seed)
    report = verify(desk.path)
    assert report.ok, report.faults
    assert report.rows >= last_row(said, before)
    goes_on(desk)


@pytest.mark.parametrize("after", [12, 40, 75, 120])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_a_disk_that_lies_is_found_out(desk: Desk, shim: Path, after: int, seed: int) -> None:
    """It says that it has synced: then rows can be lost. The chain says so, or a head that somebody else has seen."""
    said = write(desk, shim, "liar", after, seed)
    durable = [line for line in said if "heads" in line]
    if not durable:
        return
    heads = {stream: Head(int(head["sequence"]), head["sha256"]) for stream, head in durable[-1]["heads"].items()}
    seen = Checkpoint(durable[-1]["ledger"], {stream: head for stream, head in heads.items() if head.sequence})
    try:
        report = verify(desk.path, checkpoint=seen)
    except LedgerError:
        return
    if report.rows < durable[-1]["row"]:
        assert not report.ok, "rows are gone and nobody says so"
    try:
        with desk.open() as ledger:
            list(ledger.restore_rows())
    except LedgerError:
        assert not report.ok


@pytest.mark.parametrize("mode", ["enospc", "eio", "erofs"])
@pytest.mark.parametrize("after", [1, 2, 7, 30])
def test_a_disk_that_takes_no_more_is_told_and_nothing_is_half_done(
    desk: Desk, shim: Path, mode: str, after: int
) -> None:
    before = verify(desk.path).rows
    said = write(desk, shim, mode, after)
    assert any("failed" in line or "refused" in line for line in said)
    report = verify(desk.path)
    assert report.ok, report.faults
    assert report.rows == last_row(said, before)
    goes_on(desk)


@pytest.mark.parametrize("after", [3, 9, 20, 41])
def test_a_sync_that_fails_once_is_no_commit(desk: Desk, shim: Path, after: int) -> None:
    before = verify(desk.path).rows
    said = write(desk, shim, "sync", after)
    assert any("failed" in line or "refused" in line for line in said)
    report = verify(desk.path)
    assert report.ok, report.faults
    assert report.rows >= last_row(said, before)
    goes_on(desk)
