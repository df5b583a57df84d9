"""A keypad that pours out garbage: bounded on the record, counted, and heard again when it is quiet."""

from controller.core.inputs import Command, Input, Tick, What
from controller.core.records import Record
from controller.core.sensing.flood import MOST
from controller.core.session import Session
from controller.core.table import Table
from drivers.readings import KeyPressed, KeyReleased
from tests.felt import setup, through_json

MS = 1_000_000


class Floor:
    """A table at a keypad; ``records`` keeps all."""

    def __init__(self) -> None:
        self.table = Table(setup(unit=1))
        self.records: list[Record] = []
        self.at, self.no = 1, 0
        self.do(Command("open", {"button": 2}, "s-1", "manager"))
        for seat in (1, 2):
            self.do(Command("seat", {"seat": seat, "stack": 5000}, "s-1", "manager"))

    def do(self, what: What, after_ms: int = 1) -> list[Record]:
        self.at += after_ms * MS
        self.no += 1
        made = self.table.feed(Input(self.no, self.at, self.at, what))
        self.records += made
        return made

    def tap(self, key: str, after_ms: int = 1) -> list[Record]:
        return [*self.do(KeyPressed("keys0", self.no, key), after_ms), *self.do(KeyReleased("keys0", self.no, key), 0)]


def test_thousands_of_bad_keys_are_a_few_records_and_a_count() -> None:
    floor = Floor()
    before = len(floor.records)
    for number in range(5000):
        floor.tap("CHECK" if number % 2 else "?0x3a")
    flood = floor.records[before:]
    assert len(flood) <= 3 * MOST
    assert [r.type for r in flood].count("device.fault") == 1
    deadline = floor.table.deadline()
    assert deadline is not None
    floor.at = deadline - MS
    (over,) = [r for r in floor.do(Tick()) if r.type == "device.cleared"]
    assert over.data["cause"] == "flood"
    told = sum(r.type == "action.refused" for r in flood)
    assert told + over.data["ignored"] == 5000
    assert [r.type for r in floor.tap("CHECK")] == ["action.refused"]  # it is heard again
    assert Session.restore(setup(unit=1), through_json(floor.records)).state == floor.table.session.state


def test_a_dealer_in_a_hurry_is_heard() -> None:
    floor = Floor()
    for _ in range(200):
        assert any(r.type == "action.refused" for r in floor.tap("CHECK", after_ms=100))
    assert not any(r.type == "device.fault" for r in floor.records)
