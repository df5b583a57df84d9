"""Kills a table at random moments while it is played, kills its broker too, and looks at what is left.

``python -m tests.soak.crash [--kills 1000] [--seed 1]`` plays and prints figures. It ends with 1 when one of them is
wrong, and with 3 when something was waited for in vain: that can be the machine.
Ctrl-C ends the killing early; what was played until then is looked at all the same.
"""

import argparse
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from random import Random

from controller.ledger.keys import create_auditor_key, create_signing_key
from simulators.broker import MosquittoBroker
from simulators.rigs import Host
from tests.running import ROOT, command, write_config
from tests.soak.looking import Figures, Script, look, shoe_numbers
from tests.soak.office import Ear, Office
from tests.soak.table import Table
from tests.waiting import InVain, wait_until, wait_while_it_falls

SHORTEST_S, LONGEST_S = 0.05, 1.2
WHILE_STARTING = 0.15
"""How many of the kills come before the table is ready."""
SESSION = 40
"""After so many kills the table is closed and opened again: a start reads what came since the last opening."""
# Saved every second, not at every change: that is a save of everything for each message, and on a slow disk the broker
# then takes 40 a second. What a killed broker loses by it is made good by replay, and counted.
BROKER = """\
listener {{port}} {{host}}
allow_anonymous true
user root
persistence true
persistence_location {folder}/
autosave_interval 1
max_queued_messages 0
set_tcp_nodelay true
"""
MORE = """
[ledger]
signing_key = "{folder}/signing-key"
auditor_public_key = "{folder}/auditor.pub"
[broker]
uri = "{uri}"
[broker.readers]
office = ["play", "cash", "ops", "guard"]
"""


def crash(folder: Path, kills: int, seed: int, enough: threading.Event | None = None) -> Figures:
    """Play and kill ``kills`` times, or until it is enough; then look at what is left."""
    chance, figures = Random(seed), Figures()
    broker = MosquittoBroker(folder, basic=BROKER.format(folder=folder))
    create_signing_key(folder / "signing-key", folder / "signing.pub", test=True)
    create_auditor_key(folder / "auditor-key", folder / "auditor.pub")
    devices = [{"name": "shoe0", "driver": "shoe"}, {"name": "keys0", "driver": "keypad"}]
    with broker, Host(devices, folder / "host.sock") as host:
        uris = {"shoe0": ("shoe", host.uris["shoe0"]), "keys0": ("keypad", host.uris["keys0"])}
        config = write_config(folder, uris)
        config.write_text(config.read_text() + MORE.format(folder=folder, uri=broker.uri))
        office, ear, table = Office(folder, broker), Ear(broker), Table(folder, config, host, chance)
        office.start()
        try:
            while figures.kills < kills and not (enough is not None and enough.is_set()):
                _one(table, broker, ear, chance, figures)
            _last(table, figures)
        finally:
            if table.daemon is not None:
                table.daemon.kill()
            office.stop()
        _deliver(table, office, figures)
        ear.close()
        look(folder, office, ear, Script(table.slid, table.pressed), figures)
    return figures


def _one(table: Table, broker: MosquittoBroker, ear: Ear, chance: Random, figures: Figures) -> None:
    """Start, play, kill; and now and then the broker too. Some kills come while it starts or comes back."""
    if figures.kills and chance.random() < WHILE_STARTING:
        daemon = subprocess.Popen(command(table.config), cwd=ROOT, stderr=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            daemon.wait(chance.uniform(0, max(figures.ready_ms) / 1000))
        daemon.kill()
        daemon.wait()
        figures.while_starting += 1
    else:
        _play(table, broker, ear, chance, figures)
    figures.kills += 1
    confirmed = len(table.slid) - table.unconfirmed()
    recorded = _cards_on_record(table.folder / "t07.ledger")
    if confirmed > recorded:
        figures.wrong.append(f"kill {figures.kills}: card {confirmed} was acknowledged, {recorded} is on record")


def _play(table: Table, broker: MosquittoBroker, ear: Ear, chance: Random, figures: Figures) -> None:
    table.anew = table.anew or figures.kills % SESSION == SESSION - 1
    table.start()
    daemon = table.daemon
    assert daemon is not None
    figures.ready_ms.append(daemon.ready["after_ms"])
    left = chance.uniform(SHORTEST_S, LONGEST_S)
    killer = threading.Timer(left, daemon.process.kill)
    how = chance.random()
    trouble = threading.Timer(chance.uniform(0, left), _trouble, (broker, table, ear, figures, how < 0.1, how < 0.05))
    killer.start()
    if how < 0.2:
        trouble.start()
    table.play_until(time.monotonic() + left + 1)
    killer.join()
    daemon.kill()
    if how < 0.2:
        trouble.join()
        broker.start()


def _trouble(broker: MosquittoBroker, table: Table, ear: Ear, figures: Figures, kill: bool, back: bool) -> None:
    """The broker goes, and comes back at once or after the table was killed."""
    if kill:
        broker.kill()
        ear.heard.broker_killed(_count(table.folder / "t07.ledger", "SELECT value FROM meta WHERE name = 'session'"))
        figures.broker_kills += 1
    else:
        broker.stop()
        figures.broker_stops += 1
    if back:
        broker.start()


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
    wait_while_it_falls(lambda: _unsent(daemon.ledger), 60, "rows that are not sent")
    figures.by_replay = office.catch_up()["stored"]
    office.start()
    if daemon.stop() != 0:
        figures.wrong.append("the end after the delivery was not in order")
    # What the stop itself has recorded is sent before the process ends, and the office listens.
    if left := _unsent(daemon.ledger):
        figures.wrong.append(f"{left} rows were not sent before the end")
    wait_while_it_falls(lambda: _rows(daemon.ledger) - office.count(), 60, "rows that the office has not got")
    office.stop()


def _cards_on_record(ledger: Path) -> int:
    """The number of the last card that the ledger holds."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        bodies = connection.execute(
            "SELECT body FROM row WHERE instr(CAST(body AS TEXT), '\"shoe0\"') ORDER BY row DESC LIMIT 200"
        )
        cited = [number for (body,) in bodies for number in shoe_numbers(json.loads(body)["data"])]
    return max(cited, default=0)


def _unsent(ledger: Path) -> int:
    return _count(ledger, "SELECT count(*) FROM row WHERE acked = 0")


def _rows(ledger: Path) -> int:
    return _count(ledger, "SELECT count(*) FROM row")


def _count(ledger: Path, query: str) -> int:
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute(query).fetchone()
    return int(count)


def main() -> int:
    """Print the figures; 1 when something is wrong, 3 when it did not come to that."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    enough = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: enough.set())
    folder, began = Path(tempfile.mkdtemp(prefix="felt-soak-")), time.monotonic()
    sys.stderr.write(f"{folder} is kept where something is wrong\n")
    try:
        figures = crash(folder, options.kills, options.seed, enough)
    except (InVain, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"{error}\n")
        return 3
    took = time.monotonic() - began
    sys.stdout.write(f"{figures}\n{took:.0f} s, {took / max(1, figures.kills):.1f} s a kill\n")
    if figures.wrong:
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
