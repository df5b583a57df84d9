"""What delivery counts: read by the metrics and by ``feltd health``, written by the pump's thread alone."""

from dataclasses import dataclass, field

BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the buckets of the broker's answer times, in seconds."""


@dataclass(slots=True)
class Counters:
    """Since the process began.

    ``conflicts``: somebody else was seen under our name. ``unheard``: the broker did not let us listen.
    """

    connections: int = 0
    losses: int = 0
    published: int = 0
    withheld: int = 0
    replays: int = 0
    requests_refused: int = 0
    conflicts: int = 0
    unheard: int = 0
    ack_buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    ack_sum_s: float = 0.0

    def acknowledged(self, seconds: float) -> None:
        """The broker took a row after so long."""
        self.published += 1
        self.ack_sum_s += seconds
        self.ack_buckets[next((i for i, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))] += 1
