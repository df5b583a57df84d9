"""The state of an Ultimate table: what the records have made of the boxes. Only ``evolve`` changes it.

What stage a round has reached is nowhere kept: it follows from the cards and the decisions.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from controller.core.rules.ultimate.house import SPOTS, Spot

Phase = Literal["deal", "decide", "board", "reveal", "settle"]
BOARD_AFTER = {1: 0, 2: 3, 3: 5}
"""How many common cards lie open at each decision (LT-8.1, LT-8.4, LT-9.2)."""


@dataclass(slots=True)
class Dealt:
    """One card of the round, in the order the cards left the shoe. ``gone``: it counts no more."""

    place: str
    box: int | None
    card: str | None = field(repr=False)
    salt: str | None = field(repr=False)
    opened: bool = False
    gone: bool = False
    premature: bool = False
    doubted: bool = False
    """Dealt closed, and no device could name it."""


@dataclass(slots=True)
class Box:
    """One box. Stakes in minor units; ``luck`` is the part of a stake in luck chips.

    ``play_at`` is the decision at which PLAY was placed, 0 before the deal. ``decided`` is the last decision made,
    ``folded`` the one at which the box was given up, 0 in a deal that was void. ``looked``: in that deal its player has
    looked at the cards, so a PLAY that stands does not make the box dark.
    """

    player: str | None = None
    stakes: dict[str, int] = field(default_factory=dict)
    luck: dict[str, int] = field(default_factory=dict)
    sensed: tuple[str, ...] = ()
    """The spots whose stake a sensor saw: their payment is looked for as well."""
    play_at: int | None = None
    dark: bool = False
    """PLAY lay there before the deal: the box decides nothing and its cards stay unseen (LT-2.5, LT-2.7)."""
    looked: bool = False
    decided: int = 0
    folded: int | None = None
    revealed: bool = False
    settled: bool = False
    counted: dict[str, int] = field(default_factory=dict)
    """What lay on a spot last, once it was to be settled."""
    agreed: tuple[str, ...] = ()
    """The spots that have been seen as the settlement asks."""

    def stake(self, spot: Spot) -> int:
        """What is staked on a spot."""
        return self.stakes.get(spot, 0)

    @property
    def staked(self) -> int:
        """All stakes of the box."""
        return sum(self.stakes.values())

    def multiple(self, spot: Spot) -> tuple[int, int] | None:
        """A stake as a multiple of ANTE, in lowest terms as far as whole numbers go; ``None`` without an ANTE."""
        ante, amount = self.stake("ante"), self.stake(spot)
        if not ante or not amount:
            return None
        return (amount // ante, 1) if amount % ante == 0 else (amount, ante)


@dataclass(slots=True)
class Said:
    """The last keyed decision, as long as nothing has followed it."""

    box: int
    decision: int
    n: int


@dataclass(slots=True)
class Coup:
    """One round under way."""

    id: str
    day: str
    seed: bytes = field(repr=False)
    boxes: dict[int, Box]
    n: int = 0
    t_ms: int = 0
    slots: list[Dealt] = field(default_factory=list)
    dealer_shown: bool = False
    said: Said | None = None
    house_net: int = 0
    results: list[dict[str, Any]] = field(default_factory=list)
    actions: int = 0
    incidents: tuple[str, ...] = ()
    breaches: tuple[str, ...] = ()
    degraded: bool = False
    fold_trips: str = "settled"

    @property
    def board(self) -> list[str | None]:
        """The common cards that lie open and stand; ``None`` for one that nobody could name."""
        return [s.card for s in self.slots if s.place == "board" and s.opened and not s.gone and not s.premature]

    def cards(self, place: str, box: int | None = None) -> list[tuple[int, Dealt]]:
        """The cards of a place that count, with their numbers."""
        return [(i, s) for i, s in enumerate(self.slots) if s.place == place and s.box == box and not s.gone]

    def by_cards(self, box: Box) -> bool:
        """Whether the box needs its cards at the end: it stayed, or its TRIPS is settled though it was given up."""
        return box.folded is None or (self.fold_trips == "settled" and box.stake("trips") > 0)

    @property
    def in_deal(self) -> tuple[int, ...]:
        """The boxes that are dealt cards, from the dealer's left."""
        return tuple(number for number, box in sorted(self.boxes.items()) if box.folded != 0 or self.by_cards(box))

    @property
    def over(self) -> bool:
        """Whether no box needs cards any more: all were given up and no TRIPS waits."""
        return not any(self.by_cards(box) for box in self.boxes.values())

    def waiting(self, decision: int) -> tuple[int, ...]:
        """The boxes that still have to decide, from the dealer's left (LT-A10, LT-A7)."""
        return tuple(
            number
            for number, box in sorted(self.boxes.items())
            if box.folded is None and box.play_at is None and box.decided < decision
        )

    @property
    def decision(self) -> int:
        """Which decision the open cards ask for: 1, 2 or 3."""
        return next(d for d, size in sorted(BOARD_AFTER.items(), reverse=True) if len(self.board) >= size)

    @property
    def phase(self) -> Phase:
        """What comes next: cards, decisions, common cards, the dealer's hand, or the settlement."""
        dealt = all(len(self.cards("box", number)) == 2 for number in self.in_deal)
        if not dealt or len(self.cards("dealer")) != 2:
            return "deal"
        if self.over:
            return "settle"
        if self.waiting(self.decision):
            return "decide"
        if len(self.board) < 5:
            return "board"
        return "settle" if self.dealer_shown else "reveal"

    @property
    def substantial(self) -> bool:
        """Whether a PLAY was placed or a box given up: a misdeal is no longer automatic (LT-A5)."""
        return any(box.folded or box.play_at for box in self.boxes.values())


@dataclass(slots=True)
class Coming:
    """The round to come: stakes that are placed before carry its name."""

    id: str
    day: str
    number: int
    n: int = 0


@dataclass(slots=True)
class Colour:
    """A colour chip in a player's hands: what one is worth, and whose it is (LT-1.1, LT-A12)."""

    value: int
    player: str | None
    box: int | None


@dataclass(slots=True)
class BoxTable:
    """What an Ultimate table has beside the common state. ``playing``: this table is open for Ultimate."""

    playing: bool = False
    announced: tuple[int, ...] = ()
    valid: str = "until_changed"
    boxes: dict[int, Box] = field(default_factory=dict)
    """The stakes for the round to come."""
    coming: Coming | None = None
    coup: Coup | None = None
    shuffled: bool = False
    cut: str | None = None
    cut_offered: bool = False
    colours: dict[str, Colour] = field(default_factory=dict)

    def box(self, number: int) -> Box:
        """The stakes of one box: of the round under way, or of the one to come."""
        if self.coup is not None and number in self.coup.boxes:
            return self.coup.boxes[number]
        return self.boxes.get(number) or Box()

    @property
    def staked(self) -> tuple[int, ...]:
        """The boxes with a stake on any spot."""
        return tuple(number for number, box in sorted(self.boxes.items()) if any(box.stake(spot) for spot in SPOTS))
