"""What is on record about the money of a table. Only ``evolve`` changes it. Amounts in minor units."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Counts = tuple[tuple[int, int], ...]
"""Chips by denomination: (value, count)."""
BOXES = ("drop", "rake", "tips")
"""What is collected from a table in a box."""


@dataclass(frozen=True, slots=True)
class Slip:
    """A fill or a credit that was asked for, and is neither complete nor cancelled."""

    id: str
    number: int
    kind: str
    lines: Counts
    total: int
    tray: Counts | None
    """What the tray's antenna read when it was asked for; ``None``: nothing, or other chips have moved since."""
    requester: tuple[str, str] = ("", "")
    """Who asked for it: person and role."""


@dataclass(slots=True)
class Meters:
    """Sums since the shift began (``since``, UTC). ``hour``: hours since 1970 at the last reading."""

    since: str = ""
    hour: int = 0
    drop: int = 0
    fills: int = 0
    credits: int = 0
    opener: int | None = None
    closer: int | None = None
    rake: int = 0
    tips: int = 0
    orphans: int = 0
    bets: dict[str, int] = field(default_factory=dict)
    """By place: ``seat:3``, ``box:2:ante``."""
    wins: dict[str, int] = field(default_factory=dict)
    """What came back to the players, their stakes included."""
    hands: int = 0
    hands_void: int = 0

    @property
    def moved(self) -> bool:
        """Whether chips have gone into or out of the tray: a count that comes later is no opener."""
        return bool(self.drop or self.fills or self.credits or self.hands)


@dataclass(slots=True)
class Cash:
    """Slips, boxes, meters, and what was told to surveillance."""

    slips: int = 0
    """How many slips this table has had: each has a number, and no number is left out."""
    open: dict[str, Slip] = field(default_factory=dict)
    boxes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BOXES, 0))
    """What should lie in each box since it was last emptied."""
    removed: dict[str, int] = field(default_factory=dict)
    """``drop B12`` -> what should lie in a box that was taken away and is not counted yet."""
    meters: Meters = field(default_factory=Meters)
    taken: int = 0
    """The rake of the hand under way: what was dropped, or what is due where nobody saw it."""
    finals: list[str] = field(default_factory=list)
    """The hands of this session that are final, the newest ``MOST_FINALS``."""
    played: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Hand -> the seats that were in it and have not been given up since; the newest, as ``finals``."""
    orphans: dict[str, int] = field(default_factory=dict)
    """What antennas found at places of nobody since the last hand began."""
    reported: set[str] = field(default_factory=set)
    """What surveillance was told in this session: it is told once."""


MOST_FINALS = 500


def changes(moves: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """What each place of a correction gets, less where it gives."""
    for move in moves:
        yield move["from"], -move["amount"]
        yield move["to"], move["amount"]
