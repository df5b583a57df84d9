"""How long to wait before the next attempt: exponential with full jitter, between a floor and a cap."""

import random
from collections.abc import Callable


class Backoff:
    """Waiting times in seconds. ``chance`` yields numbers from 0 to 1.

    Each wait is drawn evenly between the floor and a ceiling that doubles from attempt to attempt up to the
    cap: devices that vanished together do not come back together, and an attempt that fails at once still
    costs the floor.
    """

    def __init__(
        self,
        floor_s: float = 0.2,
        cap_s: float = 5.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if not 0 < floor_s <= cap_s:
            raise ValueError(f"floor_s = {floor_s}, cap_s = {cap_s}: give 0 < floor_s <= cap_s")
        self._floor = floor_s
        self._cap = cap_s
        self._chance = chance
        self._ceiling = floor_s

    def next_s(self) -> float:
        """The next wait, in seconds."""
        self._ceiling = min(self._cap, self._ceiling * 2)
        return self._floor + self._chance() * (self._ceiling - self._floor)

    def reset(self) -> None:
        """The device proved good: begin small again."""
        self._ceiling = self._floor
