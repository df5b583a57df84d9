"""What the command socket answers while an incident is open of which only surveillance knows (I-29): nothing of it."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from controller import client
from controller.answers import told
from controller.commands import Desk
from controller.configuration.settings import SocketSettings
from controller.core.commands import COMMANDS
from controller.core.errors import BadCommand
from controller.core.inputs import HandSeed, Notice
from controller.core.records import Record
from controller.core.table import Table
from controller.inbox import Ask, Inbox, Order, Outcome, Stop
from tests.unit.test_guard import Watched

CHIP = "C05000001"
LINES = [{"denomination": 500, "count": 10}]
ARGS: Mapping[str, Mapping[str, Any]] = {
    "login": {"staff": "s-9", "role": "inspector"},
    "logout": {"staff": "s-01"},
    "open": {"button": 3},
    "count": {"lines": LINES},
    "deck": {"do": "verify"},
    "button": {"seat": 2},
    "shift": {"shift": "late"},
    "attest": {"rules": ["CM-1"]},
    "report": {"rules": ["CM-1"]},
    "override": {"rules": ["CM-1"]},
    "seat": {"seat": 1, "stack": 500},
    "leave": {"seat": 1},
    "away": {"seat": 1},
    "back": {"seat": 1},
    "buyin": {"seat": 1, "amount": 500},
    "redeem": {"seat": 1, "amount": 500},
    "change": {"given": LINES, "taken": LINES, "seat": 1},
    "fill": {"lines": LINES},
    "credit": {"lines": LINES},
    "slip": {"slip": "1", "do": "complete"},
    "collect": {"what": "drop"},
    "orphan": {"amount": 500, "place": "floor"},
    "adjust": {"hand": "t07-20261130-0001", "amount": 500, "from": "seat:1", "to": "tray"},
    "straddle": {"seat": 1},
    "exposed": {"seat": 1, "card": "As"},
    "rule": {"incident": "I-29"},
    "tip": {"seat": 1, "amount": 500},
    "dispute": {"hand": "t07-20261130-0001"},
}
"""What is said with a command, so that it goes as far as it can; the others need nothing or cannot be said here."""


class AtTheTable(Inbox):
    """An inbox in which the table acts at once."""

    def __init__(self, felt: Watched) -> None:
        super().__init__()
        self.felt = felt

    def post(self, item: Order | Ask | Notice | Stop, timeout_s: float = 0) -> bool:
        if isinstance(item, Ask):
            item.answer.set_result(item.question(self.felt.table))
        elif isinstance(item, Order):
            before = len(self.felt.records)
            try:
                self.felt.feed(item.command)
            except BadCommand as mistake:
                item.outcome.set_result(Outcome((), mistake))
            else:
                item.outcome.set_result(Outcome(tuple(self.felt.records[before:])))
        return True


@cache
def table(*, silent: bool, playing: bool) -> Watched:
    """A live table at whose first seat a chip lies that is on the list, or is not."""
    felt = Watched(**({CHIP: "stolen"} if silent else {}))
    felt.setup = replace(felt.setup, test=False)
    felt.table = Table(felt.setup)
    felt.say("open", button=3)
    for seat in (1, 2, 3):
        felt.put([felt.spare[value].pop() for value in ("5000", "1000", "500")], f"stack:{seat}")
        felt.put([CHIP] if seat == 1 else [felt.spare["500"].pop()], f"stack:{seat}")
        felt.say("seat", seat=seat, stack=7000)
    felt.feed(HandSeed(bytes(32)))
    felt.run(4000)
    if playing:
        felt.key("HAND")
        felt.bet(1, 500)
    assert bool(felt.table.session.state.silent) is silent
    assert bool(felt.table.session.state.hand) is playing
    return felt


def fresh(felt: Watched) -> Watched:
    """A copy that a test may change; what the house set up is the same for all."""
    return deepcopy(felt, {id(felt.setup): felt.setup})


def answer(name: str, args: Mapping[str, Any], *, silent: bool, playing: bool) -> dict[str, Any]:
    inbox = AtTheTable(fresh(table(silent=silent, playing=playing)))
    desk = Desk(SocketSettings(Path("unused")), inbox, {"s-01": "inspector"})
    said = {"command": name, "args": args, "by": "s-01", "reason": "test"}
    return desk.answer(json.dumps(said).encode(), 1000)


@pytest.mark.parametrize("playing", [False, True], ids=["between hands", "in a hand"])
@pytest.mark.parametrize("name", [*sorted(COMMANDS), "status", "health"])
def test_no_answer_is_another_for_an_incident_that_only_surveillance_knows(name: str, *, playing: bool) -> None:
    args = ARGS.get(name, {})
    got = answer(name, args, silent=True, playing=playing)
    assert got == answer(name, args, silent=False, playing=playing)
    said = json.dumps(got) + client.told(got) if name != "health" else json.dumps(got)
    # A person who says a code himself hears it again in the refusal: `rule` names it here.
    hidden = {"-g1", "chip.listed", "stolen", CHIP} | (set() if name == "rule" else {"I-29"})
    assert not [one for one in hidden if one in said]


def test_the_table_closes_and_says_so_and_the_incident_ends_unsaid() -> None:
    inbox = AtTheTable(fresh(table(silent=True, playing=False)))
    desk = Desk(SocketSettings(Path("unused")), inbox, {"s-01": "inspector"})
    said = desk.answer(b'{"command": "close", "by": "s-01", "reason": "day is over"}', 1000)
    assert said["ok"]
    assert "table.closed" in [one["type"] for one in said["records"]]
    assert "incident.closed" not in str(said)
    assert "incident.closed" in [record.type for record in inbox.felt.records if record.stream == "guard"]


def test_a_ruling_on_it_is_answered_without_it() -> None:
    inbox = AtTheTable(fresh(table(silent=True, playing=False)))
    (name,) = inbox.felt.table.session.state.silent
    desk = Desk(SocketSettings(Path("unused")), inbox, {"s-02": "manager"})
    said = {"command": "rule", "args": {"incident": name}, "by": "s-02", "reason": "the chip was taken"}
    answered = desk.answer(json.dumps(said).encode(), 1000)
    assert not inbox.felt.table.session.state.silent
    assert answered == {"ok": True, "records": []}
    assert client.told(answered) == "done"


def test_refusals_are_told_of_what_the_table_may_see_alone() -> None:
    data = {"what": "x", "rules": [], "reaction": "BLOCK", "asked": "no", "allowed_now": [], "repeat": 1}
    assert told((Record("guard", "breach.noted", "t07", data),)) == {"ok": True, "records": []}


def test_what_waits_longest_for_the_broker_is_told_by_its_age_alone() -> None:
    oldest = {"time": "2026-11-30T10:00:00.000000Z", "stream": "guard", "sequence": "0000000000000007"}
    report = {"ok": True, "outbox": {"unsent": 1, "oldest": oldest}}
    desk = Desk(SocketSettings(Path("unused")), Inbox(), {}, lambda: report)
    shown = desk.answer(b'{"command": "health"}', 1000)["health"]["outbox"]
    assert shown == {"unsent": 1, "oldest": {"time": oldest["time"]}}
