"""A new configuration is confirmed by two persons before the table is played under it."""

from typing import Any

import pytest

from controller.contract.checking import problems
from controller.core.errors import BadCommand
from controller.core.inputs import Command, Notice
from controller.core.records import Record
from controller.core.session import Session
from controller.core.system import notice
from tests.felt import SECOND, WALL, setup, through_json
from tests.leaking import body

OLD, NEW = "1a" * 32, "2b" * 32


class House:
    """A session that is started, restarted and spoken to; every step is held against recovery."""

    def __init__(self) -> None:
        self.setup = setup()
        self.session = Session(self.setup)
        self.records: list[Record] = []
        self.at = 0
        for staff, role in (("s-01", "inspector"), ("s-02", "manager"), ("s-03", "dealer")):
            self.say("login", staff, role, staff=staff, role=role)

    def _took(self, records: list[Record]) -> list[Record]:
        self.records += records
        assert Session.restore(self.setup, through_json(self.records)).state == self.session.state
        return records

    def say(self, name: str, by: str = "s-01", role: str = "inspector", /, **args: Any) -> list[Record]:
        self.at += SECOND
        return self._took(list(self.session.command(Command(name, args, by, role), self.at, WALL + self.at)))

    def start(self, configuration: str | None) -> None:
        self.at += SECOND
        self.session.out.begin(self.at, WALL + self.at)
        said = {"software": {"version": "1", "sha256": OLD}, "config_sha256": OLD, "profile_sha256": OLD}
        more = {} if configuration is None else {"to_confirm": configuration}
        notice(self.session.out, Notice("daemon.started", said | more))
        self._took(list(self.session.out.records))

    def opens(self) -> bool:
        records = self.say("open")
        barred = [r.data["what"] for r in records if r.type == "breach.noted"]
        assert barred in ([], ["unconfirmed"])
        return any(record.type == "table.opened" for record in records)


def test_two_persons_confirm_and_the_table_opens() -> None:
    house = House()
    house.start(OLD)
    assert not house.opens()
    (first,) = house.say("confirm")
    assert (first.data["by"]["staff"], first.data["sha256"]) == ("s-01", OLD)
    assert problems(body(first)) == []
    with pytest.raises(BadCommand, match="a second person"):
        house.say("confirm")
    with pytest.raises(BadCommand, match="log in as one of them"):
        house.say("confirm", "s-03", "dealer")
    with pytest.raises(BadCommand, match="log in as one of them"):
        house.say("confirm", "s-09", "manager")
    assert not house.opens()
    second, changed = house.say("confirm", "s-02", "manager")
    assert second.data["by"]["staff"] == "s-02"
    assert problems(body(changed)) == []
    assert changed.data["new"]["configuration"] == OLD
    assert changed.data["old"] == {"configuration": None}
    both = [{"staff": "s-01", "role": "inspector"}, {"staff": "s-02", "role": "manager"}]
    assert changed.data["approval"] == {"of": "configuration", "by": both}
    assert house.opens()
    with pytest.raises(BadCommand, match="nothing to confirm"):
        house.say("confirm", "s-02", "manager")


def test_a_restart_asks_again_only_for_something_new() -> None:
    house = House()
    house.start(OLD)
    for by, role in (("s-01", "inspector"), ("s-02", "manager")):
        house.say("confirm", by, role)
    assert house.opens()
    house.start(OLD)
    house.say("seat", seat=1, stack=1000)
    house.say("seat", seat=2, stack=1000)
    house.say("close")
    house.start(OLD)
    assert house.opens()
    house.say("close")
    house.start(NEW)
    house.say("confirm")
    house.start(OLD)  # what was confirmed before is taken back instead
    assert house.opens()
    house.say("close")
    house.start(NEW)
    house.say("confirm", "s-02", "manager")
    assert not house.opens()
    *_, changed = house.say("confirm")
    assert (changed.type, changed.data["old"], changed.data["new"]["configuration"]) == (
        "settings.changed",
        {"configuration": OLD},
        NEW,
    )
    assert house.opens()


def test_a_new_configuration_leaves_the_limits_that_are_played() -> None:
    house = House()
    house.start(OLD)
    for by, role in (("s-01", "inspector"), ("s-02", "manager")):
        house.say("confirm", by, role)
    house.say("open", limits={"small_blind": 5, "big_blind": 10})
    played = house.session.state.limits
    house.start(NEW)
    for by, role in (("s-01", "inspector"), ("s-02", "manager")):
        house.say("confirm", by, role)
    assert house.session.state.limits == played


def test_a_person_s_word_about_something_else_confirms_nothing() -> None:
    house = House()
    house.start(OLD)
    for by, role in (("s-01", "inspector"), ("s-02", "manager")):
        house.say("attest", by, role, rules=["CM-20"], statement="configuration")
    assert not house.opens()


def test_where_no_persons_are_known_there_is_nothing_to_confirm() -> None:
    house = House()
    house.start(None)
    with pytest.raises(BadCommand, match="nothing to confirm"):
        house.say("confirm")
    assert house.opens()
