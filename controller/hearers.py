"""Whom the core thread tells what it does: devices, delivery, a capture."""

from collections.abc import Callable, Sequence
from typing import Protocol

from controller.core.inputs import Input
from controller.ledger.outbox import Unsent
from drivers.readings import Reading

Acknowledge = Callable[[Reading], bool]
"""Tells a device that a reading is durable; ``False`` when it could not be told now."""


class Lift(Protocol):
    """Tells a device on which of its channels cards lie face up: see ``drivers.veil``."""

    def __call__(self, open_: frozenset[str], *, playing: bool) -> None:
        """``playing``: whether a hand is being played."""


class Delivery(Protocol):
    """Who brings to the broker what is written: the pump."""

    def expect(self, written: Sequence[Unsent]) -> None:
        """This is being committed."""

    def wake(self, written: Sequence[Unsent]) -> None:
        """This is durable; with nothing: what was expected is not."""


class Listener(Protocol):
    """Who wants to know all that enters the core: a capture."""

    def input(self, what: Input) -> None:
        """It is about to be fed."""

    def restored(self, row: int, at: int) -> None:
        """What the last input led to could not be stored: the table is that of the ledger's row again."""
