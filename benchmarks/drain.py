"""Measures how fast a backlog drains after a long outage, beside what paho itself can do with the same messages.

``python -m benchmarks.drain [--rows 50000]``. The broker is away while the rows are written; then it comes back. Every
event must arrive, in order; memory is that of the process that delivers. Figures are printed.
"""

import argparse
import json
import logging
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

from benchmarks.running import resident
from controller.contract.state import description_body
from controller.contract.topics import Source, Topics
from controller.core.records import Record
from controller.delivery.flight import PumpSettings
from controller.delivery.mqtt import MqttPublisher, MqttSettings
from controller.delivery.pump import Pump
from controller.ledger.keys import Keys
from controller.ledger.outbox import Outbox
from controller.ledger.store import Ledger
from controller.runtime import logs
from simulators.broker import MosquittoBroker

SOURCE = Source("zg1", "t07")
WINDOW = 20
BATCH = 500


def write(folder: Path, rows: int) -> None:
    """A backlog of events of a usual size."""
    keys = Keys.load(device=folder / "device-key", create=True)
    with Ledger.open(folder / "ledger", source=SOURCE, test=True, keys=keys) as ledger:
        while ledger.row < rows:
            count = min(BATCH, rows - ledger.row)
            data = {"hand": "t07-20261130-0001", "n": ledger.row, "rules": [], "asked": "x" * 200}
            one = Record("play", "breach.noted", "t07-20261130-0001", data, None, "2026-11-30", None)
            ledger.append([one] * count, time.time_ns())


class Ears:
    """Counts what comes, and sees whether it comes in order."""

    def __init__(self, port: int, expected: int) -> None:
        self.done = threading.Event()
        self.count = 0
        self.disorder = 0
        self._expected = expected
        self._last: dict[str, str] = {}
        ready = threading.Event()
        self._client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
        self._client.on_connect = lambda c, *_: c.subscribe("felt-test/v1/zg1/t07/+/#", 0)
        self._client.on_subscribe = lambda *_: ready.set()
        self._client.on_message = self._take
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        if not ready.wait(10):
            raise TimeoutError("the broker takes no subscription")

    def _take(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        event = json.loads(message.payload)
        if "sequence" not in event:
            return
        self.disorder += event["sequence"] <= self._last.get(event["source"], "")
        self._last[event["source"]] = event["sequence"]
        self.count += 1
        if self.count >= self._expected:
            self.done.set()

    def close(self) -> None:
        """Hang up."""
        self._client.disconnect()
        self._client.loop_stop()


def deliver(folder: Path, port: int) -> None:
    """The delivering process: from READY to an empty outbox, then one line of figures."""
    logs.configure(json_lines=True, level=logging.ERROR)
    outbox = Outbox(folder / "ledger")
    waiting = outbox.depth()
    pump = Pump(
        folder / "ledger",
        Topics(SOURCE, test=True),
        MqttPublisher(MqttSettings("127.0.0.1", port, "felt-zg1-t07")),
        notify=lambda *_: None,
        description=description_body(SOURCE, outbox.ledger, test=True, software="bench"),
        settings=PumpSettings(window=WINDOW, backoff_s=0.05, backoff_cap_s=0.05),
    )
    pump.start()
    # An outage of many attempts, with the whole backlog on disk.
    time.sleep(1)
    before = resident_mb()
    sys.stdout.write("waiting\n")
    sys.stdout.flush()
    sys.stdin.readline()
    began, most = time.monotonic(), before
    while outbox.depth():
        most = max(most, resident_mb())
        time.sleep(0.05)
    seconds = time.monotonic() - began
    pump.stop(5)
    sys.stdout.write(json.dumps({"rows": waiting, "seconds": seconds, "before_mb": before, "most_mb": most}) + "\n")


def resident_mb() -> float:
    """Of this process."""
    return resident(int(Path("/proc/self").resolve().name)) / 1e6


def raw(port: int, bodies: list[bytes]) -> float:
    """The same messages by paho alone, with the same window; events a second."""
    slots, answered = threading.Semaphore(WINDOW), threading.Semaphore(0)
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    client.max_inflight_messages_set(0)

    def on_publish(*_: object) -> None:
        slots.release()
        answered.release()

    client.on_publish = on_publish
    client.connect("127.0.0.1", port)
    client.loop_start()
    began = time.monotonic()
    for body in bodies:
        slots.acquire()
        client.publish("felt-test/v1/zg1/raw/play/x", body, qos=1)
    for _ in bodies:
        answered.acquire()
    seconds = time.monotonic() - began
    client.disconnect()
    client.loop_stop()
    return len(bodies) / seconds


def drain(folder: Path, rows: int) -> dict[str, float]:
    """The figures of one run. Raises ``RuntimeError`` where an event is missing or out of its order."""
    write(folder, rows)
    broker = MosquittoBroker(folder)
    command = [sys.executable, "-m", "benchmarks.drain", "--deliver", str(folder), "--port", str(broker.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as delivering:
        assert delivering.stdin is not None
        assert delivering.stdout is not None
        delivering.stdout.readline()
        with broker:
            ears = Ears(broker.port, rows)
            delivering.stdin.write("\n")
            delivering.stdin.flush()
            figures: dict[str, float] = json.loads(delivering.stdout.readline())
            ears.done.wait(30)
            ears.close()
            same = [b"x" * 900] * min(rows, 20_000)
            figures |= {"heard": ears.count, "disorder": ears.disorder, "raw_per_s": raw(broker.port, same)}
    return figures | {"per_s": figures["rows"] / figures["seconds"]}


def main() -> int:
    """Print the figures; 1 when an event is missing or out of its order."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drain", description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--deliver", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.deliver is not None:
        deliver(options.deliver, options.port)
        return 0
    with tempfile.TemporaryDirectory(prefix="felt-drain-") as folder:
        found = drain(Path(folder), options.rows)
    print(
        f"{found['rows']:.0f} rows in {found['seconds']:.1f} s: {found['per_s']:.0f}/s; paho alone "
        f"{found['raw_per_s']:.0f}/s; memory {found['before_mb']:.0f} MB before, at most {found['most_mb']:.0f} MB"
    )
    if found["heard"] != found["rows"] or found["disorder"]:
        print(f"WRONG: {found['heard']:.0f} arrived, {found['disorder']:.0f} out of order")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
