"""Looking after the ledger file while the table runs: how full it is, how much is unsent, whether it is whole."""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from controller.contract.following import Fault, Report
from controller.ledger import files
from controller.ledger.errors import LedgerDamaged, LedgerError
from controller.ledger.files import Filling, Retention
from controller.ledger.locks import Lock
from controller.ledger.verify import handed_over, verify

LOWEST = 19
"""The background check gives way to everything else."""
BREATH_EVERY, BREATH_S = 50, 0.005
"""After so many rows it rests, so that the disk and the interpreter are free for the table."""

TRIALS, AGAIN_S = 10, 60.0
"""So often, and after so long, a check begins again that could not be ended for what is around the file."""

BROKEN_OFF = "its check broke off, so nothing is known of it: run feltd verify, and report what the log says"
"""What health says where an error that nobody foresaw has ended the check."""

_log = structlog.get_logger("ledger")


def fault_data(faults: Sequence[Fault]) -> dict[str, Any]:
    """What the notice ``ledger.fault`` says."""
    first = faults[0]
    place = {"row": first.row, "stream": first.stream, "sequence": f"{first.sequence:016d}"}
    return {"faults": len(faults), "first": {**place, "what": first.what}}


class PlaceWatch:
    """Tells once that the ledger's file was moved or replaced: the next start would not find what is written now."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._told = False

    def look(self) -> dict[str, Any] | None:
        """The data of the notice ``ledger.fault``."""
        away = not self._lock.in_place()
        told, self._told = self._told, away
        if not away or told:
            return None
        what = f"moved: {self._lock.path.name} is not the file that is written; put it back before the daemon ends"
        return {"faults": 1, "first": {"row": None, "stream": "", "sequence": "0" * 16, "what": what}}


class FillWatch:
    """Tells each new level of ``ledger.filling`` once, and again when it is over."""

    def __init__(self, path: Path, retention: Retention, *, was_full: bool) -> None:
        self._path = path
        self._retention = retention
        self._told = files.LEVELS[-1] if was_full else 0
        self.last = Filling(0, 1)

    def look(self, oldest_unsent: Callable[[], Mapping[str, Any] | None]) -> dict[str, Any] | None:
        """The data of a notice, where the level has changed. Raises ``LedgerError``."""
        self.last = filling = files.filling(self._path, self._retention)
        level = filling.level
        if level == self._told:
            return None
        self._told = level
        return {
            "used": filling.used,
            "limit": filling.limit,
            "oldest_unsent": oldest_unsent(),
            "new_hands_refused": level >= files.LEVELS[-1],
        }


@dataclass(slots=True)
class Check:
    """How far the background check is. ``report`` is ``None`` until it has ended; ``trouble``: why it cannot."""

    row: int = 0
    report: Report | None = None
    trouble: str = ""


class BackgroundCheck:
    """Verifies the whole file once, on a connection and a thread of its own, behind everything else."""

    def __init__(
        self,
        path: Path,
        keys: Sequence[Ed25519PublicKey],
        found: Callable[[Report], None],
        *,
        at_start: Sequence[Fault] = (),
        again_s: float = AGAIN_S,
    ) -> None:
        """``at_start``: what the check at the start has found; ``again_s``: see ``AGAIN_S``."""
        self._at_start = at_start
        self._path = path
        self._keys = keys
        self._found = found
        self._again_s = again_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="check", daemon=True)
        self.state = Check()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End early."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(5)

    @property
    def faults(self) -> frozenset[Fault]:
        """What is known to be wrong: found by the check at the start, or by this one."""
        report = self.state.report
        return frozenset((*self._at_start, *(report.faults if report else ())))

    @property
    def running(self) -> bool:
        """Whether it has begun and not ended."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._check()
        except Exception as error:
            # Nobody waits for this thread: without a word the file would pass as one that is still being checked.
            self.state.trouble = f"{BROKEN_OFF} (row {self.state.row}, {type(error).__name__})"
            _log.error("the check of the ledger broke off", row=self.state.row, error=type(error).__name__)
            raise

    def _check(self) -> None:
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)
        except PermissionError as error:
            _log.warning("the ledger is checked at ordinary priority", error=str(error))
        began = time.monotonic()
        for trial in range(1, TRIALS + 1):
            try:
                report = self._verified()
                break
            except LedgerError as error:
                self.state.trouble = str(error)
                _log.error("the ledger could not be checked", error=str(error), trial=trial, of=TRIALS)
            if trial == TRIALS or self._stopping.wait(self._again_s):
                return
        if self._stopping.is_set():
            return
        self.state.report, self.state.trouble = report, ""
        _log.info(
            "ledger checked", rows=report.rows, faults=len(report.faults), seconds=round(time.monotonic() - began)
        )
        self._found(report)

    def _verified(self) -> Report:
        """The report; a check that damage brings to its end is one with that fault. Raises ``LedgerError``."""
        try:
            keys = [*self._keys, *handed_over(self._path)] if self._keys else None
            return verify(self._path, public_keys=keys, go_on=self._go_on)
        except LedgerDamaged as error:
            return Report("", self.state.row, {}, 0, 0, (Fault(None, "?", 0, f"not checked: {error}"),), ())

    def _go_on(self, row: int) -> bool:
        self.state.row = max(row, self.state.row)
        if row % BREATH_EVERY == 0:
            self._stopping.wait(BREATH_S)
        return not self._stopping.is_set()
