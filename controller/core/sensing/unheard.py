"""Decisions that seem to come too early, because the reader of what came before them was not listening.

Noise is not absence: while the place that would show the act of the seat to act is silent, or has only just been heard
again, nobody is accused of having acted out of turn. The decision waits, so that what is heard late comes before it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controller.core.facts import Declared
from controller.core.sensing.bets import Bets
from controller.core.sensing.inorder import Told, turn
from controller.core.sensing.whereabouts import MS
from controller.core.setup import Setup
from controller.core.state import Hand

AGAIN = 100 * MS
"""When to look again at a decision that waits."""


@dataclass(slots=True)
class Unheard:
    """The places of one table whose reader was away, and which decisions wait for them; all times in ns.

    A place where nothing changes may be told seldom: only what is known to be away is missed. ``fuse``: so long after
    a place is heard again something may still turn up. ``patience``: so long a decision waits for it to be heard.
    """

    watched: frozenset[str]
    fuse: int
    patience: int
    due: int | None = None
    """When to look again at what waits."""
    _away: set[str] = field(default_factory=set)
    _back: dict[str, int] = field(default_factory=dict)
    """When each place that was away was first read whole again."""

    @classmethod
    def of(cls, setup: Setup) -> "Unheard":
        """Nothing is heard yet, and nothing waits."""
        timing, watched = setup.timing, frozenset(setup.watched_by_readers.values())
        return cls(watched, timing.fuse_ms * MS, timing.in_flight_ms * MS)

    def heard(self, place: str, at: int) -> None:
        """A whole inventory of a place has come."""
        if place in self._away:
            self._away.discard(place)
            self._back[place] = at

    def forget(self, places: Iterable[str]) -> None:
        """What these places show is unknown until they are read again."""
        self._away.update(places)

    def waits(self, seat: int, since: int, at: int, hand: Hand | None) -> bool:
        """Whether what a seat did at ``since`` is out of turn only by what may not have been heard yet."""
        if hand is None or hand.phase != "bet" or hand.to_act not in hand.order or seat not in hand.order:
            return False
        missing = [one for one in hand.live if turn(hand, one) < turn(hand, seat)]
        if not missing or at - since >= self.patience + self.fuse:
            return False
        places = {"muck"}.union(*({f"seat:{one}", f"bet:{one}"} for one in missing)) & self.watched
        if at - since < self.patience and places & self._away:
            return True
        return any(at - self._back[place] < self.fuse for place in places - self._away if place in self._back)

    def part(
        self, told: list[Told], ready: list[int], bets: Bets, at: int, hand: Hand | None
    ) -> tuple[list[Told], list[Told]]:
        """What can be told, and what waits; seats whose chips wait leave ``ready``.

        Only what was missing passes what waits.
        """
        early = [seat for seat in ready if bets.began(seat) and self.waits(seat, bets.began(seat), at, hand)]
        for one in early:
            ready.remove(one)
            bets.postpone(one, at + AGAIN)
        first = min(map(bets.began, early), default=None)
        now: list[Told] = []
        held: list[Told] = []
        for since, fact in told:
            seat = fact.seat if isinstance(fact, Declared) else None
            if seat is not None and self.waits(seat, since, at, hand):
                first = since if first is None else min(first, since)
            missing = seat is not None and hand is not None and seat == hand.to_act
            passes = first is None or since < first or missing
            (now if passes else held).append((since, fact))
        self.due = at + AGAIN if held else None
        return now, held
