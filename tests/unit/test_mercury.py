"""The Mercury codec against the recorded frames."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.errors import ChecksumError, LocalError, ProtocolError
from drivers.framing import Framer
from drivers.mercury import (
    RUN,
    Opcode,
    Request,
    Response,
    Status,
    TagRead,
    Version,
    crc16,
    request_framer,
    response_framer,
)


@pytest.fixture(scope="module")
def vectors(shared: Path) -> list[dict[str, Any]]:
    everything = json.loads((shared / "data" / "device_vectors.json").read_text())
    return [item for item in everything if item["protocol"] == "thingmagic-mercury"]


def _bitwise(data: bytes) -> int:
    """The checksum as the developer guide describes it: message bits shifted into a register of ones."""
    register = 0xFFFF
    for byte in data:
        for bit in range(7, -1, -1):
            top = register >> 15
            register = (register << 1 & 0xFFFF | byte >> bit & 1) ^ (0x1021 if top else 0)
    return register


@given(st.binary(min_size=2, max_size=260))
def test_checksum_is_the_one_of_the_guide(data: bytes) -> None:
    assert crc16(data) == _bitwise(data)


def test_every_good_frame_whole_by_bytes_and_glued(vectors: list[dict[str, Any]]) -> None:
    good = [item for item in vectors if item["framing_check"] == "pass"]
    assert len(good) == 26
    for item in good:
        frame, meaning = bytes.fromhex(item["hex"]), item["meaning"]
        request = meaning.startswith("req:")
        kind: type[Request | Response] = Request if request else Response
        parsers: list[Framer[Request] | Framer[Response]] = [
            request_framer() if request else response_framer() for _ in range(3)
        ]
        decoded = kind.decode(frame)
        assert decoded.encode() == frame, meaning
        assert parsers[0].feed(frame) == [decoded], meaning
        assert [got for byte in frame for got in parsers[1].feed(bytes((byte,)))] == [decoded], meaning
        assert parsers[2].feed(frame * 3) == [decoded] * 3, meaning
        assert all(parser.clean for parser in parsers), meaning


def test_negatives(vectors: list[dict[str, Any]]) -> None:
    negatives = [item for item in vectors if item["framing_check"].startswith("FAIL")]
    assert len(negatives) == 2
    follower = Response(Opcode.VERSION, Status.NO_TAGS)
    for item in negatives:
        frame = bytes.fromhex(item["hex"])
        with pytest.raises(ProtocolError):
            Request.decode(frame)
        framer = response_framer()
        assert framer.feed(frame) + framer.flush() == [], item["meaning"]
        assert framer.feed(follower.encode()) == [follower]


def test_the_truncated_boot_frame_is_no_frame(vectors: list[dict[str, Any]]) -> None:
    (item,) = [item for item in vectors if item["meaning"].startswith("TRUNCATED")]
    framer = response_framer()
    assert framer.feed(bytes.fromhex(item["hex"])) == []
    assert framer.flush() == []


def test_the_captured_stream_record(vectors: list[dict[str, Any]]) -> None:
    (item,) = [item for item in vectors if item["meaning"].startswith("stream:")]
    response = Response.decode(bytes.fromhex(item["hex"]))
    read = TagRead.decode(response.data)
    assert read == TagRead(
        bytes.fromhex("000000000000000000001545"), 0x3000, -60, 1, 923_200, 0x127, count=1, crc=0xE94A
    )
    assert read is not None
    assert read.encode() == response.data


def test_the_captured_version(vectors: list[dict[str, Any]]) -> None:
    (item,) = [item for item in vectors if item["meaning"].startswith("rsp: Get Version")]
    data = Response.decode(bytes.fromhex(item["hex"])).data
    version = Version.decode(data)
    assert (version.model, version.revision) == ("M-01000003", "01.07.02.09 (20141007)")
    assert version.encode() == data


@given(
    st.builds(
        TagRead,
        st.binary(min_size=1, max_size=62),
        st.integers(0, 0xFFFF),
        st.integers(-128, 127),
        st.integers(0, 15),
        st.integers(0, 0xFFFFFF),
        st.integers(0, 0xFFFFFFFF),
        st.integers(0, 255),
        st.integers(0, 0xFFFF),
    )
)
def test_records_there_and_back(read: TagRead) -> None:
    assert TagRead.decode(read.encode()) == read


@given(st.binary(max_size=60))
def test_random_records_are_decoded_or_refused(data: bytes) -> None:
    try:
        TagRead.decode(data)
    except ProtocolError:
        return


def test_a_record_about_the_module_is_no_tag() -> None:
    assert TagRead.decode(b"\x10\x01\x1b\x01\xff\x02\x00\x17") is None


def test_longest_frames() -> None:
    assert len(Request(1, bytes(255)).encode()) == 260
    with pytest.raises(LocalError):
        Response(1, 0, bytes(256)).encode()
    with pytest.raises(ChecksumError):
        Request.decode(Request(Opcode.CONTINUOUS, RUN).encode()[:-1] + b"\x00")


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_random_bytes_never_crash_nor_grow(pieces: list[bytes]) -> None:
    framer = response_framer()
    for piece in pieces:
        framer.feed(piece)
        assert framer.pending < 263
    framer.flush()
    good = Response(Opcode.READ_MULTIPLE, Status.NO_TAGS)
    assert framer.feed(good.encode()) == [good]
