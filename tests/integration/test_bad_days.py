"""What a day can do to the daemon itself: a disk that takes no more, a clock that is set, a machine that sleeps."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.ledger.verify import verify
from simulators.rigs import Host
from tests.running import Running, write_config
from tests.shimming import built, needs_compiler
from tests.waiting import wait_until

pytestmark = [pytest.mark.wires, pytest.mark.timeout(120), needs_compiler]

SECOND = 1_000_000_000
DRIVERS = {"shoe0": "shoe", "keys0": "keypad"}
DECK = ["2c", "2d", "7h", "7s", "9c", "Jd", "Ah", "Kd"]


@pytest.fixture(scope="module")
def shims(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("shims")
    return {name: built(name, folder) for name in ("faults", "clock")}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    devices = [{"name": name, "driver": driver} for name, driver in DRIVERS.items()]
    with Host(devices, tmp_path / "host.sock") as host:
        yield host


def begin_hand(daemon: Running, host: Host) -> None:
    daemon.do("login", staff="s-01", role="manager")
    daemon.do("open", button=2)
    for seat in (1, 2):
        daemon.do("seat", seat=seat, stack=10_000)
    host.do("load", "shoe0", cards=DECK)
    wait_until(lambda: set(daemon.status["devices"].values()) == {"up"}, what="devices up")
    for act in ("press", "release"):
        host.do(act, "keys0", key="HAND")
    wait_until(lambda: daemon.status["hand"], what="a hand")
    host.do("slide", "shoe0")
    wait_until(lambda: host.do("state", "shoe0")["unconfirmed"] == 0, what="the first card acknowledged")


@pytest.mark.parametrize("mode", ["enospc", "eio", "erofs"])
def test_a_disk_that_takes_no_more_ends_the_daemon_and_costs_nothing(
    tmp_path: Path, shims: dict[str, Path], host: Host, mode: str
) -> None:
    config = write_config(tmp_path, {name: (driver, host.uris[name]) for name, driver in DRIVERS.items()})
    bad = tmp_path / "bad"
    environ = {"LD_PRELOAD": str(shims["faults"]), "FELT_SHIM_MODE": mode, "FELT_SHIM_AFTER": "0"}
    environ |= {"FELT_SHIM_MATCH": "t07.ledger", "FELT_SHIM_WHEN": str(bad)}
    with Running(config, environ=environ) as daemon:
        begin_hand(daemon, host)
        bad.touch()
        host.do("slide", "shoe0")
        assert daemon.process.wait(30) == 1
        (said,) = [line for line in daemon.lines() if line["level"] == "critical"]
        assert "nothing was stored" in said["error"]
    assert host.do("state", "shoe0")["unconfirmed"] == 1, "what is not durable is not acknowledged"
    assert verify(daemon.ledger).ok
    bad.unlink()
    with Running(config) as daemon:  # as the service manager does
        wait_until(lambda: host.do("state", "shoe0")["unconfirmed"] == 0, what="the second card acknowledged")
        assert [record.data["slot"] for record in daemon.records("card.dealt")] == [0, 1]
        assert daemon.stop() == 0
    assert verify(daemon.ledger).ok


def test_a_clock_that_is_set_and_a_machine_that_sleeps_are_told_apart(tmp_path: Path, shims: dict[str, Path]) -> None:
    clock = tmp_path / "clock"
    clock.write_bytes(struct.pack("qq", 0, 0))

    def shift(wall_s: int, asleep_s: int) -> None:
        with clock.open("r+b") as file:
            file.write(struct.pack("qq", wall_s * SECOND, asleep_s * SECOND))

    environ = {"LD_PRELOAD": str(shims["clock"]), "FELT_SHIM_CLOCK": str(clock)}
    with Running(write_config(tmp_path), environ=environ) as daemon:
        daemon.do("open")
        shift(3600, 0)
        wait_until(lambda: daemon.records("clock.stepped"), what="the step told")
        daemon.do("seat", seat=1, stack=1000)
        shift(3600, 7200)
        wait_until(lambda: daemon.records("recovery.completed"), what="the sleep told")
        shift(-3600, 7200)
        wait_until(lambda: len(daemon.records("clock.stepped")) == 2, what="the step back told")
        assert daemon.stop() == 0
    forth, back = (record.data["step_ms"] for record in daemon.records("clock.stepped"))
    assert abs(forth - 3_600_000) < 3000
    assert abs(back + 7_200_000) < 3000
    (slept,) = daemon.records("recovery.completed")
    assert slept.data["cause"] == "suspended"
    assert abs(slept.data["gap_ms"] - 7_200_000) < 3000
    assert verify(daemon.ledger).ok, "order is by sequence, whatever the clock says"
