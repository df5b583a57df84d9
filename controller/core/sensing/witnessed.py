"""A second witness beside a table's own devices: cameras, and at a table with antennas the shoe.

One source decides each act. What another one says of the same card joins it as evidence; where it says something else
and goes on saying so, a person has to look (I-18). A camera decides what no other device sees: that cards lie face up,
and the cards of a place that nothing else watches.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from controller.core.facts import (
    CardCame,
    CardDoubtful,
    CardsNamed,
    Evidence,
    Exposed,
    Fact,
    Shown,
    SightDiffers,
    Sources,
    Turned,
)
from controller.core.rules.ultimate.state import Coup
from controller.core.sensing.sights import MS, Sight, Sights
from controller.core.setup import Setup
from controller.core.state import Hand, State
from drivers.readings import CardSighted, DeviceFault, DeviceLost, Reading

AGAIN = 250 * MS
"""How soon to look again at cards that lie open before the rules can have them open."""


class Primary(Protocol):
    """The sensing of a table by its own devices."""

    sighted: set[str]
    """Places at which only cameras see that a card lies there."""

    def feed(self, reading: Reading, at: int, state: State) -> list[Fact]:
        """What one reading means."""

    def tick(self, at: int, state: State) -> list[Fact]:
        """Let time pass up to ``at``."""

    def deadline(self) -> int | None:
        """When ``tick`` is next due."""

    def also(self, since: int, fact: Fact) -> None:
        """Somebody else saw this, at ``since``: it is told in its turn by the next ``tick``."""

    def has(self, card: str, place: str | None = None) -> bool:
        """Whether the table's own devices see this card there, or anywhere."""


@dataclass(frozen=True, slots=True)
class Left:
    """A card that left the shoe by the word of a witness."""

    at: int
    source: Evidence


@dataclass(slots=True)
class Told:
    """What was told of one hand, so that it is told once."""

    hand: str = ""
    since: int = 0
    things: set[tuple[object, ...]] = field(default_factory=set, repr=False)


class Witnessed:
    """The sensing of a table with witnesses. Nothing here is restored: a camera tells its whole scene when opened."""

    def __init__(self, setup: Setup, primary: Primary) -> None:
        self._setup = setup
        self._primary = primary
        self._sights = Sights(setup)
        self._alone = setup.seen_by_cameras_alone
        self._fuse = setup.timing.fuse_ms * MS
        self._poker = setup.profile.game != "ultimate"
        self._late = 2 * self._fuse  # a card that lies on another is read late
        self._left: dict[str, Left] = {}
        self._told = Told()
        self._at = 0
        self._again: int | None = None

    def feed(self, reading: Reading, at: int, state: State) -> list[Fact]:
        """What one reading means."""
        match reading:
            case CardSighted():
                seen = self._sights.feed(reading, at)
                if seen is not None and seen.place == "shoe":
                    self._passed(seen, reading, at, state)
                self._primary.sighted = {place for place in self._alone if self._sights.lying(place)}
                return self.tick(at, state)
            case DeviceLost(device=device) | DeviceFault(device=device, fault="reset"):
                self._sights.forget(device)
        return self._joined(self._primary.feed(reading, at, state), at)

    def tick(self, at: int, state: State) -> list[Fact]:
        """Let time pass up to ``at`` (monotonic ns)."""
        self._at = at
        self._look(at, state)
        return self._joined(self._primary.tick(at, state), at)

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        times = [self._primary.deadline(), self._sights.due(self._at, (self._fuse, self._late)), self._again]
        times += [left.at + self._late for left in self._left.values()]
        return min((time for time in times if time is not None), default=None)

    def waiting(self, device: str) -> int | None:
        """The first sighting of a camera of which may still come something: it and those after it are not settled."""
        return self._sights.younger(device, self._at, self._late)

    # --- cards that leave the shoe ---------------------------------------------------------------------------

    def _passed(self, seen: Sight, reading: CardSighted, at: int, state: State) -> None:
        """A camera looks at the mouth of the shoe: where there is no other reader, it deals."""
        if "shoe" not in self._alone:
            if seen.card is not None:
                self._leaves(seen.card, seen.source, at, state)
        elif not reading.standing and reading.sequence > state.seen.get(reading.device, 0):
            known, sources = seen.card, (seen.source,)
            came = CardCame("next", known, evidence=sources)
            told = known or self._setup.unread
            self._primary.also(at, came if told else CardDoubtful("low_confidence", seen.guess, evidence=sources))

    def _leaves(self, card: str, source: Evidence, at: int, state: State) -> None:
        hand = state.hand
        if hand is None or not any(slot.card == card and not slot.gone for slot in hand.slots):
            self._left.setdefault(card, Left(at, source))

    def _joined(self, facts: Iterable[Fact], at: int) -> list[Fact]:
        """Cards that came, with what witnesses say of the same card."""
        return [self._join(fact, at) if isinstance(fact, CardCame) else fact for fact in facts]

    def _join(self, fact: CardCame, at: int) -> CardCame:
        if fact.card is None:
            return fact
        more: Sources = ()
        left = self._left.pop(fact.card, None)
        if left is not None and at - left.at <= self._late:
            more = (left.source,)
        if fact.place == "board":
            more += tuple(s for s in self._sights.sources("board", (fact.card,)) if s not in fact.evidence)
        return replace(fact, evidence=(*fact.evidence, *more)) if more else fact

    def _missing(self, hand: Hand | None, at: int) -> None:
        """What has left the shoe and never came to lie anywhere."""
        for card, left in list(self._left.items()):
            if at - left.at >= self._late and not self._primary.has(card):
                del self._left[card]
                if hand is not None and not any(slot.card == card and not slot.gone for slot in hand.slots):
                    self._primary.also(at, SightDiffers("shoe", card, evidence=(left.source,)))
            elif at - left.at >= 2 * self._late:
                del self._left[card]

    # --- cards that lie open ---------------------------------------------------------------------------------

    def _look(self, at: int, state: State) -> None:
        """What cameras see and nobody has been told yet."""
        self._again = None
        play = state.hand or state.table.coup
        name = play.id if play is not None else ""
        if name != self._told.hand:
            self._told = Told(name, at)
        self._missing(state.hand, at)
        if state.hand is not None:
            self._board(state.hand, at)
            for seat in state.hand.live:
                self._seat(state.hand, seat, at)
        elif state.table.coup is not None and state.held is None:
            self._round(state.table.coup, at)

    def _fresh(self, place: str, at: int, for_ns: int = 0) -> list[Sight]:
        """The faces at a place, without what has lain there since before the hand."""
        return [seen for seen in self._sights.faces(place, at, for_ns=for_ns) if seen.since >= self._told.since]

    def _once(self, *thing: object) -> bool:
        if thing in self._told.things:
            return False
        self._told.things.add(thing)
        return True

    def _board(self, hand: Hand | Coup, at: int) -> None:
        """Common cards: a camera deals them where nothing else does, and else only says when they are others."""
        known = {slot.card for slot in hand.slots if slot.place == "board" and slot.opened and not slot.gone}
        for seen in self._fresh("board", at):
            if seen.card is not None and seen.card in known:
                continue
            waited = at - seen.since
            if "board" in self._alone:
                if (seen.card is not None or waited >= self._fuse) and self._once("board", seen.card, seen.since):
                    guess = None if seen.card else seen.guess
                    came = CardCame("board", seen.card, evidence=(seen.source,), guess=guess)
                    self._primary.also(seen.since, came)
            elif seen.card is not None and None in hand.board:
                if self._once("named", seen.card, seen.since):  # what has not been read is what lies open
                    self._primary.also(seen.since, CardsNamed((seen.card,), evidence=(seen.source,)))
            elif seen.card is not None and waited >= self._late and not self._primary.has(seen.card, "board"):
                self._differs("board", seen, None, at)

    def _differs(self, place: str, seen: Sight, seat: int | None, at: int) -> None:
        if seen.card is not None and self._poker and self._once("differs", place, seen.card, seen.since):
            self._primary.also(at, SightDiffers(place, seen.card, seat, evidence=(seen.source,)))

    def _seat(self, hand: Hand, seat: int, at: int) -> None:
        """A seat's cards: all of them face up are a hand that is shown; one of them may have been exposed."""
        place = f"seat:{seat}"
        faces = self._fresh(place, at)
        named = tuple(dict.fromkeys(seen.card for seen in faces if seen.card is not None))
        if not named:
            return
        if seat in hand.shown:
            own = {slot.card for slot in hand.own(seat)}
            for seen in faces:
                if seen.card not in own and at - seen.since >= self._late:
                    self._differs("seat", seen, seat, at)
            return
        self._again = at + AGAIN
        over = hand.phase in ("showdown", "award") or (hand.phase == "board" and len(hand.can_bet) < 2)
        if len(named) >= hand.own_cards and hand.phase != "deal":
            if self._once("shown", seat, over, named):
                since = max(seen.since for seen in faces)
                self._primary.also(since, Shown(seat, named, "sensor", self._sights.sources(place, named)))
        elif not over:
            for seen in self._fresh(place, at, self._fuse):
                if seen.card is not None and self._once("exposed", seat, seen.card):
                    self._primary.also(at, Exposed(seat, seen.card, evidence=(seen.source,)))

    # --- a table of boxes ------------------------------------------------------------------------------------

    def _round(self, coup: Coup, at: int) -> None:
        """The dealer's cards, the boxes' and common cards that lay face down: they are turned over."""
        closed = [slot for _, slot in coup.cards("board") if not slot.opened]
        if not closed:
            self._board(coup, at)
        elif len(faces := self._fresh("board", at)) > len(coup.board):
            self._turned(Turned("board", evidence=self._cited(faces)), faces, coup)
        if faces := [] if coup.dealer_shown else self._fresh("dealer", at):
            if len(faces) == len(coup.cards("dealer")) or coup.phase == "deal":
                self._turned(Turned("dealer", evidence=self._cited(faces)), faces, coup)
            self._again = at + AGAIN
        for box in coup.boxes:
            own = [slot for _, slot in coup.cards("box", box)]
            faces = [*self._fresh(f"box:{box}:cards", at), *self._fresh(f"box:{box}:under_play", at)]
            if own and len(faces) == len(own) and not all(slot.opened for slot in own):
                self._turned(Turned("box", box, evidence=self._cited(faces)), faces, coup)
                self._again = at + AGAIN

    def _turned(self, fact: Turned, faces: list[Sight], coup: Coup) -> None:
        if self._once(fact.place, fact.box, coup.phase, len(faces)):
            self._primary.also(max(seen.since for seen in faces), replace(fact, basis="sensor"))

    @staticmethod
    def _cited(faces: Iterable[Sight]) -> Sources:
        return tuple(dict.fromkeys(seen.source for seen in faces))
