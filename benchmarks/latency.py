"""How long from a key on the felt to the back office: feltd beside a bare skeleton of the same parts, and the floor.

All three run here, in turn and some times over, for a machine is not equally fast all the time: the same simulated
keypad over USB/IP, the same thread around it, one commit with ``synchronous=FULL``, one publish with QoS 1, a real
broker and a subscriber. The skeleton does no work in between: no grammar, no rules, no envelope, no chain, no sealing.
The floor has no threads and no queue either.
"""

import argparse
import queue
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from controller.contract.topics import Source, Topics
from drivers.readings import KeyPressed, Reading
from drivers.supervisor import Supervisor
from simulators import config, plan
from simulators.broker import MosquittoBroker
from simulators.process import DaemonProcess
from simulators.rehearse import house
from simulators.rigs import Host
from simulators.scripts import phh
from simulators.through.wires import devices

NS_MS = 1_000_000
WAIT_S = 5.0
HAND_S = 0.03
"""The hand's way to the next key: what was typed before is worked off, for both."""
PAYLOAD = b"x" * 900
"""About the size of an ``action.taken``."""
HAND = """\
variant = "NT"
ante_trimming_status = true
antes = [0, 0, 0]
blinds_or_straddles = [1, 2, 0]
min_bet = 2
starting_stacks = [9000000, 9000000, 9000000]
actions = ["d dh p1 2c3c", "d dh p2 4c5c", "d dh p3 6c7c", "p3 f", "p1 f"]
"""
CARDS = ("2c", "4c", "6c", "3c", "5c", "7c")


def product(folder: Path, count: int) -> list[float]:
    """Latencies in ms: ENTER pressed to ``action.taken`` at the subscriber. Three seats raise in turn."""
    file = folder / "hand.phh"
    file.write_text(HAND, encoding="utf-8")
    table = plan.of_script(phh.convert(file), "rs_holdem", *house("rs_holdem"))
    base = Topics(Source(plan.SITE, plan.TABLE), test=True).base
    with (
        MosquittoBroker(folder) as broker,
        _hearing(broker.port, f"{base}/play/action/taken") as arrivals,
        Host(devices(table.layout, folder), folder / "devices.sock") as host,
    ):
        host.do("load", "shoe0", cards=list(CARDS))
        path = config.write(table, folder, host.uris, broker.uri, "5", folder / "ledger")
        daemon = DaemonProcess(path, 1.0)
        daemon.start()
        try:
            return _raises(host, daemon, arrivals, table, count)
        finally:
            daemon.stop()


def _raises(
    host: Host, daemon: DaemonProcess, arrivals: "queue.Queue[int]", table: plan.Plan, count: int
) -> list[float]:
    def status() -> Any:
        return daemon.ask("status")["status"]

    def tap(key: str) -> int:
        at = int(host.do("press", "keys0", key=key)["at"])
        host.do("release", "keys0", key=key)
        return at

    _until(lambda: set(status()["devices"].values()) == {"up"})
    for order in table.opening():
        daemon.ask(order.name, order.args, by=order.by, role=order.role, reason="bench")
    tap("HAND")
    _until(lambda: status()["hand"] is not None)
    for card in CARDS:
        host.do("slide", "shoe0", card=card, confidence=100)
    _until(lambda: status()["hand"]["to_act"] is not None)
    taken: list[float] = []
    for number in range(1, count + 1):
        for key in ("RAISE", *str(2 + 2 * number)):
            tap(key)
        time.sleep(HAND_S)
        at = int(host.do("press", "keys0", key="ENTER")["at"])
        taken.append((arrivals.get(timeout=WAIT_S) - at) / NS_MS)
        host.do("release", "keys0", key="ENTER")
    return taken


def skeleton(folder: Path, count: int) -> list[float]:
    """The same road without any work on it."""
    with _road(folder) as (host, arrivals, client):
        inbox: queue.Queue[Reading] = queue.Queue(1024)
        due = threading.Event()
        stop = threading.Event()
        database = folder / "skeleton.db"
        _table(database)

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
                        client.publish("bench/skeleton", body, qos=1)
                        last = row

        def emit(reading: Reading) -> bool:
            inbox.put(reading)
            return True

        threads = [threading.Thread(target=core), threading.Thread(target=pump)]
        for thread in threads:
            thread.start()
        supervisor = Supervisor(
            "keys0", host.uris["keys0"], "keypad", emit=emit, clock=time.monotonic_ns, test_mode=True
        )
        supervisor.start()
        try:
            _until(supervisor.up)
            return _taps(host, arrivals, count)
        finally:
            supervisor.stop(5.0)
            stop.set()
            for thread in threads:
                thread.join()


def floor(folder: Path, count: int) -> list[float]:
    """A commit and a publish in one thread, without a keypad."""
    with _road(folder) as (_, arrivals, client):
        database = folder / "floor.db"
        _table(database)
        taken: list[float] = []
        with sqlite3.connect(database, isolation_level=None) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            for _ in range(count):
                at = time.monotonic_ns()
                connection.execute("INSERT INTO row (body) VALUES (?)", (PAYLOAD,))
                client.publish("bench/floor", PAYLOAD, qos=1)
                taken.append((arrivals.get(timeout=WAIT_S) - at) / NS_MS)
        return taken


def _table(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE row (row INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL)")


@contextmanager
def _hearing(port: int, topic: str) -> Iterator["queue.Queue[int]"]:
    """A subscriber that does nothing but note when each message came (monotonic ns)."""
    arrivals: queue.Queue[int] = queue.Queue(65536)

    def message(_client: Client, _data: object, _message: MQTTMessage) -> None:
        arrivals.put(time.monotonic_ns())

    client = Client(CallbackAPIVersion.VERSION2, "bench-sub", protocol=MQTTProtocolVersion.MQTTv5)
    heard = threading.Event()
    client.on_message = message
    client.on_subscribe = lambda *_: heard.set()
    client.connect("127.0.0.1", port)
    client.loop_start()
    client.subscribe(topic, qos=1)
    heard.wait(WAIT_S)
    try:
        yield arrivals
    finally:
        client.disconnect()
        client.loop_stop()


@contextmanager
def _road(folder: Path) -> Iterator[tuple[Host, "queue.Queue[int]", Client]]:
    """A keypad, a broker, a publisher and a subscriber."""
    keypad = [{"name": "keys0", "driver": "keypad", "product": 0xF002, "serial": "BENCH"}]
    with (
        MosquittoBroker(folder) as broker,
        _hearing(broker.port, "bench/#") as arrivals,
        Host(keypad, folder / "bench.sock") as host,
    ):
        speaking = Client(CallbackAPIVersion.VERSION2, "bench-pub", protocol=MQTTProtocolVersion.MQTTv5)
        speaking.connect("127.0.0.1", broker.port)
        speaking.loop_start()
        try:
            yield host, arrivals, speaking
        finally:
            speaking.disconnect()
            speaking.loop_stop()


def _taps(host: Host, arrivals: "queue.Queue[int]", count: int) -> list[float]:
    taken = []
    for _ in range(count):
        time.sleep(HAND_S)
        at = int(host.do("press", "keys0", key="ENTER")["at"])
        taken.append((arrivals.get(timeout=WAIT_S) - at) / NS_MS)
        host.do("release", "keys0", key="ENTER")
    return taken


def _p99(taken: list[float]) -> float:
    return sorted(taken)[min(len(taken) - 1, int(len(taken) * 0.99))]


def _until(ask: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not ask():
        if time.monotonic() > deadline:
            raise TimeoutError("the table did not answer in time")
        time.sleep(0.001)


def main() -> int:
    """Print p50 and p99 of each, and the ratios to the skeleton."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="keys measured for each")
    parser.add_argument("--turns", type=int, default=4, help="in how many turns")
    options = parser.parse_args()
    roads = {"floor": floor, "skeleton": skeleton, "feltd": product}
    taken: dict[str, list[float]] = {name: [] for name in roads}
    for _ in range(options.turns):
        for name, run in roads.items():
            with tempfile.TemporaryDirectory(prefix="felt") as folder:
                taken[name] += run(Path(folder), max(1, options.count // options.turns))
    print(f"{'key to subscriber':<20}{'p50 ms':>10}{'p99 ms':>10}{'x skeleton p50':>17}{'p99':>8}")
    figures = {name: (statistics.median(all_), _p99(all_)) for name, all_ in taken.items()}
    base = figures["skeleton"]
    for name, (p50, p99) in figures.items():
        print(f"{name:<20}{p50:>10.2f}{p99:>10.2f}{p50 / base[0]:>17.2f}{p99 / base[1]:>8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
