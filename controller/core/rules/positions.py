"""Where the coming hand is played: who is dealt in, button, blinds, and the blinds that somebody misses."""

from collections.abc import Mapping
from dataclasses import dataclass

from controller.core.out import Out
from controller.core.rules.button import between, blinds, clockwise_from, next_button
from controller.core.setup import Limits
from controller.core.state import State


@dataclass(frozen=True, slots=True)
class Positions:
    """``small`` is ``None`` where nobody posts it (dead); ``small_place`` is where the next dead button goes."""

    button: int
    small: int | None
    small_place: int
    big: int
    stacks: Mapping[int, int | None]

    @property
    def order(self) -> tuple[int, ...]:
        """The seats dealt in, from the left of the button."""
        return clockwise_from(self.stacks, self.button)


def with_chips(state: State) -> dict[int, int | None]:
    """All seats that have chips, or chips that nobody counted, with their stacks."""
    counted = state.counted
    stacks = {n: counted.get(n) if seat.stack is None else seat.stack for n, seat in sorted(state.seats.items())}
    return {n: stack for n, stack in stacks.items() if stack is None or stack > 0}


def playing(out: Out) -> dict[int, int | None]:
    """The seats that are dealt in: with chips, not away, and not waiting for the big blind to come (I-24)."""
    state = out.state
    stacks = with_chips(state)
    if state.replaces is not None and state.replays:
        return {n: stack for n, stack in stacks.items() if n in state.replays}
    active = {n: stack for n, stack in stacks.items() if not state.seats[n].away and not state.seats[n].waits}
    if state.button is None:
        return active
    for seat in stacks:
        if state.seats[seat].waits and not state.seats[seat].away:
            joined = {n: stacks[n] for n in stacks if n in active or n == seat}
            if len(joined) > 1 and _find(out, joined).big == seat:
                return joined
    return active


def find(out: Out) -> Positions:
    """The positions of the coming hand; there are at least two players and a button."""
    return _find(out, playing(out))


def _find(out: Out, stacks: Mapping[int, int | None]) -> Positions:
    state, profile = out.state, out.setup.profile
    button = state.button
    assert button is not None
    moves = state.button_moves and state.replaces is None
    place, big = state.small, state.big
    stays = not moves and (state.dead_small or place in stacks)
    if stays and place is not None and big is not None and big in stacks:  # an exact replay (CM-11)
        return Positions(button, None if state.dead_small else place, place, big, stacks)
    if moves:
        button = next_button(profile, button, state.small, stacks)
    if moves and big is not None:
        coming = next(s for s in clockwise_from(stacks, big) if s != big)
        if len(stacks) == 2 and profile.heads_up_small_blind == "button":
            small = next(s for s in stacks if s != coming)
            return Positions(small, small, small, coming, stacks)  # nobody is big blind twice running (CM-18)
        if profile.dead_small_blind and len(stacks) > 2:
            return Positions(button, big if big in stacks else None, big, coming, stacks)
    small, big = blinds(profile, button, clockwise_from(stacks, button))
    return Positions(button, small, small, big, stacks)


def missed(out: Out, at: Positions, seat: int) -> tuple[str, ...]:
    """The blinds that a seat which is not dealt in has missed, those of this hand included."""
    before = out.state.seats[seat].missed
    if out.setup.profile.missed_blinds == "free":
        return ()
    now = set(before)
    if between(at.button, at.small_place, seat):
        now.add("small")
    if between(at.small_place, at.big, seat):
        now.add("big")
    return tuple(kind for kind in ("small", "big") if kind in now)


def posts(at: Positions, limits: Limits, seat: int, missed_blinds: tuple[str, ...]) -> list[tuple[str, int]]:
    """What a seat that comes back posts beside its own blind: the big one lives, the small one is dead (I-24)."""
    if seat == at.big or not missed_blinds:
        return []
    if seat == at.small:  # its small blind lives: only the rest of the big one is missing
        rest = limits.big_blind - limits.small_blind
        return [("missed_live", rest)] if "big" in missed_blinds and rest else []
    due = [("missed_live", limits.big_blind)] if "big" in missed_blinds else []
    return due + ([("missed_dead", limits.small_blind)] if "small" in missed_blinds and limits.small_blind else [])


def owed(limits: Limits, missed_blinds: tuple[str, ...]) -> int:
    """What the missed blinds come to, in minor units."""
    amounts = {"small": limits.small_blind, "big": limits.big_blind}
    return sum(amounts[kind] for kind in missed_blinds)
