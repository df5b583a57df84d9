"""The check of the whole ledger in the background, beside the table."""

import os
from pathlib import Path

import pytest

from controller import cli
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


@pytest.mark.parametrize("left", [0.2, 0.5, 0.9])
def test_what_to_do_with_a_file_that_was_cut_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], left: float
) -> None:
    """Whoever has run the check already is not sent to run it."""
    desk = new_desk(tmp_path)
    with desk.open() as ledger:
        play(ledger)
    whole = desk.path.read_bytes()
    desk.path.write_bytes(whole[: int(len(whole) * left)])
    assert cli.main(["verify", str(desk.path)]) != 0
    told = "".join(capsys.readouterr())
    assert "run feltd verify" not in told
    assert "a copy that holds all that was sent" in told
