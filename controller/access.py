"""Who may speak at a table: individual log-ins, roles a command, and the lock after failures.

Without a staff file (test mode only) everybody who may use the socket is believed. With one, a person proves who they
are with a PIN when they log in, and again for each command where somebody else logged in last at that account. Proofs
come in the request's ``pins`` (person -> PIN) and never reach the core, a record or a log.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from controller.configuration import stafffile
from controller.core.floor.words import ROLES, SUPERVISORS
from controller.errors import LocalError

TRIES = 5
LOCKED_S = 900.0
"""So many failures in a row lock a person out for so long, by the monotonic clock."""
PENALTY_S = 1.0
"""How long a failed attempt takes at least: nobody fills the ledger with attempts."""
MOST_NAMES = 1000
"""Failures are counted for so many names; the oldest goes first."""

FLOOR = frozenset({"dealer", *SUPERVISORS})
WATCH = frozenset(SUPERVISORS)
MONEY = FLOOR | {"cage"}
ANYBODY = frozenset(ROLES)
MAY: Mapping[str, frozenset[str]] = {
    "login": ANYBODY,
    "logout": ANYBODY,
    **dict.fromkeys(("open", "close", "shift", "settings", "override", "rule"), WATCH),
    **dict.fromkeys(("count", "buyin", "redeem", "change", "slip", "collect", "orphan", "meters"), MONEY),
    **dict.fromkeys(("fill", "credit", "adjust"), WATCH),
    "confirm": WATCH,
}
"""Command -> who may give it. Every other command belongs to the people at the table: ``FLOOR``."""

Tell = Callable[[Mapping[str, Any]], None]


class Denied(LocalError):
    """A log-in or a proof that is not accepted. It does not say what of it was wrong."""


@dataclass(slots=True)
class _Failures:
    count: int = 0
    until: float = 0.0


class Access:
    """Proves persons against the staff file. ``tell`` records every attempt that fails (``staff.login``)."""

    def __init__(
        self,
        staff_file: Path,
        tell: Tell,
        *,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], object] = time.sleep,
    ) -> None:
        self._file = staff_file
        self._tell = tell
        self._clock = clock
        self._rest = rest
        self._guard = threading.Lock()
        self._failures: dict[str, _Failures] = {}
        stafffile.load(staff_file)

    def recall(self, attempts: Iterable[bytes], wall_ns: int) -> None:
        """Take up the count where the run before left it, from the ``staff.login`` events that are on record.

        ``wall_ns``: now. Between two runs there is no other clock than the wall's: where that was set back meanwhile,
        an attempt counts as made now.
        """
        with self._guard:
            for body in attempts:
                try:
                    event = json.loads(body)
                    name, result = event["data"]["staff"] or event["data"]["place"], event["data"]["result"]
                    happened = datetime.fromisoformat(event["time"]).timestamp()
                    hash(name)
                except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                    continue  # no event any more: the check of the ledger tells it, and the table starts all the same
                if result == "ok":
                    self._failures.pop(name, None)
                elif result == "denied":
                    self._count(name, self._clock() - max(0.0, wall_ns / 1e9 - happened))

    def prove(self, staff: str, role: str, pins: Mapping[str, Any], place: str) -> None:
        """Whether this is the person and may have the role. Raises ``Denied``; the attempt is on record then.

        The file is read anew each time, so that a new PIN holds from the next proof on.
        """
        member = stafffile.load(self._file).get(staff)
        pin = pins.get(staff)
        if not isinstance(pin, str):
            raise Denied("pins", staff, "prove who you are: give the PIN of this person")
        # What is no name of ours may be a PIN that was typed in the wrong place: it is neither counted nor recorded.
        name = staff if member is not None else place
        with self._guard:  # one guess at a time
            now = self._clock()
            failed = self._failures.get(name)
            locked = failed is not None and now < failed.until
            right = not locked and (member or stafffile.NOBODY).proves(pin)
            if member is not None and right and role in member.roles:
                self._failures.pop(name, None)
                return
            if not locked:
                self._count(name, now)
        result = "locked" if locked else "denied"
        self._tell({"staff": staff if member else None, "role": role or None, "result": result, "place": place})
        self._rest(PENALTY_S)
        remedy = f"locked out: wait {LOCKED_S / 60:.0f} minutes" if locked else "no such person, function and PIN"
        raise Denied("pin", "", remedy)

    def still(self, staff: str, role: str) -> None:
        """Whether who is logged in still is a person of this house with this role: who was removed is out at once.

        Raises ``Denied``, ``StaffFileError``.
        """
        member = stafffile.load(self._file).get(staff)
        if member is None or role not in member.roles:
            raise Denied("by", staff, f"is not on the staff as {role} any more: a supervisor logs this person out")

    def _count(self, name: str, now: float) -> None:
        failed = self._failures.pop(name, None) or _Failures()
        if failed.until and now >= failed.until:
            failed = _Failures()
        failed.count += 1
        if failed.count >= TRIES:
            failed.until = now + LOCKED_S
        if len(self._failures) >= MOST_NAMES:
            self._failures.pop(next(iter(self._failures)))
        self._failures[name] = failed


class Counter:
    """Who speaks at which account, once persons have to prove themselves."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def speaker(
        self, request: Mapping[str, Any], args: dict[str, Any], last: str, staff: Mapping[str, str], place: str
    ) -> tuple[str, str]:
        """The person and the function a command is given under. ``last`` logged in last at this account.

        Takes ``pins`` out of ``args``. Raises ``Denied``.
        """
        pins = args.pop("pins", {})
        if not isinstance(pins, dict):
            raise Denied("pins", "", "give an object: person -> PIN")
        name = request["command"]
        if name == "login":
            by, role = str(args.get("staff", "")), str(args.get("role", ""))
            self._access.prove(by, role, pins, place)
            return by, role
        by = request["by"] or last
        if by not in staff:
            raise Denied("by", by, "log in first: feltd login STAFF ROLE")
        role = staff[by]
        if request["role"] not in ("", role):
            raise Denied("role", request["role"], f"{by} is logged in as {role}")
        self._access.still(by, role)
        may(name, role)
        if name == "logout" and args.get("staff") != by and role not in WATCH:
            raise Denied("staff", "", "only a supervisor logs somebody else out")
        if by != last:
            self._access.prove(by, role, pins, place)
        other = args.get("with")
        if isinstance(other, str) and other in staff and other != by:
            self._access.prove(other, staff[other], pins, place)
        return by, role


def may(command: str, role: str) -> None:
    """Raises ``Denied`` where this function does not give this command."""
    allowed = MAY.get(command, FLOOR)
    if role not in allowed:
        raise Denied("role", role or "nobody", f"{command} is for {', '.join(sorted(allowed))}: log in as one of them")
