"""The Mercury conversation with a simulated module on a fake clock."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.conversation import Conversation
from drivers.errors import ConfigError
from drivers.mercury import HALT, Opcode, Request, Response, Status
from drivers.mercury_host import MercuryHost
from drivers.readings import DeviceCleared, DeviceFault, DeviceUp, TagsSeen
from simulators.hardware.mercury import MercuryModule
from tests.virtual_wire import VirtualWire, clean
from tests.weather import BABBLE, babble, days, persevere, spoiling

TAGS = [f"E2801160600002{number:010X}" for number in range(300)]
STOP = Request(Opcode.CONTINUOUS, HALT).encode()


def _wire(module: MercuryModule | None = None, cut: int = 4096, **options: object) -> tuple[VirtualWire, MercuryModule]:
    module = module or MercuryModule()
    wire = VirtualWire(MercuryHost("tray0", path="p", options=options), module, cut)
    return wire, module


def _tune(wire: VirtualWire, module: MercuryModule, uri: int = 115_200) -> None:
    """Let the module hear the line speed that the host has asked for."""

    def carry(data: bytes) -> list[bytes]:
        module.line = wire.baud or uri
        return [data]

    module.line = uri
    wire.to_device = carry


def _seen(wire: VirtualWire) -> list[tuple[frozenset[str], bool]]:
    return [(reading.tags, reading.complete) for reading in wire.of(TagsSeen)]


def test_it_is_a_conversation() -> None:
    conversation: Conversation = MercuryHost("tray0")
    assert conversation.stop(0).send == ()


@pytest.mark.parametrize("cut", [1, 13, 4096])
def test_who_it_is_and_what_lies_there(cut: int) -> None:
    wire, module = _wire(cut=cut)
    module.put(TAGS[:20])
    wire.open()
    wire.run(6000)
    assert wire.of(DeviceUp) == [DeviceUp("tray0", 1, "mercury", "M-01000003", "", "01.07.02.09 (20141007)", "p")]
    assert _seen(wire)[0][1] is False
    assert _seen(wire)[-1] == (frozenset(TAGS[:20]), True)
    assert not wire.of(DeviceFault)


def test_a_full_tray_in_bounded_time_and_told_seldom() -> None:
    wire, module = _wire()
    module.put(TAGS)
    wire.open()
    wire.run(5000)
    assert _seen(wire)[-1] == (frozenset(TAGS), True)
    before = len(wire.readings)
    wire.run(10_000)
    assert len(wire.readings) - before <= 3


def test_a_tag_that_leaves_is_gone_after_the_window() -> None:
    wire, module = _wire(window_ms=3000)
    module.put(TAGS[:3])
    wire.open()
    wire.run(5000)
    module.take(TAGS[:1])
    wire.run(2000)
    assert _seen(wire)[-1] == (frozenset(TAGS[:3]), True)
    wire.run(2500)
    assert _seen(wire)[-1] == (frozenset(TAGS[1:3]), True)


def test_an_empty_field_is_known_by_its_signs_of_life() -> None:
    wire, _ = _wire()
    wire.open()
    wire.run(6000)
    assert _seen(wire)[-1] == (frozenset(), True)
    wire.run(60_000)
    assert wire.failed is None


def test_antennas_are_channels() -> None:
    wire, module = _wire(antennas=[1, 2, 4])
    module.put(TAGS[:2], antenna=1)
    module.put(TAGS[2:5], antenna=2)
    module.put(TAGS[5:6], antenna=3)
    wire.open()
    wire.run(6000)
    last = {reading.channel: (reading.tags, reading.complete) for reading in wire.of(TagsSeen)}
    assert last == {
        "1": (frozenset(TAGS[:2]), True),
        "2": (frozenset(TAGS[2:5]), True),
        "4": (frozenset(), True),
    }


def test_a_module_left_reading_by_a_former_host_is_stopped_drained_and_begun_anew() -> None:
    wire, module = _wire()
    module.put(TAGS[:50])
    wire.open()
    wire.run(4000)
    again = VirtualWire(MercuryHost("tray0"), module)
    again.now = wire.now
    assert module.reading
    again.open()
    again.run(6000)
    assert again.sent[0] == STOP
    assert len(again.of(DeviceUp)) == 1
    assert _seen(again)[-1] == (frozenset(TAGS[:50]), True)


@pytest.mark.parametrize("baud", [9_600, 921_600])
def test_a_module_at_another_speed_is_found(baud: int) -> None:
    module = MercuryModule(baud=baud)
    wire, _ = _wire(module)
    _tune(wire, module)
    module.put(TAGS[:5])
    wire.open()
    wire.run(20_000)
    assert wire.baud == baud
    assert len(wire.of(DeviceUp)) == 1
    assert _seen(wire)[-1] == (frozenset(TAGS[:5]), True)


def test_a_module_that_reads_at_another_speed_is_found_through_its_noise() -> None:
    module = MercuryModule(baud=9_600)
    first, _ = _wire(module)
    module.put(TAGS[:5])
    first.open()
    first.run(3000)
    wire, _ = _wire(module)
    wire.now = first.now
    _tune(wire, module)
    wire.open()
    wire.run(60_000)
    assert wire.baud == 9_600
    assert _seen(wire)[-1] == (frozenset(TAGS[:5]), True)


def test_nobody_there() -> None:
    wire, _ = _wire(retries=2, timeout_ms=100)
    wire.to_host = lambda data: []
    wire.open()
    wire.run(10_000)
    assert (wire.failed, wire.readings) == ("timeout", [])


def test_a_boot_frame_in_the_middle_is_a_restart() -> None:
    wire, module = _wire()
    module.put(TAGS[:5])
    wire.open()
    wire.run(5000)
    module.reset()
    wire.run(1000)
    assert _seen(wire)[-1] == (frozenset(TAGS[:5]), False)
    wire.run(6000)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["reset"]
    assert [clear.fault for clear in wire.of(DeviceCleared)] == ["reset"]
    assert len(wire.of(DeviceUp)) == 1
    assert module.reading
    assert _seen(wire)[-1] == (frozenset(TAGS[:5]), True)


@pytest.mark.parametrize(
    ("status", "fault"), [(Status.THROTTLE, "throttle"), (Status.RETURN_LOSS, "antenna"), (0x0777, "rf")]
)
def test_a_module_in_trouble_loses_no_tag(status: int, fault: str) -> None:
    wire, module = _wire()
    module.put(TAGS[:5])
    wire.open()
    wire.run(5000)
    module.trouble(status, times=4)
    wire.run(3000)
    assert [each.fault for each in wire.of(DeviceFault)] == [fault]
    assert _seen(wire)[-1] == (frozenset(TAGS[:5]), False)
    wire.run(12_000)
    assert [each.fault for each in wire.of(DeviceCleared)] == [fault]
    assert _seen(wire)[-1] == (frozenset(TAGS[:5]), True)
    assert {tags for tags, _ in _seen(wire)} == {frozenset(TAGS[:5])}


def test_a_module_that_falls_silent_is_looked_for_and_given_up() -> None:
    wire, module = _wire()
    module.put(TAGS[:5])
    wire.open()
    wire.run(5000)
    wire.sent.clear()
    wire.to_host = lambda data: []
    wire.run(30_000)
    assert wire.sent[:2] == [STOP, Request(Opcode.VERSION).encode()]
    assert wire.failed == "timeout"
    assert (frozenset(), True) not in _seen(wire)


def test_it_is_left_silent() -> None:
    wire, module = _wire()
    wire.open()
    wire.run(3000)
    (stop,) = wire.host.stop(wire.now).send
    module.feed(stop, wire.now)
    assert not module.reading


def test_a_refused_setting_is_named() -> None:
    wire, _ = _wire(region="na")

    def refuse(data: bytes) -> list[bytes]:
        response = Response.decode(data)
        return [Response(response.opcode, 0x0105).encode() if response.opcode == Opcode.SET_REGION else data]

    wire.to_host = refuse
    wire.open()
    wire.run(2000)
    assert wire.failed == "refused"
    assert "operation 0x97 refused with status 0x0105" in wire.of(DeviceFault)[0].detail


def test_another_module_is_refused_by_name() -> None:
    wire = VirtualWire(MercuryHost("tray0", expect={"model": "M-FF"}), MercuryModule())
    wire.open()
    wire.run(1000)
    assert wire.failed == "wrong_device"


def test_options_are_all_checked_and_named() -> None:
    with pytest.raises(ConfigError) as caught:
        MercuryHost("tray0", options={"region": "moon", "antennas": [99], "bauds": [1], "colour": 1})
    assert len([caught.value, *caught.value.also]) == 4
    with pytest.raises(ConfigError, match="tells none"):
        MercuryHost("tray0", expect={"serial": "1"})


@settings(max_examples=12)
@given(days(), st.integers(1, 300))
def test_a_bad_line_never_takes_a_tag_away(weather: list[str], cut: int) -> None:
    wire, module = _wire(cut=cut)
    module.put(TAGS[:10])
    wire.to_host = spoiling(weather, b"\xff\x05\x22")
    wire.open()
    persevere(wire, 12)
    assert {tags for tags, complete in _seen(wire) if complete} == {frozenset(TAGS[:10])}


def test_noise_that_does_not_end_gives_no_empty_tray_and_is_given_up() -> None:
    wire, module = _wire(backstop_ms=10_000)
    module.put(TAGS[:5])
    wire.open()
    wire.run(5000)
    wire.to_host = lambda data: [data[:-1] + bytes((data[-1] ^ 1,)), Response(0x22, Status.NO_TAGS).encode()]
    wire.run(20_000)
    assert wire.failed == "timeout"
    assert (frozenset(), True) not in _seen(wire)
    wire.to_host = clean
    wire.open()
    wire.run(6000)
    assert _seen(wire)[-1] == (frozenset(TAGS[:5]), True)


@given(BABBLE)
def test_random_bytes_never_make_the_tray_empty(pieces: list[tuple[bytes, int]]) -> None:
    wire, module = _wire()
    module.put(TAGS[:4])
    wire.open()
    wire.run(4000)
    babble(wire, pieces)
    assert (frozenset(), True) not in _seen(wire)


def test_what_a_former_host_left_half_said_is_no_noise_of_the_line() -> None:
    wire, module = _wire()
    module.put(TAGS[:50])
    wire.open()
    wire.run(4000)
    again = VirtualWire(MercuryHost("tray0"), module)
    again.now = wire.now
    cut = b"".join(module.poll(wire.now + 1_000_000_000))[7:]
    again.open()
    again.hear(cut)
    again.run(10_000)
    assert again.of(TagsSeen)[-1].tags == frozenset(TAGS[:50])
    assert again.of(DeviceFault) == []
    again.hear(b"\xa5\x5a\xa5")  # now it is
    assert [fault.fault for fault in again.of(DeviceFault)] == ["noise"]
