"""Which program may run, and which keys belong to a rehearsal."""

import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from controller import software
from controller.configuration import settings
from controller.ledger.errors import KeyFileError
from controller.ledger.keys import (
    Keys,
    create_auditor_key,
    create_device_key,
    create_signing_key,
    load_signing_key,
    load_verify_key,
)
from tests.confined import directives
from tests.conftest import ROOT
from tests.running import write_config


def _expecting(folder: Path, sha256: str) -> Path:
    path = write_config(folder)
    path.write_text(f'{path.read_text()}[software]\nsha256 = "{sha256}"\n', encoding="utf-8")
    return path


def test_only_what_was_approved_is_verified_and_runs(tmp_path: Path) -> None:
    assert not settings.load(write_config(tmp_path)).verified
    assert settings.load(_expecting(tmp_path, software.software()["sha256"])).verified
    (fault,) = settings.check(_expecting(tmp_path, "0" * 64))
    assert fault.key == "software.sha256"
    assert software.software()["sha256"] in fault.remedy


def test_a_file_that_was_changed_after_its_installation_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "feltd-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: feltd\nVersion: 0.1.0\n")
    (tmp_path / "kept.py").write_bytes(b"")
    (tmp_path / "other.py").write_bytes(b"changed")
    empty = "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
    (info / "RECORD").write_text(f"kept.py,{empty},0\nother.py,{empty},0\ngone.py,{empty},0\nfeltd/RECORD,,\n")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert software.changed() == ["gone.py", "other.py"]
    monkeypatch.setattr(software, "changed", lambda: ["other.py"])
    (fault,) = settings.check(_expecting(tmp_path, software.software()["sha256"]))
    assert fault.value == '"other.py"'


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what is installed: the hash is taken of it."""
    for package in software.PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(software, "__file__", str(tmp_path / "controller" / "software.py"))
    return tmp_path


def _sha256() -> str:
    return software.software()["sha256"]


def test_the_hash_covers_every_file_by_content_and_by_name(program: Path) -> None:
    approved = _sha256()
    files = [path for package in software.PACKAGES for path in sorted((program / package).rglob("*")) if path.is_file()]
    assert {".py", ".sql", ".toml", ".csv"} <= {path.suffix for path in files}
    assert program / "config" / "rules" / "bindings.csv" in files
    for path in (path for path in files if path.suffix != ".py" or path.name in {"__init__.py", "daemon.py"}):
        content, other = path.read_bytes(), path.with_name(f"other-{path.name}")
        path.write_bytes(content + b"\n")
        assert _sha256() != approved, f"{path} was changed"
        path.unlink()
        assert _sha256() != approved, f"{path} is gone"
        other.write_bytes(content)
        assert _sha256() != approved, f"{path} has another name"
        path.write_bytes(content)
        assert _sha256() != approved, f"{other} was added"
        other.unlink()
    assert _sha256() == approved


PLANTS: dict[str, Callable[[Path], object]] = {
    "bytecode that takes the place of a module": lambda folder: (folder / "hour.pyc").write_bytes(b""),
    "a library before a module": lambda folder: (folder / "hour.cpython-311-x86_64-linux-gnu.so").write_bytes(b""),
    "a folder that is a link": lambda folder: (folder / "envelope").symlink_to("/tmp"),
    "a file that is a link": lambda folder: (folder / "hour.py").symlink_to(folder / "envelope.py"),
    "a link to nowhere": lambda folder: (folder / "hour.py").symlink_to("nowhere"),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_what_python_would_load_beside_the_source_is_in_the_hash(
    program: Path, plant: Callable[[Path], object]
) -> None:
    approved = _sha256()
    plant(program / "controller" / "contract")
    assert _sha256() != approved


def test_what_python_keeps_beside_the_source_is_not_in_the_hash(program: Path) -> None:
    approved = _sha256()
    for folder in (program / "controller", program / "config" / "rules"):
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__" / "cli.cpython-311.pyc").write_bytes(b"x")
    assert _sha256() == approved


def test_a_folder_that_cannot_be_listed_is_no_empty_one(program: Path) -> None:
    shutil.rmtree(program / "drivers")
    with pytest.raises(FileNotFoundError):
        software.software()


def _values(key: str) -> list[str]:
    return [value for name, value in directives(ROOT / "systemd" / "feltd@.service") if name == key]


@pytest.mark.parametrize("under_the_unit", [False, True], ids=["as it is", "under the unit"])
def test_bytecode_that_was_laid_beside_an_approved_source_is_not_executed(tmp_path: Path, under_the_unit: bool) -> None:
    source, other = tmp_path / "felt.py", tmp_path / "other.py"
    source.write_text("print('approved')\n")
    other.write_text("print('planted!')\n")
    for path in (source, other):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    planted = py_compile.compile(str(other), cfile=cache_from_source(str(source)))
    assert planted is not None
    (line,) = _values("Environment")
    name, _, value = line.partition("=")
    kept = Path(value.replace("%C", str(tmp_path / "cache")).replace("%i", "t07"))
    assert kept.parent == tmp_path / "cache" / _values("CacheDirectory")[0].replace("%i", "t07")
    assert _values("CacheDirectoryMode") == ["0700"]
    environ = {"PATH": os.environ["PATH"], **({name: str(kept)} if under_the_unit else {})}
    for _ in ("a first start", "a restart"):
        command = [sys.executable, "-c", "import felt"]
        done = subprocess.run(command, cwd=tmp_path, env=environ, check=True, capture_output=True, text=True)
        assert done.stdout.strip() == ("approved" if under_the_unit else "planted!")
    assert bool(list(kept.rglob("felt.*.pyc"))) is under_the_unit, "a restart need not compile again"


@pytest.mark.parametrize("made_for_test", [True, False])
def test_a_key_of_rehearsals_signs_nothing_live_and_the_reverse(tmp_path: Path, made_for_test: bool) -> None:
    device, signing, public = tmp_path / "device", tmp_path / "signing", tmp_path / "signing.pub"
    create_device_key(device)
    create_signing_key(signing, public, test=made_for_test)
    keys = Keys.load(device=device, signing=signing, test=made_for_test)
    assert keys.signing is not None
    assert keys.signing.public_key() == load_verify_key(public)
    with pytest.raises(KeyFileError, match=r"ledger\.signing_key: .*is no key for"):
        Keys.load(device=device, signing=signing, test=not made_for_test)
    with pytest.raises(KeyFileError, match=r"ledger\.signing_key_before: .*is no key for"):
        Keys.load(device=device, signing_before=signing, test=not made_for_test)
    assert load_signing_key(signing).public_key() == load_verify_key(public)


@pytest.mark.parametrize("name", ["device_key", "signing_key", "signing_key_before", "auditor_public_key"])
@pytest.mark.parametrize("wrong", ["no key", "of live play", "readable", "whole"])
def test_check_refuses_the_keys_that_a_start_refuses_and_names_the_field(tmp_path: Path, name: str, wrong: str) -> None:
    create_device_key(tmp_path / "device_key")
    for one in ("signing_key", "signing_key_before"):
        create_signing_key(tmp_path / one, tmp_path / f"{one}.pub", test=wrong != "of live play")
    create_auditor_key(tmp_path / "auditor", tmp_path / "auditor_public_key")
    if wrong == "no key":
        (tmp_path / name).write_text("x")
    elif wrong == "readable":
        (tmp_path / name).chmod(0o644)
    config = write_config(tmp_path)
    config.write_text(f'{config.read_text()}[ledger]\n{name} = "{name}"\n', encoding="utf-8")
    paths = {name: tmp_path / name for name in ("device_key", name)}
    start = partial(
        Keys.load,
        device=paths["device_key"],
        signing=paths.get("signing_key"),
        signing_before=paths.get("signing_key_before"),
        auditor=paths.get("auditor_public_key"),
        test=True,
    )
    refused = (
        wrong == "no key"
        or (wrong, name[:7]) == ("of live play", "signing")
        or (wrong == "readable" and name != "auditor_public_key")
    )
    assert [fault.key for fault in settings.check(config)] == ([f"ledger.{name}"] if refused else [])
    if refused:
        with pytest.raises(KeyFileError, match=rf"^ledger\.{name}: "):
            start()
    else:
        start()
