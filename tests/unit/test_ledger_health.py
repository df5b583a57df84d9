"""What ``feltd health`` and the numbers say of the ledger: faults of each check, and how full it is."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from controller import ledgercare
from controller.contract.following import Fault, Report
from controller.delivery.replay import Unread, begin
from controller.delivery.requests import Address, Refusal, ReplayWanted
from controller.health import Health
from controller.inbox import Inbox
from controller.ledger import files
from controller.ledger.files import MB, Retention
from controller.ledgercare import BackgroundCheck, FillWatch
from tests.ledgers import WALL, Desk, new_desk, play, record
from tests.unit.test_archives import acknowledge, reopen
from tests.waiting import wait_until


class Room(NamedTuple):
    """What the system says of a disk, in bytes."""

    total: int
    used: int
    free: int


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = new_desk(tmp_path)
    with desk.open() as ledger:
        play(ledger, 2)
        ledger.append([record("table.closed", hands=2)], WALL)
    return desk


def told(desk: Desk, fill: FillWatch, at_start: tuple[Fault, ...] = (), *, check: bool = False) -> tuple[str, str]:
    found: list[Report] = []
    checking = BackgroundCheck(desk.path, (), found.append, at_start=at_start)
    health = Health(desk.path, Inbox(), {}, None, fill, checking)
    if check:
        checking.start()
        wait_until(lambda: found, what="the report")
        checking.stop()
    line = next(one for one in health.metrics().splitlines() if one.startswith("feltd_ledger_faults "))
    return health.report()["checks"]["ledger"], line.split()[-1]


def test_faults_of_the_check_at_the_start_count(desk: Desk) -> None:
    fill = FillWatch(desk.path, Retention(), was_full=False)
    assert told(desk, fill) == ("", "0")
    assert told(desk, fill, (Fault(7, "", 0, "changed"),)) == ("not whole: 1 faults", "1")
    assert told(desk, fill, (Fault(7, "", 0, "changed"),), check=True) == ("not whole: 1 faults", "1")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_check_that_breaks_off_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw ended the thread, and health went on to say that all was well."""

    def breaks(*_: object, **__: object) -> Report:
        raise KeyError("of no kind of ours")

    monkeypatch.setattr(ledgercare, "verify", breaks)
    checking = BackgroundCheck(desk.path, (), lambda _: None)
    health = Health(desk.path, Inbox(), {}, None, FillWatch(desk.path, Retention(), was_full=False), checking)
    assert health.report()["ok"]
    checking.start()
    wait_until(lambda: not checking.running, what="its end")
    report = health.report()
    assert (report["ok"], report["ledger"]["checked"]) == (False, None)
    assert "its check broke off" in report["checks"]["ledger"]
    assert "KeyError" in report["checks"]["ledger"]
    assert "of no kind" not in report["checks"]["ledger"], "what an error is about can be a card"


def test_what_both_checks_find_counts_once(desk: Desk) -> None:
    with desk.open() as ledger:
        for seat in (1, 2):
            ledger.append([record("seat.taken", seat=seat)], WALL)
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.execute("DROP TRIGGER row_is_frozen")
        connection.execute("UPDATE row SET body = x'00' WHERE row = (SELECT max(row) - 1 FROM row)")
        connection.commit()
    with desk.open() as ledger:
        at_start = ledger.check_tail()
    fill = FillWatch(desk.path, Retention(), was_full=False)
    _, alone = told(desk, fill, at_start)
    _, both = told(desk, fill, at_start, check=True)
    _, behind = told(desk, fill, check=True)
    assert int(alone) == len(set(at_start)) > 0
    assert max(int(alone), int(behind)) <= int(both) < int(alone) + int(behind)


@pytest.mark.parametrize("free_mb", [0, 1, 63, 64])
def test_a_disk_without_room_is_full_whatever_the_size_of_the_ledger(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, free_mb: int
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Room(10**9, 10**9, free_mb * MB))
    fill = FillWatch(desk.path, Retention(), was_full=False)
    notice = fill.look(lambda: None)
    assert notice is not None
    assert notice["new_hands_refused"]
    assert notice["limit"] == notice["used"] > 1
    assert told(desk, fill)[0] == "100 % full"


def test_who_asks_for_a_ledger_that_was_deleted_hears_where_to_begin(desk: Desk) -> None:
    names = []
    for _ in range(2):
        acknowledge(desk.path)
        with reopen(desk, archive_mb=0) as ledger:
            names.append(ledger.id)
            ledger.append([record("tray.counted", "cash", total=1), record("table.closed", hands=0)], WALL)
    (gone, kept) = files.archived(desk.path)
    unread = cast(Unread, pytest.fail)
    before = begin(desk.path, ReplayWanted(Address("pit", "t"), "cash", names[0], 1, None, 10), unread)
    assert not isinstance(before, Refusal)
    before.close()
    assert kept.name.endswith(f"{names[0]}.ledger")
    with closing(sqlite3.connect(gone)) as connection:
        (lost,) = connection.execute("SELECT value FROM meta WHERE name = 'ledger'").fetchone()
    gone.unlink()
    for stream, lowest in (("cash", f"{1:016d}"), ("play", f"{1:016d}"), ("guard", None)):
        answer = begin(desk.path, ReplayWanted(Address("pit", "t"), stream, lost, 1, None, 10), unread)
        assert isinstance(answer, Refusal)
        where = None if lowest is None else names[0]
        assert answer.content == {"error": "pruned", "lowest": lowest, "ledger": where}
