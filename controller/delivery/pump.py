"""One thread that brings the ledger to the broker: in order, without losing a row, at most ``window`` at a time.

The ledger is the only memory. A row counts as sent when the broker has taken it and the ledger knows. Until then a
new connection begins again with the first row that does not, so a subscriber can see a row twice, with the same
bytes, and never misses one or first sees it out of order.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import structlog

from controller.contract.state import State, state_body
from controller.contract.topics import Topics
from controller.delivery.barred import Barred
from controller.delivery.counters import Counters
from controller.delivery.errors import BrokerError, TakenBack
from controller.delivery.flight import Flight, HangUps, PumpSettings, as_message
from controller.delivery.fresh import Fresh
from controller.delivery.news import News
from controller.delivery.publisher import Answered, Asked, Dropped, Message, Notify, Outcome, Publisher, Unheard
from controller.delivery.replay import AT_ONCE
from controller.delivery.requests import Grants
from controller.delivery.serving import Serving
from controller.ledger.database import UNREADABLE
from controller.ledger.errors import LedgerError
from controller.ledger.outbox import Outbox, Unsent

_log = structlog.get_logger("delivery")

_MARK_AT = 64
_READ_AT_ONCE = 256
_TICK_S = 1.0
_WITHHELD = "record.withheld"
_STABLE_S = 5.0
"""A connection that lasted so long was a good one: the next attempt comes soon."""
_TAKEN_OVER_S = 5.0
"""How long we leave the broker to another who has our name."""


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
        grants: Grants | None = None,
    ) -> None:
        self._path = ledger
        self._topics = topics
        self._publisher = publisher
        self._notify = notify
        self._description = description
        self._settings = settings or PumpSettings()
        self.counters = Counters()
        self._news = News(notify, self.counters)
        self._serving = Serving(ledger, topics, grants or {}, description, self.counters, notify)
        # Bounded by what is put in: an outcome per message of the window, and the end of a connection.
        self._outcomes: deque[Answered | Dropped] = deque()
        self._woken = False
        self._fresh = Fresh(_READ_AT_ONCE)
        self._connected = False
        self._failures = 0
        self._hang_ups = HangUps()
        self._barred = Barred(self._settings.barred_s, self.counters)
        self._progress = 0
        self._flush_until: float | None = None
        self._stop_at = 0.0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread. It connects by itself, and again whenever it has to."""
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)
        self._thread.start()

    def revive(self) -> bool:
        """Begin again where the thread has ended by an error that nobody foresaw. Call it now and then.

        Returns whether that was so: what killed it may come again.
        """
        if self._thread is None or self._thread.is_alive() or self._flush_until is not None:
            return False
        _log.error("delivery has ended by an error and begins again")
        self._outcomes.clear()
        self.start()
        return True

    def wake(self, written: Sequence[Unsent] = ()) -> None:
        """There are new rows: those ``written``, or the ledger knows which. From the thread that writes."""
        self._fresh.put(written)
        if not self._woken:
            self._woken = True
            self._publisher.wake()

    def expect(self, written: Sequence[Unsent]) -> None:
        """These rows are being committed: time to make ready. Nothing of them is sent before ``wake`` has told them.

        Where they cannot be stored, a ``wake`` without them must say so.
        """
        self._fresh.expect(written)
        self._publisher.wake()

    def show(self, row: int, body: bytes) -> None:
        """How the table stands after a row: retained at the broker once that row is out. From any thread."""
        self._serving.show(row, body)
        self._publisher.wake()

    def _sink(self, outcome: Outcome) -> None:
        """What the publisher has to say, while we wait for it."""
        if isinstance(outcome, Asked):
            self._serving.offer(outcome)
        elif isinstance(outcome, Unheard):
            self.counters.refused_to_listen(outcome.cause)
            _log.error("the broker does not let us listen: nobody is served, no other seen", cause=outcome.cause)
        else:
            self._outcomes.append(outcome)

    def progress(self) -> int:
        """A number that grows at least every 15 s as long as the thread lives and moves, busy or idle."""
        return self._progress

    @property
    def connected(self) -> bool:
        """Whether events reach the broker at present, as far as we know."""
        return self._connected and not self._barred.nothing_goes

    def stop(self, timeout_s: float) -> bool:
        """Flush, say ``disconnected`` and end, within about ``timeout_s``. What is not sent stays in the ledger.

        Returns whether the thread has ended; it may hang for some seconds more in an attempt to connect.
        """
        now = time.monotonic()
        self._stop_at = now + timeout_s
        # Woken before it is told to end: it looks once more for what was written last.
        self._woken = True
        self._flush_until = self._stop_at - min(0.5, timeout_s / 2)
        self._publisher.wake()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(timeout_s + _TICK_S)
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        while self._flush_until is None:
            try:
                with closing(Outbox(self._path)) as outbox:
                    self._serve(outbox)
            except (*UNREADABLE, LedgerError) as error:
                _log.error("outbox cannot be read or marked; delivery tries again", error=str(error))
                self._notify("outbox.failed", {"cause": str(error)})
                self._pause()

    def _serve(self, outbox: Outbox) -> None:
        """One connection after the other, until we are told to stop."""
        while self._flush_until is None:
            started, conflicts, withheld = time.monotonic(), self.counters.conflicts, self.counters.withheld
            try:
                self._connection(outbox)
            except TakenBack as error:
                self.counters.lost("taken_back", time.monotonic(), welcome=True)
                _log.warning("the connection is begun anew", cause=str(error))
            except BrokerError as error:
                # Not at the first row that goes through: two under one name would race for the broker's ear. But
                # what stands for a refused row was taken: the rest must not wait longer for each.
                step = self.counters.withheld > withheld
                if step or time.monotonic() - started > min(_STABLE_S, self._settings.backoff_cap_s):
                    self._failures = 0
                self.counters.lost(error.cause, time.monotonic(), welcome=self._connected)
                if not step:  # else `record.withheld` says it, and we are back at once
                    self._news.lost(outbox, error, self._failures)
                contested = error.cause == "session_taken_over" or self.counters.conflicts > conflicts
                self._pause(at_least=_TAKEN_OVER_S if contested else 0.0)
            finally:
                self._connected = False
                self._publisher.close()

    def _connection(self, outbox: Outbox) -> None:
        """One connection from birth to death. Returns when we are told to stop, else raises ``BrokerError``."""
        session = outbox.next_session()
        will = Message(self._topics.state, state_body("lost", session, outbox.ledger), retain=True)
        self._publisher.connect(session, will, self._sink)
        self.counters.connected()
        flight = Flight(session)
        try:
            if self._serving.listens_to:
                self._publisher.listen(self._serving.listens_to)
            self._say(flight, outbox, "init")
            self._put(flight, Message(self._topics.description, self._description, retain=True))
            self._say(flight, outbox, "ready")
            self._serving.has_spoken = True
            self._connected = True
            self._news.connected(flight, outbox)
            self._send(flight, outbox)
            while self._flush_until is None or (
                (self._woken or not flight.empty) and time.monotonic() < self._flush_until
            ):
                self._receive(flight, outbox)
                self._send(flight, outbox)
            if flight.staged:
                return  # nobody will tell how that commit ended: the broker says that we are lost
            self._say(flight, outbox, "disconnected")
            while flight.under_way and time.monotonic() < self._stop_at:
                self._receive(flight, outbox)
        except BrokerError as error:
            # Closed, the connection brings no more outcomes: those that it brought are all in the queue.
            self._publisher.close()
            self._last_words(flight, outbox)
            if error.cause != "silent":
                self._hang_ups.lost(flight, outbox, self._barred, self._settings.hang_ups)
            if flight.refused is not None:
                raise BrokerError(flight.refused, f"the broker refused us and then: {error}") from error
            raise
        finally:
            flight.end_replay()
            if flight.acked:
                self._mark(flight, outbox)

    def _send(self, flight: Flight, outbox: Outbox) -> None:
        """Fill the window: with a single row until the broker has taken one. Not behind what waits for a commit.

        A broker that hangs up on whom it refuses, with more of ours unread, takes its refusal back with it.
        """
        if flight.staged:
            return
        while not flight.held and flight.rows_under_way < (self._settings.window if flight.moving else 1):
            if not flight.ready and flight.more:
                flight.known_to = outbox.last_row()
                flight.ready.extend(outbox.unsent(flight.read_to, _READ_AT_ONCE, self._barred.streams))
                # Fewer than asked for is all there is; a row that comes later comes with a wake.
                flight.more = len(flight.ready) == _READ_AT_ONCE
            if not flight.ready:
                break
            item = flight.ready.popleft()
            flight.read_to = item.row
            if item.stream not in self._barred:
                self._publish(flight, outbox, item)
        self._serve_requests(flight, outbox)
        if self._barred.nothing_goes and not (flight.more or flight.held or any(flight.under_way.values())):
            self._barred.lift()
            raise BrokerError(self._barred.cause, "neither a record nor what stands in for it is taken")

    def _publish(self, flight: Flight, outbox: Outbox, item: Unsent) -> None:
        self._put(flight, as_message(item, self._topics, outbox.ledger), item)
        flight.trials += item.type == _WITHHELD

    def _put(self, flight: Flight, message: Message, item: Unsent | None = None) -> int:
        """Send one message; its outcome is awaited."""
        token = self._publisher.publish(message)
        flight.sent(token, item)
        return token

    def _serve_requests(self, flight: Flight, outbox: Outbox) -> None:
        """Answer what subscribers asked, and go on with the replay that is under way."""
        for message in self._serving.answers(flight, outbox.ledger):
            token = self._put(flight, message)
            if message.topic == self._topics.snapshot:
                flight.shown = token
        if (replay := flight.replay) is not None:
            while len(replay.under_way) < AT_ONCE and (part := replay.next()):
                replay.under_way.add(self._put(flight, part))
            if replay.over:
                flight.end_replay()

    def _receive(self, flight: Flight, outbox: Outbox) -> None:
        """Wait for an outcome or a wake, take all there are, and mark what is sent."""
        self._progress += 1
        now = time.monotonic()
        patience = self._settings.ack_timeout_s if flight.under_way else self._settings.heartbeat_s
        due = flight.moved_at + patience
        # What waits for a commit is a matter of the disk, in which the broker has no part.
        wait = now + _TICK_S if flight.staged else min(due, now + _TICK_S)
        self._publisher.wait((wait if self._flush_until is None else min(wait, self._stop_at)) - now)
        while self._outcomes:
            self._take(flight, outbox, self._outcomes.popleft())
        if self._woken:
            self._woken = False
            self._fresh.take(flight, self._publisher)
        room = self._settings.window - flight.rows_under_way
        message = partial(as_message, topics=self._topics, ledger=outbox.ledger)
        self._fresh.stage(flight, self._publisher, message, room=room, but=self._barred)
        if flight.staged:
            return
        self._news.restored(flight, nothing_goes=self._barred.nothing_goes)
        if (len(flight.acked) >= _MARK_AT or (flight.acked and not flight.under_way)) and now >= flight.mark_at:
            self._mark(flight, outbox)
        if self._barred.due and not (flight.rows_under_way or flight.held or flight.acked):
            self._barred.lift()
            flight.begin_again()
        if time.monotonic() >= flight.moved_at + patience:
            if flight.under_way:
                raise BrokerError("silent", f"the broker took nothing for {patience} s")
            self._say(flight, outbox, "ready")

    def _mark(self, flight: Flight, outbox: Outbox) -> None:
        """Have the ledger know what was taken; later, where commits leave no room for it just now."""
        if outbox.mark_acked(flight.acked):
            flight.acked.clear()
        else:
            flight.mark_at = time.monotonic() + _TICK_S

    def _take(self, flight: Flight, outbox: Outbox, outcome: Answered | Dropped) -> None:
        if outcome.session != flight.session:
            return
        if isinstance(outcome, Dropped):
            raise BrokerError(outcome.cause, f"the broker has gone: {outcome.cause}")
        if outcome.token not in flight.under_way:
            raise BrokerError("malformed", "the broker answers a message that it has not been sent")
        flight.moved_at = time.monotonic()
        self._answer(flight, outbox, outcome)
        self._stand_in(flight, outbox)

    def _answer(self, flight: Flight, outbox: Outbox, outcome: Answered) -> None:
        """Book what the broker said to one message."""
        item = flight.under_way.pop(outcome.token)
        sent_at = flight.sent_at.pop(outcome.token)
        if flight.replay is not None and outcome.token in flight.replay.under_way:
            self._replayed(flight, outcome)
            return
        if outcome.token == flight.shown:
            self._serving.booked(taken=outcome.refused is None)
            return
        stands_in = item is not None and item.type == _WITHHELD
        flight.trials -= stands_in
        if outcome.refused is None:
            if item is None:
                return
            flight.acked.append(item.row)
            self.counters.acknowledged(time.monotonic() - sent_at)
            self._hang_ups.forget()
            flight.moving, flight.refused = True, None
            self._barred.taken()
            if stands_in:
                flight.welcome.add(item.stream)
                self._news.withheld(item)
            return
        flight.refused = outcome.refused
        if item is None:
            _log.warning("the broker refuses our state or description", cause=outcome.refused)
        elif stands_in:
            # A wrong account or rule at the broker. All of the stream is kept until that is put right.
            outbox.release(item)
            self._barred.bar(item.stream, outcome.refused)
            flight.held = [(row, cause) for row, cause in flight.held if row.stream != item.stream]
        elif item.stream not in self._barred:
            flight.held.append((item, outcome.refused))

    def _stand_in(self, flight: Flight, outbox: Outbox) -> None:
        """Publish something in the place of the refused rows: of one at first, to see whether that is welcome."""
        while flight.held and (flight.held[0][0].stream in flight.welcome or not flight.trials):
            item, cause = flight.held.pop(0)
            self._publish(flight, outbox, outbox.withhold(item, cause))

    def _last_words(self, flight: Flight, outbox: Outbox) -> None:
        """Book what the broker still said: some hang up on whom they have just refused (mosquitto 2.0.11 does)."""
        while self._outcomes:
            outcome = self._outcomes.popleft()
            if (
                isinstance(outcome, Answered)
                and outcome.session == flight.session
                and outcome.token in flight.under_way
            ):
                self._answer(flight, outbox, outcome)
        if flight.held:
            outbox.withhold(*flight.held[0])

    def _replayed(self, flight: Flight, outcome: Answered) -> None:
        """Book a message of a replay. One that is refused ends it: whoever asked cannot be reached there."""
        assert flight.replay is not None
        flight.replay.under_way.discard(outcome.token)
        if outcome.refused is not None:
            _log.warning("the broker refuses an answer to a replay", cause=outcome.refused)
            flight.end_replay()

    def _say(self, flight: Flight, outbox: Outbox, state: State) -> None:
        self._put(flight, Message(self._topics.state, state_body(state, flight.session, outbox.ledger), retain=True))
        flight.moved_at = time.monotonic()

    def _pause(self, at_least: float = 0.0) -> None:
        """Wait before the next attempt, awake for ``stop``."""
        until = time.monotonic() + at_least + self._settings.pause(self._failures)
        self._failures += 1
        while self._flush_until is None and (rest := until - time.monotonic()) > 0:
            self._progress += 1
            self._publisher.wait(min(rest, _TICK_S))
            self._woken = False
