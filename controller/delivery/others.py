"""Who else speaks under our name, as far as the broker tells us: seen to come, and seen to go.

Somebody who went in order or was missed by the broker says so himself, by a last word like our own. One whose last word
never came (the broker went as well) is held to be there until nothing was seen of him for long.
"""

import math

ANOTHER = (
    "words of this table are at the broker that are not of this ledger: another process publishes as this table (stop "
    "it, or give it a name of its own), or the ledger here was begun or put back in the place of one that said more"
)
"""What a person is told: from here nobody can see which of the two it is."""
GONE_S = 60.0
"""So long after the last sign of one who has gone the trouble is over."""
SILENT_S = 3600.0
"""So long after the last sign of one who was not seen to go it is over as well."""
MOST = 16
"""So many are told apart; of more the newest."""

Who = tuple[str, int | None]
"""A ledger, and the number of the connection of the one who has it."""


class Others:
    """Written by the pump's thread alone; ``there`` may be asked from any."""

    def __init__(self) -> None:
        self._there: tuple[Who, ...] = ()
        self._last = -math.inf

    def came(self, ledger: str, number: int | None, now: float) -> None:
        """Somebody speaks under our name: it is one, however often he comes again. ``now``: monotonic, in s."""
        kept = [one for one in self._there if one[0] != ledger]
        self._there, self._last = (*kept, (ledger, number))[-MOST:], now

    def went(self, ledger: str, number: int | None, now: float, *, strange: bool) -> None:
        """That was somebody's last word. One that belongs to an earlier connection ends nothing.

        ``strange``: it cannot be ours, so another was there, also where he was not seen to come.
        """
        known = (ledger, number) in self._there
        self._there = tuple(one for one in self._there if one != (ledger, number))
        if known or strange:
            self._last = now

    def there(self, now: float) -> bool:
        """Whether another is there, or was a short while ago."""
        return now - self._last < (SILENT_S if self._there else GONE_S)
