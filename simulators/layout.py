"""Which devices a table of a rehearsal has, and which of their channels watches which place."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from controller.core.setup import DeviceInfo

Kind = Literal["shoe", "rfid"]
Closed = Literal["read", "unread"]
"""Whether sensors read closed cards."""
PORTS = 8
"""Antenna ports of one reader; more antennas are reached through multiplexers."""
SETS_PER_ANSWER = 120
POLL_MS = 300
SPREAD = ("board", "tray")
"""Cards of the board lie side by side; a tray has an antenna at each of its tubes."""
CARDS_POLL_MS = 200
"""Cards may be laid down in quick succession, and their order counts."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device. ``options`` are its driver's, ``model`` is what the simulated device is made with."""

    name: str
    driver: str
    kind: str
    places: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    model: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    expect: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Who the daemon expects it to be."""
    link: str = ""
    """On wires: another link than the usual one of its driver."""

    @property
    def info(self) -> DeviceInfo:
        """What the core is told of it."""
        return DeviceInfo(self.name, self.driver, self.places, self.kind)


@dataclass(frozen=True, slots=True)
class Layout:
    """All devices of a table."""

    devices: tuple[Device, ...]
    watched: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Place -> reader and channel."""

    @classmethod
    def of(cls, devices: Sequence[Device]) -> "Layout":
        """The layout of these devices."""
        read = [device for device in devices if device.kind != "camera"]
        watched = {place: (d.name, int(channel)) for d in read for channel, place in d.places.items()}
        return cls(tuple(devices), MappingProxyType(watched))

    @property
    def regions(self) -> dict[str, tuple[str, int]]:
        """Place -> camera and region."""
        cameras = [device for device in self.devices if device.kind == "camera"]
        return {place: (d.name, int(region)) for d in cameras for region, place in d.places.items()}

    def names(self) -> tuple[str, ...]:
        """The devices by name."""
        return tuple(device.name for device in self.devices)


def reader(name: str, places: Sequence[str], poll_ms: int = POLL_MS) -> Device:
    """One reader with an antenna for each place, behind multiplexers where it has not ports enough."""
    outputs = -(-len(places) // PORTS)
    ports = min(PORTS, -(-len(places) // outputs))
    channels = [port + PORTS * output for output in range(outputs) for port in range(1, ports + 1)]
    options: dict[str, Any] = {"antennas": list(range(1, ports + 1)), "poll_ms": poll_ms}
    options |= {"outputs": list(range(1, outputs + 1))} if outputs > 1 else {}
    return Device(
        name,
        "feig",
        "reader",
        MappingProxyType({str(channel): place for channel, place in zip(channels, places, strict=False)}),
        MappingProxyType(options),
        MappingProxyType({"sets_per_answer": SETS_PER_ANSWER, "outputs": outputs, "serial": _serial(name)}),
        MappingProxyType({"serial": _serial(name)}),
    )


def _serial(name: str) -> str:
    """No two readers of a table have the same serial number."""
    return f"{zlib.crc32(name.encode()):08X}"


SHOE = Device("shoe0", "shoe", "shoe", MappingProxyType({"0": "shoe"}))
KEYS = Device("keys0", "keypad", "keypad")
TRAY = Device("tray0", "feig", "reader", MappingProxyType({"0": "tray"}))


def shoe_table() -> Layout:
    """Shoe, keypad, tray."""
    return Layout.of((SHOE, KEYS, TRAY))


def rfid_table(seats: int) -> Layout:
    """One reader each for cards, bets with the pot, stacks and tray; a keypad. Seats are 1 to ``seats``."""
    ring = range(1, seats + 1)
    return Layout.of(
        (
            reader("cards0", ["board", "burn", "muck", *(f"seat:{n}" for n in ring)], CARDS_POLL_MS),
            reader("bets0", ["pot", *(f"bet:{n}" for n in ring)]),
            reader("stacks0", [f"stack:{n}" for n in ring]),
            reader("tray0", ["tray"]),
            KEYS,
        )
    )


FAST = {"round_ms": 500}
"""A full tray of some 260 chips is then 520 records a second, as much as a fast module tells."""


def multiplexer(name: str, places: Sequence[str], poll_ms: int = POLL_MS) -> Device:
    """An Eccel Pepper with a multiplexer, on the network: an antenna for each place, eight at most."""
    channels = {str(channel): place for channel, place in enumerate(places, 1)}
    options = {"antennas": list(range(1, len(places) + 1)), "poll_ms": poll_ms}
    model, expect = MappingProxyType({"name": f"PEPPER-{name}"}), MappingProxyType({"serial": f"PEPPER-{name}"})
    return Device(
        name, "eccel", "reader", MappingProxyType(channels), MappingProxyType(options), model, expect, link="tcp"
    )


def six_table(seats: int) -> Layout:
    """Six devices of six makes: no stack antennas, but a shoe and a camera beside the antennas as second witnesses.

    A FEIG multiplexer for cards and pot, an Eccel MUX for bets (two of them above eight seats), a ThingMagic tray, a
    USB shoe, a camera over board and seats, a keypad.
    """
    ring = range(1, seats + 1)
    bets = [f"bet:{n}" for n in ring]
    regions = {str(n): f"seat:{n}" for n in ring} | {str(seats + 1): "board"}
    return Layout.of(
        (
            reader("cards0", ["board", "burn", "muck", "pot", *(f"seat:{n}" for n in ring)], CARDS_POLL_MS),
            *(multiplexer(f"bets{at // PORTS}", bets[at : at + PORTS]) for at in range(0, seats, PORTS)),
            Device("tray0", "mercury", "reader", MappingProxyType({"0": "tray"}), model=MappingProxyType(FAST)),
            SHOE,
            Device("cam0", "camera", "camera", MappingProxyType(regions)),
            KEYS,
        )
    )


def of(kind: Kind, seats: int) -> Layout:
    """The layout of a kind of table."""
    return rfid_table(seats) if kind == "rfid" else shoe_table()


def furnished(table: Layout, *, shoe: bool, closed_cards: Closed) -> Layout:
    """The same table with a shoe beside its antennas, and with a shoe that does not read what may not be read."""
    devices = [SHOE, *table.devices] if shoe and "shoe0" not in table.names() else list(table.devices)
    if closed_cards == "unread":
        unread = MappingProxyType({**SHOE.options, "closed_cards": "unread"})
        devices = [replace(device, options=unread) if device.driver == "shoe" else device for device in devices]
    return Layout.of(devices)


def in_the_field(table: Layout, seed: str, dead: Sequence[str]) -> Layout:
    """The same table with antennas that read as they do in the field."""
    devices = []
    for device in table.devices:
        if device.kind == "reader":
            # One antenna alone is channel 0 to the driver and antenna 1 to the reader.
            spread = [max(1, int(channel)) for channel, place in device.places.items() if place in SPREAD]
            reads = {"seed": f"{seed}/{device.name}", "spread": spread, "dead": list(dead)}
            device = replace(device, model=MappingProxyType({**device.model, "reads": reads}))  # noqa: PLW2901
        devices.append(device)
    return Layout.of(devices)
