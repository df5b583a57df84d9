"""Which program may run, and which keys belong to a rehearsal."""

from functools import partial
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
