"""A process that writes a ledger on a disk that may fail: python -m tests.writing_process FOLDER HANDS.

It says how far it is after each append that it was told is durable, and why after one that was not. Like the daemon
it tries a record once more, and ends when that fails too.
"""

import json
import sys
from pathlib import Path

from controller.core.records import Record
from controller.ledger.errors import AppendFailed, LedgerError
from controller.ledger.store import Ledger
from tests.ledgers import WALL, Desk, hand_records


def main(folder: Path, hands: int) -> int:
    try:
        ledger = Desk(folder).open()
    except LedgerError as error:
        say({"refused": str(error)})
        return 3
    with ledger:
        first = ledger.row
        say({"row": first})
        for number in range(hands):
            for record in hand_records(f"h{first}-{number}"):
                if not (append(ledger, record) or append(ledger, record)):
                    return 4
                heads = {stream: ledger.head(stream).to_json() for stream in ("play", "ops", "cash", "guard")}
                say({"row": ledger.row, "ledger": ledger.id, "heads": heads})
    return 0


def append(ledger: Ledger, record: Record) -> bool:
    try:
        ledger.append([record], WALL)
    except AppendFailed as error:
        say({"failed": str(error)})
        return False
    return True


def say(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
