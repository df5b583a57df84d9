"""A configuration whose parts are each well made and do not fit their use: keys, places, numbers, the broker."""

from pathlib import Path

import pytest

from controller.configuration import settings, stafffile
from controller.faults import Fault
from controller.ledger.keys import create_auditor_key, create_device_key, create_signing_key
from tests.running import write_config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def faults(path: Path, more: str = "") -> dict[str, Fault]:
    path.write_text(path.read_text() + more)
    return {fault.key: fault for fault in settings.check(path)}


@pytest.mark.parametrize("name", ["signing.pub", "signing", "auditor", "device", "text"])
def test_the_auditors_key_is_one(config: Path, tmp_path: Path, name: str) -> None:
    create_signing_key(tmp_path / "signing", tmp_path / "signing.pub", test=True)
    create_auditor_key(tmp_path / "auditor", tmp_path / "auditor.pub")
    create_device_key(tmp_path / "device")
    (tmp_path / "text").write_text("no key\n")
    fault = faults(config, f'\n[ledger]\nauditor_public_key = "{name}"\n')["ledger.auditor_public_key"]
    assert fault.value == f'"{name}"'
    assert "feltd keys" in fault.remedy
    config.write_text(config.read_text().replace(f'"{name}"', '"auditor.pub"'))
    assert faults(config) == {}


@pytest.mark.parametrize(
    ("driver", "uri", "place", "said"),
    [
        ("shoe", "usb://1209:f001", "seat:1", '"shoe" is its only place'),
        ("shoe", "usb://1209:f001", "tray", '"shoe" is its only place'),
        ("camera", "tcp://192.0.2.1:7300", "tray", "no chips"),
        ("camera", "tcp://192.0.2.1:7300", "bet:1", "no chips"),
        ("keypad", "usb://1209:f002", "seat:1", "leave its channels out"),
        ("feig", "serial:///dev/a", "nowhere", "no such place"),
    ],
)
def test_a_device_watches_what_its_kind_can_see(tmp_path: Path, driver: str, uri: str, place: str, said: str) -> None:
    config = write_config(tmp_path)
    more = f'\n[devices.one]\ndriver = "{driver}"\nuri = "{uri}"\nchannels = {{ "0" = "{place}" }}\n'
    fault = faults(config, more)["devices.one.channels.0"]
    assert fault.value == f'"{place}"'
    assert said in fault.remedy


@pytest.mark.parametrize(
    ("driver", "options", "channels", "wrong", "said"),
    [
        ("feig", "antennas = [1, 2]", '"1" = "bet:1", "9" = "bet:2"', "9", "only 1, 2"),
        ("feig", "antennas = [1], outputs = [1, 2]", '"9" = "bet:1", "2" = "bet:2"', "2", "only 1, 9"),
        ("feig", "", '"0" = "tray", "1" = "pot"', "1", "only 0"),
        ("feig-buffered", "antennas = [3]", '"3" = "tray", "0" = "pot"', "0", "only 3"),
        ("eccel", "antennas = [1, 2]", '"1" = "bet:1", "3" = "bet:2"', "3", "only 1, 2"),
        ("mercury", "", '"0" = "tray", "2" = "pot"', "2", "only 0"),
    ],
)
def test_a_channel_is_one_that_the_driver_reads(
    config: Path, driver: str, options: str, channels: str, wrong: str, said: str
) -> None:
    head = f'\n[devices.one]\ndriver = "{driver}"\nuri = "serial:///dev/a"\n'
    more = f"{head}channels = {{ {channels} }}\noptions = {{ {options} }}\n"
    found = faults(config, more)
    assert [key for key in found if key.startswith("devices.one")] == [f"devices.one.channels.{wrong}"]
    assert said in found[f"devices.one.channels.{wrong}"].remedy


@pytest.mark.parametrize(
    ("written", "shown"),
    [("99999999999999999999", "99999999999999999999"), ("-9007199254740993", "-9007199254740993"), ("inf", "inf")],
)
def test_a_number_beyond_every_bound_hides_no_other_fault(config: Path, written: str, shown: str) -> None:
    found = faults(config, f"\n[timing]\ndebounce_ms = -1\nfoo = 3\nfuse_ms = {written}\n")
    assert {"timing.debounce_ms", "timing.foo", "timing.fuse_ms"} <= found.keys()
    assert found["timing.fuse_ms"].value == shown
    assert found["timing.debounce_ms"].value == "-1"


def test_what_is_beyond_is_told_once_and_not_called_missing(config: Path) -> None:
    config.write_text(config.read_text().replace("big_blind = 200", "big_blind = 0x" + "F" * 20_000))
    (fault,) = settings.check(config)
    assert fault.key == "limits.big_blind"
    assert fault.value == "a number of 80000 bits"


@pytest.mark.parametrize(("host", "fits"), [("127.0.0.1", True), ("localhost", True), ("8.8.8.8", False)])
def test_plain_mqtt_stays_on_the_machine_in_test_mode_too(config: Path, host: str, fits: bool) -> None:
    found = faults(config, f'\n[broker]\nuri = "mqtt://{host}:1883"\n')
    assert ("broker.uri" not in found) is fits
    if not fits:
        assert "write mqtts://" in found["broker.uri"].remedy


# ---------------------------------------------------------------- who else could read or write


SECRETS = ("ledger.device_key", "ledger.signing_key", "broker.password_file", "broker.key", "access.staff")


@pytest.fixture
def secrets(config: Path, tmp_path: Path) -> dict[str, Path]:
    """A table with every file that holds a secret."""
    create_device_key(tmp_path / "device")
    create_signing_key(tmp_path / "signing", tmp_path / "signing.pub", test=True)
    for name in ("password", "tls-key", "tls.crt"):
        (tmp_path / name).write_text("x\n")
        (tmp_path / name).chmod(0o600)
    stafffile.save(tmp_path / "staff", {})
    config.write_text(
        config.read_text()
        + """
[ledger]
device_key = "device"
signing_key = "signing"
[access]
staff = "staff"
[broker]
uri = "mqtts://broker.example:8883"
username = "t07"
password_file = "password"
certificate = "tls.crt"
key = "tls-key"
"""
    )
    names = ("device", "signing", "password", "tls-key", "staff")
    return {key: tmp_path / name for key, name in zip(SECRETS, names, strict=True)}


@pytest.mark.parametrize("mode", [0o644, 0o666, 0o640, 0o660, 0o604, 0o602, 0o620])
@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_that_others_can_read_or_write_is_refused(
    config: Path, secrets: dict[str, Path], key: str, mode: int
) -> None:
    assert faults(config) == {}
    secrets[key].chmod(mode)
    (fault,) = settings.check(config)
    assert fault.key == key
    assert fault.remedy == f"others can read it (mode {mode:04o}); chmod 600 it"
    secrets[key].chmod(0o400)
    assert faults(config) == {}


def test_a_credential_of_systemd_may_show_the_right_of_a_group(
    config: Path, secrets: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(config.parent))
    for path in secrets.values():
        path.chmod(0o440)
    assert faults(config) == {}
    secrets["broker.key"].chmod(0o444)
    assert set(faults(config)) == {"broker.key"}


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
@pytest.mark.parametrize(("key", "more"), [("state_dir", ""), ("ledger.file", "[ledger]"), ("socket.path", "[socket]")])
def test_a_folder_in_which_everybody_may_write_is_refused(
    config: Path, tmp_path: Path, key: str, more: str, mode: int
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    if key == "state_dir":
        config.write_text(config.read_text().replace(f'state_dir = "{tmp_path}"', 'state_dir = "open"'))
    else:
        more += f'\n{key.split(".")[1]} = "open/t07"\n'
    folder.chmod(mode)
    fault = faults(config, more)[key]
    assert fault.remedy.endswith(f"others can write in it (mode {mode:04o}); chmod 700 it")
    folder.chmod(0o755)
    assert faults(config) == {}


@pytest.mark.parametrize("limit", [1, 16, 63])
def test_a_bound_that_the_log_alone_would_reach_is_refused(config: Path, limit: int) -> None:
    fault = faults(config, f"\n[ledger]\nlimit_mb = {limit}\narchive_mb = 1\n")["ledger.limit_mb"]
    assert fault.value == str(limit)
    assert fault.remedy.startswith("at least 64: ")
    config.write_text(config.read_text().replace(f"limit_mb = {limit}", "limit_mb = 64"))
    assert faults(config) == {}
