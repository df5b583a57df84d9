"""Clocks, logs, and words with systemd."""

import io
import json
import socket
from pathlib import Path

import pytest
import structlog

from controller.runtime import logs
from controller.runtime.clock import Clock, StepWatch
from controller.runtime.notify import Notifier

SECOND = 1_000_000_000


class Hands:
    """Two clocks that the test moves."""

    def __init__(self) -> None:
        self.mono = 5 * SECOND
        self.wall = 1_796_000_000 * SECOND

    def pass_(self, seconds: float) -> None:
        self.mono += int(seconds * SECOND)
        self.wall += int(seconds * SECOND)


def test_scaled_time_begins_now_and_runs_faster() -> None:
    hands = Hands()
    clock = Clock(10, lambda: hands.mono, lambda: hands.wall)
    began = clock.now()
    hands.pass_(2)
    assert clock.now() - began == 20 * SECOND
    assert clock.seconds_until(began + 50 * SECOND) == pytest.approx(3)
    assert clock.seconds_until(began) == 0
    assert clock.wall() == hands.wall


def test_a_step_is_told_once_and_slewing_never() -> None:
    hands = Hands()
    watch = StepWatch(lambda: hands.mono, lambda: hands.wall)
    for _ in range(1000):
        hands.pass_(1)
        hands.wall += SECOND // 2000  # 500 ppm, the most that NTP slews
        assert watch.look() is None
    before = hands.wall
    hands.wall -= 3600 * SECOND
    step = watch.look()
    assert step is not None
    assert step.step_ms == -3_600_000
    assert abs(step.before - before) < SECOND
    assert watch.look() is None


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_is_told_by_path_and_by_abstract_name(abstract: bool, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        name = f"@felt-test-{tmp_path.name}" if abstract else str(tmp_path / "notify")
        manager.bind("\0" + name[1:] if abstract else name)
        manager.settimeout(5)
        assert Notifier({"NOTIFY_SOCKET": name}).send("READY=1", "STATUS=well")
        assert manager.recv(100) == b"READY=1\nSTATUS=well"


def test_without_systemd_nothing_happens(tmp_path: Path) -> None:
    assert not Notifier({}).send("READY=1")
    assert not Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).send("READY=1")


def test_the_watchdog_is_for_the_process_it_names() -> None:
    assert Notifier({"WATCHDOG_USEC": "30000000"}).watchdog_s == 30
    assert Notifier({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}).watchdog_s is None
    assert Notifier({}).watchdog_s is None


def test_a_log_line_never_carries_a_card() -> None:
    stream = io.StringIO()
    logs.configure(json_lines=True, stream=stream)
    try:
        structlog.get_logger().info("card read", device="shoe0", card="As", tag="E004", frame=b"\x02")
    finally:
        structlog.reset_defaults()
    line = json.loads(stream.getvalue())
    assert line["device"] == "shoe0"
    assert line["card"] == line["tag"] == line["frame"] == "withheld"
