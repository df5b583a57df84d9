"""What public daemons got wrong with devices, kind by kind: those that are about the operating system.

The other kinds are in ``tests/unit/test_fault_kinds.py``. Each test is named by the number of its kind.
"""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from drivers.conversation import Conversation, Step
from drivers.feig_host import FeigHost
from drivers.link import open_link
from drivers.mercury import RUN, Opcode, Request
from drivers.readings import CardSeen, DeviceFault, DeviceLost, DeviceUp, TagsSeen
from simulators.hardware.device import Device
from simulators.hardware.eccel import PepperReader
from simulators.hardware.feig import FeigReader
from simulators.hardware.mercury import MercuryModule
from simulators.rigs import Host
from tests.faultkit import Bench, TcpBench, Watched
from tests.ptywire import open_files
from tests.waiting import wait_until

pytestmark = pytest.mark.wires

TAGS = [f"E01680FF0800{number:04X}" for number in range(40)]
FAST = {"poll_ms": 20, "timeout_ms": 100, "retries": 2}

Make = Callable[..., Bench]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Make]:
    made: list[Bench] = []

    def make(device: Device, name: str = "reader") -> Bench:
        made.append(Bench(device, tmp_path / name))
        return made[-1]

    yield make
    for each in made:
        each.close()


def reader(*tags: str, serial: str = "0A1B2C3D") -> FeigReader:
    made = FeigReader(serial)
    made.put(tags)
    return made


def feig(uri: str, serial: str | None = None, **more: Any) -> Watched:
    return Watched(uri, "feig", expect={"serial": serial} if serial else None, options=FAST, **more)


HOLD = textwrap.dedent("""
    import sys, serial
    port = serial.Serial(sys.argv[1], exclusive=True, timeout=0)
    print("held", flush=True)
    sys.stdin.read()
""")


def hold(path: Path) -> "subprocess.Popen[str]":
    """Another process that opens a port and locks it."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def let_go(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate(timeout=10)


def test_kind_01_unplug_and_a_second_process_are_told_apart(bench: Make) -> None:
    port = bench(reader(TAGS[0]))
    other = hold(port.wire.path)
    with feig(port.uri) as watched:
        assert watched.until(DeviceLost).cause == "refused"
        assert "another process holds the port" in watched.supervisor.trouble()
        let_go(other)
        watched.until(DeviceUp)
        port.unplug()
        assert watched.until(DeviceLost).cause == "unplugged"


def test_kind_02_one_loss_is_told_once(bench: Make) -> None:
    port = bench(reader(TAGS[0]))
    with feig(port.uri) as watched:
        watched.until(DeviceUp)
        before = watched.supervisor.counts()["attempts"]
        port.unplug()
        watched.until(DeviceLost)
        wait_until(lambda: watched.supervisor.counts()["attempts"] > before + 5)
        assert len(watched.of(DeviceLost)) == 1


class Fragile(FeigHost):
    """A driver with a mistake: it fails at the first inventory it hears of."""

    broken = True

    def feed(self, data: bytes, now: int) -> Step:
        step = super().feed(data, now)
        if self.broken and any(isinstance(reading, TagsSeen) for reading in step.readings):
            self.broken = False
            raise ValueError("an unforeseen frame")
        return step


def test_kind_03_a_failing_driver_is_told_and_goes_on(bench: Make) -> None:
    port = bench(reader(TAGS[0]))

    def make(*given: Any) -> Conversation:
        return Fragile(given[1], path=given[2], options=given[4])

    with Watched(port.uri, "fragile", make=make, options=FAST) as watched:
        assert "ValueError" in watched.until(DeviceFault).detail
        watched.until(DeviceLost)
        watched.until(TagsSeen, lambda seen: seen.complete and seen.tags == {TAGS[0]})
        assert watched.supervisor.alive()


def test_kind_04_an_absent_device_costs_the_floor_per_attempt(bench: Make) -> None:
    port = bench(reader())
    port.unplug()
    floor_s = 0.1
    with feig(port.uri, floor_s=floor_s) as watched:
        watched.until(DeviceLost)
        began = os.times().elapsed
        before = watched.supervisor.counts()["attempts"]
        wait_until(lambda: watched.supervisor.counts()["attempts"] >= before + 4)
        passed = os.times().elapsed - began
        assert watched.supervisor.counts()["attempts"] - before <= passed / floor_s + 2


def test_kind_08_a_module_left_reading_by_a_killed_host(bench: Make) -> None:
    module = MercuryModule(baud=9_600)
    module.put([f"E280{number:020X}" for number in range(5)])
    port = bench(module)
    link = open_link(port.uri.replace("38400", "9600"), test_mode=False)
    link.write(Request(Opcode.CONTINUOUS, RUN).encode())
    wait_until(lambda: module.reading)
    link.close()  # killed: nobody told it to stop
    options = {"window_ms": 1000, "timeout_ms": 100, "retries": 1, "quiet_ms": 50}
    with Watched(port.uri.replace("38400", "115200"), "mercury", options=options) as watched:
        watched.until(DeviceUp, seconds=60)
        watched.until(TagsSeen, lambda seen: seen.complete and len(seen.tags) == 5, seconds=60)


def passed(watched: Watched, goal: int) -> bool:
    return watched.supervisor.progress() > goal


def test_kind_10_a_slow_table_blocks_nobody_and_drops_only_what_newer_inventories_replace(bench: Make) -> None:
    device = reader()
    port = bench(device)
    with feig(port.uri) as watched:
        watched.until(TagsSeen)
        watched.full = True
        for number in range(20):
            with port.lock:
                device.put(TAGS[number : number + 1])
            goal = watched.supervisor.progress() + 3
            wait_until(partial(passed, watched, goal))
        assert watched.supervisor.counts()["overtaken"] > 0
        watched.full = False
        seen = watched.until(TagsSeen, lambda seen: len(seen.tags) == 20)
        assert seen.complete
        assert watched.of(DeviceLost) == []


def test_kind_11_a_device_that_takes_nothing_cannot_hang_the_daemon(
    bench: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drivers.seriallink.WRITE_TIMEOUT_S", 0.1)
    port = bench(reader())
    with feig(port.uri) as watched:
        watched.until(DeviceUp)
        with port.lock:  # nobody reads at the other end from here on
            watched.supervisor._attendant._conversation = Flood()
            assert watched.until(DeviceLost).cause == "timeout"
            assert watched.supervisor.stop(5)


class Flood:
    """A conversation that always has more to send."""

    def start(self, now: int) -> Step:
        return Step(send=(bytes(1 << 16),), deadline=now)

    def feed(self, data: bytes, now: int) -> Step:
        return self.start(now)

    def tick(self, now: int) -> Step:
        return self.start(now)

    def acknowledge(self, reading: object, now: int) -> Step:
        return Step()

    def stop(self, now: int) -> Step:
        return Step()


def test_kind_13_a_second_open_is_refused_at_once_and_the_first_goes_on(bench: Make) -> None:
    device = reader(TAGS[0])
    port = bench(device)
    with feig(port.uri) as first:
        first.until(DeviceUp)
        with feig(port.uri, name="dev1") as second:
            assert second.until(DeviceLost).cause == "refused"
            with port.lock:
                device.put(TAGS[1:2])
            first.until(TagsSeen, lambda seen: seen.tags == set(TAGS[:2]))
            assert second.of(TagsSeen) == []


def test_kind_15_bad_checksums_over_tcp_are_counted_and_the_connection_stays() -> None:
    device = PepperReader()
    device.put(TAGS[:3])
    server = TcpBench(device)
    answers = [0]

    def every_seventh(frame: bytes) -> bytes:
        answers[0] += 1
        return frame if answers[0] % 7 else frame[:-1] + bytes((frame[-1] ^ 1,))

    try:
        options = {"antennas": [1, 2], "poll_ms": 20, "timeout_ms": 50, "retries": 10}
        with Watched(server.uri, "eccel", options=options) as watched:
            watched.until(DeviceUp)
            server.spoil = every_seventh
            fault = watched.until(DeviceFault, lambda fault: fault.fault == "noise")
            wait_until(lambda: answers[0] > 60)
            assert dict(fault.counts)["crc"] >= 1
            assert watched.of(DeviceLost) == []
            assert {seen.tags for seen in watched.of(TagsSeen) if seen.complete and seen.channel == "1"} == {
                frozenset(TAGS[:3])
            }
            assert server.connections == 1
    finally:
        server.close()


def test_kind_17_two_adapters_behind_one_name_are_told_apart_by_what_they_say(bench: Make, tmp_path: Path) -> None:
    left = bench(reader(TAGS[0], serial="AAAAAAAA"), "by-path-1")
    right = bench(reader(TAGS[1], serial="BBBBBBBB"), "by-path-2")
    by_id = tmp_path / "usb-1a86-if00"
    by_id.symlink_to(right.wire.path)  # without serial numbers the last one plugged in has the name
    with feig(f"serial://{by_id}?baud=38400", "AAAAAAAA") as watched:
        assert watched.until(DeviceLost).cause == "wrong_device"
        assert watched.of(TagsSeen) == []
    with feig(left.uri, "AAAAAAAA") as first, feig(right.uri, "BBBBBBBB", name="dev1") as second:
        assert first.until(TagsSeen).tags == {TAGS[0]}
        assert second.until(TagsSeen).tags == {TAGS[1]}


def test_kind_18_two_daemons_do_not_take_each_others_reader(bench: Make, tmp_path: Path) -> None:
    mine = bench(reader(serial="AAAAAAAA"), "mine")
    theirs = hold(mine.wire.path)  # another daemon was first
    with feig(mine.uri, "AAAAAAAA") as watched:
        assert watched.until(DeviceLost).cause == "refused"
        assert theirs.poll() is None, "who has the port keeps it"
        theirs.send_signal(signal.SIGKILL)
        theirs.communicate(timeout=10)
        watched.until(DeviceUp)  # a lock does not outlive its process
    other = bench(reader(TAGS[0], serial="BBBBBBBB"), "other")
    # Misconfigured, it opens the other table's reader: it is let go at once, and its owner gets it.
    with feig(other.uri, "AAAAAAAA") as thief, feig(other.uri, "BBBBBBBB", name="dev1") as owner:
        owner.until(TagsSeen, lambda seen: seen.complete)
        assert thief.of(DeviceUp) == []


def test_kind_19_it_restarts_however_long_it_was_away(bench: Make) -> None:
    port = bench(reader(TAGS[0]))
    with feig(port.uri) as watched:
        watched.until(DeviceUp)
        port.unplug()
        watched.until(DeviceLost)
        before = watched.supervisor.counts()["attempts"]
        wait_until(lambda: watched.supervisor.counts()["attempts"] > before + 30)
        port.plug()
        assert watched.until(DeviceUp).attempt > 25
        watched.until(TagsSeen, lambda seen: seen.complete)


def test_kind_20_ports_that_change_places_are_noticed_and_found_again(bench: Make, tmp_path: Path) -> None:
    left = bench(reader(TAGS[0], serial="AAAAAAAA"), "node-a")
    right = bench(reader(TAGS[1], serial="BBBBBBBB"), "node-b")
    names = [tmp_path / "ttyUSB0", tmp_path / "ttyUSB1"]

    def link(first: Path, second: Path) -> None:
        for name, target in zip(names, (first, second), strict=True):
            name.unlink(missing_ok=True)
            name.symlink_to(target)

    link(left.wire.path, right.wire.path)
    uris = [f"serial://{name}?baud=38400" for name in names]
    with feig(uris[0], "AAAAAAAA") as one, feig(uris[1], "BBBBBBBB", name="dev1") as two:
        one.until(DeviceUp)
        two.until(DeviceUp)
        for port in (left, right):
            port.unplug()
        one.until(DeviceLost)
        two.until(DeviceLost)
        link(right.wire.path, left.wire.path)
        for port in (right, left):
            port.plug()
        # The loss is told once; that the wrong one is there now, a fault says.
        assert "expected serial" in one.until(DeviceFault).detail
        assert "expected serial" in two.until(DeviceFault).detail
        link(left.wire.path, right.wire.path)
        one.until(DeviceUp)
        two.until(DeviceUp)
        one.until(TagsSeen)
        two.until(TagsSeen)
        assert all(seen.tags <= {TAGS[0]} for seen in one.of(TagsSeen))
        assert all(seen.tags <= {TAGS[1]} for seen in two.of(TagsSeen))


def test_kind_21_an_unplug_that_looks_like_silence(bench: Make) -> None:
    port = bench(reader(TAGS[0]))
    with feig(port.uri) as watched:
        watched.until(DeviceUp)
        port.deaf = True
        assert watched.until(DeviceLost).cause == "timeout"
        assert all(seen.tags == {TAGS[0]} for seen in watched.of(TagsSeen) if seen.complete)
        port.deaf = False
        watched.until(DeviceUp)


SHOE = {"name": "shoe0", "driver": "shoe", "serial": "USB-7", "title": "Smart shoe"}


@pytest.fixture
def usb(tmp_path: Path) -> Iterator[Host]:
    host = Host([SHOE], tmp_path / "acts")
    yield host
    host.stop()


def slide(host: Host, card: str) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = host.do("slide", "shoe0", card=card)
    return answer


def test_kind_22_a_replugged_usb_device_is_found_anew(usb: Host) -> None:
    with Watched(usb.uris["shoe0"], "shoe") as watched:
        for card in ("As", "Kd", "2c"):
            watched.until(DeviceUp)
            slide(usb, card)
            seen = watched.until(CardSeen)
            assert seen.card == card
            watched.supervisor.acknowledge(seen)
            wait_until(lambda: usb.do("state", "shoe0")["unconfirmed"] == 0)
            usb.do("unplug", "shoe0")
            assert watched.until(DeviceLost).cause == "unplugged"
            usb.do("plug", "shoe0")
        watched.until(DeviceUp)


def test_kind_23_the_second_run_works_like_the_first(usb: Host) -> None:
    for card in ("As", "Kd", "2c", "9h"):
        with Watched(usb.uris["shoe0"], "shoe") as watched:
            watched.until(DeviceUp)
            slide(usb, card)
            seen = watched.until(CardSeen)
            assert seen.card == card
            watched.supervisor.acknowledge(seen)
            wait_until(lambda: usb.do("state", "shoe0")["unconfirmed"] == 0)
            usb.do("noise", "shoe0", bytes="deadbeef")  # what nobody fetches waits in the pipe for the next run
        usb.do("noise", "shoe0", bytes="46530102")


def resident_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_thousand_replugs_leak_no_thread_no_descriptor_and_no_memory(bench: Make) -> None:
    device = reader(*TAGS[:10])
    port = bench(device)
    with feig(port.uri, floor_s=0.002) as watched:

        def cycle() -> None:
            watched.until(DeviceUp)
            watched.until(TagsSeen, lambda seen: seen.complete)
            port.unplug()
            watched.until(DeviceLost)
            watched.told.clear()
            port.plug()

        for _ in range(100):
            cycle()
        threads, files, memory = threading.active_count(), open_files(), resident_kb()
        for _ in range(1000):
            cycle()
        wait_until(lambda: threading.active_count() <= threads)
        wait_until(lambda: open_files() <= files + 6)
        grown = resident_kb() - memory
        assert grown < 4096, f"{grown} kB more after 1,000 cycles"
