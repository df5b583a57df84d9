"""The one thread that owns the table: it stamps inputs, feeds them, and stores what came of them.

Nothing else touches the table or writes the ledger. What waits together is stored together, in one transaction; an
input that comes alone is stored at once. A device is told that its reading has arrived, and a person that a command
was obeyed, only after the transaction that holds the outcome.
"""

import hashlib
import hmac
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import structlog

from controller.core import image
from controller.core.errors import BadCommand
from controller.core.inputs import Command, HandSeed, Input, Notice, Tick, What
from controller.core.records import Record
from controller.core.setup import Setup
from controller.core.table import Table
from controller.errors import FeltError
from controller.hearers import Acknowledge, Delivery, Lift, Listener
from controller.inbox import Ask, Inbox, Item, Order, Outcome, Stop
from controller.ledger.errors import AppendFailed, LedgerError, NotWritable
from controller.ledger.store import MOST_TOGETHER, Ledger
from controller.runtime.clock import Clock
from controller.standing import Standing
from drivers.readings import Reading

LONGEST_WAIT_S = 0.5
"""The longest the thread sleeps: ``progress`` moves at least that often while it is well."""

LONGEST_TOGETHER_S = 0.005
"""How long the first of some inputs waits, at most, until those that wait behind it are fed as well."""

GIVES_WAY_S = 0.001
"""How long, at most, the thread lets delivery have interpreter and processor behind a commit, if nothing waits for it.

What it has to do then, telling a device that its reading is durable, is in less of a hurry than the event.
"""

KEEP_EVERY = 5_000
"""After so many rows the state is kept, at the next end of a hand."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Fed:
    """An input that the table has taken and the ledger has not yet. ``outcome``: where a person waits for it."""

    what: What
    outcome: "Future[Outcome] | None"
    records: list[Record]
    wall: int
    mistake: BadCommand | None = None
    recorded: bool = True
    """``False``: a fault stands in its place."""


class CoreThread:
    """Runs a table on a ledger."""

    def __init__(
        self,
        setup: Setup,
        ledger: Ledger,
        clock: Clock,
        inbox: Inbox,
        *,
        ended: Callable[[], None],
        seed: int | None = None,
        listener: Listener | None = None,
    ) -> None:
        self._setup = setup
        self._ledger = ledger
        self._clock = clock
        self._inbox = inbox
        self._delivery: Delivery | None = None
        self._ended = ended
        self._seed = seed
        self._listener = listener
        self._no = 0
        self._keep_at = KEEP_EVERY
        self._due: int | None = 0
        """When the table needs the next tick; in the past where that is not known."""
        self._group: list[_Fed] = []
        """What was fed since the last commit."""
        self._devices: Mapping[str, Acknowledge] = {}
        self._owed: list[Reading] = []
        """Readings that are not acknowledged yet."""
        self._lifts: Mapping[str, Lift] = {}
        self._lifted: tuple[Mapping[str, frozenset[str]], bool] | None = None
        self._standing = Standing()
        self._thread = threading.Thread(target=self._run, name="core", daemon=True)
        self.progress = 0
        self.failure: FeltError | None = None
        self._table = Table(setup)

    # ------------------------------------------------------------ before the thread runs

    def restore(self, records: Iterable[Record], state: Any | None = None) -> None:
        """Begin from what the ledger holds: its records, on top of a ``state`` that was kept between two hands."""
        self._table = Table.restore(self._setup, records, state)

    def is_open(self) -> bool:
        """Whether a session of the table is open by the records."""
        return self._table.session.state.session is not None

    def staff(self) -> dict[str, str]:
        """Who is logged in by the records: person -> role."""
        return dict(self._table.session.state.staff)

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

    def start(
        self,
        devices: Mapping[str, Acknowledge],
        lifts: Mapping[str, Lift] | None = None,
        delivery: Delivery | None = None,
    ) -> None:
        """Run. ``devices`` maps a device's name to how it is acknowledged, ``lifts`` to how its veil is lifted."""
        self._devices = devices
        self._lifts = lifts or {}
        self._delivery = delivery
        self._lift()
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
        """Wait for one item and deal with it and with those that wait behind it. ``False`` at the end."""
        item = self._inbox.get(self._patience())
        began = time.monotonic()
        while True:
            if isinstance(item, Stop):
                self._play(Notice("daemon.stopped", {"reason": item.reason}))
                self._keep_state()
                return False
            self._take(item)
            if not self._group or len(self._group) >= MOST_TOGETHER or time.monotonic() - began >= LONGEST_TOGETHER_S:
                break
            if (item := self._inbox.get(0)) is None:
                break
        self._commit()
        self._pass_time()
        for device in sorted(self._inbox.refused()):
            log.warning("queue full", device=device)
            self._play(Notice("queue.overflowed", {"device": device}))
        signed = self._ledger.sign_due(self._clock.now(), self._clock.wall())
        if signed and self._delivery is not None:
            self._delivery.wake(signed)
        self._keep_state()
        return True

    def _keep_state(self) -> None:
        """Between two hands, once in many rows: a restart then reads only what came after."""
        state = self._table.session.state
        if self._ledger.row < self._keep_at or state.play is not None:
            return
        self._keep_at = self._ledger.row + KEEP_EVERY
        try:
            self._ledger.keep_image(image.form(self._setup), image.of(state))
        except LedgerError as error:
            log.warning("the state could not be kept: a restart reads more records", error=str(error))

    def _pass_time(self) -> None:
        """A tick, where one is due, and when the next will be."""
        self._due = self._table.deadline()
        if self._due is not None and self._due <= self._clock.now():
            self._play(Tick())
            self._due = self._table.deadline()

    def _patience(self) -> float:
        return LONGEST_WAIT_S if self._due is None else min(LONGEST_WAIT_S, self._clock.seconds_until(self._due))

    def _take(self, item: Item | None) -> None:
        if isinstance(item, Order):
            # A caller that has gone away meanwhile has withdrawn the command.
            if item.outcome.set_running_or_notify_cancel():
                self._feed(item.command, item.outcome)
        elif isinstance(item, Ask):
            try:
                self._commit()  # nobody sees what is not durable
            except FeltError:
                item.answer.cancel()
                raise
            if item.answer.set_running_or_notify_cancel():
                item.answer.set_result(item.question(self._table))
        elif item is not None and not isinstance(item, Stop):
            self._feed(item, None)

    def _play(self, what: What) -> None:
        """Feed one input behind those that are fed already. All records are durable on return."""
        self._due = 0
        self._feed(what, None)
        self._commit()

    def _feed(self, what: What, outcome: "Future[Outcome] | None") -> None:
        """Feed one input; its records wait for the next commit. The seed that it asks for is fed behind it."""
        self._group.append(self._fed(what, outcome))
        if self._table.wants_seed:
            # A hand has begun. In test mode its place in the ledger decides on the next seed, so it must be there.
            self._commit()
            self._seed_ahead()

    def _fed(self, what: What, outcome: "Future[Outcome] | None") -> _Fed:
        wall = self._clock.wall()
        try:
            return _Fed(what, outcome, self._conclude(what, wall), wall)
        except BadCommand as mistake:
            return _Fed(what, outcome, [], wall, mistake)

    def _conclude(self, what: What, wall: int) -> list[Record]:
        self._no += 1
        stamped = Input(self._no, self._clock.now(), wall, what)
        if self._listener:
            self._listener.input(stamped)
        return self._table.feed(stamped)

    def _commit(self) -> None:
        """Store what the inputs since the last commit led to; then tell devices and people.

        Where it cannot be stored, the table starts over from the ledger and each input is played again alone. One
        that fails again ends the process: a table that cannot record must not be played on. Raises ``AppendFailed``.
        """
        group, self._group = self._group, []
        if not group:
            return
        try:
            try:
                self._store(group)
            except AppendFailed as failure:
                log.exception("append failed, restoring the table from the ledger", inputs=len(group))
                self._start_over()
                again = None if len(group) > 1 else failure
                for at, fed in enumerate(group):
                    if not isinstance(fed.what, Tick | HandSeed):  # these come again by themselves
                        group[at] = self._alone(fed, again)
        except FeltError as error:
            for fed in group:
                if fed.outcome is not None:
                    fed.outcome.set_exception(error)
            raise
        for fed in group:
            self._settle(fed)
        self._acknowledge()
        self._lift()

    def _lift(self) -> None:
        """Readers are told where cards lie face up, as soon as that changes."""
        if not self._lifts:
            return
        lifted = self._table.open_channels()
        if lifted != self._lifted:
            self._lifted = lifted
            for name, open_ in lifted[0].items():
                if name in self._lifts:
                    self._lifts[name](open_, playing=lifted[1])

    def _store(self, group: Sequence[_Fed]) -> None:
        inputs = [(fed.records, fed.wall) for fed in group if fed.records]
        if inputs:
            delivery = self._delivery
            try:
                written = self._ledger.append_together(inputs, coming=delivery.expect if delivery else None)
            except AppendFailed:
                if delivery is not None:
                    delivery.wake(())
                raise
            if delivery is not None:
                delivery.wake(written)
                self._inbox.wait(GIVES_WAY_S)
            log.debug("recorded", rows=len(written), last=written[-1].type)

    def _alone(self, fed: _Fed, failure: AppendFailed | None) -> _Fed:
        """Play an input once more, and store it by itself. ``failure``: it has failed by itself before.

        What can be no event would fail again: a command is refused, and a fault is recorded instead of a reading.
        """
        if not isinstance(failure, NotWritable):
            fed = self._fed(fed.what, fed.outcome)
            try:
                self._store([fed])
            except NotWritable as again:
                log.exception("cannot be recorded, restoring the table from the ledger")
                failure = again
                self._start_over()
            else:
                self._seed_ahead()
                return fed
        if isinstance(fed.what, Command):
            remedy = "what it says cannot be recorded: say it shorter, in plain text, of what this ledger has"
            return replace(fed, records=[], mistake=BadCommand("command", fed.what.name, remedy))
        if isinstance(fed.what, Notice | Tick | HandSeed):
            raise failure
        told = {"device": fed.what.device, "reading": fed.what.reading, "kind": type(fed.what).__name__}
        instead = self._fed(Notice("reading.unrecorded", told), None)
        self._store([instead])
        return replace(fed, recorded=False)

    def _settle(self, fed: _Fed) -> None:
        """What an input led to is durable: tell whoever waits for it."""
        if fed.outcome is not None:
            fed.outcome.set_result(Outcome(tuple(fed.records), fed.mistake))
        elif not isinstance(fed.what, Command | Notice | Tick | HandSeed):
            if fed.recorded:
                self._standing.remember(fed.what)
            self._owed.append(fed.what)

    def _acknowledge(self) -> None:
        """Tell devices that their readings are durable: all but those whose outcome the table still waits for."""
        owed, self._owed = self._owed, []
        for reading in owed:
            if self._table.waits_for(reading):
                self._owed.append(reading)
            elif not self._devices[reading.device](reading):
                log.warning("acknowledgement dropped", device=reading.device, reading=reading.reading)

    def _start_over(self) -> None:
        """The table as the ledger has it, and the last word of every device and place on top."""
        self._due = 0
        recovery = self._table.recovery
        kept = self._ledger.beginning(image.form(self._setup))
        self._table = Table.restore(self._setup, kept.records, kept.image)
        if self._listener:
            self._listener.restored(self._ledger.row, self._clock.now())
        self._seed_ahead()
        again: list[What] = [recovery.notice] if recovery is not None else []
        for what in [*again, *self._standing, *self._owed]:
            self._store([self._fed(what, None)])

    def _seed_ahead(self) -> None:
        """The next hand must not have to wait for its seed. It leads to no record."""
        if self._table.wants_seed:
            self._conclude(HandSeed(self._new_seed()), self._clock.wall())

    def _new_seed(self) -> bytes:
        """32 random bytes; in test mode the same ones for the same seed and the same place in the ledger."""
        if self._seed is None:
            return os.urandom(32)
        place = f"felt-test-seed|{self._seed}|{self._ledger.head('play').sequence}"
        return hmac.new(place.encode(), b"hand", hashlib.sha256).digest()
