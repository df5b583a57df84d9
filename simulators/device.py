"""``feltsim device``: one simulated device on a real port, so that it stands in the place of a real one.

    feltsim device feig --serial /dev/ttyUSB3 --baud 38400 --parity even
    feltsim device mercury --tcp :10001
    feltsim device shoe --usbip 0.0.0.0:3240      then, on the device under test: usbip attach -r HOST -b 1-1

One line on standard output says where it is. Standard input takes one JSON object a line, each answered by one:
``{"do": "put", "channel": 1, "tags": ["E00401000000000A"]}``; the words are those of scenarios. The device is gone
when standard input ends.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from simulators.errors import RigError
from simulators.host import MODELS, PRODUCTS, DeviceHost
from simulators.verdict import Exit

NAME = "device"


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="feltsim device", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("driver", choices=MODELS, metavar="DRIVER", help=", ".join(MODELS))
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--serial", metavar="PATH", help="a serial adapter that leads into the device under test")
    where.add_argument("--tcp", metavar="[HOST]:PORT", help="listen here; HOST is 127.0.0.1 unless given")
    where.add_argument("--usbip", metavar="[HOST]:PORT", help="serve it over USB/IP, as bus id 1-1")
    parser.add_argument("--baud", type=int, default=38400)
    parser.add_argument("--parity", choices=("none", "even", "odd"), default="none")
    parser.add_argument("--serial-number", default="", metavar="TEXT", help="USB: what the descriptor says")
    parser.add_argument("--product", type=lambda text: int(text, 16), metavar="HEX", help="USB product id")
    parser.add_argument(
        "--model", type=json.loads, default={}, metavar="JSON", help="arguments of the simulated device"
    )
    parser.add_argument("--speed", type=float, default=1.0)
    asked = parser.parse_args(arguments)
    try:
        with DeviceHost(_spec(asked)) as host:
            _say({"ready": True, "devices": host.uris()})
            for line in sys.stdin.buffer:
                _say(host.answer(_addressed(line)))
    except RigError as fault:
        _say({"ready": False, "error": str(fault)})
        return Exit.RIG
    return Exit.PASSED


def _spec(asked: argparse.Namespace) -> dict[str, Any]:
    device: dict[str, Any] = {"name": NAME, "driver": asked.driver, "model": asked.model, "serial": asked.serial_number}
    device["product"] = PRODUCTS.get(asked.driver, 1) if asked.product is None else asked.product
    spec: dict[str, Any] = {"speed": asked.speed, "devices": [device]}
    if asked.serial is not None:
        device |= {"link": "serial", "path": asked.serial, "baud": asked.baud, "parity": asked.parity}
    elif asked.tcp is not None:
        device |= {"link": "tcp", "path": asked.tcp}
    else:
        spec["usbip"] = asked.usbip
    return spec


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
