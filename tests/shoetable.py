"""A table with a shoe and keys on a fake clock: what they say reaches the core, and time passes between."""

from typing import Any

from controller.core.inputs import Command, Input, Tick
from controller.core.records import Record
from controller.core.setup import Setup
from controller.core.table import Table
from drivers.readings import CardSeen, KeyPressed, KeyReleased
from tests.felt import WALL

MS = 1_000_000


class ShoeTable:
    """The table, its records so far, and the hands of a dealer."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.table = Table(setup)
        self.records: list[Record] = []
        self.at = self.no = self.slid = 0

    def feed(self, what: Any) -> None:
        self.no += 1
        self.records += self.table.feed(Input(self.no, self.at, WALL + self.at, what))

    def run(self, ms: int) -> None:
        """Let time pass: the core gets its ticks."""
        end = self.at + ms * MS
        while (due := self.table.deadline()) is not None and due <= end:
            self.at = max(self.at, due)
            self.feed(Tick())
        self.at = end

    def say(self, name: str, **args: Any) -> None:
        self.feed(Command(name, args, "s-01", "chief_inspector", "test"))

    def key(self, *keys: str) -> None:
        for key in keys:
            self.feed(KeyPressed("keys0", 0, key))
            self.feed(KeyReleased("keys0", 0, key))
            self.run(50)

    def slide(self, *cards: str, wait: int = 300, late: bool = False) -> None:
        for card in cards:
            self.slid += 1
            self.feed(CardSeen("shoe0", self.slid, "0", card, None, 100, self.slid, late))
        self.run(wait)

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [record.data for record in self.records if record.type == kind]
