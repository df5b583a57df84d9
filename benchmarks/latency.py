"""How long from a key on the felt to the back office: feltd beside a bare skeleton of the same parts, and the floor.

All three run here, in turn and some times over, for a machine is not equally fast all the time: the same simulated
keypad over USB/IP, the same thread around it, one commit with ``synchronous=FULL``, one publish with QoS 1, a real
broker, and a subscriber in another process. The skeleton does no work in between: no grammar, no rules, no envelope,
no chain, no sealing; with a bare message it leaves out as well what the contract has beside a body, which broker and
subscriber have to read. The floor has no threads and no queue either, and no keypad.
"""

import argparse
import queue
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from benchmarks import skeleton as edges
from controller.contract.topics import Source, Topics
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


def skeleton(folder: Path, count: int, *, labels: bool = True) -> list[float]:
    """The same road without any work on it."""
    edge = partial(edges.skeleton, labels=labels)
    with (
        _road(folder) as (host, arrivals, port),
        edges.running(edge, folder / "skeleton.db", port, host.uris["keys0"]),
    ):
        taken = []
        for _ in range(count):
            time.sleep(HAND_S)
            at = int(host.do("press", "keys0", key="ENTER")["at"])
            taken.append((arrivals.get(timeout=WAIT_S) - at) / NS_MS)
            host.do("release", "keys0", key="ENTER")
        return taken


def floor(folder: Path, count: int) -> list[float]:
    """A commit and a publish in one thread, without a keypad."""
    with (
        _road(folder) as (_, arrivals, port),
        edges.running(edges.floor, folder / "floor.db", port) as line,
    ):
        taken = []
        for _ in range(count):
            time.sleep(HAND_S)
            line.send("go")
            arrived = arrivals.get(timeout=WAIT_S)
            taken.append((arrived - int(line.recv())) / NS_MS)
        return taken


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
def _road(folder: Path) -> Iterator[tuple[Host, "queue.Queue[int]", int]]:
    """A keypad, a subscriber, and the port of the broker."""
    keypad = [{"name": "keys0", "driver": "keypad", "product": 0xF002, "serial": "BENCH"}]
    with (
        MosquittoBroker(folder) as broker,
        _hearing(broker.port, "bench/#") as arrivals,
        Host(keypad, folder / "bench.sock") as host,
    ):
        yield host, arrivals, broker.port


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
    parser.add_argument("--count", type=int, default=1200, help="keys measured for each: a p99 of fewer is chance")
    parser.add_argument("--turns", type=int, default=8, help="in how many turns")
    options = parser.parse_args()
    bare = partial(skeleton, labels=False)
    roads: dict[str, Callable[[Path, int], list[float]]] = {
        "floor": floor,
        "skeleton": bare,
        "skeleton, labelled": skeleton,
        "feltd": product,
    }
    taken: dict[str, list[float]] = {name: [] for name in roads}
    for _ in range(options.turns):
        for name, run in roads.items():
            with tempfile.TemporaryDirectory(prefix="felt") as folder:
                taken[name] += run(Path(folder), max(1, options.count // options.turns))
    print(f"{'key to subscriber':<24}{'p50 ms':>10}{'p99 ms':>10}{'x skeleton p50':>17}{'p99':>8}")
    figures = {name: (statistics.median(all_), _p99(all_)) for name, all_ in taken.items()}
    base = figures["skeleton"]
    for name, (p50, p99) in figures.items():
        print(f"{name:<24}{p50:>10.2f}{p99:>10.2f}{p50 / base[0]:>17.2f}{p99 / base[1]:>8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
