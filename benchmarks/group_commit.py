"""Measures what storing together brings: inputs that wait in the queue share a transaction, a lone one waits for none.

``python -m benchmarks.group_commit [--inputs 4000]`` prints records/s with and without, on this disk and on one whose
sync takes some milliseconds more, as a small table computer's does. Numbers are printed, never asserted.
"""

import argparse
import logging
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import structlog

from controller import corethread
from controller.contract.topics import Source
from controller.core.inputs import Command
from controller.core.records import Record
from controller.corethread import CoreThread
from controller.inbox import Inbox, Order
from controller.ledger.keys import Keys, create_signing_key
from controller.ledger.outbox import Unsent
from controller.ledger.store import MOST_TOGETHER, Ledger
from controller.runtime.clock import Clock
from tests.felt import setup

SLOW_S = 0.008
"""What a sync of an eMMC takes longer."""
WAITING = 200
"""How many inputs wait at once."""


class Slow(Ledger):
    """A ledger on a disk that syncs slowly."""

    delay_s = 0.0

    def append_together(
        self,
        inputs: Sequence[tuple[Sequence[Record], int]],
        *,
        coming: Callable[[Sequence[Unsent]], None] | None = None,
    ) -> list[Unsent]:
        """See ``Ledger``."""
        rows = super().append_together(inputs, coming=coming)
        if rows:
            time.sleep(self.delay_s)
        return rows


def measure(folder: Path, inputs: int, together: int, delay_s: float) -> str:
    """One line."""
    folder.mkdir()
    create_signing_key(folder / "signing-key", folder / "signing.pub", test=True)
    keys = Keys.load(device=folder / "device-key", signing=folder / "signing-key", create=True)
    inbox = Inbox(WAITING)
    ledger = Slow.open(folder / "ledger", source=Source("zg1", "t07"), test=True, keys=keys)
    assert isinstance(ledger, Slow)
    ledger.delay_s = delay_s
    with ledger, mock.patch.object(corethread, "MOST_TOGETHER", together):
        core = CoreThread(setup(unit=1), ledger, Clock(), inbox, ended=lambda: None, seed=1)
        core.start({})
        tell(inbox, Command("open", {"button": 2}, "s-01", "manager"))
        tell(inbox, Command("seat", {"seat": 1, "stack": 1000}, "s-01", "manager"))
        alone = sorted(tell(inbox, absent(number)) for number in range(300))
        row, began = ledger.row, time.perf_counter()
        orders = [Order(absent(number)) for number in range(inputs)]
        for order in orders:
            inbox.post(order)
        orders[-1].outcome.result(600)
        took = time.perf_counter() - began
        written = ledger.row - row
        core.stop("bench", 10)
    name = f"up to {together:2} together" if together > 1 else "one by one"
    rate = f"{written / took:8.0f} records/s"
    lone = f"alone p50 {statistics.median(alone):6.2f} ms, p99 {alone[int(len(alone) * 0.99)]:6.2f} ms"
    return f"{name:16} sync +{delay_s * 1000:.0f} ms  {rate}   {lone}"


def absent(number: int) -> Command:
    """A player goes, and comes back."""
    return Command("back" if number % 2 else "away", {"seat": 1}, "s-01", "manager")


def tell(inbox: Inbox, command: Command) -> float:
    """How long a command takes until it is durable, in ms."""
    order = Order(command)
    began = time.perf_counter()
    inbox.post(order)
    order.outcome.result(60)
    return (time.perf_counter() - began) * 1000


def main() -> int:
    """Print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.group_commit", description=__doc__)
    parser.add_argument("--inputs", type=int, default=4000)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tempfile.TemporaryDirectory(prefix="felt-group-") as name:
        for delay_s in (0.0, SLOW_S):
            for together in (1, MOST_TOGETHER):
                folder = Path(name) / f"{together}-{delay_s}"
                print(measure(folder, options.inputs // (4 if delay_s else 1), together, delay_s), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
