"""``feltsim replay``: an argument that is wrong, or does not fit, is one line with field, value and remedy; code 2."""

from pathlib import Path

import pytest

from controller.capture import pcapng, wire
from simulators import replay
from simulators.verdict import Exit
from tests.running import write_config
from tests.unit.test_capture import Taped

USB = {"keys0": ("keypad", "usb://1209:0002"), "shoe0": ("shoe", "usb://1209:0001")}


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    """A capture of a table with a keypad ``keys0``."""
    folder = tmp_path / "taken"
    folder.mkdir()
    taped = Taped(folder)
    taped.play()
    taped.end()
    return taped.capture


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, USB)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What is said, on one line."""
    assert replay.main([str(one) for one in arguments]) == Exit.SCRIPT
    said = capsys.readouterr()
    assert not said.out
    assert said.err.count("\n") == 1, said.err
    return said.err


@pytest.mark.parametrize("speed", ["0", "-1", "0.01", "1001", "inf", "nan"])
def test_a_speed_that_no_table_runs_at(taken: Path, speed: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, taken, "--speed", speed)
    assert "--speed" in said
    assert "from 0.1 to 1000" in said


@pytest.mark.parametrize(
    ("device", "remedy"),
    [
        ("foo", "write NAME=RECORDED:DRIVER"),
        ("keys0=:keypad", "write NAME=RECORDED:DRIVER"),
        ("keys0=keys0:abacus", "no driver abacus: use "),
        ("keys0=9-9:keypad", "the capture holds keys0"),
    ],
)
def test_a_device_that_is_none(taken: Path, device: str, remedy: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, taken, "--device", device)
    assert f"--device = '{device}'" in said
    assert remedy in said


def test_a_device_that_is_named_twice(taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ("--device", "keys0=keys0:keypad", "--device", "keys0=keys0:shoe")
    assert "keys0 is named twice" in refused(capsys, taken, *both)


def test_a_capture_that_does_not_say_its_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bare.pcapng"
    file.write_bytes(pcapng.section("t") + pcapng.interface("usbmon1", wire.USB))
    assert "name them" in refused(capsys, file)
    file.write_bytes(b"")
    assert "is empty" in refused(capsys, file)


def test_a_ledger_that_is_there_or_can_be_nowhere(
    taken: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "there"
    there.write_bytes(b"mine")
    for ledger in (there, tmp_path, tmp_path / "no" / "such"):
        said = refused(capsys, taken, "-c", config, "--ledger", ledger)
        assert f"--ledger = '{ledger}'" in said
        assert "name a new file" in said
    assert there.read_bytes() == b"mine"
    assert "with -c" in refused(capsys, taken, "--ledger", tmp_path / "new")


@pytest.mark.parametrize("content", [None, "", "[", "devices = 3\n", "[devices]\nkeys0 = 3\n"])
def test_a_table_file_that_is_none(
    taken: Path, tmp_path: Path, content: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "nofile"
    if content is not None:
        config.write_text(content)
    assert str(config) in refused(capsys, taken, "-c", config)


def test_a_table_that_cannot_be_run_is_told_as_feltd_check_tells_it(
    taken: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(config.read_text(encoding="utf-8").replace("seats = 6", "seats = 600"), encoding="utf-8")
    said = refused(capsys, taken, "-c", config)
    assert said.startswith(f"{config}: seats = 600: ")


def test_a_card_key_that_is_none(taken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no-key" in refused(capsys, taken, "--card-key", tmp_path / "no-key")


@pytest.mark.parametrize(
    ("devices", "value"),
    [({"keys0": ("shoe", "usb://1209:0001")}, "shoe"), ({"keys1": ("keypad", "usb://1209:0002")}, "missing")],
)
@pytest.mark.parametrize("named", [(), ("--device", "keys0=keys0:keypad")])
def test_a_table_with_other_devices_is_not_played_into(
    taken: Path,
    tmp_path: Path,
    devices: dict[str, tuple[str, str]],
    value: str,
    named: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = write_config(tmp_path, devices)
    said = refused(capsys, taken, "-c", config, *named)
    assert said.startswith(f"{config}: devices.keys0.driver = {value}: ")
    assert "keys0 is keypad" in said


def test_every_device_that_the_table_has_not_is_named(
    taken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, {"shoe0": ("shoe", "usb://1209:0001")})
    both = ("--device", "keys0=keys0:keypad", "--device", "tray0=keys0:feig")
    assert replay.main([str(taken), "-c", str(config), *both]) == Exit.SCRIPT
    said = capsys.readouterr().err
    assert said.count("\n") == 2
    assert "keys0 is keypad" in said
    assert "tray0 is feig" in said
