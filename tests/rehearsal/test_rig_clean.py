"""A second night on a rig that starts its daemon: one command puts aside what the first left, and nothing else."""

import shutil
import subprocess
from pathlib import Path

import pytest

from controller.contract.topics import Source
from controller.ledger.keys import Keys
from controller.ledger.store import Ledger
from simulators import brokerat, cli, rigclean
from simulators import rig as rigs
from simulators.errors import RigError
from simulators.rehearse import main
from simulators.verdict import Exit
from tests.rigging import DEALT, Standing, standing

OWN = "felt-test/v1/rig/t01"


def begun(rig: Standing, *, test: bool = True, path: Path | None = None) -> Ledger:
    """A ledger of the rig's table, as an earlier run has left it."""
    path = path or rig.table.with_name("ledger")
    keys = Keys.load(device=Path(f"{path}.device-key"), auditor=None, signing=None, create=True)
    return Ledger.open(path, source=Source("rig", "t01"), test=test, keys=keys, wall_ns=1_800_000_000_000_000_000)


def lay(rig: Standing, *topics: str) -> None:
    """Something retained at the broker."""
    at = rigs.read(rig.file).broker
    client = at.client("other", clean=True)
    brokerat.connect(client, at)
    for topic in topics:
        client.publish(topic, "{}", qos=1, retain=True).wait_for_publish(10)
    client.disconnect()
    client.loop_stop()


@pytest.mark.wires
def test_what_an_earlier_run_left_is_put_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with standing(tmp_path) as rig:
        read = rigs.read(rig.file)
        for night in range(2):
            begun(rig).close()
            lay(rig, f"{OWN}/state", f"{OWN}/ops/what")
            assert main([str(rig.script), "--rig", str(rig.file)]) == Exit.RIG
            assert "feltsim rig clean --rig" in capsys.readouterr().err
            assert cli.main(["rig", "clean", "--rig", str(rig.file)]) == Exit.PASSED
            told = capsys.readouterr().out
            assert "put aside as" in told, night
            assert "2 retained messages" in told
            assert brokerat.retained(read.broker, "look") == []
            assert not (tmp_path / "ledger").exists()
            assert (tmp_path / "ledger.before").exists()
        assert cli.main(["rig", "clean", "--rig", str(rig.file)]) == Exit.PASSED
        assert capsys.readouterr().out == "nothing lies there\n"


@pytest.mark.wires
def test_nothing_is_touched_that_is_not_the_rigs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with standing(tmp_path) as rig:
        read, command = rigs.read(rig.file), ["rig", "clean", "--rig", str(rig.file)]
        ledger = tmp_path / "ledger"

        held = begun(rig)
        lay(rig, f"{OWN}/state")
        with pytest.raises(RigError, match="a daemon is writing to it"):
            rigclean.cleaned(read)
        held.close()
        lay(rig, "felt/v1/hall/t09/state")
        with pytest.raises(RigError, match="felt/v1/hall/t09/state lies there"):
            rigclean.cleaned(read)
        assert ledger.exists()
        assert brokerat.retained(read.broker, "look") == [f"{OWN}/state", "felt/v1/hall/t09/state"]
        brokerat.take_back(read.broker, ["felt/v1/hall/t09/state"])

        ledger.unlink()
        begun(rig, test=False).close()
        with pytest.raises(RigError, match="not written in test mode"):
            rigclean.cleaned(read)
        ledger.write_bytes(b"something else")
        assert cli.main(command) == Exit.RIG
        assert "no ledger that can be read" in capsys.readouterr().err
        assert ledger.read_bytes() == b"something else"
        assert not (tmp_path / "ledger.before").exists()

        rig.changed(rig.table, "test = true", "test = false")
        assert cli.main(command) != Exit.PASSED
        rig.changed(rig.table, "test = false", "test = true")
        rig.changed(rig.file, 'start = "exec:feltd run"\n', "")
        capsys.readouterr()
        assert cli.main(command) == Exit.SCRIPT
        assert "dut.start = ''" in capsys.readouterr().err
        assert ledger.exists()
        assert brokerat.retained(read.broker, "look") == [f"{OWN}/state"]


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(150)
def test_the_bundle_of_a_rig_plays_it_again_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a night is followed by another."""
    bundles = tmp_path / "bundles"
    with standing(tmp_path, f'{DEALT}expect = [{{ event = "deck.changed" }}]\n') as rig:
        asked = [str(rig.script), "--rig", str(rig.file), "--as", "hand[dealt][shoe]", "--bundles", str(bundles)]
        assert main(asked) == Exit.PRODUCT
        assert main(asked) == Exit.RIG
        (again,) = bundles.glob("*/again.sh")
        feltsim = shutil.which("feltsim", path=str(Path(__file__).resolve().parents[2] / ".venv" / "bin"))
        assert feltsim is not None
        monkeypatch.setenv("PATH", str(Path(feltsim).parent), prepend=":")
        done = subprocess.run([str(again)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == Exit.PRODUCT, done.stderr
        assert "put aside" in done.stderr
        night = tmp_path / "nightly.toml"
        night.write_text('schema = 1\ncases = ["hand.toml"]\nrigs = ["rig"]\n', encoding="utf-8")
        assert main(["--night", str(night), "--as", "hand[dealt][shoe]"]) == Exit.PRODUCT
