"""The process of simulated devices, reached by the daemon's own links and drivers over pty and USB/IP."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
import usb.core
import usb.util

from drivers.backoff import Backoff
from drivers.errors import LinkLost, LinkMissing, LinkRefused, LocalError
from drivers.link import open_link
from drivers.readings import (
    CardSeen,
    DeviceCleared,
    DeviceFault,
    DeviceLost,
    DeviceUp,
    KeyPressed,
    KeyReleased,
    Reading,
    TagsSeen,
)
from drivers.supervisor import Supervisor
from drivers.usbip import UsbIpBackend
from simulators.errors import RigError
from simulators.rigs import Host
from tests.ptywire import open_files
from tests.waiting import wait_until

pytestmark = pytest.mark.wires

R = TypeVar("R", bound=Reading)
Boot = Callable[..., Host]
TAGS = ["E00401000000000A", "E00401000000000B"]


class Table:
    """Where readings go; takes those of one kind out in order."""

    def __init__(self) -> None:
        self.queue: queue.Queue[Reading] = queue.Queue()

    def emit(self, reading: Reading) -> bool:
        self.queue.put(reading)
        return True

    def next(self, kind: type[R]) -> R:
        deadline = time.monotonic() + 20
        while True:
            reading = self.queue.get(timeout=max(0.01, deadline - time.monotonic()))
            if isinstance(reading, kind):
                return reading

    def none_of(self, kind: type[R]) -> bool:
        return not any(isinstance(reading, kind) for reading in self.queue.queue)


@pytest.fixture
def boot(tmp_path: Path) -> Iterator[Boot]:
    hosts: list[Host] = []

    def start(*devices: Mapping[str, Any]) -> Host:
        hosts.append(Host(devices, tmp_path / f"acts{len(hosts)}"))
        return hosts[-1]

    yield start
    for host in hosts:
        host.stop()


@pytest.fixture
def watch() -> Iterator[Callable[..., tuple[Supervisor, Table]]]:
    started: list[Supervisor] = []

    def begin(host: Host, name: str, driver: str, **more: Any) -> tuple[Supervisor, Table]:
        table = Table()
        supervisor = Supervisor(
            name,
            host.uris[name],
            driver,
            emit=table.emit,
            clock=time.monotonic_ns,
            test_mode=True,
            backoff=Backoff(0.01, 0.1),
            **more,
        )
        started.append(supervisor)
        supervisor.start()
        return supervisor, table

    yield begin
    for supervisor in started:
        assert supervisor.stop()


Watch = Callable[..., tuple[Supervisor, Table]]
SHOE = {"name": "shoe0", "driver": "shoe", "serial": "USB-7", "title": "Smart shoe"}
KEYS = {"name": "keys0", "driver": "keypad", "product": 2}


def tray(folder: Path) -> dict[str, Any]:
    return {"name": "tray0", "driver": "feig", "path": str(folder / "tray0")}


def test_a_card_slides_and_is_confirmed_only_after_commit(boot: Boot, watch: Watch) -> None:
    host = boot(SHOE)
    shoe, table = watch(host, "shoe0", "shoe")
    assert table.next(DeviceUp).kind == "shoe"
    host.do("slide", "shoe0", card="As", confidence=97)
    card = table.next(CardSeen)
    assert (card.card, card.confidence) == ("As", 97)
    assert host.do("state", "shoe0")["unconfirmed"] == 1
    shoe.acknowledge(card)
    wait_until(lambda: host.do("state", "shoe0")["unconfirmed"] == 0)


def test_fifty_cards_come_in_order(boot: Boot, watch: Watch) -> None:
    host = boot(SHOE)
    shoe, table = watch(host, "shoe0", "shoe")
    table.next(DeviceUp)
    dealt = [host.do("slide", "shoe0", card=rank + suit)["card"] for suit in "cdhs" for rank in "23456789TJQKA"]
    seen = []
    for _ in dealt:
        card = table.next(CardSeen)
        shoe.acknowledge(card)
        seen.append(card.card)
    assert seen == dealt
    wait_until(lambda: host.do("state", "shoe0")["unconfirmed"] == 0)


def test_the_plug_pulled_with_a_card_unconfirmed(boot: Boot, watch: Watch) -> None:
    host = boot(SHOE)
    shoe, table = watch(host, "shoe0", "shoe")
    table.next(DeviceUp)
    host.do("slide", "shoe0", card="As")
    first = table.next(CardSeen)
    host.do("unplug", "shoe0")
    assert table.next(DeviceLost).cause in ("unplugged", "missing")
    shoe.acknowledge(first)
    host.do("plug", "shoe0")
    table.next(DeviceUp)
    host.do("slide", "shoe0", card="Kd")
    second = table.next(CardSeen)
    assert (second.card, second.sequence) == ("Kd", first.sequence + 1)
    shoe.acknowledge(second)
    wait_until(lambda: host.do("state", "shoe0")["unconfirmed"] == 0)
    assert table.none_of(CardSeen), "a card counted twice"


def test_jam_lid_reset_and_noise(boot: Boot, watch: Watch) -> None:
    host = boot(SHOE)
    shoe, table = watch(host, "shoe0", "shoe")
    table.next(DeviceUp)
    host.do("slide", "shoe0", card="2c")
    shoe.acknowledge(table.next(CardSeen))
    host.do("jam", "shoe0")
    wait_until(lambda: table.next(DeviceFault).fault == "jam")
    with pytest.raises(RigError, match="no card came out"):
        host.do("slide", "shoe0", card="3c")
    host.do("clear", "shoe0")
    wait_until(lambda: table.next(DeviceCleared).fault == "jam")
    host.do("lid", "shoe0", open=True)
    wait_until(lambda: table.next(DeviceFault).fault == "lid")
    host.do("lid", "shoe0", open=False)
    wait_until(lambda: table.next(DeviceCleared).fault == "lid")
    host.do("reset", "shoe0")
    wait_until(lambda: table.next(DeviceFault).fault == "reset")
    host.do("noise", "shoe0", bytes="ff00ff4653ff")
    wait_until(lambda: table.next(DeviceFault).fault == "noise")
    host.do("corrupt", "shoe0")
    host.do("slide", "shoe0", card="3c")
    assert table.next(CardSeen).card == "3c", "a frame with a wrong checksum is asked for again"


def test_keys_of_a_hid_keyboard(boot: Boot, watch: Watch) -> None:
    host = boot(KEYS)
    _, table = watch(host, "keys0", "keypad")
    assert table.next(DeviceUp).kind == "keypad"
    host.do("press", "keys0", key="FOLD")
    host.do("press", "keys0", key="7")
    host.do("release", "keys0", key="FOLD")
    host.do("tap", "keys0", keys=["1", "ENTER"])
    assert [table.next(KeyPressed).key for _ in range(2)] == ["FOLD", "7"]
    assert table.next(KeyReleased).key == "FOLD"
    assert [table.next(KeyPressed).key for _ in range(2)] == ["1", "ENTER"]


def test_a_held_key_does_not_outlive_the_plug(boot: Boot, watch: Watch) -> None:
    host = boot(KEYS)
    _, table = watch(host, "keys0", "keypad")
    table.next(DeviceUp)
    host.do("press", "keys0", key="9")
    table.next(KeyPressed)
    host.do("unplug", "keys0")
    table.next(DeviceLost)
    host.do("plug", "keys0")
    assert table.next(KeyReleased).key == "9"


def test_tags_of_a_reader_on_a_pty(boot: Boot, watch: Watch, tmp_path: Path) -> None:
    host = boot(tray(tmp_path))
    _, table = watch(host, "tray0", "feig", options={"poll_ms": 10})
    assert table.next(DeviceUp).kind == "feig"
    host.do("put", "tray0", channel="0", tags=TAGS)
    wait_until(lambda: table.next(TagsSeen).tags == set(TAGS))
    assert host.do("state", "tray0")["tags"] == TAGS
    host.do("take", "tray0", channel="0", tags=TAGS[:1])
    wait_until(lambda: table.next(TagsSeen).tags == set(TAGS[1:]))
    host.do("unplug", "tray0")
    assert table.next(DeviceLost).cause == "unplugged"
    assert not os.path.lexists(tmp_path / "tray0")
    host.do("plug", "tray0")
    table.next(DeviceUp)
    wait_until(lambda: table.next(TagsSeen).tags == set(TAGS[1:]))


def test_a_deaf_reader_is_a_timeout_and_comes_back(boot: Boot, watch: Watch, tmp_path: Path) -> None:
    host = boot(tray(tmp_path))
    _, table = watch(host, "tray0", "feig", options={"poll_ms": 10, "timeout_ms": 30, "retries": 2})
    table.next(DeviceUp)
    host.do("deaf", "tray0")
    assert table.next(DeviceLost).cause == "timeout"
    host.do("hear", "tray0")
    table.next(DeviceUp)


def test_missing_at_the_start_and_the_wrong_one(boot: Boot, watch: Watch) -> None:
    host = boot(SHOE | {"plugged": False})
    _, table = watch(host, "shoe0", "shoe", expect={"serial": "SHOE-0002"})
    assert table.next(DeviceLost).cause == "missing"
    host.do("plug", "shoe0")
    assert "expected serial 'SHOE-0002'" in table.next(DeviceFault).detail


@pytest.mark.ci
def test_fifty_replugs_of_a_usb_device_leak_nothing(boot: Boot, watch: Watch) -> None:
    host = boot(SHOE)
    shoe, table = watch(host, "shoe0", "shoe")

    def cycle() -> None:
        table.next(DeviceUp)
        host.do("slide", "shoe0", card="As")
        shoe.acknowledge(table.next(CardSeen))
        wait_until(lambda: host.do("state", "shoe0")["unconfirmed"] == 0)
        host.do("unplug", "shoe0")
        table.next(DeviceLost)
        host.do("plug", "shoe0")

    def threads_there() -> int:
        return len(os.listdir(f"/proc/{host.pid}/task"))  # noqa: PTH208

    cycle()
    table.next(DeviceUp)
    host.do("unplug", "shoe0")
    table.next(DeviceLost)
    here, there, files = threading.active_count(), threads_there(), open_files()
    host.do("plug", "shoe0")
    for _ in range(50):
        cycle()
    table.next(DeviceUp)
    host.do("unplug", "shoe0")
    table.next(DeviceLost)
    wait_until(lambda: threading.active_count() <= here)
    wait_until(lambda: threads_there() <= there)
    wait_until(lambda: open_files() <= files)


# ---------------------------------------------------------------- the links alone


def test_usb_links_tell_busy_missing_and_lost_apart(boot: Boot) -> None:
    host = boot(SHOE)
    uri = host.uris["shoe0"]
    link = open_link(uri, test_mode=True)
    with pytest.raises(LinkRefused, match="another process holds") as busy:
        open_link(uri, test_mode=True)
    assert not isinstance(busy.value, LinkMissing)
    assert link.read(0.01) == b""
    link.wake()
    assert link.read(60) == b""
    host.do("noise", "shoe0", bytes="0102")
    assert link.read(10) == b"\x01\x02"
    host.do("unplug", "shoe0")
    with pytest.raises(LinkLost):
        link.read(10)
    with pytest.raises(LinkLost):
        link.write(b"x")
    link.close()
    link.close()
    with pytest.raises(LinkMissing, match="plug it in"):
        open_link(uri, test_mode=True)
    with pytest.raises(LinkMissing):
        open_link(uri.replace("/1-1", "/7-7"), test_mode=True)
    host.do("plug", "shoe0")
    with pytest.raises(LinkRefused, match="no interface 3"):
        open_link(uri.replace("interface=0", "interface=3"), test_mode=True)
    open_link(uri, test_mode=True).close()


def test_frames_longer_than_a_packet_and_exactly_one_packet(boot: Boot) -> None:
    host = boot(SHOE)
    link = open_link(host.uris["shoe0"], test_mode=True)
    for size in (64, 128, 300):
        sent = bytes(number % 251 for number in range(size))
        host.do("noise", "shoe0", bytes=sent.hex())
        got = b""
        while len(got) < size:
            got += link.read(10)
        assert got == sent
    link.close()


def test_what_was_left_in_the_pipe_is_drained_at_open(boot: Boot) -> None:
    host = boot(SHOE)
    open_link(host.uris["shoe0"], test_mode=True).close()
    host.do("noise", "shoe0", bytes="dead")
    link = open_link(host.uris["shoe0"], test_mode=True)
    assert link.read(0.02) == b""
    link.close()


def test_the_keyboard_is_in_boot_protocol_and_takes_no_data(boot: Boot) -> None:
    host = boot(KEYS)
    link = open_link(host.uris["keys0"], test_mode=True)
    with pytest.raises(LocalError, match="no OUT endpoint"):
        link.write(b"x")
    host.do("press", "keys0", key="7")
    host.do("release", "keys0", key="7")
    assert [len(link.read(10)), len(link.read(10))] == [8, 8], "reports are passed whole, one a read"
    link.close()
    _, _, port = host.uris["keys0"].partition("127.0.0.1:")
    device = usb.core.find(backend=UsbIpBackend("127.0.0.1", int(port.partition("/")[0])), idProduct=2)
    assert device is not None
    assert device.ctrl_transfer(0xA1, 0x03, 0, 0, 1).tolist() == [0], "GET_PROTOCOL: boot"
    usb.util.dispose_resources(device)


def test_usb_devices_say_who_they_are(boot: Boot) -> None:
    host = boot(SHOE, KEYS)
    port = int(host.uris["shoe0"].partition("127.0.0.1:")[2].partition("/")[0])
    found = list(usb.core.find(find_all=True, backend=UsbIpBackend("127.0.0.1", port)))
    assert [device.idProduct for device in found] == [1, 2]
    assert (found[0].product, found[0].serial_number) == ("Smart shoe", "USB-7")
    interface = found[0][0][(0, 0)]
    assert interface.bInterfaceClass == 0xFF
    assert [(each.bEndpointAddress, each.wMaxPacketSize) for each in interface] == [(0x01, 64), (0x81, 64)]
    interface = found[1][0][(0, 0)]
    assert (interface.bInterfaceClass, interface.bInterfaceSubClass, interface.bInterfaceProtocol) == (3, 1, 1)
    for device in found:
        usb.util.dispose_resources(device)


# ---------------------------------------------------------------- the process itself


@pytest.mark.parametrize(
    ("devices", "says"),
    [
        ([{"name": "x", "driver": "sho"}], "no simulated 'sho'; use shoe, keypad, feig"),
        ([{"name": "x"}], "has no driver"),
        ([{"name": "x", "driver": "shoe", "colour": 1}], "'colour' is no setting"),
        ([{"name": "x", "driver": "shoe", "link": "radio"}], "use pty, serial, tcp, bulk or keyboard"),
        ([{"name": "x", "driver": "shoe", "model": {"legs": 4}}], "legs"),
        ([{"name": "x", "driver": "feig", "path": "tray0"}], "give an absolute path"),
        ([SHOE, SHOE], "the name is used twice"),
    ],
)
def test_a_faulty_spec_is_named(devices: Sequence[Mapping[str, Any]], says: str, tmp_path: Path) -> None:
    with pytest.raises(RigError, match=says):
        Host(devices, tmp_path / "acts")


@pytest.mark.parametrize(
    ("what", "device", "args", "says"),
    [
        ("slide", "shoe9", {}, "no device 'shoe9'; there are shoe0, keys0"),
        ("fly", "shoe0", {}, "a shoe knows no 'fly'"),
        ("press", "keys0", {"key": "PANIC"}, "correct the arguments"),
        ("press", "keys0", {}, "key is missing; correct the arguments"),
        ("plug", "shoe0", {}, "plugged in already"),
        ("noise", "shoe0", {"bytes": "xy"}, "bytes = 'xy': write them in hex"),
        ("noise", "shoe0", {}, "bytes = None: write them in hex"),
        ("corrupt", "shoe0", {"frames": "x"}, "frames = 'x'"),
        ("slide", "shoe0", {"card": []}, r"card \[\]"),
        ("fault", "shoe0", {}, "kind = None: a link knows drop, flip"),
        ("fault", "shoe0", {"kind": "flip", "rate": 2}, "rate = 2"),
        ("fault", "shoe0", {"kind": "flip", "rate": "x"}, "rate = 'x'"),
        ("fault", "shoe0", {"kind": "flip", "rate": 0.2, "ms": -1, "seed": 7}, "ms = -1: give a whole number"),
        ("fault", "shoe0", {"kind": "flip", "ms": 1.5}, r"ms = 1\.5"),
        ("fault", "shoe0", {"kind": "flip", "seed": []}, r"seed = \[\]"),
        ("fault", "shoe0", {"kind": "flip", "direction": "up"}, "direction = 'up'"),
    ],
)
def test_a_faulty_act_is_answered_and_the_process_goes_on(
    boot: Boot, what: str, device: str, args: Mapping[str, Any], says: str
) -> None:
    host = boot(SHOE, KEYS)
    with pytest.raises(RigError, match=says):
        host.do(what, device, **args)
    assert host.do("state", "shoe0")["plugged"]


def test_answers_carry_the_time_and_broken_lines_an_error(boot: Boot) -> None:
    host = boot(SHOE)
    before = time.monotonic_ns()
    assert before < host.do("state", "shoe0")["at"] < time.monotonic_ns()
    host._socket.sendall(b"no json\n[]\n")
    answers = b""
    while answers.count(b"\n") < 2:
        answers += host._socket.recv(4096)
    assert all(not json.loads(line)["ok"] for line in answers.splitlines())


def test_the_process_ends_with_its_parent_and_leaves_nothing_behind(tmp_path: Path) -> None:
    host = Host([SHOE, tray(tmp_path)], tmp_path / "acts")
    assert os.path.lexists(tmp_path / "tray0")
    host.stop()
    assert host._process.returncode == 0
    assert list(tmp_path.iterdir()) == []
    host.stop()


def test_terminated_it_cleans_up_too(tmp_path: Path) -> None:
    spec = json.dumps({"devices": [tray(tmp_path)]})
    process = subprocess.Popen(
        [sys.executable, "-m", "simulators.host", "--socket", str(tmp_path / "acts"), "--spec", spec],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert json.loads(process.stdout.readline())["ready"]
    process.terminate()
    assert process.wait(10) == 0
    process.stdin.close()
    process.stdout.close()
    assert list(tmp_path.iterdir()) == []
