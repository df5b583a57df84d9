"""An Ultimate table with a shoe and a keypad: cards by the shoe, stakes and decisions by keys."""

from controller.core.facts import Fact
from controller.core.sensing import ultimate_keys
from controller.core.sensing.shoe_table import ShoeTable
from controller.core.setup import Setup
from controller.core.state import State
from drivers.readings import Reading


class UltimateShoe:
    """The sensing of one such table: a shoe table whose keys are read for boxes."""

    def __init__(self, setup: Setup) -> None:
        self._table = ShoeTable(setup)

    def feed(self, reading: Reading, at: int, state: State) -> list[Fact]:
        """What one reading means."""
        return ultimate_keys.read(self._table.feed(reading, at, state))

    def tick(self, at: int, state: State) -> list[Fact]:
        """Let time pass up to ``at`` (monotonic ns)."""
        return ultimate_keys.read(self._table.tick(at, state))

    @property
    def sighted(self) -> set[str]:
        """See ``witnessed.Primary``."""
        return self._table.sighted

    @sighted.setter
    def sighted(self, places: set[str]) -> None:
        self._table.sighted = places

    def also(self, since: int, fact: Fact) -> None:
        """See ``witnessed.Primary``."""
        self._table.also(since, fact)

    def has(self, card: str, place: str | None = None) -> bool:
        """See ``witnessed.Primary``."""
        return self._table.has(card, place)

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        return self._table.deadline()
