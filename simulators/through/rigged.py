"""Rehearsal on a rig: the daemon under test runs already or is the rig's, the devices stand where ``rig.toml`` says."""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.client import NotReachable
from controller.contract.topics import Source, Topics
from simulators import brokerat
from simulators import reach as reaches
from simulators import rig as rigs
from simulators.disk import Disk
from simulators.errors import ProductFailure, RigError
from simulators.gathering import Gathering
from simulators.gestures import FILLER
from simulators.plan import Plan
from simulators.process import DaemonProcess, feltd
from simulators.reach import Reach
from simulators.relays import Relays
from simulators.rig import Rig
from simulators.rigs import Host
from simulators.scripts.acts import Power
from simulators.subscriber import Subscriber
from simulators.through.moments import Moment
from simulators.through.stage import NotRunnable
from simulators.through.wires import DELIVERED_S, WiresStage
from simulators.unit import UnitDaemon

UP_S = 90.0
BOOT_S = 180.0
"""A machine may take so long from power to a daemon whose devices are up."""


class Reached(DaemonProcess):
    """A daemon that the rig did not start: it is asked, and neither started nor stopped."""

    @property
    def running(self) -> bool:
        """It was found running."""
        return True

    def start(self) -> None:
        """It runs."""

    def stop(self) -> int:
        """It goes on running."""
        return 0

    def kill(self) -> None:
        """Raises ``RigError``: what the rig did not start it does not kill."""
        raise RigError("daemon.kill: this daemon was not started by the rig; set dut.start")

    def last_words(self) -> str:
        """Its log is not the rig's."""
        return "its log is where its service manager keeps it"


@dataclass(frozen=True, slots=True)
class Bench:
    """What stands on a rig: its simulated devices (``None``: they are real), and the way to the daemon's machine."""

    host: Host | None
    reach: Reach
    relays: Relays | None = None
    matrix: Relays | None = None
    """What couples antennas of real readers."""


@contextmanager
def on_the_bench(rig: Rig, folder: Path) -> Iterator[tuple[Bench, dict[str, str]]]:
    """The rig's devices, plugged in, after the preflight; and what that found. Raises ``RigError``."""
    with ExitStack() as opened:
        reach = opened.enter_context(closing(reaches.of(rig.reach, folder, rig.ssh_config)))
        relays = opened.enter_context(closing(Relays(rig.board, rig.power))) if rig.board else None
        matrix = Relays(rig.matrix_board, rig.matrix, "matrix") if rig.matrix else None
        if matrix is not None:
            opened.callback(matrix.close)
        found = rigs.preflight(rig, folder, reach, running=not rig.start)
        host = None
        if rig.kind == "wire":
            host = opened.enter_context(Host(rig.devices, folder / "devices.sock", usbip=rig.usbip))
            found |= rigs.latency(host, [device["name"] for device in rig.devices])
        if not rig.start:
            _all_up(rig, reach)
            found |= rigs.identified(rig, reach)
        yield Bench(host, reach, relays, matrix), found


def _all_up(rig: Rig, reach: Reach) -> None:
    dut, deadline = rig.dut, time.monotonic() + UP_S
    while dark := rigs.all_up(dut, reach.socket(dut.socket)):
        if time.monotonic() > deadline:
            raise RigError(f"the daemon under test does not see {', '.join(dark)}: look at ports and cables")
        time.sleep(0.1)


class RigStage(WiresStage):
    """A table of a rig. The scenario's stakes, seats and people are told to it by commands, as on any table."""

    def __init__(self, plan: Plan, folder: Path, rig: Rig, bench: Bench) -> None:
        """Raises ``NotRunnable`` for a scenario of other house rules than the table has."""
        self._rig = rig
        self._bench = bench
        self._dut = rig.dut
        if plan.profile != self._dut.profile:
            raise NotRunnable(f"needs profile {plan.profile}, the table under test has {self._dut.profile}")
        super().__init__(plan, folder, 1, self._dut.ledger)

    def _own_disk(self, folder: Path) -> Disk:
        del folder
        if self._rig.disk is None:
            raise NotRunnable("disk.fill: this rig has no disk of its own for it; see dut.disk of its file")
        return Disk(self._rig.disk, self._bench.reach)

    def _row(self) -> int:
        return reaches.last_row(self._bench.reach, self.ledger)

    def _written(self) -> list[bytes]:
        return reaches.bodies_after(self._bench.reach, self.ledger, self._before)

    def _verified(self) -> subprocess.CompletedProcess[str]:
        if self._rig.remote:
            return self._bench.reach.run(self._rig.feltd, "verify", str(self.ledger))
        return feltd("verify", str(self.ledger))

    def _begin(self, plan: Plan) -> None:
        topics = Topics(Source(self._dut.site, self._dut.table), self._dut.test)
        self._subscriber = Subscriber(self._rig.broker, topics.base)
        self._open.append(self._subscriber.close)
        if self._bench.host is not None:
            self._host = self._bench.host
        self._furnish(plan)
        self.capture = self._folder / "capture.pcapng"
        self._daemon = self._made()
        self._logged = self._daemon.log.stat().st_size if self._daemon.log.exists() else 0
        self._open.append(self._daemon.stop)
        if self._rig.start.startswith("systemd:"):
            self._daemon.start()  # its socket is there from then on
        self._daemon.socket = self._bench.reach.socket(self._dut.socket)
        self._start_daemon()
        rigs.identified(self._rig, self._bench.reach)
        for order in plan.opening():
            self.perform(order)

    def _furnish(self, plan: Plan) -> None:
        """A full shoe, and in the fields of antennas what this case begins with: an earlier one has left its own."""
        if "shoe0" in self._layout.names():
            self._host.do("load", "shoe0", cards=list(FILLER))
        for place, (reader, channel) in self._layout.watched.items() if plan.kind == "rfid" else ():
            if reader != "shoe0":
                left = self._host.do("state", reader, channel=channel)["tags"]
                self._host.do("take", reader, tags=left, channel=channel)
                self._host.do("put", reader, tags=list(plan.tokens.at(place)), channel=channel)

    def moment(self, what: Moment) -> None:
        """As over wires; the power is cut by relays. Raises ``NotRunnable`` where this rig has none for it."""
        if not isinstance(what, Power):
            super().moment(what)
            return
        relays = self._bench.relays
        if relays is None or what.name not in self._rig.power:
            raise NotRunnable(f"power of {what.name}: this rig has no relay for it; see [power] of its file")
        relays.switch(what.name, on=what.on)
        if what.name == "dut" and what.on:
            self._back()

    def _back(self) -> None:
        """The machine under test has power again: wait until its daemon answers and calls its devices up."""
        reach, deadline = self._bench.reach, time.monotonic() + BOOT_S
        reach.close()  # what carried the socket is gone
        while True:
            try:
                self._daemon.socket = reach.socket(self._dut.socket)
                if not rigs.all_up(self._dut, self._daemon.socket):
                    return
                told = "devices are not up"
            except (RigError, NotReachable) as error:
                told = str(error)
                reach.close()
            if time.monotonic() > deadline:
                raise ProductFailure(f"after its power came back the daemon is not there: {told}")
            time.sleep(1)

    def _made(self) -> DaemonProcess:
        start = self._rig.start
        if start.startswith("systemd:"):
            return UnitDaemon(self._rig.config, start.removeprefix("systemd:"), self._bench.reach)
        return (DaemonProcess if start else Reached)(self._rig.config, 1, self.capture)

    def pages(self, *, last: bool) -> Mapping[str, Any]:
        """At the end only: the way to another machine takes its time, and acts are not to be late for it."""
        if not last or not self._daemon.running:
            return {}
        told: dict[str, Any] = {"status": self._daemon.ask("status")}
        if self._dut.metrics:
            told["metrics"] = reaches.numbers(self._bench.reach, self._dut.metrics)
        return told

    def fault(self) -> str:
        """See ``OnARig``: its broker, which no scenario may stop here."""
        at = self._rig.broker
        return f"the rig's own broker {at} hung up" if self._subscriber.lost else brokerat.unreachable(at)

    def gather(self, folder: Path) -> list[str]:
        """See ``Gathers``."""
        return Gathering(self._rig, self._bench.reach, folder).all(self._daemon, self._logged)

    def end(self) -> list[str]:
        """Wait until all that this case led to is delivered, and prove it; a daemon that the rig started is ended."""
        lines = super().end() if self._rig.start else self._delivered()
        signers = {event.data["key"] for event in self.seen if event.type == "ledger.signed"}
        others = signers - {self._rig.key} if self._rig.key else ()
        return lines + [f"dut.key: events are signed with the key {key}, not with the rig's" for key in others]

    def _delivered(self) -> list[str]:
        """Of a daemon that goes on running."""
        written = self._written()
        if not self._subscriber.until(lambda: len(self._subscriber.seen) >= len(written), DELIVERED_S):
            return [f"{len(written)} events are in the ledger, {len(self._subscriber.seen)} were delivered"]
        verified = self._verified()
        return [] if verified.returncode == 0 else [f"feltd verify: {verified.stdout}{verified.stderr}".strip()]
