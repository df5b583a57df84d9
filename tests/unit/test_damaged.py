"""A file whose pages were damaged while nobody wrote it: a start is refused in plain words, or the damage is told."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from controller import cli, ledgercare
from controller.contract.following import Fault, Report
from controller.ledger import restoring
from controller.ledger.compacting import compact
from controller.ledger.database import UNREADABLE
from controller.ledger.errors import LedgerError
from controller.ledger.outbox import Outbox
from controller.ledger.reading import read_records
from controller.ledger.search import Wanted, last_hands, search, tail
from controller.ledger.verify import verify
from controller.ledgercare import BackgroundCheck
from tests.ledgers import WALL, Desk, new_desk, play, record
from tests.waiting import wait_until

PAGE = 4096
FORM, STATE = "this program", {"seats": [[1, "s-1" * 100]]}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return made(tmp_path)


def made(folder: Path) -> Desk:
    """Rows, and a state that was kept; all of it in the file."""
    desk = new_desk(folder)
    with desk.open() as ledger:
        play(ledger, 4)
        ledger.keep_image(FORM, STATE)
        ledger.append([record("seat.left", seat=1)], WALL)
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return desk


def roots(path: Path) -> dict[str, int]:
    """The first page of each table and index."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"))


def restore_file(path: Path, content: bytes) -> None:
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    path.write_bytes(content)


def started(desk: Desk) -> tuple[list[Fault], list[str]]:
    """What a start tells, with the check behind it, and what it rebuilds from. Raises ``LedgerError``: refused."""
    found: list[Report] = []
    with desk.open() as ledger:
        kept = ledger.beginning(FORM)
        read = [one.type for one in kept.records]
        ledger.last_said(64)
        restoring.logins(desk.path, 100)
        faults = list(ledger.check_tail())
        assert ledger.public_key is not None
        check = BackgroundCheck(desk.path, [ledger.public_key], found.append)
        check.start()
        wait_until(lambda: found, what="the report")
        check.stop()
        assert check.state.trouble == ""
    return [*faults, *found[0].faults], read if kept.image is None else ["image", *read]


def outcome(desk: Desk) -> str:
    try:
        faults, _ = started(desk)
    except LedgerError as error:
        return "refused" if "feltd verify" in str(error) else f"refused without a remedy: {error}"
    return "told" if faults else "silent"


def test_a_whole_file_is_silent(desk: Desk) -> None:
    assert started(desk) == ([], ["image", "seat.left"])


def test_each_page_of_the_rows_is_looked_at(desk: Desk) -> None:
    whole, first = desk.path.read_bytes(), max(roots(desk.path).values())
    pages = range(first, len(whole) // PAGE)  # those behind the roots hold the rows and their index
    assert len(pages) > 5
    for page in pages:
        drawn = random.Random(page)
        at = page * PAGE + PAGE - 700 - drawn.randrange(400)
        restore_file(desk.path, whole[:at] + drawn.randbytes(700) + whole[at + 700 :])
        assert not whole_to_verify(desk), f"page {page + 1}"
        assert outcome(desk) in ("refused", "told"), f"page {page + 1}"


def test_reading_comes_up_to_the_very_row_that_cannot_be_read(desk: Desk) -> None:
    """Rows are read some hundreds together: a page in their midst hid those before it."""
    whole, first = desk.path.read_bytes(), max(roots(desk.path).values())
    reached = set()
    for page in range(first, len(whole) // PAGE):
        restore_file(desk.path, whole[: page * PAGE] + bytes(PAGE) + whole[(page + 1) * PAGE :])
        report = verify(desk.path)
        broken_off = [fault.row for fault in report.faults if "from here on" in fault.what]
        assert broken_off in ([], [report.rows + 1]), f"page {page + 1}"
        reached |= {report.rows} if broken_off else set()
    assert len(reached) > 5
    assert max(reached) > min(reached)


def broken(whole: bytes, drawn: random.Random) -> bytes:
    """A page in the place of another, so that reading may go in a circle; bytes of anything; single bits."""
    content = bytearray(whole)
    pages = len(whole) // PAGE
    at = drawn.randrange(100, len(content) - PAGE)
    match drawn.choice(["page", "bytes", "bit", "bytes of a page"]):
        case "page":
            to, of = drawn.randrange(1, pages) * PAGE, drawn.randrange(pages) * PAGE
            content[to : to + PAGE] = whole[of : of + PAGE]
        case "bytes":
            content[at : at + 40] = drawn.randbytes(40)
        case "bit":
            content[at] ^= 1 << drawn.randrange(8)
        case _:
            for _ in range(20):
                content[at + drawn.randrange(PAGE)] = drawn.randrange(256)
    return bytes(content)


def deliver(path: Path) -> None:
    with closing(Outbox(path)) as outbox:
        after = 0
        while rows := outbox.unsent(after, 64):
            assert rows[0].row > after
            after = rows[-1].row


READERS: dict[str, Callable[[Path], object]] = {
    "verify": verify,
    "read": lambda path: list(read_records(path)),
    "tail": lambda path: tail(path, 1000),
    "search": lambda path: search(path, Wanted(seat=1), 100),
    "last hands": lambda path: last_hands(path, 5),
    "compact": compact,
    "deliver": deliver,
}


@pytest.mark.parametrize("name", READERS)
def test_whatever_is_damaged_reading_ends_and_says_so(desk: Desk, name: str) -> None:
    whole = desk.path.read_bytes()
    for seed in range(40):
        restore_file(desk.path, broken(whole, random.Random(seed)))
        # The pump takes what SQLite says as it is, and tries again.
        with suppress(LedgerError, *(UNREADABLE if name == "deliver" else ())):
            READERS[name](desk.path)


def whole_to_verify(desk: Desk) -> bool:
    try:
        return verify(desk.path).ok
    except LedgerError:
        return False


NAMES = [
    *("meta", "row", "sqlite_autoindex_row_1", "sqlite_sequence", "row_unacked", "row_opened", "row_signed"),
    *("row_hand", "head", "hand_key", "withheld", "sealed", "row_login", "image"),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_each_table_and_index_is_looked_at(desk: Desk, name: str) -> None:
    """What verify calls whole can be started on."""
    whole = desk.path.read_bytes()
    assert sorted(roots(desk.path)) == sorted(NAMES)
    at = (roots(desk.path)[name] - 1) * PAGE
    restore_file(desk.path, whole[:at] + bytes(PAGE) + whole[at + PAGE :])
    assert not whole_to_verify(desk)
    assert outcome(desk) in ("refused", "told")


def test_an_index_that_lacks_rows_is_told_and_built_anew(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    for before, after in (("ledger.signed", "ledger.hidden"), ("ledger.hidden", "ledger.signed")):
        with closing(sqlite3.connect(desk.path, isolation_level=None)) as connection:
            if before == "ledger.hidden":
                connection.execute("REINDEX row_signed")
            connection.execute("PRAGMA writable_schema = ON")
            changed = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'row_signed'"
            connection.execute(changed, (before, after))
    assert cli.main(["verify", str(desk.path)]) != 0
    assert "feltd ledger compact" in "".join(capsys.readouterr())
    compact(desk.path)
    assert verify(desk.path).ok
    assert started(desk)[0] == []


@pytest.mark.parametrize("version", [-1, 0, 1, 2, 3, 5, 99])
def test_a_schema_that_is_not_the_files_is_told(desk: Desk, version: int) -> None:
    """What verify calls whole can be started on."""
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    faults = verify(desk.path).faults
    assert [fault for fault in faults if f"schema {version} " in fault.what], faults
    assert outcome(desk) == "refused"
    with pytest.raises(LedgerError, match="a copy that holds all that was sent"):
        compact(desk.path)


@pytest.mark.parametrize("name", ["row_unacked", "row_opened", "row_signed", "row_hand", "row_login"])
def test_an_index_that_is_gone_is_told_and_made_anew(desk: Desk, name: str) -> None:
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as connection:
        connection.execute(f"DROP INDEX {name}")
    (fault,) = verify(desk.path).faults
    assert f"the index {name}" in fault.what
    assert "feltd ledger compact" in fault.what
    compact(desk.path)
    assert verify(desk.path).ok
    assert started(desk)[0] == []


ODD = "DROP TABLE image; CREATE TABLE image (row, form, heads, body, mac);"
IMAGES = {
    "texts": f"{ODD} INSERT INTO image VALUES (218, 'x', '{{}}', 'text', 'text')",
    "no seal": f"{ODD} INSERT INTO image VALUES (218, 'x', '{{}}', 'text', NULL)",
    "this form, no row": f"{ODD} INSERT INTO image VALUES (NULL, '{FORM}', 1, 2.5, x'00')",
    "no UTF-8": f"{ODD} INSERT INTO image VALUES (218, CAST(x'ff' AS TEXT), '{{}}', x'00', x'00')",
    "fewer columns": "DROP TABLE image; CREATE TABLE image (row, form)",
    "gone": "DROP TABLE image",
    "a view": "DROP TABLE image; CREATE VIEW image AS SELECT * FROM meta",
    "a view of it": "ALTER TABLE image RENAME TO old; CREATE VIEW image AS SELECT * FROM old",
}


@pytest.mark.parametrize("what", IMAGES)
def test_whatever_is_wrong_with_the_kept_state_the_table_is_rebuilt(desk: Desk, what: str) -> None:
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.executescript(IMAGES[what])
    faults, read = started(desk)
    assert [fault for fault in faults if "kept beside the rows" in fault.what]
    assert read[0] == "table.opened"
    assert read[-1] == "seat.left"


def test_an_unreadable_page_of_the_kept_state_is_no_end(desk: Desk) -> None:
    whole, at = desk.path.read_bytes(), (roots(desk.path)["image"] - 1) * PAGE
    restore_file(desk.path, whole[:at] + bytes(PAGE) + whole[at + PAGE :])
    faults, read = started(desk)
    assert [fault for fault in faults if "kept beside the rows cannot be read" in fault.what]
    assert read[0] == "table.opened"


def test_what_is_around_the_file_is_no_fault_and_the_check_comes_again(desk: Desk) -> None:
    found: list[Report] = []
    away = desk.path.with_name("away")
    desk.path.rename(away)
    check = BackgroundCheck(desk.path, (), found.append, again_s=0.5)
    check.start()
    wait_until(lambda: check.state.trouble, what="the trouble")
    assert not found
    away.rename(desk.path)
    wait_until(lambda: found, what="the report")
    check.stop()
    assert (found[0].ok, check.state.trouble) == (True, "")


def test_a_check_that_never_can_be_made_ends(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgercare, "TRIALS", 2)
    found: list[Report] = []
    check = BackgroundCheck(desk.path.with_name("nowhere"), (), found.append, again_s=0)
    check.start()
    wait_until(lambda: not check.running, what="the end")
    assert (found, check.state.report) == ([], None)
    assert "no such file" in check.state.trouble
