"""A process full of simulated devices: serial ones on ptys, USB ones on a USB/IP server.

``python -m simulators.host --socket PATH --spec JSON``. Once the devices are plugged in, one line on standard
output says ``{"ready": true, "devices": {NAME: URI}}``. From then on the Unix socket takes one JSON object a
line and answers each with one: ``{"do": "slide", "device": "shoe0", "card": "As"}`` with ``{"ok": true, "at":
NS, ...}``, or ``{"ok": false, "error": WHY}``. The process ends with its standard input, so that it cannot
outlive who started it.

``--spec`` is ``{"speed": 1.0, "devices": [{"name": "shoe0", "driver": "shoe"}, ...]}``; a device may have
``link`` (``pty``, ``serial``, ``tcp``, ``bulk``, ``keyboard``), ``path``, ``baud``, ``vendor``, ``product``, ``title``,
``serial``, ``plugged`` (false: missing at the start) and ``model`` (arguments of the simulated device).
"""

import argparse
import json
import signal
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from simulators import gestures
from simulators.errors import RigError
from simulators.faults import LinkFaults
from simulators.gestures import Answer, Args, Disturbance, perform
from simulators.hardware.device import Device
from simulators.hardware.feig_buffered import FeigBufferedReader
from simulators.ports import BulkPort, KeyboardPort, Port, UsbIdentity, make_pty
from simulators.realports import MOST_PORT, SerialPort, TcpPort, is_port
from simulators.recording import Recording
from simulators.usbserver import UsbServer

TICK_S = 0.01
MOST_SPEED = 10_000
LONGEST_LINE = 1 << 20
LONGEST_SOCKET_PATH = 107
MOST_ID = 0xFFFF

MODELS: Mapping[str, tuple[Callable[..., Device], str]] = {
    **{name: (make, "pty") for name, make in gestures.MODELS.items()},
    "shoe": (gestures.MODELS["shoe"], "bulk"),
    "keypad": (gestures.MODELS["keypad"], "keyboard"),
    "camera": (gestures.MODELS["camera"], "bulk"),
    "feig-buffered": (FeigBufferedReader, "pty"),
    "recording": (Recording, "pty"),
}
"""Driver name to the simulated device and the link it has unless the spec says otherwise."""
PRODUCTS: Mapping[str, int] = {"shoe": 0xF001, "keypad": 0xF002, "camera": 0xF003}
"""Driver name to the USB product id that rules for udev and tables know the simulated device by."""


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One device of a spec. USB ids are of pid.codes, which lends 0x1209 to open projects for tests."""

    name: str
    driver: str
    link: str = ""
    path: str = ""
    baud: int = 38400
    parity: str = "none"
    vendor: int = 0x1209
    product: int = 0x0001
    title: str = ""
    serial: str = ""
    plugged: bool = True
    model: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Raises ``RigError`` naming what is wrong."""
        known = [each.name for each in fields(cls)]
        for key in given:
            if key not in known:
                raise RigError(f"device {given.get('name', '?')}: {key!r} is no setting; use {', '.join(known)}")
        for key in ("name", "driver"):
            if not isinstance(given.get(key), str):
                raise RigError(f"a device of the spec has no {key}")
        if given["driver"] not in MODELS:
            raise RigError(f"device {given['name']}: no simulated {given['driver']!r}; use {', '.join(MODELS)}")
        if not isinstance(given.get("model", {}), Mapping):
            raise RigError(f"device {given['name']}: model = {given['model']!r}: write an object of its arguments")
        for key in ("vendor", "product"):
            if not isinstance(number := given.get(key, 0), int) or not 0 <= number <= MOST_ID:
                raise RigError(f"device {given['name']}: {key} = {number!r}: a USB id is from 0 to {MOST_ID:#x}")
        return cls(**given)


class Bench:
    """One simulated device and its port. Its lock makes wire, hands and clock take turns."""

    def __init__(self, driver: str, device: Device, clock: Callable[[], int]) -> None:
        self.port: Port | None = None
        self._driver = driver
        self.device = device
        self._clock = clock
        self._lock = threading.Lock()
        self._plugged = False
        self._disturbance = Disturbance()
        self._faults = LinkFaults()

    def received(self, data: bytes) -> None:
        """Bytes from the host."""
        with self._lock:
            if self._plugged and not self._disturbance.deaf:
                self._faults.to_device.send(data, self._clock())
                self._move()

    def tick(self) -> None:
        """Send what is due by time."""
        with self._lock:
            self._poll()

    def do(self, what: str, args: Args) -> Answer:
        """Perform an act. Raises ``RigError``."""
        assert self.port is not None
        match what:
            case "plug":
                self._plug(self.port)
                return {}
            case "unplug":
                self._unplug(self.port)
                return {}
        with self._lock:
            if what == "noise":
                self.port.send(_bytes(args.get("bytes")))
                return {}
            if what == "fault":
                self._faults.begin(args, self._clock())
                return {}
            if self._disturbance.perform(what, args):
                return {}
            answer = perform(self.device, what, args, self._clock())
            self._poll()
            return answer | ({"plugged": self._plugged} if what == "state" else {})

    def exchange(self, other: "Bench | None") -> None:
        """While nothing hangs at either plug: the other's device for this one; without another, a spare."""
        if other is None:
            self.device = gestures.spare(self._driver, self.device)
        else:
            self.device, other.device = other.device, self.device

    def _plug(self, port: Port) -> None:
        with self._lock:
            if self._plugged:
                raise RigError("plug: it is plugged in already")
            self.device.power_cycle(self._clock())
            self._plugged = True
        port.plug()

    def _unplug(self, port: Port) -> None:
        with self._lock:
            if not self._plugged:
                raise RigError("unplug: it is not plugged in")
            self._plugged = False
            self._faults.clear()
        # Without the lock: the port waits for its thread, and that may be waiting for the lock.
        port.unplug()

    def _poll(self) -> None:
        # Without power nothing is said; hands may still move cards and tags.
        if self._plugged:
            self._send(self.device.poll(self._clock()))
            self._move()

    def _send(self, frames: list[bytes]) -> None:
        for frame in frames:
            arriving = self._disturbance.pass_on(frame)
            if arriving is not None:
                self._faults.to_host.send(arriving, self._clock())

    def _move(self) -> None:
        """What has arrived on either side, faults or none."""
        assert self.port is not None
        for data in self._faults.to_device.due(self._clock()):
            self._send(self.device.feed(data, self._clock()))
        for data in self._faults.to_host.due(self._clock()):
            self.port.send(data)


class DeviceHost:
    """All devices of a spec, plugged in. A context manager."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._speed = speed = float(spec.get("speed", 1.0))
        if not 0 < speed < MOST_SPEED:
            raise RigError(f"speed = {speed}: give how many times faster than real time runs, below {MOST_SPEED}")
        self._clock: Callable[[], int] = lambda: int(time.monotonic_ns() * speed)
        self._cables: dict[str, str] = {}
        served = _address(spec.get("usbip", "127.0.0.1:0"))
        try:
            self._server = UsbServer(*served)
        except OSError as fault:
            raise RigError(f"usbip {served[0]}:{served[1]}: cannot be served ({fault})") from fault
        self._benches: dict[str, Bench] = {}
        self._stop = threading.Event()
        self._ticking = threading.Thread(target=self._tick, name="ticks", daemon=True)
        try:
            for number, given in enumerate(spec["devices"], 1):
                self._add(DeviceSpec.read(given), f"1-{number}")
        except RigError:
            self.close()
            raise
        self._ticking.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def uris(self) -> dict[str, str]:
        """Where the daemon finds each device."""
        return {name: bench.port.uri for name, bench in self._benches.items() if bench.port is not None}

    def answer(self, line: bytes) -> Answer:
        """Do what one line of JSON asks for."""
        try:
            what, name, args = _said(line)
            if what == "swap":
                self._swap(name, args.get("other", ""))
                return {"ok": True, "at": time.monotonic_ns()}
            name = self._cables.get(name, name) if what in gestures.BY_HANDS else name
            answer = self._bench(name).do(what, args)
        except RigError as fault:
            return {"ok": False, "error": str(fault)}
        except (ValueError, KeyError, AttributeError, TypeError) as fault:
            return {"ok": False, "error": f"{what}: {fault}; correct the arguments"}
        return {"ok": True, "at": time.monotonic_ns()} | answer

    def _swap(self, name: str, other: str) -> None:
        """What hangs at two plugs is exchanged, or another device of the same make takes the place of one."""
        benches = [self._bench(one) for one in (name, other) if one]
        for bench in benches:
            bench.do("unplug", {})
        time.sleep(gestures.SWAP_MS / 1000 / self._speed)
        if other:
            benches[0].exchange(benches[1])
            self._cables = gestures.exchanged(self._cables, name, other)
        else:
            benches[0].exchange(None)
        for bench in benches:
            bench.do("plug", {})

    def close(self) -> None:
        """Unplug everything."""
        self._stop.set()
        if self._ticking.ident is not None:
            self._ticking.join()
        for bench in self._benches.values():
            if bench.port is not None:
                bench.port.unplug()
        self._server.close()

    def _bench(self, name: str) -> Bench:
        if name not in self._benches:
            raise RigError(f"there is no device {name!r}; there are {', '.join(self._benches)}")
        return self._benches[name]

    def _add(self, spec: DeviceSpec, busid: str) -> None:
        if spec.name in self._benches:
            raise RigError(f"device {spec.name}: the name is used twice")
        build, link = MODELS[spec.driver]
        try:
            bench = Bench(spec.driver, build(**spec.model), self._clock)
        except (TypeError, ValueError) as fault:
            raise RigError(f"device {spec.name}: model = {dict(spec.model)}: {fault}") from fault
        identity = UsbIdentity(spec.vendor, spec.product, spec.title or f"Simulated {spec.driver}", spec.serial)
        match spec.link or link:
            case "pty":
                bench.port = make_pty(Path(spec.path), bench.received, baud=spec.baud)
            case "bulk":
                bench.port = BulkPort(self._server, busid, identity, bench.received)
            case "keyboard":
                bench.port = KeyboardPort(self._server, busid, identity, bench.received)
            case "serial":
                bench.port = SerialPort(spec.path, bench.received, baud=spec.baud, parity=spec.parity)
            case "tcp":
                bench.port = TcpPort(spec.path, bench.received)
            case other:
                raise RigError(f"device {spec.name}: link = {other!r}: use pty, serial, tcp, bulk or keyboard")
        self._benches[spec.name] = bench
        if spec.plugged:
            bench.do("plug", {})

    def _tick(self) -> None:
        while not self._stop.wait(TICK_S):
            for bench in self._benches.values():
                bench.tick()


def _said(line: bytes) -> tuple[str, str, dict[str, Any]]:
    """What to do, to which device, and how. Raises ``RigError``."""
    form = 'write {"do": WHAT, "device": NAME, ...}'
    try:
        args = json.loads(line)
    except ValueError as fault:
        raise RigError(f"this is no JSON ({fault}): {form}") from fault
    if not isinstance(args, dict):
        raise RigError(f"{json.dumps(args)} is no object: {form}")
    what, name = args.pop("do", None), args.pop("device", None)
    for key, value in (("do", what), ("device", name)):
        if not isinstance(value, str):
            raise RigError(f"{key} = {json.dumps(value)}: {form}")
    return what, name, args


def _bytes(given: object) -> bytes:
    try:
        return bytes.fromhex(str(given))
    except ValueError as fault:
        raise RigError(f"noise: bytes = {given!r}: write them in hex") from fault


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not is_port(text):
        raise RigError(f"usbip = {text!r}: write HOST:PORT or :PORT, a port of 0 to {MOST_PORT}")
    return host.strip("[]") or "127.0.0.1", int(port)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, path: str, host: DeviceHost) -> None:
        if len(path.encode()) > LONGEST_SOCKET_PATH:
            raise RigError(f"socket path {path}: longer than {LONGEST_SOCKET_PATH} bytes; use a shorter folder")
        self.host = host
        super().__init__(path, _Handler)


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        """One client, line by line."""
        while line := self.rfile.readline(LONGEST_LINE):
            self.wfile.write(json.dumps(self.server.host.answer(line)).encode() + b"\n")


def main(arguments: list[str] | None = None) -> int:
    """Run until standard input ends. Exit code 2 for a faulty spec, told on standard output."""
    parser = argparse.ArgumentParser(prog="feltsim devices", description="simulated devices on ptys and USB/IP")
    parser.add_argument("--socket", required=True, help="path of the Unix socket to be made")
    parser.add_argument("--spec", required=True, help="the devices, as JSON")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _ended)
    try:
        with DeviceHost(json.loads(given.spec)) as host, _Server(given.socket, host) as server:
            threading.Thread(target=server.serve_forever, args=(0.05,), name="acts", daemon=True).start()
            _say({"ready": True, "devices": host.uris()})
            try:
                sys.stdin.buffer.read()
            finally:
                server.shutdown()
    except (RigError, OSError, ValueError, KeyError) as fault:
        _say({"ready": False, "error": f"{type(fault).__name__}: {fault}"})
        return 2
    finally:
        Path(given.socket).unlink(missing_ok=True)
    return 0


def _say(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _ended(number: int, frame: FrameType | None) -> None:
    del number, frame
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main())
