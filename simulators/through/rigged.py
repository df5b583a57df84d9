"""Rehearsal on a rig: the daemon under test runs already or is the rig's, the devices stand where ``rig.toml`` says."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.contract.topics import Source, Topics
from simulators import rig as rigs
from simulators.errors import RigError
from simulators.gestures import FILLER
from simulators.plan import Plan
from simulators.process import DaemonProcess, feltd
from simulators.rig import Rig
from simulators.rigs import Host
from simulators.subscriber import Subscriber
from simulators.through.stage import NotRunnable
from simulators.through.wires import DELIVERED_S, WiresStage

UP_S = 60.0


class Reached(DaemonProcess):
    """A daemon that the rig did not start: it is asked, and neither started nor stopped."""

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


@contextmanager
def on_the_bench(rig: Rig, folder: Path) -> Iterator[tuple[Host, dict[str, str]]]:
    """The rig's devices, plugged in, after the preflight; and what that found. Raises ``RigError``."""
    found = rigs.preflight(rig, folder, running=not rig.start)
    with Host(rig.devices, folder / "devices.sock", usbip=rig.usbip) as bench:
        if not rig.start:
            deadline = time.monotonic() + UP_S
            while dark := rigs.all_up(rig.settings):
                if time.monotonic() > deadline:
                    raise RigError(f"the daemon under test does not see {', '.join(dark)}: look at ports and cables")
                time.sleep(0.1)
        yield bench, found


class RigStage(WiresStage):
    """A table of a rig. The scenario's stakes, seats and people are told to it by commands, as on any table."""

    def __init__(self, plan: Plan, folder: Path, rig: Rig, bench: Host) -> None:
        """Raises ``NotRunnable`` for a scenario of other house rules than the table has."""
        self._rig = rig
        self._bench = bench
        self._settings = rig.settings
        if plan.profile != self._settings.setup.profile.name:
            raise NotRunnable(
                f"needs profile {plan.profile}, the table under test has {self._settings.setup.profile.name}"
            )
        super().__init__(plan, folder, 1, self._settings.ledger.file)

    def _begin(self, plan: Plan) -> None:
        setup = self._settings.setup
        topics = Topics(Source(setup.site, setup.table), setup.test)
        self._subscriber = Subscriber(self._rig.broker, topics.base)
        self._open.append(self._subscriber.close)
        self._host = self._bench
        if "shoe0" in self._layout.names():
            self._host.do("load", "shoe0", cards=list(FILLER))
        self.capture = self._folder / "capture.pcapng"
        made = DaemonProcess if self._rig.start else Reached
        self._daemon = made(self._rig.config, 1, self.capture)
        self._daemon.socket = self._settings.socket.path
        self._open.append(self._daemon.stop)
        self._start_daemon()
        for order in plan.opening():
            self.perform(order)

    def end(self) -> list[str]:
        """Wait until all that this case led to is delivered, and prove it; a daemon that the rig started is ended."""
        if self._rig.start:
            return super().end()
        written = self._written()
        if not self._subscriber.until(lambda: len(self._subscriber.seen) >= len(written), DELIVERED_S):
            return [f"{len(written)} events are in the ledger, {len(self._subscriber.seen)} were delivered"]
        verified = feltd("verify", str(self.ledger))
        return [] if verified.returncode == 0 else [f"feltd verify: {verified.stdout}{verified.stderr}".strip()]
