"""The streaming parser, shown on a toy protocol: ``AA size data.. sum``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.errors import ChecksumError
from drivers.framing import NOT_A_FRAME, Framer


def _measure(buffer: bytearray) -> int | None:
    if buffer[0] != 0xAA:
        return NOT_A_FRAME
    return None if len(buffer) < 2 else 3 + buffer[1]


def _decode(frame: bytes) -> bytes:
    if sum(frame[:-1]) & 0xFF != frame[-1]:
        raise ChecksumError("sum")
    return frame[2:-1]


def _frame(data: bytes) -> bytes:
    body = bytes((0xAA, len(data))) + data
    return body + bytes((sum(body) & 0xFF,))


@given(st.lists(st.binary(max_size=20), max_size=8), st.data())
def test_any_cut_gives_the_same_frames(payloads: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(map(_frame, payloads))
    framer = Framer(_measure, _decode)
    got: list[bytes] = []
    while wire:
        size = data.draw(st.integers(1, len(wire)))
        got += framer.feed(wire[:size])
        wire = wire[size:]
    assert got == payloads
    assert framer.clean
    assert framer.noise.bad() == 0


@given(st.binary(max_size=400), st.binary(max_size=20))
def test_noise_ends_with_silence_and_is_counted(noise: bytes, payload: bytes) -> None:
    framer = Framer(_measure, _decode)
    before = framer.feed(noise)
    assert framer.pending < 258
    before += framer.flush()
    assert framer.pending == 0
    assert framer.noise.dropped + sum(len(data) + 3 for data in before) == len(noise)
    assert framer.feed(_frame(payload)) == [payload]


def test_a_frame_inside_an_unfinished_frame_is_not_taken() -> None:
    inner = _frame(b"inner")
    outer = _frame(b"xx" + inner + b"yy")
    framer = Framer(_measure, _decode)
    assert [frame for byte in outer[:-1] for frame in framer.feed(bytes((byte,)))] == []
    assert framer.feed(outer[-1:]) == [b"xx" + inner + b"yy"]


def test_a_frame_found_by_searching_is_good_but_not_clean() -> None:
    framer = Framer(_measure, _decode)
    assert framer.feed(b"\x01\x02" + _frame(b"a")) == [b"a"]
    assert not framer.clean
    assert dict(framer.noise.counts()) == {"crc": 0, "resync": 1, "dropped": 2, "timeouts": 0}
    framer.reset()
    assert framer.feed(_frame(b"b")) == [b"b"]
    assert framer.clean


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_a_broken_checksum_costs_one_frame(step: int) -> None:
    broken = bytearray(_frame(b"hello"))
    broken[-1] ^= 1
    wire = bytes(broken) + _frame(b"world")
    framer = Framer(_measure, _decode)
    got = [frame for at in range(0, len(wire), step) for frame in framer.feed(wire[at : at + step])]
    assert got == [b"world"]
    assert framer.noise.crc == 1
