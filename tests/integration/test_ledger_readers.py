"""A reader in another process, however short, costs the daemon nothing."""

import subprocess
import sys
from pathlib import Path

from controller.contract.topics import Source
from controller.core.records import Record
from controller.ledger.keys import Keys
from controller.ledger.outbox import Outbox
from controller.ledger.store import Ledger

LOOK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*), sum(acked) FROM row").fetchone())
connection.close()
"""


def look(path: Path) -> str:
    command = [sys.executable, "-c", LOOK, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def test_a_reader_that_comes_and_goes_does_not_take_the_log_away(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    keys = Keys.load(device=tmp_path / "device-key", create=True)
    ledger = Ledger.open(path, source=Source("zg1", "t07"), test=True, keys=keys)
    outbox = Outbox(path)
    try:
        for count in range(2, 5):
            # The reader is the only one of its process; its close must not pass for the last one of all.
            look(path)
            ledger.append([Record("ops", "daemon.started", "t07", {})], 1_796_000_000_000_000_000)
            outbox.mark_acked([count])
            assert look(path) == f"({count}, {count - 1})"
    finally:
        outbox.close()
        ledger.close()
