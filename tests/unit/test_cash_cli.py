"""The commands of the money on the command line, who may give them, and the list of wanted chips."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from controller.access import Denied, may
from controller.client import picture, told
from controller.configuration import registries
from controller.core.inputs import Command
from controller.core.said import check
from controller.core.setup import Chipset, Denomination
from controller.faults import BadConfiguration
from controller.tablecli import add_table_commands, arguments
from tests.unit.test_cash import a_table, lines, raked


def parsed(line: str) -> Command:
    """A command line as the table hears it."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    commands = parser.add_subparsers()

    def add(name: str, help_: str, act: Any) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = commands.add_parser(name, help=help_)
        made.set_defaults(act=act, command=name)
        return made

    add_table_commands(add)
    asked = parser.parse_args(line.split())
    command = Command(asked.command, arguments(asked), asked.by, asked.role, asked.reason)
    check(command)
    return command


@pytest.mark.parametrize(
    ("line", "args"),
    [
        ("fill 500=40 100=20", {"lines": [{"denomination": 500, "count": 40}, {"denomination": 100, "count": 20}]}),
        ("credit 500=4", {"lines": [{"denomination": 500, "count": 4}]}),
        ("slip complete --with s-3", {"do": "complete", "with": "s-3"}),
        ("slip cancel t07-s00002 --reason mistake", {"do": "cancel", "slip": "t07-s00002"}),
        ("collect drop --box B12", {"what": "drop", "box": "B12"}),
        ("collect rake --counted 70 --with s-3", {"what": "rake", "counted": 70, "with": "s-3"}),
        ("meters", {}),
        ("orphan 500 bet:3", {"amount": 500, "place": "bet:3"}),
        (
            "adjust t07-20261130-0001 500 seat:1 seat:2 --with s-3 --reason wrong",
            {"hand": "t07-20261130-0001", "amount": 500, "from": "seat:1", "to": "seat:2", "with": "s-3"},
        ),
        ("dispute --reason late", {}),
        (
            "rule I-19 correct --move seat:1 seat:2 900 --move rake seat:2 5 --tabled 3=AsKd",
            {
                "incident": "I-19",
                "ruling": "correct",
                "moves": [
                    {"from": "seat:1", "to": "seat:2", "amount": 900},
                    {"from": "rake", "to": "seat:2", "amount": 5},
                ],
                "tabled": [{"seat": 3, "cards": ["As", "Kd"]}],
            },
        ),
        ("rule I-31 accept --with s-3", {"incident": "I-31", "ruling": "accept", "with": "s-3"}),
    ],
)
def test_each_word_of_the_money_reaches_the_table(line: str, args: dict[str, Any]) -> None:
    assert parsed(line).args == args


@pytest.mark.parametrize("line", ["fill", "fill 500", "slip", "collect tray", "orphan x bet:3"])
def test_what_is_no_such_word_is_refused_before_it_is_sent(line: str) -> None:
    with pytest.raises((SystemExit, argparse.ArgumentError)):
        parsed(line)


def test_who_may_say_what_about_money() -> None:
    for command in ("fill", "credit", "adjust"):
        may(command, "pit_boss")
        for role in ("dealer", "cage", "technician"):
            with pytest.raises(Denied, match=command):
                may(command, role)
    for command in ("slip", "collect", "orphan", "meters"):
        for role in ("dealer", "cage", "inspector"):
            may(command, role)
        with pytest.raises(Denied):
            may(command, "technician")


def test_an_answer_shows_the_figures_and_the_status_the_open_slips() -> None:
    felt = raked().done()
    records = felt.say("meters")
    answer = {"ok": True, "records": [{"type": r.type, "subject": r.subject, "data": r.data} for r in records]}
    text = told(answer)
    assert "opener     5000" in text
    assert "closer     not counted" in text
    assert "seat:1       bets 300, wins 630" in text
    slips = a_table()
    slips.say("fill", lines=lines(d1=5))
    one = next(iter(slips.session.state.cash.open.values()))
    status: dict[str, Any] = {"table": "t07", "session": "x", "button": None, "seats": {}, "hand": None}
    status |= {"incidents": [], "missing": [], "staff": {}, "devices": {}}
    status["slips"] = [{"slip": one.id, "kind": one.kind, "total": one.total}]
    assert "slip t07-s00001: fill of 5 is open" in picture(status)


def test_the_list_of_wanted_chips_is_read_and_its_faults_are_named(tmp_path: Path) -> None:
    chipset = Chipset("c", (Denomination("r5", 500),), {"E004000000000001": "r5"})
    path = tmp_path / "listed.csv"
    path.write_text("tag,case\nE0:04:00:00:00:00:00:01,stolen\nE004000000000009,withdrawn\n")
    assert dict(registries.listed(chipset, path).listed) == {
        "E004000000000001": "stolen",
        "E004000000000009": "withdrawn",
    }
    path.write_text("tag,case\nE004000000000001,lost\nxyz,stolen\n")
    with pytest.raises(BadConfiguration) as caught:
        registries.listed(chipset, path)
    assert [fault.key for fault in caught.value.faults] == ["line 2", "line 3"]
    assert "E004" not in str(caught.value)
