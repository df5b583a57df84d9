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

from controller.configuration.settings import Settings
from controller.core.inputs import Notice
from controller.core.records import Record
from controller.core.setup import Setup
from controller.errors import LocalError
from drivers.veil import Veil

UNKNOWN_BOOT = "unknown"
REMEMBERING = ("shoe", "camera")
"""Drivers of devices that keep what they tell until it is acknowledged."""


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


def _event(body: bytes) -> dict[str, Any] | None:
    """``None`` for what is no event any more: the check of the ledger tells it."""
    try:
        event = json.loads(body)
        datetime.fromisoformat(event["time"]).timestamp()
        return event if isinstance(event["type"], str) else None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Before:
    """The run before this one. ``open_hand``: a hand was being played; ``ended_well``: it said that it stops."""

    open_hand: str | None
    ended_well: bool
    last_wall_ns: int | None

    @classmethod
    def read(cls, records: Sequence[Record], tail: Sequence[bytes]) -> "Before":
        """``records``: those that a hand under way is among; ``tail``: the last bodies of the ledger."""
        hand = None
        for record in records:
            if record.type == "hand.started":
                hand = record.hand
            elif record.type in ("hand.closed", "hand.voided") and record.hand == hand:
                hand = None
        events = [event for body in tail if (event := _event(body)) is not None]
        told = [event["type"] for event in events if event["type"] in ("daemon.started", "daemon.stopped")]
        fresh = bool(events) and all(event["type"] in ("ledger.began", "ledger.signed") for event in events)
        last = datetime.fromisoformat(events[-1]["time"]).timestamp() if events else None
        return cls(
            open_hand=hand,
            ended_well=fresh or not events or told[-1:] == ["daemon.stopped"],
            last_wall_ns=None if last is None else int(last * 1e9),
        )


def same_rules(settings: Settings, opened: Record) -> None:
    """Whether an open table can be played on under these settings: rules, chips and seats change between sessions only.

    ``opened``: the ``table.opened`` of its session. Raises ``LocalError`` with the first thing that differs; nothing
    has changed.
    """
    setup, was = settings.setup, opened.data
    chips = [{"id": d.id, "class": d.kind, "value": d.value} for d in setup.chipset.denominations]
    held: list[tuple[str, object, object]] = [
        ("profile", _profile(was["profile"]), f"{setup.profile.name} {setup.profile.version} {setup.profile.sha256}"),
        ("seats", was["seats"], setup.seats),
        ("currency", was["currency"], {"code": setup.currency.code, "exponent": setup.currency.exponent}),
        ("chips", was["chipset"], {"id": setup.chipset.id, "denominations": chips}),
        ("kind", was["capabilities"], [f"sensing.{setup.kind}"]),
    ]
    for name, old, new in held:
        if old != new:
            remedy = (
                f"session {opened.session} is open and was opened with {old} (feltd {was['software']['version']}): "
                "start with what it was opened with, close the table, then change it"
            )
            raise LocalError(name, new, remedy)


def _profile(was: Mapping[str, Any]) -> str:
    return f"{was['name']} {was['version']} {was['sha256']}"


def device_options(
    driver: str, given: Mapping[str, Any], last_card: int | None, serial: str | None = None
) -> dict[str, Any]:
    """A device's options. Shoe and camera are told what is on record: they may have missed our last acknowledgement.

    ``serial``: the device that told it; what another one tells is all new.
    """
    if driver not in REMEMBERING or last_card is None:
        return dict(given)
    whose = {"committed_serial": serial} if serial not in (None, "", "-") else {}
    return {**given, "committed": last_card, **whose}


def veils(setup: Setup) -> dict[str, Veil]:
    """What keeps devices from naming closed cards, by device; none where a house has them read."""
    if not setup.unread:
        return {}
    return {name: Veil(setup.deck.tags, open_) for name, open_ in setup.open_channels({"board"}).items()}


def test_mode(kind: str) -> Notice:
    """``test.entered`` and ``test.left``: by the account the process runs under.

    Nothing has to be restored afterwards: a rehearsal has a ledger, a topic root and meters of its own.
    """
    return Notice(kind, {"by": {"account": f"uid:{os.getuid()}"}, "restored": kind == "test.left"})


def differences(setup: Setup) -> dict[str, Any]:
    """What lies otherwise than on record: not known yet where antennas have to read first; the core tells it then."""
    return {"differences": None if setup.kind == "rfid" else []}


def notices(settings: Settings, before: Before, wall_ns: int, auditor: str | None) -> list[Notice]:
    """``daemon.started``, and ``recovery.completed`` where the run before did not end in order.

    ``auditor``: the name of the key that closed cards are sealed to. A new one is confirmed with the configuration:
    whoever exchanges it can open them.
    """
    started: dict[str, Any] = {
        "software": {**settings.setup.software, "verified": settings.verified},
        "config_sha256": settings.sha256,
        "profile_sha256": settings.setup.profile.sha256,
        "auditor_key": auditor,
        "boot": boot_id(),
        "reason": "start" if before.ended_well else "recovery",
        "self_test": ["configuration", "ledger", *(["software"] if settings.verified else [])],
    }
    if settings.staff_file is not None:
        whole = f"{settings.sha256}{settings.setup.profile.sha256}{auditor or ''}"
        started["to_confirm"] = hashlib.sha256(whole.encode()).hexdigest()
    if before.open_hand:
        started["open_hand"] = before.open_hand
    said = [Notice("daemon.started", started)]
    if settings.setup.test:
        said.append(test_mode("test.entered"))
    if not before.ended_well:
        gap = None if before.last_wall_ns is None else max(0, (wall_ns - before.last_wall_ns) // 1_000_000)
        said.append(Notice("recovery.completed", {"gap_ms": gap, **differences(settings.setup), "confirmed_by": []}))
    return said
