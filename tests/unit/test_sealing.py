"""Closed cards: never in a published byte, openable by who may, and by nobody at the table after the hand."""

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from controller.contract.sealed import open_sealed, seal_to
from controller.contract.topics import Source
from controller.ledger.errors import AppendFailed, KeyFileError, LedgerDamaged
from controller.ledger.keys import (
    Keys,
    create_auditor_key,
    create_device_key,
    create_signing_key,
    load_auditor_key,
    load_auditor_public_key,
    load_device_key,
    load_signing_key,
    load_verify_key,
)
from controller.ledger.reading import read_records
from controller.ledger.store import Ledger
from controller.ledger.verify import verify
from tests.ledgers import CARDS, WALL, Desk, dealt, hand_records, new_desk, opening, play, record, salt


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return new_desk(tmp_path)


def secrets_of(ledger: Ledger, hand: str) -> list[dict[str, object] | None]:
    return [rec.secret for rec in ledger.restore_rows() if rec.hand == hand and rec.type == "card.dealt"]


def open_hand(ledger: Ledger) -> None:
    ledger.append(opening(), WALL)
    ledger.append(hand_records("h1")[:6], WALL)


def test_no_closed_card_in_any_published_byte_or_in_the_file(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger)
        bodies = ledger.tail(1000)
    for hand in ("t07-20261130-0001", "t07-20261130-0002"):
        for slot in (2, 3):
            assert all(salt(hand, slot).encode() not in body for body in bodies)
        for slot in (0, 1):
            assert sum(salt(hand, slot).encode() in body for body in bodies) == 1
    for body in bodies:
        event = json.loads(body)
        if event["type"] == "card.dealt":
            assert "card" not in event["data"]
            assert "salt" not in event["data"]
    for file in desk.folder.glob("t07.ledger*"):
        assert salt("t07-20261130-0001", 2).encode() not in file.read_bytes()


def test_a_restart_in_the_hand_has_its_cards(desk: Desk) -> None:
    with desk.open() as ledger:
        open_hand(ledger)
    with desk.open() as ledger:
        assert secrets_of(ledger, "h1") == [{"card": card, "salt": salt("h1", slot)} for slot, card in enumerate(CARDS)]
        # The key of before is found again for the cards still to come.
        ledger.append([dealt("h1", 4, "Qs")], WALL)
    with sqlite3.connect(desk.path) as connection:
        assert connection.execute("SELECT count(*) FROM hand_key").fetchone() == (1,)
    connection.close()


@pytest.mark.parametrize("end", ["hand.closed", "hand.voided"])
def test_the_key_of_a_restart_is_gone_with_the_hand(desk: Desk, end: str) -> None:
    with desk.open() as ledger:
        open_hand(ledger)
        ledger.append([record(end, hand="h1")], WALL)
        assert secrets_of(ledger, "h1") == [None] * 4
    with desk.open() as ledger:
        assert secrets_of(ledger, "h1") == [None] * 4
    with sqlite3.connect(desk.path) as connection:
        ((restart, sealed),) = connection.execute("SELECT restart, sealed FROM hand_key").fetchall()
    connection.close()
    assert restart is None
    assert sealed is not None


def test_a_secret_that_comes_after_its_hand_lies_under_the_table_key(desk: Desk) -> None:
    with desk.open() as ledger:
        open_hand(ledger)
        ledger.append([record("hand.closed", hand="h1")], WALL)
        ledger.append([dealt("h1", 9, "9d")], WALL)
        assert secrets_of(ledger, "h1") == [None] * 4 + [{"card": "9d", "salt": salt("h1", 9)}]
    found = list(read_records(desk.path, auditor=load_auditor_key(desk.folder / "auditor.key"), hand="h1"))
    assert found[-1].secret == {"card": "9d", "salt": salt("h1", 9)}


def test_the_auditor_can_open_every_card_after_the_hand(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger)
    found = list(read_records(desk.path, auditor=load_auditor_key(desk.folder / "auditor.key")))
    cards = [rec.secret["card"] for rec in found if rec.secret is not None]
    assert cards == list(CARDS) * 2
    one = list(read_records(desk.path, hand="t07-20261130-0002"))
    assert {rec.hand for rec in one} == {"t07-20261130-0002"}
    assert all(rec.secret is None for rec in one)


def test_another_auditor_opens_nothing(desk: Desk) -> None:
    with desk.open() as ledger:
        play(ledger, hands=1)
    create_auditor_key(desk.folder / "other.key", desk.folder / "other.pub")
    with pytest.raises(KeyFileError, match="does not open"):
        list(read_records(desk.path, auditor=load_auditor_key(desk.folder / "other.key")))


def test_without_an_auditor_nothing_can_be_opened_later(desk: Desk) -> None:
    keys = Keys(device=bytes(32))
    with Ledger.open(desk.path, source=Source("zg1", "t07"), test=True, keys=keys, wall_ns=WALL) as ledger:
        play(ledger, hands=1)
    found = list(read_records(desk.path, auditor=load_auditor_key(desk.folder / "auditor.key")))
    assert all(rec.secret is None for rec in found)


def test_a_secret_moved_to_another_row_is_noticed(desk: Desk) -> None:
    with desk.open() as ledger:
        open_hand(ledger)
    with sqlite3.connect(desk.path) as connection:
        connection.execute("DROP TRIGGER row_is_frozen")
        rows = connection.execute("SELECT row, secret FROM row WHERE type = 'card.dealt'").fetchall()
        connection.execute("UPDATE row SET secret = ? WHERE row = ?", (rows[0][1], rows[1][0]))
    connection.close()
    with desk.open() as ledger, pytest.raises(LedgerDamaged, match="a copy that holds all that was sent"):
        list(ledger.restore_rows())


def test_another_device_key_is_refused_and_nothing_is_stored(desk: Desk) -> None:
    with desk.open() as ledger:
        open_hand(ledger)
        row = ledger.row
    source = Source("zg1", "t07")
    with Ledger.open(desk.path, source=source, test=True, keys=Keys(device=bytes(32))) as ledger:
        with pytest.raises(AppendFailed, match=r"ledger\.device_key"):
            ledger.append([dealt("h1", 5, "Js")], WALL)
        assert ledger.row == row
        with pytest.raises(KeyFileError, match=r"ledger\.device_key") as refused:
            list(ledger.restore_rows())
        assert "give the key" in str(refused.value)
        assert "the ledger is damaged there" in str(refused.value)


@pytest.mark.parametrize("by", ["another hand", "the kept state"])
@pytest.mark.parametrize("box", ["changed", "cut"])
def test_what_a_restart_needs_is_damaged_where_the_device_key_opens_other_things(desk: Desk, by: str, box: str) -> None:
    with desk.open() as ledger:
        open_hand(ledger)
        if by == "another hand":
            ledger.append([dealt("h2", 1, "Js")], WALL)
        else:
            ledger.keep_image("this program", {})
    with closing(sqlite3.connect(desk.path)) as connection:
        (whole,) = connection.execute("SELECT restart FROM hand_key WHERE hand = 'h1'").fetchone()
        other = bytes([whole[0] ^ 1]) + whole[1:] if box == "changed" else whole[:3]
        connection.execute("UPDATE hand_key SET restart = ? WHERE hand = 'h1'", (other,))
        connection.commit()
    assert verify(desk.path).ok, "it needs no secret, so it cannot tell"
    with (
        desk.open() as ledger,
        pytest.raises(LedgerDamaged, match=r"key of h1 .* is damaged.*only a start tells"),
    ):
        list(ledger.restore_rows())


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_what_is_sealed_opens_for_the_owner_only(content: bytes, place: bytes) -> None:
    owner, other = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    box = seal_to(owner.public_key(), content, place)
    assert open_sealed(owner, box, place) == content
    with pytest.raises(InvalidTag):
        open_sealed(other, box, place)
    with pytest.raises(InvalidTag):
        open_sealed(owner, box, place + b"x")


def test_key_files_are_private_and_never_replaced(tmp_path: Path) -> None:
    create_device_key(tmp_path / "d")
    create_signing_key(tmp_path / "s", tmp_path / "s.pub")
    create_auditor_key(tmp_path / "a", tmp_path / "a.pub")
    for name in "dsa":
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    with pytest.raises(KeyFileError, match="there already"):
        create_device_key(tmp_path / "d")
    assert len(load_device_key(tmp_path / "d")) == 32
    assert load_signing_key(tmp_path / "s").public_key() == load_verify_key(tmp_path / "s.pub")
    assert load_auditor_key(tmp_path / "a").public_key() == load_auditor_public_key(tmp_path / "a.pub")


def test_what_is_wrong_with_a_key_file_is_said(tmp_path: Path) -> None:
    create_signing_key(tmp_path / "s", tmp_path / "s.pub")
    create_auditor_key(tmp_path / "a", tmp_path / "a.pub")
    (tmp_path / "s").chmod(0o640)
    with pytest.raises(KeyFileError, match=r"others can read it \(mode 0640\); chmod 600"):
        load_signing_key(tmp_path / "s")
    with pytest.raises(KeyFileError, match="not an Ed25519 key"):
        load_signing_key(tmp_path / "a")
    with pytest.raises(KeyFileError, match="not an X25519 public key"):
        load_auditor_public_key(tmp_path / "s.pub")
    with pytest.raises(KeyFileError, match="not an Ed25519 public key"):
        load_verify_key(tmp_path / "a.pub")
    with pytest.raises(KeyFileError, match="64 hex digits"):
        load_device_key(tmp_path / "a")
    with pytest.raises(KeyFileError, match="cannot be read"):
        load_device_key(tmp_path / "none")
    with pytest.raises(KeyFileError, match="not a PEM"):
        load_verify_key(tmp_path / "noise") if (tmp_path / "noise").write_bytes(b"x") else None
    assert "Keys(auditor=None)" in repr(Keys(device=bytes(32)))


def _restart_keys(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [box for (box,) in connection.execute("SELECT restart FROM hand_key WHERE restart IS NOT NULL")]


def _files(desk: Desk) -> bytes:
    return b"".join(file.read_bytes() for file in desk.folder.glob("t07.ledger*"))


def test_a_retired_key_stands_nowhere_any_more_also_not_in_the_log(desk: Desk) -> None:
    with desk.open() as ledger:
        for number in range(40):
            hand = f"t07-20261130-{number:04d}"
            ledger.append([*(opening() if not number else []), *hand_records(hand)[:6]], WALL)
            (box,) = _restart_keys(desk.path)
            assert box in _files(desk)
            ledger.append([record("hand.closed", hand=hand)], WALL)
            assert not _restart_keys(desk.path)
            assert not any(part in _files(desk) for part in (box, box[:16], box[16:32], box[-16:]))


def test_a_key_that_a_reader_keeps_in_the_log_is_wiped_as_soon_as_it_has_gone(desk: Desk) -> None:
    with desk.open() as ledger, closing(sqlite3.connect(desk.path, isolation_level=None)) as reader:
        open_hand(ledger)
        (box,) = _restart_keys(desk.path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM row").fetchone()
        ledger.append([record("hand.closed", hand="h1")], WALL)
        assert box in _files(desk)
        ledger.sign_due(1, WALL)
        assert box in _files(desk)
        reader.execute("COMMIT")
        ledger.sign_due(2, WALL)
        assert box not in _files(desk)
