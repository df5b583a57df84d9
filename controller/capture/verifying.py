"""``feltd verify LEDGER --capture FILE``: the inputs are fed to the core again, and all must come out as it stands.

Three things are held together: the bytes of every device, the inputs that the core was fed, and the ledger's rows.
The bytes are given to the drivers again, which must read and send the same; the inputs are given to the core again,
which must conclude the same rows, with their secrets where the auditor's key opens them.
"""

import sqlite3
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from controller.capture import words
from controller.capture.devices import Heard
from controller.capture.reading import Said, told, unproven
from controller.capture.wire import Passed
from controller.core.errors import BadCommand
from controller.core.inputs import Command, HandSeed, Notice, Tick
from controller.core.records import Record
from controller.core.table import Table
from controller.ledger import database, restoring
from controller.ledger.reading import read_records
from controller.ledger.signature import ENDS_A_HAND
from controller.ledger.store import MOST_TOGETHER
from drivers.errors import DeviceError

OWN = frozenset({"ledger.began", "ledger.signed", "key.rotated"})
"""What a ledger writes about itself: no input leads to it."""
KEYED = frozenset({"data.commit", "data.salt", "data.card", "data.cards", "secret"})
"""What of a row is made from closed cards and the seed of its hand."""
UNHELD = "cannot be held against without --card-key"
MOST_FAULTS = 20
MOST_OF_A_DEVICE = 5


@dataclass(slots=True)
class Replayed:
    """What came of it.

    ``faults``: what does not agree. ``unheld``: what could not be held against anything, so that nobody can say whether
    it agrees. ``notes``: what is as it must be, and may look strange.
    """

    runs: int = 0
    inputs: int = 0
    records: int = 0
    frames: int = 0
    faults: list[str] = field(default_factory=list)
    unheld: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything that could be compared agrees, and something could."""
        return not self.faults and self.runs > 0

    @property
    def whole(self) -> bool:
        """Whether it agrees and all of it was compared."""
        return self.ok and not self.unheld


def verify_capture(ledger: Path, capture: Path, auditor: X25519PrivateKey | None = None) -> Replayed:
    """Hold a capture against a ledger. Raises ``CaptureError`` and ``LedgerError`` for files that cannot be read."""
    with closing(database.connect_read_only(ledger)) as connection:
        try:
            name = database.meta(connection)["ledger"]
            before = restoring.earlier(ledger, connection, device=b"", form="")  # records only: no state is kept so
        except sqlite3.Error as error:
            raise database.unusable(ledger, error) from error
    earlier = [] if before is None else list(before.records)
    rows = list(read_records(ledger, auditor=auditor))
    replayed = Replayed(unheld=list(unproven(capture)))
    run: _Run | None = None
    for one in told(capture, auditor):
        if isinstance(one, Said) and (why := _strange(one)):
            remedy = "use the file as it was written, and the version of feltd that wrote it"
            replayed.faults.append(f"{one.place}: {why}: nothing after it was compared; {remedy}")
            return replayed
        if isinstance(one, Said) and "run" in one.what:
            if run is not None and run.name == one.what["run"]:
                continue  # the same run goes on in the next file
            if run is not None:
                run.end(_row(one.what))
            run = _begun(one.what, name, rows, earlier, replayed, closed=auditor is None)
        elif run is not None:
            run.take(one)
    if run is not None:
        run.end(None)
    if not replayed.runs:
        replayed.unheld.append("no run of the capture could be held against this ledger")
    return replayed


def _strange(one: Said) -> str:
    """Why this version cannot make anything of a line; empty where it can."""
    try:
        words.known(one.what)
    except words.NotUnderstood as error:
        return str(error)
    return ""


def _row(said: Mapping[str, Any]) -> int | None:
    return said["origin"]["row"] if said["origin"] else None


def _begun(
    said: Mapping[str, Any],
    ledger: str,
    rows: Sequence[Record],
    earlier: Sequence[Record],
    replayed: Replayed,
    *,
    closed: bool,
) -> "_Run | None":
    origin = said["origin"]
    if origin is None:
        replayed.unheld.append(f"the begin of run {said['run']} is not in the capture any more: left out")
    elif origin["ledger"] != ledger:
        replayed.unheld.append(f"run {said['run']} belongs to ledger {origin['ledger']}: left out")
    else:
        try:
            return _Run(said, rows, earlier, replayed, closed=closed)
        except (words.NotUnderstood, DeviceError) as error:
            replayed.unheld.append(f"run {said['run']} cannot be replayed: {error}")
    return None


class _Run:
    """One run of the daemon: its table and its devices once more."""

    def __init__(
        self,
        said: Mapping[str, Any],
        rows: Sequence[Record],
        earlier: Sequence[Record],
        replayed: Replayed,
        *,
        closed: bool,
    ) -> None:
        origin = said["origin"]
        self._closed = closed
        self.name = said["run"]
        self._setup = words.as_setup(origin["setup"])
        self._rows, self._earlier, self._replayed = rows, earlier, replayed
        self._next: int = origin["row"]
        self._began: int = said["wall"] - said["mono"]
        self._pending: deque[tuple[int, list[Record]]] = deque()
        """What the last inputs led to, with their numbers: they may have been stored together, or not at all."""
        self._number = 0
        self._blind = ""
        """The hand whose closed cards nobody can know here: it was under way at the begin, and there is no key."""
        self._unheld: dict[str, list[int]] = {}
        """Hand -> rows of it that differ in what only the key opens."""
        self._lost = False
        """The ledger concluded from cards that are closed here: nothing can be held against it until a restart."""
        self._table = self._restored(self._next)
        seen = self._table.session.state.seen
        veiled = self._setup.open_channels(()) if self._setup.unread else {}
        told = [d for d in origin["devices"] if d["name"] not in veiled]
        self._devices = {d["name"]: Heard(d, seen.get(d["name"])) for d in told}
        self._veiled = frozenset(veiled)
        if veiled:
            kept = f"{', '.join(sorted(veiled))}: the bytes are not in the capture, for closed cards are not read here"
            replayed.notes.append(f"{kept}; the inputs are")
        self._whole = False
        replayed.runs += 1

    def take(self, one: Said | Passed) -> None:
        """The next thing that the capture tells."""
        now = one.at - self._began
        if isinstance(one, Passed):
            self._replayed.frames += 1
            if device := self._device(one.device):
                device.passed(one, now)
        elif "call" in one.what:
            if device := self._device(one.what["device"]):
                device.called(one.what, now)
        elif "restored" in one.what:
            self._held(one.what["restored"])
            self._pending.clear()
            if self._lost:
                self._lost, self._next = False, one.what["restored"]
            self._table = self._restored(one.what["restored"])
        else:
            self._input(one.what)

    def _device(self, name: str) -> Heard | None:
        """The device of this name; what a strange one said cannot be held against anything."""
        if name not in self._devices and name not in self._veiled:
            told = f"{name} is no device of run {self.name}: what it said was not compared"
            if told not in self._replayed.unheld:
                self._replayed.unheld.append(told)
        return self._devices.get(name)

    def end(self, row: int | None) -> None:
        """The run is over; the next one began at this row of the ledger."""
        limit = len(self._rows) if row is None else row
        self._held(limit)
        if not self._lost and (lost := [str(number) for number, records in self._pending if records]):
            told = f"what input {', '.join(lost)} led to was not stored any more: the run was killed"
            # Where another run follows, its begin says that the ledger was no longer than that.
            (self._replayed.unheld if row is None else self._replayed.notes).append(told)
        for hand, rows in self._unheld.items():
            told = f"{len(rows)} rows of hand {hand}, {rows[0]} to {rows[-1]}: {UNHELD} (only their closed cards)"
            self._replayed.unheld.append(told)
        if not self._lost and (left := self._upcoming(limit)) is not None:
            what = f"row {left + 1} ({self._rows[left].type}) and what follows"
            if self._whole:
                self._fault(f"{what}: no input of the capture led to it")
            else:
                self._replayed.unheld.append(f"{what}: the capture ends before")
        for device in self._devices.values():
            # In front: bytes that say something else are the cause of what the core concludes from them.
            self._replayed.faults[:0] = device.mismatches[:MOST_OF_A_DEVICE]

    def _input(self, said: Mapping[str, Any]) -> None:
        while len(self._pending) > 2 * MOST_TOGETHER:
            self._compare(*self._pending.popleft())
        what = words.as_input(said)
        if what.no != self._number + 1:
            self._fault(f"input {self._number + 1} is missing from the capture")
        self._number = what.no
        self._replayed.inputs += 1
        if not isinstance(what.what, Tick | Command | Notice | HandSeed) and what.what.device in self._devices:
            self._devices[what.what.device].fed(what.what)
        self._whole = isinstance(what.what, Notice) and what.what.kind == "daemon.stopped"
        with suppress(BadCommand):
            self._pending.append((what.no, self._table.feed(what)))

    def _held(self, row: int) -> None:
        """Compare what the last inputs led to, as far as the ledger's rows up to this one go."""
        while self._pending and (self._upcoming(row) is not None or not self._pending[0][1]):
            self._compare(*self._pending.popleft())

    def _compare(self, number: int, records: Sequence[Record]) -> None:
        """The records of one input must be the ledger's next rows."""
        for record in records if not self._lost else ():
            at = self._upcoming(len(self._rows))
            if self._blind and record.hand == self._blind and (at is None or self._rows[at].type != record.type):
                # What it led to hung on a closed card: from here on there is nothing to hold the ledger against.
                self._lost = True
                told = f"row {self._next + 1} and what follows: {UNHELD} (hand {self._blind} was open at the begin)"
                self._replayed.unheld.append(told)
                return
            if at is None:
                self._fault(f"input {number} led to {record.type}, which the ledger has not got")
                return
            self._next = at + 1
            self._replayed.records += 1
            names = list(_differences(record, self._rows[at]))
            if self._blind and record.hand == self._blind and KEYED.intersection(names):
                self._unheld.setdefault(self._blind, []).append(at + 1)
                names = [name for name in names if name not in KEYED]
            for name in names:
                self._fault(f"row {at + 1} ({self._rows[at].type}): input {number} leads to another {name}")

    def _upcoming(self, limit: int) -> int | None:
        """The index of the next row that an input must have led to."""
        return next((at for at in range(self._next, limit) if self._rows[at].type not in OWN), None)

    def _restored(self, row: int) -> Table:
        """The table as a daemon restores it from the ledger's rows up to this one."""
        rows = list(self._since_opening(row))
        over = {record.hand for record in rows if record.type in ENDS_A_HAND}
        bare = [replace(record, secret=None) if record.hand in over else record for record in rows]
        begun = [record.hand or "" for record in bare if record.type == "hand.started" and record.hand not in over]
        self._blind = begun[-1] if begun and self._closed else ""
        return Table.restore(self._setup, bare)

    def _since_opening(self, row: int) -> Iterator[Record]:
        opened = [at for at in range(row) if self._rows[at].type == "table.opened"]
        if not opened:
            yield from self._earlier
        yield from (record for record in self._rows[opened[-1] if opened else 0 : row] if record.type not in OWN)

    def _fault(self, what: str) -> None:
        if len(self._replayed.faults) < MOST_FAULTS:
            self._replayed.faults.append(what)


def _differences(made: Record, stored: Record) -> Iterator[str]:
    data, held = dict(made.data), dict(stored.data)
    refers = data.get("refers")
    if isinstance(refers, Mapping) or (isinstance(refers, list) and any(isinstance(one, Mapping) for one in refers)):
        # The core names an event by its type; its id is the ledger's.
        data.pop("refers"), held.pop("refers", None)
    if isinstance(data.get("through"), Mapping):
        # How far the streams go is the ledger's as well.
        data.pop("through"), held.pop("through", None)
    yield from (
        name for name in ("stream", "type", "subject", "session") if getattr(made, name) != getattr(stored, name)
    )
    if made.day and made.day != stored.day:
        yield "day"
    yield from (f"data.{name}" for name in sorted(data.keys() | held.keys()) if data.get(name) != held.get(name))
    if stored.secret is not None and made.secret != stored.secret:
        yield "secret"
