"""A value of another kind, anywhere in a ledger's file: it is told or refused in plain words, and hides nothing else.

The schema forbids it (``STRICT``), but a page that lies in the place of another, or an editor, leaves it all the same.
"""

import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from controller import cli
from controller.contract.following import Report
from controller.errors import LocalError
from controller.ledger import database, files, kinds, restoring
from controller.ledger.archives import listed
from controller.ledger.compacting import compact
from controller.ledger.keys import load_auditor_key, load_verify_key
from controller.ledger.linked import walk
from controller.ledger.outbox import Outbox
from controller.ledger.reading import read_records
from controller.ledger.search import Wanted, last_hands, line, search, tail, told
from controller.ledger.verify import verify
from controller.ledgercare import BackgroundCheck
from tests.ledgers import WALL, Desk, dealt, new_desk, play, record
from tests.waiting import wait_until

pytestmark = pytest.mark.ci

PAGE = 4096
FORM = "this program"
SOON = files.Retention(archive_mb=0)
VALUES: dict[str, Any] = {
    "a number": 5,
    "a huge number": 2**63 - 1,
    "a negative one": -1,
    "a broken one": 2.5,
    "a text": "zz",
    "no text": "",
    "a long text": "x" * 70_000,
    "bytes": b"\xff\x00",
    "no bytes": b"",
    "JSON": b'{"data": 5, "type": [], "time": 0}',
    "nothing": None,
}


AT = {
    "row": "row = (SELECT max(row) FROM row WHERE secret IS NOT NULL)",
    "head": "stream = 'play'",
    "hand_key": "hand = (SELECT min(hand) FROM hand_key WHERE sealed IS NOT NULL)",
    "withheld": "true",
    "sealed": "(stream, sequence) = (SELECT stream, sequence FROM sealed LIMIT 1)",
    "image": "true",
    "sqlite_sequence": "true",
}
"""Which row of a table is changed; of ``meta`` each."""


def places() -> Iterator[tuple[str, str, str]]:
    """Table, column and row."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript("".join(database.steps().values()))
        for table, at in AT.items():
            for (name,) in made.execute("SELECT name FROM pragma_table_info(?)", (table,)):
                yield table, name, at
    yield "meta", "name", "name = 'session'"
    for name in ("ledger", "site", "table", "test", "session", "signing_key"):
        yield "meta", "value", f"name = '{name}'"


LAST_SIGNED = "(stream, sequence) = (SELECT stream, max(sequence) FROM sealed WHERE stream = 'play')"
PLACES = list(places())
QUICK = {
    ("hand_key", "sealed"),
    ("sealed", "sha256"),
    ("head", "sealed"),
    ("row", "body"),
    ("row", "sequence"),
    ("meta", "value"),
}
"""Of these a test is quick enough."""
UNPROVED = {("hand_key", "restart"), *(("image", name) for name in ("row", "form", "heads", "body", "mac"))}
"""What only the device can open, and what is a shortcut and no record: here verify sees the kind alone."""


def desk_in(folder: Path) -> Desk:
    """Rows of each table, all of it in the file."""
    desk = new_desk(folder)
    with desk.open() as ledger:
        play(ledger, 2)
        ledger.append([record("hand.started", hand="t07-20261130-0099", number=9)], WALL)
        with closing(Outbox(desk.path)) as outbox:
            outbox.withhold(outbox.unsent(0, 1)[0], "quota_exceeded")
            outbox.mark_acked([1, 2, 3])
        ledger.keep_image(FORM, {"seats": []})
        ledger.append([record("seat.left", seat=1)], WALL)
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    return desk


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, bytes]:
    desk = desk_in(tmp_path_factory.mktemp("kinds"))
    return desk, desk.path.read_bytes()


def put_back(desk: Desk, content: bytes) -> None:
    for other in desk.folder.glob(f"{desk.path.name}*"):
        if other != desk.path:
            other.unlink()
    desk.path.write_bytes(content)


def forced(path: Path, table: str, column: str, at: str, value: Any) -> bool:
    """Write a value past all that forbids it, and leave the words of the schema as they were. ``False``: it cannot."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        words = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL"
        ).fetchall()
        connection.execute("PRAGMA synchronous = OFF")
        (guard,) = connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").fetchone()
        connection.execute("DROP TRIGGER row_is_frozen")
        _reword(connection, [(name, _loose(sql)) for name, sql in words if not name.startswith("sqlite")])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        try:
            done = connection.execute(f"UPDATE {table} SET {column} = ? WHERE {at}", (value,)).rowcount > 0
        except sqlite3.IntegrityError:
            done = False
        _reword(connection, words)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(guard)
    return done


def _loose(sql: str) -> str:
    """A table that takes anything."""
    sql = re.sub(r"(TEXT|BLOB|INTEGER)(?! PRIMARY KEY( AUTO| REF|,  --))|NOT NULL", "", sql)
    return re.sub(r"\)\s*STRICT(, WITHOUT ROWID)?$", lambda m: ") WITHOUT ROWID" if m[1] else ")", sql)


def _reword(connection: sqlite3.Connection, words: list[tuple[str, str]]) -> None:
    connection.execute("PRAGMA writable_schema = ON")
    connection.executemany("UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1", words)
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.execute(f"PRAGMA schema_version = {version + 1}")
    connection.execute("PRAGMA writable_schema = OFF")


def starts(desk: Desk) -> None:
    """All that a daemon reads and writes at a start, and what its pump and its health read."""
    with desk.open() as ledger:
        list(ledger.beginning(FORM).records)
        ledger.last_said(64)
        restoring.logins(desk.path, 100)
        ledger.check_tail()
        ledger.append([dealt("t07-20261130-0099", 0, "As")], WALL)
        ledger.keep_image(FORM, {"seats": []})


def delivers(desk: Desk) -> None:
    with closing(Outbox(desk.path)) as outbox:
        for item in outbox.unsent(0, 1000):
            assert (type(item.row), type(item.body)) == (int, bytes)
            outbox.withhold(item, "quota_exceeded")
        outbox.backlog(), outbox.depth(), outbox.oldest(), outbox.last_row()
        outbox.next_session()


def checks(desk: Desk) -> None:
    """The check behind a start: it ends with a report or with a reason."""
    found: list[Report] = []
    check = BackgroundCheck(desk.path, [load_verify_key(desk.folder / "signing.pub")], found.append, again_s=0)
    check.start()
    wait_until(lambda: not check.running, what="its end")
    assert found or check.state.trouble


def recalls(desk: Desk) -> None:
    for records in last_hands(desk.path, 5, load_auditor_key(desk.folder / "auditor.key")):
        list(told(records))


def exports(desk: Desk) -> None:
    list(read_records(desk.path, auditor=load_auditor_key(desk.folder / "auditor.key")))


READERS: dict[str, Callable[[Desk], object]] = {
    "start": starts,
    "deliver": delivers,
    "check": checks,
    "tail": lambda desk: tail(desk.path, 1000),
    "search": lambda desk: [line(event) for event in search(desk.path, Wanted(seat=1), 100)],
    "recall": recalls,
    "export": exports,
    "archives": lambda desk: (listed(desk.path), list(walk(desk.path)), files.is_due_now(desk.path, SOON, WALL)),
    "compact": lambda desk: compact(desk.path),
}


def read_by_all(desk: Desk, content: bytes) -> None:
    for name, reader in READERS.items():
        put_back(desk, content)
        # The pump takes what SQLite says as it is, and tries again.
        with suppress(LocalError, *(database.UNREADABLE if name in ("deliver", "archives") else ())):
            reader(desk)


def is_whole(desk: Desk) -> bool:
    """What ``feltd verify`` says; it says it with a code and never with a traceback."""
    code = cli.main(["verify", str(desk.path), "--public-key", str(desk.folder / "signing.pub")])
    assert code in (0, 2, 4)
    return code == 0


def records(path: Path) -> dict[str, list[Any]] | None:
    """All that verify proves, ``None`` where it cannot be read."""
    tables = dict.fromkeys(("row", "head", "withheld", "sealed", "meta"), "*") | {"hand_key": "hand, sealed"}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        try:
            found = {table: connection.execute(f"SELECT {of} FROM {table}").fetchall() for table, of in tables.items()}
        except (sqlite3.Error, UnicodeDecodeError):
            return None
    return {table: sorted(rows, key=repr) for table, rows in found.items()}


def changed(desk: Desk, content: bytes, table: str, column: str, at: str) -> Iterator[tuple[str, bytes]]:
    """The file with each of the values in a place, as far as it can stand there."""
    for name, value in VALUES.items():
        put_back(desk, content)
        if forced(desk.path, table, column, at, value):
            yield name, desk.path.read_bytes()


def test_a_whole_file_is_called_so_and_read(whole: tuple[Desk, bytes]) -> None:
    desk, content = whole
    put_back(desk, content)
    assert is_whole(desk)
    for reader in READERS.values():
        put_back(desk, content)
        reader(desk)


def test_only_what_is_forced_is_changed(whole: tuple[Desk, bytes]) -> None:
    desk, content = whole
    put_back(desk, content)
    assert forced(desk.path, "row", "hand", "row = 1", None)
    assert is_whole(desk)


@pytest.mark.parametrize(("table", "column", "at"), PLACES)
def test_verify_tells_a_value_of_any_other_kind(
    whole: tuple[Desk, bytes], table: str, column: str, at: str, capsys: pytest.CaptureFixture[str]
) -> None:
    desk, content = whole
    put_back(desk, content)
    with closing(sqlite3.connect(desk.path)) as connection:
        (was,) = connection.execute(f"SELECT {column} FROM {table} WHERE {at}").fetchone()
    tried = 0
    for name, _ in changed(desk, content, table, column, at):
        unproved = (table, column) in UNPROVED and kinds.wrong((column,), (VALUES[name],)) is None
        if VALUES[name] == was or unproved:
            continue
        tried += 1
        assert not is_whole(desk), name
        said = capsys.readouterr()
        assert "fault: " in said.out or "feltd: " in said.err, name
    assert tried or column == "row"


@pytest.mark.parametrize(("table", "column", "at"), [one for one in PLACES if one[:2] in QUICK])
def test_nothing_ends_in_an_error_that_nobody_foresaw(
    whole: tuple[Desk, bytes], table: str, column: str, at: str
) -> None:
    desk, content = whole
    for _, damaged in list(changed(desk, content, table, column, at))[::3]:
        read_by_all(desk, damaged)


@pytest.mark.parametrize(("table", "column", "at"), PLACES)
def test_nothing_at_all_ends_in_an_error_that_nobody_foresaw(
    whole: tuple[Desk, bytes], table: str, column: str, at: str
) -> None:
    desk, content = whole
    for _, damaged in changed(desk, content, table, column, at):
        read_by_all(desk, damaged)


@pytest.mark.parametrize("bad", ["hand_key.sealed", "sealed.sha256", "head.sealed", "withheld.body", "meta.value"])
def test_it_hides_no_other_fault(whole: tuple[Desk, bytes], bad: str) -> None:
    """Reading went no further, and another row that was changed was told by nobody."""
    desk, content = whole
    put_back(desk, content)
    table, column = bad.split(".")
    assert forced(desk.path, table, column, AT.get(table, "name = 'session'"), 5)
    assert forced(desk.path, "row", "body", "row = 7", b"{}")
    assert forced(desk.path, "sealed", "signature", LAST_SIGNED, "f" * 128)
    report = verify(desk.path, public_keys=[load_verify_key(desk.folder / "signing.pub")])
    assert [fault for fault in report.faults if fault.row == 7]
    assert [fault for fault in report.faults if "over what lies sealed is not valid" in fault.what]
    assert len(report.faults) > 3
    found: list[Report] = []
    check = BackgroundCheck(desk.path, [load_verify_key(desk.folder / "signing.pub")], found.append)
    check.start()
    wait_until(lambda: found, what="the report")
    check.stop()
    assert set(report.faults) <= check.faults


def swapped(content: bytes, drawn: random.Random) -> bytes:
    """A page in the place of another, and that one in its place or gone."""
    pages = len(content) // PAGE
    one, other = (at * PAGE for at in drawn.sample(range(pages), 2))
    damaged = bytearray(content)
    damaged[one : one + PAGE] = content[other : other + PAGE]
    if drawn.random() < 0.5:
        damaged[other : other + PAGE] = content[one : one + PAGE]
    return bytes(damaged)


def test_pages_in_the_place_of_others_are_told(whole: tuple[Desk, bytes]) -> None:
    desk, content = whole
    put_back(desk, content)
    before = records(desk.path)
    for seed in range(200):
        put_back(desk, swapped(content, random.Random(seed)))
        assert not is_whole(desk) or records(desk.path) == before, seed


def test_pages_in_the_place_of_others_end_no_reader(whole: tuple[Desk, bytes]) -> None:
    desk, content = whole
    for seed in range(1000, 1300):
        read_by_all(desk, swapped(content, random.Random(seed)))
