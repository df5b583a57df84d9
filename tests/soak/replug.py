"""Pulls the plug of a device and puts it in again, hundreds of times, and counts what the driver's side keeps.

``python -m tests.soak.replug --cycles 1000`` does it for each kind of link and prints the figures.
"""

import argparse
import gc
import queue
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivers.backoff import Backoff
from drivers.readings import DeviceLost, DeviceUp, Reading
from drivers.supervisor import Supervisor
from simulators.rigs import Host
from tests.waiting import wait_until

KINDS: Mapping[str, dict[str, Any]] = {
    "usb": {"driver": "shoe", "link": "bulk", "serial": "USB-7"},
    "hid": {"driver": "keypad", "link": "keyboard", "product": 2},
    "serial": {"driver": "feig", "link": "pty"},
    "tcp": {"driver": "eccel", "link": "tcp", "path": "127.0.0.1:0"},
}
"""A device on each kind of link."""
WARM = 20
"""After so many cycles all that is made once has been made."""
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What grew between the first cycles and the last: threads, open files, and resident memory in kB."""

    kind: str
    cycles: int
    seconds: float
    threads: int
    files: int
    memory_kb: int
    attempts: int


def replug(folder: Path, kind: str, cycles: int) -> Figures:
    """``cycles`` times lost and found again. Raises ``AssertionError`` where the device does not come back."""
    spec = {"name": "dev0", "path": str(folder / "dev0"), **KINDS[kind]}
    readings: queue.Queue[Reading] = queue.Queue()
    with Host([spec], folder / "acts") as host:
        supervisor = Supervisor(
            "dev0",
            host.uris["dev0"],
            str(spec["driver"]),
            emit=lambda reading: _put(readings, reading),
            clock=time.monotonic_ns,
            test_mode=True,
            backoff=Backoff(0.002, 0.02),
        )
        supervisor.start()
        try:
            _until(readings, DeviceUp)
            began = time.monotonic()
            before = _held()
            for number in range(cycles):
                if number == min(WARM, cycles // 2):
                    before = _held()
                host.do("unplug", "dev0")
                _until(readings, DeviceLost)
                host.do("plug", "dev0")
                _until(readings, DeviceUp)
            seconds = time.monotonic() - began
            # Threads and files of the connection before may take a moment to be gone.
            wait_until(lambda: _no_more(before), PATIENCE_S, "threads and descriptors are given back")
            after = _held()
        finally:
            supervisor.stop()
    threads, files, memory = (late - early for early, late in zip(before, after, strict=True))
    return Figures(kind, cycles, round(seconds, 1), threads, files, memory, supervisor.counts()["attempts"])


def _put(readings: "queue.Queue[Reading]", reading: Reading) -> bool:
    readings.put(reading)
    return True


def _until(readings: "queue.Queue[Reading]", kind: type[Reading]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not isinstance(readings.get(timeout=max(0.01, deadline - time.monotonic())), kind):
        pass


def _held() -> tuple[int, int, int]:
    """Threads, open files, and resident memory in kB of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    files = len(list(Path("/proc/self/fd").iterdir()))
    return threading.active_count(), files, pages * resource.getpagesize() // 1024


def _no_more(before: tuple[int, int, int]) -> bool:
    threads, files, _ = _held()
    return threads <= before[0] and files <= before[1]


def main() -> int:
    """Every kind of link; 1 where something grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=1000)
    asked = parser.parse_args()
    code = 0
    for kind in KINDS:
        with tempfile.TemporaryDirectory(prefix="felt-replug-") as folder:
            figures = replug(Path(folder), kind, asked.cycles)
        sys.stdout.write(f"{figures}\n")
        sys.stdout.flush()
        code |= figures.threads > 0 or figures.files > 0 or figures.memory_kb > MOST_KB
    return int(code)


MOST_KB = 1024
"""So much may memory differ from run to run without anything being kept."""

if __name__ == "__main__":
    sys.exit(main())
