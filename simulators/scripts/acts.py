"""What a script is made of: the state to begin from, and what hands and people do, in order.

Acts name the physical deed, not what the daemon should make of it. ``simulators.dealer`` turns them into
cards that slide and keys that are pressed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

Kind = Literal["fold", "check", "call", "bet", "raise", "all_in"]

RANKS = "23456789TJQKA"
SUITS = "cdhs"
DECK = tuple(rank + suit for suit in SUITS for rank in RANKS)


@dataclass(frozen=True, slots=True)
class Attest:
    """The dealer presses HAND: shuffled, cut, blinds and antes are in."""


@dataclass(frozen=True, slots=True)
class Slide:
    """The top card leaves the shoe. ``place`` (``seat`` ``burn`` ``board`` ``box:2:cards``) is where the hand lays it.

    ``confidence`` is how sure the shoe is (0..100); ``card`` is what it says, ``None`` when it cannot tell.

    At a table with antennas and a shoe ``shoe`` is what the shoe takes it for, ``-`` where the card does not pass it,
    empty for the card itself; without ``lands`` it comes to no place that an antenna watches; ``slide_ms`` is how long
    it is on its way, 0 for the dealer's pace.
    """

    card: str | None
    place: str
    seat: int | None = None
    confidence: int = 100
    shoe: str = ""
    lands: bool = True
    slide_ms: int = 0


@dataclass(frozen=True, slots=True)
class Declare:
    """A seat decides and the dealer keys it. ``to`` is the seat's total for the round in minor units.

    With ``name_seat`` the dealer types the seat before the verb; without, the entry means whose turn it is.
    """

    kind: Kind
    seat: int | None = None
    to: int | None = None
    name_seat: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    """A seat's cards are turned face up (SHOW); without a seat what is next to be turned: a dealer's own cards."""

    seat: int | None


@dataclass(frozen=True, slots=True)
class Muck:
    """A seat gives its cards up unseen (FOLD with the seat)."""

    seat: int


@dataclass(frozen=True, slots=True)
class Finish:
    """Chips are pushed and cards collected (DONE)."""


@dataclass(frozen=True, slots=True)
class Press:
    """Raw keys, one after the other; each is held for ``hold_ms``."""

    keys: tuple[str, ...]
    hold_ms: int = 60


@dataclass(frozen=True, slots=True)
class Order:
    """A person's command at the command socket."""

    name: str
    args: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    by: str = ""
    role: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A person rules on the open incident with this code. ``args`` is what the ruling needs besides (a card, moves)."""

    code: str
    ruling: str
    by: str = ""
    role: str = ""
    reason: str = ""
    args: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Stake:
    """A seat puts chips of its stack in front of it, in one movement, until ``to`` lies there.

    ``raises``: more than a call, so that a dealer announces it where it is a single chip (CM-17).
    """

    seat: int
    to: int
    raises: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """The dealer pulls all chips in front of the seats into the pot."""


@dataclass(frozen=True, slots=True)
class Return:
    """Chips that nobody called go back from the pot to a seat."""

    seat: int
    amount: int


@dataclass(frozen=True, slots=True)
class Push:
    """The dealer pushes chips of the pot to a seat."""

    seat: int
    amount: int


@dataclass(frozen=True, slots=True)
class MoveChips:
    """These chips (by value) move from place to place, in so many movements with a pause between them."""

    source: str
    target: str
    chips: Mapping[int, int]
    movements: int = 1
    pause_ms: int = 0


@dataclass(frozen=True, slots=True)
class MoveCards:
    """Cards move: the last ``count`` that came to ``source``, 0 for all. ``target`` ``""`` is off the felt."""

    source: str
    target: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class ReplaceChips:
    """The stacks are spread, and every chip whose tag is dead is changed for a good one."""


@dataclass(frozen=True, slots=True)
class LiftCards:
    """The cards of a place are lifted for so long, and come back."""

    place: str
    ms: int


@dataclass(frozen=True, slots=True)
class Flicker:
    """The tags of a place drop out of their field for ``off_ms``, ``times`` over, with as long between."""

    place: str
    off_ms: int
    times: int


@dataclass(frozen=True, slots=True)
class SwapCards:
    """Two players exchange cards: the last ``count`` of one place for as many of the other."""

    one: str
    other: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class CloneTags:
    """Tags with the numbers of the last ``count`` that came to ``place`` are held over ``target`` for so long."""

    place: str
    target: str
    ms: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Unreadable:
    """These chips of a place (by value) are read no more, wherever they go; after ``ms``, where it is not 0, again."""

    place: str
    chips: Mapping[int, int]
    ms: int = 0


@dataclass(frozen=True, slots=True)
class OtherDeck:
    """The other deck is shuffled beside the table, over the antenna of ``place``, for so long."""

    place: str
    ms: int
    cards: int = 20


@dataclass(frozen=True, slots=True)
class DeviceAct:
    """Something happens to a device: ``unplug`` ``plug`` ``reset`` ``swap`` ``load`` ``jam`` ``clear`` ``noise``."""

    what: str
    device: str
    args: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class SystemAct:
    """Something happens to the system: ``daemon.kill`` and ``.start``, ``broker.stop``, ``.freeze`` and ``.start``,
    ``disk.fill`` and ``disk.free``. ``leave_kb`` is what filling leaves free.
    """

    what: str
    leave_kb: int = 0


@dataclass(frozen=True, slots=True)
class Power:
    """The power of a device, or of the whole machine under test (``dut``), is cut or comes back."""

    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Pause:
    """Nobody does anything for so long."""

    ms: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """Something that a person at the rig is asked to do, or told. A rig without one goes on at once."""

    text: str


@dataclass(frozen=True, slots=True)
class Unsensed:
    """An act that this table neither senses nor keys. It is performed all the same and leaves no trace."""

    what: str


@dataclass(frozen=True, slots=True)
class Check:
    """Evaluate what has been expected so far."""


Act = (
    Attest
    | Slide
    | Declare
    | Show
    | Muck
    | Finish
    | Press
    | Order
    | Rule
    | DeviceAct
    | SystemAct
    | Power
    | Pause
    | Prompt
    | Unsensed
    | Check
    | Stake
    | Sweep
    | Return
    | Push
    | MoveChips
    | MoveCards
    | ReplaceChips
    | LiftCards
    | SwapCards
    | Flicker
    | CloneTags
    | Unreadable
    | OtherDeck
)

FELT_ACTS = (
    *(Stake, Sweep, Return, Push, MoveChips, MoveCards, ReplaceChips),
    *(LiftCards, SwapCards, Flicker, CloneTags, Unreadable, OtherDeck),
)
"""Acts that only a table with antennas senses."""


@dataclass(frozen=True, slots=True)
class SeatStart:
    """Who sits where. ``stack`` in minor units, ``None`` when nobody counted it.

    ``chips`` by value are what the stack is made of, where the script says; the rig counts them all the same.
    """

    seat: int
    player: str
    stack: int | None
    chips: Mapping[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Stakes:
    """Blinds and ante in minor units, the chips by value, the currency and its decimals; the game and its structure.

    ``small_bet`` and ``big_bet`` are the sizes of fixed limit, 0 elsewhere. ``structure`` ``None``: the house's.
    """

    small_blind: int
    big_blind: int
    ante: int
    ante_kind: Literal["each", "big_blind"]
    chips: tuple[int, ...]
    currency: str = "EUR"
    exponent: int = 0
    game: Literal["holdem", "omaha", "ultimate"] = "holdem"
    structure: Literal["no_limit", "pot_limit", "fixed_limit"] | None = None
    small_bet: int = 0
    big_bet: int = 0

    @property
    def unit(self) -> int:
        """The table unit: the smallest chip. Keyed amounts count it."""
        return min(self.chips)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a recorded hand says came out of it.

    ``stacks`` is empty where the record has none. ``halves`` are the seats whose recorded stack no chip can
    pay (twice its value, to stay in integers); ``masked`` the cards the record does not know.
    """

    stacks: Mapping[int, int]
    board: tuple[str, ...]
    halves: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    masked: frozenset[str] = frozenset()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """One hand as acts: what the table is, who sits there, and what is done."""

    name: str
    path: Path
    stakes: Stakes
    seats: tuple[SeatStart, ...]
    button: int
    acts: tuple[Act, ...]
    outcome: Outcome
