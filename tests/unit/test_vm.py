"""What ``make test-vm`` takes into its machine, held against what it is made from; the machine itself is not booted."""

import tomllib
from pathlib import Path

import pytest

from simulators import rig
from simulators.rehearse import main
from simulators.verdict import Exit
from tests.vm import image, machine
from tests.vm.errors import NoMachine


@pytest.fixture
def example(root: Path) -> str:
    return (root / "config" / "table.example.toml").read_text(encoding="utf-8")


def test_the_table_is_the_example_in_test_mode(example: str) -> None:
    table = tomllib.loads(image.table(example))
    assert table["test"]
    devices = tomllib.loads(example)["devices"]
    assert {name: device["uri"] for name, device in table["devices"].items()} == {
        name: device["uri"] for name, device in devices.items()
    }
    assert not {"override", "access"} & table.keys()


def test_an_example_that_has_changed_is_said(example: str) -> None:
    with pytest.raises(NoMachine, match="hr_thp"):
        image.table(example.replace("hr_thp", "bg_holdem"))
    with pytest.raises(NoMachine, match="override"):
        image.table(example.replace("[override]", "[overrides]"))


def test_its_rig_plays_the_devices_of_the_table(example: str) -> None:
    played = rig.read(image.GUEST / "rig.toml")
    assert {device["name"] for device in played.devices} == tomllib.loads(example)["devices"].keys()


def test_its_adapter_is_the_one_that_the_rules_name(root: Path) -> None:
    rules = (root / "systemd" / "udev" / "60-feltd.rules").read_text(encoding="utf-8")
    (line,) = (line for line in rules.splitlines() if f'ATTRS{{serial}}=="{machine.ADAPTER["serial"]}"' in line)
    assert 'ATTRS{idVendor}=="0403"' in line
    assert 'SYMLINK+="table/t07-tray0"' in line


def test_its_hand_can_be_played() -> None:
    assert main([str(image.GUEST / "hand.toml"), "--through", "virtual"]) == Exit.PASSED
