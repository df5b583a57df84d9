"""An incident that nobody rules on in time grows more severe, and goes on doing so after a restart."""

from dataclasses import replace
from typing import Any

import pytest

from controller.client import picture
from controller.configuration.profiles import load
from controller.contract.checking import problems
from controller.core.facts import Called, HandAttested
from controller.core.inputs import Command, Input, Notice, Tick
from controller.core.records import Record
from controller.core.setup import Setup
from controller.core.table import Table
from drivers.readings import DeviceConflict, DeviceLost, DeviceUp
from tests.felt import RS, SECOND, WALL, restores, setup, through_json
from tests.leaking import body

MS = 1_000_000
DUE_MS = 60_000


class Waiting:
    """A table that is fed, left alone until the core asks for a tick, and restarted."""

    def __init__(self, table: Setup) -> None:
        self.setup = table
        self.table = Table(table)
        self.records: list[Record] = []
        self.inputs: list[Input] = []
        self.no = self.at = 0

    def feed(self, what: Any, wait: int = SECOND) -> list[Record]:
        self.no, self.at = self.no + 1, self.at + wait
        self.inputs.append(Input(self.no, self.at, WALL + self.at, what))
        made = list(self.table.feed(self.inputs[-1]))
        self.records += made
        told = [record for record in made if record.type.startswith("incident.")]
        assert [problem for record in told for problem in problems(body(record))] == []
        restores(self.table.session, self.records)
        return made

    def say(self, name: str, role: str = "manager", /, **args: Any) -> list[Record]:
        return self.feed(Command(name, args, "s-1", role, "because"))

    def pass_ms(self, duration: int) -> list[tuple[int, str, int]]:
        """Let time pass as the shell does: when a rule grew impatient (ms from now), how severe it is, how often."""
        began, end = self.at, self.at + duration * MS
        told = []
        while (due := self.table.deadline()) is not None and due <= end:
            for record in self.feed(Tick(), max(0, due - self.at)):
                if record.type == "incident.updated":
                    data = record.data
                    told.append(((self.at - began) // MS, data["severity"], data["adds"]["escalated"]))
        self.at = end
        return told

    def restart(self, gap: int, wall_step: int = 0) -> None:
        """The daemon is killed and begins again after ``gap``; the clock on the wall is set meanwhile."""
        self.table = Table.restore(self.setup, through_json(self.records))
        self.at += gap
        assert self.table.deadline() is None
        self.no += 1
        said = {"software": {"version": "1", "sha256": "0" * 64}, "config_sha256": "0" * 64, "profile_sha256": "0" * 64}
        notice = Notice("daemon.started", said | {"boot": "b", "reason": "recovery", "self_test": []})
        self.records += self.table.feed(Input(self.no, self.at, WALL + self.at + wall_step, notice))


def table(due_ms: int | None = DUE_MS, **more: Any) -> Waiting:
    return Waiting(setup(replace(RS, ruling_due_ms=due_ms), **more))


def playing(due_ms: int | None = DUE_MS) -> Waiting:
    """A hand that somebody asked to be given up."""
    waiting = table(due_ms)
    waiting.say("open", button=2)
    waiting.say("seat", seat=1, stack=5000)
    waiting.say("seat", seat=2, stack=5000)
    session = waiting.table.session
    session.seed(bytes(32))
    waiting.at += SECOND
    waiting.records += session.apply(HandAttested(), waiting.at, WALL + waiting.at)
    waiting.records += session.apply(Called("void"), waiting.at, WALL + waiting.at)
    return waiting


def test_each_time_it_is_due_it_is_one_degree_more_severe_until_the_last() -> None:
    waiting = table()
    (_, opened) = waiting.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    assert (opened.data["severity"], opened.data["due_ms"]) == ("low", DUE_MS)
    assert waiting.pass_ms(10 * DUE_MS) == [(DUE_MS, "high", 1), (2 * DUE_MS, "stop", 2)]


def test_a_matter_of_the_hand_is_told_in_the_hand_and_holds_it_as_before() -> None:
    waiting = playing()
    assert waiting.pass_ms(10 * DUE_MS) == [(DUE_MS, "stop", 1)]
    (told,) = (record for record in waiting.records if record.type == "incident.updated")
    hand = waiting.table.session.state.hand
    assert hand is not None
    assert told.data["hand"] == hand.id
    assert waiting.table.session.state.held is not None
    assert picture(waiting.table.status()).count("overdue, stop") == 1


def test_what_is_ruled_in_time_is_never_overdue() -> None:
    waiting = playing()
    assert waiting.pass_ms(DUE_MS - 2000) == []
    waiting.say("rule", incident="I-37", ruling="play_on")
    assert waiting.pass_ms(10 * DUE_MS) == []
    waiting.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    waiting.feed(DeviceUp("shoe0", 0, "shoe", "felt-shoe", "A1", "1", "usb", 2))
    assert waiting.pass_ms(10 * DUE_MS) == []


def test_a_house_may_give_people_all_the_time_there_is() -> None:
    waiting = playing(None)
    (opened,) = (record for record in waiting.records if record.type == "incident.opened")
    assert "due_ms" not in opened.data
    assert waiting.pass_ms(100 * DUE_MS) == []


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_restart_goes_on_where_it_was(times: int) -> None:
    waiting = table()
    waiting.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    whole = [(DUE_MS, "high", 1), (2 * DUE_MS, "stop", 2)]
    before = waiting.pass_ms(times * DUE_MS + DUE_MS // 2)
    assert before == whole[:times]
    waiting.restart(SECOND)
    later = [(at - times * DUE_MS - DUE_MS // 2 - 1000, severity, n) for at, severity, n in whole[times:]]
    assert waiting.pass_ms(10 * DUE_MS) == later


def test_what_became_due_while_the_power_was_away_is_told_at_once() -> None:
    waiting = table()
    waiting.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    waiting.restart(3600 * SECOND)
    assert waiting.pass_ms(10 * DUE_MS) == [(0, "high", 1), (0, "stop", 2)]


def test_a_clock_that_was_set_back_makes_nobody_wait_for_longer_than_once_more() -> None:
    waiting = table()
    waiting.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    waiting.restart(SECOND, wall_step=-(10**18))
    assert waiting.pass_ms(10 * DUE_MS) == [(DUE_MS, "high", 1), (2 * DUE_MS, "stop", 2)]


def test_it_outlives_the_opening_of_the_table() -> None:
    waiting = table()
    waiting.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    assert waiting.pass_ms(DUE_MS) == [(DUE_MS, "high", 1)]
    waiting.say("open", button=2)
    opening = next(i for i, record in enumerate(waiting.records) if record.type == "table.opened")
    assert Table.restore(waiting.setup, through_json(waiting.records[opening:])).session.state.incidents == (
        waiting.table.session.state.incidents
    )
    assert [told[1:] for told in waiting.pass_ms(10 * DUE_MS)] == [("stop", 2)]


def test_what_only_surveillance_knows_is_overdue_for_surveillance_alone() -> None:
    tag = "E0040150A1B2C3D4"
    plain = setup(replace(RS, ruling_due_ms=DUE_MS))
    chips = replace(plain.chipset, tags={tag: "c"})
    waiting = Waiting(replace(plain, chipset=chips, test=False))
    waiting.say("open", button=2)
    waiting.feed(DeviceConflict("tray0", 1, tag, ("0", "0")))
    assert waiting.table.session.state.silent
    assert waiting.pass_ms(10 * DUE_MS) == [(DUE_MS, "stop", 1)]
    assert {record.stream for record in waiting.records if record.type == "incident.updated"} == {"guard"}
    assert "incidents" in waiting.table.status()
    assert waiting.table.status()["incidents"] == []


def test_the_same_inputs_grow_the_same_impatience_whoever_asks_for_deadlines_meanwhile() -> None:
    waiting = table()
    waiting.feed(DeviceLost("shoe0", 0, "unplugged", "usb"))
    waiting.pass_ms(DUE_MS + DUE_MS // 2)
    kept = through_json(waiting.records)
    waiting.table, before = Table.restore(waiting.setup, kept), len(waiting.inputs)
    waiting.feed(Notice("test.entered", {"by": {}, "restored": False}))
    assert waiting.table.deadline() is not None
    waiting.pass_ms(10 * DUE_MS)
    again = Table.restore(waiting.setup, kept)
    told = [record for one in waiting.inputs[before:] for record in again.feed(one)]
    assert told == waiting.records[len(kept) :]
    assert [record.data["severity"] for record in told if record.type == "incident.updated"] == ["stop"]


def test_the_shipped_profiles_ask_for_a_ruling_within_five_minutes() -> None:
    for name in ("hr_thp", "bg_holdem", "rs_holdem", "lt_uth"):
        assert load(name).ruling_due_ms == 300_000
