"""The URI of a link taken apart: nothing here touches a device. The forms are told in ``drivers.link``."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from drivers.errors import ConfigError

PARITIES = ("none", "even", "odd", "mark", "space")
FASTEST_BAUD = 4_000_000


@dataclass(frozen=True, slots=True)
class SerialAddress:
    """A serial port and its line settings."""

    path: str
    baud: int = 38400
    bits: int = 8
    parity: str = "none"
    stopbits: int = 1


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host by its IP address: a table does not wait for a name server."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class UsbAddress:
    """A USB device by vendor, product and (where several are alike) serial number."""

    vendor: int
    product: int
    serial: str | None = None
    interface: int = 0
    detach: bool = False


@dataclass(frozen=True, slots=True)
class UsbIpAddress:
    """A device that a USB/IP server exports."""

    host: str
    port: int
    busid: str
    interface: int = 0


Address = SerialAddress | TcpAddress | UsbAddress | UsbIpAddress


def parse_address(uri: str, *, test_mode: bool) -> Address:
    """Take a link's URI apart without touching the device.

    Raises ``ConfigError`` that says what is wrong with it and what to write instead.
    """
    try:
        parts = urlsplit(uri)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError as fault:
        raise ConfigError("link", uri, f"cannot be read as a URI ({fault})") from fault
    match parts.scheme:
        case "serial":
            return _serial(uri, parts, options)
        case "tcp":
            return _tcp(uri, parts, options)
        case "usb":
            return _usb(uri, parts, options)
        case "usbip" if test_mode:
            return _usbip(uri, parts, options)
        case "usbip":
            raise ConfigError("link", uri, "usbip:// is for test mode only; name the real device with usb://")
    raise ConfigError("link", uri, "must begin with serial://, tcp://, usb:// or usbip://")


def path_of(uri: str, *, test_mode: bool) -> str:
    """What people call the place of a device. Raises ``ConfigError`` (see ``parse_address``)."""
    address = parse_address(uri, test_mode=test_mode)
    return address.path if isinstance(address, SerialAddress) else uri.partition("?")[0]


def _serial(uri: str, parts: SplitResult, options: dict[str, str]) -> SerialAddress:
    if parts.netloc or len(parts.path) < 2:
        raise ConfigError("link", uri, "a serial port is written with three slashes: serial:///dev/ttyUSB0")
    address = SerialAddress(
        unquote(parts.path),
        baud=_number(uri, options, "baud", 38400, range(50, FASTEST_BAUD + 1)),
        bits=_number(uri, options, "bits", 8, range(5, 9)),
        parity=_choice(uri, options, "parity", "none", PARITIES),
        stopbits=_number(uri, options, "stopbits", 1, range(1, 3)),
    )
    _nothing_left(uri, options, ("baud", "bits", "parity", "stopbits"))
    return address


def _tcp(uri: str, parts: SplitResult, options: dict[str, str]) -> TcpAddress:
    remedy = "write the IP address and the port: tcp://192.0.2.7:10001, or tcp://[2001:db8::7]:10001"
    try:
        host, port = str(ipaddress.ip_address(parts.hostname or "")), parts.port
    except ValueError as fault:
        raise ConfigError("link", uri, remedy) from fault
    if not port or parts.username is not None or parts.path.strip("/"):
        raise ConfigError("link", uri, remedy)
    _nothing_left(uri, options, ())
    return TcpAddress(host, port)


def _usb(uri: str, parts: SplitResult, options: dict[str, str]) -> UsbAddress:
    ids = re.fullmatch(r"([0-9a-fA-F]{4}):([0-9a-fA-F]{4})", parts.netloc)
    if ids is None:
        raise ConfigError("link", uri, "write vendor and product as four hex digits each: usb://2341:0001")
    serial = unquote(parts.path.strip("/"))
    address = UsbAddress(
        int(ids[1], 16),
        int(ids[2], 16),
        serial or None,
        interface=_number(uri, options, "interface", 0, range(32)),
        detach=_choice(uri, options, "detach", "no", ("no", "yes")) == "yes",
    )
    _nothing_left(uri, options, ("interface", "detach"))
    return address


def _usbip(uri: str, parts: SplitResult, options: dict[str, str]) -> UsbIpAddress:
    try:
        host, port = parts.hostname, parts.port
    except ValueError as fault:
        raise ConfigError("link", uri, f"the port is wrong ({fault})") from fault
    busid = unquote(parts.path.strip("/"))
    # OP_REQ_IMPORT carries the bus id in 32 bytes, the last of them zero.
    if not host or not port or not busid or len(busid.encode()) > 31:
        raise ConfigError("link", uri, "write host, port and bus id: usbip://127.0.0.1:3240/1-1")
    address = UsbIpAddress(host, port, busid, interface=_number(uri, options, "interface", 0, range(32)))
    _nothing_left(uri, options, ("interface",))
    return address


def _number(uri: str, options: dict[str, str], name: str, default: int, allowed: range) -> int:
    text = options.get(name, str(default))
    if not (text.isascii() and text.isdecimal()) or int(text) not in allowed:
        raise ConfigError("link", uri, f"{name} must be a number from {allowed[0]} to {allowed[-1]}, not {text!r}")
    return int(text)


def _choice(uri: str, options: dict[str, str], name: str, default: str, allowed: tuple[str, ...]) -> str:
    text = options.get(name, default)
    if text not in allowed:
        raise ConfigError("link", uri, f"{name} must be one of {', '.join(allowed)}, not {text!r}")
    return text


def _nothing_left(uri: str, options: dict[str, str], known: tuple[str, ...]) -> None:
    for name in options:
        if name not in known:
            raise ConfigError("link", uri, f"{name!r} is no option here; use {', '.join(known) or 'none'}")
