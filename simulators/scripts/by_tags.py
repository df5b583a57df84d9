"""A recorded hand as it is played at an RFID table: chips are staked, swept, returned and pushed, cards are folded.

The amounts are the record's own; who wins how much is what the hand came to when it was played through facts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from simulators.scripts.acts import (
    Act,
    Attest,
    Declare,
    Finish,
    Muck,
    Push,
    Return,
    SeatStart,
    Show,
    Slide,
    Stake,
    Stakes,
    Sweep,
)


@dataclass(slots=True)
class _Money:
    """What each seat has and has put in during the round, in minor units."""

    left: dict[int, int]
    put: dict[int, int] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)

    @property
    def level(self) -> int:
        return max(self.put.values(), default=0)


def by_tags(
    acts: Sequence[Act],
    stakes: Stakes,
    seats: Sequence[SeatStart],
    blinds: tuple[int, int],
    won: Mapping[int, int],
) -> list[Act]:
    """The acts at an RFID table. ``blinds`` are the seats that post them, ``won`` is what each seat is paid."""
    return list(_Player(stakes, seats, blinds, won).play(acts))


class _Player:
    def __init__(
        self, stakes: Stakes, seats: Sequence[SeatStart], blinds: tuple[int, int], won: Mapping[int, int]
    ) -> None:
        self._stakes = stakes
        self._blind_seats = blinds
        self._won = won
        self._asked = 0
        self._money = _Money({seat.seat: seat.stack or 0 for seat in seats}, live={seat.seat for seat in seats})

    def play(self, acts: Sequence[Act]) -> Iterator[Act]:
        for act in acts:
            match act:
                case Attest():
                    yield act
                    yield from self._blinds()
                case Slide(place="seat"):
                    yield act
                case Slide() | Show():
                    yield from self._end_of_round()
                    yield act
                case Muck(seat=seat):
                    yield from self._end_of_round()
                    yield Muck(seat)
                case Declare():
                    yield from self._decision(act)
                case Finish():
                    yield from self._end_of_round()
                    yield from (Push(seat, amount) for seat, amount in sorted(self._won.items()) if amount)
                    yield act
                case _:
                    yield act

    def _blinds(self) -> Iterator[Act]:
        stakes = self._stakes
        small, big = self._blind_seats
        if stakes.ante:
            who = sorted(self._money.left) if stakes.ante_kind == "each" else [big]
            for seat in who:
                yield from self._put(seat, stakes.ante)
            yield Sweep()
            self._money.put.clear()
        if stakes.small_blind:
            yield from self._put(small, stakes.small_blind)
        yield from self._put(big, stakes.big_blind)
        # A short big blind still asks for the whole of it.
        self._asked = stakes.big_blind

    def _put(self, seat: int, to: int, *, raises: bool = False) -> Iterator[Act]:
        money = self._money
        before = money.put.get(seat, 0)
        to = min(to, before + money.left[seat])
        if to > before:
            money.left[seat] -= to - before
            money.put[seat] = to
            yield Stake(seat, to, raises=raises)

    def _decision(self, act: Declare) -> Iterator[Act]:
        money, seat = self._money, act.seat
        assert seat is not None
        level = max(money.level, self._asked)
        match act.kind:
            case "fold":
                money.live.discard(seat)
                yield Muck(seat)
            case "check":
                yield act
            case "call":
                yield from self._put(seat, level)
            case _:
                to = act.to if act.to is not None else money.put.get(seat, 0) + money.left[seat]
                yield from self._put(seat, to, raises=level > money.put.get(seat, 0))

    def _end_of_round(self) -> Iterator[Act]:
        """Bets are swept into the pot; what nobody called goes back to whoever put it in."""
        money = self._money
        put = sorted(money.put.items(), key=lambda one: one[1])
        self._asked = 0
        if not put:
            return
        yield Sweep()
        seat, most = put[-1]
        second = put[-2][1] if len(put) > 1 else 0
        money.put = {}
        if seat in money.live and most > second:
            money.left[seat] += most - second
            yield Return(seat, most - second)
