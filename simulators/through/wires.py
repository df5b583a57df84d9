"""Rehearsal over wires: device processes, the real daemon, a real broker. Time is real, or scaled."""

import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from controller.contract.topics import Source, Topics
from simulators import config
from simulators.broker import AmqttBroker, Broker, MosquittoBroker, free_port, mosquitto_program
from simulators.dealer import CardSlides, Deed, Drawn, KeyDown, KeyUp, Lay, Lift, Turn
from simulators.dealer_rfid import AntennaDealer
from simulators.disk import Disk
from simulators.errors import ProductFailure
from simulators.eye import Eye
from simulators.gestures import FILLER
from simulators.host import PRODUCTS
from simulators.layout import Device, Layout
from simulators.plan import SITE, TABLE, Plan
from simulators.process import DaemonProcess, feltd
from simulators.rigs import Host
from simulators.scripts.acts import Act, DeviceAct, Order, Pause, Power, Rule, SystemAct
from simulators.seen import Seen
from simulators.subscriber import Subscriber
from simulators.through import moments
from simulators.through.lost import Performed
from simulators.through.moments import Moment, Then
from simulators.through.stage import NotRunnable, command_of, without_switches
from simulators.tokens import Tokens

DEVICES_S = 15.0
DELIVERED_S = 20.0
PAGE_S = 5.0
HAND_OVER_S = 0.15
"""From a key to the next card a dealer's hand needs at least this long, however fast the table's time runs."""
PERSISTENT = """\
listener {{port}} {{host}}
allow_anonymous true
persistence true
persistence_location {folder}/
max_queued_messages 0
set_tcp_nodelay true
user root
log_type error
log_type warning
"""
"""The rig's own subscription must outlive a restart of the broker, or the rig would miss what it is to check."""


class WiresStage:
    """A table on wires. ``speed`` is how many times faster than real its time runs."""

    def __init__(self, plan: Plan, folder: Path, speed: int = 1, ledger: Path | None = None) -> None:
        self.plan = plan
        self._disk = self._own_disk(folder) if plan.disk else None
        self.ledger = ledger or (self._disk.folder if self._disk else folder) / "ledger"
        self._before = self._row()
        self.whole = self._before == 0
        self._folder = folder
        self._speed = speed
        self._dealer = plan.dealer()
        self._layout = plan.layout
        self._eye = Eye(self._layout, plan.deck)
        self._last_key = 0.0
        self._hand = Performed()
        self._open: list[Callable[[], Any]] = [self._disk.close] if self._disk else []
        self._broker = broker_for(folder)
        with ExitStack() as undo:
            undo.callback(self.close)
            self._begin(plan)
            undo.pop_all()

    def _own_disk(self, folder: Path) -> Disk:
        """The disk that is filled: one of this run alone."""
        return Disk.mounted(folder / "disk")

    def _begin(self, plan: Plan) -> None:
        self._broker.start()
        self._open.append(self._broker.stop)
        self._subscriber = Subscriber(self._broker.port, Topics(Source(SITE, TABLE), test=True).base)
        self._open.append(self._subscriber.close)
        earlier = 0 if self.whole else starts(self.ledger)
        names = self._layout.names()
        specs = devices(self._layout, self._folder, earlier)
        self._host = Host(specs, self._folder / "devices.sock", speed=self._speed)
        self._open.append(self._host.stop)
        if "shoe0" in names:
            for _ in range(earlier):
                # Another shoe than before: its memory is not the one whose cards the ledger has.
                self._host.do("erase", "shoe0")
            self._host.do("load", "shoe0", cards=list(FILLER))
        for place, tags in plan.tokens.places.items():
            self._field("put", place, tags)
        uri, version = self._broker.uri, self._broker.versions[0]
        self._metrics = free_port() if plan.metrics else 0
        where = (uri, version, self.ledger, self._speed, self._metrics)
        table = config.write(plan, self._folder, self._host.uris, *where)
        self.capture = self._folder / "capture.pcapng"
        self._daemon = DaemonProcess(table, self._speed, self.capture, self._folder)
        self._open.append(self._daemon.stop)
        self._start_daemon()
        for order in plan.opening():
            self.perform(order)

    @property
    def now(self) -> int:
        """The monotonic clock."""
        return time.monotonic_ns()

    @property
    def daemon(self) -> DaemonProcess:
        """The daemon under test."""
        return self._daemon

    @property
    def speed(self) -> float:
        """The daemon's time runs so much faster."""
        return float(self._speed)

    @property
    def tokens(self) -> Tokens | None:
        """Where everything lies by the dealer's count."""
        return self._dealer.tokens if isinstance(self._dealer, AntennaDealer) else None

    @property
    def seen(self) -> Sequence[Seen]:
        """Every event that the subscriber has got."""
        return self._subscriber.seen

    def pause(self, ms: int) -> None:
        """The dealer takes so long, in the table's time."""
        time.sleep(ms / 1000 / self._speed)

    def until(self, ask: Callable[[], bool], timeout_ms: int) -> bool:
        """Wait for the answer to be yes, in real time."""
        return self._subscriber.until(ask, timeout_ms / 1000)

    def perform(self, act: Act) -> None:
        """Perform one act. Raises ``ProductFailure`` where the daemon refuses a person or is gone."""
        moments.perform(self.moments(act), self.pause, self.moment)

    def drawn(self) -> list[Drawn]:
        """See ``Stage``."""
        return self._dealer.drawn()

    def moments(self, act: Act) -> Iterable[Then]:
        """See ``Stage``."""
        if not isinstance(act, Order | Rule | DeviceAct | Power | SystemAct | Pause):
            self._hand.note(act)
        return moments.of(act, self._dealer)

    def moment(self, what: Moment) -> None:
        """See ``Stage``. Raises ``ProductFailure`` where the daemon refuses a person or is gone."""
        match what:
            case Order() | Rule():
                self._order(what)
            case DeviceAct(what="clock"):
                raise NotRunnable("clock.step: the clock of this machine is not the rig's to set; rehearse virtually")
            case DeviceAct():
                self._host.do(what.what, what.device, **what.args)
            case Power():
                self.moment(without_switches(what))
            case SystemAct():
                self._system(what)
            case _:
                self._do(what)

    def pages(self, *, last: bool) -> Mapping[str, Any]:
        """See ``Asked``. Raises ``ProductFailure``."""
        del last
        if not self._daemon.running:
            return {}
        told: dict[str, Any] = {"status": self._daemon.ask("status")}
        if self._metrics:
            told["metrics"] = numbers(self._metrics)
        return told

    def end(self) -> list[str]:
        """End the daemon in order, wait until all is delivered, and prove it: a line for each thing wrong."""
        code = self._daemon.stop()
        lines = [] if code == 0 else [f"the daemon ended with {code}: {self._daemon.last_words()}"]
        written = self._written()
        if not self._subscriber.until(lambda: len(self._subscriber.seen) >= len(written), DELIVERED_S):
            got = {event.body for event in self._subscriber.seen}
            missing = [body for body in written if body not in got]
            lines.append(f"{len(missing)} of {len(written)} events were never delivered")
        if {event.body for event in self._subscriber.seen} - set(written):
            lines.append("events were delivered that are not in the ledger")
        verified = self._verified()
        if verified.returncode != 0:
            lines.append(f"feltd verify: {verified.stdout}{verified.stderr}".strip())
        return lines + self._subscriber.faults

    def close(self) -> None:
        """End everything that was started, the last first."""
        while self._open:
            self._open.pop()()

    def _row(self) -> int:
        """The ledger's last row before this stage; 0 where there is no ledger yet."""
        return last_row(self.ledger) if self.ledger.exists() else 0

    def _verified(self) -> subprocess.CompletedProcess[str]:
        return feltd("verify", str(self.ledger))

    def _written(self) -> list[bytes]:
        """What the ledger holds; of an older ledger only what this stage has added is asked for."""
        return bodies_after(self.ledger, self._before)

    # ------------------------------------------------------------------ people

    def _order(self, act: Order | Rule) -> None:
        command = command_of(act, self.seen)
        answer = self._daemon.ask(command.name, command.args, by=act.by, role=act.role, reason=act.reason)
        if "error" in answer:
            raise ProductFailure(f"{command.name}: {answer['error']}")

    # ------------------------------------------------------------------- hands

    def _do(self, deed: Deed) -> None:
        self._eye.follow(deed, self._host.do)
        match deed:
            case Turn():
                pass
            case Lift(place=place, tags=tags):
                self._field("take", place, tags)
            case Lay(place=place, tags=tags):
                self._field("put", place, tags)
            case CardSlides(card=card, confidence=confidence):
                time.sleep(max(0.0, self._last_key + HAND_OVER_S - time.monotonic()))
                self._host.do("slide", "shoe0", card=card, confidence=confidence)
            case KeyDown(key=key):
                self._host.do("press", "keys0", key=key)
                self._last_key = time.monotonic()
            case KeyUp(key=key):
                self._host.do("release", "keys0", key=key)
                self._last_key = time.monotonic()

    def _field(self, what: str, place: str, tags: Sequence[str]) -> None:
        """Tags come to a place or leave it; where no antenna watches it nobody notices."""
        if place in self._layout.watched:
            reader, channel = self._layout.watched[place]
            self._host.do(what, reader, tags=list(tags), channel=channel)

    # ------------------------------------------------------------------ system

    def _system(self, done: SystemAct) -> None:
        match done.what:
            case "daemon.kill":
                self._daemon.kill()
            case "daemon.start":
                self._start_daemon()
                status = self._daemon.ask("status")["status"]
                # A scenario of boxes kills at rest only: all that was keyed is on record by then.
                for act in () if self.plan.boxes else self._hand.lost(status["hand"]):
                    self.pause(self._dealer.pause())
                    for timed in self._dealer.deeds(act):
                        self.pause(timed.after_ms)
                        self._do(timed.deed)
            case "broker.stop":
                self._broker.stop()
            case "broker.freeze":
                self._broker.freeze()
            case "disk.fill":
                self._filled().fill(done.leave_kb)
            case "disk.free":
                self._filled().free()
            case _:
                self._broker.start()

    def _filled(self) -> Disk:
        if self._disk is None:
            raise NotRunnable("disk.fill: the ledger of this run is on no disk of its own")
        return self._disk

    def _start_daemon(self) -> None:
        self._daemon.start()
        deadline = time.monotonic() + DEVICES_S
        while not all(state == "up" for state in self._devices().values()):
            if time.monotonic() > deadline:
                raise ProductFailure(f"devices are not up: {self._devices()}; {self._daemon.last_words()}")
            time.sleep(0.02)

    def _devices(self) -> dict[str, str]:
        known: dict[str, str] = self._daemon.ask("status")["status"]["devices"]
        return dict.fromkeys(self._layout.names(), "?") | known


def devices(table: Layout, folder: Path, number: int = 0) -> list[dict[str, Any]]:
    """The devices of a table, for the process that plays them. ``number`` tells one set of USB devices from another."""
    shoe, keys, camera = (f"{what}-{number:04d}" for what in ("SHOE", "KEYS", "CAM"))
    usb: dict[str, dict[str, Any]] = {
        "shoe": {"product": PRODUCTS["shoe"], "serial": shoe, "model": {"serial": shoe}},
        "keypad": {"product": PRODUCTS["keypad"], "serial": keys},
        "camera": {"product": PRODUCTS["camera"], "serial": camera, "model": {"serial": camera}},
    }

    def at(device: Device) -> dict[str, Any]:
        if device.driver in usb:
            return usb[device.driver]
        path = "127.0.0.1:0" if device.link == "tcp" else str(folder / device.name)
        return {"link": device.link, "path": path, "model": dict(device.model)}

    return [{"name": device.name, "driver": device.driver} | at(device) for device in table.devices]


def broker_for(folder: Path) -> Broker:
    """Mosquitto where it is installed, otherwise the broker in this process. Not started."""
    if mosquitto_program():
        return MosquittoBroker(folder, basic=PERSISTENT.format(folder=folder))
    return AmqttBroker()


def numbers(port: int) -> str:
    """The page that a daemon serves on loopback. Raises ``ProductFailure``."""
    caller = HTTPConnection("127.0.0.1", port, timeout=PAGE_S)
    try:
        caller.request("GET", "/metrics")
        answer = caller.getresponse()
        page = answer.read().decode()
    except (OSError, HTTPException) as error:
        raise ProductFailure(f"metrics: http://127.0.0.1:{port}/metrics does not answer: {error}") from error
    finally:
        caller.close()
    if answer.status != HTTPStatus.OK:
        raise ProductFailure(f"metrics: http://127.0.0.1:{port}/metrics answers {answer.status}")
    return page


def bodies_after(ledger: Path, row: int) -> list[bytes]:
    """The events of a ledger after a row, in order."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT body FROM row WHERE row > ? ORDER BY row", (row,)).fetchall()
    return [body for (body,) in rows]


def starts(ledger: Path) -> int:
    """How often a daemon was started on a ledger."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM row WHERE type = 'daemon.started'").fetchone()
    return int(count)


def last_row(ledger: Path) -> int:
    """The number of a ledger's last row."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        (row,) = connection.execute("SELECT coalesce(max(row), 0) FROM row").fetchone()
    return int(row)
