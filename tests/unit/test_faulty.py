"""``feltd status`` names the troubles of devices that are up: faults, contradictions, floods, until they are over."""

from dataclasses import replace
from typing import Any

import pytest

from controller.client import picture
from controller.core.inputs import Input, Tick, What
from controller.core.sensing.flood import MOST, QUIET
from controller.core.setup import DeviceInfo
from controller.core.table import Table
from drivers.readings import DeviceCleared, DeviceConflict, DeviceFault, DeviceLost, DeviceUp, KeyPressed, KeyReleased
from tests import felt
from tests.felt import WALL

SECOND = 1_000_000_000
TAG = "E004015000000001"
FAULTS = (
    "jam",
    "lid",
    "empty",
    "reset",
    "noise",
    "overflow",
    "rf",
    "doubtful",
    "protocol",
    "throttle",
    "antenna",
    "view",
)


class Watched:
    """A table with a reader of bets and a keypad, both up."""

    def __init__(self) -> None:
        bets = DeviceInfo("bets0", "feig", {"1": "bet:1", "2": "bet:2"}, "reader")
        setup = felt.setup()
        self.table = Table(replace(setup, devices=(*setup.devices, bets)))
        self.at = self.number = 0
        for device in ("bets0", "keys0"):
            self.up(device)

    def feed(self, what: What, after: int = SECOND) -> None:
        self.at += after
        self.number += 1
        self.table.feed(Input(self.number, self.at, WALL + self.at, what))

    def up(self, device: str) -> None:
        self.feed(DeviceUp(device, self.number, "feig", "m", "s", "f", "p", 1))

    @property
    def faults(self) -> dict[str, Any]:
        status = self.table.status()
        assert set(status["devices"]) >= set(status["faults"])
        shown = [line for line in picture(status).splitlines() if "in trouble" in line]
        assert len(shown) == len(status["faults"])
        faults: dict[str, Any] = status["faults"]
        for device, own in faults.items():
            assert any(line.startswith(f"device {device}: ") and line.endswith(", ".join(own)) for line in shown)
        return faults


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_shown_until_it_is_over(watched: Watched, fault: str) -> None:
    assert watched.faults == {}
    watched.feed(DeviceFault("bets0", 1, fault))
    watched.feed(DeviceFault("bets0", 2, "noise"))
    assert watched.faults == {"bets0": sorted({fault, "noise"})}
    assert watched.table.status()["devices"]["bets0"] == "up"
    watched.feed(DeviceCleared("bets0", 3, fault))
    watched.feed(DeviceCleared("bets0", 4, "noise"))
    assert watched.faults == {}


def test_a_tag_on_two_channels_is_shown_and_the_tag_is_not(watched: Watched) -> None:
    watched.feed(DeviceConflict("bets0", 1, TAG, ("1", "2")))
    assert watched.faults == {"bets0": ["conflict"]}
    assert TAG not in repr(watched.table.status())
    watched.feed(DeviceCleared("bets0", 2, "conflict"))
    assert watched.faults == {}


def test_a_conflict_of_its_own_and_one_with_another_device_end_each_for_itself(watched: Watched) -> None:
    watched.feed(DeviceConflict("bets0", 1, TAG, ("1", "2")))
    watched.table._contradicted(DeviceConflict("bets0", 0, TAG, ("1",)), watched.at)
    watched.feed(DeviceCleared("bets0", 2, "conflict"))
    assert watched.faults == {"bets0": ["conflict"]}
    watched.table._contradicted(DeviceCleared("bets0", 0, "conflict"), watched.at)
    assert watched.faults == {}


def test_what_a_lost_device_had_is_shown_until_it_says_otherwise(watched: Watched) -> None:
    watched.feed(DeviceFault("bets0", 1, "noise"))
    watched.feed(DeviceFault("bets0", 2, "protocol", "the driver starts over"))
    watched.feed(DeviceLost("bets0", 3, "refused", "p", 1))
    assert watched.table.status()["devices"]["bets0"] == "lost"
    assert watched.faults == {"bets0": ["noise", "protocol"]}
    watched.up("bets0")
    assert watched.faults == {"bets0": ["noise"]}


def test_a_keypad_that_is_not_listened_to_is_shown(watched: Watched) -> None:
    for _ in range(MOST + 1):
        watched.feed(KeyPressed("keys0", watched.number, "CHECK"), after=1)
        watched.feed(KeyReleased("keys0", watched.number, "CHECK"), after=1)
    assert watched.faults == {"keys0": ["flood"]}
    watched.feed(Tick(), after=QUIET + 1)
    assert watched.faults == {}
