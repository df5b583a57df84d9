"""The check of the whole ledger in the background, beside the table."""

import os
from pathlib import Path

import pytest

from controller.contract.following import Report
from controller.ledgercare import BackgroundCheck
from tests.ledgers import new_desk, play
from tests.waiting import wait_until


def refused(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize("may_step_behind", [True, False])
def test_the_whole_file_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, may_step_behind: bool) -> None:
    """Also where a filter of system calls forbids to change a priority: late is better than never."""
    desk = new_desk(tmp_path)
    ledger = desk.open()
    play(ledger)
    if not may_step_behind:
        monkeypatch.setattr(os, "setpriority", refused)
    found: list[Report] = []
    check = BackgroundCheck(desk.path, (), found.append)
    check.start()
    try:
        wait_until(lambda: found, what="the report")
    finally:
        check.stop()
        ledger.close()
    assert (found[0].ok, check.state.report) == (True, found[0])
