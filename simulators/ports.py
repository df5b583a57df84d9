"""Where a simulated device meets the host: a pty that looks like a serial port, or a USB device.

A port moves bytes and knows no protocol. ``received`` is called from a thread of the port.
"""

import contextlib
import os
import select
import threading
import tty
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import usbip
from usbip.classes.device import hid

from simulators.errors import RigError
from simulators.usbserver import UsbServer

MANUFACTURER = "feltd simulators"
CHUNK = 4096
JOIN_S = 5.0

Received = Callable[[bytes], None]


class Port(Protocol):
    """One plug and its socket."""

    uri: str

    def plug(self) -> None:
        """Put the plug in."""

    def unplug(self) -> None:
        """Pull the plug. Nothing happens when it is out."""

    def send(self, data: bytes) -> None:
        """One frame or report to the host; lost where nobody listens, as on a real wire."""


class PtyPort:
    """A serial port: ``path`` leads to a fresh pty at every plug, as ``/dev/serial/by-id`` does.

    A pty has no line: it takes any speed and ignores it, but refuses a parity at the second open.
    """

    def __init__(self, path: Path, received: Received, *, baud: int = 38400) -> None:
        self.uri = f"serial://{path}?baud={baud}"
        self._path = path
        self._received = received
        self._master: int | None = None
        self._slave: int | None = None
        self._stop: int | None = None
        self._thread: threading.Thread | None = None

    def plug(self) -> None:
        """See ``Port.plug``."""
        master, slave = os.openpty()
        tty.setraw(slave)
        os.set_blocking(master, False)
        stop = os.eventfd(0, os.EFD_CLOEXEC)
        # The slave stays open here too: else the pty would hang up whenever the daemon closes it.
        self._master, self._slave, self._stop = master, slave, stop
        self._thread = threading.Thread(target=self._read, args=(master, stop), name=f"pty-{self._path.name}")
        self._thread.daemon = True
        self._thread.start()
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        fresh.symlink_to(os.ttyname(slave))
        fresh.replace(self._path)

    def unplug(self) -> None:
        """See ``Port.unplug``: the name vanishes, and whoever has the port open is hung up."""
        if self._master is None or self._slave is None or self._stop is None or self._thread is None:
            return
        self._path.unlink(missing_ok=True)
        os.eventfd_write(self._stop, 1)
        self._thread.join(JOIN_S)
        for descriptor in (self._master, self._slave, self._stop):
            os.close(descriptor)
        self._master = self._slave = self._stop = self._thread = None

    def send(self, data: bytes) -> None:
        """See ``Port.send``. A full buffer overruns, as a UART does."""
        if self._master is None:
            return
        with contextlib.suppress(BlockingIOError):
            while data:
                data = data[os.write(self._master, data) :]

    def _read(self, master: int, stop: int) -> None:
        while True:
            ready, _, _ = select.select([master, stop], [], [])
            if stop in ready:
                return
            with contextlib.suppress(BlockingIOError):
                self._received(os.read(master, CHUNK))


@dataclass(frozen=True, slots=True)
class UsbIdentity:
    """What a USB device says of itself in its descriptors."""

    vendor: int
    product: int
    name: str
    serial: str


class UsbPort:
    """A USB device on a ``UsbServer``: built anew at every plug. Subclasses say which interface it has."""

    def __init__(self, server: UsbServer, busid: str, identity: UsbIdentity, received: Received) -> None:
        self.uri = f"usbip://{server.host}:{server.port}/{busid}?interface=0"
        self._server = server
        self._busid = busid
        self._identity = identity
        self._received = received
        self._inward: Any = None

    def plug(self) -> None:
        """See ``Port.plug``."""
        device = usbip.USBDevice(
            self._identity.vendor,
            self._identity.product,
            product=self._identity.name,
            manufacturer=MANUFACTURER,
            serial=self._identity.serial,
        )
        self._inward = self._build(device)
        self._server.plug(self._busid, device)

    def unplug(self) -> None:
        """See ``Port.unplug``."""
        self._inward = None
        self._server.unplug(self._busid)

    def send(self, data: bytes) -> None:
        """See ``Port.send``. Waits in the endpoint until the host asks."""
        if self._inward is not None:
            self._inward.write(data)

    def _build(self, device: Any) -> Any:
        """Give the device its interface; returns the endpoint to the host."""
        raise NotImplementedError


class BulkPort(UsbPort):
    """A vendor interface (class 0xFF) with bulk endpoints 0x01 and 0x81 of 64 bytes."""

    def _build(self, device: Any) -> Any:
        group = device.add_group()
        number = group.claim_interface()
        group.add(usbip.InterfaceDescriptor(number, 0, 2, 0xFF, 0, 0).pack())
        outward = group.add_endpoint(usbip.Out(0x01, "bulk", mps=64))
        outward.on_out = self._take
        return group.add_endpoint(usbip.In(0x81, "bulk", mps=64))

    def _take(self, _endpoint: Any, data: bytes) -> None:
        self._received(bytes(data))


class KeyboardPort(UsbPort):
    """A HID boot keyboard: interrupt endpoint 0x81 of 8 bytes, every 10 ms."""

    def _build(self, device: Any) -> Any:
        keyboard = hid.HID(
            hid.keyboard_report_descriptor(),
            subclass=hid.SUBCLASS_BOOT,
            protocol=hid.PROTOCOL_KEYBOARD,
            in_mps=8,
            in_interval=10,
            on_output=lambda lamps: self._received(bytes(lamps)),
        )
        return device.add(keyboard).in_ep


def make_pty(path: Path, received: Received, *, baud: int) -> PtyPort:
    """A pty port. Raises ``RigError`` where its folder is missing or something else has the name."""
    if not path.is_absolute() or not path.parent.is_dir():
        raise RigError(f"serial port {path}: give an absolute path in a folder that exists")
    if path.exists() and not path.is_symlink():
        raise RigError(f"serial port {path}: something that is no simulated port has this name")
    return PtyPort(path, received, baud=baud)
