"""The dealer: turns acts into what hands do to devices, with the pauses a person makes.

The dealer does not look at the daemon. A pause is drawn from the pace of the scenario, by its seed, so the
same script is the same evening again.
"""

import random
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simulators.scripts.acts import Act, Attest, Declare, Finish, Muck, Press, Show, Slide
from simulators.scripts.sequence import Span

KEY_HOLD = Span(40, 70, 140)
KEY_GAP = Span(70, 120, 260)
MOST_DRAWN = 10_000
"""So many durations are kept until somebody asks for them."""
Drawn = tuple[str, int]
"""What a duration was drawn for, and how long it is in ms."""

VERBS: Mapping[str, str] = {
    "fold": "FOLD",
    "check": "CHECK",
    "call": "CALL",
    "bet": "BET",
    "raise": "RAISE",
    "all_in": "ALLIN",
}


@dataclass(frozen=True, slots=True)
class CardSlides:
    """A card passes the reader of the shoe."""

    card: str | None
    confidence: int


@dataclass(frozen=True, slots=True)
class KeyDown:
    """A key goes down."""

    key: str


@dataclass(frozen=True, slots=True)
class KeyUp:
    """A key comes up."""

    key: str


@dataclass(frozen=True, slots=True)
class Lift:
    """Tags leave the field of a place."""

    place: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lay:
    """Tags come into the field of a place."""

    place: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """Cards at a place are turned over, so that they lie face up."""

    place: str
    tags: tuple[str, ...]


Deed = CardSlides | KeyDown | KeyUp | Lift | Lay | Turn


@dataclass(frozen=True, slots=True)
class Timed:
    """A deed and the pause before it, in ms."""

    after_ms: int
    deed: Deed


class Dealer:
    """One dealer at one table. ``unit`` is the smallest chip: keyed amounts count it."""

    def __init__(self, unit: int, seed: int, pace: Mapping[str, Span]) -> None:
        self._unit = unit
        self.dice = random.Random(f"dealer/{seed}")
        self._pace = pace
        self._drawn: deque[Drawn] = deque(maxlen=MOST_DRAWN)

    def pause(self, name: str = "gap_ms") -> int:
        """How long the dealer waits, in ms."""
        return self.draw(name, self._pace[name])

    def draw(self, name: str, span: Span) -> int:
        """A duration in ms, kept by its name."""
        drawn = span.draw(self.dice)
        self._drawn.append((name, drawn))
        return drawn

    def drawn(self) -> list[Drawn]:
        """Every duration that was drawn since this was asked last."""
        found = list(self._drawn)
        self._drawn.clear()
        return found

    def deeds(self, act: Act) -> Iterator[Timed]:
        """What the hands do for one act; nothing where the act is none of theirs."""
        match act:
            case Slide(card=card, confidence=confidence):
                yield Timed(self.pause("slide_ms"), CardSlides(card, confidence))
            case Press(keys=keys, hold_ms=hold):
                yield from self._press(keys, hold)
            case _:
                yield from self._press(keys_of(act, self._unit), None)

    def _press(self, keys: tuple[str, ...], hold_ms: int | None) -> Iterator[Timed]:
        for number, key in enumerate(keys):
            yield Timed(self.draw("key_gap_ms", KEY_GAP) if number else 0, KeyDown(key))
            yield Timed(self.draw("key_hold_ms", KEY_HOLD) if hold_ms is None else hold_ms, KeyUp(key))


def keys_of(act: Act, unit: int) -> tuple[str, ...]:
    """The keys of one act: ``seat? verb (amount ENTER)?``; none where the act is not keyed."""
    match act:
        case Attest():
            return ("HAND",)
        case Finish():
            return ("DONE",)
        case Show(seat=seat):
            return (*("" if seat is None else str(seat)), "SHOW")
        case Muck(seat=seat):
            return (*str(seat), "FOLD")
        case Declare(kind=kind, seat=seat, to=to, name_seat=named):
            before = tuple(str(seat)) if named and seat is not None else ()
            amount = (*str(to // unit), "ENTER") if to is not None else ()
            if kind == "all_in" and to is None:
                amount = ("ENTER",)
            return (*before, VERBS[kind], *amount)
        case Press(keys=keys):
            return keys
    return ()
