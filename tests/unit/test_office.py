"""What ``feltoffice`` says where there is nothing: no store, no table, no event, no broker, no such hand."""

import json
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

import controller.cli
from backoffice import cli
from backoffice.keys import public_key
from backoffice.opening import open_store
from backoffice.reader import Reader
from backoffice.verifying import follows
from controller.contract.integrity import key_id
from controller.ledger.keys import Keys, create_signing_key
from controller.ledger.store import Ledger
from tests.ledgers import SOURCE, WALL, Desk, new_desk, play, record

NAME = "zg1/t07"
TABLE = f"/felt/{NAME}"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return new_desk(tmp_path / "table")


@pytest.fixture
def store(tmp_path: Path, desk: Desk) -> Path:
    """A store in which the table is enrolled, and nothing else."""
    path = tmp_path / "office.db"
    assert cli.main(["enrol", str(path), NAME, "--key", str(desk.folder / "signing.pub"), "--test"]) == cli.OK
    return path


def bodies(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [body for (body,) in connection.execute("SELECT body FROM row ORDER BY row")]


def take(store: Path, ledger: Path) -> None:
    with closing(open_store(str(store))) as kept:
        Reader(kept).take(bodies(ledger))


def asked(store: Path, what: str) -> list[str]:
    more = {"checkpoint": [NAME, "--key", "office-key"], "follow": ["--broker", "mqtt://127.0.0.1:1"]}
    return [what, str(store), *more.get(what, [])]


@pytest.mark.parametrize("what", ["verify", "sums", "follow"])
def test_only_enrolment_begins_a_store(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typo = tmp_path / "typo.db"
    assert cli.main(asked(typo, what)) == cli.USAGE
    said = capsys.readouterr()
    assert "no such store" in said.err
    assert not said.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["verify", "sums", "follow"])
@pytest.mark.parametrize("content", ["nothing", "another database", "no database"])
def test_what_is_no_store_is_left_as_it_is(
    what: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(b"" if content == "nothing" else b"text" * 1000)
    if content == "another database":
        path.unlink()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("create table other (x)")
    before = path.read_bytes()
    assert cli.main(asked(path, what)) == cli.USAGE
    assert "store" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("what", ["verify", "sums"])
@pytest.mark.parametrize("more", [[], [NAME], ["--json"]])
def test_nothing_stored_is_not_called_whole(
    what: str, more: Sequence[str], store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert cli.main([what, str(store), *more]) == cli.NOTHING
    out = capsys.readouterr().out
    assert '"ok": false' in out if "--json" in more else f"{TABLE}: nothing is stored" in out
    assert "whole" not in out
    assert "adds up" not in out


@pytest.mark.parametrize("what", ["verify", "sums"])
def test_a_table_that_is_not_enrolled_is_named(
    what: str, store: Path, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    with desk.open() as ledger:
        play(ledger)
    take(store, desk.path)
    assert cli.main([what, str(store), "nowhere/t09"]) == cli.USAGE
    said = capsys.readouterr().err
    assert "/felt/nowhere/t09" in said
    assert "is not enrolled" in said
    assert cli.main(["verify", str(store)]) == cli.OK


def test_without_an_enrolled_table_nothing_is_followed_or_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "empty.db"
    open_store(str(path), create=True).close()
    for what in ("follow", "verify", "sums"):
        assert cli.main(asked(path, what)) == cli.USAGE
        assert "no table is enrolled: feltoffice enrol" in capsys.readouterr().err


def test_a_broker_that_never_let_us_in_is_an_error(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as bound:  # not listening: nobody else can have the port meanwhile
        bound.bind(("127.0.0.1", 0))
        uri = f"mqtt://127.0.0.1:{bound.getsockname()[1]}"
        for more in (["--seconds", "1"], ["--until-quiet"]):
            assert cli.main(["follow", str(store), "--broker", uri, *more]) == cli.USAGE
            said = capsys.readouterr().err
            assert "cannot be reached" in said
            assert "check --broker" in said


def test_a_hand_that_the_ledger_does_not_have_is_named(
    tmp_path: Path, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    with desk.open() as ledger:
        play(ledger, hands=1)
        ledger.append([record("hand.started", hand="t07-20261130-0002", number=2)], WALL)
    copy = tmp_path / "copy.ledger"
    shutil.copy(desk.path, copy)
    command = ["unseal", str(copy), "--key", str(desk.folder / "auditor.key"), "--hand"]
    assert cli.main([*command, "nope"]) == cli.USAGE
    assert "--hand: 'nope': no such hand" in capsys.readouterr().err
    assert cli.main([*command, "t07-20261130-0002"]) == cli.NOTHING
    assert "nothing is sealed" in capsys.readouterr().err
    assert cli.main([*command, "t07-20261130-0001"]) == cli.OK


def test_a_second_key_has_to_follow_from_the_first(store: Path, desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    create_signing_key(desk.folder / "new.key", desk.folder / "new.pub", test=True)
    enrol = ["enrol", str(store), NAME, "--key", str(desk.folder / "new.pub"), "--test"]
    with desk.open() as ledger:
        play(ledger)
    take(store, desk.path)
    capsys.readouterr()
    assert cli.main(enrol) == cli.USAGE
    said = capsys.readouterr().err
    assert "add --also" in said
    with closing(open_store(str(store))) as kept:
        (pin,) = kept.pins()
        assert pin.key == public_key(desk.folder / "signing.pub").public_bytes_raw()
        assert key_id(pin.key) in said
        assert not follows(kept, TABLE, public_key(desk.folder / "new.pub"))
    same = ["enrol", str(store), NAME, "--key", str(desk.folder / "signing.pub"), "--test"]
    assert cli.main(same) == cli.OK, "the pinned key may be given again"
    keys = Keys.load(
        device=desk.folder / "device.key",
        auditor=desk.folder / "auditor.pub",
        signing=desk.folder / "new.key",
        signing_before=desk.folder / "signing.key",
    )
    with Ledger.open(desk.path, source=SOURCE, test=True, keys=keys, wall_ns=WALL):
        pass
    take(store, desk.path)
    assert cli.main(enrol) == cli.OK, "key.rotated is stored and both keys have signed it"
    assert cli.main(["verify", str(store)]) == cli.OK


def test_a_lost_key_is_replaced_on_purpose(store: Path, desk: Desk) -> None:
    create_signing_key(desk.folder / "new.key", desk.folder / "new.pub", test=True)
    enrol = ["enrol", str(store), NAME, "--key", str(desk.folder / "new.pub"), "--test"]
    assert cli.main(enrol) == cli.USAGE
    assert cli.main([*enrol, "--also"]) == cli.OK
    with closing(open_store(str(store))) as kept:
        assert len(kept.pins(TABLE)) == 2


@pytest.mark.parametrize("mask", [0o022, 0o000])
def test_a_store_is_its_owners_alone_and_one_that_is_there_stays_as_it_is(
    tmp_path: Path, desk: Desk, mask: int
) -> None:
    before = os.umask(mask)
    try:
        path = tmp_path / "office.db"
        enrol = ["enrol", str(path), NAME, "--key", str(desk.folder / "signing.pub"), "--test"]
        assert cli.main(enrol) == cli.OK
        with desk.open() as ledger:
            play(ledger)
        with closing(open_store(str(path))) as kept:
            Reader(kept).take(bodies(desk.path))
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.glob("office.db*")}
        assert modes == {"office.db": 0o600, "office.db-wal": 0o600, "office.db-shm": 0o600}
        path.chmod(0o640)
        assert cli.main(enrol) == cli.OK
        assert path.stat().st_mode & 0o777 == 0o640, "a house that lets a group read it has said so"
    finally:
        os.umask(before)


def test_the_offices_own_key_gets_a_folder_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "etc" / "felt-office"
    assert cli.main(["keys", str(folder)]) == cli.OK
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "office-key").stat().st_mode & 0o777 == 0o600
    assert cli.main(["keys", str(folder)]) == cli.USAGE, "a key that is there is never replaced"
    (tmp_path / "file").write_text("")
    assert cli.main(["keys", str(tmp_path / "file")]) == cli.USAGE
    assert "cannot be written" in capsys.readouterr().err


def taken_away(desk: Desk, folder: Path) -> tuple[Path, Path]:
    """A ledger that was taken from the table, and the one that the table began without it."""
    with desk.open() as ledger:
        play(ledger)
    folder.mkdir(exist_ok=True)
    old = folder / "old.ledger"
    shutil.move(desk.path, old)
    with desk.open() as ledger:
        play(ledger)
    return old, desk.path


def name_of(ledger: Path) -> str:
    name: str = json.loads(bodies(ledger)[0])["ledger"]
    return name


@pytest.mark.parametrize("first", [0, 1], ids=["old first", "new first"])
def test_a_ledger_that_begins_anew_is_a_fault_until_a_person_has_ruled(
    first: int, store: Path, desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = taken_away(desk, tmp_path)
    take(store, files[first])
    assert cli.main(["verify", str(store)]) == cli.OK, "alone it is the table's first"
    take(store, files[1 - first])
    capsys.readouterr()
    assert cli.main(["verify", str(store)]) == cli.UNSOUND
    before, anew = name_of(files[first]), name_of(files[1 - first])
    said = capsys.readouterr().out
    assert f"names no ledger before it, though of this table is stored {before}" in said
    assert "feltoffice accept" in said
    assert cli.main(["checkpoint", str(store), NAME, "--key", "no key is read"]) == cli.UNSOUND
    ruling = ["--by", "M. Kos", "--reason", "the disk was replaced"]
    assert cli.main(["accept", str(store), NAME, anew, *ruling]) == cli.OK
    capsys.readouterr()
    assert cli.main(["verify", str(store)]) == cli.OK
    assert "accepted by M. Kos: the disk was replaced" in capsys.readouterr().out
    assert cli.main(["accept", str(store), NAME, anew, "--by", "another", "--reason", "later"]) == cli.OK
    capsys.readouterr()
    cli.main(["verify", str(store)])
    assert "accepted by M. Kos" in capsys.readouterr().out, "the first ruling stands"


def test_a_ruling_names_what_it_is_about_who_and_why(
    store: Path, desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = taken_away(desk, tmp_path)
    for one in files:
        take(store, one)
    first, anew = map(name_of, files)
    for ledger, by, reason, word in [
        ("no-such", "M. Kos", "why", f"nothing of it is stored; of {TABLE} there is {first}, {anew}"),
        (first, "M. Kos", "why", "is the first, or names the one before it"),
        (anew, " ", "why", "--by"),
        (anew, "M. Kos", "", "--reason"),
        (anew, "M. Kos", "two\nlines", "--reason"),
    ]:
        assert cli.main(["accept", str(store), NAME, ledger, "--by", by, "--reason", reason]) == cli.USAGE
        assert word in capsys.readouterr().err
    assert cli.main(["verify", str(store)]) == cli.UNSOUND


def test_a_ruling_on_one_ledger_is_none_on_the_next(store: Path, desk: Desk, tmp_path: Path) -> None:
    old, new = taken_away(desk, tmp_path)
    take(store, old)
    take(store, new)
    assert cli.main(["accept", str(store), NAME, name_of(new), "--by", "M. Kos", "--reason", "a new disk"]) == cli.OK
    _, third = taken_away(desk, tmp_path / "again")
    take(store, third)
    assert cli.main(["verify", str(store)]) == cli.UNSOUND


@pytest.mark.parametrize("option", ["--password-file", "--certificate-key"])
def test_a_secret_that_others_can_read_is_not_used(
    option: str, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "secret"
    follow = ["follow", str(store), "--broker", "mqtts://127.0.0.1:1", option, str(file), "--seconds", "1"]
    assert cli.main(follow) == cli.USAGE
    assert f"{option}: {str(file)!r}: cannot be read: No such file" in capsys.readouterr().err
    file.write_bytes(b"\xff")
    for mode in (0o640, 0o604, 0o660):
        file.chmod(mode)
        assert cli.main(follow) == cli.USAGE
        assert f"{option}: {str(file)!r}: others can read it (mode {mode:04o}): chmod 600 it" in capsys.readouterr().err
    if option == "--password-file":
        file.chmod(0o600)
        assert cli.main(follow) == cli.USAGE
        assert "is no text in UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("countersigned_by", ["the office", "nobody"])
def test_a_checkpoint_whose_countersignature_was_not_checked_is_noted(
    store: Path,
    desk: Desk,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    countersigned_by: str,
    as_json: bool,
) -> None:
    """By both programs, whoever has signed it; the exit code is that of what was looked at."""
    with desk.open() as ledger:
        play(ledger)
    take(store, desk.path)
    file, office_key = tmp_path / "checkpoint.json", tmp_path / "office.pub"
    assert cli.main(["keys", str(tmp_path)]) == cli.OK
    assert cli.main(["checkpoint", str(store), NAME, "--key", str(tmp_path / "office-key"), "-o", str(file)]) == cli.OK
    if countersigned_by == "nobody":
        file.write_text(json.dumps(json.loads(file.read_text()) | {"signature": ""}))
    form = ["--json"] if as_json else []
    note = "the checkpoint's countersignature was not checked: give --office-key"

    def notes(main: Callable[[Sequence[str]], int], path: Path, *more: str) -> list[str]:
        capsys.readouterr()
        assert main(["verify", str(path), *form, *more]) == cli.OK
        out = capsys.readouterr().out
        if not as_json:
            return [line.strip().removeprefix("note: ") for line in out.splitlines() if "note: " in line]
        told = json.loads(out)
        return [one for report in told.get("tables", {TABLE: [told]})[TABLE] for one in report["notes"]]

    for main, path in ((controller.cli.main, desk.path), (cli.main, store)):
        assert notes(main, path, "--checkpoint", str(file)).count(note) == 1
        assert main(["verify", str(path), *form, "--office-key", str(office_key)]) == cli.USAGE
        assert "--checkpoint" in capsys.readouterr().err
        assert note not in notes(main, path)
        whole = ["--checkpoint", str(file), "--office-key", str(office_key)]
        if countersigned_by == "nobody":
            assert main(["verify", str(path), *whole]) == cli.USAGE
        else:
            assert note not in notes(main, path, *whole)
