"""What a daemon finds at its start and while it runs: a damaged file, a full one, an old one, a key that is new."""

import json
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from controller.ledger import files
from controller.ledger.keys import create_signing_key, load_verify_key
from controller.ledger.verify import verify
from simulators.broker import MosquittoBroker, mosquitto_program
from tests.running import ROOT, Running, write_config
from tests.waiting import wait_until

pytestmark = [pytest.mark.wires, pytest.mark.timeout(180)]


def more(config: Path, text: str) -> Path:
    config.write_text(config.read_text(encoding="utf-8") + text, encoding="utf-8")
    return config


def signed(folder: Path) -> Path:
    create_signing_key(folder / "signing-key", folder / "signing.pub", test=True)
    return more(write_config(folder), f'[ledger]\nsigning_key = "{folder}/signing-key"\n')


def shift(daemon: Running, seats: int = 4) -> None:
    daemon.do("open", button=1)
    for seat in range(1, seats + 1):
        daemon.do("seat", seat=seat, stack=20_000)


def incidents(daemon: Running) -> list[dict[str, Any]]:
    return [one for one in daemon.status["incidents"] if one["kind"] == "ledger_fault"]


def health(daemon: Running) -> dict[str, Any]:
    told: dict[str, Any] = daemon.tell("health")["health"]
    return told


def feltd(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "controller.cli", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


# ---------------------------------------------------------------- a file that is not what was written


def change_one_row(ledger: Path) -> int:
    """Forge a row that a signature covers: the look at the end does not come so far."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as forger:
        forger.execute("DROP TRIGGER row_is_frozen")
        (row,) = forger.execute("SELECT min(row) FROM row WHERE type = 'chips.bought'").fetchone()
        forger.execute(
            "UPDATE row SET body = CAST(replace(CAST(body AS TEXT), '20000', '90000') AS BLOB) WHERE row = ?", (row,)
        )
    return int(row)


def test_a_changed_row_is_an_incident_and_no_reason_not_to_start(tmp_path: Path) -> None:
    config = signed(tmp_path)
    with Running(config) as daemon:
        shift(daemon)
        daemon.do("close")  # it signs what was before
        assert daemon.stop() == 0
    row = change_one_row(tmp_path / "t07.ledger")
    with Running(config) as daemon:
        wait_until(lambda: incidents(daemon), 30, "the incident of the background check")
        (opened,) = [r for r in daemon.records("incident.opened") if r.data["kind"] == "ledger_fault"]
        assert opened.data["facts"]["first"]["row"] == row
        assert opened.data["code"] == "I-32"
        assert "not whole" in health(daemon)["checks"]["ledger"]
        assert not health(daemon)["ok"]
        done = feltd("health", "--socket", str(daemon.socket))
        assert done.returncode == 5
        assert "not whole" in done.stdout


@pytest.mark.parametrize("session_is_open", [True, False])
def test_a_row_that_is_no_event_any_more_stops_only_a_start_that_needs_it(
    tmp_path: Path, session_is_open: bool
) -> None:
    config = signed(tmp_path)
    with Running(config) as daemon:
        shift(daemon)
        if not session_is_open:
            daemon.do("close")
            daemon.do("open")
        assert daemon.stop() == 0
    with closing(sqlite3.connect(tmp_path / "t07.ledger", isolation_level=None)) as spoiler:
        spoiler.execute("DROP TRIGGER row_is_frozen")
        spoiler.execute(
            "UPDATE row SET body = x'7b22' WHERE row = (SELECT min(row) FROM row WHERE type = 'seat.taken')"
        )
    if session_is_open:
        refused = feltd("run", "-c", str(config))
        assert refused.returncode == 4
        assert "is no event any more and the table cannot be rebuilt: while the daemon is stopped" in refused.stderr
        assert "Traceback" not in refused.stderr
        return
    with Running(config) as daemon:
        wait_until(lambda: incidents(daemon), 30, "the incident of the background check")


def test_a_corrupt_page_is_an_incident(tmp_path: Path) -> None:
    config = signed(tmp_path)
    with Running(config) as daemon:
        shift(daemon)
        for _ in range(80):
            daemon.do("attest", rule="RS-1.1", statement="a" * 60)
        daemon.do("close")
        shift(daemon, seats=2)
        assert daemon.stop() == 0
    ledger = tmp_path / "t07.ledger"
    with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (page,) = (
            connection.execute(
                "SELECT pageno FROM dbstat WHERE name = 'row' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1 OFFSET 3"
            ).fetchone()
            if _has_dbstat(connection)
            else (12,)
        )
    with ledger.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
    assert not verify(ledger).ok
    with Running(config) as daemon:
        wait_until(lambda: incidents(daemon), 30, "the incident of the background check")


def _has_dbstat(connection: sqlite3.Connection) -> bool:
    return any("DBSTAT" in option for (option,) in connection.execute("PRAGMA compile_options"))


# ---------------------------------------------------------------- a file that is full


def test_a_full_ledger_is_told_and_bars_new_hands_only(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    with Running(config) as daemon:
        shift(daemon)
        assert daemon.stop() == 0
    with closing(sqlite3.connect(tmp_path / "t07.ledger", isolation_level=None)) as filler:
        filler.execute("CREATE TABLE filler (x)")
        filler.execute("INSERT INTO filler VALUES (zeroblob(65000000))")
        filler.execute("DROP TABLE filler")  # its pages stay
        filler.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    more(config, "[ledger]\nlimit_mb = 64\narchive_mb = 64\n")
    with Running(config) as daemon:
        wait_until(lambda: daemon.records("ledger.filling"), what="ledger.filling")
        told = daemon.records("ledger.filling")[-1].data
        assert told["new_hands_refused"]
        assert told["used"] >= told["limit"] == 64_000_000
        assert told["oldest_unsent"]["sequence"]
        assert daemon.do("seat", seat=6, stack=20_000), "records are never refused"
        assert "% full" in health(daemon)["checks"]["ledger"]
    with closing(sqlite3.connect(tmp_path / "t07.ledger", isolation_level=None)) as filler:
        filler.execute("VACUUM")
        filler.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with Running(config) as daemon:
        wait_until(lambda: not daemon.records("ledger.filling")[-1].data["new_hands_refused"], what="room again")


# ---------------------------------------------------------------- health and numbers


def test_a_table_that_is_well_says_so_and_counts(tmp_path: Path) -> None:
    config = more(write_config(tmp_path), "[metrics]\nport = 0\n")
    with Running(config) as daemon:
        wait_until(lambda: health(daemon)["ledger"]["checked"] is not None, 20, "the background check")
        told = health(daemon)
        assert told["ok"], told
        assert feltd("health", "-c", str(config), "--json").returncode == 0
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.ready['metrics']}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        assert "feltd_outbox_rows " in text
        assert "feltd_incidents_open 0" in text
        assert daemon.stop() == 0
    assert feltd("health", "--socket", str(daemon.socket)).returncode == 3


# ---------------------------------------------------------------- keys and archives


def test_a_new_signing_key_takes_over_at_a_start(tmp_path: Path) -> None:
    config = signed(tmp_path)
    with Running(config) as daemon:
        shift(daemon)
        assert daemon.stop() == 0
    create_signing_key(tmp_path / "second-key", tmp_path / "second.pub", test=True)
    text = config.read_text().replace(f'"{tmp_path}/signing-key"', f'"{tmp_path}/second-key"')
    config.write_text(text)
    refused = feltd("run", "-c", str(config))
    assert refused.returncode == 2
    assert "signing_key_before" in refused.stderr
    config.write_text(text + f'signing_key_before = "{tmp_path}/signing-key"\n')
    with Running(config) as daemon:
        assert daemon.records("key.rotated")
        assert daemon.stop() == 0
    assert verify(daemon.ledger, public_keys=[load_verify_key(tmp_path / "signing.pub")]).ok


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MosquittoBroker]:
    if mosquitto_program() is None:
        pytest.skip("mosquitto is not installed")
    with MosquittoBroker(tmp_path) as made:
        yield made


def test_a_large_ledger_is_archived_at_a_start_and_the_table_goes_on(tmp_path: Path, broker: MosquittoBroker) -> None:
    config = more(write_config(tmp_path), f'[broker]\nuri = "{broker.uri}"\n[ledger]\narchive_mb = 1\n')
    with Running(config) as daemon:
        shift(daemon)
        daemon.do("close")
        assert daemon.stop() == 0
    day, first = daemon.records("table.opened")[0].data["counters"]["openings"], daemon.ready
    assert first["table"] == "t07"
    with closing(sqlite3.connect(tmp_path / "t07.ledger", isolation_level=None)) as filler:
        filler.execute("CREATE TABLE filler (x)")
        filler.execute("INSERT INTO filler VALUES (zeroblob(1500000))")
        filler.execute("DROP TABLE filler")  # its pages stay
        (left,) = filler.execute("SELECT count(*) FROM row WHERE acked = 0").fetchone()
        filler.execute("UPDATE row SET acked = 1")
        filler.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert left < 5, "what the end itself had to say"
    with Running(config) as daemon:
        assert len(files.archived(daemon.ledger)) == 1
        began = daemon.records("ledger.began")[0].data
        assert began["reason"] == "archived"
        assert daemon.records("daemon.started")[0].data["reason"] == "start", "the end before was in order"
        daemon.do("open", button=1)
        assert daemon.records("table.opened")[0].data["counters"]["openings"] == day + 1
        assert daemon.stop() == 0
    (old,) = files.archived(daemon.ledger)
    assert verify(old).ok
    shown = feltd("ledger", "archives", str(daemon.ledger), "--json")
    assert json.loads(shown.stdout)[0]["ledger"] == began["previous"]["ledger"]
