"""The archived file before a ledger is held against what ledger.began says of it."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from controller import cli
from controller.contract.following import Report
from controller.ledger import files
from controller.ledger.compacting import compact
from controller.ledger.errors import LedgerError
from controller.ledger.verify import verify
from controller.ledgercare import BackgroundCheck
from tests.ledgers import Desk, new_desk, play, record
from tests.unit.test_archives import DAY_NS, LATER, acknowledge, closed, reopen
from tests.waiting import wait_until


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A ledger, and two archived files before it."""
    desk = new_desk(tmp_path / "table")
    closed(desk)
    with reopen(desk) as ledger:
        play(ledger)
        ledger.append([record("table.closed", hands=2)], LATER)
    acknowledge(desk.path)
    reopen(desk, LATER + 40 * DAY_NS).close()
    return desk


def edit(path: Path, script: str) -> None:
    """Change it, with the guard put back: nothing else is to tell of it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as forger:
        (guard,) = forger.execute("SELECT sql FROM sqlite_schema WHERE name = 'row_is_frozen'").fetchone()
        forger.executescript(f"DROP TRIGGER row_is_frozen; {script}; {guard}")


LAST = "(SELECT max(row) FROM row)"
CUT = f"DELETE FROM row WHERE row > {LAST} - 3"
FORGED = f"UPDATE row SET body = CAST(replace(CAST(body AS TEXT), 'a', 'b') AS BLOB) WHERE row = {LAST}"
LONGER = "INSERT INTO row (stream, sequence, type, body) SELECT stream, 999, type, body FROM row WHERE row = 2"
CHANGES: dict[str, Callable[[Path], None]] = {
    "cut": lambda file: edit(file, CUT),
    "changed at its end": lambda file: edit(file, FORGED),
    "a row more": lambda file: edit(file, LONGER),
    "another ledger": lambda file: edit(file, "UPDATE meta SET value = 'another' WHERE name = 'ledger'"),
    "no ledger": lambda file: (file.write_bytes(b"x" * 9000), None)[1],
}


def told(desk: Desk, capsys: pytest.CaptureFixture[str], *command: str) -> tuple[int, str]:
    code = cli.main([*command, str(desk.path)])
    return code, "".join(capsys.readouterr())


@pytest.mark.parametrize("what", CHANGES)
def test_an_archived_file_that_is_not_the_one_named_is_a_fault(
    desk: Desk, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = files.archived(desk.path)[-1]
    assert told(desk, capsys, "verify")[0] == 0
    assert told(desk, capsys, "ledger", "archives")[0] == 0
    CHANGES[what](newest)
    commands = (
        ["verify"],
        ["verify", "--archives"],
        ["ledger", "archives"],
        ["ledger", "recall"],
        ["ledger", "search"],
    )
    for command in commands:
        code, said = told(desk, capsys, *command)
        assert (code, newest.name in said) == (4, True), f"{command}: {said}"
    found: list[Report] = []
    check = BackgroundCheck(desk.path, (), found.append)
    check.start()
    wait_until(lambda: found, what="the report")
    check.stop()
    assert [fault for fault in check.faults if newest.name in fault.what], "so there is an incident"
    assert compact(desk.path).damaged is None, "this file is whole"


def test_an_older_one_is_held_against_the_file_after_it(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    oldest, newest = files.archived(desk.path)
    edit(oldest, CUT)
    code, said = told(desk, capsys, "ledger", "archives")
    assert code == 4
    assert "its ends do not fit" in next(line for line in said.splitlines() if line.startswith(oldest.name))
    assert "its ends fit" in next(line for line in said.splitlines() if line.startswith(newest.name))
    assert not verify(newest).ok
    assert told(desk, capsys, "verify")[0] == 0
    assert told(desk, capsys, "verify", "--archives")[0] == 4
    assert cli.main(["ledger", "archives", str(desk.path), "--json"]) == 4
    assert [one["ends_fit"] for one in json.loads(capsys.readouterr().out)] == [False, True]


def test_a_row_in_its_middle_is_found_by_looking_at_all_of_it(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    oldest, _ = files.archived(desk.path)
    edit(oldest, FORGED.replace(LAST, "5"))
    assert told(desk, capsys, "verify")[0] == 0
    code, said = told(desk, capsys, "verify", "--archives", "--public-key", str(desk.folder / "signing.pub"))
    assert (code, f"{oldest.name}: " in said) == (4, True)


@pytest.mark.parametrize("name", ["previous_file", "forged"])
def test_a_file_that_names_another_archive_than_it_began_with_is_a_fault(desk: Desk, name: str) -> None:
    oldest, _ = files.archived(desk.path)
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as forger:
        if name == "forged":
            forger.execute("UPDATE meta SET value = ? WHERE name = 'previous_file'", (oldest.name,))
        else:
            forger.execute("DELETE FROM meta WHERE name = 'previous_file'")
    assert any("archived file" in fault.what for fault in verify(desk.path).faults)


def test_a_first_file_that_names_an_archive_is_a_fault(tmp_path: Path) -> None:
    desk = new_desk(tmp_path)
    desk.open().close()
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as forger:
        forger.execute("INSERT INTO meta VALUES ('previous_file', 'other.ledger')")
    assert any("other.ledger" in fault.what for fault in verify(desk.path).faults)


def test_a_missing_one_is_named_by_whoever_needs_it(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    oldest, newest = files.archived(desk.path)
    newest.unlink()
    for command in (["ledger", "archives"], ["ledger", "recall"], ["ledger", "search"], ["verify", "--archives"]):
        code, said = told(desk, capsys, *command)
        assert (code, f"{newest.name} is missing" in said) == (4, True), f"{command}: {said}"
    code, said = told(desk, capsys, "verify")
    assert (code, newest.name in said) == (0, True), "a copy of this file alone is whole"
    with reopen(desk) as ledger, pytest.raises(LedgerError, match=rf"{newest.name}.*put it back from a copy"):
        list(ledger.restore_rows())
    assert oldest.exists()


def test_what_was_pruned_is_named_and_no_fault(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    oldest, _ = files.archived(desk.path)
    assert cli.main(["ledger", "prune", str(desk.path), "--before", "2030-01-01", "--yes"]) == 0
    capsys.readouterr()
    for command in (["ledger", "archives"], ["ledger", "recall"]):
        code, said = told(desk, capsys, *command)
        assert (code, f"{oldest.name} is missing: it was pruned" in said) == (0, True), f"{command}: {said}"
    assert told(desk, capsys, "verify", "--archives")[0] == 0


@pytest.mark.parametrize("name", ["x" * 300, "folder.ledger", "a\0b"])
def test_one_that_cannot_be_looked_at_is_named_and_this_file_is_checked(
    desk: Desk, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (files.archive_folder(desk.path) / "folder.ledger").mkdir()
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as forger:
        forger.execute("UPDATE meta SET value = ? WHERE name = 'previous_file'", (name,))
    assert any(f"{name} " in note for note in verify(desk.path).notes)
    code, said = told(desk, capsys, "ledger", "recall")
    assert (code, name in said) == (4, True)


@pytest.mark.parametrize("command", [["tail"], ["search"], ["recall"], ["archives"], ["compact"]])
def test_what_is_no_sqlite_file_is_no_ledger(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    chips = tmp_path / "chips.toml"
    chips.write_text('[[chip]]\nvalue = 5\ncolour = "red"\n' * 40)
    before = chips.read_bytes()
    assert cli.main(["ledger", *command, str(chips)]) == 4
    said = capsys.readouterr().err
    assert "no ledger" in said
    assert "compact" not in said
    assert chips.read_bytes() == before
