"""Chips in front of the seats: which movements are over, and what lies there now. One movement is one stake."""

from collections.abc import Callable, Collection, Container
from dataclasses import dataclass, field, replace

from controller.core.sensing.counting import value
from controller.core.sensing.whereabouts import MS, Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import Hand, State

MOST_STAGES = 8
"""So many movements are kept apart while chips wait for cards; what comes after is one more."""


@dataclass(slots=True)
class Spot:
    """The bet spot of one seat: what was told of it, and what lay there before the round."""

    told: int = 0
    lay: frozenset[str] = frozenset()
    movements: int = 0
    changed_at: int | None = None
    began: int | None = None
    """When the first chip of the movement was seen here: what happened later is told later."""
    left: int | None = None
    """The same of the first chip that was taken."""
    due: int = 0
    """When to look again, while ``changed_at`` is set."""
    fresh: set[str] = field(default_factory=set)
    """What the movement brought that is not over yet."""
    carried: frozenset[str] = frozenset()
    stages: list[frozenset[str]] = field(default_factory=list)
    """What rested here, one movement after the other, while all of it waited for cards."""
    moved_here: bool = False
    """Whether one of them lay elsewhere before: what is met here for the first time may be an old stake."""
    warned: bool = False
    """That these chips wait for cards has been told."""
    watched: bool = False
    """Whether one of them came while the spot was being read: else all may have lain there for long."""


@dataclass(slots=True)
class Round:
    """Which round the spots belong to: with a new one, what lies on them is carried over."""

    hand: str = ""
    street: str = ""
    betting: bool = False
    phase: str = ""
    turn: tuple[int, int | None] = (0, None)
    spots: dict[int, Spot] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settled:
    """One movement that is over: ``total`` lies there in minor units, ``chips`` is how many it added."""

    total: int
    movements: int
    chips: int


class Bets:
    """All bet spots of one table."""

    def __init__(self, setup: Setup, where: Whereabouts) -> None:
        self._setup = setup
        self._where = where
        self._merge = setup.timing.merge_ms * MS
        self._patience = setup.timing.in_flight_ms * MS
        self._round = Round()
        self._met: set[str] = set()
        self._first_read: dict[int, int] = {}

    def read(self, place: str, at: int) -> None:
        """A place has been read."""
        if place.startswith("bet:") and place not in self._where.seen_places:
            self._first_read[int(place[4:])] = at

    def follow(self, state: State, at: int) -> None:
        """A new round carries over what lies on the spots; a street's end makes their chips the pot's.

        What was told when it could not count, and still lies there unbooked, is told again once it can.
        """
        hand = state.hand
        name, street = (hand.id, hand.street) if hand is not None else ("", "")
        betting = hand is not None and hand.phase in ("deal", "bet")
        turn = (hand.actions, hand.to_act) if hand is not None else (0, None)
        if turn != self._round.turn:
            self._round.turn = turn
            if turn[1] in self._round.spots:
                self._round.spots[turn[1]].movements = 0  # a string is told from a new decision by the turn between
        phase = hand.phase if hand is not None else ""
        same = (name, street, betting) == (self._round.hand, self._round.street, self._round.betting)
        if same and phase == self._round.phase:
            return
        starts, before = name != self._round.hand and hand is not None, self._round.spots
        self._round = Round(name, street, betting, phase, turn, before if starts or same else {})
        if not starts and not same:
            for seat in range(1, self._setup.seats + 1):
                spot = before.get(seat, Spot())
                carried = self._where.at(f"bet:{seat}") - spot.fresh
                if spot.fresh:  # chips that came before the cards of this street were read
                    spot = replace(spot, told=0, lay=frozenset(), movements=0, carried=carried)
                    self._round.spots[seat] = spot
                elif carried:
                    self._round.spots[seat] = Spot(carried=carried)
        if hand is not None and betting:
            for seat in self._round.spots:
                if self.unbooked(seat, hand):
                    self._once_more(seat, hand, at)

    def unbooked(self, seat: int, hand: Hand) -> int:
        """What lies before a seat, in minor units, that is neither its stake nor told to go back; 0 for none.

        Antes may lie there still, or have been collected.
        """
        spot = self._round.spots.get(seat)
        if spot is None:
            return 0
        total = value(self._setup.chipset, self._where.at(f"bet:{seat}") - spot.carried)
        bet, excess = hand.bet.get(seat, 0), hand.excess.get(seat, 0)
        antes = hand.paid.get(seat, 0) + hand.dead_by.get(seat, 0) if hand.street == "preflop" else bet
        return 0 if total in (bet + excess, antes, antes + excess) else max(0, total - bet)

    def answers(self, seat: int, hand: Hand, at: int, to: int) -> None:
        """Chips that lie there unbooked answer a word for ``to`` that comes after them, if they are enough for it."""
        spot = self._round.spots.get(seat)
        if spot is None or spot.changed_at is not None:
            return
        total = value(self._setup.chipset, self._where.at(f"bet:{seat}") - spot.carried)
        if total >= to > hand.bet.get(seat, 0):
            self._once_more(seat, hand, at)

    def _once_more(self, seat: int, hand: Hand, at: int) -> None:
        """What rests before a seat is told again, as if it had come now."""
        spot = self._round.spots[seat]
        if spot.changed_at is None:
            spot.changed_at = spot.began = at
            spot.due = at + self._merge
            spot.told, spot.lay, spot.movements = hand.bet.get(seat, 0), frozenset(), 0

    def waits(self, seat: int, hand: Hand, owing: Container[int], recent: bool) -> bool:
        """Whether chips before a seat came before the cards that they follow; a seat that owes posts its due.

        ``recent``: they came so lately that they may, even if they were met nowhere else before.
        """
        spot = self._round.spots[seat]
        if hand.phase == "board":
            return bool(spot.fresh) and (spot.moved_here or recent)
        return hand.phase == "deal" and seat not in owing and self.unbooked(seat, hand) > 0

    def keep(self, seat: int) -> None:
        """What rests before a seat while it waits is kept as one movement: a string stays a string."""
        spot = self._round.spots[seat]
        lying = self._where.at(f"bet:{seat}") - spot.carried
        if not spot.warned and lying not in spot.stages[-1:]:
            spot.stages = [*spot.stages[: MOST_STAGES - 1], lying]

    def warn(self, seat: int) -> int:
        """Chips wait too long for cards: what lies there, in minor units, once; 0 after that. They wait on."""
        spot = self._round.spots[seat]
        if spot.warned:
            return 0
        spot.warned = True
        spot.stages.clear()  # whoever was told has seen to it: what lies there counts in full
        return value(self._setup.chipset, self._where.at(f"bet:{seat}") - spot.carried)

    def moved(self, move: Move, at: int) -> None:
        """A chip came to a spot or left one."""
        met = move.tag in self._met
        self._met.add(move.tag)
        for place in (move.before, move.after):
            if place is not None and place.startswith("bet:"):
                spot = self._round.spots.setdefault(int(place[4:]), Spot())
                spot.changed_at, spot.due = at, at + self._merge
                new = move.tag not in spot.lay | spot.carried
                spot.fresh.discard(move.tag)
                old = self._first_read.get(int(place[4:]), -1) + self._merge
                spot.watched = spot.watched or met or move.before is not None or move.since > old
                if place == move.before:
                    spot.left = move.since if spot.left is None else min(spot.left, move.since)
                else:
                    if new:  # what was missed for a while, and told before, is nothing new
                        spot.fresh.add(move.tag)
                        spot.moved_here = spot.moved_here or met
                    spot.began = move.since if spot.began is None else min(spot.began, move.since)

    def deadlines(self) -> list[int]:
        """When ``at_rest`` is worth asking again, in monotonic ns."""
        return [spot.due for spot in self._round.spots.values() if spot.changed_at is not None]

    def at_rest(self, at: int) -> tuple[list[int], list[int]]:
        """Seats before which nothing has moved for ``merge_ms``, and since when the other movements have been going on.

        A movement is not complete while chips have left the stack and are not here yet; they are waited for
        ``in_flight_ms`` at most.
        """
        ready: list[int] = []
        waiting: list[int] = []
        for seat in range(1, self._setup.seats + 1):
            spot = self._round.spots.get(seat)
            arriving = self._where.arriving_since(f"bet:{seat}")
            if arriving is not None:
                waiting.append(arriving)
            if spot is None or spot.changed_at is None:
                continue
            if arriving is not None:
                spot.changed_at = at
            rested = at - spot.changed_at
            if rested >= self._merge and (rested >= self._patience or not self._where.doubted(f"stack:{seat}")):
                ready.append(seat)
                continue
            spot.due = spot.changed_at + (self._patience if rested >= self._merge else self._merge)
            if spot.began is not None:
                waiting.append(spot.began)
        return ready, waiting

    def began(self, seat: int) -> int:
        """When the movement before a seat began; 0 where chips only left."""
        return self._round.spots[seat].began or 0

    def since(self, seat: int) -> int:
        """The same; where chips only left, when the first did."""
        return self.began(seat) or self._round.spots[seat].left or 0

    def unsure(self, at: int) -> None:
        """Chips were taken while nobody could say what came before: that counts as happening now."""
        for spot in self._round.spots.values():
            if spot.left is not None:
                spot.left = at

    def postpone(self, seat: int, due: int) -> None:
        """What rests before a seat is looked at again then."""
        self._round.spots[seat].due = due

    def stake_lying(self, seat: int) -> frozenset[str]:
        """The chips before a seat, without what lay there before the round and what is no stake."""
        spot = self._round.spots.get(seat)
        return self._where.at(f"bet:{seat}") - (spot.carried if spot is not None else frozenset())

    def is_aside(self, seat: int, tag: str) -> bool:
        """Whether a chip that lies before a seat, or just lay there, is no stake of this round."""
        spot = self._round.spots.get(seat)
        return spot is not None and tag in spot.carried

    def set_aside(self, seat: int, tags: Collection[str]) -> None:
        """These chips lie before a seat and are no stake of this round."""
        if tags:
            spot = self._round.spots.setdefault(seat, Spot())
            spot.carried |= frozenset(tags)
            spot.fresh.difference_update(tags)

    def count_again(self, seat: int, tags: Collection[str], at: int) -> None:
        """They are a stake after all, as if they had come now."""
        spot = self._round.spots.get(seat)
        if spot is not None and spot.carried.intersection(tags):
            spot.carried -= frozenset(tags)
            spot.changed_at = spot.began = at
            spot.due = at + self._merge

    def began_by(self, seat: int, since: int) -> None:
        """The movement before a seat, if there is one, began earlier: with change that was made for it."""
        spot = self._round.spots.get(seat)
        if spot is not None and spot.began is not None:
            spot.began = min(spot.began, since)

    def look_again(self, at: int) -> None:
        """All spots are looked at anew: something that was waited for will not come."""
        for spot in self._round.spots.values():
            spot.changed_at = spot.due = at

    def settled(self, seat: int, state: State, short: Callable[[int], bool]) -> Settled | None:
        """The movement before a seat is over: what it comes to, or ``None`` where that is nothing new.

        ``short`` says of a total that more of what was announced is on its way. What is met before a seat that has
        acted, when its spot is read for the first time, is what it acted with: a larger chip than its stake, say.
        """
        spot, hand = self._round.spots[seat], state.hand
        stages, spot.stages = spot.stages if hand is not None and hand.phase == "bet" else [], []
        while stages:
            new = self._over(spot, stages.pop(0), hand, short)
            if new is not None:
                spot.stages = stages
                return new  # the spot stays as it is: the next look tells the next movement
        lying = self._where.at(f"bet:{seat}")
        if hand is not None and not spot.watched and seat in hand.acted and seat != hand.to_act:
            spot.told, spot.lay = value(self._setup.chipset, lying - spot.carried), lying - spot.carried
            spot.movements = max(spot.movements, 1 if spot.lay else 0)  # more of it now is one movement too many
        spot.changed_at = spot.began = spot.left = None
        spot.warned = spot.moved_here = spot.watched = False
        spot.fresh.clear()
        spot.carried &= lying
        return self._over(spot, lying - spot.carried, hand, short)

    def _over(
        self, spot: Spot, lying: frozenset[str], hand: Hand | None, short: Callable[[int], bool]
    ) -> Settled | None:
        """One movement is over: see ``settled``."""
        chips, total = len(lying - spot.lay), value(self._setup.chipset, lying)
        # Outside a round chips are collected, returned or paid: the pot's business.
        told = total == spot.told or (hand is not None and hand.phase not in ("deal", "bet"))
        if not told and short(total):
            return None
        spot.told, spot.lay = total, lying
        if told:
            return None
        spot.movements += 1
        return Settled(total, spot.movements, chips)
