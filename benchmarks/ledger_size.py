"""Measures whether a ledger slows down as it grows: appending, opening, and the start of the daemon.

``python -m benchmarks.ledger_size [--rows 1000000] [--session 200000]``: a session that has just begun in a file of so
many rows; or one session that is so many rows long, started twice: the first start has all of it to read, the second
what came after the state that the first has kept. Numbers are printed, never asserted.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.running import SCRIPTS
from controller.configuration.settings import load
from controller.contract.topics import Source
from controller.core.inputs import Command, Input
from controller.core.records import Record
from controller.core.table import Table
from controller.ledger.keys import Keys, create_signing_key
from controller.ledger.outbox import Outbox
from controller.ledger.store import Ledger

STEPS = (1_000, 10_000, 100_000, 1_000_000)
SAMPLES = 300
BATCH = 1_000
SHIFT = 500
ROOT = SCRIPTS.parent.parent
CONFIG = """\
schema = 1
site = "zg1"
table = "t07"
kind = "shoe"
seats = 6
profile = "rs_holdem"
state_dir = "{folder}"
test = true
[ledger]
signing_key = "{folder}/signing-key"
archive_mb = 100000
limit_mb = 200000
[limits]
small_blind = 100
big_blind = 200
[chips]
file = "{chips}"
"""


def records() -> Iterator[Record]:
    """Events of a usual size, in hands of forty, for ever."""
    hand = 0
    while True:
        hand += 1
        name = f"t07-20261130-{hand:07d}"
        for n in range(40):
            data: dict[str, Any] = {"hand": name, "n": n, "t_ms": n * 700, "rules": ["RS-1.1"], "reaction": "INFO"}
            data |= {"what": "bench", "asked": "x" * 120, "allowed_now": [], "repeat": 1, "basis": "sensor"}
            yield Record("play", "breach.noted", name, data, None, "2026-11-30", None)


def grow(folder: Path, rows: int, source: Iterator[Record]) -> None:
    """Append up to a number of rows, many at once; the last rows are left unsent."""
    with opened(folder) as ledger:
        while ledger.row < rows - SHIFT:
            ledger.append([next(source) for _ in range(min(BATCH, rows - SHIFT - ledger.row))], time.time_ns())
        # A shift that has just begun: what a start has to read again depends on it, and not on the file.
        ledger.append(shift(folder), time.time_ns())
        while ledger.row < rows:
            ledger.append([next(source) for _ in range(rows - ledger.row)], time.time_ns())
        outbox = Outbox(ledger.path)
        outbox.mark_acked(range(1, ledger.row - 99))
        outbox.close()


def opened(folder: Path) -> Ledger:
    """The ledger as the daemon opens it."""
    keys = Keys.load(device=folder / "t07.device-key", signing=folder / "signing-key", create=True)
    return Ledger.open(folder / "t07.ledger", source=Source("zg1", "t07"), test=True, keys=keys)


def measure(folder: Path, source: Iterator[Record]) -> dict[str, float]:
    """One line of the table, in ms."""
    began = time.perf_counter()
    ledger = opened(folder)
    if ledger.check_tail():
        raise RuntimeError("the ledger of this benchmark is not whole")
    restored = sum(1 for _ in ledger.restore_rows())
    ready = time.perf_counter()
    times = []
    for _ in range(SAMPLES):
        one = next(source)
        at = time.perf_counter()
        ledger.append([one], time.time_ns())
        times.append((time.perf_counter() - at) * 1000)
    ledger.close()
    times.sort()
    return {
        "open ms": (ready - began) * 1000,
        "restored": restored,
        "append p50 ms": statistics.median(times),
        "append p99 ms": times[int(len(times) * 0.99)],
        "daemon ready ms": daemon_ready(folder),
        "file MB": (folder / "t07.ledger").stat().st_size / 1e6,
    }


def long_session(folder: Path, rows: int, source: Iterator[Record]) -> None:
    """One line for each of two starts in one open session."""
    with opened(folder) as ledger:
        ledger.append(shift(folder), time.time_ns())
        while ledger.row < rows:
            ledger.append([next(source) for _ in range(min(BATCH, rows - ledger.row))], time.time_ns())
        outbox = Outbox(ledger.path)
        outbox.mark_acked(range(1, ledger.row))
        outbox.close()
    for start in ("first", "second"):
        print(f"{rows:>9} rows of one session, {start} start: ready after {daemon_ready(folder):.0f} ms", flush=True)


def daemon_ready(folder: Path) -> float:
    """How long the daemon takes from its start to READY, by its own word."""
    config = folder / "table.toml"
    command = [sys.executable, "-m", "controller.cli", "run", "-c", str(config), "--log", "json"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as daemon:
        assert daemon.stderr is not None
        try:
            for line in daemon.stderr:
                if line.startswith("{") and (said := json.loads(line))["event"] == "ready":
                    return float(said["after_ms"])
        finally:
            daemon.terminate()
    raise RuntimeError("the daemon did not start")


def main() -> int:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger_size", description=__doc__)
    parser.add_argument("--rows", type=int, default=STEPS[-1], help="how far it grows")
    parser.add_argument("--session", type=int, default=0, help="one session of so many rows instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="felt-size-") as name:
        folder = Path(name)
        chips = ROOT / "config" / "chips" / "example.toml"
        (folder / "table.toml").write_text(CONFIG.format(folder=folder, chips=chips), encoding="utf-8")
        create_signing_key(folder / "signing-key", folder / "signing.pub", test=True)
        source = records()
        if options.session:
            long_session(folder, options.session, source)
            return 0
        for step in [*(step for step in STEPS if step < options.rows), options.rows]:
            grow(folder, step, source)
            found = measure(folder, source)
            print(f"{step:>9} rows  " + "  ".join(f"{name} {value:9.2f}" for name, value in found.items()), flush=True)
    return 0


def shift(folder: Path) -> list[Record]:
    """The opening of a table."""
    table = Table(load(folder / "table.toml").setup)
    return table.feed(Input(1, 0, time.time_ns(), Command("open", {"button": 1}, "s-01", "manager", "bench")))


if __name__ == "__main__":
    sys.exit(main())
