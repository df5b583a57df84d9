"""A simulated device on a port that leads out of its process: a serial adapter, a TCP socket, USB/IP."""

import json
import os
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest

from drivers.readings import DeviceUp, Reading, TagsSeen
from drivers.supervisor import Supervisor
from drivers.usbipclient import list_devices
from simulators import device as served
from simulators.verdict import Exit
from tests.running import ROOT
from tests.waiting import wait_until

pytestmark = pytest.mark.wires
TAG = "E00401000000000A"


@contextmanager
def device(*arguments: str) -> Iterator[tuple[str, IO[bytes], IO[bytes]]]:
    """``feltsim device``: its URI, and the two ends to talk to it."""
    command = [sys.executable, "-m", "simulators.cli", "device", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready["ready"], ready
        try:
            yield ready["devices"]["device"], process.stdin, process.stdout
        finally:
            process.stdin.close()
            assert process.wait(20) == 0


def tell(ends: tuple[IO[bytes], IO[bytes]], **said: Any) -> dict[str, Any]:
    ends[0].write(json.dumps(said).encode() + b"\n")
    ends[0].flush()
    answer: dict[str, Any] = json.loads(ends[1].readline())
    return answer


@contextmanager
def listening(uri: str, driver: str, **options: object) -> Iterator[list[Reading]]:
    readings: list[Reading] = []

    def emit(reading: Reading) -> bool:
        readings.append(reading)
        return True

    made = Supervisor("dev0", uri, driver, emit=emit, clock=time.monotonic_ns, test_mode=True, options=options)
    made.start()
    try:
        yield readings
    finally:
        assert made.stop()


def sees(readings: list[Reading], tag: str) -> bool:
    return any(isinstance(reading, TagsSeen) and tag in reading.tags for reading in readings)


def test_a_reader_behind_a_tcp_port_answers_one_host_after_the_other() -> None:
    with device("mercury", "--tcp", ":0") as (uri, *ends):
        assert uri.startswith("tcp://127.0.0.1:")
        for number in range(2):
            with listening(uri, "mercury") as readings:
                wait_until(lambda: any(isinstance(r, DeviceUp) for r in readings), 20, f"host {number} up")
        assert tell((ends[0], ends[1]), do="put", tags=[TAG])["ok"]
        assert not tell((ends[0], ends[1]), do="fly")["ok"]


def test_a_reader_behind_a_serial_adapter_is_read_by_the_other_end_of_the_cable() -> None:
    """Two ptys joined by nothing but this test are the cable: what comes out of one goes into the other."""
    near, far = os.openpty(), os.openpty()
    for pair in (near, far):
        tty.setraw(pair[1])
    stop = threading.Event()

    def carry(source: int, target: int) -> None:
        while not stop.is_set():
            try:
                data = os.read(source, 4096)
            except BlockingIOError:
                stop.wait(0.002)
                continue
            os.write(target, data)

    for pair in (near, far):
        os.set_blocking(pair[0], False)
    cable = [threading.Thread(target=carry, args=ends) for ends in ((near[0], far[0]), (far[0], near[0]))]
    for thread in cable:
        thread.start()
    try:
        with device("feig", "--serial", os.ttyname(near[1])) as (uri, *ends):
            assert uri == f"serial://{os.ttyname(near[1])}?baud=38400"
            assert tell((ends[0], ends[1]), do="put", tags=[TAG])["ok"]
            with listening(f"serial://{os.ttyname(far[1])}?baud=38400", "feig") as readings:
                wait_until(lambda: sees(readings, TAG), 20, "the tag")
    finally:
        stop.set()
        for thread in cable:
            thread.join()
        for descriptor in (*near, *far):
            os.close(descriptor)


def test_usb_is_served_where_a_kernel_can_attach_it() -> None:
    with device("shoe", "--usbip", ":0", "--serial-number", "SHOE-1") as (uri, *ends):
        with listening(uri, "shoe") as readings:
            wait_until(lambda: any(isinstance(r, DeviceUp) for r in readings), 20, "up")
        assert "/1-1?" in uri
        (entry,) = list_devices("127.0.0.1", int(uri.split(":")[2].partition("/")[0]))
        # What the rules for udev and the example table know a shoe by.
        assert (entry.vendor, entry.product) == (0x1209, 0xF001)
        assert tell((ends[0], ends[1]), do="state")["ok"]


def test_a_port_that_cannot_be_had_is_told(tmp_path: Any) -> None:
    command = [sys.executable, "-m", "simulators.cli", "device", "feig", "--serial", str(tmp_path / "none")]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60, stdin=subprocess.DEVNULL
    )
    assert ran.returncode == 3
    assert "cannot be opened" in json.loads(ran.stdout)["error"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("feig", "--tcp", ":99999"), "--tcp = ':99999': write HOST:PORT"),
        (("feig", "--tcp", "10001"), "--tcp = '10001': write HOST:PORT"),
        (("shoe", "--usbip", "127.0.0.1"), "--usbip = '127.0.0.1': write HOST:PORT"),
        (("feig", "--tcp", ":0", "--speed", "0"), "--speed = 0.0: give how many times"),
        (("feig", "--tcp", ":0", "--speed", "nan"), "--speed = nan: give how many times"),
        (("feig", "--serial", "/dev/none", "--baud", "0"), "--baud = 0: give the speed"),
        (("shoe", "--usbip", ":0", "--product", "12345"), "--product = '12345': a USB product id is hexadecimal"),
        (("shoe", "--usbip", ":0", "--product", "zz"), "--product = 'zz': a USB product id is hexadecimal"),
        (("shoe", "--usbip", ":0", "--model", "{"), "--model = '{': is no JSON"),
        (("shoe", "--usbip", ":0", "--model", "[1]"), "write an object of its arguments, a shoe takes serial, model"),
        (("feig", "--tcp", ":0", "--model", '{"foo":1}'), "'foo' is unknown: a feig takes serial, address"),
        (("shoe", "--usbip", ":0", "--model", '{"seriel":"A"}'), "did you mean 'serial'"),
        (("shoe", "--usbip", ":0", "--model", '{"serial":7}'), 'serial = 7: as it comes it is "SHOE-0001"'),
        (("feig", "--tcp", ":0", "--model", '{"serial":"xy"}'), "no feig can be made with it"),
        (("keypad", "--usbip", ":0", "--model", '{"keymap":{}}'), "a keypad takes none"),
        (("shoe", "--tcp", ":0"), "--tcp = ':0': a shoe hangs at USB: give --usbip"),
        (("camera", "--serial", "/dev/none"), "a camera hangs at USB: give --usbip"),
        (("feig", "--usbip", ":0"), "--usbip = ':0': a feig is no USB device: give --serial or --tcp"),
    ],
)
def test_an_argument_that_cannot_be_is_refused_with_its_value(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    assert served.main(arguments) == Exit.SCRIPT
    said = json.loads(capsys.readouterr().out)
    assert not said["ready"]
    assert says in said["error"]
    assert "Error" not in said["error"]


def test_a_recording_is_no_device_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        served.main(["recording", "--tcp", ":0"])
    assert ended.value.code == Exit.SCRIPT
    assert "shoe" in capsys.readouterr().err


def test_what_is_said_to_a_device_is_answered_without_a_word_of_python() -> None:
    with device("feig", "--tcp", ":0") as (_, to_it, from_it):
        for line, says in (
            ("null", "null is no object"),
            ("[1]", "is no object"),
            ("{", "this is no JSON"),
            ('{"do": 7}', "do = 7"),
            ("{}", "do = null"),
            ('{"do": "put"}', "tags is missing"),
            ('{"do": "put", "tags": 7}', "give a list of tags"),
            ('{"do": "trouble", "status": []}', "status = []"),
            ('{"do": "fault", "kind": "flip", "rate": 0.2, "ms": -1, "seed": 7}', "ms = -1"),
        ):
            to_it.write(f"{line}\n".encode())
            to_it.flush()
            answer = json.loads(from_it.readline())
            assert not answer["ok"], line
            assert says in answer["error"], line
            assert "Error" not in answer["error"], line
        assert tell((to_it, from_it), do="state")["ok"]
