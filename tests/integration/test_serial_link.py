"""A serial port as a link: the real pyserial on a real pty."""

import errno
import os
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers import seriallink
from drivers.address import SerialAddress, UsbAddress, UsbIpAddress, parse_address
from drivers.errors import ConfigError, LinkLost, LinkMissing, LinkRefused, LinkTimeout
from drivers.link import Link, open_link
from tests.ptywire import PtyWire, open_files
from tests.waiting import wait_until

pytestmark = pytest.mark.wires


def open_wire(wire: PtyWire) -> Link:
    return open_link(wire.uri, test_mode=False)


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[PtyWire]:
    under_test = PtyWire(tmp_path / "reader")
    yield under_test
    under_test.unplug()


def test_bytes_both_ways_and_partial_data(wire: PtyWire) -> None:
    link = open_wire(wire)
    link.write(b"\x07\xff\xb0")
    assert wire.heard(5) == b"\x07\xff\xb0"
    wire.send(b"abc")
    got = b""
    while len(got) < 3:
        got += link.read(5)
    wire.send(b"de")
    assert (got, link.read(5)) == (b"abc", b"de")
    assert link.path == str(wire.path)
    link.close()


def test_silence_is_empty_and_not_an_error(wire: PtyWire) -> None:
    link = open_wire(wire)
    assert link.read(0.01) == b""
    assert link.read(0) == b""
    link.close()


def test_every_byte_value_passes_unchanged(wire: PtyWire) -> None:
    link = open_wire(wire)
    everything = bytes(range(256))
    wire.send(everything)
    got = b""
    while len(got) < 256:
        got += link.read(5)
    assert got == everything
    link.write(everything)
    assert wire.heard(5) == everything
    link.close()


def test_wake_ends_a_read_and_is_not_lost_when_none_runs(wire: PtyWire) -> None:
    link = open_wire(wire)
    link.wake()
    assert link.read(60) == b""
    reader = threading.Thread(target=link.read, args=(60,))
    reader.start()
    link.wake()
    reader.join(10)
    assert not reader.is_alive()
    link.close()
    link.wake()


def test_unplug_while_reading_is_a_loss_told_once_and_for_ever(wire: PtyWire) -> None:
    link = open_wire(wire)
    faults: list[LinkLost] = []

    def read() -> None:
        try:
            link.read(60)
        except LinkLost as fault:
            faults.append(fault)

    reader = threading.Thread(target=read)
    reader.start()
    wire.unplug()
    reader.join(10)
    assert len(faults) == 1
    assert faults[0].cause == "unplugged"
    for _ in range(3):
        with pytest.raises(LinkLost):
            link.read(1)
    with pytest.raises(LinkLost):
        link.write(b"x")
    link.close()
    link.close()


def test_a_device_that_takes_nothing_is_a_timeout(wire: PtyWire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.seriallink.WRITE_TIMEOUT_S", 0.05)
    link = open_wire(wire)
    with pytest.raises(LinkTimeout, match="took no bytes"):
        link.write(bytes(1 << 20))
    started = time.monotonic()
    link.close()
    assert time.monotonic() - started < 10, "closing must not wait for bytes that nobody takes"


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(LinkMissing, match="plug it in") as missing:
        open_link(f"serial://{tmp_path}/nothing", test_mode=False)
    assert missing.value.cause == "missing"


def test_a_second_open_is_refused_and_the_first_goes_on(wire: PtyWire) -> None:
    link = open_wire(wire)
    with pytest.raises(LinkRefused, match="another process holds") as refused:
        open_wire(wire)
    assert (refused.value.cause, isinstance(refused.value, LinkMissing)) == ("refused", False)
    wire.send(b"ok")
    assert link.read(5) == b"ok"
    link.close()
    open_wire(wire).close()


def test_settings_that_the_port_does_not_take() -> None:
    # What a pty answers to a parity depends on the C library, so the error itself is given.
    refusal = seriallink._refusal("/dev/x", termios.error(errno.EINVAL, "Invalid argument"))
    assert isinstance(refusal, LinkRefused)
    assert "correct baud, bits, parity or stopbits" in str(refusal)


def test_what_is_no_serial_port_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    with pytest.raises(LinkRefused, match="cannot be used as a serial port"):
        open_link(f"serial://{file}", test_mode=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything")
def test_not_permitted(wire: PtyWire) -> None:
    wire.path.resolve().chmod(0)
    with pytest.raises(LinkRefused, match="not permitted"):
        open_wire(wire)


def test_what_came_before_the_open_is_thrown_away(wire: PtyWire) -> None:
    open_wire(wire).close()
    slave = os.open(wire.path, os.O_RDWR | os.O_NOCTTY)
    wire.send(b"stale")
    link = open_wire(wire)
    assert link.read(0.02) == b""
    link.close()
    os.close(slave)


def test_fifty_replugs_leave_no_thread_and_no_descriptor(wire: PtyWire) -> None:
    def cycle() -> None:
        link = open_wire(wire)
        wire.send(b"x")
        assert link.read(5) == b"x"
        wire.unplug()
        with pytest.raises(LinkLost):
            link.read(5)
        link.close()
        with pytest.raises(LinkMissing):
            open_wire(wire)
        wire.plug()

    cycle()
    threads, files = threading.active_count(), open_files()
    for _ in range(50):
        cycle()
    assert threading.active_count() == threads
    wait_until(lambda: open_files() <= files, what="descriptors are closed")


# ---------------------------------------------------------------- addresses


def test_addresses() -> None:
    assert parse_address("serial:///dev/ttyUSB0?baud=9600&parity=even&stopbits=2&bits=7", test_mode=False) == (
        SerialAddress("/dev/ttyUSB0", 9600, 7, "even", 2)
    )
    assert parse_address("serial:///dev/serial/by-id/usb-A%20B", test_mode=False) == (
        SerialAddress("/dev/serial/by-id/usb-A B")
    )
    assert parse_address("usb://1209:F51e/S%2F7?interface=1&detach=yes", test_mode=False) == (
        UsbAddress(0x1209, 0xF51E, "S/7", 1, detach=True)
    )
    assert parse_address("usbip://127.0.0.1:3240/1-1", test_mode=True) == UsbIpAddress("127.0.0.1", 3240, "1-1")


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("", "must begin with"),
        ("http://host/", "must begin with"),
        ("serial://dev/ttyUSB0", "three slashes"),
        ("serial:///dev/ttyUSB0?baud=fast", "baud must be a number from 50 to 4000000, not 'fast'"),
        ("serial:///dev/ttyUSB0?baud=0", "baud must be"),
        ("serial:///dev/ttyUSB0?bits=9", "bits must be a number from 5 to 8"),
        ("serial:///dev/ttyUSB0?parity=evn", "parity must be one of none, even, odd, mark, space, not 'evn'"),
        ("serial:///dev/ttyUSB0?speed=9600", "'speed' is no option here; use baud, bits, parity, stopbits"),
        ("serial:///dev/ttyUSB0?baud", "cannot be read as a URI"),
        ("usb://12:1", "four hex digits"),
        ("usb://1209:0001?interface=99", "interface must be a number from 0 to 31"),
        ("usb://1209:0001?detach=maybe", "detach must be one of no, yes"),
        ("usbip://127.0.0.1/1-1", "host, port and bus id"),
        ("usbip://127.0.0.1:99999/1-1", "the port is wrong"),
        ("usbip://127.0.0.1:3240/", "host, port and bus id"),
        ("usbip://[::1/1-1", "cannot be read as a URI"),
    ],
)
def test_a_faulty_address_names_the_fault_and_the_remedy(uri: str, says: str) -> None:
    with pytest.raises(ConfigError) as fault:
        parse_address(uri, test_mode=True)
    assert says in str(fault.value)
    assert fault.value.name == "link"
    assert fault.value.value == uri


def test_usbip_is_for_test_mode_only() -> None:
    with pytest.raises(ConfigError, match="usbip:// is for test mode only; name the real device with usb://"):
        open_link("usbip://127.0.0.1:3240/1-1", test_mode=False)


@given(
    st.text(max_size=60), st.sampled_from(["", "serial://", "serial:///", "usb://", "usb://1209:0001/", "usbip://h:1/"])
)
def test_no_text_breaks_the_parser(text: str, scheme: str) -> None:
    try:
        assert parse_address(scheme + text, test_mode=True) is not None
    except ConfigError as fault:
        assert fault.remedy  # noqa: PT017  most texts are refused, some are addresses
