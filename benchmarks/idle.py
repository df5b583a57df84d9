"""The processor time of a table at which nobody plays: six devices of six makes over wires, chips and cards lie there.

The daemon runs as it would: devices on pty, TCP and USB/IP, a broker, real time, no capture. What is measured is its
process alone, by the kernel's count, thread by thread with ``--threads``.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from simulators import config, plan
from simulators.broker import MosquittoBroker
from simulators.plan import Plan
from simulators.process import DaemonProcess
from simulators.rehearse import house
from simulators.rigs import Host
from simulators.scripts import phh
from simulators.through.wires import devices

MOST_PCT = 3.0
"""More than this is too much for a table that waits."""
SETTLE_S = 10.0
"""From the last device's coming up to the first count: what is told anew at the start has been told."""
UP_S = 20.0


HAND = """\
variant = "NT"
antes = [0, 0, 0, 0, 0, 0]
blinds_or_straddles = [50, 100, 0, 0, 0, 0]
min_bet = 100
starting_stacks = [20000, 20000, 20000, 20000, 20000, 20000]
actions = ["d dh p1 2c3c", "d dh p2 4c5c", "d dh p3 6c7c", "d dh p4 8c9c", "d dh p5 2d3d", "d dh p6 4d5d",
           "p3 f", "p4 f", "p5 f", "p6 f", "p1 f"]
"""


def main() -> int:
    """1 where the idle table takes more than ``MOST_PCT`` of one processor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--threads", action="store_true", help="tell the share of each thread")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="felt-idle-") as folder, _table(Path(folder)) as daemon:
        assert daemon.pid is not None
        time.sleep(SETTLE_S)
        before, began = _spent(daemon.pid), time.monotonic()
        time.sleep(asked.seconds)
        after, passed = _spent(daemon.pid), time.monotonic() - began
    used = {
        name: 100 * (spent - before.get(name, 0)) / os.sysconf("SC_CLK_TCK") / passed for name, spent in after.items()
    }
    total = sum(used.values())
    chips = len(six().tokens.at("tray"))
    print(f"{chips} chips in the tray")
    print(
        f"idle table, six devices over wires: {total:.1f} % of one processor over {passed:.0f} s (bar {MOST_PCT:.0f} %)"
    )
    for name, share in sorted(used.items(), key=lambda one: -one[1]) if asked.threads else ():
        print(f"  {name:24} {share:5.2f} %")
    return 0 if total < MOST_PCT else 1


def _spent(pid: int) -> dict[str, int]:
    """Clock ticks of user and system time, by thread."""
    spent = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        spent[task.name] = int(fields[11]) + int(fields[12])
    return spent


def six() -> Plan:
    """Six players at a table of six devices."""
    with tempfile.TemporaryDirectory(prefix="felt-idle-") as folder:
        file = Path(folder) / "hand.phh"
        file.write_text(HAND, encoding="utf-8")
        table = plan.of_script(phh.convert(file), "rs_holdem", *house("rs_holdem"))
    return replace(table, kind="rfid", six=True)


@contextmanager
def _table(folder: Path) -> Iterator[DaemonProcess]:
    table = six()
    with (
        MosquittoBroker(folder) as broker,
        Host(devices(table.layout, folder), folder / "devices.sock") as host,
    ):
        for place, tags in table.tokens.places.items():
            if place in table.layout.watched:
                reader, channel = table.layout.watched[place]
                host.do("put", reader, tags=list(tags), channel=channel)
        path = config.write(table, folder, host.uris, broker.uri, broker.versions[0], folder / "ledger")
        daemon = DaemonProcess(path, 1)
        daemon.start()
        try:
            deadline = time.monotonic() + UP_S
            while set(daemon.ask("status")["status"]["devices"].values()) != {"up"}:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"not all devices are up: {daemon.last_words()}")
                time.sleep(0.1)
            for order in table.opening():
                daemon.ask(order.name, order.args, by=order.by, role=order.role, reason=order.reason)
            yield daemon
        finally:
            daemon.stop()


if __name__ == "__main__":
    sys.exit(main())
