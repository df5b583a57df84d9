"""A broker of our own on loopback, for the demo, the rehearsal and the tests.

mosquitto where it is installed: a process that can be stopped, killed and frozen. Otherwise amqtt within this
process, which speaks MQTT 3.1.1 only.
"""

import asyncio
import queue
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from simulators.errors import RigError

HOST = "127.0.0.1"
START_S = 10.0

# The default of 1000 queued messages loses events for a slow subscriber while the publisher is told that all is well.
_BASIC = """\
listener {port} {host}
allow_anonymous true
persistence false
max_queued_messages 0
set_tcp_nodelay true
user root
log_type error
log_type warning
"""


class Broker(Protocol):
    """A broker under our control."""

    port: int
    versions: tuple[str, ...]

    @property
    def uri(self) -> str:
        """Where it is: ``mqtt://127.0.0.1:PORT``."""

    def start(self) -> None:
        """Start, or start again on the same port. Returns when it takes connections; raises ``RigError``.

        One that is frozen goes on; else nothing happens when it runs: there is never a second one that nobody ends.
        """

    def stop(self) -> None:
        """End it in order. Nothing happens when it does not run."""

    def freeze(self) -> None:
        """Let it hang with its connections open, until ``start``. Raises ``RigError`` where it cannot."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def embedded_broker(folder: Path) -> Broker:
    """The best broker this machine has, not started. ``folder`` takes its configuration and log."""
    return MosquittoBroker(folder) if mosquitto_program() else AmqttBroker()


def mosquitto_program() -> str | None:
    """The mosquitto program, also where a user's path does not lead."""
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")


def free_port() -> int:
    """A port on loopback that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class _Controlled:
    """What both brokers share."""

    port: int

    @property
    def uri(self) -> str:
        """Where it is."""
        return f"mqtt://{HOST}:{self.port}"

    def start(self) -> None:
        """See ``Broker.start``."""
        raise NotImplementedError

    def stop(self) -> None:
        """See ``Broker.stop``."""
        raise NotImplementedError

    def freeze(self) -> None:
        """See ``Broker.freeze``."""
        raise RigError("broker.freeze: a broker within this process cannot be frozen: install mosquitto")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class MosquittoBroker(_Controlled):
    """A mosquitto process. ``extra`` is appended to its configuration, ``basic`` replaces the first part of it."""

    versions: tuple[str, ...] = ("5", "3.1.1")

    def __init__(self, folder: Path, *, extra: str = "", basic: str = _BASIC) -> None:
        program = mosquitto_program()
        if program is None:
            raise RigError("mosquitto is not installed: install it, or use the broker in this process")
        self.port = free_port()
        self._folder = folder
        self._config = basic + extra
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the process wrote."""
        return self._folder / "mosquitto.log"

    def start(self) -> None:
        """See ``Broker.start``."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            return
        config = self._folder / "mosquitto.conf"
        config.write_text(self._config.format(host=HOST, port=self.port), encoding="utf-8")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen([self._program, "-c", str(config)], stdout=log, stderr=log)
        _wait_for(self.port, self._process, self.log)

    def stop(self) -> None:
        """See ``Broker.stop``."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut does."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it hang with its connections open."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def reload(self) -> None:
        """Read the access rules again."""
        if self._process is not None:
            self._process.send_signal(signal.SIGHUP)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(how)
            process.wait(START_S)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.005)
    process.kill()
    process.wait()
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or ["nothing"]
    raise RigError(f"mosquitto did not start on port {port}; its last word: {said[0]}")


class AmqttBroker(_Controlled):
    """amqtt in a thread of this process. Keeps nothing when it is stopped."""

    versions: tuple[str, ...] = ("3.1.1",)

    def __init__(self) -> None:
        self.port = free_port()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._began: queue.SimpleQueue[str] = queue.SimpleQueue()

    def start(self) -> None:
        """See ``Broker.start``."""
        self._thread = threading.Thread(target=self._run, name="broker", daemon=True)
        self._thread.start()
        try:
            trouble = self._began.get(timeout=START_S)
        except queue.Empty:
            trouble = "it is silent"
        if trouble:
            raise RigError(f"the broker did not start on port {self.port}: {trouble}")

    def stop(self) -> None:
        """See ``Broker.stop``."""
        thread, self._thread = self._thread, None
        if thread is not None and self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
            thread.join(START_S)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        from amqtt.broker import Broker as Amqtt  # noqa: PLC0415 - takes half a second, and only some need it
        from amqtt.errors import BrokerError  # noqa: PLC0415

        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        config: dict[str, Any] = {
            "listeners": {"default": {"type": "tcp", "bind": f"{HOST}:{self.port}"}},
            "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
        }
        try:
            broker = Amqtt(config)
            await broker.start()
        except (BrokerError, OSError) as error:
            self._began.put(str(error))
            return
        self._began.put("")
        await self._end.wait()
        await broker.shutdown()
