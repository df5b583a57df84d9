"""A real daemon on a file with a damaged page: it is refused in plain words, or plays on and says so (I-32)."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.running import ROOT, Running, write_config
from tests.waiting import wait_until

pytestmark = pytest.mark.wires
PAGE = 4096
STARTS = ["image", "withheld", "row_hand", "row_login"]
INDEXES = ["row_signed", "row_opened", "row_unacked", "sqlite_autoindex_row_1"]
REFUSED = ["row", "head", *INDEXES]


def damage(ledger: Path, name: str) -> None:
    """Zeros in the place of the first page of a table or an index."""
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    with ledger.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    config = write_config(tmp_path)
    with Running(config) as daemon:
        daemon.do("open", button=1)
        daemon.do("seat", seat=1, stack=20_000)
        assert daemon.stop() == 0
    return config


@pytest.mark.parametrize("name", STARTS)
def test_it_plays_on_and_says_so(config: Path, tmp_path: Path, name: str) -> None:
    damage(tmp_path / "t07.ledger", name)
    with Running(config) as daemon:
        wait_until(lambda: daemon.status["incidents"], 30, "an incident")
        assert [(one["code"], one["kind"]) for one in daemon.status["incidents"]] == [("I-32", "ledger_fault")]
        assert "not whole" in daemon.tell("health")["health"]["checks"]["ledger"]
        assert daemon.status["seats"], "it was rebuilt from its records"


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_in_plain_words(config: Path, tmp_path: Path, name: str) -> None:
    damage(tmp_path / "t07.ledger", name)
    command = [sys.executable, "-m", "controller.cli", "run", "-c", str(config)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "feltd verify" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", INDEXES)
def test_it_starts_again_once_its_indexes_were_built_anew(config: Path, tmp_path: Path, name: str) -> None:
    damage(tmp_path / "t07.ledger", name)
    command = [sys.executable, "-m", "controller.cli", "ledger", "compact", str(tmp_path / "t07.ledger")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    with Running(config) as daemon:
        assert daemon.status["seats"], "it was rebuilt from its records"
        wait_until(lambda: daemon.tell("health")["health"]["ledger"]["checked"], 30, "the whole file checked")
        assert daemon.status["incidents"] == []


def edit(ledger: Path, script: str) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        connection.executescript(script)


def test_what_acts_on_its_rows_is_refused_until_the_file_is_made_anew(config: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "t07.ledger"
    edit(ledger, "CREATE TRIGGER evil AFTER INSERT ON row BEGIN UPDATE row SET acked = 1 WHERE row = new.row; END")
    command = [sys.executable, "-m", "controller.cli"]
    run = [*command, "run", "-c", str(config)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "trigger evil" in done.stderr) == (4, True), done.stderr
    assert "feltd ledger compact" in done.stderr
    compact = [*command, "ledger", "compact", str(ledger)]
    assert subprocess.run(compact, cwd=ROOT, timeout=60, check=False).returncode == 0
    with Running(config) as daemon:
        assert daemon.status["seats"], "it was rebuilt from its records"
        wait_until(lambda: daemon.tell("health")["health"]["ledger"]["checked"], 30, "the whole file checked")
        assert daemon.status["incidents"] == []


def test_what_only_lies_in_it_is_an_incident(config: Path, tmp_path: Path) -> None:
    edit(tmp_path / "t07.ledger", "CREATE TABLE notes (text)")
    with Running(config) as daemon:
        wait_until(lambda: daemon.status["incidents"], 30, "an incident")
        assert [(one["code"], one["kind"]) for one in daemon.status["incidents"]] == [("I-32", "ledger_fault")]
        assert "not whole" in daemon.tell("health")["health"]["checks"]["ledger"]
        wait_until(lambda: daemon.tell("health")["health"]["ledger"]["checked"], 30, "the whole file checked")
        assert len(daemon.status["incidents"]) == 1, "the check behind it tells the same"


def test_no_ledger_is_begun_over_the_log_of_one_that_was_taken_away(tmp_path: Path) -> None:
    config, ledger, away = write_config(tmp_path), tmp_path / "t07.ledger", tmp_path / "away"
    with Running(config) as daemon:
        daemon.do("open", button=1)
        daemon.do("seat", seat=1, stack=20_000)
        rows = len(daemon.records())
        daemon.kill()
    ledger.rename(away)
    command = [sys.executable, "-m", "controller.cli", "run", "-c", str(config)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "committed rows may be in t07.ledger-wal alone" in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
    assert not ledger.exists()
    away.rename(ledger)
    with Running(config) as daemon:
        assert len(daemon.records()) > rows, "all that was committed, and the start"
        assert daemon.status["seats"]
