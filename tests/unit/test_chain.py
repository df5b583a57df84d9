"""Whatever is done to a stored row is found, and named."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.contract.checkpoint import Checkpoint, Head
from controller.contract.following import Report
from controller.contract.integrity import digest
from controller.ledger.errors import LedgerError
from controller.ledger.keys import create_signing_key, load_verify_key
from controller.ledger.verify import read_checkpoint, verify
from tests.ledgers import WALL, Desk, new_desk, opened, play, record


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A ledger of two hands in three streams, closed and complete."""
    desk = new_desk(tmp_path_factory.mktemp("chain"))
    with desk.open() as ledger:
        play(ledger)
        ledger.append([record("seat.left", seat=3)], WALL)
    return desk


def rows_of(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        (count,) = connection.execute("SELECT count(*) FROM row").fetchone()
    connection.close()
    return int(count)


@contextmanager
def forged(desk: Desk) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """A copy of the ledger in the hands of somebody who can write it."""
    copy = desk.folder / "forged.ledger"
    shutil.copy(desk.path, copy)
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.execute("DROP TRIGGER row_is_frozen")
    try:
        yield copy, connection
    finally:
        connection.close()
        copy.unlink()


def named(report: Report, row: int) -> bool:
    return any(fault.row == row for fault in report.faults)


def test_an_untouched_ledger_is_sound(desk: Desk) -> None:
    report = verify(desk.path, public_keys=[load_verify_key(desk.folder / "signing.pub")])
    assert report.faults == ()
    assert report.ok
    assert report.rows == rows_of(desk.path)
    assert report.cards_opened == 4
    assert report.signatures == 4, "play, cash and ops at the first hand's end; play alone at the second's"
    assert any("no checkpoint" in note for note in report.notes)
    assert any("play: 2 events" in note for note in report.notes)


change = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@change
@given(data=st.data())
def test_any_changed_byte_is_found(desk: Desk, data: st.DataObject) -> None:
    with forged(desk) as (path, db):
        row = data.draw(st.integers(1, rows_of(desk.path)), label="row")
        (body,) = db.execute("SELECT body FROM row WHERE row = ?", (row,)).fetchone()
        at = data.draw(st.integers(0, len(body) - 1), label="byte")
        value = data.draw(st.integers(0, 255).filter(lambda new: new != body[at]), label="value")
        db.execute("UPDATE row SET body = ? WHERE row = ?", (body[:at] + bytes([value]) + body[at + 1 :], row))
        report = verify(path)
    assert named(report, row)


@change
@given(data=st.data())
def test_any_removed_run_is_found(desk: Desk, data: st.DataObject) -> None:
    with forged(desk) as (path, db):
        total = rows_of(desk.path)
        low = data.draw(st.integers(1, total), label="from")
        high = data.draw(st.integers(low, total), label="to")
        db.execute("DELETE FROM row WHERE row BETWEEN ? AND ?", (low, high))
        report = verify(path)
    assert any("removed" in fault.what for fault in report.faults)


@change
@given(data=st.data())
def test_any_reordered_pair_is_found(desk: Desk, data: st.DataObject) -> None:
    """Two rows change places: their bodies only, their numbers with them, or their place in the file."""
    total = rows_of(desk.path)
    one = data.draw(st.integers(1, total - 1), label="one")
    other = data.draw(st.integers(one + 1, total), label="other")
    how = data.draw(st.sampled_from(["body", "row"]), label="how")
    with forged(desk) as (path, db):
        if how == "body":
            first, second = (
                db.execute("SELECT body FROM row WHERE row = ?", (row,)).fetchone()[0] for row in (one, other)
            )
            db.executemany("UPDATE row SET body = ? WHERE row = ?", [(second, one), (first, other)])
        else:
            for old, new in ((one, -1), (other, one), (-1, other)):
                db.execute("UPDATE row SET row = ? WHERE row = ?", (new, old))
        report = verify(path)
    assert named(report, one)
    assert named(report, other)


@change
@given(data=st.data())
def test_any_inserted_row_is_found(desk: Desk, data: st.DataObject) -> None:
    """A copy of a row, made to fit its new place as well as one can without the rows behind it."""
    total = rows_of(desk.path)
    model = data.draw(st.integers(1, total), label="model")
    with forged(desk) as (path, db):
        stream, kind, body = db.execute("SELECT stream, type, body FROM row WHERE row = ?", (model,)).fetchone()
        sequence, last = db.execute(
            "SELECT sequence, body FROM row WHERE stream = ? ORDER BY sequence DESC LIMIT 1", (stream,)
        ).fetchone()
        event = json.loads(body)
        event |= {"row": f"{total + 1:016d}", "sequence": f"{sequence + 1:016d}", "prev": digest(last)}
        event["id"] = event["id"][:-16] + event["sequence"]
        db.execute(
            "INSERT INTO row (stream, sequence, type, hand, body) VALUES (?, ?, ?, ?, ?)",
            (stream, sequence + 1, kind, event["data"].get("hand"), json.dumps(event).encode()),
        )
        report = verify(path)
    assert named(report, total + 1)


def test_a_row_pushed_between_others_is_found(desk: Desk) -> None:
    with forged(desk) as (path, db):
        db.execute("UPDATE row SET sequence = -sequence WHERE stream = 'play' AND sequence > 5")
        db.execute("UPDATE row SET sequence = 1 - sequence WHERE sequence < 0")
        db.execute("INSERT INTO row (stream, sequence, type, body) SELECT stream, 6, type, body FROM row WHERE row = 6")
        assert not verify(path).ok


def test_a_chain_made_anew_is_found_by_the_signature(desk: Desk) -> None:
    """Who can write the file can make every hash fit again, but not the signatures."""
    with forged(desk) as (path, db):
        rehash(db, "play", lambda event: event["data"].update(seat=2) if event["type"] == "action.taken" else None)
        assert verify(path).ok is False, "the signatures' own heads do not fit"
        rehash(db, "play", fit_signature)
        assert verify(path).ok, "without a key a whole new chain looks sound"
        report = verify(path, public_keys=[load_verify_key(desk.folder / "signing.pub")])
        assert any("not valid" in fault.what for fault in report.faults)


def rehash(db: sqlite3.Connection, stream: str, edit: Callable[[dict[str, Any]], object]) -> None:
    previous, sequence = "0" * 64, 0
    for row, body in db.execute("SELECT row, body FROM row WHERE stream = ? ORDER BY sequence", (stream,)).fetchall():
        event = json.loads(body)
        event["prev"] = previous
        edit(event)
        made = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
        db.execute("UPDATE row SET body = ? WHERE row = ?", (made, row))
        previous, sequence = hashlib.sha256(made).hexdigest(), sequence + 1
    db.execute("UPDATE head SET sha256 = ? WHERE stream = ?", (previous, stream))


def fit_signature(event: dict[str, Any]) -> None:
    if "signature" in event["data"]:
        event["data"]["head"]["sha256"] = event["prev"]


def test_an_end_cut_off_cleanly_is_seen_by_a_checkpoint_only(desk: Desk) -> None:
    sound = verify(desk.path)
    checkpoint = Checkpoint(sound.ledger, sound.heads)
    with forged(desk) as (path, db):
        db.execute("DELETE FROM row WHERE row = (SELECT max(row) FROM row WHERE stream = 'play')")
        sequence, body = db.execute("SELECT sequence, body FROM row WHERE stream = 'play' ORDER BY row DESC").fetchone()
        db.execute("UPDATE head SET sequence = ?, sha256 = ? WHERE stream = 'play'", (sequence, digest(body)))
        assert verify(path).ok
        report = verify(path, checkpoint=checkpoint)
    assert [fault.stream for fault in report.faults] == ["play"]
    assert verify(desk.path, checkpoint=checkpoint).ok


def test_a_checkpoint_of_another_ledger_or_hash_is_said(desk: Desk) -> None:
    other = Checkpoint("11111111-1111-4111-8111-111111111111", {})
    assert "another ledger" in str(verify(desk.path, checkpoint=other).faults[0])
    wrong = Checkpoint(verify(desk.path).ledger, {"play": Head(3, "ab" * 32)})
    assert verify(desk.path, checkpoint=wrong).faults[0].sequence == 3


def test_a_checkpoint_file_is_read_or_refused(desk: Desk, tmp_path: Path) -> None:
    good = tmp_path / "good.json"
    good.write_text('{"ledger": "x", "heads": {"play": {"sequence": "0000000000000003", "sha256": "ab"}}}')
    assert read_checkpoint(good) == Checkpoint("x", {"play": Head(3, "ab")})
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    with pytest.raises(LedgerError, match="no checkpoint"):
        read_checkpoint(bad)


def test_a_strange_signing_key_is_a_fault(desk: Desk, tmp_path: Path) -> None:
    create_signing_key(tmp_path / "other.key", tmp_path / "other.pub")
    report = verify(desk.path, public_keys=[load_verify_key(tmp_path / "other.pub")])
    assert len(report.faults) == report.signatures


def test_another_card_than_the_one_dealt_is_a_fault(tmp_path: Path) -> None:
    desk = new_desk(tmp_path)
    with desk.open() as ledger:
        play(ledger, hands=0)
        ledger.append([record("hand.started", hand="h1")], WALL)
        ledger.append([opened("h1", 7, "As")], WALL)
    assert "never bound" in verify(desk.path).faults[0].what


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no such file"):
        verify(tmp_path / "none")
    text = tmp_path / "text"
    text.write_text("no database" * 100)
    with pytest.raises(LedgerError):
        verify(text)
