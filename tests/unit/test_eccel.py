"""The Pepper codec against the vectors, and the conversation with a simulated reader on a fake clock."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.conversation import Conversation
from drivers.eccel import (
    MAX_PAYLOAD,
    Command,
    Frame,
    Tag,
    command,
    decode_event,
    decode_name,
    done,
    encode_name,
    event,
    framer,
)
from drivers.eccel_host import EccelHost
from drivers.errors import ChecksumError, ConfigError, LocalError, ProtocolError
from drivers.readings import DeviceCleared, DeviceFault, DeviceUp, TagsSeen
from simulators.hardware.eccel import PepperReader
from tests.virtual_wire import VirtualWire, clean
from tests.weather import BABBLE, babble, days, persevere, spoiling

CARDS = [f"E0040100{number:08X}" for number in range(60)]


def _wire(reader: PepperReader | None = None, cut: int = 4096, **options: object) -> tuple[VirtualWire, PepperReader]:
    reader = reader or PepperReader()
    return VirtualWire(EccelHost("bets0", path="p", options=options), reader, cut), reader


def _seen(wire: VirtualWire) -> list[tuple[str, frozenset[str], bool]]:
    return [(reading.channel, reading.tags, reading.complete) for reading in wire.of(TagsSeen)]


# ---------------------------------------------------------------- the codec


@pytest.fixture(scope="module")
def vectors(shared: Path) -> list[dict[str, Any]]:
    everything = json.loads((shared / "data" / "device_vectors.json").read_text())
    return [item for item in everything if item["protocol"] == "eccel-pepper-c1"]


def test_every_frame_whole_by_bytes_and_glued(vectors: list[dict[str, Any]]) -> None:
    assert len(vectors) == 12
    for item in vectors:
        frame = bytes.fromhex(item["hex"])
        decoded = Frame.decode(frame)
        assert decoded.encode() == frame
        single, glued = framer(), framer()
        assert [got for byte in frame for got in single.feed(bytes((byte,)))] == [decoded]
        assert glued.feed(frame * 3) == [decoded] * 3
        assert glued.noise.bad() == single.noise.bad() == 0


def test_vectors_by_meaning(vectors: list[dict[str, Any]]) -> None:
    by = {item["meaning"]: bytes.fromhex(item["hex"]) for item in vectors}
    assert by["cmd 0x03 GET_UID idx 4"] == command(Command.GET_UID, b"\x04")
    assert by["cmd 0x06 SET_POLLING on"] == command(Command.SET_POLLING, b"\x01")
    assert by["ACK to 0x06"] == done(Command.SET_POLLING)
    (told,) = [frame for meaning, frame in by.items() if meaning.startswith("async")]
    assert decode_event(Frame.decode(told).payload) == Tag(bytes.fromhex("DEADBEEF1234"))
    assert event(Tag(bytes.fromhex("DEADBEEF1234"))) == told


@given(st.binary(min_size=1, max_size=MAX_PAYLOAD))
def test_there_and_back(payload: bytes) -> None:
    assert Frame.decode(Frame(payload).encode()) == Frame(payload)


@pytest.mark.parametrize("payload", [b"", bytes(MAX_PAYLOAD + 1)])
def test_what_cannot_be_sent(payload: bytes) -> None:
    with pytest.raises(LocalError):
        Frame(payload).encode()


def test_a_broken_frame_costs_one_frame() -> None:
    good = done(Command.PING)
    broken = good[:-1] + bytes((good[-1] ^ 1,))
    with pytest.raises(ChecksumError):
        Frame.decode(broken)
    with pytest.raises(ProtocolError):
        Frame.decode(good[:3] + b"\x00" + good[4:])
    parser = framer()
    assert parser.feed(broken + good) == [Frame.decode(good)]
    assert parser.noise.crc == 1


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_random_bytes_never_crash_nor_grow(pieces: list[bytes]) -> None:
    parser = framer()
    for piece in pieces:
        parser.feed(piece)
        assert parser.pending < MAX_PAYLOAD + 8
    parser.flush()
    assert parser.feed(done(Command.PING)) == [Frame(b"\x00\x01")]


def test_names() -> None:
    assert decode_name(encode_name("Seat 3")) == "Seat 3"
    for data in (b"", b"\x00\x00\x00\x05ab", b"\x00\x00\x00\x01\x07"):
        with pytest.raises(ProtocolError):
            decode_name(data)


# ---------------------------------------------------------------- one antenna


def test_it_is_a_conversation() -> None:
    conversation: Conversation = EccelHost("bets0")
    assert conversation.stop(0).send == ()


@pytest.mark.parametrize("cut", [1, 7, 4096])
def test_who_it_is_and_what_lies_there(cut: int) -> None:
    wire, reader = _wire(cut=cut)
    reader.put(CARDS[:3])
    wire.open()
    wire.run(4000)
    assert wire.of(DeviceUp) == [DeviceUp("bets0", 1, "eccel", "Pepper C1", "PEPPER-01", "2.56", "p")]
    assert _seen(wire)[-1] == ("0", frozenset(CARDS[:3]), True)
    assert not wire.of(DeviceFault)


def test_a_resting_tag_is_told_seldom_and_gone_when_it_has_left() -> None:
    wire, reader = _wire()
    reader.put(CARDS[:2])
    wire.open()
    wire.run(4000)
    before = len(wire.readings)
    wire.run(20_000)
    assert len(wire.readings) - before <= 5
    reader.take(CARDS[:1])
    wire.run(1200)
    assert _seen(wire)[-1] == ("0", frozenset(CARDS[:2]), True)
    wire.run(1500)
    assert _seen(wire)[-1] == ("0", frozenset(CARDS[1:2]), True)


def test_a_reader_that_restarts_without_a_word_loses_no_tag() -> None:
    wire, reader = _wire()
    reader.put(CARDS[:2])
    wire.open()
    wire.run(4000)
    for _ in range(5):
        reader.reset()
        wire.run(2000)
    assert {tags for _, tags, complete in _seen(wire) if complete} == {frozenset(CARDS[:2])}


def test_noise_is_not_absence_and_has_an_end() -> None:
    wire, reader = _wire(backstop_ms=10_000)
    reader.put(CARDS[:2])
    wire.open()
    wire.run(4000)
    # Every word about a tag is spoilt; the answers are not.
    wire.to_host = lambda data: [data[:-1] + bytes((data[-1] ^ 1,)) if data[5] == 0xFE else data]
    wire.run(8000)
    assert _seen(wire)[-1] == ("0", frozenset(CARDS[:2]), False)
    wire.run(8000)
    assert wire.failed == "timeout"
    assert all(tags == frozenset(CARDS[:2]) for _, tags, complete in _seen(wire) if complete)


def test_a_silent_reader_is_given_up() -> None:
    wire, reader = _wire()
    reader.put(CARDS[:2])
    wire.open()
    wire.run(4000)
    wire.to_host = lambda data: []
    wire.run(10_000)
    assert wire.failed == "timeout"
    assert _seen(wire)[-1] == ("0", frozenset(CARDS[:2]), False)


def test_a_round_that_gets_no_answer_is_told_of_every_antenna() -> None:
    wire, reader = _wire(antennas=[1, 2, 3])
    reader.put(CARDS[:2], antenna=2)
    wire.open()
    wire.run(3000)
    before = len(_seen(wire))
    wire.to_host = lambda data: []
    wire.run(700)
    wire.to_host = clean
    blind = _seen(wire)[before:]
    assert {channel for channel, _, complete in blind if not complete} == {"1", "2", "3"}
    wire.run(2000)
    assert wire.failed is None
    assert _seen(wire)[-1][2]


# ---------------------------------------------------------------- multiplexer


@pytest.mark.parametrize("cut", [1, 4096])
def test_antennas_are_channels_and_each_round_is_an_inventory(cut: int) -> None:
    wire, reader = _wire(cut=cut, antennas=[1, 2, 8])
    reader.put(CARDS[:30], antenna=1)
    reader.put(CARDS[30:32], antenna=8)
    wire.open()
    wire.run(300)
    assert _seen(wire)[:3] == [
        ("1", frozenset(CARDS[:30]), True),
        ("2", frozenset(), True),
        ("8", frozenset(CARDS[30:32]), True),
    ]
    reader.take(CARDS[:30], antenna=1)
    wire.run(500)
    assert [tags for channel, tags, _ in _seen(wire) if channel == "1"][-1] == frozenset()


def test_a_question_that_fails_never_means_empty() -> None:
    wire, reader = _wire(antennas=[1, 2])
    reader.put(CARDS[:2], antenna=1)
    wire.open()
    wire.run(1000)
    reader.trouble(times=3)
    wire.run(2000)
    assert ("1", frozenset(), True) not in _seen(wire)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["rf"]
    assert [clear.fault for clear in wire.of(DeviceCleared)] == ["rf"]


def test_a_late_answer_is_not_taken_for_another_antenna() -> None:
    wire, reader = _wire(antennas=[1, 2], timeout_ms=100)
    reader.put(CARDS[:2], antenna=2)
    wire.open()
    wire.run(500)
    held: list[bytes] = []

    def late(data: bytes) -> list[bytes]:
        if Frame.decode(data).payload[1] == Command.TAG_COUNT and not held:
            held.append(data)
            return []
        if held and len(held) == 1 and Frame.decode(data).payload[1] == Command.PING:
            held.append(b"")
            return [held[0], data]
        return [data]

    wire.to_host = late
    wire.run(3000)
    assert {(channel, tags) for channel, tags, complete in _seen(wire) if complete} == {
        ("1", frozenset()),
        ("2", frozenset(CARDS[:2])),
    }


def test_an_answer_that_comes_twice_fills_one_place_only() -> None:
    wire, reader = _wire(antennas=[1])
    reader.put(CARDS[:3], antenna=1)
    wire.to_host = lambda data: [data, data]
    wire.open()
    wire.run(3000)
    assert {tags for _, tags, complete in _seen(wire) if complete} <= {frozenset(CARDS[:3])}


@pytest.mark.parametrize("antennas", [[], [1, 2]])
def test_another_reader_nobody_and_a_quiet_end(antennas: list[int]) -> None:
    wire = VirtualWire(EccelHost("bets0", expect={"serial": "PEPPER-02"}), PepperReader())
    wire.open()
    wire.run(100)
    assert wire.failed == "wrong_device"
    wire, _ = _wire(antennas=antennas, retries=2)
    wire.to_host = lambda data: []
    wire.open()
    wire.run(3000)
    assert (wire.failed, wire.readings) == ("timeout", [])
    wire, _ = _wire(antennas=antennas)
    wire.open()
    wire.run(1000)
    assert wire.host.stop(wire.now).send == (command(Command.SET_POLLING, b"\x00"),)


def test_options_are_all_checked_and_named() -> None:
    with pytest.raises(ConfigError) as caught:
        EccelHost("bets0", options={"antennas": [9], "ping_ms": 0, "colour": 1})
    assert len([caught.value, *caught.value.also]) == 3


@settings(max_examples=25)
@given(days(60), st.integers(1, 300), st.booleans())
def test_a_bad_line_never_takes_a_tag_away(weather: list[str], cut: int, mux: bool) -> None:
    wire, reader = _wire(cut=cut, retries=70, antennas=[1, 2] if mux else [])
    reader.put(CARDS[:6])
    wire.to_host = spoiling(weather, b"\x55\xf5")
    wire.open()
    persevere(wire, 14)
    first = "1" if mux else "0"
    assert {tags for channel, tags, complete in _seen(wire) if complete and channel == first} == {frozenset(CARDS[:6])}
    wire.to_host = clean


@given(BABBLE, st.booleans())
def test_random_bytes_never_make_a_field_empty(pieces: list[tuple[bytes, int]], mux: bool) -> None:
    wire, reader = _wire(antennas=[1] if mux else [])
    reader.put(CARDS[:4])
    wire.open()
    wire.run(3000)
    babble(wire, pieces)
    assert all(tags for _, tags, complete in _seen(wire) if complete)


class Snatched(PepperReader):
    """A chip is taken away between the count and the question for it, so often."""

    times = 1

    def _obey(self, code: int, data: bytes, now: int) -> bytes:
        answer = super()._obey(code, data, now)
        if code == Command.TAG_COUNT and self._antenna == 1 and self.times:
            self.times -= 1
            self.take([max(self.field(1))], 1)
        return answer


@pytest.mark.parametrize("times", [1, 2])
def test_a_chip_that_is_taken_while_it_is_asked_for_is_no_trouble_the_first_time(times: int) -> None:
    reader = Snatched()
    reader.times = times
    reader.put(CARDS[:3], 1)
    reader.put(CARDS[3:5], 2)
    wire, _ = _wire(reader, antennas=[1, 2])
    wire.open()
    wire.run(5000)
    last = {channel: (tags, complete) for channel, tags, complete in _seen(wire)}
    assert last["1"] == (frozenset(reader.field(1)), True)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["rf"] * (times - 1)
    assert len(wire.of(DeviceCleared)) == times - 1


def test_a_field_that_is_fuller_than_the_reader_can_say_is_no_whole_inventory() -> None:
    wire, reader = _wire(antennas=[1], backstop_ms=600_000)
    heap = [f"E0040200{number:08X}" for number in range(300)]
    reader.put(heap, 1)
    wire.open()
    wire.run(5000)
    assert not any(complete for _, _, complete in _seen(wire))
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["overflow"]
    reader.take(heap[100:], 1)
    wire.run(5000)
    assert _seen(wire)[-1] == ("1", frozenset(heap[:100]), True)
    assert [clear.fault for clear in wire.of(DeviceCleared)] == ["overflow"]
