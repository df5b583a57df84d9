"""Kills a table at random moments while it is played, kills its broker too, and looks at what is left.

``python -m tests.soak.crash [--kills 1000] [--seed 1]`` plays, prints figures, and fails when one of them is wrong.
"""

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from controller.ledger.keys import create_signing_key, load_verify_key
from controller.ledger.reading import read_records
from controller.ledger.verify import verify
from simulators.broker import MosquittoBroker
from simulators.rigs import Host
from tests.running import ROOT, write_config
from tests.soak.table import Table
from tests.waiting import wait_until

SHORTEST_S, LONGEST_S = 0.05, 1.2
BROKER = """\
listener {{port}} {{host}}
allow_anonymous true
user root
persistence true
persistence_location {folder}/
autosave_on_changes true
autosave_interval 1
max_queued_messages 0
set_tcp_nodelay true
"""
MORE = """
[ledger]
signing_key = "{folder}/signing-key"
[broker]
uri = "{uri}"
[broker.readers]
office = ["play", "cash", "ops", "guard"]
"""


@dataclass(slots=True)
class Figures:
    """What happened. ``wrong`` is empty when all is as it must be."""

    kills: int = 0
    broker_kills: int = 0
    broker_stops: int = 0
    rows: int = 0
    hands: int = 0
    hands_void: int = 0
    stored: int = 0
    repeated: int = 0
    by_replay: int = 0
    recoveries: int = 0
    slowest_ready_ms: int = 0
    incidents: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{self.kills} kills of the table, {self.broker_kills} kills and {self.broker_stops} stops of the broker",
            f"{self.rows} rows on record, {self.hands} hands closed, {self.hands_void} void",
            f"{self.stored} events delivered, {self.repeated} of them more than once, {self.by_replay} by replay",
            f"{self.recoveries} recoveries, the slowest start ready after {self.slowest_ready_ms} ms",
            f"incidents: {dict(self.incidents) or 'none'}",
        ]
        return "\n".join([*lines, *(f"WRONG: {what}" for what in self.wrong)])


class Office:
    """``feltoffice follow`` in a process of its own, from the first event on."""

    def __init__(self, folder: Path, broker: MosquittoBroker) -> None:
        self.store = folder / "office.db"
        self._uri = broker.uri
        self._run("enrol", str(self.store), "zg1/t07", "--key", str(folder / "signing.pub"), "--test")
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Listen."""
        command = [sys.executable, "-m", "backoffice.cli", "follow", str(self.store), "--broker", self._uri]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stop(self) -> dict[str, Any]:
        """End it; what it says of itself."""
        assert self._process is not None
        self._process.terminate()
        out, err = self._process.communicate(timeout=60)
        if self._process.returncode:
            raise RuntimeError(f"the office ended with {self._process.returncode}: {err}")
        told: dict[str, Any] = json.loads(out)
        return told

    def catch_up(self) -> dict[str, Any]:
        """Ask for all that is missing, until nothing is."""
        told: dict[str, Any] = json.loads(
            self._run("follow", str(self.store), "--broker", self._uri, "--until-quiet", "--seconds", "120")
        )
        return told

    def verify(self) -> str:
        """Its own word on what it has stored."""
        return self._run("verify", str(self.store))

    def bodies(self) -> list[bytes]:
        """What it has stored, in the order of the table."""
        with closing(sqlite3.connect(self.store)) as connection:
            return [body for (body,) in connection.execute("select payload from event order by row_no")]

    def out_of_order(self) -> int:
        """How many events came after a later one of their stream: only a replay may do that."""
        with closing(sqlite3.connect(self.store)) as connection:
            heard = connection.execute("select source, sequence from event order by rowid").fetchall()
        highest: dict[str, str] = {}
        late = 0
        for source, sequence in heard:
            late += sequence < highest.get(source, "")
            highest[source] = max(highest.get(source, ""), sequence)
        return late

    @staticmethod
    def _run(*arguments: str) -> str:
        command = [sys.executable, "-m", "backoffice.cli", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)
        if done.returncode:
            raise RuntimeError(f"feltoffice {arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout


def crash(folder: Path, kills: int, seed: int, until: float | None = None) -> Figures:
    """Play and kill ``kills`` times, or until a moment of the monotonic clock; then look at what is left."""
    chance, figures = Random(seed), Figures()
    broker = MosquittoBroker(folder, basic=BROKER.format(folder=folder))
    create_signing_key(folder / "signing-key", folder / "signing.pub", test=True)
    devices = [{"name": "shoe0", "driver": "shoe"}, {"name": "keys0", "driver": "keypad"}]
    with broker, Host(devices, folder / "host.sock") as host:
        uris = {"shoe0": ("shoe", host.uris["shoe0"]), "keys0": ("keypad", host.uris["keys0"])}
        config = write_config(folder, uris)
        config.write_text(config.read_text() + MORE.format(folder=folder, uri=broker.uri))
        office, table = Office(folder, broker), Table(folder, config, host, chance)
        office.start()
        try:
            while figures.kills < kills and (until is None or time.monotonic() < until):
                _one(table, broker, chance, figures)
            _last(table, figures)
        finally:
            if table.daemon is not None:
                table.daemon.kill()
            told = office.stop()
        figures.repeated = told["repeated"]
        _deliver(table, office, figures)
        _look(folder, office, figures)
    return figures


def _one(table: Table, broker: MosquittoBroker, chance: Random, figures: Figures) -> None:
    """Start, play, kill; and now and then the broker too."""
    table.start()
    daemon = table.daemon
    assert daemon is not None
    figures.slowest_ready_ms = max(figures.slowest_ready_ms, daemon.ready["after_ms"])
    left = chance.uniform(SHORTEST_S, LONGEST_S)
    killer = threading.Timer(left, daemon.process.kill)
    killer.start()
    how = chance.random()
    if how < 0.1:
        broker.kill()
        figures.broker_kills += 1
    elif how < 0.2:
        broker.stop()
        figures.broker_stops += 1
    table.play_until(time.monotonic() + left + 1)
    killer.join()
    daemon.kill()
    if how < 0.2:
        broker.start()
    figures.kills += 1
    acknowledged = table.slid - table.unconfirmed()
    recorded = _cards_on_record(daemon.ledger)
    if acknowledged > recorded:
        figures.wrong.append(f"kill {figures.kills}: card {acknowledged} was acknowledged, {recorded} is on record")


def _last(table: Table, figures: Figures) -> None:
    """Once more without a kill, to the end of a hand."""
    table.start()
    daemon = table.daemon
    assert daemon is not None
    closed = len(daemon.records("hand.closed", "hand.voided"))
    deadline = time.monotonic() + 60
    while len(daemon.records("hand.closed", "hand.voided")) == closed and time.monotonic() < deadline:
        table.play_until(time.monotonic() + 0.5)
    wait_until(lambda: table.unconfirmed() == 0, 20, "every card acknowledged")
    if daemon.stop() != 0:
        figures.wrong.append("the last end was not in order")


def _deliver(table: Table, office: Office, figures: Figures) -> None:
    """Everything that is committed reaches the broker, and the office, whatever was lost on the way."""
    table.start()
    daemon = table.daemon
    assert daemon is not None
    wait_until(lambda: _unsent(daemon.ledger) == 0, 60, "everything sent")
    figures.by_replay = office.catch_up()["stored"]
    if daemon.stop() != 0:
        figures.wrong.append("the end after the delivery was not in order")
    # What the stop itself has recorded and flushed, or will be flushed at the next start.
    table.start()
    wait_until(lambda: _unsent(table.daemon.ledger) == 0, 60, "everything sent")  # type: ignore[union-attr]
    figures.by_replay += office.catch_up()["stored"]
    table.daemon.kill()  # type: ignore[union-attr]


def _look(folder: Path, office: Office, figures: Figures) -> None:
    """Hold what is left against what must be."""
    ledger = folder / "t07.ledger"
    report = verify(ledger, public_keys=[load_verify_key(folder / "signing.pub")])
    figures.rows = report.rows
    figures.wrong += [f"ledger: {fault}" for fault in report.faults]
    with closing(sqlite3.connect(ledger)) as connection:
        written = [body for (body,) in connection.execute("SELECT body FROM row ORDER BY row")]
    kept = office.bodies()
    figures.stored = len(kept)
    if kept != written[: len(kept)] or len(written) - len(kept) > MOST_OF_THE_LAST_START:
        figures.wrong.append(f"{len(written)} rows were committed, {len(kept)} are delivered, or in another form")
    late = office.out_of_order()
    if late > figures.by_replay and late > figures.stored - figures.by_replay:
        figures.wrong.append(f"{late} events came out of their order")
    office.verify()
    _hands(ledger, figures)


MOST_OF_THE_LAST_START = 40
"""What the last daemon may have recorded between the last look of the office and its own end."""


def _hands(ledger: Path, figures: Figures) -> None:
    """Every hand ends once, its money adds up, and each one begins with the stacks that the one before left."""
    records = list(read_records(ledger))
    open_hand, stacks = None, dict[int, int]()
    for record in records:
        data = record.data
        match record.type:
            case "hand.started":
                if open_hand is not None:
                    figures.wrong.append(f"{record.hand} began before {open_hand} had ended")
                open_hand = record.hand
                for line in data["seats"]:
                    if line["dealt_in"] and stacks.get(line["seat"], line["stack"]) != line["stack"]:
                        figures.wrong.append(f"{record.hand}: seat {line['seat']} begins with another stack")
            case "hand.closed":
                figures.hands += 1
                open_hand = None
                result = data["result"]
                if sum(line["net"] for line in result["seats"]) + result["rake"] + result["tips"]:
                    figures.wrong.append(f"{record.hand}: the money does not add up")
                stacks |= {line["seat"]: line["stack_after"] for line in result["seats"]}
            case "hand.voided":
                figures.hands_void += 1
                open_hand = None
            case "incident.opened":
                figures.incidents[data["code"]] += 1
            case "recovery.completed":
                figures.recoveries += 1
            case "chips.bought":
                stacks[data["seat"]] = data["stack_after"]
    numbers = [record.data["number"] for record in records if record.type == "hand.started"]
    for before, after in pairwise(numbers):
        if after not in (before + 1, 1):
            figures.wrong.append(f"hand {after} follows hand {before}")
    unforeseen = {code: count for code, count in figures.incidents.items() if code != "I-33"}
    if unforeseen:
        figures.wrong.append(f"incidents without a cause: {unforeseen}")


def _cards_on_record(ledger: Path) -> int:
    """The number of the last card that the ledger holds."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        bodies = connection.execute(
            "SELECT body FROM row WHERE instr(CAST(body AS TEXT), '\"shoe0\"') ORDER BY row DESC LIMIT 200"
        )
        cited = [
            int(source["reading"])
            for (body,) in bodies
            for source in json.loads(body)["data"].get("evidence", ())
            if source["device"] == "shoe0"
        ]
    return max(cited, default=0)


def _unsent(ledger: Path) -> int:
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM row WHERE acked = 0").fetchone()
    return int(count)


def main() -> int:
    """Print the figures; 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="felt-soak-") as folder:
        began = time.monotonic()
        figures = crash(Path(folder), options.kills, options.seed)
        sys.stdout.write(f"{figures}\n{time.monotonic() - began:.0f} s\n")
    return 1 if figures.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
