"""Boot reports to keys, with a simulated keypad and by hand."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.conversation import Conversation
from drivers.errors import ConfigError
from drivers.host import NOISE_OVER
from drivers.keypad import KEYS, KeypadHost, decode_report, default_keymap, encode_report
from drivers.readings import DeviceCleared, DeviceFault, DeviceUp, KeyPressed, KeyReleased, Reading
from simulators.hardware.keypad import Keypad
from tests.virtual_wire import VirtualWire


def _wire(**options: object) -> tuple[VirtualWire, Keypad]:
    keypad = Keypad()
    return VirtualWire(KeypadHost("keys0", path="usb://keys", options=options), keypad), keypad


def _told(readings: list[Reading]) -> list[str]:
    return [
        ("+" if isinstance(reading, KeyPressed) else "-") + reading.key
        for reading in readings
        if isinstance(reading, KeyPressed | KeyReleased)
    ]


def _report(*usages: int) -> bytes:
    return encode_report(usages)


@pytest.fixture
def host() -> KeypadHost:
    host = KeypadHost("keys0")
    host.start(0)
    return host


def test_every_key_goes_down_and_comes_up() -> None:
    wire, keypad = _wire()
    wire.open()
    keypad.tap(*KEYS)
    wire.run(10)
    assert _told(wire.readings) == [sign + key for key in KEYS for sign in "+-"]
    assert wire.readings[0] == DeviceUp("keys0", 1, "keypad", "HID boot keyboard", "", "", "usb://keys")
    assert [reading.reading for reading in wire.readings] == list(range(1, len(wire.readings) + 1))


def test_usages_are_those_of_the_hid_tables() -> None:
    keymap = default_keymap()
    assert [keymap[usage] for usage in (0x59, 0x61, 0x62, 0x1E, 0x27)] == ["1", "9", "0", "1", "0"]
    assert [keymap[usage] for usage in (0x58, 0x28, 0x2A)] == ["ENTER", "ENTER", "CLEAR"]
    assert (keymap[0x68], keymap[0x72]) == ("FOLD", "VOID")
    assert set(keymap.values()) == set(KEYS)


def test_keys_held_together(host: KeypadHost) -> None:
    readings: list[Reading] = []
    for report in (_report(0x68), _report(0x68, 0x59), _report(0x59), _report()):
        readings += host.feed(report, 0).readings
    assert _told(readings) == ["+FOLD", "+1", "-FOLD", "-1"]


def test_a_repeated_report_is_no_second_press(host: KeypadHost) -> None:
    assert _told(list(host.feed(_report(0x68), 0).readings)) == ["+FOLD"]
    assert host.feed(_report(0x68), 1).readings == ()


def test_rollover_changes_nothing() -> None:
    wire, keypad = _wire()
    wire.open()
    for key in "1234567":
        keypad.press(key)
    for key in "1234567":
        keypad.release(key)
    wire.run(10)
    assert _told(wire.readings) == [*(f"+{key}" for key in "123456"), "-1", "+7", *(f"-{key}" for key in "234567")]
    assert wire.of(DeviceFault) == []


def test_a_key_without_legend_is_told_by_its_usage(host: KeypadHost) -> None:
    assert _told(list(host.feed(_report(0x3A), 0).readings)) == ["+?0x3a"]
    assert _told(list(host.feed(b"\x02" + bytes(7), 0).readings)) == ["-?0x3a", "+?0xe1"]


@pytest.mark.parametrize(
    "report",
    [b"", b"\x00", bytes(7), bytes(9), b"\xff" * 8, _report(0x68, 0x02), b"\x00\x00\x68\x68" + bytes(4)],
)
def test_noise_is_counted_and_ends_every_hold(host: KeypadHost, report: bytes) -> None:
    host.feed(_report(0x68), 0)
    step = host.feed(report, 1)
    assert _told(list(step.readings)) == ["-FOLD"]
    (fault,) = [reading for reading in step.readings if isinstance(reading, DeviceFault)]
    assert (fault.fault, dict(fault.counts)["dropped"]) == ("noise", len(report))
    assert host.feed(_report(0x68), 2).readings == ()
    assert _told(list(host.feed(_report(), 3).readings)) == []
    assert _told(list(host.feed(_report(0x68), 4).readings)) == ["+FOLD"]
    assert step.deadline == 1 + NOISE_OVER
    assert isinstance(host.tick(1 + NOISE_OVER).readings[0], DeviceCleared)


def test_the_second_byte_says_nothing(host: KeypadHost) -> None:
    assert _told(list(host.feed(b"\x00\x7f\x68" + bytes(5), 0).readings)) == ["+FOLD"]


def test_a_new_link_knows_of_no_held_key(host: KeypadHost) -> None:
    host.feed(_report(0x68), 0)
    step = host.start(1)
    assert _told(list(step.readings)) == ["-FOLD"]
    assert isinstance(step.readings[-1], DeviceUp)
    host.feed(_report(0x59), 2)
    assert _told(list(host.stop(3).readings)) == ["-1"]


def test_keymap_is_laid_over_the_default() -> None:
    wire, keypad = _wire(keymap={"0x68": "CALL", "0x3A": "FOLD"})  # FOLD has moved to F1
    wire.open()
    keypad.tap("0x68", "0x3a", "7")
    wire.run(10)
    assert _told(wire.readings) == ["+CALL", "-CALL", "+FOLD", "-FOLD", "+7", "-7"]


@pytest.mark.parametrize(
    ("keymap", "words"),
    [
        ({"0x68": "FLOD"}, r"keys0\.keymap\.0x68 = 'FLOD': use one of 0, 1"),
        ({"F13": "FOLD"}, "name the key by its HID usage"),
        ({"0x1": "FOLD"}, "name the key by its HID usage"),
        ({"0x": "FOLD"}, "name the key by its HID usage"),
        ({"0xfff": "FOLD"}, "name the key by its HID usage"),
        ({"0x68": 7}, "use one of"),
        ("FOLD", "give a table"),
        ({"0x68": "CALL"}, "no key means FOLD any more"),
        ({"0x2A": "1"}, "no key means CLEAR any more"),
    ],
)
def test_keymap_is_checked(keymap: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        KeypadHost("keys0", options={"keymap": keymap})


def test_it_is_a_conversation(host: KeypadHost) -> None:
    conversation: Conversation = host
    pressed = conversation.feed(_report(0x59), 0).readings[0]
    assert conversation.acknowledge(pressed, 1).send == ()


@given(st.lists(st.integers(0x04, 0x73), unique=True, max_size=6), st.sets(st.integers(0xE0, 0xE7)))
def test_report_there_and_back(usages: list[int], modifiers: set[int]) -> None:
    assert decode_report(encode_report((*sorted(modifiers), *usages))) == (*sorted(modifiers), *usages)


@given(st.lists(st.binary(max_size=10) | st.binary(min_size=8, max_size=8), max_size=30))
def test_random_reports_never_crash_and_every_press_has_its_release(reports: list[bytes]) -> None:
    host = KeypadHost("keys0")
    readings = list(host.start(0).readings)
    for now, report in enumerate(reports):
        readings += host.feed(report, now).readings
    readings += host.stop(len(reports)).readings
    down: Counter[str] = Counter()  # one legend may be on two keys
    for entry in _told(readings):
        down[entry[1:]] += 1 if entry[0] == "+" else -1
        assert down[entry[1:]] >= 0
    assert not any(down.values())
