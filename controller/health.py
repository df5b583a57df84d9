"""How the process is: one look at everything, told as ``feltd health`` and as numbers for Prometheus."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from controller.capture.starting import Capturing
from controller.delivery.counters import BOUNDS, Counters
from controller.delivery.others import ANOTHER
from controller.delivery.pump import Pump
from controller.inbox import Inbox
from controller.ledger.errors import LedgerError
from controller.ledger.files import LEVELS
from controller.ledger.outbox import Outbox
from controller.ledgercare import BackgroundCheck, FillWatch
from controller.runtime.metrics import Family, Labels, counter, exposition, gauge, histogram
from drivers.supervisor import Supervisor

UNSENT_S = 60.0
"""Something that has been unsent for so long is told as a trouble."""
TORN = (
    "the broker lets this table in and leaves it again and again without a word: look in its log whether another "
    "client has the table's client id, else at the network"
)
DEAF = "the broker does not let this table listen, no replay is served: let it read its cmd topics and its state"
REFUSED_S = 3600.0
"""So long a trouble after the broker has refused an event."""
BAD = ("crc", "resync", "dropped", "timeouts")
NO_CAPTURE = Capturing()

_log = structlog.get_logger()


@dataclass(slots=True)
class Seen:
    """What the last look found."""

    stuck: list[str] = field(default_factory=list)
    unsent: int = 0
    oldest: dict[str, str] | None = None
    oldest_s: float = 0.0
    incidents: int = 0
    session: str | None = None
    trouble: str = ""


class Health:
    """Gathers what the threads count. ``look`` is called by the main thread; what it found may be read from any."""

    def __init__(
        self,
        ledger: Path,
        inbox: Inbox,
        supervisors: Mapping[str, Supervisor],
        pump: Pump | None,
        fill: FillWatch,
        check: BackgroundCheck,
        capturing: Capturing = NO_CAPTURE,
    ) -> None:
        self._ledger = ledger
        self._outbox: Outbox | None = None
        self._inbox = inbox
        self._supervisors = supervisors
        self._pump = pump
        self._fill = fill
        self._check = check
        self._capturing = capturing
        self._began = time.monotonic()
        self.seen = Seen()

    def look(self, stuck: list[str], picture: Callable[[], tuple[int, str | None] | None]) -> None:
        """Gather. ``picture`` asks the core for open incidents and session; ``None`` when it does not answer."""
        seen = Seen(stuck=stuck)
        try:
            if self._outbox is None:
                self._outbox = Outbox(self._ledger)
            seen.unsent, seen.oldest = self._outbox.depth(), self._outbox.oldest()
        except (sqlite3.Error, LedgerError) as error:
            seen.trouble = str(error)
        if seen.oldest is not None:
            # Shown to people, never used to decide: both ends are wall time.
            age = datetime.now(UTC) - datetime.fromisoformat(seen.oldest["time"])
            seen.oldest_s = max(0.0, age.total_seconds())
        core = picture()
        if core is None:
            seen.incidents, seen.session = self.seen.incidents, self.seen.session
        else:
            seen.incidents, seen.session = core
        self.seen = seen

    def oldest(self) -> dict[str, str] | None:
        """What has waited longest to be sent."""
        return self.seen.oldest

    def close(self) -> None:
        """Give the file back."""
        if self._outbox is not None:
            self._outbox.close()

    def report(self) -> dict[str, Any]:
        """``ok``, each check with what is wrong (empty: nothing), and the numbers."""
        seen, fill = self.seen, self._fill.last
        checked = self._check.state
        counts = self._pump.counters if self._pump else None
        down = [name for name, supervisor in self._supervisors.items() if not supervisor.up()]
        checks = {
            "threads": f"no progress: {', '.join(seen.stuck)}" if seen.stuck else "",
            "devices": f"not up: {', '.join(down)}" if down else "",
            "broker": "not connected" if self._pump and not self._pump.connected else "",
            "outbox": f"unsent for {seen.oldest_s:.0f} s" if self._pump and seen.oldest_s > UNSENT_S else "",
            "ledger": self._ledger_trouble(),
            "incidents": f"{seen.incidents} open" if seen.incidents else "",
            "name": _name(counts, time.monotonic()) if counts else "",
            "withheld": _withheld(counts) if counts else "",
            "streams": _barred(counts.barred) if counts else "",
            "requests": f"{DEAF} ({counts.deaf})" if counts and counts.deaf else "",
            "capture": self._capturing.trouble(),
        }
        return {
            "ok": not any(checks.values()),
            "checks": checks,
            "session": seen.session,
            "up_s": round(time.monotonic() - self._began),
            "outbox": {"unsent": seen.unsent, "oldest": seen.oldest},
            "ledger": {
                "used": fill.used,
                "limit": fill.limit,
                "checked": None if checked.report is None else checked.report.rows,
            },
            "queue": {"most": self._inbox.most, "coalesced": self._inbox.coalesced},
        }

    def _ledger_trouble(self) -> str:
        fill, checked = self._fill.last, self._check.state
        if faults := self._check.faults:
            return f"not whole: {len(faults)} faults"
        if checked.trouble or self.seen.trouble:
            return checked.trouble or self.seen.trouble
        return f"{fill.used * 100 // fill.limit} % full" if fill.level >= LEVELS[0] else ""

    def metrics(self) -> str:
        """All numbers in Prometheus' text format."""
        seen, fill = self.seen, self._fill.last
        families = [
            gauge("feltd_outbox_rows", "Events that the broker has not taken yet.", seen.unsent),
            gauge("feltd_outbox_oldest_seconds", "How long the oldest of them has waited.", seen.oldest_s),
            gauge("feltd_ledger_bytes", "Size of the ledger with its log.", fill.used),
            gauge("feltd_ledger_limit_bytes", "The size at which no new hand begins.", fill.limit),
            gauge("feltd_ledger_faults", "Faults found by the checks at start and behind it.", len(self._check.faults)),
            gauge("feltd_queue_high_water", "The most items that waited for the core.", self._inbox.most),
            counter("feltd_queue_coalesced_total", "Inventories that a newer one overtook.", self._inbox.coalesced),
            gauge("feltd_incidents_open", "Incidents that wait for a person.", seen.incidents),
            gauge("feltd_threads_stuck", "Threads that make no progress.", len(seen.stuck)),
            *self._of_devices(),
        ]
        if self._capturing.asked:
            running = self._capturing.running
            families.append(gauge("feltd_capture_running", "1 while what passes is written to the capture.", running))
        if self._pump:
            families += self._of_broker(self._pump)
        return exposition(families)

    def _of_broker(self, pump: Pump) -> list[Family]:
        counts = pump.counters
        return [
            gauge("feltd_broker_connected", "1 while events reach the broker.", pump.connected),
            counter("feltd_broker_connections_total", "Connections to the broker.", counts.connections),
            counter("feltd_broker_losses_total", "Connections that failed or ended.", counts.losses),
            counter("feltd_events_withheld_total", "Events that the broker refused.", counts.withheld),
            gauge("feltd_streams_barred", "Streams that the broker takes nothing of.", len(counts.barred)),
            counter("feltd_replays_total", "Replays that were served.", counts.replays),
            counter("feltd_requests_refused_total", "Requests that were not served.", counts.requests_refused),
            counter("feltd_listens_refused_total", "Times the broker did not let us listen.", counts.unheard),
            gauge("feltd_broker_deaf", "1 while the broker does not let us listen.", bool(counts.deaf)),
            gauge("feltd_name_shared", "1 while another speaks under our name.", counts.others.there(time.monotonic())),
            counter("feltd_name_conflicts_total", "Times another was seen under our name.", counts.conflicts),
            histogram(
                "feltd_ack_seconds",
                "How long the broker took to acknowledge an event.",
                BOUNDS,
                list(counts.ack_buckets),
                counts.ack_sum_s,
            ),
        ]

    def _of_devices(self) -> list[Family]:
        up: list[tuple[str, Labels, float]] = []
        bad: list[tuple[str, Labels, float]] = []
        lost: list[tuple[str, Labels, float]] = []
        for name, supervisor in self._supervisors.items():
            counts = supervisor.counts()
            up.append(("", {"device": name}, supervisor.up()))
            bad += [("", {"device": name, "cause": cause}, counts.get(cause, 0)) for cause in BAD]
            lost.append(("", {"device": name}, counts["losses"]))
        return [
            Family("feltd_device_up", "gauge", "1 while the device answers.", tuple(up)),
            Family("feltd_frames_bad_total", "counter", "What was not good on a device's link.", tuple(bad)),
            Family("feltd_device_losses_total", "counter", "Times a device was lost.", tuple(lost)),
        ]


def _name(counts: Counters, now: float) -> str:
    """Who else has our name, or may have: not each broker says why it leaves us."""
    return ANOTHER if counts.others.there(now) else TORN if counts.torn(now) else ""


def _barred(streams: Mapping[str, str]) -> str:
    """The streams that wait while the others go on."""
    told = ", ".join(f"{stream} ({cause})" for stream, cause in sorted(streams.items()))
    remedy = "give the table the right to write all topics of it; tried again every few minutes, and at a restart"
    return f"the broker takes nothing of {told}: {remedy}" if told else ""


def _withheld(counts: Counters) -> str:
    """What the broker refuses: a wrong right there, as a rule."""
    if time.monotonic() - counts.withheld_at > REFUSED_S:
        return ""
    remedy = "give the table the right to write it; whoever lacks them asks for a replay"
    return f"{counts.withheld} events were refused by the broker, the last {counts.withheld_last}: {remedy}"
