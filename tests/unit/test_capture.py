"""Captures of a table in this process: replayed exactly, held against ledger and bytes, bounded, sealed."""

import io
import itertools
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from controller.capture import pcapng, sealedfile, starting, words
from controller.capture.errors import CaptureError
from controller.capture.reading import Said, parts, told
from controller.capture.recorder import CapturedDevice, Origin, Recorder
from controller.capture.starting import CaptureTo
from controller.capture.verifying import verify_capture
from controller.capture.wire import Passed
from controller.configuration.settings import load
from controller.contract.topics import Source
from controller.core.cards import CARDS
from controller.core.inputs import Command, HandSeed, Input, Notice, Tick, What
from controller.core.records import Record
from controller.core.table import Table
from controller.errors import LocalError
from controller.ledger.keys import Keys, create_auditor_key, load_auditor_key, load_auditor_public_key
from controller.ledger.store import Ledger
from controller.runtime.clock import Clock
from drivers import catalog
from drivers.readings import CardSeen, DeviceConflict, DeviceFault, DeviceUp, Reading, TagsSeen
from drivers.tapping import TappedAttendant
from simulators.hardware.keypad import Keypad
from tests.felt import HR, RS, WALL, setup
from tests.running import write_config

MS = 1_000_000
DEVICE = CapturedDevice("keys0", "keypad", "usb://1209:0002", {}, {})


class Taped:
    """A table with a keypad, a ledger and a capture, on a clock that the test moves."""

    def __init__(self, folder: Path, *, auditor: bool = False, limit_mb: int = 64, keep: int = 4) -> None:
        self.folder, self.capture = folder, folder / "table.pcapng"
        self.setup = setup(unit=100)
        self.now = 5_000 * MS
        create_auditor_key(folder / "auditor", folder / "auditor.pub")
        keys = Keys.load(device=folder / "device", auditor=folder / "auditor.pub", create=True)
        self.ledger = Ledger.open(folder / "ledger", source=Source("zg1", "t07"), test=True, keys=keys)
        self.table = Table(self.setup)
        self.device = Keypad()
        self.recorder = Recorder(
            self.capture,
            Origin(self.setup, self.ledger.id, self.ledger.row, (DEVICE,)),
            mono_ns=self.now,
            wall_ns=WALL,
            auditor=load_auditor_public_key(folder / "auditor.pub") if auditor else None,
            limit_mb=limit_mb,
            keep=keep,
        )
        host = catalog.make("keypad", "keys0", "usb://1209:0002")
        self.driver = TappedAttendant("keys0", "usb://1209:0002", host, self.recorder)
        self.numbers = itertools.count(1)
        self.driver.opening()
        self._heard(self.driver.opened(self.now).readings)

    def feed(self, what: Any) -> None:
        stamped = Input(next(self.numbers), self.now, WALL + self.now, what)
        self.recorder.input(stamped)
        self.ledger.append(self.table.feed(stamped), WALL)
        if self.table.wants_seed:
            self.feed(HandSeed(bytes(range(32))))

    def say(self, name: str, **args: Any) -> None:
        self.feed(Command(name, args, "s-01", "manager"))

    def key(self, key: str) -> None:
        for act in (self.device.press, self.device.release):
            act(key)
            self.now += 80 * MS
            for report in self.device.poll(self.now):
                self._heard(self.driver.received(report, self.now).readings)
        self.feed(Tick())

    def _heard(self, readings: tuple[Reading, ...]) -> None:
        for reading in readings:
            self.feed(reading)
            self.driver.acknowledge(reading, self.now)

    def play(self) -> None:
        self.say("open", button=2)
        for seat in (1, 2):
            self.say("seat", seat=seat, stack=10_000)
        for key in ("HAND", "CHECK", "FOLD", "4", "2", "ENTER"):
            self.key(key)

    def end(self) -> None:
        self.feed(Notice("daemon.stopped", {"reason": "SIGTERM"}))
        self.recorder.close()
        self.ledger.close()


@pytest.fixture
def taped(tmp_path: Path) -> Taped:
    return Taped(tmp_path)


def rewritten(path: Path, change: Any) -> None:
    """Write a capture anew; ``change`` may give each packet's data another value, or ``None`` to leave it out."""
    numbers = {"inputs": 0, "keys0": 1}
    with path.open("rb") as file:
        packets = list(pcapng.read(file))
    head = pcapng.section("t") + pcapng.interface("inputs", 147) + pcapng.interface("keys0", 220)
    kept = [(one, data) for one in packets if (data := change(one)) is not None]
    path.write_bytes(head + b"".join(pcapng.packet(numbers[o.interface.name], o.at, data) for o, data in kept))


def test_everything_that_can_enter_the_core_comes_back_equal() -> None:
    readings: list[Reading] = [
        CardSeen("shoe0", 7, "0", "As", None, 99, 4),
        TagsSeen("r", 1, "2", frozenset({"E0", "A1"}), complete=False),
        DeviceFault("r", 2, "noise", "d", (("crc", 3),)),
        DeviceConflict("r", 3, "E0", ("1", "2")),
        DeviceUp("r", 4, "feig", "m", "s", "f", "p", 2),
    ]
    others: list[What] = [
        Tick(),
        Command("open", {"button": 1}, "s"),
        Notice("link.lost", {"a": [1]}),
        HandSeed(bytes(range(32))),
    ]
    for number, what in enumerate([*readings, *others], 1):
        stamped = Input(number, 5, 6, what)
        assert words.as_input(json.loads(words.input_line(stamped))) == stamped
    assert {kind.__name__ for kind in get_args(Reading)} <= set(words._KINDS)


@pytest.mark.parametrize("profile", [RS, HR])
def test_a_table_comes_back_equal(profile: Any) -> None:
    table = replace(setup(unit=100), profile=profile)
    assert words.as_setup(words.plain(table)) == table


def test_inputs_that_this_version_does_not_know_are_said_to_be_so() -> None:
    for said in ({}, {"input": 1, "at": 1, "wall": 1, "kind": "Wink", "what": {}}):
        with pytest.raises(words.NotUnderstood):
            words.as_input(said)
    with pytest.raises(words.NotUnderstood):
        words.as_setup({"site": "zg1"})


def test_a_capture_is_replayed_exactly(taped: Taped) -> None:
    taped.play()
    taped.end()
    replayed = verify_capture(taped.folder / "ledger", taped.capture)
    assert (replayed.faults, replayed.unheld, replayed.notes, replayed.whole) == ([], [], [], True)
    assert replayed.runs == 1
    assert replayed.records > 10
    assert replayed.frames >= 12


def test_a_changed_key_a_left_out_input_and_a_foreign_byte_are_found(taped: Taped) -> None:
    taped.play()
    taped.end()
    whole = taped.capture.read_bytes()

    def faults(change: Any) -> list[str]:
        taped.capture.write_bytes(whole)
        rewritten(taped.capture, change)
        return verify_capture(taped.folder / "ledger", taped.capture).faults

    assert faults(lambda one: one.data) == []
    changed = faults(lambda one: one.data.replace(b'"stack":10000', b'"stack":20000'))
    assert any("leads to another data" in fault for fault in changed)
    assert any("is missing" in fault for fault in faults(lambda one: None if b'"input":3,' in one.data else one.data))
    foreign = bytes(3) + b"\x5a"
    spoiled = faults(lambda one: one.data[:-6] + foreign + bytes(2) if one.interface.name == "keys0" else one.data)
    assert any("the bytes do not say" in fault for fault in spoiled)
    gone = faults(lambda one: None if b"KeyPressed" in one.data else one.data)
    assert any("never got it" in fault for fault in gone)


def test_a_row_that_no_input_led_to_is_found(taped: Taped) -> None:
    taped.play()
    taped.feed(Notice("daemon.stopped", {"reason": "SIGTERM"}))
    taped.ledger.append([Record("ops", "link.lost", "t07", {"basis": "derived"})], WALL)
    taped.recorder.close()
    taped.ledger.close()
    (fault,) = verify_capture(taped.folder / "ledger", taped.capture).faults
    assert "(link.lost)" in fault
    assert "no input of the capture led to it" in fault


def test_a_run_that_was_killed_is_held_as_far_as_it_goes(taped: Taped) -> None:
    taped.play()
    whole = taped.capture.read_bytes()
    taped.end()
    for length in range(len(whole) - 400, len(whole), 7):
        taped.capture.write_bytes(whole[:length])
        replayed = verify_capture(taped.folder / "ledger", taped.capture)
        assert replayed.faults == []
        assert any("the capture ends before" in what for what in replayed.unheld)


def test_what_a_crash_tore_off_does_not_spoil_the_next_run(taped: Taped) -> None:
    taped.play()
    taped.recorder.close()
    taped.ledger.close()
    taped.capture.write_bytes(taped.capture.read_bytes()[:-5])
    again = Origin(taped.setup, taped.ledger.id, 0, ())
    Recorder(taped.capture, again, mono_ns=0, wall_ns=WALL, auditor=None).close()
    begins = [one for one in told(taped.capture) if isinstance(one, Said) and "run" in one.what]
    assert len(begins) == 2


def test_a_capture_is_bounded_and_the_oldest_goes_first(tmp_path: Path) -> None:
    taped = Taped(tmp_path, limit_mb=1, keep=2)
    for _ in range(40):
        taped.recorder.received("keys0", bytes(100_000), taped.now)
    taped.end()
    files = parts(taped.capture)
    assert [file.name for file in files] == ["table.pcapng.2", "table.pcapng.1", "table.pcapng"]
    assert all(file.stat().st_size < 1_300_000 for file in files)
    assert len([one for one in told(taped.capture) if isinstance(one, Passed)]) > 20
    replayed = verify_capture(tmp_path / "ledger", taped.capture)
    assert not replayed.ok
    assert any("not in the capture any more" in what for what in replayed.unheld)


def test_a_capture_over_several_files_is_one(tmp_path: Path) -> None:
    taped = Taped(tmp_path, limit_mb=1)
    taped.play()
    for _ in range(11):
        taped.recorder.called("keys0", "due", taped.now, padding="x" * 100_000)
        taped.driver.due(taped.now)
    taped.key("CHECK")
    taped.end()
    assert len(parts(taped.capture)) == 2
    assert verify_capture(tmp_path / "ledger", taped.capture).faults == []


def test_a_sealed_capture_opens_for_the_auditor_alone(tmp_path: Path) -> None:
    taped = Taped(tmp_path, auditor=True)
    taped.play()
    taped.end()
    data = taped.capture.read_bytes()
    for word in (b"seat", b"input", b"keys0", b"zg1"):
        assert word not in data
    with pytest.raises(CaptureError, match="--card-key"):
        verify_capture(tmp_path / "ledger", taped.capture)
    create_auditor_key(tmp_path / "other", tmp_path / "other.pub")
    with pytest.raises(CaptureError, match="another key"):
        list(told(taped.capture, load_auditor_key(tmp_path / "other")))
    auditor = load_auditor_key(tmp_path / "auditor")
    replayed = verify_capture(tmp_path / "ledger", taped.capture, auditor)
    assert replayed.ok
    assert replayed.faults == []
    taped.capture.write_bytes(data[:-3])  # torn: what is whole is still opened
    assert verify_capture(tmp_path / "ledger", taped.capture, auditor).faults == []
    changed = bytearray(data)
    changed[len(data) // 2] ^= 1
    taped.capture.write_bytes(changed)
    with pytest.raises(CaptureError):
        verify_capture(tmp_path / "ledger", taped.capture, auditor)


def test_what_is_sealed_is_as_long_whatever_the_card_is() -> None:
    seen = [CardSeen("shoe0", 7, "0", card, None, 99, 4) for card in CARDS]
    tags = [CardSeen("shoe0", 7, "0", None, f"E004015A{n:08X}", 99, 4) for n in range(52)]
    assert len({len(words.input_line(Input(1, 5, 6, one))) for one in seen}) == 1
    assert len({len(words.input_line(Input(1, 5, 6, one))) for one in tags}) == 1


def test_a_box_that_was_taken_away_is_missed(tmp_path: Path) -> None:
    taped = Taped(tmp_path, auditor=True)
    taped.play()
    taped.end()
    data = taped.capture.read_bytes()
    frames = list(sealedfile._frames(io.BytesIO(data)))
    taped.capture.write_bytes(data[: frames[3][2]] + data[frames[4][2] :])
    with pytest.raises(CaptureError, match="box 4"):
        list(told(taped.capture, load_auditor_key(tmp_path / "auditor")))


def test_sealed_and_plain_do_not_go_into_one_file(tmp_path: Path) -> None:
    taped = Taped(tmp_path)
    taped.end()
    with pytest.raises(CaptureError, match="another file"):
        Recorder(
            taped.capture,
            Origin(taped.setup, taped.ledger.id, 0, ()),
            mono_ns=0,
            wall_ns=WALL,
            auditor=load_auditor_public_key(tmp_path / "auditor.pub"),
        )


def test_a_disk_that_is_full_ends_the_capture_and_not_the_table(tmp_path: Path) -> None:
    said: list[str] = []
    taped = Taped(tmp_path)
    os.close(taped.recorder._file)
    taped.recorder._file = os.open("/dev/full", os.O_WRONLY)
    taped.recorder._failed = said.append
    taped.play()
    assert len(said) == 1
    assert "space" in said[0]
    assert taped.table.session.state.hand is not None


def test_outside_test_mode_a_capture_is_sealed_or_not_made(tmp_path: Path) -> None:
    settings = load(write_config(tmp_path))
    live = replace(settings, setup=replace(settings.setup, test=False))
    capture = CaptureTo(tmp_path / "table.capture")
    with pytest.raises(LocalError, match="auditor_public_key"):
        starting.begin(capture, live, ("ledger", 0), Clock())
    create_auditor_key(tmp_path / "auditor", tmp_path / "auditor.pub")
    keys = replace(live.ledger, auditor_public_key=tmp_path / "auditor.pub")
    starting.begin(capture, replace(live, ledger=keys), ("ledger", 0), Clock()).close()
    assert sealedfile.is_sealed(capture.path)
    plain = CaptureTo(tmp_path / "plain.pcapng")
    starting.begin(plain, replace(settings, ledger=keys), ("ledger", 0), Clock()).close()
    assert not sealedfile.is_sealed(plain.path)


class Begun(Taped):
    """A table with a shoe whose capture begins inside a hand: its closed cards lie behind the auditor's key."""

    def begin_again(self) -> None:
        self.recorder.close()
        self.capture.unlink()
        self.numbers = itertools.count(1)
        origin = Origin(self.setup, self.ledger.id, self.ledger.row, (DEVICE,))
        self.recorder = Recorder(self.capture, origin, mono_ns=self.now, wall_ns=WALL, auditor=None)
        self.table = Table.restore(self.setup, self.ledger.restore_rows())
        self.driver = TappedAttendant("keys0", DEVICE.uri, catalog.make("keypad", "keys0", DEVICE.uri), self.recorder)
        self.driver.opening()
        self._heard(self.driver.opened(self.now).readings)

    def cards(self, first: int, *cards: str) -> None:
        for number, card in enumerate(cards, first):
            self.now += 300 * MS
            self.feed(CardSeen("shoe0", number, "0", card, None, 99, number))
        self.feed(Tick())


def test_closed_cards_of_a_hand_under_way_are_no_fault_without_the_key(tmp_path: Path) -> None:
    taped = Begun(tmp_path)
    taped.say("open", button=2)
    for seat in (1, 2):
        taped.say("seat", seat=seat, stack=10_000)
    taped.key("HAND")
    taped.cards(1, "As", "Kd")
    taped.begin_again()
    taped.cards(3, "Ah", "Kh")
    taped.key("FOLD")
    taped.key("DONE")
    taped.key("HAND")
    taped.end()
    replayed = verify_capture(tmp_path / "ledger", taped.capture)
    assert replayed.faults == []
    assert replayed.ok
    assert any("cannot be held against without --card-key" in what for what in replayed.unheld), replayed.unheld
    auditor = load_auditor_key(tmp_path / "auditor")
    with_key = verify_capture(tmp_path / "ledger", taped.capture, auditor)
    assert (with_key.faults, with_key.notes) == ([], [])


def test_what_hangs_on_a_closed_card_is_said_not_to_be_held_without_the_key(tmp_path: Path) -> None:
    """At a showdown the core concludes from the cards themselves; the next run is held again."""
    taped = Begun(tmp_path)
    taped.say("open", button=2)
    for seat in (1, 2):
        taped.say("seat", seat=seat, stack=10_000)
    taped.key("HAND")
    taped.cards(1, "As", "Kd", "Ah", "Kh")
    taped.begin_again()
    for key in ("CALL", "CHECK"):
        taped.key(key)
    number = 5
    for street in (("2c", "3d", "7h", "9s"), ("4c", "Td"), ("5c", "Jd")):
        taped.cards(number, *street)
        number += len(street)
        for key in ("CHECK", "CHECK"):
            taped.key(key)
    for key in ("SHOW", "SHOW", "DONE", "HAND"):
        taped.key(key)
    taped.end()
    replayed = verify_capture(tmp_path / "ledger", taped.capture)
    assert (replayed.faults, replayed.ok) == ([], True)
    assert any("what follows: cannot be held against without --card-key" in what for what in replayed.unheld)
    with_key = verify_capture(tmp_path / "ledger", taped.capture, load_auditor_key(tmp_path / "auditor"))
    assert (with_key.faults, with_key.notes) == ([], [])


def test_what_the_ledger_alone_can_name_is_no_difference(tmp_path: Path) -> None:
    """A corrected hand: its records refer to events, and only the ledger knows their ids."""
    taped = Begun(tmp_path)
    taped.say("open", button=2)
    for seat in (1, 2):
        taped.say("seat", seat=seat, stack=10_000)
    taped.key("HAND")
    taped.cards(1, "As", "Kd", "Ah", "Kh")
    taped.key("FOLD")
    taped.key("DONE")
    pending = taped.table.session.state.pending
    assert pending is not None
    (winner,) = pending.result["winners"]
    move = {"from": f"seat:{winner}", "to": f"seat:{3 - winner}", "amount": 100}
    taped.feed(Command("dispute", {}, "s-01", "manager", "the other one won"))
    args = {"incident": "I-19", "ruling": "correct", "moves": [move]}
    taped.feed(Command("rule", args, "s-01", "manager", "so it was"))
    assert [record.type for record in taped.table.session.out.records][1:2] == ["hand.corrected"]
    taped.end()
    replayed = verify_capture(tmp_path / "ledger", taped.capture, load_auditor_key(tmp_path / "auditor"))
    assert (replayed.faults, replayed.notes) == ([], [])
