"""A ledger file holds what the numbered steps make, word for word, and nothing else: all else is told or refused."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from controller import cli
from controller.ledger import database, structure
from controller.ledger.compacting import compact
from controller.ledger.errors import LedgerDamaged
from controller.ledger.verify import verify
from tests.ledgers import Desk, play
from tests.unit.test_damaged import made, started

MUTED = "CREATE TRIGGER evil AFTER INSERT ON row BEGIN UPDATE row SET acked = 1 WHERE row = new.row; END"
COPIED = (
    "CREATE TABLE loot (key BLOB); CREATE TRIGGER evil BEFORE UPDATE OF restart ON hand_key "
    "BEGIN INSERT INTO loot VALUES (old.restart); END"
)
HIDDEN = (
    "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('trigger', 'sqlite_evil', 'row', 0, "
    "'CREATE TRIGGER sqlite_evil AFTER INSERT ON row BEGIN DELETE FROM head; END')"
)
LOOSE = (
    "DROP TRIGGER row_is_frozen; "
    "CREATE TRIGGER row_is_frozen BEFORE UPDATE OF row ON row BEGIN SELECT RAISE(ABORT, 'a row'); END"
)
SENT = (
    "PRAGMA writable_schema = ON; "
    "UPDATE sqlite_schema SET sql = replace(sql, 'DEFAULT 0', 'DEFAULT 1') WHERE type = 'table' AND name = 'row'"
)
REFUSED = {
    "mutes": (MUTED, "evil"),
    "copies a key": (COPIED, "evil"),
    "under SQLite's name": (HIDDEN, "sqlite_evil"),
    "no guard any more": (LOOSE, "row_is_frozen"),
    "rows count as sent": (SENT, "row"),
}
TOLD = {
    "a table": ("CREATE TABLE notes (text)", "notes"),
    "a table that is virtual": ("CREATE VIRTUAL TABLE notes USING fts5(text)", "notes"),
    "a view": ("CREATE VIEW hands AS SELECT hand FROM row", "hands"),
    "an index": ("CREATE INDEX by_type ON row (type)", "by_type"),
    "an index of another kind": ("DROP INDEX row_hand; CREATE INDEX row_hand ON row (hand)", "row_hand"),
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return made(tmp_path)


def edit(desk: Desk, script: str) -> None:
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as connection:
        connection.executescript(script)


def made_anew(desk: Desk) -> None:
    """Without the foreign thing, and the table goes on from there."""
    assert compact(desk.path).damaged is not None
    assert verify(desk.path).ok
    assert started(desk)[0] == []
    with closing(sqlite3.connect(desk.path)) as connection:
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    assert not found & {"evil", "sqlite_evil", "loot", "notes", "hands", "by_type"}
    with desk.open() as ledger:
        play(ledger, 1)
        assert ledger.row
    with closing(sqlite3.connect(desk.path)) as connection:
        assert connection.execute("SELECT acked FROM row ORDER BY row DESC LIMIT 1").fetchone() == (0,)


@pytest.mark.parametrize("why", REFUSED)
def test_what_acts_on_writing_is_refused_before_anything_is_written(
    desk: Desk, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script, name = REFUSED[why]
    edit(desk, script)
    assert cli.main(["verify", str(desk.path)]) == 4
    assert f" {name}" in capsys.readouterr().out
    before = verify(desk.path).rows
    with pytest.raises(LedgerDamaged, match=rf" {name} .*feltd ledger compact"):
        desk.open()
    assert verify(desk.path).rows == before
    made_anew(desk)


@pytest.mark.parametrize("what", TOLD)
def test_what_does_not_belong_there_is_told_at_the_start_and_by_the_check(desk: Desk, what: str) -> None:
    script, name = TOLD[what]
    edit(desk, script)
    assert any(f" {name}" in fault.what and "feltd ledger compact" in fault.what for fault in verify(desk.path).faults)
    with desk.open() as ledger:
        assert any(f" {name}" in fault.what for fault in ledger.check_tail())
    assert any(f" {name}" in fault.what for fault in started(desk)[0])
    made_anew(desk)


def test_what_sqlite_keeps_for_itself_is_no_fault(desk: Desk) -> None:
    edit(desk, "ANALYZE; VACUUM")
    assert verify(desk.path).ok
    assert started(desk)[0] == []


@pytest.mark.parametrize("version", sorted(database.steps()))
def test_a_file_of_each_schema_is_what_its_steps_make(tmp_path: Path, version: int) -> None:
    with closing(sqlite3.connect(tmp_path / "old.ledger", isolation_level=None)) as connection:
        connection.executescript("".join(step for number, step in database.steps().items() if number <= version))
        connection.executescript(f"PRAGMA user_version = {version}; {MUTED}")
        with pytest.raises(LedgerDamaged, match="evil"):
            structure.bring_up(connection, tmp_path / "old.ledger")
        assert connection.execute("PRAGMA user_version").fetchone() == (version,), "nothing was done to it"
        connection.execute("DROP TRIGGER evil")
        assert list(structure.schema(connection)) == []
        structure.bring_up(connection, tmp_path / "old.ledger")
        assert list(structure.schema(connection)) == []
