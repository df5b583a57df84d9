"""A shoe beside antennas: it tells that a card leaves, they tell where it comes to lie.

Antennas decide, for a card is dealt where it lies; the shoe's word joins theirs as evidence. A card that leaves and
lies nowhere, one that lies there and never left, and two that should be one are told once nothing more is to be
waited for; where the missing word comes after all, that is told too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from controller.core.cards import CARDS
from controller.core.facts import CardCame, Evidence, Fact, ShoeAgrees, ShoeDiffers
from controller.core.sensing.keys import MS
from controller.core.setup import Setup
from controller.core.state import State
from drivers.readings import CardSeen

PLAYED = ("deal", "bet", "board", "showdown")
"""Phases of a hand in which a card that leaves the shoe belongs somewhere."""


@dataclass(slots=True)
class Left:
    """A card left the shoe. ``card`` is ``None`` where the shoe may not read it, or is not sure."""

    card: str | None = field(repr=False)
    at: int
    source: Evidence
    told: bool = False
    """Whether it has been told that it lies nowhere."""


@dataclass(slots=True)
class Landed:
    """A card came to lie somewhere, and the shoe has not said that one left."""

    card: str | None = field(repr=False)
    at: int
    fact: CardCame
    told: bool = False


T = TypeVar("T", Left, Landed)


class ShoeBeside:
    """The shoe of a table with antennas. Not restored after a crash: what it waits for is not acknowledged either."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._shoe = next(device.name for device in setup.devices if device.kind == "shoe")
        self._fuse = setup.timing.fuse_ms * MS
        self._late = 2 * self._fuse  # a card that lies on another is read late
        self._left: list[Left] = []
        self._landed: list[Landed] = []
        self._joined: dict[int, int] = {}
        """Cards of the shoe that lie somewhere and are on no record yet, and since when."""
        self._news: list[Fact] = []
        self._hand: str | None = None
        self._silent = True
        self._since = 0
        """Since when the shoe and we have been there without a break: what was before it may have said unheard."""

    @staticmethod
    def of(setup: Setup) -> "ShoeBeside | None":
        """The shoe of a table that has one."""
        return ShoeBeside(setup) if any(device.kind == "shoe" for device in setup.devices) else None

    def left(self, reading: CardSeen, at: int, state: State) -> None:
        """A card left the shoe."""
        source = Evidence(reading.device, reading.sequence)
        card = reading.card
        if reading.tag is not None:
            card = self._setup.deck.tags.get(reading.tag)
            if card is None:
                self._news.append(ShoeDiffers("foreign", evidence=(source,)))
                return
        if card not in CARDS or reading.confidence < self._setup.timing.min_confidence:
            card = None
        landed = _match(self._landed, card)
        if landed is not None:
            self._landed.remove(landed)
        asked = landed.told if landed is not None else not self._landed and _open(state, "card_past_shoe")
        if asked:
            self._news.append(ShoeAgrees("unseen", evidence=(source,)))
        elif landed is None:
            self._left.append(Left(card, at, source))

    def landed(self, fact: CardCame, since: int, state: State) -> CardCame:
        """A card came to lie somewhere, seen there first at ``since``. Returns it with what the shoe said of it."""
        left = _match(self._left, fact.card)
        if left is None and not self._left and _open(state, "card_missing"):
            # It was told before a restart that this one lies nowhere.
            self._news.append(ShoeAgrees("missing", evidence=fact.evidence))
            return fact
        if left is None:
            self._landed.append(Landed(fact.card, since, fact))
            return fact
        self._left.remove(left)
        self._joined[left.source.reading] = since
        if left.told:
            self._news.append(ShoeAgrees("missing", evidence=(left.source, *fact.evidence)))
        return replace(fact, evidence=(*fact.evidence, left.source))

    def tick(self, at: int, state: State) -> list[Fact]:
        """Let time pass up to ``at`` (monotonic ns): what does not agree, and what does after all."""
        self._follow(at, state)
        if not self._silent:
            self._settle(at, state)
        news, self._news = self._news, []
        return news

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        if self._silent:
            return None
        times = [left.at + self._late for left in self._left if not left.told]
        times += [max(landed.at, self._since) + self._fuse for landed in self._landed if not landed.told]
        return min(times, default=None)

    def waiting(self) -> int | None:
        """The first card of the shoe whose outcome is not settled: it and those after it are not acknowledged."""
        return min([*self._joined, *(left.source.reading for left in self._left if not left.told)], default=None)

    def _follow(self, at: int, state: State) -> None:
        now = state.hand.id if state.hand is not None else None
        if self._hand is not None and now != self._hand:
            self._left.clear()
            self._landed.clear()
            self._joined.clear()
        self._hand = now
        # Once a person has ruled, what was told is over: it must not be taken for the next card.
        self._left = [left for left in self._left if not left.told or _open(state, "card_missing")]
        self._landed = [landed for landed in self._landed if not landed.told or _open(state, "card_past_shoe")]
        recorded = state.seen.get(self._shoe, 0)
        waiting = {number: since for number, since in self._joined.items() if number > recorded}
        self._joined = {number: since for number, since in waiting.items() if at - since < 2 * self._late}
        silent = self._shoe not in state.devices or self._shoe in state.lost
        if self._silent and not silent:
            self._since = at
        self._silent = silent

    def _settle(self, at: int, state: State) -> None:
        """What has been waited for long enough."""
        hand = state.hand
        played = hand is not None and hand.phase in PLAYED
        for left in [one for one in self._left if not one.told and at - one.at >= self._late]:
            other = next((one for one in self._landed if not one.told), None)
            if not played:
                self._left.remove(left)
            elif other is not None:
                self._other(left, other)
            else:
                left.told = True
                self._news.append(ShoeDiffers("missing", evidence=(left.source,)))
        for landed in [one for one in self._landed if not one.told]:
            if at - max(landed.at, self._since) < self._fuse:
                continue
            if other_left := next((one for one in self._left if not one.told), None):
                self._other(other_left, landed)
            elif not played or landed.at < self._since:
                self._landed.remove(landed)  # the shoe may have said so while nobody heard it
            else:
                landed.told = True
                self._news.append(ShoeDiffers("unseen", landed.fact.place, landed.fact.seat, (), landed.fact.evidence))

    def _other(self, left: Left, landed: Landed) -> None:
        """One card left and another one lies there."""
        self._left.remove(left)
        self._landed.remove(landed)
        cards = tuple(card for card in (left.card, landed.card) if card is not None)
        fact = landed.fact
        evidence = (*fact.evidence, left.source)
        self._news.append(ShoeDiffers("other", fact.place, fact.seat, cards, evidence))


def _open(state: State, kind: str) -> bool:
    """Whether a person is asked about this kind of difference."""
    return any(incident.kind == kind for incident in state.incidents.values())


def _match(waiting: Sequence[T], card: str | None) -> T | None:
    """The one that is this card; else, for nobody has read it or this one, the first that may be.

    What was told already is the last to be thought of: another card is on its way more often than a lost one comes.
    """
    same = [one for one in waiting if one.card == card] if card is not None else []
    if not same:
        same = [one for one in waiting if one.card is None or card is None]
    return min(same, key=lambda one: one.told, default=None)
