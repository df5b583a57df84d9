"""The OBID codec against the recorded frames."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.errors import ChecksumError, LocalError, ProtocolError
from drivers.feig import (
    MAX_FRAME,
    AntennaRead,
    Command,
    Request,
    Response,
    SoftwareVersion,
    TagType,
    Transponder,
    crc16,
    decode_device_id,
    decode_inventory,
    encode_inventory,
    inventory_data,
    request_framer,
    response_framer,
)
from drivers.framing import Framer


@pytest.fixture(scope="module")
def vectors(shared: Path) -> list[dict[str, Any]]:
    return list(json.loads((shared / "data" / "device_vectors.json").read_text()))


def _of(vectors: list[dict[str, Any]], protocol: str, check: str = "") -> list[tuple[bytes, str]]:
    chosen = [item for item in vectors if item["protocol"] == protocol and item["framing_check"].startswith(check)]
    assert chosen
    return [(bytes.fromhex(item["hex"]), item["meaning"]) for item in chosen]


def _find(vectors: list[dict[str, Any]], words: str) -> bytes:
    (frame,) = [frame for frame, meaning in _of(vectors, "feig-obid") if words in meaning]
    return frame


def _parser(meaning: str) -> Framer[Request] | Framer[Response]:
    return request_framer() if " req:" in meaning else response_framer()


def test_checksum_of_the_check_string() -> None:
    assert crc16(b"123456789") == 0x6F91


def test_every_good_frame_whole_by_bytes_and_glued(vectors: list[dict[str, Any]]) -> None:
    good = _of(vectors, "feig-obid", "pass")
    assert len(good) == 24
    for frame, meaning in good:
        kind: type[Request | Response] = Request if " req:" in meaning else Response
        decoded = kind.decode(frame)
        assert decoded.encode() == frame, meaning
        whole, single, glued = _parser(meaning), _parser(meaning), _parser(meaning)
        assert whole.feed(frame) == [decoded], meaning
        assert [got for byte in frame for got in single.feed(bytes((byte,)))] == [decoded], meaning
        assert glued.feed(frame * 3) == [decoded] * 3, meaning
        assert whole.clean, meaning
        assert glued.noise.bad() == 0, meaning


def test_negatives_fail_by_checksum_and_the_next_frame_is_found(vectors: list[dict[str, Any]]) -> None:
    negatives = _of(vectors, "feig-obid", "FAIL")
    assert len(negatives) == 2
    follower = Response(Command.RF_RESET, 0)
    for frame, meaning in negatives:
        with pytest.raises(ChecksumError):
            Response.decode(frame)
        framer = response_framer()
        assert framer.feed(frame) + framer.flush() == [], meaning
        assert framer.noise.crc >= 1
        assert framer.feed(follower.encode()) == [follower]


def test_broken_start_is_no_frame(vectors: list[dict[str, Any]]) -> None:
    frame = _find(vectors, "STX broken")
    with pytest.raises(ProtocolError):
        Response.decode(frame)
    framer = response_framer()
    assert framer.feed(frame) + framer.flush() == []
    assert framer.noise.dropped == len(frame)


@pytest.mark.parametrize("step", [1, 5, 1000])
def test_garbage_on_both_sides(vectors: list[dict[str, Any]], step: int) -> None:
    wire = _find(vectors, "garbage on both sides")
    framer = response_framer()
    got = [frame for at in range(0, len(wire), step) for frame in framer.feed(wire[at : at + step])]
    got += framer.flush()
    assert [frame.encode() for frame in got] == [wire[2:-2]]
    assert not framer.clean
    assert framer.noise.dropped == 4


def test_partial_frame_waits_for_its_rest(vectors: list[dict[str, Any]]) -> None:
    partial = _find(vectors, "PARTIAL")
    framer = response_framer()
    assert framer.feed(partial) == []
    assert framer.feed(bytes.fromhex("0044530D307469")) == [
        Response(Command.SOFTWARE_VERSION, 0, bytes.fromhex("03030044530D30"), advanced=True)
    ]
    assert framer.clean


def test_three_in_one_read_the_third_truncated(vectors: list[dict[str, Any]]) -> None:
    wire = _find(vectors, "THREE adv rsp")
    framer = response_framer()
    assert [frame.status for frame in framer.feed(wire)] == [0x81, 0x82]
    assert framer.pending == len(wire) - 16
    rest = Response(Command.READ_CONFIG, 0x83, address=0xFF, advanced=True).encode()
    assert wire.endswith(rest[: framer.pending])
    assert [frame.status for frame in framer.feed(rest[framer.pending :])] == [0x83]


def test_inventory_data_vectors(vectors: list[dict[str, Any]]) -> None:
    expected = {
        4: Transponder(TagType.ISO14443A, bytes.fromhex("77665544332211"), b"\x00\xff"),
        3: Transponder(TagType.ISO15693, bytes.fromhex("8877665544332211"), b"\xff"),
        9: Transponder(TagType.ISO18000_3M3, bytes.fromhex("5544332211"), b"\xff"),
    }
    data = _of(vectors, "feig-obid-inventory-data")
    assert len(data) == 3
    for raw, meaning in data:
        assert decode_inventory(raw) == (expected[raw[1]],), meaning
        assert encode_inventory(decode_inventory(raw)) == raw, meaning


def test_captured_inventories_name_their_tags(vectors: list[dict[str, Any]]) -> None:
    captured = Response.decode(_find(vectors, "UID E0 16 80 FF 08 00 4F BC"))
    assert [item.tag for item in decode_inventory(captured.data)] == ["E01680FF08004FBC"]
    version = Response.decode(_find(vectors, "std rsp: 0x65 status 00"))
    software = SoftwareVersion.decode(version.data)
    assert (software.model, software.firmware) == ("OBID-53", "3.3")
    assert software.encode() == version.data


def test_inventory_requests() -> None:
    assert inventory_data() == b"\x01\x00"
    assert inventory_data(more=True) == b"\x01\x80"
    assert inventory_data(antennas=[1, 3]) == b"\x01\x20\x05"
    assert inventory_data(more=True, antennas=[8]) == b"\x01\xa0\x80"
    with pytest.raises(LocalError, match="antenna 9"):
        inventory_data(antennas=[9])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "ends inside"),
        (b"\x01\x03\x00\xe0", "ends inside"),
        (b"\x01\x05\x00", "type 0x05"),
        (b"\x00\x00", "1 bytes too many"),
    ],
)
def test_odd_inventory_data_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        decode_inventory(data)


def test_short_identity_is_refused() -> None:
    with pytest.raises(ProtocolError, match="at least 7"):
        SoftwareVersion.decode(b"\x03\x03")
    with pytest.raises(ProtocolError, match="at least 4"):
        decode_device_id(b"\x03")


def test_a_long_answer_becomes_an_advanced_frame() -> None:
    frame = Response(Command.ISO_HOST, 0, bytes(300)).encode()
    assert frame[0] == 2
    assert Response.decode(frame).advanced
    with pytest.raises(LocalError, match="at most"):
        Response(Command.ISO_HOST, 0, bytes(MAX_FRAME)).encode()


_sizes: dict[int, Callable[[], st.SearchStrategy[Transponder]]] = {
    TagType.ISO15693: lambda: _transponder(TagType.ISO15693, 1, 8, 8),
    TagType.ISO14443A: lambda: _transponder(TagType.ISO14443A, 2, 7, 7),
    TagType.GEN2: lambda: _transponder(TagType.GEN2, 1, 0, 62),
}


def _transponder(kind: int, info: int, least: int, most: int) -> st.SearchStrategy[Transponder]:
    return st.builds(
        Transponder,
        st.just(kind),
        st.binary(min_size=least, max_size=most),
        st.binary(min_size=info, max_size=info),
    )


@given(st.lists(st.one_of([make() for make in _sizes.values()]), max_size=40))
def test_inventory_there_and_back(found: list[Transponder]) -> None:
    assert decode_inventory(encode_inventory(found)) == tuple(found)


@given(
    st.lists(
        st.builds(
            Transponder,
            st.integers(0, 255),
            st.binary(max_size=32),
            st.binary(min_size=1, max_size=1),
            st.integers(0, 255),
            st.lists(
                st.builds(AntennaRead, st.integers(0, 255), st.integers(0, 255), st.binary(min_size=5, max_size=5)),
                max_size=4,
            ).map(tuple),
        ),
        max_size=10,
    )
)
def test_antenna_form_there_and_back(found: list[Transponder]) -> None:
    assert decode_inventory(encode_inventory(found, per_antenna=True), per_antenna=True) == tuple(found)


@given(st.integers(0, 255), st.integers(0, 255), st.binary(max_size=600), st.booleans())
def test_frames_there_and_back(command: int, address: int, data: bytes, advanced: bool) -> None:
    request = Request(command, data, address, advanced)
    again = Request.decode(request.encode())
    assert (again.command, again.data, again.address) == (command, data, address)
    response = Response(command, 0x94, data, address, advanced)
    assert Response.decode(response.encode()).data == data


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_random_bytes_never_crash_nor_grow(pieces: list[bytes]) -> None:
    framer = response_framer()
    for piece in pieces:
        framer.feed(piece)
        assert framer.pending < MAX_FRAME
    framer.flush()
    good = Response(Command.ISO_HOST, 1)
    assert framer.feed(good.encode()) == [good]


def test_a_storm_of_longest_claims_is_dropped_whole() -> None:
    framer = response_framer()
    wire = b"\x02\x1f\xff" * 3000
    assert framer.feed(wire) + framer.flush() == []
    assert framer.noise.dropped == len(wire)


@given(st.binary(max_size=30))
def test_random_inventory_data_is_decoded_or_refused(data: bytes) -> None:
    for per_antenna in (False, True):
        try:
            found = decode_inventory(data, per_antenna)
        except ProtocolError:
            continue
        assert encode_inventory(found, per_antenna) == data
