"""What is fuzzed: each target takes bytes, and raises where something is not as it must be.

What must hold: no exception but those that are part of the contract, no more memory than a bound, no endless talk,
and a device that speaks well again is understood again.
"""

import contextlib
import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from controller.capture import pcapng, sealedfile, wire
from controller.capture.words import NotUnderstood, as_input
from controller.core.errors import BadCommand
from controller.core.inputs import HandSeed, Input, Tick
from controller.core.setup import Chipset, Deck, Denomination, DeviceInfo, Setup
from controller.core.table import Table
from drivers import camera, catalog, eccel, mercury, shoe
from drivers.errors import ProtocolError
from drivers.feig import decode_inventory, response_framer
from drivers.feig_records import decode_records
from drivers.framing import Framer
from drivers.keypad import decode_report
from drivers.readings import (
    CardSeen,
    CardSighted,
    DeviceCleared,
    DeviceConflict,
    DeviceFault,
    DeviceLost,
    DeviceUp,
    KeyPressed,
    KeyReleased,
    Reading,
    TagsSeen,
)
from simulators.hardware.device import Device
from simulators.host import MODELS
from tests.felt import DEVICES, WALL, setup
from tests.virtual_wire import VirtualWire

Target = Callable[[bytes], None]
DRIVERS = ("feig", "feig-buffered", "eccel", "mercury", "shoe", "camera", "keypad")
FRAMERS: Mapping[str, Callable[[], Framer[Any]]] = {
    "feig": response_framer,
    "eccel": eccel.framer,
    "mercury": mercury.response_framer,
    "shoe": shoe.framer,
    "camera": camera.framer,
}
DECODERS: tuple[Callable[[bytes], object], ...] = (decode_inventory, decode_records, decode_report)
MOST_PENDING = 1 << 17
MOST_READINGS = 5000
RECOVERY_MS = 60_000
PLACES = ("seat:1", "seat:2", "board", "burn", "muck", "stack:1", "stack:2", "bet:1", "bet:2", "pot", "tray")


def framer(name: str) -> Target:
    """Any bytes, cut anywhere: the same frames, a bounded buffer, and all bytes accounted for after silence."""

    def run(data: bytes) -> None:
        whole, pieces = FRAMERS[name](), FRAMERS[name]()
        found = whole.feed(data) + whole.flush()
        cut = [each for piece in _pieces(data) for each in pieces.feed(piece)] + pieces.flush()
        assert repr(found) == repr(cut), f"{name}: other frames when cut: {found} {cut}"
        assert whole.pending == 0
        pieces.feed(data)
        assert pieces.pending < MOST_PENDING, f"{name}: {pieces.pending} bytes wait"

    return run


def decoders(data: bytes) -> None:
    """Decoders without a stream refuse what they do not understand, and raise nothing else."""
    for decode in DECODERS:
        try:
            decode(data)
        except ProtocolError:
            continue


def driver(name: str) -> Target:
    """A conversation that is told any bytes ends neither in an exception nor in endless talk, and comes to itself."""

    def run(data: bytes) -> None:
        device: Device = MODELS[name][0]()
        wire_ = VirtualWire(catalog.make(name, "dev0", "p"), device)
        wire_.commit = True
        wire_.open()
        for piece in _pieces(data):
            wire_.run(20)
            step = wire_.host.feed(piece, wire_.now)
            assert len(step.readings) < MOST_READINGS
            assert len(step.send) < MOST_READINGS
            if wire_.failed or step.failed:
                wire_.open()
        before = len(wire_.readings)
        device.power_cycle(wire_.now)
        wire_.open()
        for _ in range(0, RECOVERY_MS, 1000):
            wire_.run(1000)
            if wire_.failed:
                wire_.open()
            if any(isinstance(reading, DeviceUp) for reading in wire_.readings[before:]):
                return
        raise AssertionError(f"{name}: not up again {RECOVERY_MS} ms after the last of {data.hex()}")

    return run


def sensing(kind: str) -> Target:
    """Any readings in any order: the core concludes something or nothing, and never raises."""

    def run(data: bytes) -> None:
        table = Table(_setup(kind))
        numbers, at = itertools.count(1), 0
        made = 0
        for reading, passed in _readings(data):
            at += passed
            for what in (reading, Tick()):
                made += len(table.feed(Input(next(numbers), at, WALL + at, what)))
                if table.wants_seed:
                    table.feed(Input(next(numbers), at, WALL + at, HandSeed(bytes(32))))
            due = table.deadline()
            assert due is None or due > at - 10**12
        assert made < MOST_READINGS * 20

    return run


def captures(data: bytes) -> None:
    """A capture may be damaged in any way."""
    for stream in (data, pcapng.section("t") + pcapng.interface("shoe0", wire.USB) + data):
        try:
            for packet in pcapng.read(io.BytesIO(stream)):
                wire.unwrap(packet)
        except pcapng.Damaged:
            continue
    with contextlib.suppress(pcapng.Damaged):
        sealedfile.whole_length(io.BytesIO(data))
    try:
        said = json.loads(data)
        as_input(said if isinstance(said, dict) else {})
    except (NotUnderstood, ValueError, RecursionError, BadCommand):
        return


TARGETS: dict[str, Target] = {
    **{f"frames-{name}": framer(name) for name in FRAMERS},
    "decoders": decoders,
    **{f"driver-{name}": driver(name) for name in DRIVERS},
    "sensing-shoe": sensing("shoe"),
    "sensing-rfid": sensing("rfid"),
    "captures": captures,
}


def seeds(vectors: Path | None) -> list[bytes]:
    """Where fuzzing begins: frames of every protocol of ours, and the recorded ones where they are at hand."""
    made = [shoe.Frame(shoe.Kind.CARD, shoe.Card("As", 99).encode(), 1).encode(), bytes(8), b"", bytes(range(64))]
    made.append(camera.Frame(camera.Kind.SIGHT, camera.Sight(1, 1, "As", 99, up=True).encode(), 1).encode())
    if vectors is not None and vectors.is_file():
        told = json.loads(vectors.read_text(encoding="utf-8"))
        listed = told if isinstance(told, list) else told["vectors"]
        made += [bytes.fromhex(one["hex"].replace(" ", "")) for one in listed]
    return made


def _pieces(data: bytes) -> Iterator[bytes]:
    """The bytes in pieces whose sizes depend on them alone."""
    at = 0
    while at < len(data):
        size = data[at] % 23 + 1
        yield data[at : at + size]
        at += size


REGIONS = {"0": "shoe", "1": "seat:1", "2": "seat:2", "3": "board", "4": "muck"}


def _setup(kind: str) -> Setup:
    if kind == "shoe":
        return setup(devices=(*DEVICES, DeviceInfo("cam0", "camera", REGIONS, "camera")))
    chips = Chipset("t", (Denomination("c", 100),), {f"C{number}": "c" for number in range(16)})
    deck = Deck(
        "d1", {f"D{number}": card for number, card in enumerate(["As", "Kd", "7c", "2h", "Td", "9s", "3c", "4d"])}
    )
    places = {str(number): place for number, place in enumerate(PLACES)}
    devices = (
        DeviceInfo("r", "feig", places),
        DeviceInfo("keys0", "keypad", {}, "keypad"),
        DeviceInfo("cam0", "camera", REGIONS, "camera"),
    )
    made = setup()
    return Setup("zg1", "t07", "rfid", 2, made.profile, made.limits, chips, deck, devices, test=True)


KEYS = ("HAND", "FOLD", "CHECK", "CALL", "ENTER", "SHOW", "DONE", "UNDO", "ALL_IN", "1", "2", "5", "0", "CLEAR")
DEVICE_NAMES = ("r", "keys0", "shoe0", "cam0")
CARDS = ("As", "Kd", "7c", "2h", "Td", None)


def _readings(data: bytes) -> Iterator[tuple[Reading, int]]:
    """Readings from bytes, four bytes each: what, of which, with what, and the ms that pass."""
    for number in range(len(data) // 4):
        what, which, more, passed = data[4 * number : 4 * number + 4]
        count = number + 1
        reading: Reading
        match what % 10:
            case 0 | 1:
                reading = KeyPressed("keys0", count, KEYS[which % len(KEYS)])
            case 2:
                reading = KeyReleased("keys0", count, KEYS[which % len(KEYS)])
            case 3:
                reading = CardSeen("shoe0", count, "0", CARDS[which % len(CARDS)], None, more % 101, count)
            case 4 | 5:
                tags = frozenset(f"{'CD'[bit % 2]}{(which + bit) % 16}" for bit in range(more % 6))
                reading = TagsSeen("r", count, str(which % len(PLACES)), tags, complete=more < 200)
            case 6:
                reading = DeviceLost(DEVICE_NAMES[which % 4], count, "unplugged", "p")
            case 7:
                reading = DeviceUp(DEVICE_NAMES[which % 4], count, "feig", "m", "s", "f", "p")
            case 8:
                card, region, face = CARDS[which % len(CARDS)], str(more % 6), ("up", "down")[what // 10 % 2]
                here, before = which % 7 > 0, which % 11 == 0
                reading = CardSighted("cam0", count, region, which % 16, card, face, more % 101, here, before, count)
            case _:
                conflict = DeviceConflict("r", count, f"C{which % 16}", (str(which % 11), str(more % 11)))
                fault = DeviceFault("r", count, ("noise", "reset", "overflow", "rf")[which % 4])
                reading = (conflict, fault, DeviceCleared("r", count, "conflict"))[more % 3]
        yield reading, passed * 10_000_000
