"""A write-ahead log without its ledger: it holds committed rows, and SQLite would throw it away or apply it wrongly."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from controller import cli
from controller.ledger import database, files
from controller.ledger.errors import LedgerDamaged, LedgerError
from controller.ledger.verify import verify
from tests.ledgers import WALL, Desk, new_desk, play, record
from tests.running import ROOT
from tests.unit.test_archives import LATER, acknowledge, closed, reopen

KILLED = """
import os, signal, sys
from pathlib import Path
from tests.ledgers import Desk, play

ledger = Desk(Path(sys.argv[1])).open()
play(ledger)
print(ledger.id, ledger.row, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

TAKEN: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "emptied": partial(os.truncate, length=0),
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return new_desk(tmp_path / "table")


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def killed(desk: Desk) -> tuple[str, int]:
    """A ledger whose process was killed: its id and its last row, which is committed and lies in the log."""
    command = [sys.executable, "-c", KILLED, str(desk.folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    name, row = done.stdout.split()
    return name, int(row)


@pytest.mark.parametrize("how", TAKEN)
def test_no_ledger_is_begun_over_the_log_of_another(desk: Desk, tmp_path: Path, how: str) -> None:
    name, row = killed(desk)
    log = beside(desk.path, "-wal")
    shutil.copy(desk.path, tmp_path / "away")
    TAKEN[how](desk.path)
    held = log.read_bytes()
    assert held
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"committed rows may be in t07\.ledger-wal alone") as told:
            desk.open()
        assert "put the ledger back beside it, or move t07.ledger-wal and t07.ledger-shm away" in str(told.value)
        assert str(desk.path) in str(told.value)
        assert not isinstance(told.value, LedgerDamaged), "put back, it is whole"
        assert log.read_bytes() == held
    shutil.copy(tmp_path / "away", desk.path)
    with desk.open() as ledger:
        assert (ledger.id, ledger.row) == (name, row), "all that was committed"
    assert verify(desk.path).ok


@pytest.mark.parametrize("how", TAKEN)
def test_whoever_only_looks_says_it_too_and_leaves_the_log(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    killed(desk)
    shutil.copy(desk.path, tmp_path / "away")
    TAKEN[how](desk.path)
    held = beside(desk.path, "-wal").read_bytes()
    for command in (["verify"], ["ledger", "tail"], ["ledger", "search"], ["ledger", "compact"]):
        assert cli.main([*command, str(desk.path)]) == cli.USAGE
        assert "committed rows may be in t07.ledger-wal alone" in capsys.readouterr().err, command
        assert beside(desk.path, "-wal").read_bytes() == held


def test_a_log_that_is_moved_away_with_its_file_bars_nothing(desk: Desk, tmp_path: Path) -> None:
    name, row = killed(desk)
    for ending in ("", "-wal", "-shm"):
        beside(desk.path, ending).rename(beside(tmp_path / "away", ending))
    with desk.open() as ledger:
        assert ledger.id != name
    report = verify(tmp_path / "away")
    assert (report.ok, report.ledger, report.rows) == (True, name, row)


def test_an_empty_log_bars_nothing(desk: Desk) -> None:
    """Nothing is lost in it: the hand's end has emptied it."""
    beside(desk.path, "-wal").touch()
    with desk.open() as ledger:
        assert ledger.row


def test_it_is_seen_through_a_link(desk: Desk, tmp_path: Path) -> None:
    killed(desk)
    link = tmp_path / "link.ledger"
    link.symlink_to(desk.path)
    desk.path.rename(tmp_path / "away")
    held = beside(desk.path, "-wal").read_bytes()
    for use in (database.make, database.connect_read_only, lambda path: database.connect(path, durable=False)):
        with pytest.raises(LedgerError, match="committed rows"):
            use(link)
    assert not desk.path.exists()
    assert beside(desk.path, "-wal").read_bytes() == held


def test_a_file_that_was_to_take_its_place_does_not_over_a_log(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the renames leaves no log. Where one lies there, it is no crash; without it, it is finished."""
    old, _ = closed(desk)
    rename = Path.rename

    def crash(self: Path, target: Path) -> Path:
        if self.name.endswith(".next"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", crash)
    with pytest.raises(KeyboardInterrupt):
        reopen(desk)
    monkeypatch.undo()
    assert not beside(desk.path, "-wal").exists()
    beside(desk.path, "-wal").write_bytes(b"rows")
    with pytest.raises(LedgerError, match="is missing, and committed rows"):
        reopen(desk)
    assert files.next_file(desk.path).exists()
    assert beside(desk.path, "-wal").read_bytes() == b"rows"
    beside(desk.path, "-wal").unlink()
    with reopen(desk) as ledger:
        assert json.loads(ledger.tail(100)[0])["data"]["previous"]["ledger"] == old


@pytest.mark.parametrize("left", [["", "-wal", "-shm"], ["-wal", "-shm"], ["-wal"]])
def test_what_a_crash_left_of_the_next_file_bars_no_archiving(desk: Desk, left: list[str]) -> None:
    closed(desk)
    for ending in left:
        beside(files.next_file(desk.path), ending).write_bytes(b"half")
    with reopen(desk):
        assert len(files.archived(desk.path)) == 1
    acknowledge(desk.path)
    with reopen(desk, 2 * LATER - WALL) as ledger:
        ledger.append([record("seat.left", seat=1)], WALL)
        assert len(files.archived(desk.path)) == 2
    assert verify(desk.path).ok


def test_an_older_copy_is_never_what_a_damaged_file_is_answered_with(desk: Desk) -> None:
    """Going on with one repeats numbers that were sent, which the back office calls a forgery."""
    for words in (database.COPY, database.RESTORE, database.NEWER):
        assert "newest" not in words
        assert "a copy that holds all that was sent" in words
        assert "feltd verify COPY --checkpoint FILE --office-key FILE" in words
        assert "with its -wal and -shm" in words
        assert "feltoffice accept" in words
    with desk.open() as ledger:
        play(ledger)
    whole = desk.path.read_bytes()
    for damaged in (b"text" * 1000, whole[: len(whole) // 2], whole[:4096] + bytes(len(whole) - 4096)):
        desk.path.write_bytes(damaged)
        with pytest.raises(LedgerDamaged) as told:
            desk.open()
        assert database.COPY in str(told.value)
