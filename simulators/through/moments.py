"""What happens at one moment: acts taken apart, so that several can be performed at the same time."""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from simulators.dealer import Deed, Timed
from simulators.scripts.acts import Act, DeviceAct, Order, Pause, Power, Rule, SystemAct

Moment = Deed | Order | Rule | DeviceAct | Power | SystemAct
"""Something that takes no time of its own."""
NOISE = "8d41f00d5aa5"
"""What strays onto a wire: no frame of any protocol begins like this."""


class Hands(Protocol):
    """A dealer."""

    def deeds(self, act: Act) -> Iterator[Timed]:
        """See ``simulators.dealer``."""


@dataclass(frozen=True, slots=True)
class Then:
    """What happens after so many ms; ``None`` where only time passes."""

    after_ms: int
    what: Moment | None


def of(act: Act, hands: Hands) -> Iterator[Then]:
    """The moments of one act, in order."""
    match act:
        case DeviceAct(what="noise", device=device, args=args) if "bytes" not in args:
            for pause in bursts(int(args.get("rate", 1)), int(args.get("ms", 0))):
                yield Then(pause, DeviceAct("noise", device, {"bytes": NOISE}))
        case DeviceAct(what="jam", device=device, args=args):
            yield Then(0, DeviceAct("jam", device))
            yield Then(int(args.get("ms", 1000)), DeviceAct("clear", device))
        case Order() | Rule() | DeviceAct() | Power() | SystemAct():
            yield Then(0, act)
        case Pause(ms=ms):
            yield Then(ms, None)
        case _:
            for timed in hands.deeds(act):
                yield Then(timed.after_ms, timed.deed)


def bursts(rate: int, ms: int) -> list[int]:
    """The pauses in ms between bursts of noise: ``rate`` a second for ``ms``; one burst without them."""
    return [0] + [1000 // rate] * (ms * rate // 1000) if rate else []


def together(parts: Sequence[tuple[int, Iterable[Then]]]) -> list[tuple[int, int, Then]]:
    """Several rows of moments, each from its own offset in ms, as one: when each is due, of which row, and what."""
    numbers = itertools.count()
    due: list[tuple[int, int, int, Then]] = []
    for row, (offset, moments) in enumerate(parts):
        at = offset
        for then in moments:
            at += then.after_ms
            heapq.heappush(due, (at, row, next(numbers), then))
    return [(at, row, then) for at, row, _, then in (heapq.heappop(due) for _ in range(len(due)))]


def perform(then: Iterable[Then], pause: Callable[[int], Any], do: Callable[[Moment], Any]) -> None:
    """One moment after the other."""
    for one in then:
        pause(one.after_ms)
        if one.what is not None:
            do(one.what)
