"""Who sits where for a hand: order, button and blinds. Seats are clockwise from the dealer's left."""

from collections.abc import Collection, Sequence
from functools import lru_cache

from controller.core.rules.profile import Profile


def clockwise_from(seats: Collection[int], after: int) -> tuple[int, ...]:
    """The seats in clockwise order, beginning with the first one left of ``after``; ``after`` itself comes last."""
    return _ring(tuple(seats), after)


@lru_cache(maxsize=1024)  # the rules ask this of the same few seats many times a hand
def _ring(seats: tuple[int, ...], after: int) -> tuple[int, ...]:
    ring = sorted(seats)
    return tuple([s for s in ring if s > after] + [s for s in ring if s <= after])


def between(first: int, last: int, seat: int) -> bool:
    """Whether one who goes clockwise from ``first`` to ``last`` passes ``seat`` on the way."""
    ring = clockwise_from({first, last, seat}, first)
    return seat not in (first, last) and ring.index(seat) < ring.index(last)


def next_button(profile: Profile, button: int, small: int | None, seats: Collection[int]) -> int:
    """Where the button goes after a hand.

    ``dead``: to the place of the former small blind, even if nobody sits there by now (HR-17.1, HR-A21, C10).
    ``moving``: one occupied seat clockwise (RS-2.1, BG-A13). Heads-up both come to the other player.
    """
    others = [s for s in clockwise_from(seats, button) if s != button]
    if profile.button_rule == "dead" and small is not None and small != button:
        return small
    return others[0] if others else button


def blinds(profile: Profile, button: int, order: Sequence[int]) -> tuple[int, int]:
    """Seats of the small and the big blind; ``order`` starts left of the button (HR-11.2, HR-11.3, HR-17.2, BG-5.1).

    Heads-up the profile decides (HR-A5, BG-A11, RS-2.5): the small blind is left of the button, or on it.
    """
    if len(order) == 2 and button in order and profile.heads_up_small_blind == "button":
        return button, next(s for s in order if s != button)
    return order[0], order[1]
