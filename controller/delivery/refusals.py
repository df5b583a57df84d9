"""Tells the log which requests were not served: a line for each cause and client now and then, with a count."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

EVERY_S = 10.0
"""One cause for one client is told at once, and then at most so often, however many requests come."""

_log = structlog.get_logger("delivery")


@dataclass(slots=True)
class Refusals:
    """One thread's. ``clock`` is monotonic seconds.

    Who keeps to ``add(why, client)`` with clients that were granted something and ``None`` for all others holds a
    bounded number of counts: a stranger may call itself what it likes.
    """

    clock: Callable[[], float] = time.monotonic
    _told: dict[tuple[str, str | None], float] = field(default_factory=dict)
    _more: dict[tuple[str, str | None], int] = field(default_factory=dict)

    def add(self, why: str, client: str | None) -> None:
        """A request was not served."""
        self._more[why, client] = self._more.get((why, client), 0) + 1
        self.tell()

    def tell(self) -> None:
        """Say what is due; what has come since the last line of its cause is said with the next one."""
        if not self._more:
            return
        now = self.clock()
        for key, times in list(self._more.items()):
            if now - self._told.get(key, now - EVERY_S) >= EVERY_S:
                why, client = key
                _log.warning("request not served", why=why, client=client, times=times)
                self._told[key] = now
                del self._more[key]
