"""The USB/IP backend behind the real pyusb API; the device's side is the PyPI package usbip, unchanged."""

import contextlib
import errno
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import usb.backend
import usb.core
import usb.util
import usbip
from hypothesis import given
from hypothesis import strategies as st

from drivers.usbip import UsbIpBackend, parse_configuration
from drivers.usbipclient import ImportedDevice
from tests.ptywire import open_files
from tests.waiting import wait_until

pytestmark = pytest.mark.wires


class Bulk(usbip.Interface):  # type: ignore[misc]  # the package ships no types
    bInterfaceClass = 0xFF  # noqa: N815
    bulk_out = usbip.Out(0x01, "bulk", mps=64)
    bulk_in = usbip.In(0x81, "bulk", mps=64)

    def extra_descriptors(self) -> bytes:
        return bytes((5, 0x24, 1, 2, 3))

    def on_control(self, setup: Any, data: bytes = b"") -> bytes:
        if setup.bRequest == 0x55:
            return bytes(range(setup.wLength))
        raise usbip.Stall


class Server:
    """A stock USB/IP server of the package, and its open connections, so that a test can pull the plug."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.device = usbip.USBDevice(0x1209, 0xF51E, product="Shoe", manufacturer="feltd", serial="S-0007")
        self.bulk = self.device.add(Bulk())
        self.connections: list[socket.socket] = []
        self.transport = usbip.USBIP("127.0.0.1", self.port)
        self.device.plug(via=self.transport)

    def find(self) -> Any:
        device = usb.core.find(backend=UsbIpBackend("127.0.0.1", self.port))
        assert device is not None
        return device


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    serve = usbip.protocol.serve_connection
    made: list[socket.socket] = []

    def noted(sock: socket.socket, devices: object) -> None:
        made.append(sock)
        serve(sock, devices)

    monkeypatch.setattr(usbip.protocol, "serve_connection", noted)
    under_test = Server()
    under_test.connections = made
    yield under_test
    for listening in under_test.transport._listener.socks:
        listening.shutdown(socket.SHUT_RDWR)  # closing alone would leave the package's accept thread behind
    under_test.device.unplug()


@pytest.fixture
def device(server: Server) -> Iterator[Any]:
    found = server.find()
    found.set_configuration()
    yield found
    usb.util.dispose_resources(found)


def test_it_is_a_pyusb_backend() -> None:
    assert issubclass(UsbIpBackend, usb.backend.IBackend)


def test_descriptors_and_strings_are_the_devices_own(device: Any) -> None:
    assert (device.idVendor, device.idProduct, device.bcdUSB) == (0x1209, 0xF51E, 0x0200)
    assert (device.manufacturer, device.product, device.serial_number) == ("feltd", "Shoe", "S-0007")
    assert device.speed == 2
    interface = device[0][(0, 0)]
    assert list(interface.extra_descriptors) == [5, 0x24, 1, 2, 3]
    assert [endpoint.bEndpointAddress for endpoint in interface] == [0x01, 0x81]
    assert "Shoe" in str(device)


def test_past_the_end_is_an_index_error(device: Any) -> None:
    backend, export = device._ctx.backend, device._ctx.dev
    asks: tuple[Callable[[], object], ...] = (
        lambda: backend.get_configuration_descriptor(export, 1),
        lambda: backend.get_interface_descriptor(export, 1, 0, 0),
        lambda: backend.get_interface_descriptor(export, 0, 1, 0),
        lambda: backend.get_endpoint_descriptor(export, 2, 0, 0, 0),
    )
    for ask in asks:
        with pytest.raises(IndexError):
            ask()


def test_find_by_serial_number_and_by_what_is_not_there(server: Server) -> None:
    backend = UsbIpBackend("127.0.0.1", server.port)
    found = usb.core.find(backend=backend, custom_match=lambda each: each.serial_number == "S-0007")
    assert found is not None
    usb.util.dispose_resources(found)
    assert usb.core.find(backend=backend, idVendor=0x1234) is None
    assert usb.core.find(backend=UsbIpBackend("127.0.0.1", server.port, "9-9")) is None


def test_configuration_and_control_transfers(device: Any) -> None:
    assert device.get_active_configuration().bConfigurationValue == 1
    assert device.ctrl_transfer(0xC1, 0x55, 0, 0, 4).tolist() == [0, 1, 2, 3]
    with pytest.raises(usb.core.USBError) as stalled:
        device.ctrl_transfer(0xC1, 0x66, 0, 0, 4)
    assert (stalled.value.errno, stalled.value.backend_error_code) == (errno.EPIPE, -9)
    device.set_interface_altsetting(0, 0)
    device.clear_halt(0x81)


def test_reset_is_refused_in_words(device: Any) -> None:
    with pytest.raises(usb.core.USBError, match="close it and open it again"):
        device.reset()


def test_reads_fill_the_buffer_given_and_return_a_count(device: Any, server: Server) -> None:
    server.bulk.bulk_in.write(b"ab")
    buffer = usb.util.create_buffer(8)
    assert device.read(0x81, buffer, 1000) == 2
    assert buffer.tobytes() == b"ab" + bytes(6)
    server.bulk.bulk_in.write(b"xyz")
    assert device.read(0x81, 64, 1000).tobytes() == b"xyz"


def test_a_parked_in_lets_outs_and_controls_through(device: Any, server: Server) -> None:
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(device.read(0x81, 64, 20_000).tobytes()))
    reader.start()
    wait_until(lambda: server.bulk.bulk_in._pending, what="the IN transfer is parked")
    for number in range(20):
        assert device.write(0x01, bytes((number,)), 1000) == 1
        assert server.bulk.bulk_out.read() == bytes((number,))
        assert device.ctrl_transfer(0xC1, 0x55, 0, 0, 2).tolist() == [0, 1]
    assert not got
    server.bulk.bulk_in.write(b"at last")
    reader.join(10)
    assert got == [b"at last"]


def test_a_timeout_says_so_and_costs_nothing(device: Any, server: Server) -> None:
    for number in range(20):
        with pytest.raises(usb.core.USBTimeoutError) as late:
            device.read(0x81, 64, 1)
        assert (late.value.errno, late.value.backend_error_code) == (errno.ETIMEDOUT, -7)
        assert not server.bulk.bulk_in._pending, "the transfer was not cancelled"
        server.bulk.bulk_in.write(bytes((number,)))
        assert device.read(0x81, 64, 2000).tolist() == [number]


def test_nothing_is_lost_or_swapped_when_data_meets_the_deadline(device: Any, server: Server) -> None:
    count = 2000
    got: list[int] = []

    def write() -> None:
        for number in range(count):
            server.bulk.bulk_in.write(number.to_bytes(2, "big"))
            if number % 3 == 0:
                time.sleep(0.001)  # as long as the reads wait: data and deadline meet again and again

    writer = threading.Thread(target=write)

    writer.start()
    deadline = time.monotonic() + 60
    while len(got) < count and time.monotonic() < deadline:
        with contextlib.suppress(usb.core.USBTimeoutError):
            got.append(int.from_bytes(device.read(0x81, 64, 1).tobytes(), "big"))
    writer.join(10)
    assert got == list(range(count))


def test_unplugged_while_reading_is_not_a_timeout(device: Any, server: Server) -> None:
    faults: list[usb.core.USBError] = []

    def read() -> None:
        try:
            device.read(0x81, 64, 20_000)
        except usb.core.USBError as fault:
            faults.append(fault)

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: server.bulk.bulk_in._pending, what="the IN transfer is parked")
    server.connections[-1].shutdown(socket.SHUT_RDWR)
    reader.join(10)
    assert [type(fault) for fault in faults] == [usb.core.USBError]
    assert (faults[0].errno, faults[0].backend_error_code) == (errno.ENODEV, -4)
    with pytest.raises(usb.core.USBError) as gone:
        device.write(0x01, b"x", 1000)
    assert gone.value.errno == errno.ENODEV


def test_no_server_is_no_device() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(usb.core.USBError) as missing:
        usb.core.find(backend=UsbIpBackend("127.0.0.1", port))
    assert missing.value.errno == errno.ENODEV


def test_fifty_cycles_leave_no_thread_and_no_descriptor(server: Server) -> None:
    def cycle() -> None:
        device = server.find()
        device.set_configuration()
        server.bulk.bulk_in.write(b"hello")
        assert device.read(0x81, 64, 1000).tobytes() == b"hello"
        usb.util.dispose_resources(device)

    cycle()
    threads, files = threading.active_count(), open_files()
    for _ in range(50):
        cycle()
    wait_until(lambda: threading.active_count() <= threads, what="threads are gone")
    wait_until(lambda: open_files() <= files, what="descriptors are closed")


# ---------------------------------------------------------------- a server that behaves otherwise

REPLY = struct.Struct(">5I5i8x")
ENTRY = struct.pack(">256s32sIIIHHHBBBBBB", b"/sys/1-1", b"1-1", 1, 2, 2, 0x1209, 1, 0x100, 0, 0, 0, 1, 1, 1)


def scripted(script: Callable[[socket.socket], None]) -> tuple[int, threading.Thread]:
    """A server that takes one import and then plays ``script``."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening, listening.accept()[0] as sock:
            sock.recv(40)
            sock.sendall(struct.pack(">HHI", 0x0111, 0x0003, 0) + ENTRY)
            script(sock)

    thread = threading.Thread(target=serve)
    thread.start()
    return listening.getsockname()[1], thread


def test_an_answer_after_the_answer_to_its_cancel_is_kept() -> None:
    def script(sock: socket.socket) -> None:
        number = int.from_bytes(sock.recv(48)[4:8], "big")
        unlink = int.from_bytes(sock.recv(48)[4:8], "big")
        sock.sendall(REPLY.pack(4, unlink, 0, 0, 0, 0, 0, 0, 0, 0))
        second = int.from_bytes(sock.recv(48)[4:8], "big")
        sock.sendall(REPLY.pack(3, number, 0, 0, 0, 0, 4, 0, 0, 0) + b"late")
        sock.recv(48)
        sock.sendall(REPLY.pack(3, second, 0, 0, 0, 0, 2, 0, 0, 0) + b"nx")
        sock.sendall(REPLY.pack(4, second + 1, 0, 0, 0, 0, 0, 0, 0, 0))
        sock.recv(48)

    port, thread = scripted(script)
    device = ImportedDevice("127.0.0.1", port, "1-1")
    assert device.receive(0x81, 64, 0, 0.01).status == -errno.ETIMEDOUT
    assert device.receive(0x81, 2, 0, 10).data == b"la"
    assert device.receive(0x81, 64, 0, 10).data == b"te"
    assert device.receive(0x81, 64, 0, 10).data == b"nx"
    device.close()
    thread.join(10)


def test_a_server_deaf_to_the_cancel_counts_as_unplugged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.usbipclient.UNLINK_TIMEOUT_S", 0.05)
    ended = threading.Event()
    port, thread = scripted(lambda sock: (sock.recv(48), ended.wait(10), None)[2])
    device = ImportedDevice("127.0.0.1", port, "1-1")
    assert device.receive(0x81, 64, 0, 0.01).status == -errno.ENODEV
    ended.set()
    device.close()
    thread.join(10)


@pytest.mark.parametrize(
    "answer", [REPLY.pack(9, 1, 0, 0, 0, 0, 0, 0, 0, 0), REPLY.pack(3, 1, 0, 0, 0, 0, 999, 0, 0, 0)]
)
def test_an_answer_that_breaks_the_protocol_ends_the_connection(answer: bytes) -> None:
    def script(sock: socket.socket) -> None:
        sock.recv(48)
        sock.sendall(answer)
        sock.recv(48)

    port, thread = scripted(script)
    device = ImportedDevice("127.0.0.1", port, "1-1")
    assert device.receive(0x81, 64, 0, 10).status == -errno.ENODEV
    device.close()
    thread.join(10)


def test_refusals_of_an_import() -> None:
    for status, number in ((1, errno.ENODEV), (2, errno.EBUSY)):
        listening = socket.create_server(("127.0.0.1", 0))

        def serve(listening: socket.socket = listening, status: int = status) -> None:
            with listening, listening.accept()[0] as sock:
                sock.recv(40)
                sock.sendall(struct.pack(">HHI", 0x0111, 0x0003, status))

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(OSError, match="device") as refused:
            ImportedDevice("127.0.0.1", listening.getsockname()[1], "1-1")
        assert refused.value.errno == number
        thread.join(10)


@given(st.binary(max_size=120))
def test_no_configuration_descriptor_breaks_the_parser(raw: bytes) -> None:
    with contextlib.suppress(usb.core.USBError):
        assert parse_configuration(raw).bLength == raw[0]
