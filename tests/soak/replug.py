"""Pulls the plug of a device and puts it in again, hundreds of times, and counts what the driver's side keeps.

``python -m tests.soak.replug --cycles 1000`` does it for each kind of link and prints the figures.
"""

import argparse
import gc
import queue
import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivers.backoff import Backoff
from drivers.readings import DeviceLost, DeviceUp, Reading
from drivers.supervisor import Supervisor
from simulators.rigs import Host
from simulators.through.standing import standing
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
SPEED = 5
"""Of a daemon's time: it waits a little longer with each attempt to find a device."""
MOST_KB = (1024, 4096)
"""So much may memory differ without anything being kept: on the driver's side; in a daemon, whose ledger is cached."""


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


def replug_table(folder: Path, cycles: int) -> Figures:
    """The same with a whole daemon and six devices, all of them at once: ``cycles`` plugs in all."""
    with standing(folder, chips=False, speed=SPEED) as table:
        pid = table.daemon.pid
        names = table.plan.layout.names()
        rounds = -(-cycles // len(names))
        began = time.monotonic()
        before = _held(pid)
        for number in range(rounds):
            if number == min(WARM, rounds // 2):
                before = _held(pid)
            for what, state in (("unplug", "lost"), ("plug", "up")):
                for name in names:
                    table.host.do(what, name)
                table.until(state)
        seconds = time.monotonic() - began
        wait_until(lambda: _no_more(before, pid), PATIENCE_S, "threads and descriptors are given back")
        threads, files, memory = (late - early for early, late in zip(before, _held(pid), strict=True))
    return Figures("daemon", rounds * len(names), round(seconds, 1), threads, files, memory, 0)


def _put(readings: "queue.Queue[Reading]", reading: Reading) -> bool:
    readings.put(reading)
    return True


def _until(readings: "queue.Queue[Reading]", kind: type[Reading]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not isinstance(readings.get(timeout=max(0.01, deadline - time.monotonic())), kind):
        pass


def _held(pid: int | None = None) -> tuple[int, int, int]:
    """Threads, open files, and resident memory in kB of a process, or of this one."""
    gc.collect()
    of = Path(f"/proc/{pid or 'self'}")
    pages = int((of / "statm").read_text(encoding="ascii").split()[1])
    held = [len(list((of / what).iterdir())) for what in ("task", "fd")]
    return held[0], held[1], pages * resource.getpagesize() // 1024


def _no_more(before: tuple[int, int, int], pid: int | None = None) -> bool:
    threads, files, _ = _held(pid)
    return threads <= before[0] and files <= before[1]


def main() -> int:
    """Every kind of link; 1 where something grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=1000)
    asked = parser.parse_args()
    code = 0
    for kind in (*KINDS, "daemon"):
        with tempfile.TemporaryDirectory(prefix="felt-replug-") as folder:
            daemon = kind == "daemon"
            figures = replug_table(Path(folder), asked.cycles) if daemon else replug(Path(folder), kind, asked.cycles)
        sys.stdout.write(f"{figures}\n")
        sys.stdout.flush()
        code |= figures.threads > 0 or figures.files > 0 or figures.memory_kb > MOST_KB[kind == "daemon"]
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
