"""What a dealer keyed and a killed daemon had not written down yet: read off the table's status, and keyed again.

Cards need no such care: the shoe keeps each until it is confirmed, and gives it out again.
"""

from collections.abc import Mapping
from typing import Any

from simulators.scripts.acts import Act, Attest, Declare, Finish, Muck, Show


class Performed:
    """The keyed acts of the hand that is being played, as the dealer remembers them."""

    def __init__(self) -> None:
        self._acts: list[Act] = []

    def note(self, act: Act) -> None:
        """An act was performed."""
        if isinstance(act, Attest):
            self._acts = []
        if isinstance(act, Attest | Declare | Show | Muck | Finish):
            self._acts.append(act)

    def lost(self, hand: Mapping[str, Any] | None) -> list[Act]:
        """The acts that are not on record. ``hand`` is what ``status`` says of the hand, ``None`` without one."""
        if hand is None:
            # Either nothing of the hand was written, or all of it was and it is over.
            return [] if self._acts and isinstance(self._acts[-1], Finish) else list(self._acts)
        actions = int(hand["actions"])
        shown, live = set(hand["shown"]), set(hand["live"])
        lost: list[Act] = []
        for act in self._acts:
            match act:
                case Declare():
                    actions -= 1
                    if actions < 0:
                        lost.append(act)
                case Show(seat=seat) if seat not in shown:
                    lost.append(act)
                case Muck(seat=seat) if seat in live:
                    lost.append(act)
                case Finish():
                    lost.append(act)
        return lost
