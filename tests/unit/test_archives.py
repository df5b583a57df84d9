"""A ledger that is put away: the next file goes on with the chain, a restart finds all it needs, nothing is lost."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from controller import cli
from controller.contract.checkpoint import Head
from controller.contract.following import Follower, Stored
from controller.contract.keyring import Keyring
from controller.contract.topics import STREAMS
from controller.core.records import Record
from controller.ledger import files
from controller.ledger.archives import listed, prune
from controller.ledger.compacting import compact
from controller.ledger.errors import LedgerBusy, LedgerDamaged, LedgerError
from controller.ledger.files import Filling, Retention
from controller.ledger.keys import Keys, create_signing_key, load_signing_key, load_verify_key
from controller.ledger.store import Ledger
from controller.ledger.verify import handed_over, verify
from tests.ledgers import DAY, SOURCE, WALL, Desk, new_desk, play, record

DAY_NS = 86_400 * 1_000_000_000
LATER = WALL + 40 * DAY_NS


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return new_desk(tmp_path / "table")


def reopen(desk: Desk, wall: int = LATER, **retention: int) -> Ledger:
    return Ledger.open(
        desk.path, source=SOURCE, test=True, keys=desk.keys(), retention=Retention(**retention), wall_ns=wall
    )


def acknowledge(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE row SET acked = 1")


def closed(desk: Desk) -> tuple[str, dict[str, Head]]:
    """A ledger with a session that has ended, all of it sent."""
    with desk.open() as ledger:
        play(ledger)
        ledger.append([record("table.closed", hands=2)], WALL)
        heads = {stream: ledger.head(stream) for stream in ("play", "cash", "ops")}
        name = ledger.id
    acknowledge(desk.path)
    return name, heads


def test_the_next_file_names_the_one_before_and_its_ends(desk: Desk) -> None:
    old, heads = closed(desk)
    with reopen(desk) as ledger:
        assert ledger.id != old
        began = json.loads(ledger.tail(10)[0])
        assert began["type"] == "ledger.began"
        assert began["data"]["reason"] == "archived"
        assert began["data"]["previous"] == {
            "ledger": old,
            "heads": {stream: head.to_json() for stream, head in heads.items()},
        }
        (archived,) = files.archived(desk.path)
        assert verify(archived).ok
        assert verify(desk.path).ok
        assert not archived.with_name(archived.name + "-wal").exists(), "it can be copied as one file"


def test_a_restart_after_it_finds_the_table_as_it_was(desk: Desk) -> None:
    closed(desk)
    with desk.open() as ledger:
        expected = list(ledger.restore_rows())
        said = ledger.tail(64)
    with reopen(desk) as ledger:
        assert list(ledger.restore_rows()) == expected
        assert ledger.last_said(65)[:-1] == said
        ledger.append([Record("ops", "daemon.started", "t07", {"reason": "start"})], LATER)
    acknowledge(desk.path)
    with reopen(desk, LATER + 40 * DAY_NS) as ledger:
        assert len(files.archived(desk.path)) == 2
        found = list(ledger.restore_rows())
        assert found[: len(expected)] == expected, "through two files in which no table was opened"
        assert found[-1].type == "daemon.started"
        ledger.append([record("table.opened", game="holdem")], LATER)
        assert [rec.type for rec in ledger.restore_rows()] == ["table.opened"]


@pytest.mark.parametrize("why", ["unsent", "open table", "young", "someone reads it"])
def test_it_stays_where_it_is_while_it_must(desk: Desk, why: str) -> None:
    with desk.open() as ledger:
        play(ledger)
        if why != "open table":
            ledger.append([record("table.closed", hands=2)], WALL)
    if why != "unsent":
        acknowledge(desk.path)
    with closing(sqlite3.connect(desk.path)) as reader:
        if why == "someone reads it":
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM row").fetchone()
        with reopen(desk, WALL if why == "young" else LATER) as ledger:
            assert files.archived(desk.path) == []
            assert ledger.row > 1


def test_size_is_a_reason_too(desk: Desk) -> None:
    closed(desk)
    with reopen(desk, WALL, archive_mb=0):
        assert len(files.archived(desk.path)) == 1


@pytest.mark.parametrize("moment", ["before the new file is whole", "between the two renames", "after all"])
def test_a_crash_while_it_is_put_away_loses_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    old, _ = closed(desk)
    real: Callable[..., Any] = Path.rename
    count = 0

    def crash(self: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if (moment, count) in (("before the new file is whole", 1), ("between the two renames", 2)):
            raise KeyboardInterrupt
        done: Path = real(self, target)
        if (moment, count) == ("after all", 2):
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Path, "rename", crash)
    with pytest.raises(KeyboardInterrupt):
        reopen(desk)
    monkeypatch.undo()
    with reopen(desk) as ledger:
        began = json.loads(ledger.tail(100)[0])
        assert began["data"]["previous"]["ledger"] == old
        assert [rec.type for rec in ledger.restore_rows()][-1] == "table.closed"
    assert len(files.archived(desk.path)) == 1
    assert not desk.path.with_name(desk.path.name + ".next").exists()


def test_a_missing_archive_is_said_with_its_name(desk: Desk) -> None:
    closed(desk)
    reopen(desk).close()
    files.archived(desk.path)[0].unlink()
    with reopen(desk, LATER) as ledger, pytest.raises(LedgerError, match=r"archive/.*no such file"):
        list(ledger.restore_rows())


def test_old_files_are_listed_and_deleted_by_a_person_only(desk: Desk) -> None:
    closed(desk)
    for turn in range(1, 4):
        with reopen(desk, LATER + turn * 40 * DAY_NS):
            pass
        acknowledge(desk.path)
    found = listed(desk.path)
    assert len(found) == 3
    assert found[0].first[:10] == DAY
    assert prune(desk.path, "2030-01-01", really=False) == [one.path for one in found[:-1]]
    assert len(files.archived(desk.path)) == 3
    assert prune(desk.path, found[1].last[:10], really=True) == [found[0].path]
    assert prune(desk.path, "2030-01-01", really=True) == [found[1].path], "the newest one always stays"


NO_EVENTS = [b"", b"\x00", b"[]", b"7", b"{}", b'{"time": 5}', b'{"time": "zz"}', b"[" * 60_000]


@pytest.mark.parametrize("body", NO_EVENTS)
def test_a_file_that_begins_with_no_event_stays_and_the_table_starts(desk: Desk, body: bytes) -> None:
    closed(desk)
    damage(desk.path, body)
    with reopen(desk) as ledger:
        assert files.archived(desk.path) == []
        assert [fault for fault in verify(desk.path).faults if fault.row == 1]
        assert not files.is_due_now(desk.path, Retention(), LATER)
        assert ledger.row > 1


@pytest.mark.parametrize("body", NO_EVENTS)
def test_an_archived_file_that_is_damaged_is_named(desk: Desk, body: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    closed(desk)
    with reopen(desk):
        pass
    (file,) = files.archived(desk.path)
    damage(file, body)
    for what in (["archives", str(desk.path)], ["prune", str(desk.path), "--before", "2026-01-01"]):
        code, said = cli.main(["ledger", *what]), capsys.readouterr().err
        if b"time" not in body:
            assert (code, said.count("\n")) == (4, 1)
            assert file.name in said


def damage(path: Path, body: bytes) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER row_is_frozen")
        connection.execute("UPDATE row SET body = ? WHERE row = 1", (body,))


def test_compacting_gives_space_back_and_not_under_a_daemon(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger, hands=30)
        with pytest.raises(LedgerBusy):
            compact(desk.path)
    done = compact(desk.path)
    assert 0 < done.after <= done.before
    assert done.damaged is None
    assert verify(desk.path).ok


@pytest.mark.parametrize(("used", "level"), [(79, 0), (80, 80), (89, 80), (90, 90), (99, 90), (100, 100), (250, 100)])
def test_the_levels_of_filling(used: int, level: int) -> None:
    assert Filling(used, 100).level == level


def test_the_bound_is_what_the_disk_has_where_that_is_less(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk.open() as ledger:
        play(ledger)
        whole = files.filling(desk.path, Retention(limit_mb=1))
        assert whole.limit == 1_000_000
        assert whole.used >= desk.path.stat().st_size
        left = os.statvfs_result((4096, 4096, 0, 0, 0, 0, 0, 0, 0, 255))
        monkeypatch.setattr(os, "statvfs", lambda path: left)
        assert files.filling(desk.path, Retention()).level == 100


# ---------------------------------------------------------------- keys


def rotated(desk: Desk) -> Keys:
    create_signing_key(desk.folder / "second.key", desk.folder / "second.pub")
    old = desk.keys()
    return Keys(old.device, old.auditor, load_signing_key(desk.folder / "second.key"), old.signing)


def open_with(desk: Desk, keys: Keys) -> Ledger:
    return Ledger.open(desk.path, source=SOURCE, test=True, keys=keys, wall_ns=WALL)


def test_a_new_key_takes_over_under_both_signatures(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger)
    with open_with(desk, rotated(desk)) as ledger:
        last = [json.loads(body) for body in ledger.tail(8)]
        rotations = [event for event in last if event["type"] == "key.rotated"]
        assert all(event["data"]["valid_from"] == event["row"] for event in rotations)
        assert [event["source"].rsplit("/", 1)[1] for event in rotations] == list(STREAMS)
        after = [event for event in last if event["row"] > rotations[-1]["row"]]
        assert {event["data"]["key"] for event in after} == {rotations[0]["data"]["new"]}
        play(ledger)
    with open_with(desk, rotated_again(desk)) as ledger:
        said = [json.loads(body)["type"] for body in ledger.tail(1000)]
        assert said.count("key.rotated") == len(STREAMS), "once is enough"
    pinned = load_verify_key(desk.folder / "signing.pub")
    assert verify(desk.path, public_keys=[pinned]).ok, "who pinned the first key follows the handing over"
    second = load_verify_key(desk.folder / "second.pub")
    assert not verify(desk.path, public_keys=[second]).ok, "the new key alone does not cover what was before it"
    assert verify(desk.path, public_keys=[second, *handed_over(desk.path)]).ok


@pytest.mark.parametrize("stream", STREAMS)
def test_whoever_follows_a_single_stream_follows_the_handing_over_too(desk: Desk, stream: str) -> None:
    with desk.open() as ledger:
        play(ledger)
    with open_with(desk, rotated(desk)) as ledger:
        play(ledger)
        bodies = ledger.tail(1000)
        keys = Keyring([load_verify_key(desk.folder / "signing.pub")])
        follower = Follower(SOURCE, ledger.id, test=True, keys=keys)
    for event, body in ((json.loads(body), body) for body in bodies):
        if event["source"].endswith(f"/{stream}"):
            follower.follow(Stored(int(event["row"]), stream, int(event["sequence"]), body))
    assert follower.report().faults == ()
    assert follower.report().signatures


def rotated_again(desk: Desk) -> Keys:
    old = desk.keys()
    return Keys(old.device, old.auditor, load_signing_key(desk.folder / "second.key"))


def test_a_strange_key_is_refused_without_the_one_before(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger)
    rotated(desk)
    with pytest.raises(LedgerError, match="signing_key_before"):
        open_with(desk, rotated_again(desk))
    with desk.open() as ledger:
        assert ledger.row


def test_a_handing_over_that_the_old_key_did_not_sign_is_a_fault(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger)
    with open_with(desk, rotated(desk)):
        pass
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as forger:
        forger.execute("DROP TRIGGER row_is_frozen")
        row, body = forger.execute("SELECT row, body FROM row WHERE type = 'key.rotated'").fetchone()
        event = json.loads(body)
        event["data"]["signed_by_old"] = event["data"]["signed_by_new"]
        forger.execute("UPDATE row SET body = ? WHERE row = ?", (json.dumps(event).encode(), row))
    report = verify(desk.path, public_keys=[load_verify_key(desk.folder / "signing.pub")])
    assert any("old key has not signed" in fault.what for fault in report.faults)


# ---------------------------------------------------------------- the end, looked at when it is opened


def spoil(path: Path, edit: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as spoiler:
        spoiler.execute("DROP TRIGGER row_is_frozen")
        spoiler.execute(edit)


def changed(old: str, new: str, row: int) -> str:
    return f"UPDATE row SET body = CAST(replace(CAST(body AS TEXT), '{old}', '{new}') AS BLOB) WHERE row = {row}"


def test_a_sound_end_has_no_fault_and_one_changed_row_is_named(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger)
        ledger.append([record("seat.left", seat=3)], WALL)
        ledger.append([record("seat.left", seat=4)], WALL)
    with desk.open() as ledger:
        assert ledger.check_tail() == ()
        row = ledger.row - 1
    spoil(desk.path, changed('"seat":3', '"seat":5', row))
    with desk.open() as ledger:
        faults = ledger.check_tail()
        assert [fault.row for fault in faults] == [row]
        assert ledger.append([record("seat.left", seat=6)], WALL), "a fault is told, not a reason to stop"


def test_what_a_signature_covers_is_left_to_the_background(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger)
        row = next(int(event["row"]) for event in map(json.loads, ledger.tail(100)) if event["type"] == "action.taken")
    spoil(desk.path, changed("check", "chekk", row))
    with desk.open() as ledger:
        assert ledger.check_tail() == ()
    assert not verify(desk.path).ok


def test_a_lost_end_is_still_refused(desk: Desk) -> None:
    """Whatever is appended to it would be built on a table that is not what was played."""
    with desk.open() as ledger:
        play(ledger)
    spoil(desk.path, "DELETE FROM row WHERE row = (SELECT max(row) FROM row)")
    with pytest.raises(LedgerDamaged, match="lost or changed"):
        desk.open()
