"""A USB device as a link, on pyusb: a vendor interface with a pair of bulk endpoints, or a HID boot keyboard."""

import errno
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import usb.core
import usb.util

from drivers.address import UsbAddress, UsbIpAddress
from drivers.errors import LinkError, LinkLost, LinkMissing, LinkRefused, LinkTimeout, LocalError

# pyusb ships no types: its devices, interfaces and endpoints are Any here and nowhere else.
UsbDevice = Any

READ_SLICE_MS = 200
"""How long one transfer waits in vain: it bounds ``close``, for libusb cannot be interrupted."""
WRITE_TIMEOUT_MS = 1000
CONTROL_TIMEOUT_MS = 1000
CLOSE_TIMEOUT_S = 5.0
QUIET_SLICES = 25
"""After so many empty slices the device is asked whether it is still there: some unplugs look like silence."""
MOST_CHUNKS = 256
MOST_DRAINED = 64
STALLS = 3

CLASS_HID = 3
SUBCLASS_BOOT = 1
HID_SET_IDLE, HID_SET_PROTOCOL, BOOT_PROTOCOL = 0x0A, 0x0B, 0
TO_INTERFACE = 0x21
FROM_DEVICE, GET_STATUS = 0x80, 0x00


class UsbLink:
    """An open USB interface.

    A thread of its own keeps one IN transfer waiting, because neither libusb nor pyusb can be woken from a
    read: so an acknowledgement never waits for a read to time out. The thread ends with the link. When
    nobody reads, it stops asking, and the device holds back what it has.
    """

    def __init__(self, device: UsbDevice, interface: UsbDevice, path: str, *, attach_again: bool = False) -> None:
        self._device = device
        self._interface = interface
        self._path = path
        self._attach_again = attach_again
        self._in, self._out = _endpoints(interface, path)
        self._changed = threading.Condition()
        self._chunks: deque[bytes] = deque()
        self._woken = False
        self._closing = False
        self._ended = False
        self._fault = "the reading thread ended"
        self._closed = False
        self._pump = threading.Thread(target=self._run, name=f"usb-{path}", daemon=True)

    @property
    def path(self) -> str:
        """Bus and address, or the USB/IP name."""
        return self._path

    def start(self) -> None:
        """Make the pipes clean, choose the boot protocol of a keyboard, and begin to read.

        Raises ``USBError``.
        """
        self._prepare()
        self._pump.start()

    def read(self, timeout_s: float) -> bytes:
        """See ``Link.read``. One transfer, so one whole report of a HID device."""
        with self._changed:
            self._changed.wait_for(lambda: self._chunks or self._woken or self._ended, max(0.0, timeout_s))
            self._woken = False
            if self._chunks:
                self._changed.notify_all()
                return self._chunks.popleft()
            if self._ended:
                raise LinkLost(f"{self._path}: {self._fault}")
            return b""

    def write(self, data: bytes) -> None:
        """See ``Link.write``. Raises ``LocalError`` for an interface that takes no data."""
        if self._out is None:
            raise LocalError(f"{self._path}: the interface has no OUT endpoint to write to")
        try:
            sent = self._device.write(self._out.bEndpointAddress, data, WRITE_TIMEOUT_MS)
        except usb.core.USBTimeoutError as fault:
            raise LinkTimeout(f"{self._path}: the device took no data for {WRITE_TIMEOUT_MS} ms") from fault
        except usb.core.USBError as fault:
            raise LinkLost(f"{self._path}: {fault}") from fault
        if sent != len(data):
            raise LinkTimeout(f"{self._path}: the device took {sent} of {len(data)} bytes")

    def set_baud(self, baud: int) -> None:
        """See ``Link.set_baud``: USB has no line."""

    def wake(self) -> None:
        """See ``Link.wake``."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def close(self) -> None:
        """See ``Link.close``. Takes at most one read slice longer than the device needs."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._closing = True
            self._changed.notify_all()
        if self._pump.ident is not None:
            self._pump.join(CLOSE_TIMEOUT_S)
            if self._pump.is_alive():
                return  # libusb hangs in a transfer: closing under it would crash the process.
        _give_back(self._device, self._interface.bInterfaceNumber, attach_again=self._attach_again)

    # ------------------------------------------------------------ the reading thread

    def _run(self) -> None:
        try:
            self._read_on()
        except usb.core.USBError as fault:
            self._fault = str(fault)
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _read_on(self) -> None:
        empty = stalls = 0
        while self._has_room():
            try:
                # One packet a transfer: with more, a packet that fills the endpoint would wait for the next.
                data = self._device.read(self._in.bEndpointAddress, self._in.wMaxPacketSize, READ_SLICE_MS)
            except usb.core.USBTimeoutError:
                empty += 1
                if empty % QUIET_SLICES == 0:
                    self._device.ctrl_transfer(FROM_DEVICE, GET_STATUS, 0, 0, 2, CONTROL_TIMEOUT_MS)
                continue
            except usb.core.USBError as fault:
                stalls += 1
                if fault.errno != errno.EPIPE or stalls > STALLS:
                    raise
                self._device.clear_halt(self._in.bEndpointAddress)
                continue
            empty = stalls = 0
            with self._changed:
                self._chunks.append(data.tobytes())
                self._changed.notify_all()

    def _has_room(self) -> bool:
        """Wait until a reader has taken enough. False when the link is being closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or len(self._chunks) < MOST_CHUNKS)
            return not self._closing

    def _prepare(self) -> None:
        number = self._interface.bInterfaceNumber
        if self._interface.bInterfaceClass == CLASS_HID:
            if self._interface.bInterfaceSubClass == SUBCLASS_BOOT:
                self._device.ctrl_transfer(
                    TO_INTERFACE, HID_SET_PROTOCOL, BOOT_PROTOCOL, number, None, CONTROL_TIMEOUT_MS
                )
            try:
                # Reports only when something changed. Optional for a device: it may stall the request.
                self._device.ctrl_transfer(TO_INTERFACE, HID_SET_IDLE, 0, number, None, CONTROL_TIMEOUT_MS)
            except usb.core.USBError as fault:
                if fault.errno != errno.EPIPE:
                    raise
            return
        # What a run before us left half-done: without this the second run times out.
        for endpoint in (self._in, self._out):
            if endpoint is not None:
                self._device.clear_halt(endpoint.bEndpointAddress)
        for _ in range(MOST_DRAINED):
            try:
                self._device.read(self._in.bEndpointAddress, self._in.wMaxPacketSize, 2)
            except usb.core.USBTimeoutError:
                return


def open_usb(address: UsbAddress) -> UsbLink:
    """Open a device through libusb. Raises ``LinkMissing``, ``LinkRefused`` or ``LinkLost``."""
    name = f"usb {address.vendor:04x}:{address.product:04x}" + (f" {address.serial}" if address.serial else "")

    def find() -> list[UsbDevice]:
        try:
            found = usb.core.find(find_all=True, idVendor=address.vendor, idProduct=address.product)
            return list(found)
        except usb.core.NoBackendError as fault:
            raise LinkRefused(f"{name}: libusb is not installed; install the package libusb-1.0-0") from fault

    return _open(find, name, address.serial, address.interface, detach=address.detach)


def open_usbip(address: UsbIpAddress) -> UsbLink:
    """Open a device through our USB/IP backend. Raises ``LinkMissing``, ``LinkRefused`` or ``LinkLost``."""
    from drivers.usbip import UsbIpBackend  # noqa: PLC0415  not loaded outside test mode

    backend = UsbIpBackend(address.host, address.port, address.busid)
    name = f"usbip {address.host}:{address.port}/{address.busid}"
    return _open(lambda: list(usb.core.find(find_all=True, backend=backend)), name, None, address.interface)


def _open(
    find: Callable[[], list[UsbDevice]], name: str, serial: str | None, number: int, *, detach: bool = False
) -> UsbLink:
    try:
        devices = find()
        device = _choose(devices, name, serial)
    except usb.core.USBError as fault:
        raise _link_error(name, fault) from fault
    detached = False
    try:
        detached = _detach(device, name, number, allowed=detach)
        link = UsbLink(device, _claim(device, name, number), name, attach_again=detached)
        link.start()
    except usb.core.USBError as fault:
        _give_back(device, number, attach_again=detached)
        raise _link_error(name, fault) from fault
    except LinkError:
        _give_back(device, number, attach_again=detached)
        raise
    return link


def _choose(devices: list[UsbDevice], name: str, serial: str | None) -> UsbDevice:
    if serial is not None:
        devices = [device for device in devices if _serial_number(device) == serial]
    if not devices:
        raise LinkMissing(f"{name}: no such device; plug it in, or correct the link")
    if len(devices) > 1:
        raise LinkRefused(f"{name}: {len(devices)} devices match; add the serial number to the link")
    device: UsbDevice = devices[0]
    return device


def _serial_number(device: UsbDevice) -> str | None:
    """The serial number; ``None`` where there is none or where it may not be read."""
    try:
        found: str | None = device.serial_number
    except ValueError:
        return None  # pyusb's word for "no strings": often a missing permission.
    usb.util.dispose_resources(device)  # Reading a string opened the device.
    return found


def _detach(device: UsbDevice, name: str, number: int, *, allowed: bool) -> bool:
    """Send a kernel driver (usbhid) away from the interface where the configuration allows it."""
    try:
        if not device.is_kernel_driver_active(number):
            return False
    except NotImplementedError:
        return False  # Not on this system.
    if not allowed:
        raise LinkRefused(f"{name}: the kernel uses interface {number}; add detach=yes to the link")
    device.detach_kernel_driver(number)
    return True


def _claim(device: UsbDevice, name: str, number: int) -> UsbDevice:
    """Configure the device, unless it is, and claim the interface."""
    try:
        configuration = device.get_active_configuration()
    except usb.core.USBError as fault:
        if fault.errno is not None:
            raise
        device.set_configuration()  # "Configuration not set" is the one error of pyusb without a number.
        configuration = device.get_active_configuration()
    interface = usb.util.find_descriptor(configuration, bInterfaceNumber=number, bAlternateSetting=0)
    if interface is None:
        raise LinkRefused(f"{name}: there is no interface {number}; correct interface= in the link")
    usb.util.claim_interface(device, number)
    return interface


def _give_back(device: UsbDevice, number: int, *, attach_again: bool) -> None:
    """Release the interface, to the kernel where it came from there, and close the device.

    The ``Device`` is of no further use: after a replug it would answer "no such device" for ever.
    """
    try:
        usb.util.release_interface(device, number)
        if attach_again:
            device.attach_kernel_driver(number)
    except usb.core.USBError as fault:
        if fault.errno not in (errno.ENODEV, errno.ENOENT):
            raise LinkLost(f"interface {number} could not be given back: {fault}") from fault
    finally:
        usb.util.dispose_resources(device)


def _endpoints(interface: UsbDevice, name: str) -> tuple[UsbDevice, UsbDevice | None]:
    """The IN and the OUT endpoint. Only bulk and interrupt endpoints count."""
    usable = [
        endpoint
        for endpoint in interface
        if usb.util.endpoint_type(endpoint.bmAttributes) in (usb.util.ENDPOINT_TYPE_BULK, usb.util.ENDPOINT_TYPE_INTR)
    ]
    inward = [endpoint for endpoint in usable if endpoint.bEndpointAddress & usb.util.ENDPOINT_IN]
    outward = [endpoint for endpoint in usable if not endpoint.bEndpointAddress & usb.util.ENDPOINT_IN]
    if not inward:
        raise LinkRefused(f"{name}: interface {interface.bInterfaceNumber} has no IN endpoint; correct interface=")
    return inward[0], outward[0] if outward else None


def _link_error(name: str, fault: usb.core.USBError) -> LinkError:
    if fault.errno == errno.ENODEV:
        return LinkMissing(f"{name}: {fault}")
    if fault.errno == errno.EBUSY:
        return LinkRefused(f"{name}: another process holds the device; stop that process")
    if fault.errno in (errno.EACCES, errno.EPERM):
        return LinkRefused(f"{name}: not permitted; give the daemon's group access by a udev rule")
    if isinstance(fault, usb.core.USBTimeoutError):
        return LinkTimeout(f"{name}: the device does not answer; power it off and on")
    return LinkRefused(f"{name}: {fault}")
