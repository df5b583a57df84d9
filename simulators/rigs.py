"""Where simulated devices are: on a fake clock in this process, or in a process of their own on real wires."""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from drivers import catalog
from drivers.attendant import Attendant
from drivers.conversation import Step
from drivers.options import MS
from drivers.readings import Reading
from drivers.veil import Veil
from simulators.errors import RigError
from simulators.faults import LinkFaults
from simulators.gestures import Answer, Disturbance, perform
from simulators.hardware.device import Device, OnALine

AWAKE = 1500 * MS
"""For so long after a change a reader tells its fields anew; later only now and then."""
DOZE = 5000 * MS
LONG = 60_000 * MS
"""So long after an accident it does not doze."""
RETRY = 1000 * MS
"""How long the virtual supervisor waits before it opens again."""
MOST_EXCHANGES = 10_000
"""More frames than this at one moment are a quarrel between driver and device, not a conversation."""
ANSWER_S = 10.0
START_S = 180.0
"""A small or emulated machine takes long to load the devices' process."""
STOP_S = 5.0


class VirtualWire:
    """A driver and a simulated device, joined without IO on a clock that the caller moves.

    ``pump`` does what is due and hands over the readings; ``deadline`` says when it is next worth calling.
    ``piece`` cuts what the device sends into pieces of that many bytes (never for HID reports). A reader that gives
    the same answer until somebody moves a tag may doze: ``poll`` ns is how often it reads. Nothing is missed: it goes
    on reading at the times at which it would have read anyway, as soon as anything happens to it. ``baud`` is the speed
    at which the line is opened, for devices that have one; without it, the speed at which the device has it.
    """

    def __init__(
        self,
        name: str,
        driver: str,
        device: Device,
        *,
        expect: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
        piece: int | None = None,
        poll: int = 0,
        veil: Veil | None = None,
        baud: int = 0,
    ) -> None:
        path = f"virtual://{name}"
        self._baud = baud or (device.line if isinstance(device, OnALine) else 0)
        self._poll = poll
        self._awake_until = AWAKE
        self._resume_at = 0
        self.name = name
        self.device = device
        self._attendant = Attendant(name, path, catalog.make(driver, name, path, expect, options), veil)
        self._piece = piece
        self._disturbance = Disturbance()
        self._faults = LinkFaults()
        self._plugged = True
        self._open = False
        self._open_at: int | None = None
        self._due: int | None = None
        self._to_device: deque[bytes] = deque()
        self._to_host: deque[bytes] = deque()
        self._readings: list[Reading] = []

    @property
    def up(self) -> bool:
        """Whether the device has said who it is and was not lost since."""
        return self._attendant.up

    def pump(self, now: int) -> list[Reading]:
        """Move bytes both ways until both sides are quiet; the readings since the last call.

        Raises ``RigError`` when they do not become quiet.
        """
        if now < self._resume_at:
            return []
        self._try_to_open(now)
        for _ in range(MOST_EXCHANGES):
            if not self._exchange(now):
                readings, self._readings = self._readings, []
                if self._poll and now > self._awake_until and self._open:
                    self._resume_at = now + DOZE
                return readings
        raise RigError(f"{self.name}: driver and device do not come to rest at {now} ns")

    def deadline(self) -> int | None:
        """When ``pump`` is next worth calling by time alone, in ns."""
        if not self._open:
            return self._open_at
        due = [time for time in (self._due, self.device.deadline()) if time is not None]
        return max(min(due), self._resume_at) if due else None

    def _rouse(self, now: int, span: int) -> None:
        """Something happens to the device."""
        self._awake_until = max(self._awake_until, now + span)
        if now < self._resume_at:
            # Where it would have read by now, had it not dozed.
            missed = max(0, now - self._due) if self._due is not None and self._poll else 0
            self._resume_at = now + (-missed % self._poll if missed else 0)

    def perform(self, what: str, now: int, **args: Any) -> Answer:
        """An act of hands or an accident; see ``simulators.gestures``. Raises ``RigError``."""
        self._rouse(now, AWAKE if what in ("put", "take") else LONG)
        match what:
            case "unplug":
                self.unplug()
            case "plug":
                self.plug(now)
            case "fault":
                self._faults.begin(args, now)
            case "noise" if self._open:
                self._to_host.append(bytes.fromhex(args["bytes"]))
            case "noise":
                return {}  # Nobody listens.
            case _ if not self._disturbance.perform(what, args):
                return perform(self.device, what, args, now)
        return {}

    def acknowledge(self, reading: Reading, now: int) -> None:
        """The outcome of a reading is durable. Takes effect with the next ``pump``."""
        self._apply(self._attendant.acknowledge(reading, now), now)

    def lift(self, open_: frozenset[str], *, playing: bool, now: int) -> None:
        """Cards lie face up on these channels now (``drivers.veil``). Told with the next ``pump``."""
        self._rouse(now, AWAKE)
        self._readings += self._attendant.lift(open_, playing=playing)

    def unplug(self) -> None:
        """Pull the plug: what is on the wire is gone. The next ``pump`` tells it."""
        if not self._plugged:
            raise RigError("unplug: it is not plugged in")
        self._plugged = False

    def plug(self, now: int) -> None:
        """Plug it in again, with its volatile memory gone. The driver finds it at its next attempt."""
        if self._plugged:
            raise RigError("plug: it is plugged in already")
        if self._open:
            self._lose("unplugged", now)
        self.device.power_cycle(now)
        self._plugged = True

    def _try_to_open(self, now: int) -> None:
        if self._open and not self._plugged:
            self._lose("unplugged", now)
        elif not self._open and (self._open_at is None or now >= self._open_at):
            self._attendant.opening()
            if self._plugged:
                self._open = True
                self._open_at = None
                self._set_line(self._baud)
                self._apply(self._attendant.opened(now), now)
            else:
                self._lose("missing", now)

    def _exchange(self, now: int) -> bool:
        """One move of one side. ``False`` when nobody has anything to say."""
        if not self._open:
            return False
        self._to_host.extend(self._faults.to_host.due(now))
        self._to_device.extend(self._faults.to_device.due(now))
        if self._to_host:
            self._apply(self._attendant.received(self._to_host.popleft(), now), now)
        elif self._to_device:
            data = self._to_device.popleft()
            if not self._disturbance.deaf:
                self._say(self.device.feed(data, now), now)
        elif frames := self.device.poll(now):
            self._say(frames, now)
        elif self._due is not None and now >= self._due:
            self._apply(self._attendant.due(now), now)
        else:
            return False
        return True

    def _say(self, frames: list[bytes], now: int) -> None:
        for frame in frames:
            arriving = self._disturbance.pass_on(frame)
            if arriving:
                piece = self._piece or len(arriving)
                for at in range(0, len(arriving), piece):
                    self._faults.to_host.send(arriving[at : at + piece], now)

    def _apply(self, step: Step, now: int) -> None:
        self._readings += step.readings
        if self._open:
            self._due = step.deadline
            if step.baud is not None:
                self._to_host.clear()  # what came at the old speed
                self._set_line(step.baud)
            for frame in step.send:
                self._faults.to_device.send(frame, now)
            if step.failed is not None:
                self._lose(step.failed, now)

    def _set_line(self, baud: int) -> None:
        if isinstance(self.device, OnALine):
            self.device.line = baud

    def _lose(self, cause: str, now: int) -> None:
        self._open = False
        self._open_at = now + RETRY
        self._due = None
        self._to_device.clear()
        self._to_host.clear()
        self._faults.clear()
        self._readings += self._attendant.lost(cause).readings


class Host:
    """The process ``simulators.host``, started and told what to do. A context manager.

    ``devices`` are described in ``simulators.host``. ``uris`` says where the daemon finds each.
    """

    def __init__(
        self,
        devices: Sequence[Mapping[str, Any]],
        socket_path: Path,
        *,
        speed: float = 1.0,
        usbip: str = "127.0.0.1:0",
    ) -> None:
        """Start it and wait until all devices are there. Raises ``RigError`` when that fails."""
        spec = json.dumps({"speed": speed, "usbip": usbip, "devices": list(devices)})
        # The process must find our packages wherever the caller stands.
        home = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH", "")) if part)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "simulators.host", "--socket", str(socket_path), "--spec", spec],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_S)
        self._answers = b""
        try:
            self.uris: dict[str, str] = self._ready()
            self._socket.connect(str(socket_path))
        except (RigError, OSError) as fault:
            self.stop()
            raise RigError(f"the simulated devices did not start: {fault}") from fault

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def do(self, what: str, device: str, **args: Any) -> Answer:
        """One act; its answer, with ``at`` the monotonic time in ns. Raises ``RigError`` when it was refused."""
        try:
            self._socket.sendall(json.dumps({"do": what, "device": device, **args}).encode() + b"\n")
            while b"\n" not in self._answers:
                data = self._socket.recv(65536)
                if not data:
                    raise RigError(f"{what} {device}: the simulated devices are gone")
                self._answers += data
        except OSError as fault:
            raise RigError(f"{what} {device}: no answer from the simulated devices: {fault}") from fault
        line, _, self._answers = self._answers.partition(b"\n")
        answer: Answer = json.loads(line)
        if not answer["ok"]:
            raise RigError(f"{what} {device}: {answer['error']}")
        return answer

    def stop(self) -> None:
        """Unplug all devices and end the process. May be called twice."""
        self._socket.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ready(self) -> dict[str, str]:
        assert self._process.stdout is not None
        deadline = time.monotonic() + START_S
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise RigError(f"not ready within {START_S} s")
            chunk = os.read(self._process.stdout.fileno(), 65536)
            if not chunk:
                raise RigError(f"the process ended with code {self._process.wait(STOP_S)}")
            line += chunk
        message = json.loads(line)
        if not message["ready"]:
            raise RigError(message["error"])
        devices: dict[str, str] = message["devices"]
        return devices
