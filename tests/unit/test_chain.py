"""Whatever is done to a stored row is found, and named."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from controller.cli import main
from controller.contract.checkpoint import Checkpoint, Head
from controller.contract.following import Report
from controller.contract.integrity import MOST_UNSIGNED, digest
from controller.ledger import database
from controller.ledger.errors import KeyFileError, LedgerDamaged, LedgerError
from controller.ledger.keys import create_signing_key, load_auditor_key, load_verify_key
from controller.ledger.reading import read_records
from controller.ledger.verify import verify
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


def guard(db: sqlite3.Connection) -> None:
    """The forger puts the guard back, and the counter of the rows."""
    db.execute("UPDATE sqlite_sequence SET seq = (SELECT max(row) FROM row) WHERE name = 'row'")
    schema = Path(database.__file__).with_name("schema") / "0001_ledger.sql"
    text = schema.read_text(encoding="utf-8")
    begin = text.index("CREATE TRIGGER row_is_frozen")
    db.execute(text[begin : text.index("END;", begin) + 4])


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
        guard(db)
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


def without_signatures(db: sqlite3.Connection, streams: tuple[str, ...]) -> None:
    """Every signature of these streams is taken out, and all that is left is numbered, chained and bound anew."""
    for stream in streams:
        db.execute("DELETE FROM row WHERE stream = ? AND type = 'ledger.signed'", (stream,))
    db.execute("DELETE FROM sealed")
    left = db.execute("SELECT row, stream, body FROM row ORDER BY row").fetchall()
    db.execute("UPDATE row SET row = -row, sequence = -sequence")
    heads: dict[str, tuple[int, str]] = {}
    for row, (old, stream, body) in enumerate(left, 1):
        sequence, prev = heads.get(stream, (0, "0" * 64))
        event = json.loads(body)
        event |= {"row": f"{row:016d}", "sequence": f"{sequence + 1:016d}", "prev": prev}
        event["id"] = f"{event['ledger']}/{stream}/{sequence + 1:016d}"
        made = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
        db.execute("UPDATE row SET row = ?, sequence = ?, body = ? WHERE row = ?", (row, sequence + 1, made, -old))
        heads[stream] = (sequence + 1, hashlib.sha256(made).hexdigest())
    for stream, (sequence, sha256) in heads.items():
        db.execute("UPDATE head SET sequence = ?, sha256 = ? WHERE stream = ?", (sequence, sha256, stream))


def test_a_forged_ledger_without_any_signature_is_found_by_whoever_has_the_key(tmp_path: Path) -> None:
    desk = new_desk(tmp_path)
    with desk.open() as ledger:
        play(ledger)
    key = load_verify_key(desk.folder / "signing.pub")
    assert verify(desk.path, public_keys=[key]).faults == ()
    with forged(desk) as (path, db):
        without_signatures(db, ("play", "cash", "ops", "guard"))
        report = verify(path, public_keys=[key])
    assert {fault.stream for fault in report.faults if "not signed" in fault.what} >= {"play"}


def test_a_long_run_without_a_signature_is_found_by_whoever_has_the_key(tmp_path: Path) -> None:
    desk = new_desk(tmp_path)
    with desk.open() as ledger:
        for part in range(0, MOST_UNSIGNED + 100, 100):
            ledger.append([record("seat.left", seat=1 + part % 9) for _ in range(100)], WALL + part)
    key = load_verify_key(desk.folder / "signing.pub")
    assert verify(desk.path, public_keys=[key]).faults == ()
    with forged(desk) as (path, db):
        without_signatures(db, ("play", "cash", "ops", "guard"))
        guard(db)
        assert verify(path).ok
        report = verify(path, public_keys=[key])
    assert [fault.what for fault in report.faults] == ["not signed: no signature since play 0"]


SEALED = {
    "the box": "UPDATE row SET secret = zeroblob(length(secret)) WHERE row = {row}",
    "the box away": "UPDATE row SET secret = NULL WHERE row = {row}",
    "box and key away": "UPDATE row SET secret = NULL, key = NULL WHERE row = {row}",
    "the key's name": "UPDATE row SET key = 'table' WHERE row = {row}",
    "the auditor's key": "UPDATE hand_key SET sealed = zeroblob(92) WHERE hand = {hand}",
    "the auditor's key away": "UPDATE hand_key SET sealed = NULL WHERE hand = {hand}",
    "all of the key": "DELETE FROM hand_key WHERE hand = {hand}",
    "the signature": "UPDATE sealed SET signature = hex(zeroblob(64)) WHERE stream = 'play'",
    "the digest": "UPDATE sealed SET sha256 = hex(zeroblob(32)) WHERE stream = 'play'",
    "the signature away": "DELETE FROM sealed WHERE sequence = (SELECT max(sequence) FROM sealed)",
    "the end": "UPDATE head SET sealed = hex(zeroblob(32)) WHERE stream = 'play'",
}


@pytest.mark.parametrize("what", SEALED)
@pytest.mark.parametrize("which", [0, -1])
def test_any_change_of_what_is_never_published_is_found(desk: Desk, what: str, which: int) -> None:
    key = load_verify_key(desk.folder / "signing.pub")
    with forged(desk) as (path, db):
        rows = db.execute("SELECT row, hand FROM row WHERE secret IS NOT NULL ORDER BY row").fetchall()
        row, hand = rows[which]
        before = db.total_changes
        db.execute(SEALED[what].format(row=row, hand=f"'{hand}'"))
        assert db.total_changes > before
        guard(db)
        faults = verify(path, public_keys=[key]).faults
    assert faults
    assert all("seal" in fault.what for fault in faults)


@pytest.mark.parametrize(
    "what", ["the box", "the box away", "box and key away", "the key's name", "the auditor's key", "all of the key"]
)
def test_an_auditor_is_never_shown_less_than_was_sealed(
    desk: Desk, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with forged(desk) as (path, db):
        row, hand = db.execute("SELECT row, hand FROM row WHERE secret IS NOT NULL ORDER BY row").fetchone()
        db.execute(SEALED[what].format(row=row, hand=f"'{hand}'"))
        code = main(["export", str(path), "--format", "phh", "--card-key", str(desk.folder / "auditor.key")])
    told = capsys.readouterr()
    assert code in (2, 4), told
    assert told.out == ""
    assert "Traceback" not in told.err


def test_a_removed_guard_is_found(desk: Desk) -> None:
    with forged(desk) as (path, _):
        assert "trigger" in verify(path).faults[0].what


def test_an_end_cut_off_cleanly_is_seen_by_a_checkpoint_only(desk: Desk) -> None:
    sound = verify(desk.path)
    checkpoint = Checkpoint(sound.ledger, sound.heads)
    with forged(desk) as (path, db):
        db.execute("DELETE FROM row WHERE row = (SELECT max(row) FROM row WHERE stream = 'play')")
        sequence, body = db.execute("SELECT sequence, body FROM row WHERE stream = 'play' ORDER BY row DESC").fetchone()
        db.execute("UPDATE head SET sequence = ?, sha256 = ? WHERE stream = 'play'", (sequence, digest(body)))
        guard(db)
        assert verify(path).ok
        report = verify(path, checkpoint=checkpoint)
    assert [fault.stream for fault in report.faults] == ["play"]
    assert verify(desk.path, checkpoint=checkpoint).ok


def test_a_checkpoint_of_another_ledger_or_hash_is_said(desk: Desk) -> None:
    other = Checkpoint("11111111-1111-4111-8111-111111111111", {})
    assert "another ledger" in str(verify(desk.path, checkpoint=other).faults[0])
    wrong = Checkpoint(verify(desk.path).ledger, {"play": Head(3, "ab" * 32)})
    assert verify(desk.path, checkpoint=wrong).faults[0].sequence == 3


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


@pytest.mark.parametrize("share", [0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_short_is_told_plainly(
    desk: Desk, tmp_path: Path, share: float, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = desk.path.read_bytes()
    cut = tmp_path / "cut.ledger"
    cut.write_bytes(whole[: int(len(whole) * share)])
    assert main(["verify", str(cut)]) == 4
    told = capsys.readouterr()
    assert "Traceback" not in told.err + told.out
    assert told.err or "not whole" in told.out


@settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_no_damage_of_the_file_is_more_than_told(desk: Desk, data: st.DataObject) -> None:
    whole = bytearray(desk.path.read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    damaged = desk.folder / "damaged.ledger"
    damaged.write_bytes(whole)
    assert main(["verify", str(damaged)]) in (0, 4)
    with suppress(LedgerError, KeyFileError):  # told plainly, whichever part of the file is hit
        list(read_records(damaged, auditor=load_auditor_key(desk.folder / "auditor.key")))


@pytest.mark.parametrize("sql", ["DELETE FROM meta", "DELETE FROM meta WHERE name = 'site'", "DROP TABLE head"])
def test_a_file_that_does_not_say_what_it_is_is_told_plainly(desk: Desk, sql: str) -> None:
    with forged(desk) as (path, db):
        db.execute(sql)
        with pytest.raises(LedgerDamaged):
            verify(path)
        assert main(["verify", str(path)]) == 4
