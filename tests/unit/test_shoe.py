"""The frames of our shoe, and the example in its document."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.errors import ChecksumError, LocalError, ProtocolError
from drivers.shoe import MAX_PAYLOAD, Card, Condition, Frame, Hello, Kind, Status, framer

DECK = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]

frames = st.builds(
    Frame,
    st.integers(0, 255),
    st.binary(max_size=MAX_PAYLOAD),
    st.integers(0, 2**32 - 1),
    st.integers(0, 255),
    st.integers(0, 255),
)


@given(frames)
def test_frame_there_and_back_whole_by_bytes_and_glued(frame: Frame) -> None:
    wire = frame.encode()
    assert Frame.decode(wire) == frame
    assert framer().feed(wire) == [frame]
    single = framer()
    assert [got for byte in wire for got in single.feed(bytes((byte,)))] == [frame]
    assert framer().feed(wire * 3) == [frame] * 3


@given(st.binary(max_size=600), frames)
def test_random_bytes_never_crash_nor_grow(noise: bytes, good: Frame) -> None:
    parser = framer()
    parser.feed(noise)
    assert parser.pending < 11 + MAX_PAYLOAD + 2
    parser.flush()
    assert parser.feed(good.encode()) == [good]


def test_a_broken_frame_is_refused_and_the_next_one_found() -> None:
    wire = bytearray(Frame(Kind.CARD, Card("As", 99).encode(), 7).encode())
    wire[12] ^= 1
    with pytest.raises(ChecksumError):
        Frame.decode(bytes(wire))
    parser = framer()
    assert parser.feed(bytes(wire) + Frame(Kind.PONG).encode()) == [Frame(Kind.PONG)]
    assert parser.noise.crc == 1
    with pytest.raises(ProtocolError):
        Frame.decode(b"FX" + bytes(20))
    with pytest.raises(LocalError):
        Frame(Kind.CARD, bytes(MAX_PAYLOAD + 1)).encode()


def test_every_card_has_its_byte() -> None:
    codes = {Card(card, 100).encode()[0] for card in DECK}
    assert len(codes) == 52
    assert 0 not in codes
    for card in [*DECK, None]:
        assert Card.decode(Card(card, 97).encode()) == Card(card, 97)
    assert Card.decode(Card(None, 100, "E004AB").encode()).tag == "E004AB"


@pytest.mark.parametrize(
    "payload", [b"", b"\xe4\x63", b"\xe4\x63\x01", b"\x14\x63\x00", b"\xf1\x63\x00", b"\xe5\x63\x00", b"\xe4\x65\x00"]
)
def test_an_impossible_card_is_refused(payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        Card.decode(payload)


@pytest.mark.parametrize("payload", [b"\xe0\x63\x00", b"\x04\x63\x00"])
def test_half_a_card_is_no_card(payload: bytes) -> None:
    assert Card.decode(payload).card is None


def test_hello_and_status_there_and_back() -> None:
    hello = Hello(7, 1, 12, Condition.JAM.bit | Condition.EMPTY.bit, 1, "FS-1", "S1", "1.0")
    assert Hello.decode(hello.encode()) == hello
    for size in range(len(hello.encode())):
        with pytest.raises(ProtocolError):
            Hello.decode(hello.encode()[:size])
    with pytest.raises(ProtocolError):
        Hello.decode(Hello(7, 1, 12, 0, 1, "", "", "").encode()[:-1] + b"\x01\x07")
    assert Status.decode(Status(Condition.LID, raised=True).encode()) == Status(Condition.LID, raised=True)
    with pytest.raises(ProtocolError):
        Status.decode(b"\x01")


@given(st.binary(max_size=40))
def test_random_payloads_are_decoded_or_refused(payload: bytes) -> None:
    for kind in (Card, Hello, Status):
        try:
            kind.decode(payload)
        except ProtocolError:
            continue


def test_the_example_of_the_document_is_true(root: Path) -> None:
    text = (root / "docs" / "shoe-protocol.md").read_text(encoding="utf-8")
    lines = re.findall(r"^(?:host|shoe)  ([0-9a-f ]+)$", text, re.MULTILINE)
    start, hello, card, ack = [Frame.decode(bytes.fromhex(line)) for line in lines]
    assert start == Frame(Kind.START, b"\x01")
    assert Hello.decode(hello.payload).serial == "SHOE-0001"
    assert (card.sequence, Card.decode(card.payload)) == (1, Card("As", 99))
    assert ack == Frame(Kind.ACK, sequence=1)
