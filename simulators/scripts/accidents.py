"""What happens to devices, links and the system in a scenario: the same at every kind of table."""

from collections.abc import Callable, Iterator, Mapping

from simulators.disk import LEAVES_KB
from simulators.faults import CHANGES
from simulators.scripts.acts import Act, DeviceAct, Pause, Power, SystemAct
from simulators.scripts.felt import Felt
from simulators.scripts.strict import Section

Expand = Callable[[Section, Felt], Iterator[Act]]
LEAST_STEP_MS = 1


def _device(what: str, *numbers: str) -> Expand:
    def expand(section: Section, felt: Felt) -> Iterator[Act]:
        device = section.choice("device", felt.devices)
        yield DeviceAct(what, device, {name: section.number(name, None) for name in numbers if name in section})
        section.asked.update(numbers)

    return expand


def _jam(section: Section, felt: Felt) -> Iterator[Act]:
    """A card is stuck in the shoe: nothing else can jam."""
    shoes = [one for one in felt.devices if one.startswith("shoe")]
    device = section.choice("device", felt.devices)
    if device not in shoes:
        raise section.wrong("device", device, f"only a shoe jams: {', '.join(shoes) or 'this table has none'}")
    yield DeviceAct("jam", device, {"ms": section.number("ms")} if "ms" in section else {})


def _fault(kind: str) -> Expand:
    """The device's link does this for ``ms``; to its end the device does not know."""

    def expand(section: Section, felt: Felt) -> Iterator[Act]:
        device = section.choice("device", felt.devices)
        yield DeviceAct("fault", device, {"kind": kind, "ms": section.number("ms", 1000, 1)})

    return expand


def _noise(section: Section, felt: Felt) -> Iterator[Act]:
    """Bursts of noise, ``rate`` a second; with ``kinds`` those faults of the link, each at so many percent."""
    device = section.choice("device", felt.devices)
    kinds = section.texts("kinds")
    for kind in kinds:
        if kind not in CHANGES:
            raise section.wrong("kinds", list(kinds), f"a link knows {', '.join(CHANGES)}")
    if not kinds:
        numbers = ("ms", "rate")
        yield DeviceAct("noise", device, {name: section.number(name) for name in numbers if name in section})
        section.asked.update(numbers)
        return
    ms, rate = section.number("ms", 1000, 1), section.number("rate", 100, 1)
    if rate > 100:
        raise section.wrong("rate", rate, "with kinds it is the share of frames that are struck, in percent")
    for number, kind in enumerate(kinds):
        args = {"kind": kind, "ms": ms, "rate": rate / 100, "seed": felt.seed + number}
        yield DeviceAct("fault", device, args)


def _clock(section: Section, _felt: Felt) -> Iterator[Act]:
    """The wall clock is set by ``ms``, forwards or backwards."""
    ms = section.take("ms", int)
    if abs(ms) < LEAST_STEP_MS:
        raise section.wrong("ms", ms, "give the step in ms, negative for backwards")
    yield DeviceAct("clock", "", {"ms": ms})


def _power(*, on: bool) -> Expand:
    def expand(section: Section, felt: Felt) -> Iterator[Act]:
        yield Power(section.choice("what", (*felt.devices, "dut"), "dut"), on)

    return expand


def _swap(section: Section, felt: Felt) -> Iterator[Act]:
    """The plugs of two devices are exchanged; without ``for`` another of the same make takes its place."""
    device = section.choice("device", felt.devices)
    other = ""
    if "for" in section:
        readers = [one for one in felt.devices if not one.startswith(("shoe", "keys", "cam"))]
        if device not in readers:
            raise section.wrong("for", section.data["for"], f"only plugs of readers are alike: {', '.join(readers)}")
        other = section.choice("for", [one for one in readers if one != device])
    section.asked.add("for")
    yield DeviceAct("swap", device, {"other": other} if other else {})


def _freeze(section: Section, _felt: Felt) -> Iterator[Act]:
    """The broker hangs with its connections open, for ``ms`` or until ``broker.start``."""
    yield SystemAct("broker.freeze")
    if ms := section.number("ms", 0):
        yield Pause(ms)
        yield SystemAct("broker.start")


def _fill(section: Section, _felt: Felt) -> Iterator[Act]:
    """The disk of the ledger is filled but for ``leave_kb``, for ``ms`` or to the end of the run."""
    yield SystemAct("disk.fill", section.number("leave_kb", LEAVES_KB))
    if ms := section.number("ms", 0):
        yield Pause(ms)
        yield SystemAct("disk.free")


def just(act: Act) -> Expand:
    """An act that takes no arguments."""

    def expand(_section: Section, _felt: Felt) -> Iterator[Act]:
        yield act

    return expand


ACTS: Mapping[str, Expand] = {
    "device.unplug": _device("unplug"),
    "device.plug": _device("plug"),
    "device.reset": _device("reset"),
    "device.swap": _swap,
    "device.jam": _jam,
    "device.deaf": _fault("deaf"),
    "device.slow": _fault("slow"),
    "link.noise": _noise,
    "clock.step": _clock,
    "power.cut": _power(on=False),
    "power.on": _power(on=True),
    "daemon.kill": just(SystemAct("daemon.kill")),
    "daemon.start": just(SystemAct("daemon.start")),
    "broker.stop": just(SystemAct("broker.stop")),
    "broker.freeze": _freeze,
    "disk.fill": _fill,
    "broker.start": just(SystemAct("broker.start")),
}
