"""Opening a ledger and appending to it cost the same whatever its size: counted in steps of SQLite, not in time."""

import sqlite3
from pathlib import Path

import pytest

from controller.ledger import database
from controller.ledger.outbox import Outbox
from tests.ledgers import WALL, Desk, new_desk, opening, record

EVERY = 10
"""SQLite counts steps in tens."""


class Steps:
    """What all connections together have done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = database.connect

        def connect(path: Path, *, durable: bool) -> sqlite3.Connection:
            connection = real(path, durable=durable)
            connection.set_progress_handler(self._step, EVERY)
            return connection

        monkeypatch.setattr(database, "connect", connect)

    def _step(self) -> int:
        self.count += EVERY
        return 0

    def taken(self) -> int:
        """Since this was last asked."""
        count, self.count = self.count, 0
        return count


def grown(desk: Desk, rows: int) -> None:
    """A ledger of that size, nearly all of it sent, with a shift that has just begun."""
    with desk.open() as ledger:
        while ledger.row < rows:
            ledger.append([record("breach.noted", asked="x" * 100)] * 500, WALL)
        for one in opening():
            ledger.append([one], WALL)
        outbox = Outbox(desk.path)
        outbox.mark_acked(range(1, ledger.row - 5))
        outbox.close()


def work(desk: Desk, steps: Steps) -> dict[str, int]:
    """The work of a start, of an append, and of a look at what is unsent."""
    steps.taken()
    found = {}
    with desk.open() as ledger:
        assert ledger.check_tail() == ()
        assert len(list(ledger.restore_rows())) < 10
        assert ledger.last_said(64)
        found["start"] = steps.taken()
        for _ in range(20):
            ledger.append([record("seat.left", seat=1)], WALL)
        found["append"] = steps.taken()
        outbox = Outbox(desk.path)
        assert outbox.oldest()
        assert outbox.depth() < 100
        assert len(outbox.unsent(0, 20)) == 20
        outbox.close()
        found["outbox"] = steps.taken()
    return found


@pytest.mark.parametrize("rows", [20_000, pytest.param(300_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_the_work_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    steps = Steps(monkeypatch)
    small, large = new_desk(tmp_path / "small"), new_desk(tmp_path / "large")
    grown(small, 2_000)
    grown(large, rows)
    before, after = work(small, steps), work(large, steps)
    assert before.keys() == after.keys()
    for name, count in after.items():
        assert count <= before[name] * 1.3 + 200, (name, before, after)
