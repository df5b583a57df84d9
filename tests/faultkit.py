"""A simulated device on a real pty or a real socket of this process, and a supervisor whose readings are waited for."""

import contextlib
import os
import queue
import select
import socket
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from drivers.backoff import Backoff
from drivers.readings import Reading
from drivers.supervisor import Supervisor
from simulators.hardware.device import Device
from simulators.hardware.mercury import MercuryModule
from tests.ptywire import PtyWire

R = TypeVar("R", bound=Reading)
SPEEDS: dict[Any, int] = {getattr(termios, f"B{baud}"): baud for baud in (9_600, 38_400, 115_200, 921_600)}


class Bench:
    """Serves a device on a pty that other names can lead to. ``spoil`` changes what goes to the host."""

    def __init__(self, device: Device, path: Path) -> None:
        self.device = device
        self.wire = PtyWire(path)
        self.lock = threading.Lock()
        self.deaf = False
        self.spoil: Callable[[bytes], bytes] = lambda frame: frame
        self.orders = 0
        self._plugged = True
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"bench-{path.name}", daemon=True)
        self._thread.start()

    @property
    def uri(self) -> str:
        """What a driver opens."""
        return self.wire.uri

    def unplug(self) -> None:
        with self.lock:
            self._plugged = False
            self.wire.unplug()

    def plug(self) -> None:
        with self.lock:
            self.device.power_cycle(time.monotonic_ns())
            self.wire.plug()
            self._plugged = True

    def say(self, data: bytes) -> None:
        """Bytes to the host from nowhere."""
        with self.lock:
            self._send(data)

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)
        self.wire.unplug()

    def _serve(self) -> None:
        while not self._stop.is_set():
            with self.lock:
                if self._plugged:
                    self._serve_once()
            self._stop.wait(0.002)

    def _serve_once(self) -> None:
        now = time.monotonic_ns()
        assert self.wire.master is not None
        if isinstance(self.device, MercuryModule):
            speed = termios.tcgetattr(self.wire.master)[5]
            self.device.line = SPEEDS.get(speed, 0)
        data = self.wire.heard()
        if data:
            self.orders += 1
        if self.deaf:
            return
        for frame in (self.device.feed(data, now) if data else []) + self.device.poll(now):
            self._send(self.spoil(frame))

    def _send(self, data: bytes) -> None:
        assert self.wire.master is not None
        # Without a listener a real line drops it; without room it overruns.
        _, writable, _ = select.select([], [self.wire.master], [], 0)
        if data and writable:
            with contextlib.suppress(BlockingIOError):
                os.write(self.wire.master, data)


class TcpBench:
    """Serves a device on a loopback port, one connection at a time, and counts them."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.connections = 0
        self.spoil: Callable[[bytes], bytes] = lambda frame: frame
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(0.05)
        self.uri = f"tcp://127.0.0.1:{self._listening.getsockname()[1]}"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="tcp-bench", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)
        self._listening.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                peer, _ = self._listening.accept()
                with peer:
                    self.connections += 1
                    self._talk(peer)

    def _talk(self, peer: socket.socket) -> None:
        peer.settimeout(0.005)
        while not self._stop.is_set():
            data = b""
            try:
                data = peer.recv(4096)
            except TimeoutError:
                pass
            except ConnectionError:
                return
            else:
                if not data:
                    return
            now = time.monotonic_ns()
            for frame in (self.device.feed(data, now) if data else []) + self.device.poll(now):
                with contextlib.suppress(OSError):
                    peer.sendall(self.spoil(frame))


class Watched:
    """A supervisor and what it told. A context manager that ends it."""

    def __init__(self, uri: str, driver: str, name: str = "dev0", floor_s: float = 0.01, **more: Any) -> None:
        self.told: list[Reading] = []
        self.full = False
        self._queue: queue.Queue[Reading] = queue.Queue()
        self.supervisor = Supervisor(
            name,
            uri,
            driver,
            emit=self._emit,
            clock=time.monotonic_ns,
            test_mode=True,
            backoff=Backoff(floor_s, 10 * floor_s),
            **more,
        )
        self.supervisor.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        assert self.supervisor.stop()

    def until(self, kind: type[R], test: Callable[[R], bool] = lambda _: True, seconds: float = 20) -> R:
        """The next reading of a kind that passes the test; all others are kept in ``told``."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                reading = self._queue.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no such {kind.__name__} in {seconds} s; told: {self.told[-8:]}") from None
            self.told.append(reading)
            if isinstance(reading, kind) and test(reading):
                return reading

    def of(self, kind: type[R]) -> list[R]:
        """Everything of one kind so far, in order."""
        while not self._queue.empty():
            self.told.append(self._queue.get_nowait())
        return [reading for reading in self.told if isinstance(reading, kind)]

    def _emit(self, reading: Reading) -> bool:
        if self.full:
            return False
        self._queue.put(reading)
        return True
