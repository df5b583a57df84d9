"""A rehearsal that is ended before all was played: by a signal, by Ctrl-C, or because its time is up."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from simulators import breaking, trend
from simulators.breaking import BrokenOff
from simulators.rehearse import main
from simulators.verdict import Exit
from tests.waiting import wait_until

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
ROOT = SCENARIOS.parent.parent.parent
OFTEN = 20_000


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """Far more cases than any test waits for."""
    (tmp_path / "hand.toml").write_text((SCENARIOS / "whole-hand.toml").read_text(encoding="utf-8"), encoding="utf-8")
    file = tmp_path / "night.toml"
    file.write_text(f'schema = 1\ncases = ["hand.toml"]\nrepeat = {OFTEN}\n', encoding="utf-8")
    return file


@contextmanager
def rehearsing(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A rehearsal in a session of its own, so that whatever is left of it can be found."""
    process = subprocess.Popen(
        [sys.executable, "-m", "simulators.cli", "rehearse", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def of_session(session: int) -> list[int]:
    """The processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def stages(session: int) -> set[str]:
    """The folders of the cases that a rehearsal is playing."""
    found: set[str] = set()
    for pid in of_session(session):
        try:
            links = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        found |= {part for link in links for part in re.findall(r"/feltsim-\w+/", link)}
    return found


def until_one_is_over(session: int, jobs: int = 1) -> None:
    """One case has been played by each process, and another one begun."""
    seen: set[str] = set()

    def over() -> bool:
        seen.update(stages(session))
        return len(seen) > 2 * jobs

    wait_until(over, 60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_signal_loses_nothing_that_was_played(number: signal.Signals, jobs: int, night: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("out.xml", "report.json", "trend")}
    told = ["--junit", str(files["out.xml"]), "--report", str(files["report.json"]), "--trend", str(files["trend"])]
    where = ["--night", str(night), "--through", "virtual", "--jobs", str(jobs)]
    with rehearsing(*where, "--json", *told) as process:
        until_one_is_over(process.pid, jobs)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == Exit.PARTLY, err
        assert of_session(process.pid) == []
    said = json.loads(out)
    broken, cases = said["broken_off"], said["cases"]
    assert said["exit"] == Exit.PARTLY
    assert (broken["why"], broken["cases"]) == (f"by {number.name}", OFTEN)
    assert 1 <= broken["played"] == len(cases) < OFTEN
    assert broken["during"].startswith("hand")
    assert {case["outcome"] for case in cases} == {"passed"}
    assert err == ""
    report = json.loads(files["report.json"].read_text(encoding="utf-8"))
    assert (report["exit"], report["broken_off"], len(report["cases"])) == (Exit.PARTLY, broken, len(cases))
    root = ET.parse(files["out.xml"]).getroot()
    assert len(root.findall("testsuite[@name='hand']/testcase")) == len(cases)
    (error,) = root.findall("testsuite/testcase/error")
    assert f"by {number.name}: {len(cases)} of {OFTEN} cases were played" in error.get("message", "")
    assert trend.read(files["trend"]) == []


def test_the_end_of_its_time_breaks_off(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert main(["--night", str(night), "--through", "virtual", "--time-limit", "2"]) == Exit.PARTLY
    said = capsys.readouterr()
    assert re.search(rf"^broken off after 2 s: \d+ of {OFTEN} cases were played", said.out, re.MULTILINE)
    assert said.err == ""  # no progress where there is no terminal
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_has_failed_outweighs_that_it_was_broken_off(tmp_path: Path) -> None:
    text = (SCENARIOS / "whole-hand.toml").read_text(encoding="utf-8")
    (tmp_path / "hand.toml").write_text(text + '\n[[expect]]\nevent = "deck.changed"\n', encoding="utf-8")
    night = tmp_path / "night.toml"
    night.write_text(f'schema = 1\ncases = ["hand.toml"]\nrepeat = {OFTEN}\n', encoding="utf-8")
    with rehearsing("--night", str(night), "--through", "virtual") as process:
        until_one_is_over(process.pid)
        process.terminate()
        out, _ = process.communicate(timeout=60)
    assert process.returncode == Exit.PRODUCT
    assert "failed   hand" in out
    assert "broken off by SIGTERM" in out


def test_a_person_sees_how_far_it_is_and_ends_it_with_ctrl_c(night: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        command = [sys.executable, "-m", "simulators.cli", "rehearse", "--night", str(night), "--through", "virtual"]
        os.execv(sys.executable, command)
    said = b""

    def shown() -> bool:
        nonlocal said
        said += os.read(terminal, 65536)
        return b"rehearsing" in said and len(stages(pid)) > 0

    wait_until(shown, 60)
    os.write(terminal, b"\x03")
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not more:
            break
        said += more
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == Exit.PARTLY
    assert b"broken off by SIGINT" in said


@pytest.mark.wires
def test_over_wires_no_process_is_left(tmp_path: Path) -> None:
    text = (SCENARIOS / "whole-hand.toml").read_text(encoding="utf-8")
    script = tmp_path / "hand.toml"
    script.write_text(text.replace('clock = "x10"', 'clock = "real"'), encoding="utf-8")
    with rehearsing(str(script), "--through", "wires", "--speed", "1", "--bundles", str(tmp_path / "b")) as process:
        wait_until(lambda: any("controller.cli" in command(pid) for pid in of_session(process.pid)), 60)
        os.killpg(process.pid, signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert process.returncode == Exit.PARTLY, err
        assert of_session(process.pid) == []
    assert "broken off by SIGTERM: 0 of" in out
    assert not (tmp_path / "b").exists()


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def test_a_signal_waits_until_what_is_begun_has_been_put_away() -> None:
    with breaking.heeded():
        with breaking.at_once(), pytest.raises(BrokenOff, match="SIGTERM"):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)  # a second one changes nothing
        with pytest.raises(BrokenOff, match="SIGTERM"), breaking.at_once():
            pytest.fail("nothing more is begun")
    with breaking.heeded():
        signal.raise_signal(signal.SIGTERM)  # not in play: heeded at the next check
        with pytest.raises(BrokenOff):
            breaking.check()
    breaking.check()  # the next rehearsal of this process is not broken off
