"""A serial port as a link, on pyserial."""

import errno
import os
import select
import termios
import threading
import time

import serial

from drivers.address import SerialAddress
from drivers.errors import LinkError, LinkLost, LinkMissing, LinkRefused, LinkTimeout

WRITE_TIMEOUT_S = 1.0
LINGER_S = 0.3
CHUNK = 4096

_PARITY = {
    "none": serial.PARITY_NONE,
    "even": serial.PARITY_EVEN,
    "odd": serial.PARITY_ODD,
    "mark": serial.PARITY_MARK,
    "space": serial.PARITY_SPACE,
}

# pyserial wraps most faults in SerialException, which is an OSError; the terminal calls inside it raise
# termios.error, which is not.
_FAULTS = (OSError, termios.error)

_ABSENT = (errno.ENOENT, errno.ENXIO, errno.ENODEV, errno.EIO, errno.ENOTDIR, errno.ELOOP)


class SerialLink:
    """An open serial port. Nobody else can open it through pyserial's lock meanwhile."""

    def __init__(self, port: serial.Serial, path: str) -> None:
        self._port = port
        self._path = path
        self._closing = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._open = True

    @property
    def path(self) -> str:
        """The name under which the port was opened."""
        return self._path

    def read(self, timeout_s: float) -> bytes:
        """See ``Link.read``."""
        try:
            # pyserial waits for a number of bytes and can be woken only while it waits; we wait for any byte.
            ready, _, _ = select.select([self._port.fileno(), self._wake], [], [], max(0.0, timeout_s))
            if self._wake in ready:
                os.eventfd_read(self._wake)
            if len(ready) == (self._wake in ready):
                return b""
            return self._port.read(CHUNK)
        except _FAULTS as fault:
            # An unplugged port is "ready" and yields nothing, for ever; is_open stays true. One error, then stop.
            raise LinkLost(f"{self._path}: {fault}") from fault

    def write(self, data: bytes) -> None:
        """See ``Link.write``."""
        try:
            self._port.write(data)
        except serial.SerialTimeoutException as fault:
            self._discard_output()
            raise LinkTimeout(f"{self._path}: the device took no bytes for {WRITE_TIMEOUT_S} s") from fault
        except _FAULTS as fault:
            raise LinkLost(f"{self._path}: {fault}") from fault

    def set_baud(self, baud: int) -> None:
        """See ``Link.set_baud``."""
        try:
            self._port.baudrate = baud
            self._port.reset_input_buffer()
        except (*_FAULTS, ValueError) as fault:
            raise LinkLost(f"{self._path}: the port does not take {baud} baud ({fault})") from fault

    def wake(self) -> None:
        """See ``Link.wake``."""
        with self._closing:
            if self._open:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """See ``Link.close``."""
        with self._closing:
            if not self._open:
                return
            self._open = False
            self._let_output_go()
            self._port.close()
            os.close(self._wake)

    def _let_output_go(self) -> None:
        """Give the last frame time to leave: it told the device to be quiet. Throw away what does not go.

        The kernel would wait up to 30 s for it when the port is closed.
        """
        deadline = time.monotonic() + LINGER_S
        try:
            while self._port.out_waiting:
                if time.monotonic() > deadline:
                    self._discard_output()
                    return
                time.sleep(0.002)
        except _FAULTS:
            return  # The port is gone, and its buffer with it.

    def _discard_output(self) -> None:
        try:
            self._port.reset_output_buffer()
        except _FAULTS:
            return  # The port is gone, and its buffer with it.


def open_serial(address: SerialAddress) -> SerialLink:
    """Open and lock a serial port. What had arrived before is thrown away.

    Raises ``LinkMissing`` or ``LinkRefused``.
    """
    try:
        port = serial.Serial(
            address.path,
            baudrate=address.baud,
            bytesize=address.bits,
            parity=_PARITY[address.parity],
            stopbits=address.stopbits,
            timeout=0,
            write_timeout=WRITE_TIMEOUT_S,
            exclusive=True,
        )
    except _FAULTS as fault:
        raise _refusal(address.path, fault) from fault
    return SerialLink(port, address.path)


def _refusal(path: str, fault: Exception) -> LinkError:
    number = getattr(fault, "errno", None) or (fault.args[0] if isinstance(fault, termios.error) else None)
    if number in _ABSENT:
        return LinkMissing(f"{path}: no device there; plug it in, or correct the path")
    if number in (errno.EAGAIN, errno.EBUSY):
        return LinkRefused(f"{path}: another process holds the port; stop that process")
    if number in (errno.EACCES, errno.EPERM):
        return LinkRefused(f"{path}: not permitted; give the daemon's group access to the port by a udev rule")
    if number == errno.EINVAL:
        return LinkRefused(f"{path}: the port does not take these settings; correct baud, bits, parity or stopbits")
    return LinkRefused(f"{path}: cannot be used as a serial port ({fault})")
