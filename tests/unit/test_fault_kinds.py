"""What public daemons got wrong with devices, kind by kind: those that are about protocols, on a fake clock.

The kinds about the operating system are in ``tests/integration/test_fault_kinds.py``. Each test is named by the
number of its kind.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from controller.core.facts import Evidence
from controller.core.inputs import Input
from controller.core.sensing.counting import tray_count
from controller.core.setup import Chipset, Deck, Denomination, DeviceInfo
from controller.core.table import Table
from drivers import camera, catalog, eccel, mercury, shoe
from drivers.feig import response_framer
from drivers.framing import Framer
from drivers.options import MS
from drivers.readings import (
    CardSeen,
    CardSighted,
    DeviceCleared,
    DeviceConflict,
    DeviceFault,
    DeviceUp,
    Reading,
    TagsSeen,
)
from simulators.hardware.camera import SmartCamera
from simulators.hardware.device import Device
from simulators.hardware.eccel import PepperReader
from simulators.hardware.feig import FeigReader
from simulators.hardware.feig_buffered import FeigBufferedReader
from simulators.hardware.mercury import MercuryModule
from simulators.hardware.shoe import SmartShoe
from simulators.rigs import VirtualWire as Rig
from tests import felt
from tests.virtual_wire import VirtualWire, clean

TAGS = [f"E01680FF0800{number:04X}" for number in range(20)]
SECOND = 1000 * MS

AnyReader = FeigReader | PepperReader | MercuryModule


@dataclass(frozen=True)
class Case:
    """One way to read tags: a driver, its options, and the simulated device."""

    driver: str
    make: Callable[[], AnyReader]
    options: dict[str, object] = field(default_factory=dict)
    channel: str = "0"

    def wire(self, **more: object) -> tuple[VirtualWire, AnyReader]:
        device = self.make()
        wire = VirtualWire(catalog.make(self.driver, "dev0", "p", None, self.options | more), device)
        wire.commit = True
        return wire, device


READERS = {
    "feig": Case("feig", FeigReader),
    "feig-antennas": Case("feig", FeigReader, {"antennas": [1, 2]}, "1"),
    "feig-buffered": Case("feig-buffered", FeigBufferedReader),
    "feig-notify": Case("feig-buffered", lambda: FeigBufferedReader(notify=True), {"mode": "notify"}),
    "eccel": Case("eccel", PepperReader),
    "eccel-mux": Case("eccel", PepperReader, {"antennas": [1, 2]}, "1"),
    "mercury": Case("mercury", MercuryModule),
}
every_reader = pytest.mark.parametrize("case", READERS.values(), ids=READERS)

FRAMERS: dict[str, tuple[Callable[[], Framer[Any]], bytes]] = {
    "feig": (response_framer, bytes.fromhex("0600b0015c63")),
    "eccel": (eccel.framer, eccel.done(eccel.Command.PING)),
    "mercury": (mercury.response_framer, mercury.Response(0x22, 0x0400).encode()),
    "shoe": (shoe.framer, shoe.Frame(shoe.Kind.PONG, b"\x01\x00").encode()),
    "camera": (camera.framer, camera.Frame(camera.Kind.PONG, b"\x00").encode()),
}


def whole(wire: VirtualWire, channel: str) -> list[frozenset[str]]:
    """What was said to be all there is on one channel, in order."""
    return [seen.tags for seen in wire.of(TagsSeen) if seen.channel == channel and seen.complete]


@pytest.mark.parametrize("name", FRAMERS)
@pytest.mark.parametrize("preamble", ["", "00", "000000", "55" * 16, "00" * 40, "ff", "02", "f5", "4653"])
def test_kind_05_whatever_stands_before_a_frame(name: str, preamble: str) -> None:
    make, frame = FRAMERS[name]
    framer = make()
    got = framer.feed(bytes.fromhex(preamble) + frame) + framer.flush()
    assert len(got) == 1
    assert len(make().feed(frame)) == 1


@every_reader
def test_kind_06_how_reads_are_cut_changes_nothing(case: Case) -> None:
    told: list[list[frozenset[str]]] = []
    for cut in (1, 3, 64, 1 << 20):
        wire, device = case.wire()
        wire.cut = cut
        device.put(TAGS)
        wire.open()
        wire.run(6000)
        assert wire.of(DeviceFault) == []
        told.append(whole(wire, case.channel))
    assert told[0][-1] == frozenset(TAGS)
    assert all(each == told[0] for each in told)


@every_reader
def test_kind_07_it_works_the_second_time_without_a_power_cycle(case: Case) -> None:
    wire, device = case.wire()
    device.put(TAGS[:5])
    for end in ("quiet", "killed", "quiet", "killed"):
        wire.readings.clear()
        wire.open()
        wire.run(6037)
        assert len(wire.of(DeviceUp)) == 1
        assert whole(wire, case.channel)[-1] == frozenset(TAGS[:5])
        if end == "quiet":
            for frame in wire.host.stop(wire.now).send:
                device.feed(frame, wire.now)


RESTARTING = {name: case for name, case in READERS.items() if not name.startswith("eccel")}


@pytest.mark.parametrize("case", RESTARTING.values(), ids=RESTARTING)
def test_kind_09_a_boot_frame_in_the_middle_is_a_restart(case: Case) -> None:
    wire, device = case.wire()
    device.put(TAGS[:5])
    wire.open()
    wire.run(6000)
    device.reset()
    wire.run(8000)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["reset"]
    assert [clear.fault for clear in wire.of(DeviceCleared)] == ["reset"]
    assert set(whole(wire, case.channel)) == {frozenset(TAGS[:5])}


@every_reader
def test_kind_12_presence_does_not_hang_on_how_often_a_tag_is_repeated(case: Case) -> None:
    # A FEIG reader tells a found tag no more until its field was off; a Mercury module filters what it has told.
    wire, device = case.wire()
    device.put(TAGS[:3])
    wire.open()
    wire.run(60_000)
    assert set(whole(wire, case.channel)) == {frozenset(TAGS[:3])}


Stocked = Callable[[], tuple[str, Device, dict[str, object]]]


def stocked_shoe() -> tuple[str, Device, dict[str, object]]:
    device = SmartShoe()
    device.load(["As", "Kd", "2c", "9h"])
    for _ in range(4):
        device.slide(0)
    return "shoe", device, {}


def stocked_camera() -> tuple[str, Device, dict[str, object]]:
    device = SmartCamera()
    for card in ("As", "Kd", "2c", "9h"):
        device.lay(1, card)
    return "camera", device, {}


def stocked(case: Case) -> Stocked:
    def make() -> tuple[str, Device, dict[str, object]]:
        device = case.make()
        device.put(TAGS)
        return case.driver, device, case.options

    return make


SPEAKERS: dict[str, Stocked] = {"shoe": stocked_shoe, "camera": stocked_camera} | {
    name: stocked(case) for name, case in READERS.items()
}


@pytest.mark.parametrize("name", SPEAKERS)
def test_kind_14_bad_frames_are_not_answered_one_by_one(name: str) -> None:
    driver, device, options = SPEAKERS[name]()
    wire = VirtualWire(catalog.make(driver, "dev0", "p", None, options), device)
    wire.open()
    wire.run(50)
    wire.sent.clear()
    _, frame = FRAMERS[driver.removesuffix("-buffered")]
    broken = frame[:-1] + bytes((frame[-1] ^ 1,))
    for _ in range(500):
        wire.hear(broken)
    assert len(wire.sent) <= 3
    assert [fault.fault for fault in wire.of(DeviceFault) if fault.fault != "empty"] == ["noise"]


@pytest.mark.parametrize("name", ["shoe", "camera"])
def test_kind_16_a_late_host_hears_each_card_once(name: str) -> None:
    driver, device, options = SPEAKERS[name]()
    wire = VirtualWire(catalog.make(driver, "dev0", "p", None, options), device)
    wire.to_host = lambda data: [data, data]
    wire.open()
    wire.run(10_000)  # nothing is confirmed: all of it is repeated again and again
    cards = [seen.card for seen in wire.of(CardSeen)]
    cards += [seen.card for seen in wire.of(CardSighted) if not seen.standing]
    assert cards == ["As", "Kd", "2c", "9h"]
    numbers = [seen.sequence for seen in wire.readings if isinstance(seen, CardSeen | CardSighted)]
    assert numbers == sorted(set(numbers))


@every_reader
def test_kind_24_a_resting_tag_is_not_removed_every_few_seconds(case: Case) -> None:
    wire, device = case.wire()
    device.put(TAGS[:2])
    wire.open()
    wire.run(8000)
    settled = len(wire.readings)
    wire.run(120_000)
    assert set(whole(wire, case.channel)) == {frozenset(TAGS[:2])}
    channels = 2 if case.channel != "0" else 1
    assert len(wire.readings) - settled <= channels * 25, "told now and then, not all the time"


@every_reader
@pytest.mark.parametrize("share", [2, 3, 1])
def test_kind_25_noise_is_not_absence_and_has_an_end(case: Case, share: int) -> None:
    wire, device = case.wire(**({} if case.driver == "feig" else {"backstop_ms": 20_000}))
    device.put(TAGS[:3])
    wire.open()
    wire.run(6000)
    frames = [0]

    def corrupt(data: bytes) -> list[bytes]:
        frames[0] += 1
        return [data if frames[0] % share else data[:-1] + bytes((data[-1] ^ 1,))]

    wire.to_host = corrupt
    for _ in range(12):
        wire.run(5000)
        if wire.failed is not None:
            break
    assert set(whole(wire, case.channel)) == {frozenset(TAGS[:3])}
    if share == 1:
        assert wire.failed == "timeout", "the backstop: nothing but noise is a lost device"
    wire.to_host = clean
    wire.open()
    wire.run(8000)
    assert whole(wire, case.channel)[-1] == frozenset(TAGS[:3])


def pumped(rig: Rig, now: int, until: int) -> list[Reading]:
    readings = rig.pump(now)
    while (due := rig.deadline()) is not None and due <= until:
        now = max(now, due)
        readings += rig.pump(now)
    return readings


@pytest.mark.parametrize("name", ["feig-antennas", "eccel-mux"])
def test_kind_26_one_tag_on_two_channels_is_a_conflict_until_it_is_over(name: str) -> None:
    case = READERS[name]
    device = case.make()
    rig = Rig("dev0", case.driver, device, options=case.options)
    device.put(TAGS[:2], antenna=1)
    pumped(rig, 0, 5 * SECOND)
    device.put(TAGS[1:3], antenna=2)
    told = pumped(rig, 5 * SECOND, 20 * SECOND)
    (conflict,) = [each for each in told if isinstance(each, DeviceConflict)]
    assert (conflict.device, conflict.tag, conflict.channels) == ("dev0", TAGS[1], ("1", "2"))
    device.take(TAGS[1:2], antenna=1)
    told = pumped(rig, 20 * SECOND, 40 * SECOND)
    assert [each.fault for each in told if isinstance(each, DeviceCleared)] == ["conflict"]
    assert not [each for each in told if isinstance(each, DeviceConflict)]


def test_kind_26_a_conflict_is_recorded_and_the_tag_is_not() -> None:
    device = DeviceInfo("bets0", "feig", {"1": "bet:1", "2": "bet:2"}, "reader")
    table = Table(replace(felt.setup(), devices=(device,)))
    conflict = DeviceConflict("bets0", 9, TAGS[0], ("1", "2"))
    (record,) = table.feed(Input(1, SECOND, felt.WALL, conflict))
    assert (record.stream, record.type, record.subject) == ("ops", "device.conflict", "bets0")
    assert record.data["role"] == ["bet:1", "bet:2"]
    assert TAGS[0] not in repr(record)


@pytest.mark.parametrize("name", ["feig-antennas", "eccel-mux"])
def test_kind_26_a_chip_that_moves_is_no_conflict(name: str) -> None:
    case = READERS[name]
    device = case.make()
    rig = Rig("dev0", case.driver, device, options=case.options)
    device.put(TAGS[:3], antenna=1)
    now, told = 0, []
    for turn in range(20):
        told += pumped(rig, now, now + 3 * SECOND)
        now += 3 * SECOND
        here, there = (1, 2) if turn % 2 == 0 else (2, 1)
        device.take(TAGS[:3], antenna=here)
        device.put(TAGS[:3], antenna=there)
    assert not [each for each in told if isinstance(each, DeviceConflict)]


@every_reader
def test_kind_27_two_readers_never_mix_what_they_hear(case: Case) -> None:
    first, one = case.wire()
    second, two = case.wire()
    one.put(TAGS[:3])
    two.put(TAGS[3:5])
    for wire in (first, second):
        wire.cut = 1
        wire.open()
    for _ in range(200):
        first.run(30)
        second.run(30)
    assert set(whole(first, case.channel)) == {frozenset(TAGS[:3])}
    assert set(whole(second, case.channel)) == {frozenset(TAGS[3:5])}


def shifted(tag: str) -> str:
    """What a bit slip makes of an identifier: it has the right length and no checksum objects."""
    return f"{int(tag, 16) << 1 & (1 << 64) - 1:016X}"


def test_kind_28_an_identifier_that_no_registry_knows_is_no_card_and_no_chip() -> None:
    source = Evidence("tray0", 1)
    chips = Chipset("test", (Denomination("c", 100),), {TAGS[1]: "c"})
    counted = tray_count(chips, {TAGS[1], shifted(TAGS[1])}, source)
    assert (counted.counts, counted.unknown) == (((100, 1),), (shifted(TAGS[1]),))
    for tag, doubts in ((shifted(TAGS[0]), ["doubtful"]), (TAGS[0], [])):
        table = Table(replace(felt.setup(), deck=Deck("d1", {TAGS[0]: "As"})))
        records = table.feed(Input(1, SECOND, felt.WALL, CardSeen("shoe0", 1, "0", None, tag, 100, 1)))
        assert [record.data["cause"] for record in records if record.type == "device.fault"] == doubts
