"""What every way to rehearse offers to the player of a script, and what the two in this process share."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from controller.contract.topics import Source
from controller.core.inputs import Command
from controller.core.records import Record
from controller.ledger.keys import Keys, create_auditor_key, create_signing_key
from controller.ledger.store import Ledger
from simulators.dealer import Drawn
from simulators.errors import ScriptError, SimulatorError
from simulators.plan import SITE, TABLE, Plan
from simulators.scripts.acts import Act, DeviceAct, Order, Power, Rule, SystemAct
from simulators.seen import Seen, of_body, of_record
from simulators.through.moments import Moment, Then
from simulators.tokens import Tokens

MS = 1_000_000
DAY = 86_400_000_000_000
BEGAN = 1_796_040_000_000_000_000
"""The wall clock of a rehearsal without a real one: 2026-11-30 12:00 UTC."""


def without_switches(act: Power) -> DeviceAct | SystemAct:
    """What a cut of the power comes to on simulated devices: a plug that is pulled, a process that is gone."""
    if act.name == "dut":
        return SystemAct("daemon.start" if act.on else "daemon.kill")
    return DeviceAct("plug" if act.on else "unplug", act.name)


class NotRunnable(SimulatorError):
    """This way to rehearse has no such act: the case is skipped with this reason."""


class Stage(Protocol):
    """One table on which acts are performed. Times are the rig's monotonic clock in ns."""

    @property
    def now(self) -> int:
        """The rig's clock."""

    @property
    def seen(self) -> Sequence[Seen]:
        """Every event so far, in the order it came."""

    @property
    def speed(self) -> float:
        """How many times faster than the rig's clock the table's time runs."""

    @property
    def tokens(self) -> Tokens | None:
        """Where every chip and card lies by the rig's own count; ``None`` where nothing is counted."""

    @property
    def whole(self) -> bool:
        """Whether ``seen`` has the ledger from its beginning; else an earlier table has written to it."""

    def pause(self, ms: int) -> None:
        """Let time pass."""

    def perform(self, act: Act) -> None:
        """Perform one act; returns when it has been performed, not when it has been understood."""

    def drawn(self) -> list[Drawn]:
        """Every duration that hands have drawn since this was asked last."""

    def moments(self, act: Act) -> Iterable[Then]:
        """An act taken apart, for acts at the same time. Whoever asks for them performs them all, with ``moment``."""

    def moment(self, what: Moment) -> None:
        """Perform something that takes no time of its own."""

    def until(self, ask: Callable[[], bool], timeout_ms: int) -> bool:
        """Let time pass until the answer is yes. ``False`` when it is still no after the time allowed."""

    def end(self) -> list[str]:
        """End what is rehearsed, in order. What is wrong with its ledger or delivery, a line each."""

    def close(self) -> None:
        """Close what was opened, whatever has happened. What came until then stays in ``seen``."""


@runtime_checkable
class Captured(Protocol):
    """A stage whose daemon writes a capture; its folder holds all that belongs to the run."""

    capture: Path


@runtime_checkable
class Gathers(Protocol):
    """A stage whose table leaves its evidence elsewhere than in the stage's folder."""

    def gather(self, folder: Path) -> list[str]:
        """Bring it into ``folder``; a line for each thing that could not be had, with the reason."""


@runtime_checkable
class OnARig(Protocol):
    """A stage that stands on things which may fail by themselves."""

    def fault(self) -> str:
        """What of them has failed since it was opened; empty where nothing has."""


@runtime_checkable
class Asked(Protocol):
    """A stage whose daemon answers whoever asks."""

    def pages(self, *, last: bool) -> Mapping[str, Any]:
        """What it answers just now, by what was asked for. ``last``: nothing more is asked in this run."""


class Journal:
    """The ledger of a rehearsal in this process, with keys of its own beside it."""

    def __init__(self, path: Path, seed: int) -> None:
        if path.exists():
            raise ScriptError("arguments", "--ledger", str(path), "is there already; give a new file")
        self.path = path
        auditor, signing = Path(f"{path}.card-key"), Path(f"{path}.signing-key")
        create_auditor_key(auditor, Path(f"{auditor}.pub"))
        create_signing_key(signing, Path(f"{signing}.pub"), test=True)
        keys = Keys.load(
            device=Path(f"{path}.device-key"), auditor=Path(f"{auditor}.pub"), signing=signing, create=True
        )
        new_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"rehearsal/{seed}"))
        self._ledger = Ledger.open(path, source=Source(SITE, TABLE), test=True, keys=keys, new_id=new_id, wall_ns=BEGAN)
        self._tables = 0

    @property
    def tables(self) -> int:
        """How many tables have written to it."""
        return self._tables

    def began(self, at: int) -> list[Seen]:
        """What the ledger wrote by itself at its beginning; nothing for a later table."""
        return [of_body(body, at) for body in self._ledger.tail(self._ledger.row)] if self._tables == 1 else []

    def next_day(self) -> int:
        """The wall clock of the next table: each table has a day of its own, so its hands have names of their own."""
        self._tables += 1
        return BEGAN + (self._tables - 1) * DAY

    def append(self, records: Sequence[Record], at: int, wall: int) -> list[Seen]:
        """Store the records of one input; what was written, as it would be published."""
        before = self._ledger.row
        self._ledger.append(records, wall)
        return [of_body(body, at) for body in self._ledger.tail(self._ledger.row - before)]

    def restore(self) -> list[Record]:
        """What a restarted table is rebuilt from."""
        return list(self._ledger.restore_rows())

    def close(self) -> None:
        """Give the file up."""
        self._ledger.close()


class Inside:
    """A core in this process: the clock is a number, the events are kept. Base of two stages."""

    def __init__(self, plan: Plan, journal: Journal | None) -> None:
        self.plan = plan
        self._journal = journal
        self._wall = journal.next_day() if journal else BEGAN
        self._now = 0
        self._seen: list[Seen] = journal.began(0) if journal else []
        self._seeds = 0
        self.whole = journal is None or journal.tables == 1

    @property
    def now(self) -> int:
        """The fake clock."""
        return self._now

    @property
    def wall(self) -> int:
        """The fake wall clock, ns since 1970."""
        return self._wall + self._now

    @property
    def seen(self) -> Sequence[Seen]:
        """Every event so far."""
        return self._seen

    @property
    def speed(self) -> float:
        """The fake clock is the table's."""
        return 1.0

    @property
    def tokens(self) -> Tokens | None:
        """Nothing lies anywhere but in a table with antennas."""
        return None

    def drawn(self) -> list[Drawn]:
        """No hands, no durations."""
        return []

    def next_seed(self) -> bytes:
        """The seed of the next hand."""
        self._seeds += 1
        return self.plan.hand_seed(self._seeds)

    def keep(self, records: Sequence[Record]) -> None:
        """Note what the core concluded."""
        if self._journal is not None:
            self._seen += self._journal.append(records, self._now, self.wall)
        else:
            self._seen += [of_record(record, self._now) for record in records]

    def end(self) -> list[str]:
        """Nothing runs on. What was appended is checked event by event."""
        return []


def command_of(act: Order | Rule, seen: Sequence[Seen]) -> Command:
    """The command behind a person's act. A ruling finds its incident by the code among what was seen.

    Raises ``NotRunnable`` where no such incident is open.
    """
    if isinstance(act, Order):
        args = dict(act.args)
        if act.name == "login" and not args:
            args = {"staff": act.by, "role": act.role}
        return Command(act.name, args, act.by, act.role, act.reason)
    incident = open_incident(seen, act.code)
    if incident is None:
        raise NotRunnable(f"rule: no incident {act.code} is open")
    args = {**act.args, "incident": incident["incident"], "ruling": act.ruling}
    return Command("rule", args, act.by, act.role, act.reason)


def open_incident(seen: Sequence[Seen], code: str) -> Mapping[str, Any] | None:
    """The newest open incident with this code."""
    closed = {event.data.get("incident") for event in seen if event.type == "incident.closed"}
    for event in reversed(seen):
        if event.type == "incident.opened" and event.data["code"] == code and event.data["incident"] not in closed:
            return event.data
    return None
