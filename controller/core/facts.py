"""What happened on the felt. Sensing makes facts, the rules judge them; facts know no device."""

from dataclasses import dataclass
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

    ``card`` is ``None`` where nobody knows its value (unread, doubtful).
    """

    place: str
    card: str | None
    seat: int | None = None
    basis: Basis = "sensor"
    evidence: Sources = ()


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
class HandAttested:
    """The dealer attests shuffle and cut (HAND); at a shoe table the blinds and antes due are posted with it."""

    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A seat's cards lie face up (SHOW). ``cards`` where the sensor sees them, else the known closed cards."""

    seat: int
    cards: tuple[str, ...] = ()
    basis: Basis = "keyed"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """Chips are pushed and cards collected (DONE)."""

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
    unknown: tuple[str, ...] = ()
    basis: Basis = "sensor"
    evidence: Sources = ()


@dataclass(frozen=True, slots=True)
class CardDoubtful:
    """A card left the shoe and nobody can name it: not in the deck, or the shoe is not sure (I-13, I-17).

    ``why``: ``unknown`` ``low_confidence``. ``card`` is the doubtful value, kept sealed.
    """

    why: str
    card: str | None
    basis: Basis = "sensor"
    evidence: Sources = ()


Fact = CardCame | Declared | HandAttested | Shown | Finished | Undone | Called | Refused | TrayCounted | CardDoubtful
