"""One table's process: opens the ledger, starts the threads, says READY, and ends in order.

What ends it: SIGTERM or SIGINT, or a ledger that cannot be written. A device, a broker or a person never does.
"""

import faulthandler
import resource
import signal
import sqlite3
import threading
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as Waited
from contextlib import ExitStack
from functools import partial
from types import FrameType
from typing import Any

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from controller import boot, firsts
from controller.access import MOST_NAMES, Access
from controller.capture import starting
from controller.capture.starting import CaptureTo, Capturing
from controller.commands import CommandSocket, Desk
from controller.configuration.settings import BrokerSettings, DeviceSettings, Settings
from controller.contract.envelope import time_text
from controller.contract.following import Fault, Report
from controller.contract.state import description_body
from controller.contract.topics import Source, Topics
from controller.core import image
from controller.core.inputs import Notice
from controller.corethread import CoreThread
from controller.delivery.mqtt import MqttPublisher, MqttSettings, broker_address
from controller.delivery.pump import Pump
from controller.errors import FeltError
from controller.health import Health
from controller.inbox import Ask, Inbox
from controller.ledger import files, restoring
from controller.ledger.errors import LedgerError
from controller.ledger.keys import Keys
from controller.ledger.store import Ledger
from controller.ledgercare import BackgroundCheck, FillWatch, PlaceWatch, fault_data
from controller.runtime import crash, sweeping
from controller.runtime.clock import Clock, StepWatch, SuspendWatch, synchronized
from controller.runtime.metrics import MetricsServer
from controller.runtime.notify import Notifier
from controller.showing import Looked, Showing
from drivers.supervisor import Supervisor
from drivers.veil import Veil

LOOK_S = 1.0
"""How often the main thread looks after the others."""
STUCK_S = 15.0
"""A thread that has not moved for so long is stuck. Longer than a connection attempt of the pump."""
DRAIN_S = 10.0
"""How long an orderly end waits for the core thread."""
FLUSH_S = 5.0
"""How long an orderly end waits for the broker. What is left is delivered after the next start."""
ARCHIVE_S = 60.0
"""How often a closed table is asked whether its ledger is to be archived."""
NOTICES = frozenset({"link.lost", "link.restored", "ledger.fault"})
"""What the pump tells that becomes a record; the rest is for the log."""

log = structlog.get_logger()


class Daemon:
    """One table from start to end. ``speed`` scales time for sensing and drivers: test mode only."""

    def __init__(self, settings: Settings, speed: float = 1.0, capture: CaptureTo | None = None) -> None:
        self._settings = settings
        self._capture = capture
        self._capturing = Capturing()
        self._clock = Clock(speed)
        self._inbox = Inbox()
        self._notifier = Notifier()
        self._stopping = threading.Event()
        self._signal = ""
        self._auditor: str | None = None
        self._source = Source(settings.setup.site, settings.setup.table)
        paths = settings.ledger
        self._retention = files.Retention(paths.limit_mb, paths.archive_mb, paths.archive_days)
        self._pump: Pump | None = None
        self.again = False
        """The ledger is to be archived: the table starts anew, and does so at its start."""
        self._supervisors: dict[str, Supervisor] = {}
        self._faults: tuple[Fault, ...] = ()

    def run(self) -> int:
        """Run until told to stop. 0 after an orderly end, 1 when the table could not go on.

        Raises ``FeltError`` where it cannot start.
        """
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold closed cards
        crash.install()
        faulthandler.enable()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        with ExitStack() as at_end:
            # One daemon a table, whichever its ledger.
            at_end.callback(firsts.only_one(self._settings.socket.path).release)
            ledger = self._open_ledger()
            at_end.callback(ledger.close)
            if self._capture:
                held = (ledger.id, ledger.row)
                self._capturing = starting.begin(self._capture, self._settings, held, self._clock)
                at_end.callback(self._capturing.close)
            core = CoreThread(
                self._settings.setup,
                ledger,
                self._clock,
                self._inbox,
                ended=self._stopping.set,
                seed=self._settings.seed,
                listener=self._capturing.recorder,
            )
            staff = self._recover(core, ledger)
            self._showing = Showing(ledger)
            sequences, serials = core.last_cards(), core.serials()
            veils = boot.veils(self._settings.setup)
            self._supervisors = {
                d.name: self._supervisor(d, sequences, serials, veils.get(d.name)) for d in self._settings.devices
            }
            if self._settings.broker:
                self._pump = self._make_pump(self._settings.broker, ledger)
            self._place = PlaceWatch(ledger.lock)
            fill = FillWatch(ledger.path, self._retention, was_full=core.storage_full())
            check = BackgroundCheck(ledger.path, self._public_keys(ledger), self._checked, at_start=self._faults)
            health = Health(ledger.path, self._inbox, self._supervisors, self._pump, fill, check, self._capturing)
            at_end.callback(health.close)
            metrics = self._metrics(health, at_end)
            access = self._access(ledger)
            final = partial(firsts.final, ledger.path)
            desk = Desk(self._settings.socket, self._inbox, staff, health.report, access, final)
            commands = CommandSocket(self._settings.socket, desk.answer)
            sweeping.settle()
            core.start(
                {name: supervisor.acknowledge for name, supervisor in self._supervisors.items()},
                {name: self._supervisors[name].lift for name in veils},
                self._pump,
            )
            for supervisor in self._supervisors.values():
                supervisor.start()
            if self._pump:
                self._pump.start()
            commands.start()
            check.start()
            at_end.callback(check.stop)
            self._ready(metrics)
            self._look_after(core, health, fill)
            return self._end(core, commands)

    def _open_ledger(self) -> Ledger:
        paths, test = self._settings.ledger, self._settings.setup.test
        keys = Keys.load(
            device=paths.device_key,
            auditor=paths.auditor_public_key,
            signing=paths.signing_key,
            signing_before=paths.signing_key_before,
            create=test,
            test=test,
        )
        self._auditor = keys.auditor_id
        return Ledger.open(
            paths.file,
            source=self._source,
            test=test,
            keys=keys,
            retention=self._retention,
            new_id=boot.test_ledger_id(self._settings),
        )

    def _recover(self, core: CoreThread, ledger: Ledger) -> dict[str, str]:
        """Rebuild the table and say what happened. Returns who is logged in."""
        kept = ledger.beginning(image.form(self._settings.setup))
        records = list(kept.records)
        core.restore(records, kept.image)
        if core.is_open() and kept.opened is not None:
            boot.same_rules(self._settings, kept.opened)
        before = boot.Before.read(records, ledger.last_said(64))
        said = boot.notices(self._settings, before, self._clock.wall(), self._auditor)
        self._faults = faults = ledger.check_tail()
        if faults:
            log.error("the end of the ledger is not what was written", faults=len(faults), first=str(faults[0]))
            said.append(Notice("ledger.fault", fault_data(faults)))
        core.begin(said)
        return core.staff()

    def _supervisor(
        self,
        device: DeviceSettings,
        last_cards: Mapping[str, int],
        serials: Mapping[str, str],
        veil: Veil | None,
    ) -> Supervisor:
        return Supervisor(
            device.name,
            device.uri,
            device.driver,
            emit=self._inbox.offer,
            clock=self._clock.now,
            expect=device.expect,
            options=boot.device_options(
                device.driver, device.options, last_cards.get(device.name), serials.get(device.name)
            ),
            test_mode=self._settings.setup.test,
            speed=self._clock.speed,
            tap=self._capturing.recorder,
            veil=veil,
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
                server_name=broker.server_name,
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
            grants=broker.readers,
        )

    def _public_keys(self, ledger: Ledger) -> list[Ed25519PublicKey]:
        return [ledger.public_key] if ledger.public_key is not None else []

    def _checked(self, report: Report) -> None:
        """The background check has ended; called from its thread."""
        if report.faults:
            self._tell(Notice("ledger.fault", fault_data(report.faults)))

    def _metrics(self, health: Health, at_end: ExitStack) -> int | None:
        if self._settings.metrics_port is None:
            return None
        server = MetricsServer(self._settings.metrics_port, health.metrics)
        at_end.callback(server.stop)
        server.start()
        return server.port

    def _from_pump(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind not in NOTICES:
            log.error("delivery", kind=kind, **data)
        else:
            self._tell(Notice(kind, data))

    def _tell(self, notice: Notice) -> None:
        """The shell's news for the core. The reserve of the queue is theirs: it is lost only when all is lost."""
        if not self._inbox.post(notice, timeout_s=0):
            log.error("queue full, a notice was lost", kind=notice.kind)

    def _access(self, ledger: Ledger) -> Access | None:
        """Who may log in. Whoever was locked out when the run before ended still is."""
        if self._settings.staff_file is None:
            return None
        access = Access(self._settings.staff_file, self._login_failed)
        access.recall(restoring.logins(ledger.path, MOST_NAMES), self._clock.wall())
        return access

    def _login_failed(self, data: Mapping[str, Any]) -> None:
        """Somebody could not prove who they are; called from the thread of that client."""
        log.warning("log-in refused", result=data["result"], place=data["place"])
        if not self._inbox.post(Notice("staff.login", data), timeout_s=5):
            log.error("queue full, a refused log-in was not recorded")

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self._signal = signal.Signals(number).name
        self._stopping.set()

    def _ready(self, metrics: int | None) -> None:
        self._notifier.send("READY=1", f"STATUS=table {self._settings.setup.table}")
        log.info(
            "ready",
            table=self._settings.setup.table,
            after_ms=boot.since_start_ms(),
            memory_mb=boot.memory_mb(),
            devices=len(self._supervisors),
            test=self._settings.setup.test,
            metrics=metrics,
        )

    def _look_after(self, core: CoreThread, health: Health, fill: FillWatch) -> None:
        """Until the end: watch the clocks and the ledger, and feed the watchdog while every thread moves."""
        steps, sleep = StepWatch(), SuspendWatch()
        moved: dict[str, tuple[int, float]] = {}
        stuck: list[str] = []
        archive_at = time.monotonic() + ARCHIVE_S
        while True:
            health.look(stuck, self._picture)
            self._watch_file(fill, health)
            if self._stopping.wait(LOOK_S):
                return
            if step := steps.look():
                data = {"before": time_text(step.before), "after": time_text(step.after), "step_ms": step.step_ms}
                self._tell(Notice("clock.stepped", data | {"synced": synchronized()}))
            if slept := sleep.look():
                told = {"gap_ms": slept, **boot.differences(self._settings.setup), "confirmed_by": []}
                told["cause"] = "suspended"
                self._tell(Notice("recovery.completed", told))
            now = time.monotonic()
            if now >= archive_at:
                archive_at = now + ARCHIVE_S
                self._archive_if_due(health)
            if self._pump:
                self._pump.revive()
            for name, count in self._progress(core).items():
                if name not in moved or moved[name][0] != count:
                    moved[name] = (count, now)
            stuck = [name for name, (_, at) in moved.items() if now - at > STUCK_S]
            if not stuck:
                self._notifier.send("WATCHDOG=1")
            elif all(now - moved[name][1] < STUCK_S + 2 * LOOK_S for name in stuck):
                log.error("no progress: the watchdog is not fed any more", threads=stuck)

    def _picture(self) -> tuple[int, str | None] | None:
        """Open incidents and session, from the core; ``None`` when it is busy or ending. A new snapshot goes out."""
        ask = Ask(self._showing.look)
        if not self._inbox.post(ask, timeout_s=0):
            return None
        try:
            looked: Looked = ask.answer.result(LOOK_S)
        except (Waited, CancelledError):
            return None
        if self._pump and looked.shown is not None:
            self._pump.show(*looked.shown)
        return looked.incidents, looked.session

    def _watch_file(self, fill: FillWatch, health: Health) -> None:
        if moved := self._place.look():
            log.error("the ledger's file was moved away", file=str(self._settings.ledger.file))
            self._tell(Notice("ledger.fault", moved))
        try:
            if told := fill.look(health.oldest):
                log.warning("ledger filling", used=told["used"], limit=told["limit"], full=told["new_hands_refused"])
                self._tell(Notice("ledger.filling", told))
        except LedgerError as error:
            log.warning("the ledger cannot be measured", error=str(error))

    def _archive_if_due(self, health: Health) -> None:
        """End and begin again where the ledger is old or large, the table closed and everything sent."""
        if health.seen.session is not None or health.seen.unsent:
            return
        try:
            due = files.is_due_now(self._settings.ledger.file, self._retention, self._clock.wall())
        except (LedgerError, sqlite3.Error) as error:
            log.warning("the ledger cannot be read", error=str(error))
            return
        if due:
            log.info("the ledger is archived, the table starts anew")
            self.again, self._signal = True, "archive"
            self._stopping.set()

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
        if self._settings.setup.test:
            self._tell(boot.test_mode("test.left"))
        ended = core.stop(self._signal or "failure", DRAIN_S)
        if self._pump:
            self._pump.stop(FLUSH_S)
        failure: FeltError | None = core.failure
        if failure is not None or not ended or not self._signal:
            log.critical("ended without order", error=str(failure) if failure else "the core thread died")
            return 1
        log.info("stopped", signal=self._signal)
        return 0
