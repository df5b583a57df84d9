"""The client's side of USB/IP: list, import, and exchange URBs with a device that a server exports.

Wire format: the kernel's ``Documentation/usb/usbip_protocol``. One reader thread per imported device sorts
the answers to those who wait for them, so an IN request may stay parked while others come and go.
"""

import errno
import itertools
import socket
import struct
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass

VERSION = 0x0111
OP_REQ_DEVLIST, OP_REP_DEVLIST = 0x8005, 0x0005
OP_REQ_IMPORT, OP_REP_IMPORT = 0x8003, 0x0003
CMD_SUBMIT, CMD_UNLINK, RET_SUBMIT, RET_UNLINK = 1, 2, 3, 4
STATUS_BUSY = 2
OUT, IN = 0, 1

_OP = struct.Struct(">HHI")
_ENTRY = struct.Struct(">256s32sIIIHHHBBBBBB")
_SUBMIT = struct.Struct(">5I5i8s")
_REPLY = struct.Struct(">5I5i8x")

HANDSHAKE_TIMEOUT_S = 2.0
UNLINK_TIMEOUT_S = 1.0
CLOSE_TIMEOUT_S = 1.0
LONGEST_TRANSFER = 1 << 20
MOST_DEVICES = 127
REMEMBERED_URBS = 64
"""How many cancelled URBs are remembered for the case that their answer comes after all."""


class ServerError(OSError):
    """The USB/IP server cannot be reached, refuses, or does not speak USB/IP. ``errno`` says which."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One exported device as the server lists it. ``speed``: 1 low, 2 full, 3 high, 5 super."""

    busid: str
    busnum: int
    devnum: int
    speed: int
    vendor: int
    product: int
    release: int
    device_class: tuple[int, int, int]
    configurations: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The end of one transfer. ``status`` is 0 or a negative errno: -ETIMEDOUT, -ENODEV when unplugged, -EPIPE."""

    status: int
    data: bytes = b""
    count: int = 0


@dataclass(slots=True)
class _Urb:
    endpoint: int
    length: int
    done: Completion | None = None

    @property
    def inbound(self) -> bool:
        return bool(self.endpoint & 0x80)


def list_devices(host: str, port: int) -> list[Entry]:
    """What a server exports. Raises ``ServerError``."""
    with _connect(host, port) as sock:
        _request(sock, OP_REQ_DEVLIST, OP_REP_DEVLIST)
        (count,) = struct.unpack(">I", _exactly(sock, 4))
        if count > MOST_DEVICES:
            raise ServerError(errno.EPROTO, f"{host}:{port} lists {count} devices")
        entries = []
        for _ in range(count):
            entry, interfaces = _entry(_exactly(sock, _ENTRY.size))
            _exactly(sock, 4 * interfaces)
            entries.append(entry)
        return entries


class ImportedDevice:
    """A device imported from a server. All methods may be called from any thread.

    Data that arrives for an IN request which was cancelled at that very moment is kept for the next read of
    that endpoint: a card that slid by at the deadline is not lost.
    """

    def __init__(self, host: str, port: int, busid: str) -> None:
        """Connect and import. Raises ``ServerError``: EBUSY when held by another, ENODEV when not there."""
        self._sock = _connect(host, port)
        try:
            _request(self._sock, OP_REQ_IMPORT, OP_REP_IMPORT, busid.encode().ljust(32, b"\0"))
            self.entry, _ = _entry(_exactly(self._sock, _ENTRY.size))
            self._sock.settimeout(None)
            # A blocking socket for the reader; sending alone has a deadline.
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 2, 0))
        except OSError:
            self._sock.close()
            raise
        self._devid = self.entry.busnum << 16 | self.entry.devnum
        self._numbers = itertools.count(1)
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._urbs: dict[int, _Urb] = {}
        self._unlinks: dict[int, int] = {}
        self._cancelled: OrderedDict[int, _Urb] = OrderedDict()
        # Bounded by REMEMBERED_URBS: only the answer to a cancelled URB lands here, and reads empty it first.
        self._late: dict[int, deque[bytes]] = {}
        self._lost = False
        self._fault = ""
        self._closed = False
        self._reader = threading.Thread(target=self._run, name=f"usbip-{busid}", daemon=True)
        self._reader.start()

    def control(self, setup: bytes, data: bytes, timeout_s: float | None) -> Completion:
        """One control transfer on endpoint 0; ``data`` is the payload of an OUT request."""
        length = int.from_bytes(setup[6:8], "little")
        urb = _Urb(setup[0] & 0x80, length)
        number = self._submit(urb, data, setup=setup)
        return self._wait(number, urb, timeout_s)

    def send(self, endpoint: int, data: bytes, interval: int, timeout_s: float | None) -> Completion:
        """One bulk or interrupt OUT transfer."""
        urb = _Urb(endpoint, len(data))
        number = self._submit(urb, data, interval=interval)
        return self._wait(number, urb, timeout_s)

    def receive(self, endpoint: int, length: int, interval: int, timeout_s: float | None) -> Completion:
        """One bulk or interrupt IN transfer of at most ``length`` bytes."""
        with self._changed:
            late = self._late.setdefault(endpoint, deque())
            if late:
                return _take(late, length)
        urb = _Urb(endpoint, length)
        number = self._submit(urb, b"", interval=interval)
        with self._changed:
            self._changed.wait_for(lambda: urb.done is not None or bool(late) or self._lost, timeout_s)
        end = self._settle(number, urb)
        with self._changed:
            if late:
                if end.status == 0:
                    late.append(end.data)
                return _take(late, length)
        return end

    def close(self) -> None:
        """Let go of the device and wait until the server has done so too. May be called twice."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        self._shutdown(socket.SHUT_WR)
        self._reader.join(CLOSE_TIMEOUT_S)
        if self._reader.is_alive():
            self._shutdown(socket.SHUT_RDWR)
            self._reader.join(CLOSE_TIMEOUT_S)
        self._sock.close()

    # ------------------------------------------------------------ requests

    def _submit(self, urb: _Urb, data: bytes, *, interval: int = 0, setup: bytes = bytes(8)) -> int:
        number = next(self._numbers) & 0xFFFFFFFF
        with self._changed:
            self._urbs[number] = urb
        head = (CMD_SUBMIT, number, self._devid, IN if urb.inbound else OUT, urb.endpoint & 0x0F)
        self._send(_SUBMIT.pack(*head, 0, urb.length, 0, 0, interval, setup) + (b"" if urb.inbound else data))
        return number

    def _wait(self, number: int, urb: _Urb, timeout_s: float | None) -> Completion:
        with self._changed:
            self._changed.wait_for(lambda: urb.done is not None or self._lost, timeout_s)
        return self._settle(number, urb)

    def _settle(self, number: int, urb: _Urb) -> Completion:
        """Make sure that the URB is over, one way or the other, before its caller goes on."""
        with self._changed:
            pending = urb.done is None and not self._lost
        if pending:
            self._unlink(number)
        with self._changed:
            self._urbs.pop(number, None)
            return urb.done or Completion(-errno.ENODEV if self._lost else -errno.ETIMEDOUT)

    def _unlink(self, number: int) -> None:
        unlink = next(self._numbers) & 0xFFFFFFFF
        with self._changed:
            self._unlinks[unlink] = number
        self._send(_SUBMIT.pack(CMD_UNLINK, unlink, self._devid, OUT, 0, number, 0, 0, 0, 0, bytes(8)))
        with self._changed:
            answered = self._changed.wait_for(lambda: unlink not in self._unlinks or self._lost, UNLINK_TIMEOUT_S)
        if not answered:
            # A server that does not even answer a cancel is gone, whatever TCP thinks of it.
            self._shutdown(socket.SHUT_RDWR)
            self._lose()

    def _send(self, message: bytes) -> None:
        try:
            with self._sending:
                self._sock.sendall(message)
        except OSError:
            # Perhaps half a message went out: the stream is of no use any more. The waiters see the loss.
            self._shutdown(socket.SHUT_RDWR)
            self._lose()

    # ------------------------------------------------------------ answers

    def _run(self) -> None:
        try:
            while self._read_one():
                pass
        except OSError as fault:
            self._fault = str(fault)  # Reset or closed: for a USB device both mean unplugged.
        finally:
            self._shutdown(socket.SHUT_RDWR)
            self._lose()

    def _read_one(self) -> bool:
        command, number, _devid, direction, _ep, status, actual, *_rest = _REPLY.unpack(
            _exactly(self._sock, _REPLY.size)
        )
        if command == RET_SUBMIT:
            with self._changed:
                cancelled = self._cancelled.pop(number, None)
                urb = self._urbs.get(number, cancelled)
            inbound = urb.inbound if urb else direction == IN
            if not 0 <= actual <= (urb.length if urb else LONGEST_TRANSFER):
                raise ServerError(errno.EPROTO, f"an answer of {actual} bytes that was not asked for")
            data = _exactly(self._sock, actual) if inbound else b""
            with self._changed:
                if cancelled and cancelled.endpoint in self._late and status == 0 and data:
                    self._late[cancelled.endpoint].append(data)
                elif urb:
                    urb.done = Completion(status, data, actual)
                self._changed.notify_all()
            return True
        if command == RET_UNLINK:
            self._unlinked(number, status)
            return True
        return False

    def _unlinked(self, number: int, status: int) -> None:
        with self._changed:
            cancelled = self._unlinks.pop(number, None)
            urb = self._urbs.pop(cancelled, None) if cancelled is not None else None
            # -ECONNRESET promises that no answer follows. 0 says that one was on its way already, and some
            # servers send it even after this.
            if urb is not None and cancelled is not None and urb.done is None and status == 0:
                self._cancelled[cancelled] = urb
                while len(self._cancelled) > REMEMBERED_URBS:
                    self._cancelled.popitem(last=False)
            self._changed.notify_all()

    def _lose(self) -> None:
        with self._changed:
            self._lost = True
            self._changed.notify_all()

    def _shutdown(self, how: int) -> None:
        try:
            self._sock.shutdown(how)
        except OSError:
            return  # The peer was faster.


def _take(chunks: deque[bytes], length: int) -> Completion:
    chunk = chunks.popleft()
    if len(chunk) > length:
        chunks.appendleft(chunk[length:])
    return Completion(0, chunk[:length], min(len(chunk), length))


def _connect(host: str, port: int) -> socket.socket:
    try:
        sock = socket.create_connection((host, port), HANDSHAKE_TIMEOUT_S)
    except OSError as fault:
        raise ServerError(fault.errno or errno.ETIMEDOUT, f"USB/IP server {host}:{port}: {fault}") from fault
    # Without it each small answer waits 40 ms for an acknowledgement.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _request(sock: socket.socket, code: int, answer: int, payload: bytes = b"") -> None:
    sock.sendall(_OP.pack(VERSION, code, 0) + payload)
    _version, got, status = _OP.unpack(_exactly(sock, _OP.size))
    if got != answer:
        raise ServerError(errno.EPROTO, f"answered {code:#06x} with {got:#06x}: this is no USB/IP server")
    if status == STATUS_BUSY:
        raise ServerError(errno.EBUSY, "the device is imported by another client")
    if status:
        raise ServerError(errno.ENODEV, f"no such device (status {status})")


def _exactly(sock: socket.socket, count: int) -> bytes:
    """Read ``count`` bytes. Raises ``ServerError`` at the end of the stream or past its time-out."""
    data = bytearray()
    while len(data) < count:
        chunk = sock.recv(count - len(data))
        if not chunk:
            raise ServerError(errno.ENODEV, "the USB/IP server closed the connection")
        data += chunk
    return bytes(data)


def _entry(raw: bytes) -> tuple[Entry, int]:
    _path, busid, busnum, devnum, speed, vendor, product, release, kind, sub, protocol, _value, configs, interfaces = (
        _ENTRY.unpack(raw)
    )
    name = busid.split(b"\0")[0].decode("ascii", "replace")
    entry = Entry(name, busnum, devnum, speed, vendor, product, release, (kind, sub, protocol), configs)
    return entry, interfaces
