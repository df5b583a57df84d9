"""What delivery counts: read by the metrics and by ``feltd health``, written by the pump's thread alone."""

import math
from dataclasses import dataclass, field

from controller.delivery.others import Others

BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the buckets of the broker's answer times, in seconds."""
TORN, TORN_S = 4, 300.0
"""A broker that lets us in and leaves us so often within that time, without a word, may do it to let another in."""


@dataclass(slots=True)
class Counters:
    """Since the process began.

    ``withheld_last``: what the broker refused last, and why; ``withheld_at``: when (monotonic, in s).
    ``barred``: the streams that it takes nothing of, and why; ``barrings``: how often that was found.
    ``left``: when the broker last left us without a word, after it had let us in (monotonic, in s).
    ``conflicts``: somebody else was seen under our name; ``others``: whether he still is there. ``unheard``: the broker
    did not let us listen; ``deaf``: why, on the present connection; empty where it does.
    """

    connections: int = 0
    losses: int = 0
    left: tuple[float, ...] = ()
    published: int = 0
    withheld: int = 0
    withheld_last: str = ""
    withheld_at: float = -math.inf
    barred: dict[str, str] = field(default_factory=dict)
    barrings: int = 0
    replays: int = 0
    requests_refused: int = 0
    conflicts: int = 0
    others: Others = field(default_factory=Others)
    unheard: int = 0
    deaf: str = ""
    ack_buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    ack_sum_s: float = 0.0

    def connected(self) -> None:
        """A new connection: whether we may listen on it is not known yet."""
        self.connections += 1
        self.deaf = ""

    def lost(self, cause: str, now: float, *, welcome: bool) -> None:
        """A connection failed or ended; ``welcome``: the broker had let us in."""
        self.losses += 1
        if welcome and cause == "lost":
            self.left = (*self.left, now)[-TORN:]

    def torn(self, now: float) -> bool:
        """Whether it looks as if another took our place again and again: some brokers do not say so."""
        return len(self.left) == TORN and now - self.left[0] < 2 * TORN_S and self.left[-1] - self.left[0] < TORN_S

    def refused_to_listen(self, cause: str) -> None:
        """The broker does not let us listen."""
        self.unheard += 1
        self.deaf = cause

    def refused(self, what: str, now: float) -> None:
        """The broker took what stands for a row that it had refused."""
        self.withheld += 1
        self.withheld_last, self.withheld_at = what, now

    def acknowledged(self, seconds: float) -> None:
        """The broker took a row after so long."""
        self.published += 1
        self.ack_sum_s += seconds
        self.ack_buckets[next((i for i, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))] += 1
