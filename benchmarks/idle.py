"""The processor time of a table at which nobody plays: six devices of six makes over wires, a full tray, six players.

The daemon runs as it would: devices on pty, TCP and USB/IP, a broker, real time, no capture. What is measured is its
process alone, by the kernel's count, thread by thread with ``--threads``.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from simulators.through.standing import standing

MOST_PCT = 3.0
"""More than this is too much for a table that waits."""
SETTLE_S = 10.0
"""From the last device's coming up to the first count: what is told anew at the start has been told."""


def main() -> int:
    """1 where the idle table takes more than ``MOST_PCT`` of one processor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--threads", action="store_true", help="tell the share of each thread")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="felt-idle-") as folder, standing(Path(folder)) as table:
        assert table.daemon.pid is not None
        time.sleep(SETTLE_S)
        before, began = _spent(table.daemon.pid), time.monotonic()
        time.sleep(asked.seconds)
        after, passed = _spent(table.daemon.pid), time.monotonic() - began
        chips = len(table.plan.tokens.at("tray"))
    tick = os.sysconf("SC_CLK_TCK") * passed / 100
    used = {name: (spent - before.get(name, 0)) / tick for name, spent in after.items()}
    total = sum(used.values())
    print(
        f"idle table, six devices over wires, {chips} chips in the tray: "
        f"{total:.1f} % of one processor over {passed:.0f} s (bar {MOST_PCT:.0f} %)"
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


if __name__ == "__main__":
    sys.exit(main())
