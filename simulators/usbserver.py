"""A USB/IP server whose devices can be plugged and unplugged at any time.

The devices are those of the package ``usbip``, which knows descriptors and URBs. The server is our own for
three things that the package's does not do: an unplug breaks the connection, as pulling a real plug does; a
device has one importer at a time; and the listening thread ends.
"""

import contextlib
import errno
import socket
import struct
import threading
from typing import Any

from usbip import protocol

from simulators.errors import RigError

NOT_AVAILABLE, BUSY = 1, 2
JOIN_S = 5.0

# The package ships no types: its devices and URBs are Any here.
UsbDevice = Any


class UsbServer:
    """Serves from the moment it is made, on a free port of the loopback interface unless told otherwise."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        self._devices: dict[str, UsbDevice] = {}
        self._importers: dict[str, socket.socket] = {}
        self._threads: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._next_address = 2
        self._listening = socket.create_server((host, port))
        self.port: int = self._listening.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, name="usb-server", daemon=True)
        self._accepting.start()

    def plug(self, busid: str, device: UsbDevice) -> None:
        """The device appears on the bus. Raises ``RigError`` when the bus id is taken."""
        with self._lock:
            if busid in self._devices:
                raise RigError(f"bus id {busid}: a device is plugged in there already")
            # As a kernel does: the same socket, a new address.
            device.busid, device.busnum, device.devnum = busid, 1, self._next_address
            self._next_address = self._next_address % 127 + 1
            self._devices[busid] = device

    def unplug(self, busid: str) -> None:
        """The device is gone, and with it whoever had imported it. Nothing happens when it was not there."""
        with self._lock:
            self._devices.pop(busid, None)
            sock = self._importers.get(busid)
            thread = self._threads.get(sock) if sock is not None else None
            if sock is not None:
                _shutdown(sock)
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_S)

    def close(self) -> None:
        """End all connections and stop listening."""
        _shutdown(self._listening)
        self._accepting.join(JOIN_S)
        self._listening.close()
        with self._lock:
            threads = dict(self._threads)
            for sock in threads:
                _shutdown(sock)
        for thread in threads.values():
            thread.join(JOIN_S)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listening.accept()
            except OSError as fault:
                if fault.errno == errno.ECONNABORTED:
                    continue  # That client was gone before we took it.
                return  # Shut down: the server is being closed.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=self._serve, args=(sock,), name="usb-importer", daemon=True)
            with self._lock:
                self._threads[sock] = thread
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        busid: str | None = None
        try:
            busid = self._handshake(sock)
            if busid is not None:
                self._exchange(sock, self._devices[busid])
        except (OSError, KeyError, struct.error):
            _shutdown(sock)  # The client or the device went away in the middle.
        finally:
            with self._lock:
                # Free before the client sees the end of the stream: then it may import again at once.
                if busid is not None:
                    del self._importers[busid]
                del self._threads[sock]
            sock.close()

    def _handshake(self, sock: socket.socket) -> str | None:
        """The bus id that the client imported, or ``None`` when it only looked or was refused."""
        _version, code, _status = struct.unpack(">HHI", _exactly(sock, 8))
        if code == protocol.OP_REQ_DEVLIST:
            with self._lock:
                devices = list(self._devices.values())
            out = struct.pack(">HHII", protocol.VERSION, protocol.OP_REP_DEVLIST, 0, len(devices))
            for device in devices:
                out += protocol.pack_usb_device(device)
                out += b"".join(struct.pack("BBBx", *triple) for triple in device.interface_triples())
            sock.sendall(out)
            return None
        if code != protocol.OP_REQ_IMPORT:
            return None
        busid = _exactly(sock, 32).split(b"\0")[0].decode("ascii", "replace")
        with self._lock:
            device = self._devices.get(busid)
            status = NOT_AVAILABLE if device is None else BUSY if busid in self._importers else 0
            if status == 0:
                self._importers[busid] = sock
        try:
            answer = struct.pack(">HHI", protocol.VERSION, protocol.OP_REP_IMPORT, status)
            sock.sendall(answer if status else answer + protocol.pack_usb_device(device))
        except OSError:
            if status == 0:
                with self._lock:
                    del self._importers[busid]
            raise
        return None if status else busid

    def _exchange(self, sock: socket.socket, device: UsbDevice) -> None:
        writing = threading.Lock()

        def respond(urb: Any) -> None:
            # Called from whatever thread completes the URB: a client that has gone is its reader's business.
            with writing, contextlib.suppress(OSError):
                protocol.write_ret(sock, urb)

        device.reset_io()
        while (urb := protocol.read_cmd(sock, device)) is not None:
            if urb.command == protocol.CMD_UNLINK:
                device.cancel_urb(urb.flags)
                with writing:
                    protocol.write_ret_unlink(sock, urb)
            elif device.handle_urb(urb, respond) is not None:
                respond(urb)


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = sock.recv(count - len(data))
        if not chunk:
            raise ConnectionAbortedError("the client closed the connection")
        data += chunk
    return bytes(data)


def _shutdown(sock: socket.socket) -> None:
    # An end that the other side has closed already cannot be shut down.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
