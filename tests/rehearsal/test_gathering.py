"""The bundle of a case that failed on a rig: all that its table left behind, or what could not be had and why."""

import json
import sqlite3
from pathlib import Path

import pytest

from controller.ledger.reading import read_records
from simulators import rig as rigs
from simulators.errors import RigError
from simulators.gathering import Gathering
from simulators.process import DaemonProcess, feltd
from simulators.reach import Done, Here
from simulators.rehearse import main
from simulators.verdict import Exit
from tests.rigging import DEALT, standing

WRONG = f'{DEALT}expect = [{{ event = "deck.changed" }}]\n'


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(120)
def test_the_bundle_of_a_rig_has_log_ledger_and_configuration(tmp_path: Path) -> None:
    bundles, report = tmp_path / "bundles", tmp_path / "report.json"
    with standing(tmp_path, WRONG) as rig:
        (tmp_path / "feltd.log").write_text("of an earlier night\n", encoding="utf-8")
        asked = [str(rig.script), "--rig", str(rig.file), "--as", "hand[dealt][shoe]"]
        assert main([*asked, "--bundles", str(bundles), "--report", str(report)]) == Exit.PRODUCT
    (folder,) = bundles.iterdir()
    names = {file.name for file in folder.iterdir()}
    assert names >= {"feltd.log", "ledger", "table.toml", "rig.toml", "chips.toml", "chips.csv", "capture.pcapng"}
    assert not any("key" in name for name in names)
    assert feltd("verify", str(folder / "ledger")).returncode == 0
    events = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(list(read_records(folder / "ledger"))) == len(events) > 10
    log = (folder / "feltd.log").read_text(encoding="utf-8")
    assert "ready" in log
    assert "earlier" not in log
    kept = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    assert kept["outcome"] == "failed"
    assert not any("not in the bundle" in note for note in kept["notes"])


class Dark(Here):
    """A machine that does not answer."""

    def run(self, *command: str) -> Done:
        raise RigError("ssh://dut: no answer")


@pytest.mark.wires
def test_what_could_not_be_had_is_told_with_the_reason(tmp_path: Path) -> None:
    with standing(tmp_path) as rig:
        rig.changed(rig.file, 'start = "exec:feltd run"\n', "")
        kept = tmp_path / "kept"
        kept.mkdir()
        daemon = DaemonProcess(rig.table, 1)

        missing = Gathering(rigs.read(rig.file), Here(), kept).all(daemon, 0)
        told = {line.partition(": ")[0]: line for line in missing}
        assert set(told) == {"ledger", "feltd.log", "capture.pcapng"}
        assert "unable to open database file" in told["ledger"]
        assert "did not start this daemon" in told["feltd.log"]

        rig.changed(rig.file, "[dut]", '[dut]\nstart = "systemd:feltd@t07"')
        told = {line.partition(": ")[0]: line for line in Gathering(rigs.read(rig.file), Dark(), kept).all(daemon, 0)}
        assert set(told) == {"ledger", "feltd.log", "capture.pcapng", "chips.toml", "chips.csv"}
        assert all("ssh://dut: no answer" in told[name] for name in set(told) - {"capture.pcapng"})
        assert {"rig.toml", "table.toml"} <= {file.name for file in kept.iterdir()}


@pytest.mark.wires
def test_a_ledger_is_fetched_whole_though_its_daemon_goes_on_writing(tmp_path: Path) -> None:
    """Its newest rows lie beside it in a file of their own until they are brought into it."""
    with standing(tmp_path) as rig:
        kept = tmp_path / "kept"
        kept.mkdir()
        writer = sqlite3.connect(tmp_path / "ledger")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE row (row INTEGER PRIMARY KEY)")
        writer.executemany("INSERT INTO row VALUES (?)", [(number,) for number in range(100)])
        writer.commit()
        Gathering(rigs.read(rig.file), Here(), kept).all(DaemonProcess(rig.table, 1), 0)
        writer.close()
        copy = sqlite3.connect(kept / "ledger")
        assert copy.execute("SELECT count(*) FROM row").fetchone() == (100,)
        copy.close()
