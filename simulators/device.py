"""``feltsim device``: one simulated device on a real port, so that it stands in the place of a real one.

    feltsim device feig --serial /dev/ttyUSB3 --baud 38400 --parity even
    feltsim device mercury --tcp :10001
    feltsim device shoe --usbip 0.0.0.0:3240      then, on the device under test: usbip attach -r HOST -b 1-1

One line on standard output says where it is. Standard input takes one JSON object a line, each answered by one:
``{"do": "put", "channel": 1, "tags": ["E00401000000000A"]}``; the words are those of scenarios. The device is gone
when standard input ends.
"""

import argparse
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from simulators.errors import RigError, ScriptError
from simulators.gestures import SOLD
from simulators.host import MODELS, MOST_ID, MOST_SPEED, PRODUCTS, DeviceHost
from simulators.realports import MOST_PORT, is_port
from simulators.scripts.strict import suggestion
from simulators.verdict import Exit

NAME = "device"
DRIVERS = tuple(name for name in MODELS if name != "recording")
"""A recording is no device of its own: ``feltsim replay`` plays it."""


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="feltsim device", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("driver", choices=DRIVERS, metavar="DRIVER", help=", ".join(DRIVERS))
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--serial", metavar="PATH", help="a serial adapter that leads into the device under test")
    where.add_argument("--tcp", metavar="[HOST]:PORT", help="listen here; HOST is 127.0.0.1 unless given")
    where.add_argument("--usbip", metavar="[HOST]:PORT", help="serve it over USB/IP, as bus id 1-1")
    parser.add_argument("--baud", type=int, default=38400)
    parser.add_argument("--parity", choices=("none", "even", "odd"), default="none")
    parser.add_argument("--serial-number", default="", metavar="TEXT", help="USB: what the descriptor says")
    parser.add_argument("--product", metavar="HEX", help="USB product id")
    parser.add_argument("--model", default="{}", metavar="JSON", help="arguments of the simulated device")
    parser.add_argument("--speed", type=float, default=1.0)
    asked = parser.parse_args(arguments)
    try:
        with DeviceHost(_spec(asked)) as host:
            _say({"ready": True, "devices": host.uris()})
            for line in sys.stdin.buffer:
                _say(host.answer(_addressed(line)))
    except ScriptError as fault:
        _say({"ready": False, "error": str(fault)})
        return Exit.SCRIPT
    except RigError as fault:
        _say({"ready": False, "error": str(fault)})
        return Exit.RIG
    return Exit.PASSED


def _spec(asked: argparse.Namespace) -> dict[str, Any]:
    """Raises ``ScriptError`` naming the argument, its value and the remedy."""
    usb = asked.driver in PRODUCTS
    ports = (("serial", asked.serial), ("tcp", asked.tcp), ("usbip", asked.usbip))
    for name, value in ports:
        if value is not None and usb != (name == "usbip"):
            remedy = "hangs at USB: give --usbip" if usb else "is no USB device: give --serial or --tcp"
            raise _wrong(name, value, f"a {asked.driver} {remedy}")
    for name, value in ports[1:]:
        if value is not None and not is_port(value):
            raise _wrong(name, value, f"write HOST:PORT or :PORT, a port of 0 to {MOST_PORT}")
    if not 0 < asked.speed < MOST_SPEED:
        raise _wrong("speed", asked.speed, f"give how many times faster than real time runs, below {MOST_SPEED}")
    if asked.baud < 1:
        raise _wrong("baud", asked.baud, "give the speed of the line, for instance 38400")
    device: dict[str, Any] = {"name": NAME, "driver": asked.driver, "serial": asked.serial_number}
    device["model"] = _model(asked.driver, asked.model)
    device["product"] = PRODUCTS.get(asked.driver, 1) if asked.product is None else _product(asked.product)
    spec: dict[str, Any] = {"speed": asked.speed, "devices": [device]}
    if asked.serial is not None:
        device |= {"link": "serial", "path": asked.serial, "baud": asked.baud, "parity": asked.parity}
    elif asked.tcp is not None:
        device |= {"link": "tcp", "path": asked.tcp}
    else:
        spec["usbip"] = asked.usbip
    return spec


def _product(text: str) -> int:
    digits = text.lower().removeprefix("0x")
    if not digits or len(digits) > len(f"{MOST_ID:x}") or set(digits) - set("0123456789abcdef"):
        raise _wrong("product", text, "a USB product id is hexadecimal, from 0 to ffff")
    return int(digits, 16)


def _model(driver: str, text: str) -> dict[str, Any]:
    """The arguments of the simulated device, each held to what it is in a device as it comes."""
    try:
        given = json.loads(text)
    except ValueError as fault:
        raise _wrong("model", text, f"is no JSON ({fault}): write an object, {_known(driver)}") from fault
    if not isinstance(given, dict):
        raise _wrong("model", text, f"write an object of its arguments, {_known(driver)}")
    usual = _usual(driver)
    for name, value in given.items():
        if name not in usual:
            raise _wrong("model", text, f"{name!r} is unknown: {_known(driver)}{suggestion(name, usual)}")
        if type(value) is not type(usual[name]):
            raise _wrong("model", text, f"{name} = {value!r}: as it comes it is {json.dumps(usual[name])}")
    try:
        MODELS[driver][0](**given)
    except (TypeError, ValueError) as fault:
        raise _wrong("model", text, f"no {driver} can be made with it ({fault}): {_known(driver)}") from fault
    return given


def _usual(driver: str) -> Mapping[str, Any]:
    """What a device of this driver takes in JSON, and what it has unless told otherwise."""
    parts = inspect.signature(SOLD[driver]).parameters.values()
    plain = {part.name: part.default for part in parts if isinstance(part.default, str | int)}
    hears = any(part.name == "hearing" for part in parts)
    return plain | ({"reads": {}} if hears else {})


def _known(driver: str) -> str:
    return f"a {driver} takes {', '.join(_usual(driver)) or 'none'}"


def _wrong(name: str, value: object, remedy: str) -> ScriptError:
    return ScriptError("arguments", f"--{name}", value, remedy)


def _addressed(line: bytes) -> bytes:
    """The one device needs no name; what is no JSON is answered as such."""
    try:
        said = json.loads(line)
    except ValueError:
        return line
    return json.dumps({"device": NAME, **said}).encode() if isinstance(said, dict) else line


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
