"""Chips in front of the seats: which movements are over, and what lies there now. One movement is one stake."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from controller.core.sensing.counting import value
from controller.core.sensing.whereabouts import MS, Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import State


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


@dataclass(slots=True)
class Round:
    """Which round the spots belong to: with a new one, what lies on them is carried over."""

    hand: str = ""
    street: str = ""
    betting: bool = False
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

    def follow(self, state: State) -> None:
        """A new round carries over what lies on the spots; a street's end makes their chips the pot's."""
        hand = state.hand
        name, street = (hand.id, hand.street) if hand is not None else ("", "")
        betting = hand is not None and hand.phase in ("deal", "bet")
        turn = (hand.actions, hand.to_act) if hand is not None else (0, None)
        if turn != self._round.turn:
            self._round.turn = turn
            if turn[1] in self._round.spots:
                self._round.spots[turn[1]].movements = 0  # a string is told from a new decision by the turn between
        if (name, street, betting) == (self._round.hand, self._round.street, self._round.betting):
            return
        starts, before = name != self._round.hand and hand is not None, self._round.spots
        self._round = Round(name, street, betting, turn, self._round.spots if starts else {})
        if not starts:
            for seat in range(1, self._setup.seats + 1):
                spot = before.get(seat, Spot())
                carried = self._where.at(f"bet:{seat}") - spot.fresh
                if spot.fresh:  # chips that came before the cards of this street were read
                    spot = replace(spot, told=0, lay=frozenset(), movements=0, carried=carried)
                    self._round.spots[seat] = spot
                elif carried:
                    self._round.spots[seat] = Spot(carried=carried)

    def moved(self, move: Move, at: int) -> None:
        """A chip came to a spot or left one."""
        for place in (move.before, move.after):
            if place is not None and place.startswith("bet:"):
                spot = self._round.spots.setdefault(int(place[4:]), Spot())
                spot.changed_at, spot.due = at, at + self._merge
                spot.fresh.discard(move.tag)
                if place == move.before:
                    spot.left = move.since if spot.left is None else min(spot.left, move.since)
                else:
                    spot.fresh.add(move.tag)
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

    def look_again(self, at: int) -> None:
        """All spots are looked at anew: something that was waited for will not come."""
        for spot in self._round.spots.values():
            spot.changed_at = spot.due = at

    def settled(self, seat: int, state: State, short: Callable[[int], bool]) -> Settled | None:
        """The movement before a seat is over: what it comes to, or ``None`` where that is nothing new.

        ``short`` says of a total that more of what was announced is on its way.
        """
        spot = self._round.spots[seat]
        lying = self._where.at(f"bet:{seat}")
        spot.changed_at = spot.began = spot.left = None
        spot.fresh.clear()
        spot.carried &= lying
        lying -= spot.carried
        chips, total = len(lying - spot.lay), value(self._setup.chipset, lying)
        hand = state.hand
        # Outside a round chips are collected, returned or paid: the pot's business.
        told = total == spot.told or (hand is not None and hand.phase not in ("deal", "bet"))
        if not told and short(total):
            return None
        spot.told, spot.lay = total, lying
        if told:
            return None
        spot.movements += 1
        return Settled(total, spot.movements, chips)
