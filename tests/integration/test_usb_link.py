"""What a USB link does with kernel drivers, serial numbers and stalls. The bus is USB/IP, the API the real pyusb."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import usb.core

from drivers.errors import LinkLost, LinkMissing, LinkRefused
from drivers.link import open_link
from drivers.usbip import UsbIpBackend
from drivers.usblink import _open
from simulators.ports import BulkPort, UsbIdentity
from simulators.usbserver import UsbServer
from tests.waiting import wait_until

pytestmark = pytest.mark.wires


class Bus:
    """Two devices that differ in their serial number alone, on a backend that can claim a kernel driver."""

    def __init__(self) -> None:
        self.server = UsbServer()
        self.heard: list[bytes] = []
        self.ports = [
            BulkPort(self.server, f"1-{number}", UsbIdentity(0x1209, 1, "Shoe", f"S{number}"), self.heard.append)
            for number in (1, 2)
        ]
        for port in self.ports:
            port.plug()

    def find(self) -> list[Any]:
        return list(usb.core.find(find_all=True, backend=UsbIpBackend("127.0.0.1", self.server.port)))


@pytest.fixture
def bus() -> Iterator[Bus]:
    under_test = Bus()
    yield under_test
    under_test.server.close()


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A kernel driver that has every interface until it is detached."""
    calls: list[str] = []

    def note(name: str) -> Callable[..., None]:
        return lambda *_: calls.append(name)

    monkeypatch.setattr(UsbIpBackend, "is_kernel_driver_active", lambda *_: calls[-1:] != ["detach"])
    monkeypatch.setattr(UsbIpBackend, "detach_kernel_driver", note("detach"))
    monkeypatch.setattr(UsbIpBackend, "attach_kernel_driver", note("attach"))
    return calls


def test_of_two_alike_the_serial_number_decides(bus: Bus) -> None:
    with pytest.raises(LinkRefused, match="2 devices match; add the serial number"):
        _open(bus.find, "usb", None, 0)
    with pytest.raises(LinkMissing):
        _open(bus.find, "usb", "S3", 0)
    link = _open(bus.find, "usb", "S2", 0)
    bus.ports[0].send(b"first")
    bus.ports[1].send(b"second")
    assert link.read(10) == b"second"
    link.write(b"hello")
    wait_until(lambda: bus.heard == [b"hello"])
    link.close()


def test_a_kernel_driver_is_sent_away_only_when_configured(bus: Bus, kernel: list[str]) -> None:
    with pytest.raises(LinkRefused, match="add detach=yes"):
        _open(bus.find, "usb", "S1", 0)
    assert kernel == []


def test_the_kernel_gets_its_interface_back(bus: Bus, kernel: list[str]) -> None:
    link = _open(bus.find, "usb", "S1", 0, detach=True)
    assert kernel == ["detach"]
    link.close()
    assert kernel == ["detach", "attach"]


def test_the_kernel_gets_its_interface_back_also_when_the_open_fails(bus: Bus, kernel: list[str]) -> None:
    with pytest.raises(LinkRefused, match="there is no interface 5"):
        _open(bus.find, "usb", "S1", 5, detach=True)
    assert kernel == ["detach", "attach"]


def test_a_stall_is_cleared_and_reading_goes_on(bus: Bus) -> None:
    link = _open(bus.find, "usb", "S1", 0)
    bus.ports[0]._inward.stall()
    bus.ports[0].send(b"after")
    assert link.read(10) == b"after"
    link.close()


def test_a_device_that_stalls_for_ever_is_lost(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    link = _open(bus.find, "usb", "S1", 0)
    monkeypatch.setattr(bus.ports[0]._inward, "clear_halt", lambda: None)
    bus.ports[0]._inward.stall()
    with pytest.raises(LinkLost, match="EPIPE"):
        link.read(10)
    link.close()


def test_a_quiet_device_is_asked_and_stays(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.usblink.QUIET_SLICES", 1)
    monkeypatch.setattr("drivers.usblink.READ_SLICE_MS", 5)
    asked: list[int] = []
    transfer = UsbIpBackend.ctrl_transfer

    def noted(self: UsbIpBackend, handle: Any, kind: int, request: int, *more: Any) -> int:
        if (kind, request) == (0x80, 0x00):
            asked.append(request)
        return transfer(self, handle, kind, request, *more)

    monkeypatch.setattr(UsbIpBackend, "ctrl_transfer", noted)
    link = _open(bus.find, "usb", "S1", 0)
    wait_until(lambda: len(asked) > 3)
    bus.ports[0].send(b"here")
    assert link.read(10) == b"here"
    link.close()


def test_a_reader_that_does_not_read_is_not_overrun(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.usblink.MOST_CHUNKS", 4)
    link = _open(bus.find, "usb", "S1", 0)
    for number in range(50):
        bus.ports[0].send(bytes((number,)))
    wait_until(lambda: len(link._chunks) == 4)
    assert [link.read(10) for _ in range(50)] == [bytes((number,)) for number in range(50)]
    link.close()


def test_without_libusb_or_device_the_message_says_what_to_do() -> None:
    with pytest.raises(LinkRefused, match=r"install the package libusb|plug it in"):
        open_link("usb://1209:f51e/NOT-THERE", test_mode=False)
