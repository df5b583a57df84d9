"""All that may enter the core. Nothing else does, so nothing else can change a result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drivers.readings import Reading


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: ``Table.deadline()`` was reached."""


@dataclass(frozen=True, slots=True)
class Command:
    """A person's decision. ``by`` is the staff id, ``role`` one of rules.md 9.5, ``reason`` free text."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict, repr=False)
    by: str = ""
    role: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """The shell noticed something: ``daemon.started``, ``daemon.stopped``, ``link.lost``, ``link.restored``,
    ``clock.stepped``, ``recovery.completed``, ``ledger.filling``, ``ledger.fault``, ``queue.overflowed``,
    ``reading.unrecorded``, ``staff.login``. ``data`` is JSON-shaped.
    """

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HandSeed:
    """32 random bytes for one hand, fed ahead: salts are derived from it. Never published."""

    seed: bytes = field(repr=False)


What = Reading | Tick | Command | Notice | HandSeed


@dataclass(frozen=True, slots=True)
class Input:
    """One stamped input. ``no`` is dense and the only order; ``at`` monotonic ns; ``wall`` ns since 1970, UTC."""

    no: int
    at: int
    wall: int
    what: What
