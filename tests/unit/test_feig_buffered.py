"""Buffered read and notification mode with a simulated reader on a fake clock."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.conversation import Conversation
from drivers.errors import ConfigError, ProtocolError
from drivers.feig import Command, Request, Response, response_framer
from drivers.feig_buffered import FeigBuffered
from drivers.feig_records import BufferInfo, Record, decode_records, encode_records
from drivers.readings import DeviceCleared, DeviceFault, DeviceUp, TagsSeen
from simulators.hardware.feig_buffered import FeigBufferedReader
from tests.virtual_wire import VirtualWire, clean
from tests.weather import BABBLE, babble, days, persevere, spoiling

CHIPS = [f"E01680FF0800{number:04X}" for number in range(1000)]
PJM = [f"3005FB63AC1F{number:04X}" for number in range(20)]


def _wire(
    reader: FeigBufferedReader | None = None, cut: int = 4096, *, commit: bool = True, **options: object
) -> tuple[VirtualWire, FeigBufferedReader]:
    reader = reader or FeigBufferedReader()
    wire = VirtualWire(FeigBuffered("tray0", path="p", options=options), reader, cut)
    wire.commit = commit
    return wire, reader


def _notify() -> tuple[VirtualWire, FeigBufferedReader]:
    return _wire(FeigBufferedReader(notify=True), mode="notify")


def _seen(wire: VirtualWire) -> list[tuple[frozenset[str], bool]]:
    return [(reading.tags, reading.complete) for reading in wire.of(TagsSeen)]


# ---------------------------------------------------------------- the codec


def test_vectors(shared: Path) -> None:
    vectors = json.loads((shared / "data" / "device_vectors.json").read_text())
    mine = {
        int(item["hex"][4:6], 16): bytes.fromhex(item["hex"])
        for item in vectors
        if item["protocol"] == "feig-obid" and item["meaning"].startswith(("std req: Read Buffer", "std req: Clear"))
    }
    assert Request(Command.READ_BUFFER, b"\x00\x01").encode() == mine[0x22]
    assert Request(Command.CLEAR_BUFFER).encode() == mine[0x32]


records = st.builds(
    Record, st.sampled_from([3, 9, 0x84]), st.binary(min_size=1, max_size=12), st.integers(0, 255), st.none(), st.none()
)


@given(st.lists(records, max_size=30), st.booleans(), st.booleans(), st.data())
def test_records_there_and_back(kept: list[Record], antenna: bool, timer: bool, data: st.DataObject) -> None:
    kept = [
        Record(
            each.kind,
            each.uid,
            each.info,
            data.draw(st.integers(0, 255)) if antenna else None,
            data.draw(st.integers(0, 2**32 - 1)) if timer else None,
        )
        for each in kept
    ]
    assert decode_records(encode_records(kept)) == tuple(kept)


def test_fields_of_no_use_here_are_stepped_over() -> None:
    # Data blocks (two of four bytes), antenna, time, date, and a second byte of field bits.
    body = b"\x03\x00\x08" + bytes.fromhex(CHIPS[7]) + b"\x00\x02\x04" + bytes(8) + b"\x05" + bytes(4) + bytes(5)
    data = b"\xf3\x00" + b"\x00\x01" + (len(body) + 2).to_bytes(2, "big") + body
    assert decode_records(data) == (Record(3, bytes.fromhex(CHIPS[7]), 0, 5, 0),)


@given(st.binary(max_size=60))
def test_random_data_is_decoded_or_refused(data: bytes) -> None:
    try:
        decode_records(data)
    except ProtocolError:
        return


def test_buffer_info() -> None:
    assert BufferInfo.decode(BufferInfo(4096, 1, 300).encode()) == BufferInfo(4096, 1, 300)
    with pytest.raises(ProtocolError):
        BufferInfo.decode(b"\x00")


@pytest.mark.parametrize("step", [1, 100_000])
def test_whole_by_bytes_and_glued(step: int) -> None:
    answer = Response(Command.READ_BUFFER, 0, encode_records(Record(9, bytes.fromhex(tag)) for tag in PJM))
    wire = answer.encode() * 3
    framer = response_framer()
    got = [frame for at in range(0, len(wire), step) for frame in framer.feed(wire[at : at + step])]
    assert [decode_records(frame.data)[3].tag for frame in got] == [PJM[3]] * 3


# ---------------------------------------------------------------- buffered


def test_it_is_a_conversation() -> None:
    conversation: Conversation = FeigBuffered("tray0")
    assert conversation.stop(0).send == ()


def test_who_it_is_then_what_it_has_heard() -> None:
    wire, reader = _wire()
    reader.put(CHIPS[:2])
    wire.open()
    wire.run(4000)
    assert wire.of(DeviceUp) == [DeviceUp("tray0", 1, "feig-buffered", "OBID-5E", "0A1B2C3D", "3.3", "p")]
    assert _seen(wire)[0] == (frozenset(CHIPS[:2]), False)
    assert _seen(wire)[-1] == (frozenset(CHIPS[:2]), True)


@pytest.mark.parametrize("cut", [1, 64, 100_000])
def test_a_thousand_chips_in_bounded_time(cut: int) -> None:
    wire, reader = _wire(cut=cut)
    reader.put(CHIPS[:900] + PJM)
    reader.put(CHIPS[900:], antenna=2)
    wire.open()
    began = wire.now
    while (frozenset(CHIPS + PJM), True) not in _seen(wire):
        wire.run(100)
        assert wire.now - began < 4_000_000_000, "the window and a few pages"
    assert reader.waiting == 0


def test_a_part_is_cleared_only_when_it_is_durable() -> None:
    wire, reader = _wire(commit=False)
    reader.put(CHIPS[:3])
    wire.open()
    wire.run(3000)
    assert reader.waiting == 12
    assert Request(Command.CLEAR_BUFFER).encode() not in wire.sent
    wire.acknowledge(wire.of(TagsSeen)[-1])
    assert wire.sent[-1] == Request(Command.CLEAR_BUFFER).encode()
    wire.run(10)
    assert reader.waiting == 9, "only what was handed out"


def test_what_was_not_cleared_comes_again_and_is_no_news() -> None:
    wire, reader = _wire()
    reader.put(CHIPS[:3])
    wire.open()
    wire.run(4000)
    wire.to_device = lambda data: [] if Request.decode(data).command == Command.CLEAR_BUFFER else [data]
    wire.run(1200)
    wire.to_device = clean
    wire.run(4000)
    assert {tags for tags, complete in _seen(wire) if complete} == {frozenset(CHIPS[:3])}
    assert wire.failed is None


def test_a_chip_that_leaves_is_gone_after_the_window_and_not_before() -> None:
    wire, reader = _wire(window_ms=2500)
    reader.put(CHIPS[:5])
    wire.open()
    wire.run(5000)
    reader.take(CHIPS[:1])
    wire.run(1400)
    assert _seen(wire)[-1] == (frozenset(CHIPS[:5]), True)
    wire.run(3000)
    assert _seen(wire)[-1] == (frozenset(CHIPS[1:5]), True)


def test_a_resting_chip_is_told_seldom() -> None:
    wire, reader = _wire(repeat_ms=5000)
    reader.put(CHIPS[:50])
    wire.open()
    wire.run(6000)
    settled = len(wire.readings)
    wire.run(20_000)
    assert len(wire.readings) - settled <= 5


def test_a_full_buffer_is_a_fault_and_nothing_is_gone() -> None:
    wire, reader = _wire(FeigBufferedReader(capacity=120))
    reader.put(CHIPS[:80])
    wire.open()
    wire.run(5000)
    wire.to_device = lambda data: []  # the host is away for a moment, and more chips come than the buffer holds
    reader.put(CHIPS[80:160])
    wire.run(1200)
    wire.to_device = clean
    wire.run(10_000)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["overflow"]
    assert [clear.fault for clear in wire.of(DeviceCleared)] == ["overflow"]
    assert all(tags >= frozenset(CHIPS[:80]) for tags, _ in _seen(wire))
    assert _seen(wire)[-1] == (frozenset(CHIPS[:160]), True)


def test_power_off_loses_the_buffer_and_the_field_is_learnt_anew() -> None:
    wire, reader = _wire()
    reader.put(CHIPS[:10])
    wire.open()
    wire.run(4000)
    reader.power_cycle(wire.now)
    reader.take(CHIPS[:4])
    assert reader.waiting == 0
    wire.readings.clear()
    wire.open()
    wire.run(5000)
    assert isinstance(wire.readings[0], DeviceUp)
    assert _seen(wire)[0][1] is False
    assert _seen(wire)[-1] == (frozenset(CHIPS[4:10]), True)


def test_a_restart_in_mid_conversation() -> None:
    wire, reader = _wire()
    reader.put(CHIPS[:10])
    wire.open()
    wire.run(4000)
    reader.reset()
    wire.run(200)
    assert _seen(wire)[-1][1] is False
    wire.run(5000)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["reset"]
    assert [clear.fault for clear in wire.of(DeviceCleared)] == ["reset"]
    assert len(wire.of(DeviceUp)) == 1
    assert _seen(wire)[-1] == (frozenset(CHIPS[:10]), True)


def test_a_reader_in_host_mode_is_named() -> None:
    wire, _ = _wire()

    def refuse(data: bytes) -> list[bytes]:
        response = Response.decode(data)
        return [data if response.command != Command.BUFFER_INFO else Response(Command.BUFFER_INFO, 0x80).encode()]

    wire.to_host = refuse
    wire.open()
    wire.run(100)
    assert "use driver 'feig'" in wire.of(DeviceFault)[0].detail


def test_host_commands_are_not_available() -> None:
    reader = FeigBufferedReader()
    (answer,) = reader.feed(Request(Command.ISO_HOST, b"\x01\x00").encode(), 1)
    assert Response.decode(answer).status == 0x82


def test_data_that_is_not_understood_does_not_come_for_ever() -> None:
    wire, reader = _wire()
    reader.put(CHIPS[:3])
    wire.open()
    wire.run(4000)
    foreign = Response(Command.READ_BUFFER, 0, b"\x02\x00\x01\x00\x02").encode()
    spoilt = [foreign, foreign]

    def spoil(data: bytes) -> list[bytes]:
        return [spoilt.pop() if spoilt and Response.decode(data).command == Command.READ_BUFFER else data]

    wire.to_host = spoil
    wire.run(10_000)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["protocol"]
    assert Request(Command.INIT_BUFFER).encode() in wire.sent
    assert {tags for tags, complete in _seen(wire) if complete} == {frozenset(CHIPS[:3])}


def test_a_reader_that_never_gives_a_whole_inventory_is_given_up() -> None:
    wire, reader = _wire(backstop_ms=8000)
    reader.put(CHIPS[:3])
    wire.open()
    wire.run(4000)
    wire.to_host = lambda data: [
        Response(Command.READ_BUFFER, 0x77).encode() if Response.decode(data).command == Command.READ_BUFFER else data
    ]
    wire.run(20_000)
    assert wire.failed == "timeout"
    assert (frozenset(), True) not in _seen(wire)


@pytest.mark.parametrize("bits", [False, True])
def test_antennas_are_channels(bits: bool) -> None:
    wire, reader = _wire(FeigBufferedReader(antennas=True), antennas=[1, 2], antenna_bits=bits)
    reader.put(CHIPS[:2], antenna=1)
    reader.put(CHIPS[2:5], antenna=2)
    reader.put(CHIPS[5:6], antenna=3 if not bits else 4)
    wire.open()
    wire.run(5000)
    last = {reading.channel: reading.tags for reading in wire.of(TagsSeen)}
    # As numbers and as bits, antennas 1 and 2 look the same; 3 would be both of them as bits.
    assert last == {"1": frozenset(CHIPS[:2]), "2": frozenset(CHIPS[2:5])}


def test_records_without_antenna_are_named() -> None:
    wire, reader = _wire(antennas=[1, 2])
    reader.put(CHIPS[:2])
    wire.open()
    wire.run(1000)
    assert "record it (CFG11)" in wire.of(DeviceFault)[0].detail


# ---------------------------------------------------------------- notification


def test_notifications_are_told_and_cleared_and_signs_of_life_are_not_acknowledged() -> None:
    wire, reader = _notify()
    reader.put(CHIPS[:30] + PJM)
    wire.open()
    wire.run(6000)
    assert _seen(wire)[-1] == (frozenset(CHIPS[:30] + PJM), True)
    assert Request(Command.READ_BUFFER, b"\x00\xff").encode() not in wire.sent
    reader.take(CHIPS[:30] + PJM)
    wire.run(1000)
    wire.sent.clear()
    wire.run(60_000)
    assert wire.sent == []
    assert wire.failed is None
    assert _seen(wire)[-1] == (frozenset(), True)


def test_a_notification_is_repeated_until_its_outcome_is_durable() -> None:
    wire, reader = _notify()
    wire.commit = False
    reader.put(CHIPS[:3])
    wire.open()
    wire.run(11_000)
    assert Request(Command.CLEAR_BUFFER).encode() not in wire.sent
    assert reader.waiting
    for reading in wire.of(TagsSeen):
        wire.acknowledge(reading)
    assert wire.sent.count(Request(Command.CLEAR_BUFFER).encode()) == 1


def test_a_notifying_reader_that_falls_silent_is_given_up() -> None:
    wire, reader = _notify()
    reader.put(CHIPS[:3])
    wire.open()
    wire.run(4000)
    wire.to_host = lambda data: []
    wire.run(20_000)
    assert wire.failed == "timeout"
    assert _seen(wire)[-1] == (frozenset(CHIPS[:3]), True)


def test_nobody_there() -> None:
    wire, _ = _wire(retries=2, timeout_ms=100)
    wire.to_host = lambda data: []
    wire.open()
    wire.run(5000)
    assert (wire.failed, wire.readings, len(wire.sent)) == ("timeout", [], 3)


def test_another_reader_is_refused_by_name() -> None:
    wire = VirtualWire(FeigBuffered("tray0", expect={"serial": "FFFFFFFF"}), FeigBufferedReader())
    wire.open()
    wire.run(100)
    assert wire.failed == "wrong_device"


def test_options_are_all_checked_and_named() -> None:
    with pytest.raises(ConfigError) as caught:
        FeigBuffered("tray0", options={"mode": "push", "window_ms": 0, "antennas": [9], "colour": 1})
    assert len([caught.value, *caught.value.also]) == 4


@settings(max_examples=15)
@given(days(), st.integers(1, 300), st.booleans())
def test_a_bad_line_never_takes_a_chip_away(weather: list[str], cut: int, notify: bool) -> None:
    reader = FeigBufferedReader(notify=notify)
    wire, _ = _wire(reader, cut, retries=60, mode="notify" if notify else "buffered")
    reader.put(CHIPS[:40])
    wire.to_host = spoiling(weather, b"\x55\x02")
    wire.open()
    persevere(wire, 20)
    assert {tags for tags, complete in _seen(wire) if complete} == {frozenset(CHIPS[:40])}


@given(BABBLE)
def test_random_bytes_never_make_the_tray_empty(pieces: list[tuple[bytes, int]]) -> None:
    wire, reader = _wire()
    reader.put(CHIPS[:4])
    wire.open()
    wire.run(3000)
    babble(wire, pieces)
    assert (frozenset(), True) not in _seen(wire)
