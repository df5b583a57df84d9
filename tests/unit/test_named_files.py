"""Files that a person names as a checkpoint or a key: whatever is in them, one line says what is wrong with it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import backoffice.cli
import controller.cli
from controller.configuration import stafffile
from controller.contract.checkpoint import Checkpoint, Head
from controller.contract.errors import NoCheckpoint
from controller.ledger.errors import KeyFileError
from controller.ledger.keys import load_auditor_public_key, load_device_key, load_signing_key
from tests.ledgers import Desk, new_desk, play

HEAD = {"sequence": "0000000000000003", "sha256": "ab"}
WHOLE: dict[str, Any] = {"ledger": "x", "heads": {"play": HEAD}, "time": "t", "key": "k", "signature": "zz"}
NO_JSON = {
    "nothing": b"",
    "nested without end": b"[" * 100_000,
    "nested and whole": b'{"ledger":' + b"[" * 60_000 + b"]" * 60_000 + b"}",
    "no text": b"\xff\xfe\x00",
    "a number of thousands of digits": b'{"ledger": ' + b"9" * 9000 + b"}",
    "cut off": json.dumps(WHOLE).encode()[:60],
}
WRONG: dict[str, tuple[Any, str]] = {
    "a list": ([], "checkpoint "),
    "a number": (7, "checkpoint "),
    "heads a text": (WHOLE | {"heads": "x"}, "heads"),
    "heads missing": ({"ledger": "x"}, "heads"),
    "a head null": (WHOLE | {"heads": {"play": None}}, "heads.'play'"),
    "a name that cannot be printed": (WHOLE | {"heads": {"\ud800\n": None}}, "heads."),
    "a sequence that is a number": (WHOLE | {"heads": {"play": HEAD | {"sequence": 3}}}, "sequence"),
    "a sequence that is none": (WHOLE | {"heads": {"play": HEAD | {"sequence": "x" * 9999}}}, "sequence"),
    "a hash that is a list": (WHOLE | {"heads": {"play": HEAD | {"sha256": [1]}}}, "sha256"),
    "no ledger": ({"heads": {}}, "ledger"),
    "a signature that is a number": (WHOLE | {"signature": 1}, "signature"),
}
PYTHON = ("Traceback", "indices", "attribute", "NoneType", "recursion", "codec", "object is not", "unhashable")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = new_desk(tmp_path_factory.mktemp("desk"))
    with desk.open() as ledger:
        play(ledger, 1)
    return desk


def one_line(capsys: pytest.CaptureFixture[str], code: int) -> str:
    said = capsys.readouterr().err
    assert code == 2
    assert said.count("\n") == 1, said
    assert not [word for word in PYTHON if word in said]
    assert len(said) < 600
    return said


def programs(desk: Desk, file: Path, *, feltd: str, office: list[str]) -> dict[str, list[str]]:
    return {"feltd": ["verify", str(desk.path), feltd, str(file)], "feltoffice": [*office, str(file)]}


@pytest.mark.parametrize("program", ["feltd", "feltoffice"])
@pytest.mark.parametrize("what", [*NO_JSON, *WRONG])
def test_a_checkpoint_that_is_none_ends_in_one_line(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str, what: str
) -> None:
    file = tmp_path / "checkpoint.json"
    wrong, field = (None, str(file)) if what in NO_JSON else WRONG[what]
    file.write_bytes(NO_JSON[what] if what in NO_JSON else json.dumps(wrong).encode())
    given = programs(desk, file, feltd="--checkpoint", office=["verify", str(tmp_path / "store.db"), "--checkpoint"])
    main = controller.cli.main if program == "feltd" else backoffice.cli.main
    said = one_line(capsys, main(given[program]))
    assert field in said
    assert "give the file that the back office wrote" in said


def test_a_whole_one_is_read(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.json"
    file.write_text(json.dumps(WHOLE))
    assert Checkpoint.from_json(file) == Checkpoint("x", {"play": Head(3, "ab")}, "t", "k", "zz")
    assert json.loads(json.dumps(Checkpoint.from_json(file).to_json())) == WHOLE
    with pytest.raises(NoCheckpoint, match="cannot be read"):
        Checkpoint.from_json(tmp_path)


KEYS = {
    **NO_JSON,
    "no key in it": b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
    "no private key in it": b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    "a locked one": b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGb\n-----END ENCRYPTED PRIVATE KEY-----\n",
}


@pytest.mark.parametrize("what", KEYS)
def test_a_key_that_is_none_ends_in_one_line(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    file, ledger, store = tmp_path / "key", str(desk.path), str(tmp_path / "store.db")
    file.write_bytes(KEYS[what])
    file.chmod(0o600)
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps(WHOLE))
    checkpoint = ["--checkpoint", str(whole), "--office-key", str(file)]
    for told in (
        ["verify", ledger, "--public-key", str(file)],
        ["verify", ledger, *checkpoint],
        ["export", ledger, "--format", "phh", "--card-key", str(file)],
        ["ledger", "recall", ledger, "--card-key", str(file)],
    ):
        one_line(capsys, controller.cli.main(told))
    for told in (["verify", store, *checkpoint], ["unseal", ledger, "--key", str(file)]):
        one_line(capsys, backoffice.cli.main(told))


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    """Larger than the memory of any table, and nothing in it."""
    with path.open("wb") as file:
        file.truncate(1 << 40)
    path.chmod(0o600)


def _folder(path: Path) -> None:
    path.mkdir(0o700)


NO_FILES: dict[str, Callable[[Path], None]] = {
    "a pipe": _pipe,
    "a device without end": _endless,
    "a huge file": _huge,
    "a folder": _folder,
}


@pytest.mark.parametrize("what", NO_FILES)
def test_what_is_no_small_file_is_refused_before_it_is_read(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    """A pipe was waited for, and a device read until no memory was left."""
    ledger, store, file, whole = str(desk.path), str(tmp_path / "store.db"), tmp_path / "named", tmp_path / "whole.json"
    NO_FILES[what](file)
    whole.write_text(json.dumps(WHOLE))
    office = ["--checkpoint", str(whole), "--office-key", str(file)]
    for told in (
        ["verify", ledger, "--public-key", str(file)],
        ["verify", ledger, "--checkpoint", str(file)],
        ["verify", ledger, *office],
        ["export", ledger, "--format", "phh", "--card-key", str(file)],
        ["ledger", "recall", ledger, "--card-key", str(file)],
    ):
        assert str(file) in one_line(capsys, controller.cli.main(told))
    for told in (
        ["verify", store, "--checkpoint", str(file)],
        ["verify", store, *office],
        ["unseal", ledger, "--key", str(file)],
        ["enrol", store, "zg1/t07", "--key", str(file)],
    ):
        assert str(file) in one_line(capsys, backoffice.cli.main(told))
    for load in (load_device_key, load_signing_key, load_auditor_public_key):
        with pytest.raises(KeyFileError):
            load(file)


def test_a_staff_file_that_is_none_is_one(tmp_path: Path) -> None:
    file = tmp_path / "staff"
    for content in NO_JSON.values():
        file.write_bytes(content)
        file.chmod(0o600)
        with pytest.raises(stafffile.StaffFileError, match="is no staff file"):
            stafffile.load(file)
