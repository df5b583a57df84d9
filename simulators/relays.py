"""The switches of a rig: serial relay boards that cut power, or couple antennas of real readers to what lies on them.

Spoken is what the common USB boards understand (LCUS and its kin): ``A0 CHANNEL STATE SUM`` at 9600 8N1. The board does
not answer; whether power is there, the daemon and its devices show.
"""

import re
from collections.abc import Mapping

import serial

from simulators.errors import RigError, ScriptError

SHAPE = re.compile(r"relay:(\d{1,2})")
START = 0xA0


def frame(channel: int, *, closed: bool) -> bytes:
    """The order to one relay; ``closed`` lets current through."""
    head = bytes((START, channel, closed))
    return head + bytes((sum(head) & 0xFF,))


def channels(path: object, named: Mapping[str, str], section: str = "power") -> dict[str, int]:
    """What each switch of a section is called and which relay it is. Raises ``ScriptError``."""
    found = {}
    for name, value in named.items():
        match = SHAPE.fullmatch(value)
        if match is None or not 1 <= int(match[1]) <= 16:
            raise ScriptError(str(path), f"{section}.{name}", value, "write relay:N, with N from 1 to 16")
        found[name] = int(match[1])
    return found


class Relays:
    """One board. ``switches``: what each relay is called. It closes all of them at the start and at the end."""

    def __init__(self, port: str, switches: Mapping[str, int], section: str = "power") -> None:
        """``section``: where in the rig's file they stand."""
        self._switches = switches
        self._section = section
        try:
            self._port = serial.Serial(port, 9600, write_timeout=2)
        except (OSError, serial.SerialException) as error:
            raise RigError(f"{section}.board = {port!r}: {error}") from error
        for name in switches:
            self.switch(name, on=True)

    def switch(self, name: str, *, on: bool) -> None:
        """Closed, or open. Raises ``RigError`` where nothing has this name or the board does not take it."""
        if name not in self._switches:
            known = ", ".join(sorted(self._switches)) or "none"
            raise RigError(f"{self._section} of {name}: this rig switches {known}")
        try:
            self._port.write(frame(self._switches[name], closed=on))
            self._port.flush()
        except (OSError, serial.SerialException) as error:
            raise RigError(f"{self._section} of {name}: the relay board does not take it: {error}") from error

    def close(self) -> None:
        """Everything is closed again, and the port is given up."""
        try:
            for name in self._switches:
                self.switch(name, on=True)
        finally:
            self._port.close()
