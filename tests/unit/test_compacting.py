"""A file whose indexes are past reading is made anew from its rows, and only where these are whole."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from controller import cli
from controller.ledger import database, files
from controller.ledger.compacting import compact
from controller.ledger.errors import LedgerDamaged, LedgerError
from controller.ledger.verify import verify
from tests.ledgers import Desk, play
from tests.unit.test_damaged import NAMES, PAGE, made, roots, started

TABLES = ("meta", "row", "head", "hand_key", "withheld", "sealed")
"""All that a ledger is."""
INDEXES = sorted({*NAMES} - {*TABLES})
"""What says nothing that the rows do not say."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return made(tmp_path)


def zeroed(path: Path, name: str) -> None:
    at = (roots(path)[name] - 1) * PAGE
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(PAGE))


def content(path: Path) -> dict[str, list[Any]]:
    with closing(database.connect_read_only(path)) as connection:
        connection.row_factory = None
        return {table: connection.execute(f"SELECT * FROM {table} NOT INDEXED").fetchall() for table in TABLES}


def beside(desk: Desk) -> set[str]:
    return {one.name for one in desk.path.parent.glob(f"{desk.path.name}*")} - {f"{desk.path.name}.lock"}


def digests(path: Path) -> list[bytes]:
    """The file's pages but for the first, which says whether there is a log."""
    found = path.read_bytes()
    return [found[at : at + PAGE] for at in range(PAGE, len(found), PAGE)]


def verified(path: Path) -> bool:
    try:
        return verify(path).ok
    except LedgerError:
        return False


@pytest.mark.parametrize("name", INDEXES)
def test_a_file_whose_index_is_gone_is_made_anew_from_its_rows(
    desk: Desk, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(desk.path)
    zeroed(desk.path, name)
    desk.path.chmod(0o640)
    assert cli.main(["verify", str(desk.path)]) != 0
    assert "feltd ledger compact" in "".join(capsys.readouterr())
    assert cli.main(["ledger", "compact", str(desk.path)]) == 0
    assert ".damaged" in capsys.readouterr().out
    assert verify(desk.path).ok
    assert desk.path.stat().st_mode & 0o777 == 0o640
    assert content(desk.path) == before
    faults, read = started(desk)
    assert (faults, read[0], read[-1]) == ([], "table.opened", "seat.left")
    assert desk.path.with_name(desk.path.name + ".damaged").is_file()
    assert content(desk.path.with_name(desk.path.name + ".damaged")) == before
    with desk.open() as ledger:
        play(ledger, 2)
    assert verify(desk.path).ok, "it goes on from there"


@pytest.mark.parametrize("name", [*TABLES])
def test_a_file_whose_rows_cannot_be_read_is_left_as_it_is(desk: Desk, name: str) -> None:
    zeroed(desk.path, "row_signed")
    zeroed(desk.path, name)
    with pytest.raises(LedgerDamaged, match="a copy that holds all that was sent"):
        compact(desk.path)
    assert beside(desk) <= {desk.path.name, f"{desk.path.name}-wal", f"{desk.path.name}-shm"}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE row SET body = x'00' WHERE row = 9",
        "UPDATE head SET sha256 = printf('%064d', 7) WHERE stream = 'play'",
        "UPDATE row SET secret = x'00' WHERE secret IS NOT NULL",
        "DELETE FROM row WHERE row = 9",
        "DELETE FROM row WHERE row = (SELECT max(row) FROM row)",
    ],
)
def test_rows_that_are_not_what_was_written_are_no_new_file(desk: Desk, change: str) -> None:
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER row_is_frozen")
        connection.execute(change)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    zeroed(desk.path, "row_signed")
    with pytest.raises(LedgerDamaged, match="what it holds is not whole"):
        compact(desk.path)
    assert desk.path.is_file()
    assert beside(desk) <= {desk.path.name, f"{desk.path.name}-wal", f"{desk.path.name}-shm"}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("where", range(3))
def test_what_is_made_smaller_is_whole_or_the_file_stays_as_it_was(desk: Desk, name: str, where: int) -> None:
    """SQLite copies some of what it should not without a word."""
    page = (roots(desk.path)[name] - 1) * PAGE
    whole = bytearray(desk.path.read_bytes())
    whole[page + PAGE - 60 * (where + 1)] ^= 0x41
    desk.path.write_bytes(whole)
    before, told = digests(desk.path), verified(desk.path)
    try:
        made = compact(desk.path)
    except LedgerDamaged:
        assert digests(desk.path) == before
        assert not told
    else:
        assert verify(desk.path).ok
        assert made.damaged is None or digests(made.damaged) == before


def test_damage_in_what_stands_for_withheld_rows_is_no_done(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.executemany("INSERT INTO withheld VALUES (?, ?)", [(row, b"{}") for row in (3, 4)])
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    page = (roots(desk.path)["withheld"] - 1) * PAGE
    content_ = bytearray(desk.path.read_bytes())
    # The second cell is the first one again: two rows of one number, which SQLite's VACUUM copies.
    content_[page + 10 : page + 12] = content_[page + 8 : page + 10]
    desk.path.write_bytes(content_)
    before = digests(desk.path)
    assert cli.main(["ledger", "compact", str(desk.path)]) == 4
    assert capsys.readouterr().err.count("\n") == 1
    assert digests(desk.path) == before
    assert beside(desk) <= {desk.path.name, f"{desk.path.name}-wal", f"{desk.path.name}-shm"}


def test_rows_that_stand_in_the_log_are_rows(desk: Desk, tmp_path: Path) -> None:
    with desk.open() as ledger:
        play(ledger, 1)
        logged = ledger.row
        for ending in ("", "-wal"):
            shutil.copy(f"{desk.path}{ending}", tmp_path / f"killed{ending}")
    killed = tmp_path / "killed"
    assert Path(f"{killed}-wal").stat().st_size > 0
    zeroed(killed, "row_opened")
    assert compact(killed).damaged is not None
    assert len(content(killed)["row"]) == logged
    assert verify(killed).ok


def test_a_crash_before_the_new_file_is_in_place_is_made_good_by_the_next_start(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(desk.path)
    zeroed(desk.path, "row_signed")
    monkeypatch.setattr(files, "finish_archiving", lambda _path: None)
    with pytest.raises(LedgerError):
        compact(desk.path)
    monkeypatch.undo()
    assert not desk.path.exists()
    faults, _ = started(desk)
    assert faults == []
    assert content(desk.path)["row"] == before["row"]


def test_what_is_in_the_way_is_named_and_nothing_is_lost(desk: Desk) -> None:
    zeroed(desk.path, "row_signed")
    with closing(database.connect_read_only(desk.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM meta").fetchone()
        with pytest.raises(LedgerError) as refused:
            compact(desk.path)
        assert not isinstance(refused.value, LedgerDamaged)
    compact(desk.path)
    zeroed(desk.path, "row_signed")
    with pytest.raises(LedgerError, match="earlier time"):
        compact(desk.path)
    assert desk.path.is_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_new_file_belongs_to_whom_the_old_one_did(desk: Desk) -> None:
    zeroed(desk.path, "row_signed")
    os.chown(desk.path, 65534, 65533)
    compact(desk.path)
    assert (desk.path.stat().st_uid, desk.path.stat().st_gid) == (65534, 65533)
