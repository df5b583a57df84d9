"""pcapng as it is written and read: both byte orders, other resolutions, torn tails, and damage told as such."""

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.capture import pcapng, wire
from controller.capture.pcapng import Damaged, Packet

AT = 1_796_040_000_123_456_789


def written(*packets: tuple[int, int, bytes]) -> bytes:
    head = pcapng.section("t") + pcapng.interface("inputs", wire.USER) + pcapng.interface("shoe0", wire.USB)
    return head + b"".join(pcapng.packet(*one) for one in packets)


def read(data: bytes) -> list[Packet]:
    return list(pcapng.read(io.BytesIO(data)))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2**62), st.binary(max_size=90)), max_size=8))
def test_what_is_written_is_read(packets: list[tuple[int, int, bytes]]) -> None:
    found = read(written(*packets))
    names = ("inputs", "shoe0")
    assert [(names.index(one.interface.name), one.at, one.data) for one in found] == packets


def test_every_torn_tail_leaves_every_whole_block() -> None:
    whole = written((0, AT, b"one"), (1, AT, b"second"))
    for length in range(len(whole)):
        torn = whole[:length]
        assert len(read(torn)) <= 1
        kept = pcapng.whole_length(io.BytesIO(torn))
        assert kept <= length
        assert read(torn[:kept]) == read(torn)
        assert read(torn[:kept] + pcapng.section("later") + whole[len(pcapng.section("t")) :])[-1].data == b"second"


def test_a_big_endian_file_in_microseconds_is_read() -> None:
    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack(">I", len(body) + 12)
        return struct.pack(">I", kind) + length + body + length

    data = block(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(1, struct.pack(">HHI", 220, 0, 0)) + block(0x7F, b"what nobody knows...")
    at = 1_796_040_000_000_001
    data += block(6, struct.pack(">IIIII", 0, at >> 32, at & 0xFFFFFFFF, 3, 3) + b"abc\0")
    (packet,) = read(data)
    assert (packet.at, packet.data, packet.interface.link_type) == (at * 1000, b"abc", 220)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xd4\xc3\xb2\xa1" + bytes(40), "no pcapng"),
        (b"\x0a\x0d\x0d\x0a" + bytes(24), "byte-order"),
        (pcapng.section("t") + pcapng.packet(3, AT, b""), "no description"),
        (pcapng.section("t") + struct.pack("<II", 6, 7) + bytes(40), "a block of 7"),
        (pcapng.section("t") + struct.pack("<II", 6, 1 << 31) + bytes(40), "a block of 2147483648"),
        (written()[:-4] + b"\x01\0\0\0", "two lengths"),
    ],
)
def test_damage_is_no_torn_tail(data: bytes, says: str) -> None:
    with pytest.raises(Damaged, match=says):
        read(data)


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_packets_or_damage(data: bytes, begins: bool) -> None:
    try:
        read(written() + data if begins else data)
    except Damaged:
        return


@pytest.mark.parametrize("kind", [wire.SERIAL, wire.USB])
@given(data=st.binary(min_size=1, max_size=80), inward=st.booleans())
def test_bytes_come_out_of_their_link_type_as_they_went_in(kind: int, data: bytes, inward: bool) -> None:
    packet = Packet(0, pcapng.Interface("dev0", kind), AT, wire.wrap(kind, 3, AT, data, inward=inward))
    assert wire.unwrap(packet) == wire.Passed("dev0", AT, inward, data)


def test_of_a_usb_bus_only_data_is_taken() -> None:
    bus = pcapng.Interface("usbmon1", wire.USB)
    good = wire.wrap(wire.USB, 7, AT, b"\x01\x02", inward=True)
    assert wire.unwrap(Packet(0, bus, AT, good)) == wire.Passed("1-7", AT, True, b"\x01\x02")
    submitted = bytes((*good[:8], ord("S"), *good[9:]))
    control = bytes((*good[:9], 2, *good[10:]))
    for data in (submitted, control, good[:20], b""):
        assert wire.unwrap(Packet(0, bus, AT, data)) is None
