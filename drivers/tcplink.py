"""A TCP connection as a link: readers with an Ethernet port, and serial ports behind a device server."""

import errno
import os
import select
import socket
import threading

from drivers.address import TcpAddress
from drivers.errors import LinkError, LinkLost, LinkMissing, LinkRefused, LinkTimeout

CONNECT_TIMEOUT_S = 2.0
WRITE_TIMEOUT_S = 1.0
CHUNK = 4096

KEEPALIVE_S = 5
KEEPALIVE_TRIES = 2
"""A peer that lost its power says nothing: after this many unanswered probes the kernel gives it up."""

_ABSENT = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ETIMEDOUT)


class TcpLink:
    """An open connection. What has not been sent is thrown away at close."""

    def __init__(self, connection: socket.socket, path: str) -> None:
        self._connection = connection
        self._path = path
        self._closing = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._open = True

    @property
    def path(self) -> str:
        """Address and port."""
        return self._path

    def read(self, timeout_s: float) -> bytes:
        """See ``Link.read``."""
        try:
            ready, _, _ = select.select([self._connection.fileno(), self._wake], [], [], max(0.0, timeout_s))
            if self._wake in ready:
                os.eventfd_read(self._wake)
            if len(ready) == (self._wake in ready):
                return b""
            data = self._connection.recv(CHUNK)
        except (OSError, ValueError) as fault:
            raise LinkLost(f"{self._path}: {fault}") from fault
        if not data:
            raise LinkLost(f"{self._path}: the device closed the connection")
        return data

    def write(self, data: bytes) -> None:
        """See ``Link.write``."""
        try:
            self._connection.sendall(data)
        except TimeoutError as fault:
            raise LinkTimeout(f"{self._path}: the device took no bytes for {WRITE_TIMEOUT_S} s") from fault
        except OSError as fault:
            raise LinkLost(f"{self._path}: {fault}") from fault

    def set_baud(self, baud: int) -> None:
        """See ``Link.set_baud``: a network has no line."""

    def wake(self) -> None:
        """See ``Link.wake``."""
        with self._closing:
            if self._open:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """See ``Link.close``."""
        with self._closing:
            if self._open:
                self._open = False
                self._connection.close()
                os.close(self._wake)


def open_tcp(address: TcpAddress) -> TcpLink:
    """Connect. Raises ``LinkMissing`` where nobody answers, ``LinkRefused`` where the host may not."""
    path = f"{address.host}:{address.port}"
    try:
        connection = socket.create_connection((address.host, address.port), CONNECT_TIMEOUT_S)
    except OSError as fault:
        raise _refusal(path, fault) from fault
    try:
        connection.settimeout(WRITE_TIMEOUT_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_TRIES)
    except OSError as fault:
        connection.close()
        raise LinkLost(f"{path}: {fault}") from fault
    return TcpLink(connection, path)


def _refusal(path: str, fault: OSError) -> LinkError:
    if isinstance(fault, TimeoutError) or fault.errno in _ABSENT:
        return LinkMissing(f"{path}: nobody answers there; power the device, or correct address and port")
    return LinkRefused(f"{path}: cannot be connected to ({fault})")
