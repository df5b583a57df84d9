"""Two processes never write one ledger, whatever its file is called; and a file that is moved away is noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

from controller.ledger.compacting import compact
from controller.ledger.errors import LedgerBusy
from controller.ledgercare import PlaceWatch
from tests.ledgers import WALL, Desk, new_desk, record
from tests.running import ROOT

SECOND = """
import sys
from pathlib import Path
from controller.ledger.errors import LedgerBusy
from controller.ledger.store import Ledger
from tests.ledgers import SOURCE, Desk

desk, path = Desk(Path(sys.argv[1])), Path(sys.argv[2])
try:
    Ledger.open(path, source=SOURCE, test=True, keys=desk.keys()).close()
except LedgerBusy as busy:
    sys.exit(str(busy))
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return new_desk(tmp_path / "table")


def second(desk: Desk, path: Path) -> str:
    """What another process is told that opens a ledger; empty where it may."""
    command = [sys.executable, "-c", SECOND, str(desk.folder), str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == (1 if done.stderr else 0)
    return done.stderr


def test_neither_the_name_nor_the_file_is_given_to_a_second_process(desk: Desk, tmp_path: Path) -> None:
    with desk.open() as ledger:
        assert "process" in second(desk, desk.path)
        for new in (desk.folder / "renamed.ledger", tmp_path / "elsewhere.ledger"):
            ledger.path.rename(new)
            assert "under the name that the file had before" in second(desk, new)
            assert "process" in second(desk, desk.path), "nor is a new file begun under the old name"
            new.rename(desk.path)
        ledger.append([record("seat.left", seat=1)], WALL)
    assert second(desk, desk.path) == ""


def test_a_link_leads_to_the_same_lock(desk: Desk, tmp_path: Path) -> None:
    link = tmp_path / "link.ledger"
    link.symlink_to(desk.path)
    with desk.open():
        assert "process" in second(desk, link)


def test_a_moved_file_is_not_compacted(desk: Desk) -> None:
    new = desk.folder / "renamed.ledger"
    with desk.open():
        desk.path.rename(new)
        with pytest.raises(LedgerBusy, match="before"):
            compact(new)
        new.rename(desk.path)
    assert compact(desk.path).damaged is None


def test_that_it_was_moved_is_told_once_and_again_the_next_time(desk: Desk) -> None:
    away = desk.folder / "away"
    with desk.open() as ledger:
        watch = PlaceWatch(ledger.lock)
        assert watch.look() is None
        desk.path.rename(away)
        told = watch.look()
        assert told is not None
        assert "put it back" in told["first"]["what"]
        assert watch.look() is None
        desk.path.touch()
        assert watch.look() is None, "another file in its place is not the ledger"
        away.rename(desk.path)
        assert watch.look() is None
        desk.path.unlink()
        assert watch.look()
