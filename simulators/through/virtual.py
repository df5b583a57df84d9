"""Rehearsal in one process on a fake clock: device models, the drivers' conversations, and the whole core."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controller.boot import REMEMBERING
from controller.contract.envelope import time_text
from controller.core.inputs import HandSeed, Input, Notice, Tick, What
from controller.core.table import Table
from drivers.readings import CardSeen, CardSighted, Reading, TagsSeen
from drivers.veil import Veil
from simulators import disk
from simulators.dealer import CardSlides, Deed, Drawn, KeyDown, KeyUp, Lay, Lift, Turn
from simulators.dealer_rfid import AntennaDealer
from simulators.errors import RigError
from simulators.eye import Eye
from simulators.gestures import BY_HANDS, MODELS, SWAP_MS, Answer, exchanged, perform, spare
from simulators.hardware.device import Device
from simulators.plan import Plan
from simulators.rigs import VirtualWire
from simulators.scripts.acts import Act, DeviceAct, Order, Power, Rule, SystemAct
from simulators.through import moments
from simulators.through.moments import Moment, Then
from simulators.through.stage import MS, Inside, Journal, NotRunnable, command_of, without_switches
from simulators.tokens import Tokens

READY_MS = 5000


class VirtualStage(Inside):
    """A table with its devices, without IO: thousands of hands an hour, and the same again with the same seed."""

    def __init__(self, plan: Plan, journal: Journal | None = None, *, killed: bool = False) -> None:
        super().__init__(plan, journal)
        self._killed = killed
        self._typing = self._spent = self._full = False
        self._standing: dict[tuple[str, str], Reading] = {}
        self._dealer = plan.dealer()
        self._layout = plan.layout
        self._eye = Eye(self._layout, plan.deck)
        self._cables: dict[str, str] = {}
        self._devices: dict[str, Device] = {d.name: MODELS[d.driver](**d.model) for d in self._layout.devices}
        for place, tags in plan.tokens.places.items():
            if place in self._layout.watched:
                reader, channel = self._layout.watched[place]
                perform(self._devices[reader], "put", {"tags": tags, "channel": channel}, 0)
        self._setup = plan.setup()
        self._no = 0
        self._table: Table | None = None
        self._wires: dict[str, VirtualWire] = {}
        self._lifted: Any = None
        self._owed: list[Reading] = []
        self._start(Table(self._setup), "start")
        for order in plan.opening():
            self.perform(order)

    @property
    def tokens(self) -> Tokens | None:
        """Where everything lies by the dealer's count."""
        return self._dealer.tokens if isinstance(self._dealer, AntennaDealer) else None

    def pause(self, ms: int) -> None:
        """Let time pass, and all that is due in it happen."""
        end = self._now + ms * MS
        while True:
            self._settle()
            due = [wire.deadline() for wire in self._wires.values()]
            due.append(self._table.deadline() if self._table else None)
            following = min((time for time in due if time is not None), default=end)
            if following >= end:
                self._now = end
                return
            self._now = max(self._now, following)

    def until(self, ask: Callable[[], bool], timeout_ms: int) -> bool:
        """Let time pass in small steps until the answer is yes."""
        for _ in range(0, timeout_ms, 50):
            if ask():
                return True
            self.pause(50)
        return ask()

    def perform(self, act: Act) -> None:
        """Perform one act. Raises ``NotRunnable`` for the broker, which is not part of this rig."""
        moments.perform(self.moments(act), self.pause, self.moment)
        self._typing = False
        self._settle()

    def drawn(self) -> list[Drawn]:
        """See ``Stage``."""
        return self._dealer.drawn()

    def moments(self, act: Act) -> Iterable[Then]:
        """See ``Stage``."""
        return moments.of(act, self._dealer)

    def moment(self, what: Moment) -> None:
        """See ``Stage``."""
        match what:
            case Order() | Rule():
                self._feed(command_of(what, self._seen))
            case DeviceAct():
                self._accident(what)
            case Power():
                self.moment(without_switches(what))
            case SystemAct():
                self._system(what)
            case _:
                self._typing = isinstance(what, KeyDown | KeyUp)
                self._do(what)

    def close(self) -> None:
        """Nothing runs on."""

    def _do(self, deed: Deed) -> None:
        match deed:
            case CardSlides(card=card, confidence=confidence):
                self._act("slide", "shoe0", card=card, confidence=confidence)
            case Turn():
                pass
            case Lift(place=place, tags=tags) | Lay(place=place, tags=tags):
                if place in self._layout.watched:
                    reader, channel = self._layout.watched[place]
                    self._act("put" if isinstance(deed, Lay) else "take", reader, tags=tags, channel=channel)
            case _:
                self._act("press" if isinstance(deed, KeyDown) else "release", "keys0", key=deed.key)
        self._eye.follow(deed, self._act)
        self._settle()

    def _act(self, what: str, device: str, **args: Any) -> Answer:
        """Hands do not care whether a daemon listens, nor at which plug a device hangs by now."""
        if what in BY_HANDS:
            device = self._cables.get(device, device)
        if device in self._wires:
            return self._wires[device].perform(what, self._now, **args)
        return perform(self._devices[device], what, args, self._now)

    def _accident(self, act: DeviceAct) -> None:
        if act.what == "clock":
            self._step_clock(int(act.args["ms"]))
        elif act.what == "swap":
            self._swap(act.device, act.args)
        else:
            self._act(act.what, act.device, **act.args)

    def _swap(self, name: str, args: Mapping[str, Any]) -> None:
        """Plugs are exchanged, or another device of the same make takes the place of one, over the same felt."""
        other = str(args.get("other", ""))
        names = [name, other] if other else [name]
        for one in names:
            self._act("unplug", one)
        self.pause(SWAP_MS)
        if other:
            self._devices[name], self._devices[other] = self._devices[other], self._devices[name]
            self._cables = exchanged(self._cables, name, other)
        else:
            driver = next(device.driver for device in self._layout.devices if device.name == name)
            self._devices[name] = spare(driver, self._devices[name])
        for one in names:
            if one in self._wires:
                self._wires[one].device = self._devices[one]
            self._act("plug", one)

    def _step_clock(self, ms: int) -> None:
        """The wall clock is set, and the shell says so."""
        before = time_text(self.wall)
        self._wall += ms * MS
        self._feed(
            Notice("clock.stepped", {"before": before, "after": time_text(self.wall), "step_ms": ms, "synced": True})
        )

    def _system(self, act: SystemAct) -> None:
        what = act.what
        if what == "daemon.kill":
            self._table = None
            self._standing = {}
            self._owed = []
            self._wires = {}
        elif what == "daemon.start":
            if self._journal is None:
                raise NotRunnable("daemon.start: a table is restored from its ledger, and there is none")
            self._start(Table.restore(self._setup, self._journal.restore()), "recovery")
        elif what in ("disk.fill", "disk.free"):
            self._fill_disk(act)
        else:
            raise NotRunnable(f"{what}: there is no broker in this process; rehearse through wires")

    def _fill_disk(self, act: SystemAct) -> None:
        """The shell measures the disk of the ledger, and says so when it fills up or is free again."""
        full = act.what == "disk.fill"
        if full != self._full:
            self._full = full
            self._feed(Notice("ledger.filling", disk.told(free=act.leave_kb * 1024 if full else disk.VIRTUAL_FREE)))

    def _start(self, table: Table, reason: str) -> None:
        """What the daemon does at its start: say so, open the devices, be ready when they are."""
        self._table = table
        self._lifted = None
        recorded = table.session.state.seen
        remembering = [d.name for d in self._layout.devices if d.driver in REMEMBERING and recorded.get(d.name)]
        options = {name: {"committed": recorded[name]} for name in remembering}
        dozes = self.plan.reads == "perfect"
        veiled = self._setup.open_channels({"board"}) if self._setup.unread else {}
        self._wires = {
            name: VirtualWire(
                name,
                d.driver,
                self._devices[name],
                expect=d.expect,
                options={**d.options, **options.get(name, {})},
                poll=int(d.options.get("poll_ms", 0)) * MS if dozes else 0,
                veil=Veil(self._setup.deck.tags, veiled[name]) if name in veiled else None,
            )
            for name, d in ((device.name, device) for device in self._layout.devices)
        }
        self._feed(Notice("daemon.started", self._started(reason)))
        if reason == "recovery":
            self._feed(Notice("recovery.completed", {"gap_ms": None, "differences": [], "confirmed_by": []}))
        if not self.until(lambda: all(wire.up for wire in self._wires.values()), READY_MS):
            raise RigError("the virtual devices did not come up")

    def _started(self, reason: str) -> dict[str, Any]:
        return {
            "software": {**self._setup.software, "verified": False},
            "config_sha256": self._setup.software["sha256"],
            "profile_sha256": self._setup.profile.sha256,
            "boot": "virtual",
            "reason": reason,
            "self_test": [],
        }

    def _settle(self) -> None:
        """Pump every wire until nobody has anything to say at this moment."""
        moved = True
        while moved:
            moved = False
            for wire in self._wires.values():
                for reading in wire.pump(self._now):
                    self._owed.append(reading)
                    self._feed(reading)
                    moved = True
                self._acknowledge()
            due = self._table.deadline() if self._table else None
            if due is not None and due <= self._now:
                self._feed(Tick())
                moved = True

    def _acknowledge(self) -> None:
        """What the table still waits for its device must keep."""
        owed, self._owed = self._owed, []
        for reading in owed:
            if self._table is not None and self._table.waits_for(reading):
                self._owed.append(reading)
            elif reading.device in self._wires:
                self._wires[reading.device].acknowledge(reading, self._now)

    def _feed(self, what: What) -> None:
        if self._table is None:
            return
        if self._table.wants_seed and not isinstance(what, Notice):
            self._input(HandSeed(self.next_seed()))
        self._input(what)

    def _input(self, what: What) -> None:
        assert self._table is not None
        self._no += 1
        if isinstance(what, TagsSeen):
            self._standing[what.device, what.channel] = what
        elif isinstance(what, CardSighted):
            self._standing[what.device, f"card {what.object}"] = what
        records = self._table.feed(Input(self._no, self._now, self.wall, what))
        self.keep(records)
        self._spent = self._spent or (self._killed and bool(records))
        if self._spent and not self._typing:
            self._restore()
        self._lift()

    def _lift(self) -> None:
        """Readers are told where cards lie face up, as soon as that changes."""
        assert self._table is not None
        told = self._table.open_channels()
        if self._setup.unread and told != self._lifted:
            self._lifted = told
            for name, open_ in told[0].items():
                if name in self._wires:
                    self._wires[name].lift(open_, playing=told[1], now=self._now)

    def _restore(self) -> None:
        """Throw the table away and build it from its ledger, as a daemon does; it is told again what lies where.

        Not between the keys of one entry: what is half typed is nowhere written down.
        """
        if self._journal is None:
            raise NotRunnable("kill_after: a table is restored from its ledger, and there is none")
        self._spent = False
        self._table = Table.restore(self._setup, self._journal.restore())
        for reading in [*self._standing.values(), *(one for one in self._owed if isinstance(one, CardSeen))]:
            self._no += 1
            self.keep(self._table.feed(Input(self._no, self._now, self.wall, reading)))
