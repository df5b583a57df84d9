"""Ports that lead out of this process: a real serial adapter, or a TCP port as a serial server on a network has it."""

import contextlib
import os
import select
import socket
import termios
import threading
from collections.abc import Callable

import serial

from simulators.errors import RigError
from simulators.ports import CHUNK, JOIN_S, Received

MOST_PORT = 65_535
_FAULTS = (OSError, termios.error)


class _Reading:
    """A thread that hands over what a descriptor has, until it is told to stop or the other side is gone."""

    def __init__(self, descriptor: int, read: Callable[[], bytes], received: Received, name: str) -> None:
        self._descriptor = descriptor
        self._read = read
        self._received = received
        self._stop = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        os.eventfd_write(self._stop, 1)
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)
        os.close(self._stop)

    def _run(self) -> None:
        while True:
            ready, _, _ = select.select([self._descriptor, self._stop], [], [])
            if self._stop in ready:
                return
            try:
                data = self._read()
            except _FAULTS:
                return  # the cable was pulled, or the host hung up
            if not data:
                return
            self._received(data)


class SerialPort:
    """A real serial port: an adapter whose other end leads into the device under test.

    To unplug is to be silent and deaf: a relay pulls the cable where a rig has one.
    """

    def __init__(self, path: str, received: Received, *, baud: int, parity: str = "none") -> None:
        self.uri = f"serial://{path}?baud={baud}" + (f"&parity={parity}" if parity != "none" else "")
        self._path, self._baud, self._parity = path, baud, parity[:1].upper()
        self._received = received
        self._port: serial.Serial | None = None
        self._reading: _Reading | None = None

    def plug(self) -> None:
        """See ``Port.plug``. Raises ``RigError`` where the port cannot be opened."""
        try:
            port = serial.Serial(self._path, self._baud, parity=self._parity, timeout=0, exclusive=True)
        except (*_FAULTS, ValueError) as fault:
            raise RigError(f"serial port {self._path}: cannot be opened ({fault})") from fault
        self._port = port
        self._reading = _Reading(port.fileno(), lambda: port.read(CHUNK), self._received, f"serial-{self._path}")

    def unplug(self) -> None:
        """See ``Port.unplug``."""
        if self._port is not None and self._reading is not None:
            self._reading.stop()
            self._port.close()
        self._port = self._reading = None

    def send(self, data: bytes) -> None:
        """See ``Port.send``."""
        if self._port is not None:
            with contextlib.suppress(*_FAULTS):
                self._port.write(data)


def is_port(address: str) -> bool:
    """Whether this is ``HOST:PORT`` or ``:PORT``."""
    _, colon, port = address.rpartition(":")
    return bool(colon) and port.isdecimal() and len(port) <= len(str(MOST_PORT)) and int(port) <= MOST_PORT


class TcpPort:
    """A device with a network socket: it takes one host at a time, and a new one takes the place of the old."""

    def __init__(self, address: str, received: Received) -> None:
        host, _, port = address.rpartition(":")
        if not is_port(address):
            raise RigError(f"tcp address {address!r}: write HOST:PORT or :PORT, a port of 0 to {MOST_PORT}")
        self._host, self._port = host.strip("[]") or "127.0.0.1", int(port)
        self.uri = f"tcp://{self._host}:{self._port}"
        self._received = received
        self._listening: socket.socket | None = None
        self._accepting: _Reading | None = None
        self._client: socket.socket | None = None
        self._reading: _Reading | None = None
        self._lock = threading.Lock()

    def plug(self) -> None:
        """See ``Port.plug``. Raises ``RigError`` where the address is taken."""
        try:
            listening = socket.create_server((self._host, self._port))
        except OSError as fault:
            raise RigError(f"tcp {self._host}:{self._port}: cannot be served ({fault})") from fault
        self._listening = listening
        self._port = listening.getsockname()[1]
        self.uri = f"tcp://{self._host}:{self._port}"
        self._accepting = _Reading(listening.fileno(), self._accept, lambda _: None, f"tcp-{self._port}")

    def unplug(self) -> None:
        """See ``Port.unplug``."""
        if self._accepting is not None and self._listening is not None:
            self._accepting.stop()
            self._listening.close()
        self._accepting = self._listening = None
        self._let_go()

    def send(self, data: bytes) -> None:
        """See ``Port.send``."""
        with self._lock:
            client = self._client
        if client is not None:
            with contextlib.suppress(OSError):
                client.sendall(data)

    def _accept(self) -> bytes:
        assert self._listening is not None
        client, _ = self._listening.accept()
        self._let_go()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._client = client
        self._reading = _Reading(client.fileno(), lambda: client.recv(CHUNK), self._received, "tcp-client")
        return b"accepted"

    def _let_go(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.stop()
        if client is not None:
            client.close()
