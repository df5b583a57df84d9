"""What is to be said at start: this program and machine, and how the run before ended."""

import hashlib
import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from controller.core.inputs import Notice
from controller.core.records import Record
from controller.settings import Settings

UNKNOWN_BOOT = "unknown"


def boot_id() -> str:
    """The kernel's name for this run of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return UNKNOWN_BOOT


def since_start_ms() -> int | None:
    """Milliseconds since this process was started, its interpreter included; ``None`` where that is not known."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks = int(fields[19])
    except (OSError, IndexError, ValueError):
        return None
    started = ticks / os.sysconf("SC_CLK_TCK")
    return round((time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1000)


def memory_mb() -> int | None:
    """The most memory this process has had, in MB; ``None`` where the kernel does not say."""
    try:
        # Not getrusage: what it says includes the parent's memory from before the exec.
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:")), None)


def test_ledger_id(settings: Settings) -> str | None:
    """The id of a new ledger where a test run is to be repeated exactly."""
    if settings.seed is None:
        return None
    text = f"felt-test|{settings.seed}|{settings.setup.site}|{settings.setup.table}"
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


@dataclass(frozen=True, slots=True)
class Before:
    """The run before this one. ``open_hand``: a hand was being played; ``ended_well``: it said that it stops."""

    open_hand: str | None
    ended_well: bool
    last_wall_ns: int | None

    @classmethod
    def read(cls, records: Sequence[Record], tail: Sequence[bytes]) -> "Before":
        """``records`` since the last opening, ``tail`` the last bodies of the ledger."""
        hand = None
        for record in records:
            if record.type == "hand.started":
                hand = record.hand
            elif record.type in ("hand.closed", "hand.voided") and record.hand == hand:
                hand = None
        events = [json.loads(body) for body in tail]
        told = [event["type"] for event in events if event["type"] in ("daemon.started", "daemon.stopped")]
        fresh = bool(events) and all(event["type"] in ("ledger.began", "ledger.signed") for event in events)
        last = datetime.fromisoformat(events[-1]["time"]).timestamp() if events else None
        return cls(
            open_hand=hand,
            ended_well=fresh or not events or told[-1:] == ["daemon.stopped"],
            last_wall_ns=None if last is None else int(last * 1e9),
        )


def device_options(driver: str, given: Mapping[str, Any], last_card: int | None) -> dict[str, Any]:
    """A device's options. A shoe is told which cards are on record: it may have missed our last acknowledgement."""
    known = {"committed": last_card} if driver == "shoe" and last_card is not None else {}
    return {**given, **known}


def notices(settings: Settings, before: Before, wall_ns: int) -> list[Notice]:
    """``daemon.started``, and ``recovery.completed`` where the run before did not end in order."""
    started: dict[str, Any] = {
        "software": {**settings.setup.software, "verified": False},
        "config_sha256": settings.sha256,
        "profile_sha256": settings.setup.profile.sha256,
        "boot": boot_id(),
        "reason": "start" if before.ended_well else "recovery",
        "self_test": ["configuration", "ledger"],
    }
    if before.open_hand:
        started["open_hand"] = before.open_hand
    said = [Notice("daemon.started", started)]
    if not before.ended_well:
        gap = None if before.last_wall_ns is None else max(0, (wall_ns - before.last_wall_ns) // 1_000_000)
        said.append(Notice("recovery.completed", {"gap_ms": gap, "differences": [], "confirmed_by": []}))
    return said
