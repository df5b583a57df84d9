"""Who listens to the table while it is killed: a back office, and an ear that trusts nobody's order but its own."""

import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client, ConnectFlags, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from controller.contract.integrity import digest
from controller.contract.topics import STREAMS
from simulators.broker import MosquittoBroker
from tests.running import ROOT

TABLE = "zg1/t07"
KEPT_S = 3600
"""How long the broker keeps what the ear has not heard yet."""


class Office:
    """``feltoffice follow`` in a process of its own, from the first event on."""

    def __init__(self, folder: Path, broker: MosquittoBroker) -> None:
        self.store = folder / "office.db"
        self._uri = broker.uri
        self._run("enrol", str(self.store), TABLE, "--key", str(folder / "signing.pub"), "--test")
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Listen."""
        command = [sys.executable, "-m", "backoffice.cli", "follow", str(self.store), "--broker", self._uri]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stop(self) -> dict[str, Any]:
        """End it; what it says of itself."""
        assert self._process is not None
        self._process.terminate()
        out, err = self._process.communicate(timeout=60)
        if self._process.returncode:
            raise RuntimeError(f"the office ended with {self._process.returncode}: {err}")
        told: dict[str, Any] = json.loads(out)
        return told

    def catch_up(self) -> dict[str, Any]:
        """Ask for all that is missing, until nothing is. Raises ``RuntimeError`` where that takes too long."""
        told: dict[str, Any] = json.loads(self._run("follow", str(self.store), "--broker", self._uri, "--until-quiet"))
        return told

    def verify(self) -> str:
        """Its own word on what it has stored."""
        return self._run("verify", str(self.store))

    def count(self) -> int:
        """How many events it has."""
        with closing(sqlite3.connect(self.store)) as connection:
            (count,) = connection.execute("select count(*) from event").fetchone()
        return int(count)

    def bodies(self) -> list[bytes]:
        """What it has stored, in the order of the table."""
        with closing(sqlite3.connect(self.store)) as connection:
            return [body for (body,) in connection.execute("select payload from event order by row_no")]

    @staticmethod
    def _run(*arguments: str) -> str:
        command = [sys.executable, "-m", "backoffice.cli", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"feltoffice {arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout


class Heard:
    """What is heard in the order of the broker, and what is wrong with that order.

    In each stream the first sight of an event has to come after the first sight of every earlier one. Only a killed
    broker may lose what it had taken, and of that the last: the table goes on in a new connection, so a jump has to be
    the first thing of its stream in a connection, and a broker has to have been killed since the one before. The births
    of connections are heard among the events, so it does not matter how late one hears.
    """

    def __init__(self) -> None:
        self.digests: dict[tuple[str, int], str] = {}
        self.faults: list[str] = []
        self.repeated = 0
        self.holes = 0
        self._killed: list[int] = []
        self._last: dict[str, tuple[int, int]] = {}
        """By stream: the last event, and the connection in which it came."""
        self._connection = 0

    def broker_killed(self, connection: int) -> None:
        """A broker is dead. ``connection`` is the last one that the table has numbered before it comes back."""
        self._killed.append(connection)

    def born(self, connection: int) -> None:
        """The table says that it is there, in this connection."""
        self._connection = max(self._connection, connection)

    def event(self, stream: str, sequence: int, told: str) -> None:
        """One event with the digest of its bytes."""
        at = (stream, sequence)
        if (before := self.digests.get(at)) is not None:
            self.repeated += 1
            if before != told:
                self.faults.append(f"{stream} {sequence} came again with other bytes")
            return
        self.digests[at] = told
        last, since = self._last.get(stream, (0, 0))
        if sequence < last:
            self.faults.append(f"{stream} {sequence} was first seen after {last}")
            return
        if sequence > last + 1:
            self.holes += sequence - last - 1
            if not any(since <= killed < self._connection for killed in self._killed):
                self.faults.append(
                    f"{stream} {last + 1} to {sequence - 1} never came, and no broker was killed "
                    f"between connections {since} and {self._connection}"
                )
        self._last[stream] = (sequence, self._connection)


class Ear:
    """Hears what is published, and no replay. The broker keeps its session while it or the broker is away."""

    def __init__(self, broker: MosquittoBroker) -> None:
        self.heard = Heard()
        self._ready = threading.Event()
        client = self._client = Client(CallbackAPIVersion.VERSION2, client_id="ear", protocol=MQTTv5)
        client.on_connect, client.on_message = self._connected, self._take
        client.on_subscribe = lambda *_: self._ready.set()
        client.reconnect_delay_set(1, 1)
        keep = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        keep.SessionExpiryInterval = KEPT_S
        client.connect("127.0.0.1", broker.port, clean_start=False, properties=keep)
        client.loop_start()
        assert self._ready.wait(10)

    def close(self) -> None:
        """Hear no more."""
        self._client.disconnect()
        self._client.loop_stop()

    @staticmethod
    def _connected(c: Client, _u: object, _f: ConnectFlags, _r: ReasonCode, _p: Properties | None) -> None:
        base = f"felt-test/v1/{TABLE}"
        c.subscribe([(f"{base}/state", 1), *((f"{base}/{stream}/#", 1) for stream in STREAMS)])

    def _take(self, _client: Client, _userdata: object, message: MQTTMessage) -> None:
        told = json.loads(message.payload)
        if not message.topic.endswith("/state"):
            stream, sequence = told["source"].rsplit("/", 1)[1], int(told["sequence"])
            self.heard.event(stream, sequence, digest(bytes(message.payload)))
        elif told["state"] != "lost":  # which is the will of a connection that may be over for long
            self.heard.born(told["session"])
