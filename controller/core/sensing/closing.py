"""Between two hands at a table with antennas: cards collected, chips pushed, stacks counted. And the tray."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from controller.core.facts import CountsDiffer, Evidence, Fact, Finished, HandAttested, TrayCounted
from controller.core.sensing.cards import CARD_PLACES, is_card
from controller.core.sensing.counting import after_award, tray_count, value
from controller.core.sensing.whereabouts import MS, Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import Hand, State


@dataclass(slots=True)
class Attempt:
    """A finish that waits for the stacks to agree with the award."""

    since: int
    fact: Finished


class Closing:
    """Not restored after a crash: DONE or HAND is pressed again, and empty places are seen anew."""

    def __init__(self, setup: Setup, where: Whereabouts, newest: Mapping[str, Evidence]) -> None:
        self._setup = setup
        self._timing = setup.timing
        self._where = where
        self._newest = newest
        self._card_places = {p for p in setup.watched_by_readers.values() if p.startswith(CARD_PLACES)}
        self._stacks = {seat: f"stack:{seat}" for seat in range(1, setup.seats + 1)}
        self._finish: Attempt | None = None
        self._clear_since: int | None = None
        self._hand: tuple[int, HandAttested] | None = None
        self._hand_due = 0

    def attest(self, fact: HandAttested, at: int, state: State) -> list[Fact]:
        """HAND was pressed: it counts the stacks, and waits a moment where they are not as booked."""
        self._hand = (self._hand[0] if self._hand is not None else at), fact
        return self.attested(at, state)

    def attested(self, at: int, state: State, *, due: bool = False) -> list[Fact]:
        """A HAND that has waited for the stacks; ``due``: it waits no longer.

        A chip deep in a stack may be read only now: it is no difference, and hides none that stays.
        """
        if self._hand is None:
            return []
        since, fact = self._hand
        seen = self.stacks()
        if not due and state.hand is None:
            arriving = any(self._where.unsettled(place) for place in self._stacks.values())
            differ = any(seat in state.seats and state.seats[seat].stack != stack for seat, stack in seen)
            patience = self._timing.fuse_ms + arriving * self._timing.debounce_ms
            self._hand_due = since + patience * MS
            if (arriving or differ) and at < self._hand_due:
                return []
        self._hand = None
        return [replace(fact, stacks=seen)]

    def finish(self, fact: Finished, at: int) -> None:
        """DONE was pressed."""
        self._finish = Attempt(at, fact)

    def stacks(self) -> tuple[tuple[int, int], ...]:
        """The counted stacks of the seats whose antenna has been read, and on which nothing is just arriving."""
        return tuple(
            (seat, value(self._setup.chipset, self._where.at(place)))
            for seat, place in self._stacks.items()
            if place in self._where.seen_places and not self._where.unsettled(place)
        )

    def tick(self, at: int, state: State, sighted: Collection[str]) -> list[Fact]:
        """Collection is empty card places; the push is right when every stack agrees with the award.

        ``sighted``: places at which only cameras see that a card lies there.
        """
        hand = state.hand
        if hand is None or hand.phase != "award" or state.held is not None:
            self._clear_since = self._finish = None
            return []
        if self._finish is None and not sighted and self._collected():
            self._clear_since = at if self._clear_since is None else self._clear_since
            if at - self._clear_since >= self._timing.clear_ms * MS:
                self._finish = Attempt(at, Finished(basis="sensor", evidence=tuple(self._card_sources())))
        elif self._finish is None:
            self._clear_since = None
        return self._pushed(at, hand) if self._finish is not None else []

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        waits = [] if self._hand is None else [self._hand_due]
        if self._finish is not None:
            waits.append(self._finish.since + self._timing.payout_ms * MS)
        elif self._clear_since is not None:
            waits.append(self._clear_since + self._timing.clear_ms * MS)
        return min(waits, default=None)

    def _collected(self) -> bool:
        return self._card_places <= self._where.seen_places and not any(
            place.startswith(CARD_PLACES) and any(is_card(self._setup, tag) for tag in self._where.at(place))
            for place in self._where.places()
        )

    def _card_sources(self) -> Iterable[Evidence]:
        newest: dict[str, Evidence] = {}
        for place, source in self._newest.items():
            if place.startswith(CARD_PLACES):
                newest[source.device] = max(source, newest.get(source.device, source), key=lambda s: s.reading)
        return newest.values()

    def _pushed(self, at: int, hand: Hand) -> list[Fact]:
        attempt = self._finish
        assert attempt is not None
        seen = dict(self.stacks())
        due = after_award(hand)
        watched = [seat for seat in due if f"stack:{seat}" in self._where.seen_places]
        wrong = [seat for seat in watched if due[seat] is not None and seen.get(seat) != due[seat]]
        if not wrong:
            self._finish, self._clear_since = None, None
            return [replace(attempt.fact, stacks=tuple(sorted(seen.items())))]
        if at - attempt.since < self._timing.payout_ms * MS:
            return []
        self._finish, self._clear_since = None, None
        seat = wrong[0]
        source = (self._newest[f"stack:{seat}"],)
        return [CountsDiffer("payout", seat, due[seat], seen.get(seat), evidence=source)]


class Tray:
    """The chip tray: counted when it is first read, and again when it has come to rest after a change."""

    def __init__(self, setup: Setup, where: Whereabouts, newest: Mapping[str, Evidence]) -> None:
        self._setup = setup
        self._where = where
        self._newest = newest
        self._told: frozenset[str] | None = None
        self._since = 0

    def moved(self, move: Move, at: int) -> None:
        """A chip has come to rest elsewhere."""
        if "tray" in (move.before, move.after):
            self._since = at

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        if "tray" not in self._where.seen_places or self._where.unsettled("tray"):
            return None
        if self._where.at("tray") == self._told:
            return None
        return self._since if self._told is None else self._since + self._setup.timing.debounce_ms * MS

    def tick(self, at: int) -> list[Fact]:
        """The count, if it is due."""
        due = self.deadline()
        if due is None or at < due:
            return []
        lying = self._told = self._where.at("tray")
        fact: TrayCounted = tray_count(self._setup.chipset, lying, self._newest["tray"])
        return [fact]
