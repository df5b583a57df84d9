"""A broker under our control is one process, whoever starts it how often."""

from pathlib import Path

from simulators.broker import MosquittoBroker
from tests.waiting import wait_until


def _running(folder: Path) -> int:
    """How many processes were started with the configuration in this folder."""
    wanted = str(folder / "mosquitto.conf").encode()
    found = 0
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += wanted in entry.read_bytes().split(b"\0")
        except FileNotFoundError:
            continue  # it has ended meanwhile
    return found


def test_a_broker_that_is_started_twice_is_one_and_ends(tmp_path: Path) -> None:
    with MosquittoBroker(tmp_path) as broker:
        broker.start()
        assert _running(tmp_path) == 1
        broker.kill()
        broker.start()
        assert _running(tmp_path) == 1
    wait_until(lambda: _running(tmp_path) == 0, what="the broker's end")
