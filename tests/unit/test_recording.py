"""A device that says again what a recorded one said: answers after questions, the rest at its time, run by run."""

from pathlib import Path

import pytest

from controller.capture import pcapng, wire
from controller.capture.recorder import CapturedDevice, Origin, Recorder
from simulators.errors import RigError
from simulators.recording import PATIENCE, Recording
from tests.felt import WALL, setup

MS = 1_000_000
BEGAN = 5_000 * MS
DEVICES = (
    CapturedDevice("shoe0", "shoe", "usb:", {}, {}),
    CapturedDevice("keys0", "keypad", "usb:", {}, {}),
)
TURNS = [[("ask", 10), ("answer", 20), ("own", 500)], [("ask", 10), ("answer", 25), ("own", 300), ("own", 900)]]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A daemon that was killed and started again. Its time ran so fast that the wall clock of both runs overlaps."""
    file = tmp_path / "table.pcapng"
    for number, turn in enumerate(TURNS):
        wall = WALL + number * 100 * MS
        origin = Origin(setup(unit=100), "ledger", 0, DEVICES)
        recorder = Recorder(file, origin, mono_ns=BEGAN, wall_ns=wall, auditor=None)
        for what, at in turn:
            passed = recorder.sent if what == "ask" else recorder.received
            passed("shoe0", f"{what} {number}".encode(), BEGAN + at * MS)
        if number:
            recorder.received("keys0", b"key", BEGAN + 40 * MS)
    return file


def test_each_run_is_played_from_its_own_begin(capture: Path) -> None:
    device = Recording(capture=str(capture), device="shoe0", held=True)
    for number, turn in enumerate(TURNS):
        began = (number + 7) * 1_000 * MS
        own = sum(what == "own" for what, _ in turn)
        assert device.left == 1 + own
        assert device.poll(began) == [], "the host asks first"
        assert device.feed(b"other bytes", began) == []
        due = device.deadline()
        assert due is not None
        assert due - began == (turn[1][1] - 10) * MS, "an answer comes as soon as it did then"
        assert device.poll(due) == [b"answer %d" % number]
        device.begin(began)
        for _, at in turn[2:]:
            assert device.poll(began + (at - 1) * MS) == []
            assert device.poll(began + at * MS) == [b"own %d" % number]
        assert device.left == 0
        if number == 0:
            device.turn()
    with pytest.raises(RigError, match="no further run"):
        device.turn()


def test_a_device_that_said_nothing_in_a_run_is_there_all_the_same(capture: Path) -> None:
    device = Recording(capture=str(capture), device="keys0", held=True)
    assert (device.left, device.deadline()) == (0, None)
    device.turn()
    assert device.left == 1


def test_a_host_that_does_not_ask_is_left_behind_when_something_happens_to_the_device(capture: Path) -> None:
    """A card comes when it came, whether or not a sign of life was asked for before it."""
    device = Recording(capture=str(capture), device="shoe0")
    device.power_cycle(0)
    assert device.deadline() == 500 * MS
    assert device.poll(499 * MS) == []
    device.poll(500 * MS)
    said = device.poll(device.deadline() or 0)
    assert (said, device.left) == ([b"answer 0", b"own 0"], 0)


def test_one_that_only_answers_is_patient(tmp_path: Path) -> None:
    file = tmp_path / "table.pcapng"
    recorder = Recorder(file, Origin(setup(unit=100), "l", 0, DEVICES), mono_ns=0, wall_ns=WALL, auditor=None)
    recorder.sent("shoe0", b"?", 10 * MS)
    recorder.received("shoe0", b"!", 20 * MS)
    device = Recording(capture=str(file), device="shoe0")
    device.power_cycle(0)
    assert device.deadline() == 10 * MS + PATIENCE


def test_a_capture_of_another_program_is_one_run(tmp_path: Path) -> None:
    file = tmp_path / "usbmon.pcapng"
    packets = [pcapng.packet(0, WALL + n, wire.wrap(wire.USB, 7, WALL, b"report", inward=True)) for n in range(3)]
    file.write_bytes(pcapng.section("dumpcap") + pcapng.interface("usbmon1", wire.USB) + b"".join(packets))
    device = Recording(capture=str(file), device="1-7")
    assert device.left == 3
    with pytest.raises(RigError, match="no further run"):
        device.turn()
