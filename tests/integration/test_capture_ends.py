"""A capture that cannot be begun, or ends: the table plays without, and log, health and metrics say so."""

import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.running import ROOT, Running, command, write_config
from tests.shimming import built, needs_compiler
from tests.unit.test_capture import Taped

pytestmark = [pytest.mark.wires, pytest.mark.timeout(120)]


def config_of(folder: Path) -> Path:
    """A table with metrics."""
    config = write_config(folder)
    config.write_text(f"{config.read_text(encoding='utf-8')}\n[metrics]\nport = 0\n", encoding="utf-8")
    return config


def said_of_it(daemon: Running) -> tuple[str, bool]:
    """What health says of the capture, and whether the metrics call it running."""
    health = daemon.tell("health")["health"]
    trouble: str = health["checks"]["capture"]
    assert health["ok"] is not bool(trouble)
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.ready['metrics']}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    (number,) = [line.split()[1] for line in text.splitlines() if line.startswith("feltd_capture_running ")]
    return trouble, number == "1"


@needs_compiler
@pytest.mark.parametrize("mode", ["enospc", "erofs", "eio"])
@pytest.mark.ci
def test_a_disk_that_takes_none_at_start_and_one_that_takes_no_more_later(tmp_path: Path, mode: str) -> None:
    shim, bad, path = built("faults", tmp_path), tmp_path / "bad", tmp_path / "table.pcapng"
    environ = {"LD_PRELOAD": str(shim), "FELT_SHIM_MODE": mode, "FELT_SHIM_AFTER": "0"}
    environ |= {"FELT_SHIM_MATCH": path.name, "FELT_SHIM_WHEN": str(bad)}
    config = config_of(tmp_path)
    bad.touch()
    with Running(config, "--capture", str(path), environ=environ) as daemon:
        trouble, running = said_of_it(daemon)
        assert trouble.startswith("not begun: ")
        assert "start the table again" in trouble
        assert not running
        assert any("starts without" in line["event"] for line in daemon.lines())
        daemon.do("open")
        assert daemon.stop() == 0
    assert not path.exists()
    bad.unlink()
    with Running(config, "--capture", str(path), environ=environ) as daemon:
        assert said_of_it(daemon) == ("", True)
        bad.touch()
        daemon.do("seat", seat=1, stack=1000)
        trouble, running = said_of_it(daemon)
        assert trouble.startswith("ended: ")
        assert "start the table again" in trouble
        assert not running
        daemon.do("seat", seat=2, stack=1000)
        assert daemon.stop() == 0


def test_a_damaged_one_lies_aside_and_is_told(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    taped = Taped(before)
    taped.play()
    taped.end()
    damaged = taped.capture.read_bytes() + bytes(4096)
    taped.capture.write_bytes(damaged)
    with Running(config_of(tmp_path), "--capture", str(taped.capture)) as daemon:
        trouble, running = said_of_it(daemon)
        aside = taped.capture.with_name("table.pcapng.damaged")
        assert str(aside) in trouble
        assert running
        assert any("put aside" in line["event"] and line["file"] == str(aside) for line in daemon.lines())
        aside.rename(tmp_path / "elsewhere")
        assert said_of_it(daemon) == ("", True)
        assert daemon.stop() == 0
    assert (tmp_path / "elsewhere").read_bytes() == damaged


def test_a_table_without_a_capture_says_nothing_of_one(tmp_path: Path) -> None:
    with Running(config_of(tmp_path)) as daemon:
        assert daemon.tell("health")["health"]["checks"]["capture"] == ""
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.ready['metrics']}/metrics", timeout=10) as answer:
            assert b"capture" not in answer.read()


def test_a_file_that_is_no_capture_is_refused_in_one_line(tmp_path: Path) -> None:
    named = tmp_path / "h.pcapng"
    named.write_text("hallo\n")
    asked = command(config_of(tmp_path), "--capture", str(named))
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(named) in done.stderr
    assert named.read_text() == "hallo\n"
