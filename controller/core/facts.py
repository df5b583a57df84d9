"""What happened on the felt. Sensing makes facts, the rules judge them; facts know no device."""

from dataclasses import dataclass, field
from typing import Literal

Basis = Literal["sensor", "keyed", "attested", "derived"]
Kind = Literal["fold", "check", "call", "bet", "raise", "all_in"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which reading of which device a fact rests on."""

    device: str
    reading: int


Sources = tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class CardCame:
    """A card came to a place. ``place``: ``seat`` ``board`` ``burn``, or ``next``: where the dealing order sends it.

    ``card`` is ``None`` where nobody knows its value (unread, doubtful); ``guess`` is then what the device took it for.
    """

    place: str
    card: str | None = field(repr=False)
    seat: int | None = None
    basis: Basis = "sensor"
    evidence: Sources = ()
    guess: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Declared:
    """A seat's decision. ``to`` is the seat's total for the round in minor units (bet, raise, all_in).

    ``seat`` ``None`` means the seat whose turn it is. At the showdown ``fold`` is a muck.
    """

    kind: Kind
    seat: int | None = None
    to: int | None = None
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class StakePlaced:
    """The chips in front of a seat have changed and rest (RFID tables): one movement.

    ``total`` is what lies there in minor units, without what lay there before the round began. ``movements`` counts
    the movements of this seat in the round, ``chips`` the chips that this one added. ``spoken`` is what was declared
    for it by key, if anything.
    """

    seat: int
    total: int
    movements: int = 1
    chips: int = 1
    spoken: Declared | None = None
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class CountsDiffer:
    """What an antenna sees and what it should see do not agree and do not come to agree (I-15, I-19, I-26).

    ``what``: ``stake`` (chips on their way never arrived), ``payout`` (stacks after the push), ``cards``, ``pot``
    (chips of it lie on a stack before there is an award).
    """

    what: Literal["stake", "payout", "cards", "pot"]
    seat: int | None
    expected: int | None
    seen: int | None
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class ChangeDiffers:
    """A change of chips during a hand has not come out even in time.

    ``gave`` and ``got`` in minor units: what the seat gave to the tray and to other seats, and what it got from there.
    ``others``: the seats among those that gave. What nobody paid for is no stake, wherever it lies. ``of_pot``: it got
    chips out of the pot or the rake.
    """

    seat: int
    gave: int
    got: int
    others: tuple[int, ...] = ()
    of_pot: bool = False
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class HandAttested:
    """The dealer attests shuffle and cut (HAND); at a shoe table the blinds and antes due are posted with it.

    ``stacks`` are the counted stacks by seat, in minor units, where antennas see them.
    """

    stacks: tuple[tuple[int, int], ...] = ()
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A seat's cards lie face up (SHOW). ``cards`` where the sensor sees them, else the known closed cards."""

    seat: int | None
    cards: tuple[str, ...] = field(default=(), repr=False)
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Exposed:
    """A closed card of a seat lies face up while the hand is played (I-1, I-3)."""

    seat: int
    card: str = field(repr=False)
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class SightDiffers:
    """A second witness goes on naming a card at a place where the table's own devices have another, or none (I-18).

    ``place``: ``board`` ``seat``, or ``shoe`` for a card that left it and lies nowhere.
    """

    place: str
    card: str = field(repr=False)
    seat: int | None = None
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class CardsNamed:
    """Common cards that lie open and that nobody had read are these, in the order in which they came."""

    cards: tuple[str, ...] = field(repr=False)
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class ShoeDiffers:
    """Shoe and antennas do not tell the same of a card.

    ``what``: it left the shoe and lies nowhere (``missing``), it lies there and never left it (``unseen``), one left
    and another one lies there (``other``), or what left is no card of this deck (``foreign``).
    """

    what: Literal["missing", "unseen", "other", "foreign"]
    place: str = ""
    seat: int | None = None
    cards: tuple[str, ...] = field(default=(), repr=False)
    evidence: Sources = ()
    basis: Basis = "sensor"


@dataclass(frozen=True, slots=True)
class CardsAstray:
    """A seat's cards do not lie where they were dealt (I-14). Which cards they are is not told.

    ``what``: one or all of them are read nowhere (``missing``), they lie at another seat or another seat's lie there
    (``exchanged``), other cards of the deck lie there (``switched``), or they were given up and lie before a seat or on
    the board again (``out_of_muck``). ``others`` are the other seats. ``off_board``: common cards are read nowhere, and
    ``seat`` is ``None``.
    """

    what: Literal["missing", "exchanged", "switched", "out_of_muck", "off_board"]
    seat: int | None
    others: tuple[int, ...] = ()
    evidence: Sources = ()
    basis: Basis = "sensor"


@dataclass(frozen=True, slots=True)
class ShoeAgrees:
    """A card that had been told ``missing`` lies there now, or one that was ``unseen`` has left the shoe after all."""

    what: Literal["missing", "unseen"]
    evidence: Sources = ()
    basis: Basis = "sensor"


@dataclass(frozen=True, slots=True)
class Finished:
    """Chips are pushed and cards collected (DONE). ``stacks`` as in ``HandAttested``."""

    stacks: tuple[tuple[int, int], ...] = ()
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Announced:
    """The dealer announced who wins (HR-15.2)."""

    seats: tuple[int, ...]
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Pushed:
    """Chips went from the pot to a seat. ``amount`` in minor units, ``None`` where nobody counted them."""

    seat: int
    amount: int | None = None
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class RakeDropped:
    """Chips went from the pot into the rake box (BG-5.30). ``amount`` in minor units."""

    amount: int
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Tipped:
    """A winner gave chips to the dealers' box. ``amount`` in minor units."""

    seat: int
    amount: int
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Undone:
    """The dealer takes back the last keyed entry (a key held for 2 s)."""

    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Called:
    """The dealer calls a person (``misdeal`` or ``void``): a keypad never rules, so this opens an incident."""

    what: Literal["misdeal", "void"]
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that cannot be meant (an impossible key, a seat that is not there): nothing changes, it is recorded."""

    tried: str
    why: str
    seat: int | None = None
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class TrayCounted:
    """The chip tray was read: (value in minor units, count) per denomination, and tags no registry knows."""

    counts: tuple[tuple[int, int], ...]
    unknown: tuple[str, ...] = field(default=(), repr=False)
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class CardDoubtful:
    """A card left the shoe and nobody can name it: not in the deck, or the shoe is not sure (I-13, I-17).

    ``why``: ``unknown`` ``low_confidence``. ``card`` is the doubtful value, kept sealed.
    """

    why: str
    card: str | None = field(repr=False)
    basis: Basis = "sensor"
    evidence: Sources = ()


# --- Ultimate: boxes against the house ------------------------------------------------------------------------

Chips = tuple[tuple[str, int, int], ...]
"""Chips by kind (``value`` ``colour`` ``promo``), value of one in minor units, and count."""


@dataclass(frozen=True, slots=True)
class StakeLies:
    """What lies on a bet spot of a box now, in minor units: all of it, not a change.

    ``strange`` counts chips whose value nobody knows (no registry has them, or a colour without a player).
    """

    box: int
    spot: Literal["ante", "blind", "trips", "play"]
    amount: int
    chips: Chips = ()
    strange: int = 0
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class BoxDecided:
    """A box decides. ``box`` ``None``: the next one that has to; ``amount`` of PLAY ``None``: the least that may be."""

    kind: Literal["check", "play", "fold"]
    box: int | None = None
    amount: int | None = None
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Turned:
    """Cards lie face up: a box's, the dealer's, the board's; ``next``: those that are due."""

    place: Literal["box", "dealer", "board", "next"]
    box: int | None = None
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class CardsMoved:
    """A box's cards were ``lifted``; ``touched`` under PLAY; taken ``away`` from the table; or ``not_under_play``."""

    box: int
    how: Literal["lifted", "touched", "away", "not_under_play"]
    basis: Basis = "sensor"
    evidence: Sources = ()


Fact = (
    CardCame
    | StakeLies
    | BoxDecided
    | Turned
    | CardsMoved
    | Declared
    | StakePlaced
    | CountsDiffer
    | ChangeDiffers
    | HandAttested
    | Shown
    | CardsNamed
    | ShoeDiffers
    | CardsAstray
    | ShoeAgrees
    | Exposed
    | SightDiffers
    | Finished
    | Announced
    | Pushed
    | RakeDropped
    | Tipped
    | Undone
    | Called
    | Refused
    | TrayCounted
    | CardDoubtful
)
