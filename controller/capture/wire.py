"""How the bytes of a device stand in a capture: link type 250 for a serial line, 220 for USB.

LINKTYPE_RTAC_SERIAL begins each packet with 12 big-endian bytes, LINKTYPE_USB_LINUX_MMAPPED with the 64 bytes of
the kernel's usbmon; so a capture that usbmon made of a real device is read by the same function.
"""

import struct
from dataclasses import dataclass

from controller.capture.pcapng import BILLION, Packet

USER, USB, SERIAL = 147, 220, 250
_TX, _RX = 1, 2
_USBMON = "QBBBBHBBqiiIIQiiII"
_USBMON_SIZE = 64
_INTERRUPT, _BULK = 1, 3
_SUBMIT, _COMPLETE = ord("S"), ord("C")
_IN = 0x80
_IN_PROGRESS = -115


@dataclass(frozen=True, slots=True)
class Passed:
    """Bytes that passed between host and device. ``at`` in ns; ``inward``: towards the host."""

    device: str
    at: int
    inward: bool
    data: bytes


def link_type(uri: str) -> int:
    """Which of the two a link is captured as."""
    return USB if uri.startswith(("usb://", "usbip://")) else SERIAL


def wrap(kind: int, address: int, at: int, data: bytes, *, inward: bool) -> bytes:
    """The packet for bytes on a link of this type. ``address`` is the device's number on a USB bus."""
    if kind == SERIAL:
        return struct.pack(">IIBBH", at // BILLION, at % BILLION // 1000, _RX if inward else _TX, 0, 0) + data
    head = struct.pack(
        "<" + _USBMON,
        at,
        _COMPLETE if inward else _SUBMIT,
        _BULK,
        _IN | 1 if inward else 1,
        address,
        1,
        ord("-"),
        0,
        at // BILLION,
        at % BILLION // 1000,
        0 if inward else _IN_PROGRESS,
        len(data),
        len(data),
        0,
        0,
        0,
        0,
        0,
    )
    return head + data


def unwrap(packet: Packet) -> Passed | None:
    """The bytes in a packet; ``None`` for a packet that carries none (control transfers, requests without data).

    A USB device of a capture with one interface for a whole bus is called ``BUS-DEVICE``.
    """
    kind, data, name = packet.interface.link_type, packet.data, packet.interface.name
    if kind == SERIAL and len(data) > 12 and data[8] in (_TX, _RX):
        return Passed(name, packet.at, data[8] == _RX, data[12:])
    if kind != USB or len(data) < _USBMON_SIZE:
        return None
    _, event, transfer, endpoint, number, bus, _, no_data, _, _, status, _, captured = struct.unpack_from(
        "<QBBBBHBBqiiII", data
    )
    inward = bool(endpoint & _IN)
    moment = _COMPLETE if inward else _SUBMIT
    if transfer not in (_INTERRUPT, _BULK) or event != moment or no_data or not captured or (inward and status):
        return None
    called = f"{bus}-{number}" if name.startswith("usbmon") or not name else name
    return Passed(called, packet.at, inward, data[_USBMON_SIZE : _USBMON_SIZE + captured])
