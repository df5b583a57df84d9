"""The way to a device: opened by URI, read, written, closed.

=============================================== =====================================================
``serial:///dev/ttyUSB0?baud=38400&parity=even`` a serial port; also ``bits`` (8) and ``stopbits`` (1)
``tcp://192.0.2.7:10001``                        a device or a serial server on the network, by number
``usb://2341:0001/SERIAL?interface=0``           a USB device; ``detach=yes`` takes it from the kernel
``usbip://127.0.0.1:3240/1-1?interface=0``       the same over USB/IP: simulated devices, test mode only
=============================================== =====================================================

Every open looks the device up again: a replugged adapter may sit behind the same name as another device
node. Which device it is, a conversation finds out in-band.
"""

from typing import Protocol

from drivers.address import SerialAddress, TcpAddress, UsbAddress, UsbIpAddress, parse_address


class Link(Protocol):
    """An open link. One thread reads and writes; ``wake`` may be called from any thread."""

    @property
    def path(self) -> str:
        """Where the device was found, for people: a device node or a bus address."""

    def read(self, timeout_s: float) -> bytes:
        """What has arrived, at the latest after ``timeout_s`` real seconds; from a HID device one whole report.

        ``b""`` says that nothing came or that ``wake`` was called, never that the device is gone: that
        raises ``LinkLost``.
        """

    def write(self, data: bytes) -> None:
        """Send all of ``data``. Raises ``LinkTimeout`` past the link's own deadline, ``LinkLost`` on unplug."""

    def set_baud(self, baud: int) -> None:
        """Change the speed of the line and forget what came at the old one. Nothing happens without a line."""

    def wake(self) -> None:
        """Make the pending read, or else the next one, return at once."""

    def close(self) -> None:
        """Let go of the device. May be called twice."""


def open_link(uri: str, *, test_mode: bool) -> Link:
    """Open the device behind ``uri``.

    Raises ``ConfigError`` (see ``parse_address``), ``LinkMissing`` where nothing is there, ``LinkRefused``
    where it is held by another or not permitted, ``LinkLost`` where it went away while being opened.
    """
    # Imported here: a table with serial devices alone needs no pyusb, and the reverse.
    match parse_address(uri, test_mode=test_mode):
        case SerialAddress() as address:
            from drivers.seriallink import open_serial

            return open_serial(address)
        case TcpAddress() as address:
            from drivers.tcplink import open_tcp

            return open_tcp(address)
        case UsbAddress() as address:
            from drivers.usblink import open_usb

            return open_usb(address)
        case UsbIpAddress() as address:
            from drivers.usblink import open_usbip

            return open_usbip(address)
