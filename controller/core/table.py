"""The whole core: sensing in front of the rules. A pure function of state and input."""

from collections.abc import Iterable
from typing import Any, Protocol

from controller.core import guard, overdue, recovering, system, troubles
from controller.core.cash import amends, meters
from controller.core.conflict import conflict
from controller.core.facts import Fact
from controller.core.faulty import Faulty
from controller.core.floor import conditions
from controller.core.inputs import Command, HandSeed, Input, Notice, Tick
from controller.core.records import REFUSALS, Record
from controller.core.rules import acting
from controller.core.rules.ultimate import judge as ultimate
from controller.core.sensing.counting import value
from controller.core.sensing.doubles import Doubles
from controller.core.sensing.flood import Floods
from controller.core.sensing.oddities import Odd, Oddities
from controller.core.sensing.rfid_table import RfidTable
from controller.core.sensing.shoe_table import ShoeTable
from controller.core.sensing.ultimate_rfid import UltimateRfid
from controller.core.sensing.ultimate_shoe import UltimateShoe
from controller.core.sensing.whereabouts import MS
from controller.core.sensing.witnessed import Primary, Witnessed
from controller.core.session import Session
from controller.core.setup import Setup
from controller.core.state import State
from drivers.readings import (
    CardSeen,
    CardSighted,
    DeviceCleared,
    DeviceConflict,
    DeviceFault,
    DeviceLost,
    DeviceUp,
    KeyPressed,
    Reading,
    TagsSeen,
)


class Sensing(Protocol):
    """What every kind of table offers: readings and time in, facts out. It may look at the state, not change it."""

    def feed(self, reading: Reading, at: int, state: State) -> list[Fact]:
        """What one reading means."""

    def tick(self, at: int, state: State) -> list[Fact]:
        """Let time pass up to ``at``."""

    def deadline(self) -> int | None:
        """When ``tick`` is next due."""


def _primary(setup: Setup) -> Primary:
    """The sensing of a table by its kind and its game."""
    if setup.profile.game == "ultimate":
        return UltimateRfid(setup) if setup.kind == "rfid" else UltimateShoe(setup)
    return RfidTable(setup) if setup.kind == "rfid" else ShoeTable(setup)


def _witnessed(setup: Setup, primary: Primary) -> Sensing:
    """The same, with what other devices say of the same acts."""
    return Witnessed(setup, primary) if any(device.kind == "camera" for device in setup.devices) else primary


class Table:
    """One table: ``feed`` is all there is. The same inputs and setup give equal records on any machine."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.session = Session(setup)
        self._primary = _primary(setup)
        self._sensing = _witnessed(setup, self._primary)
        self._floods = Floods()
        self._doubles = Doubles(setup.timing.chip_absent_ms * MS, {*setup.deck.tags, *setup.chipset.tags})
        self._chips = Oddities(setup)
        self.recovery: recovering.Recovery | None = None
        """While the antennas read anew after a restart."""
        self._troubles: dict[tuple[str, str], int] = {}
        """Since when a device is lost (``""``) or has a fault."""
        self._unkeyed = False
        """No key was pressed since the restart."""
        self._faulty = Faulty()
        self._up: set[str] = set()
        """The devices that have answered since this table was made: what a record says of one may be long past."""

    @classmethod
    def restore(cls, setup: Setup, records: Iterable[Record], image: Any | None = None) -> "Table":
        """Rebuild the rules' state from records (with their secrets); what the sensors watch is unknown again.

        ``image``: the state before these records, as ``controller.core.image`` keeps it.
        """
        table = cls(setup)
        table.session = Session.restore(setup, records, image)
        table._unkeyed = True
        return table

    @property
    def wants_seed(self) -> bool:
        """Whether a ``HandSeed`` should be fed."""
        return self.session.wants_seed

    def deadline(self) -> int | None:
        """When the core next needs a ``Tick``, in monotonic ns, or ``None``."""
        due = (
            self._sensing.deadline(),
            self._floods.deadline(),
            self._chips.deadline(),
            meters.deadline(self.session.out),
            overdue.deadline(self.session.out),
            self.recovery.due if self.recovery is not None else None,
        )
        return min((at for at in due if at is not None), default=None)

    def open_channels(self) -> tuple[dict[str, frozenset[str]], bool]:
        """By device, the channels where cards lie face up now and may be read; and whether a hand is played.

        What a house wants to be told of closed cards is the shell's to see to: see ``drivers.veil``.
        """
        seats = self._primary.open_places(self.session.state) if isinstance(self._primary, RfidTable) else frozenset()
        return self.setup.open_channels(seats | {"board"}), self.session.state.play is not None

    def waits_for(self, reading: Reading) -> bool:
        """Whether what became of a reading is not settled yet: its device must keep it, for nothing is on record."""
        if isinstance(reading, CardSighted):
            camera = self._sensing.waiting(reading.device) if isinstance(self._sensing, Witnessed) else None
            return camera is not None and reading.sequence >= camera
        shoe = self._primary.shoe if isinstance(self._primary, RfidTable) else None
        if shoe is None or not isinstance(reading, CardSeen):
            return False
        first, recorded = shoe.waiting(), self.session.state.seen.get(reading.device, 0)
        return first is not None and reading.sequence >= first and reading.sequence > recorded

    def feed(self, inp: Input) -> list[Record]:
        """Take one input and return what it led to.

        Raises ``BadCommand`` for a command that cannot be read; the state is unchanged then.
        """
        out = self.session.out
        out.begin(inp.at, inp.wall)
        match inp.what:
            case Command():
                return self.session.command(inp.what, inp.at, inp.wall)
            case HandSeed(seed=seed):
                self.session.seed(seed)
            case Notice():
                self.recovery = recovering.begun(out, inp.what) or self.recovery
                if self.recovery is None or self.recovery.notice is not inp.what:
                    system.notice(out, inp.what)
            case Tick():
                self._pass_time(inp.at)
            case reading:
                self._pass_time(inp.at)
                if self.recovery is not None:
                    self.recovery.heard(reading, inp.at)
                self._reading(reading, inp.at)
        if self.recovery is not None:
            self._recovered(inp.at)
        return out.records

    def _recovered(self, at: int) -> None:
        """What the first inventories led to is gathered; where they have all come to rest, it is told."""
        recovery, out = self.recovery, self.session.out
        assert recovery is not None
        recovery.told(out.records)
        if at >= recovery.due:
            self.recovery = None
            recovery.emit(out)

    def _pass_time(self, at: int) -> None:
        for fact in self._sensing.tick(at, self.session.state):
            self.session.judge(fact)
        for device, ignored in self._floods.over(at):
            system.flood(self.session.out, device, ignored)
        for odd in self._chips.tick(at, self.session.state):
            self._odd(odd)
        meters.pass_time(self.session.out)
        overdue.pass_time(self.session.out)

    def _odd(self, odd: Odd) -> None:
        """Chips that are no matter of the game: of no registry, on the list, or of nobody."""
        match odd.what:
            case "unknown":
                guard.unknown(self.session.out, odd.place, odd.tags, (odd.source,))
            case "listed":
                guard.listed(self.session.out, odd.place, odd.tags, (odd.source,))
            case "orphan":
                amends.found(self.session.out, odd.place, value(self.setup.chipset, odd.tags))

    def _reading(self, reading: Reading, at: int) -> None:
        if isinstance(reading, CardSeen) and reading.sequence <= self.session.state.seen.get(reading.device, 0):
            return  # sent again because its acknowledgement got lost; it is on record already
        if isinstance(reading, KeyPressed) and self._floods.ignores(reading.device, at):
            return
        if isinstance(reading, TagsSeen | DeviceLost):
            self._chips.heard(reading, at)
            for news in self._doubles.heard(reading, at):
                self._contradicted(news, at)
        self._faulty.heard(reading)
        before = len(self.session.out.records)
        for fact in self._sensing.feed(reading, at, self.session.state):
            self.session.judge(fact)
        if isinstance(reading, KeyPressed):
            self._unkeyed = False
            refused = [one for one in self.session.out.records[before:] if one.type in REFUSALS]
            if refused and self._floods.refused(reading.device, len(refused), at):
                system.flood(self.session.out, reading.device)
        if isinstance(reading, DeviceUp):
            self._up.add(reading.device)
        elif isinstance(reading, DeviceLost):
            self._up.discard(reading.device)
        if isinstance(reading, DeviceUp | DeviceLost | DeviceFault | DeviceCleared):
            system.device(self.session.out, reading, self._lasted(reading, at))
        elif isinstance(reading, DeviceConflict):
            conflict(self.session.out, reading)
            self._doubled(reading, "one_reader")

    def _lasted(self, reading: DeviceUp | DeviceLost | DeviceFault | DeviceCleared, at: int) -> int | None:
        """How long what ends now has lasted, in ms; ``None`` for what begins, or began before a restart."""
        match reading:
            case DeviceLost(device=device):
                self._troubles.setdefault((device, ""), at)
            case DeviceFault(device=device, fault=fault):
                self._troubles.setdefault((device, fault), at)
            case DeviceUp(device=device):
                began = self._troubles.pop((device, ""), None)
                return None if began is None else (at - began) // MS
            case DeviceCleared(device=device, fault=fault):
                began = self._troubles.pop((device, fault), None)
                return None if began is None else (at - began) // MS
        return None

    def _contradicted(self, news: DeviceConflict | DeviceCleared, at: int) -> None:
        """Two devices have the same tag, or have it no longer: what they watch is not believed meanwhile."""
        self._faulty.contradicted(news)
        for fact in self._sensing.feed(news, at, self.session.state):
            self.session.judge(fact)
        if isinstance(news, DeviceConflict):
            conflict(self.session.out, news, "one_tag_on_two_devices")
            self._doubled(news, "two_readers")
        else:
            system.device(self.session.out, news)

    def _doubled(self, news: DeviceConflict, case: str) -> None:
        for channel in news.channels:
            place = self.setup.watched_by_readers.get((news.device, channel), "")
            if place:
                guard.doubled(self.session.out, news.tag, place, case)

    def _missing(self) -> list[dict[str, Any]]:
        """What is missing before the table opens or the next hand begins, with the rules that ask for it."""
        out = self.session.out
        return [
            {
                "what": one.key,
                "rules": list(one.rules or out.rules(one.key)),
                "reaction": one.reaction,
                "asked": one.asked,
            }
            for one in conditions.missing(out)
        ]

    def _devices(self) -> dict[str, str]:
        """``up``: it has answered; ``lost``: it does not; ``unknown``: nothing was heard of it since the start."""
        known = {*self.session.state.devices, *(device.name for device in self.setup.devices)}
        return {name: "up" if name in self._up else self._not_up(name) for name in sorted(known)}

    def _not_up(self, name: str) -> str:
        return "lost" if name in self.session.state.lost else "unknown"

    def status(self) -> dict[str, Any]:
        """A JSON-shaped picture for the people at the table. Never a closed card."""
        state = self.session.state
        hand, bounds = state.hand, self.session.legal()
        picture: dict[str, Any] = {
            "table": self.setup.table,
            "session": state.session,
            "day": state.day,
            "test": self.setup.test,
            "button": state.button,
            "seats": {
                str(n): {"player": s.player, "stack": s.stack}
                | ({"leaving": True} if hand is not None and n in hand.leaving else {})
                for n, s in sorted(state.seats.items())
            },
            "staff": dict(sorted(state.staff.items())),
            "incidents": [
                {"incident": i.id, "code": i.code, "kind": i.kind, "holds": i.holds, "proposed": i.proposed}
                | {"severity": i.severity, "escalated": i.escalated}
                for i in state.incidents.values()
            ],
            "devices": self._devices(),
            "faults": self._faulty.told(self._floods.shut()),
            "missing": self._missing(),
            "slips": [{"slip": one.id, "kind": one.kind, "total": one.total} for one in state.cash.open.values()],
            "hand": None,
        }
        if hand is not None:
            picture["hand"] = {
                "hand": hand.id,
                "n": hand.n,
                "phase": hand.phase,
                "street": hand.street,
                "cards": len(hand.slots),
                "board": [slot.card for slot in hand.slots if slot.place == "board" and slot.opened and not slot.gone],
                "to_act": hand.to_act,
                "actions": hand.actions,
                "pot": hand.pot,
                "bets": {str(seat): bet for seat, bet in sorted(hand.bet.items())},
                "stacks": {str(seat): stack for seat, stack in sorted(hand.stack.items())},
                "live": list(hand.live),
                "shown": list(hand.shown),
                "allowed": acting.allowed(bounds) if bounds is not None else [],
            }
        if self.setup.profile.game == "ultimate":
            picture |= ultimate.picture(self.session.out)
        else:
            picture["due"] = self.session.due().as_data()
            picture |= troubles.pressed_in_vain(self.session.out) if self._unkeyed else {}
        return picture
