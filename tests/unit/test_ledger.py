"""The ledger: one transaction, dense sequences, one writer, and no trace of an append that failed."""

import json
import sqlite3
from pathlib import Path

import pytest

from controller.contract.checkpoint import Head
from controller.contract.integrity import GENESIS, digest
from controller.contract.topics import Source
from controller.ledger.errors import AppendFailed, LedgerBusy, LedgerDamaged, LedgerError
from controller.ledger.keys import Keys, load_verify_key
from controller.ledger.outbox import Outbox
from controller.ledger.signature import SigningRhythm
from controller.ledger.store import Ledger
from controller.ledger.verify import verify
from tests.ledgers import DAY, SESSION, SOURCE, WALL, Desk, hand_records, new_desk, opening, play, record


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return new_desk(tmp_path)


def types(ledger: Ledger, count: int = 100) -> list[str]:
    return [json.loads(body)["type"] for body in ledger.tail(count)]


def test_a_new_ledger_begins(desk: Desk) -> None:
    with desk.open() as ledger:
        assert types(ledger) == ["ledger.began"]
        (body,) = ledger.tail(1)
        event = json.loads(body)
        assert event["data"] == {"previous": None, "reason": "first"}
        assert event["prev"] == GENESIS
        assert event["gamingday"] == DAY
        assert event["test"] is True
        assert ledger.head("ops") == Head(1, digest(body))
        assert ledger.head("play") == Head()
    assert desk.path.stat().st_mode & 0o777 == 0o600


def test_rows_sequences_and_hashes_go_on_after_a_restart(desk: Desk) -> None:
    with desk.open(signing=False) as ledger:
        assert [item.row for item in ledger.append(opening(), WALL)] == [2, 3]
        head = ledger.head("play")
    with desk.open(signing=False) as ledger:
        assert ledger.head("play") == head
        assert [item.row for item in ledger.append([record("seat.taken", seat=1)], WALL)] == [4]
        event = json.loads(ledger.tail(1)[0])
        assert event["sequence"] == f"{2:016d}"
        assert event["row"] == f"{4:016d}"
        assert event["prev"] == head.sha256


def test_the_given_id_makes_the_same_bytes_again(tmp_path: Path) -> None:
    bodies = []
    for name in "ab":
        desk = new_desk(tmp_path / name)
        with desk.open(signing=False, new_id="8b0e6a54-6f0e-4d0e-9d53-1c6d1b1d7c11") as ledger:
            play(ledger)
            bodies.append(ledger.tail(1000))
    assert bodies[0] == bodies[1]


def test_an_id_is_refused_outside_test_mode(desk: Desk) -> None:
    with pytest.raises(LedgerError, match="test mode only"):
        Ledger.open(desk.path, source=Source("zg1", "t07"), test=False, keys=Keys(bytes(32)), new_id="x")


def test_a_second_writer_is_refused_by_name(desk: Desk) -> None:
    with desk.open(), pytest.raises(LedgerBusy, match=r"process \d+ has it"):
        desk.open()
    with desk.open():
        pass


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_second_writer_by_another_name_is_refused(desk: Desk, tmp_path: Path, elsewhere: bool) -> None:
    """The lock is the file's, not the name's: also through a symbolic link to it or to its folder."""
    with desk.open() as ledger:
        folder = tmp_path / "other"
        if elsewhere:
            folder.symlink_to(ledger.path.parent)
            other = folder / ledger.path.name
        else:
            folder.mkdir()
            other = folder / "linked.ledger"
            other.symlink_to(ledger.path)
        with pytest.raises(LedgerBusy, match=r"process \d+ has it"):
            Ledger.open(other, source=SOURCE, test=True, keys=desk.keys())
    assert not list(folder.glob("linked.ledger?*")), "nothing is made beside a link"


def test_a_ledger_with_two_names_is_refused(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "hard.ledger"
    with desk.open() as ledger:
        other.hardlink_to(path := ledger.path)
        with pytest.raises(LedgerError, match=r"2 names \(hard links\)"):
            Ledger.open(other, source=SOURCE, test=True, keys=desk.keys())
    with pytest.raises(LedgerError, match="hard links"):
        desk.open()
    other.unlink()
    with desk.open() as ledger:
        assert ledger.path == path


@pytest.mark.parametrize(
    ("source", "test", "what"),
    [
        (Source("zg1", "t08"), True, "table"),
        (Source("zg2", "t07"), True, "site"),
        (Source("zg1", "t07"), False, "test"),
    ],
)
def test_the_file_of_another_table_or_mode_is_refused(desk: Desk, source: Source, test: bool, what: str) -> None:
    desk.open().close()
    with pytest.raises(LedgerError, match=f"its {what} is"):
        Ledger.open(desk.path, source=source, test=test, keys=desk.keys())
    desk.open().close()


def test_a_file_that_is_no_ledger_is_refused(desk: Desk) -> None:
    desk.path.write_bytes(b"something else" * 400)
    with pytest.raises(LedgerDamaged):
        desk.open()
    with pytest.raises(LedgerError):
        Ledger.open(desk.folder / "none" / "x", source=Source("a", "b"), test=True, keys=desk.keys())


def test_a_newer_file_is_refused(desk: Desk) -> None:
    desk.open().close()
    with sqlite3.connect(desk.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(LedgerError, match="newer than this program"):
        desk.open()


def test_a_lost_end_is_noticed_at_the_start(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger, hands=1)
    with sqlite3.connect(desk.path) as connection:
        connection.execute("DELETE FROM row WHERE row = (SELECT max(row) FROM row)")
    connection.close()
    with pytest.raises(LedgerDamaged, match="lost or changed"):
        desk.open()


@pytest.mark.parametrize("broken", ["not json", "too large", "secret", "disk"])
def test_an_append_that_fails_leaves_nothing(desk: Desk, broken: str) -> None:
    with desk.open() as ledger:
        ledger.append(opening(), WALL)
        before, head = ledger.row, ledger.head("play")
        batch = hand_records("h1")[:6]
        if broken == "not json":
            batch[5].data["x"] = object()
        elif broken == "too large":
            batch[5].data["x"] = "x" * 70_000
        elif broken == "secret":
            batch[4].secret = {"x": object()}
        else:
            (pages,) = ledger._connection.execute("PRAGMA page_count").fetchone()
            ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
            batch[5].data["x"] = "x" * 30_000
        with pytest.raises(AppendFailed, match="nothing was stored"):
            ledger.append(batch, WALL)
        assert (ledger.row, ledger.head("play")) == (before, head)
        ledger._connection.execute("PRAGMA max_page_count = 1000000")
        assert ledger.append(hand_records("h1"), WALL)[0].row == before + 1
    assert verify(desk.path).ok


def test_nothing_is_ever_edited(desk: Desk) -> None:
    desk.open().close()
    with sqlite3.connect(desk.path) as connection:
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute("UPDATE row SET body = x'00'")
        connection.execute("UPDATE row SET acked = 1")
    connection.close()


def test_the_table_is_restored_from_its_last_opening(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger, hands=1)
        ledger.append([record("table.closed", hands=1)], WALL)
        later = [*opening(), *hand_records("h9")]
        for rec in later:
            ledger.append([rec], WALL)
    with desk.open() as ledger:
        found = list(ledger.restore_rows())
    expected = later[1:]
    for rec in expected:
        rec.secret = None
    assert found == expected


def test_a_table_that_never_opened_is_restored_from_the_start(desk: Desk) -> None:
    with desk.open() as ledger:
        ledger.append([record("daemon.started", "ops")], WALL)
        assert [rec.type for rec in ledger.restore_rows()] == ["daemon.started"]


def test_each_stream_is_signed_when_a_hand_ends(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger, hands=0)
        assert "ledger.signed" not in types(ledger)
        records = hand_records("h1")
        ledger.append(records[:-1], WALL)
        signed = [json.loads(body) for body in ledger.tail(3)]
        assert [event["type"] for event in signed] == ["ledger.signed"] * 3
        assert [event["source"].rsplit("/", 1)[1] for event in signed] == ["play", "cash", "ops"]
        assert signed[0]["data"]["head"]["sha256"] == signed[0]["prev"]
        assert signed[0]["session"] == SESSION
        ledger.append([record("hand.closed", hand="h1")], WALL)
        assert types(ledger, 2) == ["hand.closed", "ledger.signed"], "a stream without news is not signed again"
    assert verify(desk.path, public_keys=[load_verify_key(desk.folder / "signing.pub")]).ok


def test_a_head_is_signed_after_so_many_rows_and_so_much_time(desk: Desk) -> None:
    second = 1_000_000_000
    with desk.open(rhythm=SigningRhythm(rows=3, period_ms=10_000)) as ledger:
        for seat in range(1, 8):
            ledger.append([record("seat.taken", seat=seat)], WALL)
        assert types(ledger).count("ledger.signed") == 2
        assert not ledger.sign_due(5 * second, WALL), "the first call starts the clock"
        assert not ledger.sign_due(14 * second, WALL)
        assert ledger.sign_due(15 * second, WALL)
        assert types(ledger, 2) == ["ledger.signed", "ledger.signed"], "play and ops"
        assert not ledger.sign_due(25 * second, WALL), "nothing is new"
    with desk.open(rhythm=SigningRhythm(rows=3)) as ledger:
        ledger.append([record("seat.left", seat=1), record("seat.left", seat=2)], WALL)
        assert types(ledger, 1) == ["seat.left"], "what was signed before the restart is known"
        ledger.append([record("seat.left", seat=3)], WALL)
        assert types(ledger, 1) == ["ledger.signed"]


def test_without_a_signing_key_nothing_is_signed(desk: Desk) -> None:
    with desk.open(signing=False) as ledger:
        play(ledger)
        assert not ledger.sign_due(0, WALL)
        assert not ledger.sign_due(10**15, WALL)
        assert "ledger.signed" not in types(ledger)
    assert verify(desk.path).ok


def test_the_outbox_has_what_is_unsent_in_order(desk: Desk) -> None:
    with desk.open(signing=False) as ledger:
        play(ledger, hands=1)
        outbox = Outbox(desk.path)
        everything = outbox.unsent(0, 1000)
        assert [item.row for item in everything] == list(range(1, ledger.row + 1))
        assert [item.body for item in everything] == ledger.tail(1000)
        outbox.mark_acked([1, 2, 4])
        assert [item.row for item in outbox.unsent(0, 3)] == [3, 5, 6]
        assert [item.row for item in outbox.unsent(5, 2)] == [6, 7]
        backlog = outbox.backlog()
        assert backlog.rows == ledger.row - 3
        assert backlog.ranges["play"] == (1, ledger.head("play").sequence)
        assert "ops" not in backlog.ranges
        assert [outbox.next_session(), outbox.next_session()] == [1, 2]
        outbox.close()


def test_a_withheld_row_stays_as_it_was_decided(desk: Desk) -> None:
    with desk.open() as ledger:
        ledger.append(opening(), WALL)
        outbox = Outbox(desk.path)
        item = outbox.unsent(0, 1)[0]
        first = outbox.withhold(item, "not_authorized")
        again = outbox.withhold(item, "quota_exceeded")
        assert first == again
        assert outbox.unsent(0, 1) == [first]
        assert json.loads(first.body)["data"]["original_sha256"] == digest(item.body)
        outbox.close()
    assert verify(desk.path).ok, "the chain is of the originals"


def test_reading_the_outbox_uses_the_index_of_unsent_rows(desk: Desk) -> None:
    """The work for a new row must not grow with the ledger."""
    desk.open().close()
    with sqlite3.connect(desk.path) as connection:
        for query in (
            "SELECT row FROM row INDEXED BY row_unacked WHERE acked = 0 AND row > 5 ORDER BY row LIMIT 20",
            "SELECT row FROM row WHERE type = 'table.opened' ORDER BY row DESC LIMIT 1",
            "SELECT max(sequence) FROM row WHERE stream = 'play' AND type = 'ledger.signed'",
        ):
            plan = " ".join(str(step[3]) for step in connection.execute(f"EXPLAIN QUERY PLAN {query}"))
            assert "INDEX row_" in plan
            assert "TEMP B-TREE" not in plan
    connection.close()
