"""A pyusb backend over USB/IP: ``usb.core.find(backend=UsbIpBackend(host, port))`` finds simulated devices.

It behaves as pyusb's libusb backend does: the same errors with the same codes, ``IndexError`` past the last
descriptor, buffers filled in place. So a driver that runs on it runs on libusb. For test mode only.
"""

import errno
import struct
from array import array
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TypeAlias

import usb.backend
import usb.core

from drivers.usbipclient import Completion, Entry, ImportedDevice, list_devices

Buffer: TypeAlias = "array[int]"

DESCRIPTOR_TIMEOUT_S = 2.0
DEVICE, CONFIGURATION, INTERFACE, ENDPOINT = 1, 2, 4, 5

_DEVICE = struct.Struct("<BBHBBBBHHHBBBB")
_DEVICE_FIELDS = (
    *("bLength", "bDescriptorType", "bcdUSB", "bDeviceClass", "bDeviceSubClass", "bDeviceProtocol", "bMaxPacketSize0"),
    *("idVendor", "idProduct", "bcdDevice", "iManufacturer", "iProduct", "iSerialNumber", "bNumConfigurations"),
)
_CONFIGURATION = struct.Struct("<BBHBBBBB")
_CONFIGURATION_FIELDS = (
    *("bLength", "bDescriptorType", "wTotalLength", "bNumInterfaces", "bConfigurationValue", "iConfiguration"),
    *("bmAttributes", "bMaxPower"),
)
_INTERFACE = struct.Struct("<BBBBBBBBB")
_INTERFACE_FIELDS = (
    *("bLength", "bDescriptorType", "bInterfaceNumber", "bAlternateSetting", "bNumEndpoints", "bInterfaceClass"),
    *("bInterfaceSubClass", "bInterfaceProtocol", "iInterface"),
)
_ENDPOINT = struct.Struct("<BBBBHB")
_ENDPOINT_FIELDS = ("bLength", "bDescriptorType", "bEndpointAddress", "bmAttributes", "wMaxPacketSize", "bInterval")

# libusb counts speeds without the gap that the kernel has for wireless USB.
_SPEED = {1: 1, 2: 2, 3: 3, 5: 4}

# errno of an URB -> libusb's code and the errno that pyusb shows for it.
_LIBUSB = {
    errno.EIO: (-1, errno.EIO),
    errno.EACCES: (-3, errno.EACCES),
    errno.ENODEV: (-4, errno.ENODEV),
    errno.ESHUTDOWN: (-4, errno.ENODEV),
    errno.ENOENT: (-5, errno.ENOENT),
    errno.EBUSY: (-6, errno.EBUSY),
    errno.EOVERFLOW: (-8, errno.EOVERFLOW),
    errno.EPIPE: (-9, errno.EPIPE),
    errno.ENOSYS: (-12, errno.ENOSYS),
}


class Export:
    """One device of the server, as ``enumerate_devices`` yields it. Its descriptors are read once."""

    def __init__(self, host: str, port: int, entry: Entry) -> None:
        self.host = host
        self.port = port
        self.entry = entry
        self._device: SimpleNamespace | None = None
        self._configurations: list[SimpleNamespace] = []

    def device(self) -> SimpleNamespace:
        """The device descriptor."""
        if self._device is None:
            self._read()
        assert self._device is not None
        return self._device

    def configuration(self, index: int) -> SimpleNamespace:
        """A configuration by its place. Raises ``IndexError`` past the last."""
        self.device()
        return self._configurations[index]

    def _read(self) -> None:
        imported = _import(self)
        try:
            raw = _descriptor(imported, DEVICE, 0, _DEVICE.size)
            device = SimpleNamespace(**dict(zip(_DEVICE_FIELDS, _DEVICE.unpack(raw), strict=True)))
            device.bus = self.entry.busnum
            device.address = self.entry.devnum
            device.speed = _SPEED.get(self.entry.speed)
            device.port_number = None
            device.port_numbers = None
            for index in range(device.bNumConfigurations):
                head = _descriptor(imported, CONFIGURATION, index, _CONFIGURATION.size)
                total = int.from_bytes(head[2:4], "little")
                self._configurations.append(parse_configuration(_descriptor(imported, CONFIGURATION, index, total)))
            self._device = device
        finally:
            imported.close()


class Handle:
    """An opened device."""

    def __init__(self, export: Export, imported: ImportedDevice) -> None:
        self.imported = imported
        self.intervals = {
            endpoint.bEndpointAddress: endpoint.bInterval
            for index in range(export.device().bNumConfigurations)
            for settings in export.configuration(index).interfaces
            for setting in settings
            for endpoint in setting.endpoints
        }


class UsbIpBackend(usb.backend.IBackend):
    """The devices that one USB/IP server exports, or the one of them with ``busid``."""

    def __init__(self, host: str, port: int, busid: str | None = None) -> None:
        super().__init__()
        self.host = host
        self.port = port
        self.busid = busid

    # ------------------------------------------------------------ what is there

    def enumerate_devices(self) -> Iterator[Export]:
        """The exported devices. Raises ``USBError`` when there is no server."""
        try:
            entries = list_devices(self.host, self.port)
        except OSError as fault:
            raise _usb_error(fault) from fault
        for entry in entries:
            if self.busid in (None, entry.busid):
                yield Export(self.host, self.port, entry)

    def get_parent(self, dev: Export) -> None:
        """No hub is simulated."""

    def get_device_descriptor(self, dev: Export) -> SimpleNamespace:
        """See ``IBackend``."""
        return dev.device()

    def get_configuration_descriptor(self, dev: Export, config: int) -> SimpleNamespace:
        """See ``IBackend``."""
        return dev.configuration(config)

    def get_interface_descriptor(self, dev: Export, intf: int, alt: int, config: int) -> SimpleNamespace:
        """See ``IBackend``."""
        found: SimpleNamespace = dev.configuration(config).interfaces[intf][alt]
        return found

    def get_endpoint_descriptor(self, dev: Export, ep: int, intf: int, alt: int, config: int) -> SimpleNamespace:
        """See ``IBackend``."""
        found: SimpleNamespace = self.get_interface_descriptor(dev, intf, alt, config).endpoints[ep]
        return found

    # ------------------------------------------------------------ open and close

    def open_device(self, dev: Export) -> Handle:
        """See ``IBackend``. Raises ``USBError`` 16 when another client has the device."""
        dev.device()
        return Handle(dev, _import(dev))

    def close_device(self, dev_handle: Handle) -> None:
        """See ``IBackend``."""
        dev_handle.imported.close()

    def claim_interface(self, dev_handle: Handle, intf: int) -> None:
        """Nothing to do: an imported device is ours as a whole."""

    def release_interface(self, dev_handle: Handle, intf: int) -> None:
        """Nothing to do."""

    def is_kernel_driver_active(self, dev_handle: Handle, intf: int) -> bool:
        """Never: the kernel does not see the device."""
        return False

    def set_configuration(self, dev_handle: Handle, config_value: int) -> None:
        """See ``IBackend``."""
        self._command(dev_handle, 0x00, 0x09, config_value, 0)

    def get_configuration(self, dev_handle: Handle) -> int:
        """See ``IBackend``. 0 while not configured."""
        answer = array("B", bytes(1))
        count = self.ctrl_transfer(dev_handle, 0x80, 0x08, 0, 0, answer, 1000)
        return answer[0] if count else 0

    def set_interface_altsetting(self, dev_handle: Handle, intf: int, altsetting: int) -> None:
        """See ``IBackend``."""
        self._command(dev_handle, 0x01, 0x0B, altsetting, intf)

    def clear_halt(self, dev_handle: Handle, ep: int) -> None:
        """See ``IBackend``."""
        self._command(dev_handle, 0x02, 0x01, 0, ep)

    def reset_device(self, dev_handle: Handle) -> None:
        """Refused: USB/IP has no word for it. Close and open again."""
        raise _usb_error(OSError(errno.ENOSYS, "USB/IP cannot reset a device: close it and open it again"))

    # ------------------------------------------------------------ transfers

    def bulk_write(self, dev_handle: Handle, ep: int, intf: int, data: Buffer, timeout: int) -> int:
        """See ``IBackend``. ``timeout`` in ms, 0 for none."""
        return self.intr_write(dev_handle, ep, intf, data, timeout)

    def bulk_read(self, dev_handle: Handle, ep: int, intf: int, buff: Buffer, timeout: int) -> int:
        """See ``IBackend``. ``timeout`` in ms, 0 for none."""
        return self.intr_read(dev_handle, ep, intf, buff, timeout)

    def intr_write(self, dev_handle: Handle, ep: int, intf: int, data: Buffer, timeout: int) -> int:
        """See ``IBackend``. ``timeout`` in ms, 0 for none."""
        interval = dev_handle.intervals.get(ep, 0)
        end = dev_handle.imported.send(ep, data.tobytes(), interval, _seconds(timeout))
        return _checked(end).count

    def intr_read(self, dev_handle: Handle, ep: int, intf: int, size: Buffer, timeout: int) -> int:
        """See ``IBackend``. ``size`` is the buffer, whatever its name says; ``timeout`` in ms, 0 for none."""
        length = len(size) * size.itemsize
        interval = dev_handle.intervals.get(ep, 0)
        return _fill(size, _checked(dev_handle.imported.receive(ep, length, interval, _seconds(timeout))))

    def ctrl_transfer(
        self,
        dev_handle: Handle,
        bmRequestType: int,
        bRequest: int,
        wValue: int,
        wIndex: int,
        data: Buffer,
        timeout: int,
    ) -> int:
        """See ``IBackend``. ``timeout`` in ms, 0 for none."""
        payload = data.tobytes()
        setup = struct.pack("<BBHHH", bmRequestType, bRequest, wValue, wIndex, len(payload))
        end = _checked(dev_handle.imported.control(setup, payload, _seconds(timeout)))
        return _fill(data, end) if bmRequestType & 0x80 else end.count

    def _command(self, handle: Handle, kind: int, request: int, value: int, index: int) -> None:
        self.ctrl_transfer(handle, kind, request, value, index, array("B"), 1000)


def parse_configuration(raw: bytes) -> SimpleNamespace:
    """Take a configuration apart: ``interfaces[i][alternate].endpoints[k]``, each with its extra descriptors.

    Raises ``USBError`` 5 where lengths do not add up.
    """
    here = _named(_CONFIGURATION, _CONFIGURATION_FIELDS, raw)
    configuration = here
    configuration.interfaces = []
    by_number: dict[int, list[SimpleNamespace]] = {}
    at = here.bLength
    while at < len(raw):
        length = raw[at]
        if length < 2 or at + length > len(raw):
            raise _usb_error(OSError(errno.EIO, f"configuration descriptor broken at byte {at}"))
        piece = raw[at : at + length]
        if piece[1] == INTERFACE:
            here = _named(_INTERFACE, _INTERFACE_FIELDS, piece)
            here.endpoints = []
            if here.bInterfaceNumber not in by_number:
                configuration.interfaces.append(by_number.setdefault(here.bInterfaceNumber, []))
            by_number[here.bInterfaceNumber].append(here)
            setting = here
        elif piece[1] == ENDPOINT and by_number:
            here = _named(_ENDPOINT, _ENDPOINT_FIELDS, piece)
            # Audio endpoints alone carry these two.
            here.bRefresh, here.bSynchAddress = (piece[7], piece[8]) if length >= 9 else (0, 0)
            setting.endpoints.append(here)
        else:
            here.extra_descriptors += list(piece)
        at += length
    return configuration


def _named(layout: struct.Struct, fields: tuple[str, ...], raw: bytes) -> SimpleNamespace:
    if len(raw) < layout.size:
        raise _usb_error(OSError(errno.EIO, f"a descriptor of {len(raw)} bytes is too short"))
    return SimpleNamespace(**dict(zip(fields, layout.unpack_from(raw), strict=True)), extra_descriptors=[])


def _import(export: Export) -> ImportedDevice:
    try:
        return ImportedDevice(export.host, export.port, export.entry.busid)
    except OSError as fault:
        raise _usb_error(fault) from fault


def _descriptor(imported: ImportedDevice, kind: int, index: int, length: int) -> bytes:
    setup = struct.pack("<BBHHH", 0x80, 0x06, kind << 8 | index, 0, length)
    return _checked(imported.control(setup, b"", DESCRIPTOR_TIMEOUT_S)).data


def _seconds(timeout_ms: int) -> float | None:
    return timeout_ms / 1000 if timeout_ms else None


def _fill(buffer: Buffer, end: Completion) -> int:
    memoryview(buffer).cast("B")[: len(end.data)] = end.data
    return len(end.data)


def _checked(end: Completion) -> Completion:
    if end.status == -errno.ETIMEDOUT:
        raise usb.core.USBTimeoutError("Operation timed out", -7, errno.ETIMEDOUT)
    if end.status:
        raise _usb_error(OSError(-end.status, f"transfer failed: {errno.errorcode.get(-end.status, end.status)}"))
    return end


def _usb_error(fault: OSError) -> usb.core.USBError:
    code, number = _LIBUSB.get(fault.errno or errno.EIO, (-1, errno.EIO))
    if fault.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH):
        code, number = -4, errno.ENODEV  # No server is as good as no device.
    return usb.core.USBError(fault.strerror or str(fault), code, number)
