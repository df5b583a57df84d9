"""Streams that the broker takes nothing of: neither a record nor what stands for it."""

import time

import structlog

from controller.delivery.counters import Counters

_log = structlog.get_logger("delivery")


class Barred:
    """Their rows are kept while the other streams go on; after ``again_s`` each is tried once more.

    Where the broker has never taken a row, nothing of ours is welcome: a wrong account, as a rule.
    """

    def __init__(self, again_s: float, counters: Counters) -> None:
        self._again_s = again_s
        self._counters = counters
        self._again_at: float | None = None
        self._taken = False
        self.cause = ""
        """Why the last one is barred."""

    def __contains__(self, stream: object) -> bool:
        return stream in self._counters.barred

    @property
    def streams(self) -> frozenset[str]:
        """Those that are not tried at present."""
        return frozenset(self._counters.barred)

    def bar(self, stream: str, cause: str) -> None:
        """The broker refused what stands for a record of this stream as well."""
        if stream not in self:
            _log.error("the broker takes nothing of a stream: it is kept, the others go on", stream=stream, cause=cause)
            self._counters.barrings += 1
        # A new one each time: other threads read it.
        self._counters.barred, self.cause = self._counters.barred | {stream: cause}, cause
        self._again_at = time.monotonic() + self._again_s

    def taken(self) -> None:
        """The broker took a row. The first ever: it may just have been put right for the others as well."""
        if not self._taken:
            self._taken, self._again_at = True, time.monotonic()

    @property
    def nothing_goes(self) -> bool:
        """Whether a stream is barred and the broker has never taken a row."""
        return bool(self._counters.barred) and not self._taken

    @property
    def due(self) -> bool:
        """Whether they are to be tried again now."""
        return bool(self._counters.barred) and self._again_at is not None and time.monotonic() >= self._again_at

    def lift(self) -> None:
        """Try all of them again."""
        self._counters.barred = {}
        self._again_at = None
