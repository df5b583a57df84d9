"""The bare edges that feltd is measured beside. Each runs in a process of its own, as feltd does.

Its subscriber is another process then, with an interpreter and caches of its own. In one process with it, sender and
receiver would share the warm code of paho, which no back office does.
"""

import multiprocessing
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from controller.delivery.properties import Packed
from drivers.readings import KeyPressed, Reading
from drivers.supervisor import Supervisor

WAIT_S = 5.0
PAYLOAD = b"x" * 900
"""About the size of an ``action.taken``."""
TOPIC = "bench/1/zg1/t07/play/action/taken"
LEDGER = "0f8fad5b-d9cb-469f-a165-70867728950e"
LABELS = (("event-id", f"{LEDGER}/play/{1:016d}"), ("type", "action.taken"), ("sequence", f"{1:016d}"))
"""What the contract has beside a body (MQTT 5 user properties): broker and subscriber read it, whoever sends it."""

Edge = Callable[[Connection, Path, int, str], None]
"""Runs until it is told ``end``: the end of its line, the database, the broker's port, where the keypad is."""


@contextmanager
def running(edge: Edge, database: Path, port: int, keypad: str = "") -> Iterator[Connection]:
    """An edge in its own process, ready when this is entered; its end of the line."""
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE row (row INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL)")
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=edge, args=(theirs, database, port, keypad))
    process.start()
    try:
        if not ours.poll(WAIT_S) or ours.recv() != "ready":
            raise TimeoutError("the edge did not get ready in time")
        yield ours
    finally:
        ours.send("end")
        process.join(WAIT_S)
        process.kill()


def skeleton(line: Connection, database: Path, port: int, keypad: str, *, labels: bool = True) -> None:
    """The same road without any work on it: device thread, core thread, pump thread, and paho with its own.

    Its message is the same for broker and subscriber, always with the same ``labels``; without them it is bare.
    """
    beside: Any = Packed(LABELS, None) if labels else None
    inbox: queue.Queue[Reading] = queue.Queue(1024)
    due = threading.Event()
    stop = threading.Event()

    def emit(reading: Reading) -> bool:
        inbox.put(reading)
        return True

    def core() -> None:
        with sqlite3.connect(database, isolation_level=None) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            while not stop.is_set():
                try:
                    reading = inbox.get(timeout=0.2)
                except queue.Empty:
                    continue
                if isinstance(reading, KeyPressed):
                    connection.execute("INSERT INTO row (body) VALUES (?)", (PAYLOAD,))
                    due.set()

    def pump() -> None:
        with sqlite3.connect(database, isolation_level=None) as connection:
            last = 0
            while not stop.is_set():
                if not due.wait(0.2):
                    continue
                due.clear()
                for row, body in connection.execute("SELECT row, body FROM row WHERE row > ?", (last,)).fetchall():
                    client.publish(TOPIC, body, qos=1, properties=beside)
                    last = row

    with _speaking(port) as client:
        threads = [threading.Thread(target=core), threading.Thread(target=pump)]
        for thread in threads:
            thread.start()
        supervisor = Supervisor("keys0", keypad, "keypad", emit=emit, clock=time.monotonic_ns, test_mode=True)
        supervisor.start()
        try:
            until = time.monotonic() + WAIT_S
            while not supervisor.up() and time.monotonic() < until:
                time.sleep(0.001)
            line.send("ready")
            line.recv()
        finally:
            supervisor.stop(WAIT_S)
            stop.set()
            for thread in threads:
                thread.join()


def floor(line: Connection, database: Path, port: int, keypad: str) -> None:
    """A commit and a publish in one thread, each time it is told ``go``; says when it began (monotonic ns)."""
    del keypad
    with _speaking(port) as client, sqlite3.connect(database, isolation_level=None) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        line.send("ready")
        while line.recv() == "go":
            at = time.monotonic_ns()
            connection.execute("INSERT INTO row (body) VALUES (?)", (PAYLOAD,))
            client.publish(TOPIC, PAYLOAD, qos=1)
            line.send(at)


@contextmanager
def _speaking(port: int) -> Iterator[Client]:
    client = Client(CallbackAPIVersion.VERSION2, "bench-pub", protocol=MQTTProtocolVersion.MQTTv5)
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        yield client
    finally:
        client.disconnect()
        client.loop_stop()
