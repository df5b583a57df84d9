"""One thread that brings the ledger to the broker: in order, without losing a row, at most ``window`` at a time.

The ledger is the only memory. A row counts as sent when the broker has taken it and the ledger knows. Until then a
new connection begins again with the first row that does not, so a subscriber can see a row twice, with the same
bytes, and never misses one or first sees it out of order.
"""

import json
import queue
import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from controller.contract.envelope import event_id, time_text
from controller.contract.state import State, state_body
from controller.contract.topics import Topics
from controller.delivery.errors import BrokerError
from controller.delivery.publisher import Answered, Dropped, Message, Outcome, Publisher
from controller.ledger.errors import LedgerError
from controller.ledger.outbox import Outbox, Unsent

Notify = Callable[[str, Mapping[str, Any]], None]
"""Called from the pump's thread; must not block. Kinds: ``link.lost`` and ``link.restored`` (``since``, ``queued``,
``range``, ``cause``), and for the operator ``record.withheld`` (``stream``, ``sequence``, ``type``, ``cause``) and
``outbox.failed`` (``cause``)."""

_log = structlog.get_logger("delivery")

_MARK_AT = 64
_READ_AT_ONCE = 256
_TICK_S = 1.0
_WITHHELD = "record.withheld"


@dataclass(frozen=True, slots=True)
class PumpSettings:
    """The pump's patience.

    ``ack_timeout_s``: a broker, or a network thread, that takes nothing for so long is given up. ``heartbeat_s``: how
    often a connection with nothing to send repeats its state, so that it too has to prove that it is alive. The time
    before the next attempt is chosen at random between 0 and ``backoff_s``, which doubles with each failure up to
    ``backoff_cap_s``: tables that lost one broker do not come back all at once.
    """

    window: int = 20
    ack_timeout_s: float = 10.0
    heartbeat_s: float = 30.0
    backoff_s: float = 0.5
    backoff_cap_s: float = 30.0


@dataclass(slots=True)
class _Flight:
    """What one connection has under way. An entry without a row is a message about ourselves.

    ``trials`` counts what is under way in place of refused rows, ``held`` are refused rows that wait for the outcome;
    ``welcome``: one was taken, ``shut_out``: one was refused too. ``refused`` is the last refusal if nothing was taken
    since, ``moving``: a row was taken, ``news``: what ``link.restored`` will say.
    """

    session: int
    under_way: dict[int, Unsent | None] = field(default_factory=dict)
    trials: int = 0
    held: list[tuple[Unsent, str]] = field(default_factory=list)
    welcome: bool = False
    shut_out: bool = False
    refused: str | None = None
    moving: bool = False
    news: dict[str, Any] | None = None
    ready: deque[Unsent] = field(default_factory=deque)
    acked: list[int] = field(default_factory=list)
    read_to: int = 0
    more: bool = True
    moved_at: float = field(default_factory=time.monotonic)

    @property
    def empty(self) -> bool:
        return not (self.under_way or self.ready or self.held or self.more)


class Pump:
    """The delivery thread of one ledger. Call ``wake`` after each append."""

    def __init__(
        self,
        ledger: Path,
        topics: Topics,
        publisher: Publisher,
        *,
        notify: Notify,
        description: bytes,
        settings: PumpSettings | None = None,
    ) -> None:
        self._path = ledger
        self._topics = topics
        self._publisher = publisher
        self._notify = notify
        self._description = description
        self._settings = settings or PumpSettings()
        # Bounded by what is put in: an outcome per message of the window, one wake at a time, the end of a connection.
        self._inbox: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()
        self._woken = False
        self._connected = False
        self._lost_since: str | None = None
        self._failures = 0
        self._progress = 0
        self._flush_until: float | None = None
        self._stop_at = 0.0
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)

    def start(self) -> None:
        """Start the thread. It connects by itself, and again whenever it has to."""
        self._thread.start()

    def wake(self) -> None:
        """There are new rows. May be called from any thread, at any time."""
        if not self._woken:
            self._woken = True
            self._inbox.put(None)

    def progress(self) -> int:
        """A number that grows at least every 15 s as long as the thread lives and moves, busy or idle."""
        return self._progress

    @property
    def connected(self) -> bool:
        """Whether events reach the broker at present, as far as we know."""
        return self._connected

    def stop(self, timeout_s: float) -> bool:
        """Flush, say ``disconnected`` and end, within about ``timeout_s``. What is not sent stays in the ledger.

        Returns whether the thread has ended; it may hang for some seconds more in an attempt to connect.
        """
        now = time.monotonic()
        self._stop_at = now + timeout_s
        self._flush_until = self._stop_at - min(0.5, timeout_s / 2)
        self._woken = True
        self._inbox.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s + _TICK_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while self._flush_until is None:
            try:
                with closing(Outbox(self._path)) as outbox:
                    self._serve(outbox)
            except (sqlite3.Error, LedgerError) as error:
                _log.error("outbox cannot be read or marked; delivery tries again", error=str(error))
                self._notify("outbox.failed", {"cause": str(error)})
                self._pause()

    def _serve(self, outbox: Outbox) -> None:
        """One connection after the other, until we are told to stop."""
        while self._flush_until is None:
            started = time.monotonic()
            try:
                self._connection(outbox)
            except BrokerError as error:
                if time.monotonic() - started > self._settings.backoff_cap_s:
                    self._failures = 0
                self._say_lost(outbox, error)
                self._pause()
            finally:
                self._connected = False
                self._publisher.close()

    def _connection(self, outbox: Outbox) -> None:
        """One connection from birth to death. Returns when we are told to stop, else raises ``BrokerError``."""
        session = outbox.next_session()
        will = Message(self._topics.state, state_body("lost", session, outbox.ledger), retain=True)
        self._publisher.connect(session, will, self._inbox.put)
        flight = _Flight(session)
        try:
            self._say(flight, outbox, "init")
            description = Message(self._topics.description, self._description, retain=True)
            flight.under_way[self._publisher.publish(description)] = None
            self._say(flight, outbox, "ready")
            self._connected = True
            if self._lost_since is not None:
                flight.news = _about(outbox, self._lost_since, None)
            self._send(flight, outbox)
            while self._flush_until is None or (not flight.empty and time.monotonic() < self._flush_until):
                self._receive(flight, outbox)
                self._send(flight, outbox)
            self._say(flight, outbox, "disconnected")
            while flight.under_way and time.monotonic() < self._stop_at:
                self._receive(flight, outbox)
        except BrokerError as error:
            # Closed, the connection brings no more outcomes: those that it brought are all in the queue.
            self._publisher.close()
            self._last_words(flight, outbox)
            if flight.refused is not None:
                raise BrokerError(flight.refused, f"the broker refused us and then: {error}") from error
            raise
        finally:
            if flight.acked:
                outbox.mark_acked(flight.acked)

    def _send(self, flight: _Flight, outbox: Outbox) -> None:
        """Fill the window: with a single row until the broker has taken one.

        A broker that hangs up on whom it refuses, with more of ours unread, takes its refusal back with it.
        """
        while not flight.held and len(flight.under_way) < (self._settings.window if flight.moving else 1):
            if not flight.ready and flight.more:
                flight.ready.extend(outbox.unsent(flight.read_to, _READ_AT_ONCE))
                # Fewer than asked for is all there is; a row that comes later comes with a wake.
                flight.more = len(flight.ready) == _READ_AT_ONCE
            if not flight.ready:
                return
            item = flight.ready.popleft()
            flight.read_to = item.row
            self._publish(flight, outbox, item)

    def _publish(self, flight: _Flight, outbox: Outbox, item: Unsent) -> None:
        labels = (
            ("event-id", event_id(outbox.ledger, item.stream, item.sequence)),
            ("type", item.type),
            ("sequence", f"{item.sequence:016d}"),
        )
        token = self._publisher.publish(Message(self._topics.event(item.stream, item.type), item.body, labels=labels))
        if not flight.under_way:
            flight.moved_at = time.monotonic()
        flight.under_way[token] = item
        flight.trials += item.type == _WITHHELD

    def _receive(self, flight: _Flight, outbox: Outbox) -> None:
        """Wait for an outcome or a wake, take all there are, and mark what is sent."""
        self._progress += 1
        now = time.monotonic()
        patience = self._settings.ack_timeout_s if flight.under_way else self._settings.heartbeat_s
        due = flight.moved_at + patience
        wait = min(due, now + _TICK_S) if self._flush_until is None else min(due, now + _TICK_S, self._stop_at)
        try:
            self._take(flight, outbox, self._inbox.get(timeout=max(0.0, wait - now)))
            while True:
                self._take(flight, outbox, self._inbox.get_nowait())
        except queue.Empty:
            pass
        self._say_restored(flight)
        if len(flight.acked) >= _MARK_AT or (flight.acked and not flight.under_way):
            outbox.mark_acked(flight.acked)
            flight.acked.clear()
        if time.monotonic() >= flight.moved_at + patience:
            if flight.under_way:
                raise BrokerError("silent", f"the broker took nothing for {patience} s")
            self._say(flight, outbox, "ready")

    def _take(self, flight: _Flight, outbox: Outbox, outcome: Outcome | None) -> None:
        if outcome is None:
            self._woken = False
            flight.more = True
        elif outcome.session != flight.session:
            return
        elif isinstance(outcome, Dropped):
            raise BrokerError(outcome.cause, f"the broker has gone: {outcome.cause}")
        else:
            flight.moved_at = time.monotonic()
            self._answer(flight, outbox, outcome)
            if flight.shut_out:
                raise BrokerError("refused", "neither a record nor what stands in for it is taken")
            self._stand_in(flight, outbox)

    def _answer(self, flight: _Flight, outbox: Outbox, outcome: Answered) -> None:
        """Book what the broker said to one message."""
        item = flight.under_way.pop(outcome.token)
        stands_in = item is not None and item.type == _WITHHELD
        flight.trials -= stands_in
        if outcome.refused is None:
            if item is None:
                return
            flight.acked.append(item.row)
            flight.moving, flight.refused, self._failures = True, None, 0
            if stands_in:
                flight.welcome = True
                self._alarm(item)
            return
        flight.refused = outcome.refused
        if item is None:
            _log.warning("the broker refuses our state or description", cause=outcome.refused)
        elif stands_in:
            # Nothing of ours is welcome: a wrong account or rule at the broker. All is kept until that is put right.
            outbox.release(item)
            flight.shut_out = True
        else:
            flight.held.append((item, outcome.refused))

    def _stand_in(self, flight: _Flight, outbox: Outbox) -> None:
        """Publish something in the place of the refused rows: of one at first, to see whether that is welcome."""
        while flight.held and (flight.welcome or not flight.trials):
            item, cause = flight.held.pop(0)
            self._publish(flight, outbox, outbox.withhold(item, cause))

    def _last_words(self, flight: _Flight, outbox: Outbox) -> None:
        """Book what the broker still said: some hang up on whom they have just refused (mosquitto 2.0.11 does)."""
        while True:
            try:
                outcome = self._inbox.get_nowait()
            except queue.Empty:
                break
            if outcome is None:
                self._woken = False
            elif isinstance(outcome, Answered) and outcome.session == flight.session:
                self._answer(flight, outbox, outcome)
        if flight.held and not flight.shut_out:
            outbox.withhold(*flight.held[0])

    def _alarm(self, item: Unsent) -> None:
        original = json.loads(item.body)["data"]
        alarm = {
            "stream": item.stream,
            "sequence": item.sequence,
            "type": original["original_type"],
            "cause": original["cause"],
        }
        _log.error("the broker refused a record; it is withheld", **alarm)
        self._notify(_WITHHELD, alarm)

    def _say(self, flight: _Flight, outbox: Outbox, state: State) -> None:
        message = Message(self._topics.state, state_body(state, flight.session, outbox.ledger), retain=True)
        token = self._publisher.publish(message)
        flight.moved_at = time.monotonic()
        flight.under_way[token] = None

    def _say_lost(self, outbox: Outbox, error: BrokerError) -> None:
        if self._lost_since is not None:
            _log.debug("not connected", cause=error.cause, error=str(error), failures=self._failures)
        else:
            _log.warning("link lost", cause=error.cause, error=str(error))
            self._lost_since = time_text(time.time_ns())
            self._notify("link.lost", _about(outbox, self._lost_since, error.cause))

    def _say_restored(self, flight: _Flight) -> None:
        """Events go through again, or would: a broker that only greets us has not restored anything."""
        if flight.news is not None and (flight.moving or flight.empty):
            _log.info("link restored", since=self._lost_since)
            self._notify("link.restored", flight.news)
            self._lost_since = flight.news = None

    def _pause(self) -> None:
        """Wait before the next attempt, awake for ``stop``."""
        limit = min(self._settings.backoff_cap_s, self._settings.backoff_s * 2 ** min(self._failures, 16))
        self._failures += 1
        until = time.monotonic() + random.uniform(0, limit)  # noqa: S311 - spreads load, guards nothing
        while self._flush_until is None and (rest := until - time.monotonic()) > 0:
            self._progress += 1
            try:
                if self._inbox.get(timeout=min(rest, _TICK_S)) is None:
                    self._woken = False
            except queue.Empty:
                continue


def _about(outbox: Outbox, since: str, cause: str | None) -> dict[str, Any]:
    backlog = outbox.backlog()
    ranges = {s: {"from": f"{low:016d}", "to": f"{high:016d}"} for s, (low, high) in backlog.ranges.items()}
    about = {"since": since, "queued": backlog.rows, "range": ranges}
    return about if cause is None else about | {"cause": cause}
