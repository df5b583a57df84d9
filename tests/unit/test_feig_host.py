"""The OBID conversation with a simulated reader on a fake clock."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.conversation import Conversation
from drivers.errors import ConfigError
from drivers.feig import Command, Request, Response, Status, Transponder, encode_inventory
from drivers.feig_host import FeigHost
from drivers.options import MS
from drivers.readings import DeviceCleared, DeviceFault, DeviceUp, TagsSeen
from simulators.hardware.feig import FeigReader
from tests.virtual_wire import VirtualWire, clean
from tests.weather import BABBLE, babble, days, spoiling

NOTHING_READ = (frozenset[str](), False)
TAGS = [f"E01680FF0800{number:04X}" for number in range(60)]


def _wire(reader: FeigReader | None = None, cut: int = 4096, **options: object) -> tuple[VirtualWire, FeigReader]:
    reader = reader or FeigReader()
    wire = VirtualWire(FeigHost("tray0", path="serial:///dev/tray", options=options), reader, cut)
    return wire, reader


def _seen(wire: VirtualWire) -> list[tuple[frozenset[str], bool]]:
    return [(reading.tags, reading.complete) for reading in wire.of(TagsSeen)]


def test_it_is_a_conversation() -> None:
    conversation: Conversation = FeigHost("tray0")
    assert conversation.stop(0).send == ()


def test_it_says_who_it_is_and_what_lies_in_the_field() -> None:
    wire, reader = _wire()
    reader.put(TAGS[:2])
    wire.open()
    wire.run(50)
    up, first = wire.readings
    assert up == DeviceUp("tray0", 1, "feig", "OBID-5E", "0A1B2C3D", "3.3", "serial:///dev/tray")
    assert first == TagsSeen("tray0", 2, "0", frozenset(TAGS[:2]), complete=True)


@pytest.mark.parametrize("cut", [1, 7, 4096])
def test_a_field_larger_than_one_answer_comes_whole(cut: int) -> None:
    wire, reader = _wire(cut=cut)
    reader.put(TAGS)
    wire.open()
    wire.run(150)
    assert _seen(wire)[0] == (frozenset(TAGS), True)


def test_quiet_tags_are_reported_in_every_inventory() -> None:
    wire, reader = _wire(settle_ms=1, repeat_ms=1)
    reader.put(TAGS[:3])
    wire.open()
    wire.run(3000)
    assert len(_seen(wire)) > 10
    assert set(_seen(wire)) == {(frozenset(TAGS[:3]), True)}


def test_a_tag_that_comes_and_goes_is_told_both_times() -> None:
    wire, reader = _wire()
    wire.open()
    wire.run(300)
    reader.put(TAGS[:1])
    wire.run(300)
    reader.take(TAGS[:1])
    wire.run(300)
    states = [tags for tags, complete in _seen(wire) if complete]
    changes = [state for at, state in enumerate(states) if at == 0 or states[at - 1] != state]
    assert changes == [frozenset(), frozenset(TAGS[:1]), frozenset()]


def test_an_idle_field_is_quiet() -> None:
    wire, reader = _wire(settle_ms=1000, repeat_ms=5000)
    reader.put(TAGS[:5])
    wire.open()
    wire.run(2000)
    settled = len(wire.readings)
    wire.run(20_000)
    assert len(wire.readings) - settled == 4


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (Status.RF_COMMUNICATION, "rf"),
        (Status.WARNING, "rf"),
        (Status.NO_VALID_DATA, "rf"),
        (Status.ISO_ERROR, "rf"),
        (Status.BUFFER_OVERFLOW, "overflow"),
        (Status.DATA_FALSE, "protocol"),
        (Status.LENGTH, "protocol"),
        (0x77, "protocol"),
    ],
)
def test_a_reader_in_trouble_never_says_empty(status: int, fault: str) -> None:
    wire, reader = _wire()
    reader.put(TAGS[:2])
    wire.open()
    wire.run(100)
    reader.trouble(status, times=3)
    wire.run(2000)
    assert (frozenset(), True) not in _seen(wire)
    assert (frozenset(), False) in _seen(wire)
    assert _seen(wire)[-1] == (frozenset(TAGS[:2]), True)
    assert [reading.fault for reading in wire.of(DeviceFault)] == [fault]
    assert [reading.fault for reading in wire.of(DeviceCleared)] == [fault]


def test_a_lost_answer_to_more_starts_the_inventory_over() -> None:
    wire, reader = _wire()
    reader.put(TAGS)
    lost = [0]

    def lose_the_second_part(data: bytes) -> list[bytes]:
        if Response.decode(data).status == Status.MORE_DATA:
            lost[0] += 1
            if lost[0] == 2:
                return []
        return [data]

    wire.to_host = lose_the_second_part
    wire.open()
    wire.run(3000)
    assert (frozenset(TAGS[:16]), False) in _seen(wire)
    assert {tags for tags, complete in _seen(wire) if complete} == {frozenset(TAGS)}


def test_a_part_that_comes_twice_does_not_stand_for_a_lost_one() -> None:
    wire, reader = _wire()
    reader.put(TAGS[:20])
    parts = [0]

    def twice_then_lost(data: bytes) -> list[bytes]:
        if Response.decode(data).command != Command.ISO_HOST:
            return [data]
        parts[0] += 1
        return {1: [data, data], 2: []}.get(parts[0], [data])

    wire.to_host = twice_then_lost
    wire.open()
    wire.run(2000)
    assert {tags for tags, complete in _seen(wire) if complete} == {frozenset(TAGS[:20])}


def test_corrupt_answers_are_counted_and_never_mean_empty() -> None:
    wire, reader = _wire()
    reader.put(TAGS[:3])
    wire.open()
    wire.run(100)

    def spoil(data: bytes) -> list[bytes]:
        return [data[:-1] + bytes((data[-1] ^ 1,))]

    wire.to_host = spoil
    wire.run(600)
    wire.to_host = clean
    wire.run(20_000)
    assert set(_seen(wire)) == {(frozenset(TAGS[:3]), True), NOTHING_READ}
    (fault,) = wire.of(DeviceFault)
    assert fault.fault == "noise"
    assert dict(fault.counts)["crc"] >= 1
    assert [reading.fault for reading in wire.of(DeviceCleared)] == ["noise"]
    assert wire.failed is None


def test_an_empty_answer_found_in_noise_is_not_believed() -> None:
    wire, reader = _wire()
    reader.put(TAGS[:3])
    wire.open()
    wire.run(100)
    empty = Response(Command.ISO_HOST, Status.NO_TAG).encode()

    def shadow(data: bytes) -> list[bytes]:
        return [b"\x00" + empty] if Response.decode(data).command == Command.ISO_HOST else [data]

    wire.to_host = shadow
    wire.run(700)
    wire.to_host = clean
    wire.run(2000)
    assert set(_seen(wire)) == {(frozenset(TAGS[:3]), True), NOTHING_READ}


def test_an_inventory_that_gets_no_answer_is_told_as_one_that_could_not_be_made() -> None:
    """Whoever judges what came first must know that nobody was looking: not only once the reader is given up."""
    wire, reader = _wire(antennas=[1, 2])
    reader.put(TAGS[:1], 1)
    wire.open()
    wire.run(3000)
    before = len(wire.of(TagsSeen))
    wire.to_host = lambda data: []
    wire.run(700)
    wire.to_host = clean
    reader.put(TAGS[1:2], 2)
    wire.run(1000)
    told = [(one.channel, one.tags, one.complete) for one in wire.of(TagsSeen)[before:]]
    blind = [number for number, (*_, complete) in enumerate(told) if not complete]
    assert {told[number][:2] for number in blind} == {("1", frozenset()), ("2", frozenset())}
    first = next(number for number, (channel, tags, _) in enumerate(told) if channel == "2" and tags)
    assert blind[0] < first
    assert told[-1][2]


def test_tags_found_in_noise_are_there_but_others_may_be_too() -> None:
    wire, reader = _wire()
    reader.put(TAGS[:3])
    wire.to_host = lambda data: [b"\xff\xff" + data]
    wire.open()
    wire.run(4000)
    assert wire.of(DeviceUp)
    assert set(_seen(wire)) == {(frozenset(TAGS[:3]), False)}


def test_a_tag_whose_id_looks_like_an_empty_answer() -> None:
    """The id holds the bytes of a whole frame that says: no transponder."""
    wire, reader = _wire(cut=1)
    reader.put(["E00600B0015C6300"])
    wire.open()
    wire.run(1000)
    assert set(_seen(wire)) == {(frozenset({"E00600B0015C6300"}), True)}


def test_a_late_answer_to_the_last_inventory_is_thrown_away() -> None:
    wire, reader = _wire(timeout_ms=100)
    reader.put(TAGS[:3])
    wire.open()
    wire.run(100)
    late = Response(Command.ISO_HOST, Status.NO_TAG).encode()

    def prepend(data: bytes) -> list[bytes]:
        return [late + data] if Response.decode(data).command == Command.RF_RESET else [data]

    wire.to_host = prepend
    wire.run(2000)
    assert set(_seen(wire)) == {(frozenset(TAGS[:3]), True)}
    assert wire.of(DeviceFault)[0].fault == "noise"


def test_an_unknown_kind_of_tag_makes_the_inventory_incomplete() -> None:
    wire, reader = _wire()
    reader.put(TAGS[:1])

    def foreign(data: bytes) -> list[bytes]:
        response = Response.decode(data)
        if response.command == Command.ISO_HOST:
            return [Response(Command.ISO_HOST, 0, b"\x01\x05\x00\x00").encode()]
        return [data]

    wire.open()
    wire.run(100)
    wire.to_host = foreign
    wire.run(1000)
    wire.to_host = clean
    wire.run(2000)
    assert (frozenset(), True) not in _seen(wire)
    assert [reading.fault for reading in wire.of(DeviceFault)] == ["protocol"]
    assert [reading.fault for reading in wire.of(DeviceCleared)] == ["protocol"]


def test_a_silent_reader_is_probed_and_given_up() -> None:
    wire, _ = _wire(retries=2, timeout_ms=100)
    wire.open()
    wire.run(100)
    wire.sent.clear()
    wire.to_host = lambda data: []
    wire.run(5000)
    assert wire.failed == "timeout"
    assert Request(Command.SOFTWARE_VERSION).encode() in wire.sent
    assert _seen(wire)[0] == (frozenset(), True)
    assert _seen(wire)[-1] == NOTHING_READ


def test_a_reader_that_lives_but_does_not_read_is_given_up_too() -> None:
    wire, _ = _wire(retries=2, timeout_ms=100)
    wire.open()
    wire.run(100)
    wire.to_host = lambda data: [] if Response.decode(data).command == Command.ISO_HOST else [data]
    wire.run(5000)
    assert wire.failed == "timeout"


def test_nobody_there() -> None:
    wire, _ = _wire(retries=2, timeout_ms=100)
    wire.to_host = lambda data: []
    wire.open()
    wire.run(5000)
    assert wire.failed == "timeout"
    assert wire.readings == []
    assert len(wire.sent) == 3


def test_another_reader_is_refused_by_name() -> None:
    host = FeigHost("tray0", expect={"serial": "FFFFFFFF"})
    wire = VirtualWire(host, FeigReader())
    wire.open()
    wire.run(100)
    assert wire.failed == "wrong_device"
    (fault,) = wire.readings
    assert isinstance(fault, DeviceFault)
    assert fault.detail == "expected serial 'FFFFFFFF', found '0A1B2C3D'"


def test_a_reader_that_restarts_is_initialised_again() -> None:
    wire, reader = _wire()
    reader.put(TAGS[:2])
    wire.open()
    wire.run(100)
    reader.reset()
    wire.run(1000)
    assert [reading.fault for reading in wire.of(DeviceFault)] == ["reset"]
    assert [reading.fault for reading in wire.of(DeviceCleared)] == ["reset"]
    assert len(wire.of(DeviceUp)) == 1
    assert wire.sent.count(Request(Command.SOFTWARE_VERSION).encode()) == 2
    assert _seen(wire)[-1] == (frozenset(TAGS[:2]), True)


def test_a_reader_in_notification_mode_is_named() -> None:
    wire, _ = _wire()
    wire.open()
    wire.run(100)
    wire.hear(Response(Command.READ_BUFFER, 0, b"\x00\x00").encode())
    assert "host mode" in wire.of(DeviceFault)[0].detail


def test_an_opened_link_is_told_anew_and_its_field_too() -> None:
    wire, reader = _wire()
    reader.put(TAGS[:2])
    wire.open()
    wire.run(100)
    reader.power_cycle(wire.now)
    wire.readings.clear()
    wire.open()
    wire.run(100)
    assert [type(reading) for reading in wire.readings] == [DeviceUp, TagsSeen]
    numbers = [reading.reading for reading in wire.readings]
    assert numbers == sorted(numbers)


def test_a_multiplexer_gives_each_antenna_port_several_fields() -> None:
    wire, reader = _wire(FeigReader(outputs=2), antennas=[1, 2], outputs=[1, 2])
    reader.put(TAGS[:1], antenna=1)
    reader.put(TAGS[1:30], antenna=10)  # more than one answer holds
    wire.open()
    wire.run(150)
    first = {reading.channel: (reading.tags, reading.complete) for reading in wire.of(TagsSeen)[:4]}
    assert first == {
        "1": (frozenset(TAGS[:1]), True),
        "2": (frozenset(), True),
        "9": (frozenset(), True),
        "10": (frozenset(TAGS[1:30]), True),
    }


def test_a_multiplexer_that_refuses_proves_no_absence() -> None:
    wire, reader = _wire(FeigReader(outputs=1), antennas=[1], outputs=[1, 2])
    reader.put(TAGS[:1], antenna=1)
    wire.open()
    wire.run(600)
    assert [reading.fault for reading in wire.of(DeviceFault)] == ["antenna"]
    assert not wire.of(TagsSeen)


def test_antennas_are_channels() -> None:
    wire, reader = _wire(antennas=[1, 2])
    reader.put(TAGS[:2], antenna=1)
    reader.put(TAGS[1:3], antenna=2)
    reader.put(TAGS[5:6], antenna=3)
    wire.open()
    wire.run(100)
    first = {reading.channel: reading.tags for reading in wire.of(TagsSeen)}
    assert first == {"1": frozenset(TAGS[:2]), "2": frozenset(TAGS[1:3])}


def test_advanced_frames() -> None:
    wire, reader = _wire(FeigReader(sets_per_answer=60), advanced=True)
    reader.put(TAGS)
    wire.open()
    wire.run(100)
    assert all(frame[0] == 2 for frame in wire.sent)
    assert _seen(wire)[0] == (frozenset(TAGS), True)


def test_a_reader_with_another_address_is_not_heard() -> None:
    wire, _ = _wire(FeigReader(address=3), address=4, retries=1, timeout_ms=50)
    wire.to_device = lambda data: [Request(Request.decode(data).command).encode()]
    wire.open()
    wire.run(1000)
    assert wire.failed == "timeout"
    assert wire.of(DeviceUp) == []


def test_options_are_all_checked_and_named() -> None:
    with pytest.raises(ConfigError) as caught:
        FeigHost("tray0", options={"poll_ms": "fast", "retries": 0, "pol_ms": 3, "antennas": [9]})
    faults = [caught.value, *caught.value.also]
    assert {fault.name for fault in faults} == {
        "tray0.poll_ms",
        "tray0.retries",
        "tray0.pol_ms",
        "tray0.antennas",
    }
    assert any("'fast'" in str(fault) for fault in faults)
    with pytest.raises(ConfigError, match="expect one of model, serial"):
        FeigHost("tray0", expect={"colour": "red"})


@given(BABBLE)
def test_random_bytes_never_make_the_field_empty(pieces: list[tuple[bytes, int]]) -> None:
    wire, reader = _wire()
    reader.put(TAGS[:4])
    wire.open()
    wire.run(100)
    babble(wire, pieces)
    assert (frozenset(), True) not in _seen(wire)
    if wire.failed is None:
        wire.run(2000)
        wire.readings.clear()
        wire.run(10_000)
        assert (frozenset(TAGS[:4]), True) in _seen(wire)


@settings(max_examples=40)
@given(days(), st.integers(1, 300))
def test_a_bad_line_never_takes_a_tag_away(weather: list[str], cut: int) -> None:
    wire, reader = _wire(cut=cut, retries=60, settle_ms=1, repeat_ms=1)
    reader.put(TAGS[:20])
    wire.to_host = spoiling(weather, b"\x55\x02")
    wire.open()
    wire.run(25_000)
    assert {tags for tags, complete in _seen(wire) if complete} == {frozenset(TAGS[:20])}
    assert wire.failed is None


def test_deadline_is_never_in_the_past() -> None:
    host = FeigHost("tray0", options={"poll_ms": 200})
    reader = FeigReader()
    now = 5 * MS
    step = host.start(now)
    for _ in range(200):
        due = step.deadline
        assert due is not None
        assert due >= now
        if step.send:
            now += MS
            (answer,) = reader.feed(step.send[0], now)
            step = host.feed(answer, now)
        else:
            now = due
            step = host.tick(now)


def test_a_real_capture_reads_as_one_tag() -> None:
    found = Transponder(3, bytes.fromhex("E01680FF08005024"))
    answer = Response(Command.ISO_HOST, 0, encode_inventory([found])).encode()
    assert answer.hex() == "1100b000010300e01680ff080050248075"
