"""One table's process: opens the ledger, starts the threads, says READY, and ends in order.

What ends it: SIGTERM or SIGINT, or a ledger that cannot be written. A device, a broker or a person never does.
"""

import faulthandler
import resource
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from types import FrameType
from typing import Any

import structlog

from controller import boot
from controller.commands import CommandSocket, Desk, follow_staff
from controller.contract.envelope import time_text
from controller.contract.state import description_body
from controller.contract.topics import Source, Topics
from controller.core.inputs import Notice
from controller.corethread import CoreThread
from controller.delivery.mqtt import MqttPublisher, MqttSettings, broker_address
from controller.delivery.pump import Pump
from controller.errors import FeltError
from controller.inbox import Inbox
from controller.ledger.keys import Keys
from controller.ledger.store import Ledger
from controller.runtime.clock import Clock, StepWatch, synchronized
from controller.runtime.notify import Notifier
from controller.settings import BrokerSettings, DeviceSettings, Settings
from drivers.supervisor import Supervisor

LOOK_S = 1.0
"""How often the main thread looks after the others."""
STUCK_S = 15.0
"""A thread that has not moved for so long is stuck. Longer than a connection attempt of the pump."""
DRAIN_S = 10.0
"""How long an orderly end waits for the core thread."""
FLUSH_S = 5.0
"""How long an orderly end waits for the broker. What is left is delivered after the next start."""
NOTICES = frozenset({"link.lost", "link.restored"})
"""What the pump tells that becomes a record; the rest is for the log."""

log = structlog.get_logger()


class Daemon:
    """One table from start to end. ``speed`` scales time for sensing and drivers: test mode only."""

    def __init__(self, settings: Settings, speed: float = 1.0) -> None:
        self._settings = settings
        self._clock = Clock(speed)
        self._inbox = Inbox()
        self._notifier = Notifier()
        self._stopping = threading.Event()
        self._signal = ""
        self._source = Source(settings.setup.site, settings.setup.table)
        self._pump: Pump | None = None
        self._supervisors: dict[str, Supervisor] = {}

    def run(self) -> int:
        """Run until told to stop. 0 after an orderly end, 1 when the table could not go on.

        Raises ``FeltError`` where it cannot start.
        """
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold closed cards
        faulthandler.enable()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        with ExitStack() as at_end:
            ledger = self._open_ledger()
            at_end.callback(ledger.close)
            core = CoreThread(
                self._settings.setup,
                ledger,
                self._clock,
                self._inbox,
                wake=self._wake_pump,
                ended=self._stopping.set,
                seed=self._settings.seed,
            )
            staff = self._recover(core, ledger)
            sequences = core.last_cards()
            self._supervisors = {d.name: self._supervisor(d, sequences) for d in self._settings.devices}
            if self._settings.broker:
                self._pump = self._make_pump(self._settings.broker, ledger)
            commands = CommandSocket(self._settings.socket, Desk(self._settings.socket, self._inbox, staff).answer)
            core.start({name: supervisor.acknowledge for name, supervisor in self._supervisors.items()})
            for supervisor in self._supervisors.values():
                supervisor.start()
            if self._pump:
                self._pump.start()
            commands.start()
            self._ready()
            self._look_after(core)
            return self._end(core, commands)

    def _open_ledger(self) -> Ledger:
        files, test = self._settings.ledger, self._settings.setup.test
        keys = Keys.load(
            device=files.device_key, auditor=files.auditor_public_key, signing=files.signing_key, create=test
        )
        return Ledger.open(
            files.file, source=self._source, test=test, keys=keys, new_id=boot.test_ledger_id(self._settings)
        )

    def _recover(self, core: CoreThread, ledger: Ledger) -> dict[str, str]:
        """Rebuild the table and say what happened. Returns who is logged in."""
        records = list(ledger.restore_rows())
        before = boot.Before.read(records, ledger.tail(64))
        core.restore(records)
        core.begin(boot.notices(self._settings, before, self._clock.wall()))
        staff: dict[str, str] = {}
        for record in records:
            follow_staff(staff, record)
        return staff

    def _supervisor(self, device: DeviceSettings, last_cards: Mapping[str, int]) -> Supervisor:
        options = dict(device.options)
        if device.driver == "shoe" and device.name in last_cards:
            # Cards up to here are on record: the shoe may have missed our last acknowledgement.
            options["committed"] = last_cards[device.name]
        return Supervisor(
            device.name,
            device.uri,
            device.driver,
            emit=self._inbox.offer,
            clock=self._clock.now,
            expect=device.expect,
            options=options,
            test_mode=self._settings.setup.test,
            speed=self._clock.speed,
        )

    def _make_pump(self, broker: BrokerSettings, ledger: Ledger) -> Pump:
        setup = self._settings.setup
        host, port, tls = broker_address(broker.uri)
        publisher = MqttPublisher(
            MqttSettings(
                host=host,
                port=port,
                client_id=broker.client_id or f"felt-{setup.site}-{setup.table}",
                version=broker.version,
                tls=tls,
                username=broker.username,
                password=broker.password,
                ca=broker.ca,
                certificate=broker.certificate,
                key=broker.key,
            )
        )
        return Pump(
            ledger.path,
            Topics(self._source, setup.test),
            publisher,
            notify=self._from_pump,
            description=description_body(self._source, ledger.id, test=setup.test, software=setup.software["version"]),
        )

    def _from_pump(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind not in NOTICES:
            log.error("delivery", kind=kind, **data)
        elif not self._inbox.post(Notice(kind, data), timeout_s=0):
            log.error("queue full, a notice of the link was lost", kind=kind)

    def _wake_pump(self) -> None:
        if self._pump:
            self._pump.wake()

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self._signal = signal.Signals(number).name
        self._stopping.set()

    def _ready(self) -> None:
        self._notifier.send("READY=1", f"STATUS=table {self._settings.setup.table}")
        log.info(
            "ready",
            table=self._settings.setup.table,
            after_ms=boot.since_start_ms(),
            memory_mb=boot.memory_mb(),
            devices=len(self._supervisors),
            test=self._settings.setup.test,
        )

    def _look_after(self, core: CoreThread) -> None:
        """Until the end: watch the wall clock, and feed the watchdog while every thread moves."""
        steps = StepWatch()
        moved: dict[str, tuple[int, float]] = {}
        while not self._stopping.wait(LOOK_S):
            if step := steps.look():
                data = {"before": time_text(step.before), "after": time_text(step.after), "step_ms": step.step_ms}
                if not self._inbox.post(Notice("clock.stepped", data | {"synced": synchronized()}), timeout_s=LOOK_S):
                    log.error("queue full, a step of the clock was not recorded", step_ms=step.step_ms)
            now = time.monotonic()
            for name, count in self._progress(core).items():
                if name not in moved or moved[name][0] != count:
                    moved[name] = (count, now)
            stuck = [name for name, (_, at) in moved.items() if now - at > STUCK_S]
            if not stuck:
                self._notifier.send("WATCHDOG=1")
            elif all(now - moved[name][1] < STUCK_S + 2 * LOOK_S for name in stuck):
                log.error("no progress: the watchdog is not fed any more", threads=stuck)

    def _progress(self, core: CoreThread) -> dict[str, int]:
        moved = {name: supervisor.progress() for name, supervisor in self._supervisors.items()}
        if self._pump:
            moved["pump"] = self._pump.progress()
        return moved | {"core": core.progress}

    def _end(self, core: CoreThread, commands: CommandSocket) -> int:
        """Stop the devices, work off the queue, say so, deliver what can be delivered."""
        self._notifier.send("STOPPING=1")
        commands.stop()
        for name, supervisor in self._supervisors.items():
            if not supervisor.stop():
                log.error("device thread did not end", device=name)
        ended = core.stop(self._signal or "failure", DRAIN_S)
        if self._pump:
            self._pump.stop(FLUSH_S)
        failure: FeltError | None = core.failure
        if failure is not None or not ended or not self._signal:
            log.critical("ended without order", error=str(failure) if failure else "the core thread died")
            return 1
        log.info("stopped", signal=self._signal)
        return 0
