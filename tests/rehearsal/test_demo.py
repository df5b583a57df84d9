"""The demo: played, told and verified; also where no mosquitto is installed."""

from pathlib import Path

import pytest

from simulators import demo
from simulators.rehearse import Ask, find, run
from simulators.seen import Seen
from simulators.telling import Teller
from simulators.through import wires
from simulators.verdict import Exit


def test_the_demos_hands_come_out_right_through_virtual_devices() -> None:
    cases = run(find([demo.folder()]), Ask("virtual"), quiet=True)
    assert [(case.outcome, case.lines) for case in cases] == [("passed", [])] * len(demo.HANDS)


@pytest.mark.wires
@pytest.mark.ci
def test_the_demo_tells_the_story_and_says_that_all_is_sound(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "not" / "there"
    assert demo.main(["--keep", str(kept)]) == Exit.PASSED
    told = capsys.readouterr().out
    assert "The pot of 1,109,500 goes to Dwan." in told
    assert "The side pot of 140 goes to Ana." in told
    assert told.count("Verified: ") == len(demo.HANDS)
    assert "!!" not in told
    assert "\x1b" not in told  # no bar and no colours in a pipe
    assert {path.name for path in kept.glob("*.ledger")} == {f"{name}.ledger" for name in demo.HANDS}


@pytest.mark.wires
@pytest.mark.ci
def test_the_demo_needs_no_system_package(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (demo, wires):
        monkeypatch.setattr(module, "mosquitto_program", lambda: None)
    assert demo.main([]) == Exit.PASSED
    assert "a broker in this process" in capsys.readouterr().out


def test_a_folder_that_cannot_be_made_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        assert demo.main(["--keep", str(folder)]) == Exit.SCRIPT
        said = capsys.readouterr().err
        assert said.startswith(f"--keep: {folder}: ")
        assert said.count("\n") == 1


def test_nothing_is_told_that_was_not_published() -> None:
    closed = Seen(0, "play", "card.dealt", {"hand": "h", "seat": 1, "face": "closed", "commit": "00"})
    assert Teller().tell(closed) is None


def test_amounts_are_told_as_people_say_them() -> None:
    teller = Teller()
    opened = {
        "currency": {"code": "EUR", "exponent": 2},
        "limits": {"small_blind": 50, "big_blind": 100},
        "profile": {"name": "house"},
    }
    assert teller.tell(Seen(0, "play", "table.opened", opened)) == "The table is open: house, blinds 0.50/1 EUR."
