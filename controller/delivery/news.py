"""What delivery tells the table: that the link is lost and restored, once each, and that a record was withheld."""

import json
import time
from typing import Any

import structlog

from controller.contract.envelope import time_text
from controller.delivery.counters import Counters
from controller.delivery.errors import BrokerError
from controller.delivery.flight import Flight
from controller.delivery.publisher import Notify
from controller.ledger.outbox import Outbox, Unsent

_log = structlog.get_logger("delivery")


class News:
    """Each to the log, and to whoever asked to be told (``Notify``)."""

    def __init__(self, notify: Notify, counters: Counters) -> None:
        self._notify = notify
        self._counters = counters
        self._lost_since: str | None = None

    def lost(self, outbox: Outbox, error: BrokerError, failures: int) -> None:
        """A connection has failed or ended: news where the one before was well."""
        if self._lost_since is not None:
            _log.debug("not connected", cause=error.cause, error=str(error), failures=failures)
        else:
            _log.warning("link lost", cause=error.cause, error=str(error))
            self._lost_since = time_text(time.time_ns())
            self._notify("link.lost", _about(outbox, self._lost_since, error.cause))

    def connected(self, flight: Flight, outbox: Outbox) -> None:
        """The broker has let us in: how much has waited is counted now, and told when it goes through."""
        if self._lost_since is not None:
            flight.news = _about(outbox, self._lost_since, None)

    def restored(self, flight: Flight, *, nothing_goes: bool) -> None:
        """Events go through again, or would: a broker that only greets us has not restored anything."""
        if flight.news is not None and (flight.moving or (flight.empty and not nothing_goes)):
            _log.info("link restored", since=self._lost_since)
            self._notify("link.restored", flight.news)
            self._lost_since = flight.news = None

    def withheld(self, item: Unsent) -> None:
        """The broker took what stands for a record that it had refused."""
        original = json.loads(item.body)["data"]
        kind, cause = original["original_type"], original["cause"]
        self._counters.refused(f"{kind}: {cause}", time.monotonic())
        alarm = {"stream": item.stream, "sequence": item.sequence, "type": kind, "cause": cause}
        _log.error("the broker refused a record; it is withheld", **alarm)
        self._notify("record.withheld", alarm)


def _about(outbox: Outbox, since: str, cause: str | None) -> dict[str, Any]:
    """What ``link.lost`` and ``link.restored`` say: since when, how much waits, and which ranges."""
    backlog = outbox.backlog()
    ranges = {s: {"from": f"{low:016d}", "to": f"{high:016d}"} for s, (low, high) in backlog.ranges.items()}
    said = {"since": since, "queued": backlog.rows, "range": ranges}
    return said if cause is None else said | {"cause": cause}
