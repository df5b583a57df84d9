"""The rules' state: what the records so far have made of the table. Only ``evolve`` changes it.

Nothing here is kept that can be derived; what is derived stands as a property or in ``rules``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from controller.core.cash.state import Cash
from controller.core.floor.state import Floor
from controller.core.rules.ultimate.state import BoxTable, Coup
from controller.core.setup import Limits

Severity = Literal["low", "high", "stop"]
Phase = Literal["deal", "bet", "board", "showdown", "award"]
STREETS = ("preflop", "flop", "turn", "river")
BOARD_SIZE = {"preflop": 0, "flop": 3, "turn": 4, "river": 5}


@dataclass(slots=True)
class Slot:
    """One card of the hand, in the order the cards left the shoe. ``gone``: back in the stub, void or replaced."""

    place: str
    seat: int | None
    card: str | None = field(repr=False)
    salt: str | None = field(repr=False)
    opened: bool = False
    gone: bool = False
    premature: bool = False
    exposed: bool = False
    """The dealer turned it over in the deal: it is the first burn, and another card takes its place (CM-11b)."""
    doubted: bool = False
    """No device could name it when it came; nobody outside learns so before the hand has ended."""


@dataclass(slots=True)
class Incident:
    """An open breach or device trouble that a person must rule on."""

    id: str
    code: str
    holds: str
    hand: str | None
    kind: str
    who_may_rule: tuple[str, ...]
    proposed: str
    alternatives: tuple[str, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    silent: bool = False
    """Only surveillance is told of it (I-29); the table learns at most that somebody was called to a seat."""
    severity: Severity = "high"
    since: int = 0
    """When it was opened, by the clock on the wall, in ns since 1970."""
    due_ms: int | None = None
    """How long a ruling may take before it is more severe; ``None``: as long as it likes."""

    @property
    def escalated(self) -> int:
        """How many times it has been overdue."""
        return int(self.facts.get("escalated", 0))

    @property
    def asks(self) -> str:
        """What is said at the table while it holds."""
        called = "somebody who may rule was called to this seat"
        return called if self.silent else f"incident {self.id} has to be ruled first"


@dataclass(slots=True)
class Pending:
    """A closed hand whose result can still be disputed. ``result`` is what holds so far."""

    hand: str
    n: int
    t_ms: int
    revision: int
    day: str
    result: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Early:
    """A decision out of turn. It binds while nobody has changed ``level`` since; ``sensed``: the chips lie there."""

    kind: str
    to: int
    level: int
    sensed: bool


@dataclass(slots=True)
class Hand:
    """One poker hand under way. Amounts in minor units; ``bet`` is this round, ``paid`` the whole hand.

    All values but the cards are replaced and never changed in place: so the values of one moment are a copy of it.
    """

    id: str
    day: str
    button: int
    small: int | None
    big: int
    order: tuple[int, ...]
    limits: Limits
    start: Mapping[int, int | None]
    stack: Mapping[int, int | None]
    own_cards: int
    seed: bytes = field(repr=False)
    structure: str = "no_limit"
    unit: int = 1
    """The smallest chip, in minor units: bounds are payable."""
    burns: int = 1
    straddle: int | None = None
    """Who posted a straddle: the last to speak before the flop."""
    owed: tuple[tuple[int, str, int], ...] = ()
    """What seats that come back post beside the blinds: (seat, kind, amount) (I-24)."""
    n: int = 0
    t_ms: int = 0
    began_t_ms: int = 0
    phase: Phase = "deal"
    street: str = "preflop"
    slots: list[Slot] = field(default_factory=list)
    posted: tuple[tuple[int, str], ...] = ()
    bet: Mapping[int, int] = field(default_factory=dict)
    paid: Mapping[int, int] = field(default_factory=dict)
    dead_by: Mapping[int, int] = field(default_factory=dict)
    """What belongs to the main pot whatever the bets: an ante for the table, a dead blind."""
    live: tuple[int, ...] = ()
    all_in: tuple[int, ...] = ()
    acted: Mapping[int, int] = field(default_factory=dict)
    level: int = 0
    step: int = 0
    raises: int = 0
    opened: bool = False
    early: Mapping[int, Early] = field(default_factory=dict)
    """What seats said out of turn in this round, and nobody has made void (CM-15)."""
    excess: Mapping[int, int] = field(default_factory=dict)
    """What lies before a seat in the round beyond its stake and has to go back to it, in minor units."""
    leaving: tuple[int, ...] = ()
    """Who gave up the seat during the hand: folds at the next turn (HR-A12)."""
    aggressor: int | None = None
    to_act: int | None = None
    in_turn: int = 0
    chips_moved: bool = False
    turned: tuple[int, ...] = ()
    """Seats whose cards lie face up and are read only now (``closed_cards = "unread"``)."""
    shown: tuple[int, ...] = ()
    must_show: tuple[int, ...] = ()
    pots: list[dict[str, Any]] = field(default_factory=list)
    rake: int = 0
    announced: tuple[int, ...] | None = None
    pushed: tuple[tuple[int, int | None], ...] = ()
    """Chips seen going from the pot to a seat: (seat, amount)."""
    dropped: int | None = None
    tips: Mapping[int, int] = field(default_factory=dict)
    upheld: bool = False
    """A person ruled that a push against the award stands (I-19)."""
    actions: int = 0
    incidents: tuple[str, ...] = ()
    looked_at: tuple[str, ...] = ()
    """The kinds of these incidents, each with a seat that it is about: ``strange_chip 3``."""
    breaches: tuple[str, ...] = ()
    degraded: bool = False
    before: tuple[Any, ...] | None = None
    """All values as they were before the last keyed decision, as long as nothing has followed it."""

    def snapshot(self) -> tuple[Any, ...]:
        """The values of this hand, which later bets do not reach; it keeps no older ones.

        The cards are shared: whatever touches them also forgets the copy, so there is nothing to keep apart.
        """
        self.before = None
        return _VALUES(self)

    def set(self, values: tuple[Any, ...]) -> None:
        """Make the hand what it was when ``snapshot`` took these values."""
        for name, value in zip(Hand.__slots__, values, strict=True):
            setattr(self, name, value)

    def earlier(self) -> "Hand | None":
        """The hand as it was before the last keyed decision, or ``None``."""
        if self.before is None:
            return None
        hand = object.__new__(Hand)
        hand.set(self.before)
        return hand

    @property
    def dead(self) -> int:
        """The dead money of the hand."""
        return sum(self.dead_by.values())

    @property
    def pot(self) -> int:
        """All stakes of the hand, bets in front of the players included (BG-2.4, RS-1.1, RS-5.3)."""
        return sum(self.paid.values()) + self.dead

    def staked(self, seat: int) -> int:
        """All that a seat has put in and not got back."""
        return self.paid.get(seat, 0) + self.dead_by.get(seat, 0)

    @property
    def substantial(self) -> bool:
        """Substantial action has passed (CM-10): two actions in turn with chips, or any three."""
        return self.in_turn >= 3 or (self.in_turn >= 2 and self.chips_moved)

    @property
    def board(self) -> list[str | None]:
        """The common cards that stand, in order of arrival; ``None`` for one that nobody could name yet."""
        return [s.card for s in self.slots if s.place == "board" and not s.gone and not s.premature]

    @property
    def burned(self) -> bool:
        """Whether the burn of the street that comes next has been taken (CM-9)."""
        burns = len([s for s in self.slots if s.place == "burn" and not s.gone])
        return burns > STREETS.index(self.street) or not self.burns

    @property
    def can_bet(self) -> tuple[int, ...]:
        """The live seats that still have chips to stake."""
        return tuple(seat for seat in self.live if seat not in self.all_in)

    def own(self, seat: int) -> list[Slot]:
        """The closed cards dealt to a seat, in order."""
        return [s for s in self.slots if s.place == "seat" and s.seat == seat and not s.gone]


_VALUES: Callable[[Hand], tuple[Any, ...]] = attrgetter(*Hand.__slots__)


@dataclass(slots=True)
class Seat:
    """A taken seat. ``stack`` ``None``: nobody counted it.

    ``missed`` are the blinds that passed while the player was away; ``waits``: comes back as the big blind only.
    """

    player: str | None
    stack: int | None
    away: bool = False
    missed: tuple[str, ...] = ()
    waits: bool = False
    behind: int = 0
    """Bought during a hand: out of play until it ends (HR-9.4, I-27)."""


@dataclass(slots=True)
class State:
    """One table."""

    limits: Limits
    session: str | None = None
    day: str = ""
    shift: str = ""
    hands_today: int = 0
    openings_today: int = 0
    incidents_today: int = 0
    incidents_day: str = ""
    """The gaming day whose incidents are counted. A closed table has incidents too, before the day's first opening."""
    seats: dict[int, Seat] = field(default_factory=dict)
    button: int | None = None
    small: int | None = None
    """The place of the last small blind, even where nobody sits any more: a dead button goes there."""
    big: int | None = None
    dead_small: bool = False
    """Nobody posted the last small blind: its place was empty."""
    shuffled: bool = False
    """Shuffle and cut are attested for the hand to come (RFID tables)."""
    counted: dict[int, int] = field(default_factory=dict)
    """The stacks that antennas counted at that moment."""
    button_moves: bool = False
    """A hand was played from this button: the next one moves it."""
    staff: dict[str, str] = field(default_factory=dict)
    incidents: dict[str, Incident] = field(default_factory=dict)
    silent: dict[str, Incident] = field(default_factory=dict)
    """Open ones of which only surveillance was told (I-29): the table sees none of them."""
    silences: int = 0
    """How many of these this session has had."""
    repeats: dict[str, int] = field(default_factory=dict)
    hand: Hand | None = None
    pending: Pending | None = None
    replaces: str | None = None
    replays: tuple[int, ...] = ()
    """The seats of the hand that is dealt again: nobody else is dealt in (CM-11)."""
    hands: int = 0
    hands_void: int = 0
    tray: tuple[tuple[int, int], ...] | None = None
    devices: dict[str, str] = field(default_factory=dict)
    """Device -> the serial it last told, ``""`` before it told one."""
    lost: set[str] = field(default_factory=set)
    """The devices that do not answer now."""
    seen: dict[str, int] = field(default_factory=dict)
    """Device -> the newest reading that a record cites: what comes again after a restart is known by it."""
    attested: set[str] = field(default_factory=set)
    """The rules that somebody attested for this shift (rules.md 9.4)."""
    storage_full: bool = False
    """The ledger is as full as it may be: what is played is recorded, and no new hand begins (I-34)."""
    floor: Floor = field(default_factory=Floor)
    cash: Cash = field(default_factory=Cash)
    table: BoxTable = field(default_factory=BoxTable)
    """What an Ultimate table has: boxes, their stakes, and the round under way in place of a hand."""

    @property
    def play(self) -> Hand | Coup | None:
        """What is being played, whichever the game."""
        return self.hand if self.hand is not None else self.table.coup

    @property
    def held(self) -> Incident | None:
        """The oldest open incident that holds the hand, the table, or the seat whose turn it is; ``None`` without."""
        for incident in self.incidents.values():
            if incident.holds in ("hand", "table"):
                return incident
        return self._held_silently() if self.silent else None

    def _held_silently(self) -> Incident | None:
        hand = self.hand
        if hand is None or hand.phase != "bet":
            return None
        waits = (one for one in self.silent.values() if one.holds == "seat" and hand.to_act in one.facts["seats"])
        return next(waits, None)
