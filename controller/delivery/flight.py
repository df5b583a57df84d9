"""What one connection has under way, and how patient the pump is."""

import random
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from controller.contract.envelope import event_id
from controller.contract.topics import Topics
from controller.delivery.barred import Barred
from controller.delivery.errors import TakenBack
from controller.delivery.publisher import Message
from controller.delivery.replay import Replay
from controller.ledger.outbox import Outbox, Unsent


@dataclass(frozen=True, slots=True)
class PumpSettings:
    """The pump's patience.

    ``ack_timeout_s``: a broker that takes nothing for so long is given up. ``heartbeat_s``: how
    often a connection with nothing to send repeats its state, so that it too has to prove that it is alive. The time
    before the next attempt is chosen at random between 0 and ``backoff_s``, which doubles with each failure up to
    ``backoff_cap_s``: tables that lost one broker do not come back all at once. ``hang_ups``: a row at which the broker
    hangs up without a word so many times in a row is withheld. ``barred_s``: when a stream of which the broker takes
    nothing is tried again.
    """

    window: int = 20
    ack_timeout_s: float = 10.0
    heartbeat_s: float = 30.0
    backoff_s: float = 0.5
    backoff_cap_s: float = 30.0
    hang_ups: int = 4
    barred_s: float = 300.0

    def pause(self, failures: int) -> float:
        """How long to wait before the next attempt, in seconds, after so many in a row that came to nothing."""
        limit = min(self.backoff_cap_s, self.backoff_s * 2 ** min(failures, 16))
        return random.uniform(0, limit)  # noqa: S311 - spreads load, guards nothing


@dataclass(slots=True)
class Flight:
    """What one connection has under way. An entry without a row is a message about ourselves or an answer.

    ``trials`` counts what is under way in place of refused rows, ``held`` are refused rows that wait for the outcome;
    ``welcome``: the streams of which one was taken. ``refused`` is the last refusal if nothing was taken
    since, ``moving``: a row was taken, ``news``: what ``link.restored`` will say.
    """

    session: int
    under_way: dict[int, Unsent | None] = field(default_factory=dict)
    sent_at: dict[int, float] = field(default_factory=dict)
    trials: int = 0
    held: list[tuple[Unsent, str]] = field(default_factory=list)
    welcome: set[str] = field(default_factory=set)
    refused: str | None = None
    moving: bool = False
    news: dict[str, Any] | None = None
    ready: deque[Unsent] = field(default_factory=deque)
    staged: deque[tuple[int, Unsent]] = field(default_factory=deque)
    """What the publisher has and is still being committed."""
    staged_at: float = 0.0
    mark_at: float = 0.0
    """Not before is it tried again to have the ledger know what was taken."""
    acked: list[int] = field(default_factory=list)
    read_to: int = 0
    known_to: int = 0
    """Up to this row the ledger was looked through for what is unsent; that went to ``ready``."""
    more: bool = True
    replay: Replay | None = None
    shown: int | None = None
    """The last snapshot."""
    moved_at: float = field(default_factory=time.monotonic)

    @property
    def rows_under_way(self) -> int:
        """How much of the window is used: answers to a replay are not of it."""
        return len(self.under_way) - (len(self.replay.under_way) if self.replay else 0)

    @property
    def empty(self) -> bool:
        """Nothing is left to send or to wait for."""
        return not (self.under_way or self.ready or self.held or self.more or self.staged)

    def begin_again(self) -> None:
        """Read from the first unsent row on. Only where no row is under way, and what was taken is marked."""
        self.ready.clear()
        self.read_to, self.more = 0, True

    def end_replay(self) -> None:
        """No more of it goes out."""
        if self.replay is not None:
            self.replay.close()
            self.replay = None

    def sent(self, token: int, item: Unsent | None) -> None:
        """A message is on its way; with it the broker's time to answer begins, where nothing else was."""
        now = time.monotonic()
        if not self.under_way:
            self.moved_at = now
        self.under_way[token] = item
        self.sent_at[token] = now

    def released(self) -> None:
        """What was staged goes. While it did not, nobody could be waited for: that time counts against no broker."""
        now = time.monotonic()
        self.moved_at = min(now, self.moved_at + now - self.staged_at)

    def follows(self, item: Unsent) -> bool:
        """Whether nothing else is to be sent before this row."""
        waits = self.ready or self.more or self.held or self.staged or self.replay
        return not waits and item.row == self.read_to + 1

    def became(self, item: Unsent | None) -> None:
        """The row that is staged next is durable: it is on its way. Raises ``TakenBack`` where it is another.

        Another can have its number: what is rolled back never comes.
        """
        token, staged = self.staged.popleft()
        if item is not staged:
            raise TakenBack(f"row {staged.row} was made ready for the broker, and is not what was stored next")
        self.read_to = staged.row
        self.sent(token, staged)

    def alone(self) -> Unsent | None:
        """The row that is the only thing without an answer, where the broker has taken no other row yet."""
        waiting = list(self.under_way.values())
        return waiting[0] if len(waiting) == 1 and not self.moving else None


class HangUps:
    """Counts how often in a row the broker has gone at one row without a word.

    Over MQTT 3.1.1 a broker has no other way to refuse (RabbitMQ hangs up). After some times the row is withheld. Where
    the broker hangs up at what stands for it too, the row is kept, and its stream with it.
    """

    def __init__(self) -> None:
        self._row, self._type, self._count = 0, "", 0

    def forget(self) -> None:
        """A row was taken."""
        self._row, self._type, self._count = 0, "", 0

    def lost(self, flight: Flight, outbox: Outbox, barred: Barred, most: int) -> None:
        """The broker has gone. Where a single row was all that it had not answered, that row may be why."""
        item = flight.alone()
        if item is None:
            return
        again = (self._row, self._type) == (item.row, item.type)
        self._row, self._type, self._count = item.row, item.type, self._count + 1 if again else 1
        if self._count < most:
            return
        self.forget()
        if item.type == "record.withheld":
            outbox.release(item)
            barred.bar(item.stream, "hangs_up")
        else:
            outbox.withhold(item, "hangs_up")


def as_message(item: Unsent, topics: Topics, ledger: str) -> Message:
    """How a row is published."""
    labels = (
        ("event-id", event_id(ledger, item.stream, item.sequence)),
        ("type", item.type),
        ("sequence", f"{item.sequence:016d}"),
    )
    return Message(topics.event(item.stream, item.type), item.body, labels=labels)
