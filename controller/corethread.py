"""The one thread that owns the table: it stamps inputs, feeds them, and stores what came of them.

Nothing else touches the table or writes the ledger. A device is told that its reading has arrived only after
the transaction that holds the outcome.
"""

import hashlib
import hmac
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import structlog

from controller.core.errors import BadCommand
from controller.core.inputs import Command, HandSeed, Input, Notice, Tick, What
from controller.core.records import Record
from controller.core.setup import Setup
from controller.core.table import Table
from controller.errors import FeltError
from controller.inbox import Ask, Inbox, Item, Order, Outcome, Stop
from controller.ledger.errors import AppendFailed, NotWritable
from controller.ledger.store import Ledger
from controller.runtime.clock import Clock
from drivers.readings import DeviceLost, DeviceUp, Reading, TagsSeen

LONGEST_WAIT_S = 0.5
"""The longest the thread sleeps: ``progress`` moves at least that often while it is well."""

log = structlog.get_logger()


Acknowledge = Callable[[Reading], bool]
"""Tells a device that a reading is durable; ``False`` when it could not be told now."""


class Listener(Protocol):
    """Who wants to know all that enters the core: a capture."""

    def input(self, what: Input) -> None:
        """It is about to be fed."""

    def restored(self, row: int, at: int) -> None:
        """What the last input led to could not be stored: the table is that of the ledger's row again."""


class CoreThread:
    """Runs a table on a ledger. ``wake`` is called after each commit (the pump has work)."""

    def __init__(
        self,
        setup: Setup,
        ledger: Ledger,
        clock: Clock,
        inbox: Inbox,
        *,
        wake: Callable[[], None],
        ended: Callable[[], None],
        seed: int | None = None,
        listener: Listener | None = None,
    ) -> None:
        self._setup = setup
        self._ledger = ledger
        self._clock = clock
        self._inbox = inbox
        self._wake = wake
        self._ended = ended
        self._seed = seed
        self._listener = listener
        self._no = 0
        self._devices: Mapping[str, Acknowledge] = {}
        self._standing: dict[tuple[str, str], Reading] = {}
        self._thread = threading.Thread(target=self._run, name="core", daemon=True)
        self.progress = 0
        self.failure: FeltError | None = None
        self._table = Table(setup)

    # ------------------------------------------------------------ before the thread runs

    def restore(self, records: Iterable[Record]) -> None:
        """Begin from what the ledger holds."""
        self._table = Table.restore(self._setup, records)

    def begin(self, notices: Iterable[Notice]) -> None:
        """Feed what the shell has to say first. Raises ``AppendFailed``."""
        for notice in notices:
            self._play(notice)

    def last_cards(self) -> dict[str, int]:
        """The number of the last card of each shoe that is on record."""
        return dict(self._table.session.state.seen)

    def serials(self) -> dict[str, str]:
        """The serial number that each device told last."""
        return dict(self._table.session.state.devices)

    def storage_full(self) -> bool:
        """Whether the records say that the ledger is full."""
        return self._table.session.state.storage_full

    def start(self, devices: Mapping[str, Acknowledge]) -> None:
        """Run. ``devices`` maps a device's name to how it is acknowledged."""
        self._devices = devices
        self._thread.start()

    # ------------------------------------------------------------ from other threads

    def stop(self, reason: str, timeout_s: float) -> bool:
        """Work off what is queued, record ``daemon.stopped``, end. ``False`` when it did not end in time."""
        self._inbox.post(Stop(reason), timeout_s)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            while self._turn():
                self.progress += 1
        except FeltError as error:
            self.failure = error
        finally:
            for item in self._inbox.close():
                if isinstance(item, Order):
                    item.outcome.cancel()
                elif isinstance(item, Ask):
                    item.answer.cancel()
            self._ended()

    def _turn(self) -> bool:
        """Wait for one item and deal with it. ``False`` at the end."""
        item = self._inbox.get(self._patience())
        if isinstance(item, Stop):
            self._play(Notice("daemon.stopped", {"reason": item.reason}))
            return False
        if item is not None:
            self._take(item)
        for device in sorted(self._inbox.refused()):
            log.warning("queue full", device=device)
            self._play(Notice("queue.overflowed", {"device": device}))
        due = self._table.deadline()
        if due is not None and due <= self._clock.now():
            self._play(Tick())
        if self._ledger.sign_due(self._clock.now(), self._clock.wall()):
            self._wake()
        return True

    def _patience(self) -> float:
        due = self._table.deadline()
        return LONGEST_WAIT_S if due is None else min(LONGEST_WAIT_S, self._clock.seconds_until(due))

    def _take(self, item: Item) -> None:
        if isinstance(item, Order):
            self._obey(item)
        elif isinstance(item, Ask):
            if item.answer.set_running_or_notify_cancel():
                item.answer.set_result(item.question(self._table))
        elif isinstance(item, Notice):
            self._play(item)
        elif not isinstance(item, Stop):
            self._remember(item)
            self._play(item)
            if not self._devices[item.device](item):
                log.warning("acknowledgement dropped", device=item.device, reading=item.reading)

    def _obey(self, order: Order) -> None:
        # A caller that has gone away meanwhile has withdrawn the command.
        if not order.outcome.set_running_or_notify_cancel():
            return
        try:
            outcome = Outcome(tuple(self._play(order.command)))
        except BadCommand as mistake:
            outcome = Outcome(mistake=mistake)
        except FeltError as error:
            order.outcome.set_exception(error)
            raise
        order.outcome.set_result(outcome)

    def _play(self, what: What) -> list[Record]:
        """Feed one input, and the seed where a hand has begun with it. The records are durable on return."""
        records = self._durable(what)
        if self._table.wants_seed:
            records += self._durable(HandSeed(self._new_seed()))
        return records

    def _durable(self, what: What) -> list[Record]:
        """Feed and store one input; where it cannot be stored, start over from the ledger and try once more.

        A second failure ends the process: a table that cannot record must not be played on. A command whose records
        can be no event is refused instead, for it would fail again: ``BadCommand``, and nothing has changed.
        """
        try:
            return self._append(what)
        except AppendFailed as failure:
            log.exception("append failed, restoring the table from the ledger")
            self._start_over()
            if isinstance(what, Command) and isinstance(failure, NotWritable):
                remedy = "what it says cannot be recorded: say it shorter, in plain text"
                raise BadCommand("command", what.name, remedy) from failure
            return self._append(what)

    def _start_over(self) -> None:
        """The table as the ledger has it, and the last word of every device and place on top."""
        self._table = Table.restore(self._setup, self._ledger.restore_rows())
        if self._listener:
            self._listener.restored(self._ledger.row, self._clock.now())
        for reading in list(self._standing.values()):
            self._append(reading)

    def _append(self, what: What) -> list[Record]:
        self._no += 1
        wall = self._clock.wall()
        stamped = Input(self._no, self._clock.now(), wall, what)
        if self._listener:
            self._listener.input(stamped)
        records = self._table.feed(stamped)
        if records:
            self._ledger.append(records, wall)
            log.debug("recorded", types=[record.type for record in records])
            self._wake()
        return records

    def _remember(self, reading: Reading) -> None:
        """Keep the last word on each device and place: a restored table has to hear it again."""
        match reading:
            case DeviceUp() | DeviceLost():
                self._standing[reading.device, ""] = reading
            case TagsSeen():
                self._standing[reading.device, reading.channel] = reading

    def _new_seed(self) -> bytes:
        """32 random bytes; in test mode the same ones for the same seed and the same place in the ledger."""
        if self._seed is None:
            return os.urandom(32)
        place = f"felt-test-seed|{self._seed}|{self._ledger.head('play').sequence}"
        return hmac.new(place.encode(), b"hand", hashlib.sha256).digest()
