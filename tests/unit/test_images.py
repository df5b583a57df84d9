"""The state that is kept between hands: a restart in a long session reads what came after it, and believes no other."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from controller import corethread
from controller.core import image
from controller.core.table import Table
from controller.ledger import database
from controller.ledger.images import Beginning
from controller.ledger.store import Ledger
from tests.corerig import Rig, card
from tests.felt import setup
from tests.ledgers import WALL, Desk, new_desk, opening, record
from tests.unit.test_archives import acknowledge, reopen
from tests.waiting import wait_until

FORM, STATE = "this program", {"seats": [[1, "s-1"]]}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return new_desk(tmp_path)


def kept(desk: Desk) -> None:
    """A session with a state in its midst."""
    with desk.open() as ledger:
        for one in opening():
            ledger.append([one], WALL)
        ledger.append([record("seat.taken", seat=1)], WALL)
        ledger.keep_image(FORM, STATE)
        ledger.append([record("seat.left", seat=1)], WALL)


def types(found: Beginning) -> list[str]:
    return [one.type for one in found.records]


def test_only_what_came_after_is_read(desk: Desk) -> None:
    kept(desk)
    with desk.open() as ledger:
        found = ledger.beginning(FORM)
        assert found.image == STATE
        assert types(found) == ["seat.left"]
        assert found.opened is not None
        assert found.opened.type == "table.opened"
        assert [one.type for one in ledger.restore_rows()] == ["table.opened", "seat.taken", "seat.left"]


def test_the_newest_takes_the_place_of_the_others(desk: Desk) -> None:
    kept(desk)
    with desk.open() as ledger:
        ledger.keep_image(FORM, {"seats": []})
    with desk.open() as ledger:
        found = ledger.beginning(FORM)
        assert (found.image, types(found)) == ({"seats": []}, [])


def test_another_program_reads_the_records(desk: Desk) -> None:
    kept(desk)
    with desk.open() as ledger:
        found = ledger.beginning("another program")
        assert found.image is None
        assert ledger.check_tail() == ()
        assert types(found) == ["table.opened", "seat.taken", "seat.left"]


def test_a_later_opening_needs_no_state_from_before_it(desk: Desk) -> None:
    kept(desk)
    with desk.open() as ledger:
        ledger.append([record("table.opened", game="omaha")], WALL)
        found = ledger.beginning(FORM)
        assert (found.image, types(found)) == (None, ["table.opened"])


CHANGES = {
    "its body": "UPDATE image SET body = CAST(replace(CAST(body AS TEXT), 's-1', 's-2') AS BLOB)",
    "its row": "UPDATE image SET row = row + 1",
    "its ends": "UPDATE image SET heads = replace(heads, '\"0', '\"1')",
    "its seal": "UPDATE image SET mac = zeroblob(32)",
    "the rows": "UPDATE row SET body = CAST(replace(CAST(body AS TEXT), 'zg1', 'zg2') AS BLOB) "
    "WHERE stream = 'play' AND sequence = 2",
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_state_that_the_rows_do_not_lead_to_is_not_believed(desk: Desk, what: str) -> None:
    kept(desk)
    with closing(sqlite3.connect(desk.path)) as connection:
        if what == "the rows":
            connection.execute("DROP TRIGGER row_is_frozen")
        connection.execute(CHANGES[what])
        connection.commit()
    with desk.open() as ledger:
        assert [fault for fault in ledger.check_tail() if "kept beside the rows" in fault.what]
        found = ledger.beginning(FORM)
        assert found.image is None
        assert types(found) == ["table.opened", "seat.taken", "seat.left"]


def test_it_serves_the_file_that_comes_after_an_archived_one(desk: Desk) -> None:
    kept(desk)
    with desk.open() as ledger:
        ledger.append([record("table.closed", hands=0)], WALL)
    acknowledge(desk.path)
    with reopen(desk, archive_mb=0) as ledger:
        found = ledger.beginning(FORM)
        assert found.image == STATE
        assert types(found) == ["seat.left", "table.closed"]


def test_a_file_from_before_is_migrated_and_read_as_it_is(desk: Desk) -> None:
    kept(desk)
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.executescript("DROP TABLE image; PRAGMA user_version = 3")
    with desk.open() as ledger:
        assert ledger.beginning(FORM).image is None
        ledger.keep_image(FORM, STATE)
        assert ledger.beginning(FORM).image == STATE


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(corethread, "KEEP_EVERY", 5)
    rig = Rig(tmp_path)
    yield rig
    rig.core.stop("test", 10)
    rig.ledger.close()


def state_row(path: Path) -> int:
    with closing(database.connect_read_only(path)) as connection:
        found = connection.execute("SELECT max(row) FROM image").fetchone()[0]
    return int(found or 0)


def test_the_table_keeps_it_between_hands_only(rig: Rig) -> None:
    rig.say("open", button=2)
    for seat in (1, 2, 3):
        rig.say("seat", seat=seat, stack=10_000)
    wait_until(lambda: state_row(rig.ledger.path) > 0, what="state kept")
    before = state_row(rig.ledger.path)
    rig.begin_hand()
    for number in range(1, 5):
        rig.offer(card(number, ("As", "Kd", "2c", "7h")[number - 1]))
    assert state_row(rig.ledger.path) <= rig.ledger.row - 4
    assert state_row(rig.ledger.path) >= before
    made = list(rig.ledger.restore_rows())
    found = beginning(rig.ledger)
    live, table = Table.restore(setup(unit=1), made), Table.restore(setup(unit=1), found.records, found.image)
    assert found.image is not None
    assert table.session.state == live.session.state


def beginning(ledger: Ledger) -> Beginning:
    return ledger.beginning(image.form(setup(unit=1)))
