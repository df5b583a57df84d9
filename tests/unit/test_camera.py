"""The camera's codec, and the conversation with a simulated camera on a fake clock."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers import camera
from drivers.camera import MAX_PAYLOAD, Condition, Frame, Hello, Kind, Sight, framer
from drivers.camera_host import CameraHost
from drivers.conversation import Conversation
from drivers.errors import ChecksumError, ConfigError, LocalError, ProtocolError
from drivers.readings import CardSighted, DeviceCleared, DeviceFault, DeviceUp
from simulators.hardware.camera import MEMORY, SmartCamera
from tests.virtual_wire import VirtualWire, clean
from tests.weather import days, spoiling

CARDS = [rank + suit for suit in "cdhs" for rank in "23456789TJQKA"]


def _wire(
    sim: SmartCamera | None = None, cut: int = 4096, *, commit: bool = True, **options: object
) -> tuple[VirtualWire, SmartCamera]:
    sim = sim or SmartCamera()
    wire = VirtualWire(CameraHost("cam0", path="p", options=options), sim, cut)
    wire.commit = commit
    return wire, sim


# ---------------------------------------------------------------- the codec

frames = st.builds(
    Frame,
    st.integers(0, 255),
    st.binary(max_size=MAX_PAYLOAD),
    st.integers(0, 2**32 - 1),
    st.integers(0, 255),
    st.integers(0, 255),
)
sights = st.builds(
    Sight,
    st.integers(0, 255),
    st.integers(0, 2**32 - 1),
    st.sampled_from([None, *CARDS]),
    st.integers(0, 100),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(frames, max_size=5), st.integers(1, 50))
def test_frames_there_and_back_in_any_cut(sent: list[Frame], step: int) -> None:
    wire = b"".join(frame.encode() for frame in sent)
    parser = framer()
    assert [got for at in range(0, len(wire), step) for got in parser.feed(wire[at : at + step])] == sent
    assert parser.noise.bad() == 0


@given(sights)
def test_sights_there_and_back(seen: Sight) -> None:
    assert Sight.decode(seen.encode()) == seen


@given(st.binary(max_size=12))
def test_random_payloads_are_decoded_or_refused(payload: bytes) -> None:
    for decode in (Sight.decode, Hello.decode):
        try:
            decode(payload)
        except ProtocolError:
            continue


def test_hello_there_and_back() -> None:
    hello = Hello(7, 3, 1, "FC-1", "CAM-0001", "1.0.0")
    assert Hello.decode(hello.encode()) == hello


def test_the_example_of_the_bytes() -> None:
    seen = Frame(Kind.SIGHT, Sight(1, 5, "As", 99, up=True).encode(), 1)
    assert seen.encode().hex() == "464301020000000001000801" + "00000005" + "e46303" + seen.encode()[-2:].hex()


def test_what_cannot_be_sent_and_what_is_broken() -> None:
    with pytest.raises(LocalError):
        Frame(1, bytes(MAX_PAYLOAD + 1)).encode()
    good = Frame(Kind.PONG, b"\x00").encode()
    with pytest.raises(ChecksumError):
        Frame.decode(good[:-1] + bytes((good[-1] ^ 1,)))
    with pytest.raises(ProtocolError):
        Frame.decode(good[:-1])
    parser = framer()
    assert parser.feed(good[:-1] + bytes((good[-1] ^ 1,)) + good) == [Frame(Kind.PONG, b"\x00")]


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_random_bytes_never_crash_nor_grow(pieces: list[bytes]) -> None:
    parser = framer()
    for piece in pieces:
        parser.feed(piece)
        assert parser.pending < MAX_PAYLOAD + 13
    parser.flush()
    assert len(parser.feed(Frame(Kind.PING).encode())) == 1


# ---------------------------------------------------------------- the conversation


def test_it_is_a_conversation() -> None:
    conversation: Conversation = CameraHost("cam0")
    assert conversation.stop(0).send == ()


@pytest.mark.parametrize("cut", [1, 7, 4096])
def test_a_card_comes_turns_and_leaves(cut: int) -> None:
    wire, sim = _wire(cut=cut)
    wire.open()
    wire.run(100)
    assert wire.readings == [DeviceUp("cam0", 1, "camera", "FC-1", "CAM-0001", "1.0.0", "p")]
    number = sim.lay(1, None, up=False)
    wire.run(100)
    sim.turn(number, "As", confidence=97)
    wire.run(100)
    sim.lift(number)
    wire.run(100)
    boot = 1 << 32
    assert wire.of(CardSighted) == [
        CardSighted("cam0", 2, "1", 1, None, "down", 100, True, False, boot | 1),
        CardSighted("cam0", 3, "1", 1, "As", "up", 97, True, False, boot | 2),
        CardSighted("cam0", 4, "1", 1, "As", "up", 97, False, False, boot | 3),
    ]
    assert sim.unconfirmed() == 0


def test_a_back_that_claims_a_face_is_not_believed() -> None:
    wire, sim = _wire()
    wire.open()
    wire.run(100)
    sim.lay(1, "As", up=False)
    wire.run(100)
    assert wire.of(CardSighted)[0].card is None


def test_faces_that_may_not_be_read_stay_in_the_camera() -> None:
    wire, sim = _wire(unread=[9])
    heard: list[bytes] = []

    def listen(data: bytes) -> list[bytes]:
        heard.append(data)
        return [data]

    wire.to_host = listen
    sim.lay(9, "As")
    sim.lay(1, "Kd")
    wire.open()
    sim.lay(9, "Qh")
    wire.run(2000)
    assert {(seen.channel, seen.card) for seen in wire.of(CardSighted)} == {("9", None), ("1", "Kd")}
    sent = [Sight.decode(frame.payload) for data in heard for frame in framer().feed(data) if frame.kind == Kind.SIGHT]
    assert all(seen.card is None and seen.withheld for seen in sent if seen.region == 9)


def test_a_disobedient_camera_is_not_believed() -> None:
    wire, _ = _wire(unread=[9])
    wire.open()
    wire.run(100)
    wire.hear(Frame(Kind.SIGHT, Sight(9, 1, "As", 99, up=True).encode(), 1).encode())
    assert wire.of(CardSighted)[0].card is None


def test_who_connects_learns_what_happened_and_what_lies_there() -> None:
    wire, sim = _wire()
    sim.lay(1, "As")
    gone = sim.lay(1, "Kd")
    sim.lift(gone)
    wire.open()
    wire.run(100)
    told = [(seen.card, seen.present, seen.standing) for seen in wire.of(CardSighted)]
    assert told == [("As", True, False), ("Kd", True, False), ("Kd", False, False), ("As", True, True)]


def test_nothing_is_confirmed_before_it_is_durable() -> None:
    wire, sim = _wire(commit=False)
    wire.open()
    wire.run(100)
    for card in CARDS[:5]:
        sim.lay(1, card)
    wire.run(5000)
    seen = wire.of(CardSighted)
    assert [each.card for each in seen] == CARDS[:5], "repeated, and told once"
    assert sim.unconfirmed() == 5
    wire.acknowledge(seen[2])
    assert sim.unconfirmed() == 5, "those before it are not durable yet"
    wire.acknowledge(seen[0])
    wire.acknowledge(seen[1])
    assert sim.unconfirmed() == 2


def test_a_lost_confirmation_is_given_again() -> None:
    wire, sim = _wire()
    wire.open()
    wire.run(100)
    wire.to_device = lambda data: [] if data[3] == Kind.ACK else [data]
    sim.lay(1, "As")
    wire.run(100)
    wire.to_device = clean
    wire.run(3000)
    assert len(wire.of(CardSighted)) == 1
    assert sim.unconfirmed() == 0


def test_a_full_memory_is_a_fault_and_the_scene_is_told_anew() -> None:
    wire, sim = _wire(commit=False)
    wire.open()
    wire.run(100)
    for _ in range(MEMORY // 2 + 5):
        sim.lift(sim.lay(1, "As"))
    sim.lay(2, "Kd")
    wire.run(1000)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["overflow"]
    wire.commit = True
    for reading in wire.of(CardSighted):
        wire.acknowledge(reading)
    wire.run(5000)
    assert [clear.fault for clear in wire.of(DeviceCleared)] == ["overflow"]
    last = wire.of(CardSighted)[-1]
    assert (last.card, last.standing) == ("Kd", True)


def test_troubles_of_the_view() -> None:
    wire, sim = _wire()
    wire.open()
    wire.run(100)
    sim.condition(Condition.DARK)
    sim.condition(Condition.COVERED)
    wire.run(100)
    sim.condition(Condition.DARK, raised=False)
    wire.run(100)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["view"]
    assert wire.of(DeviceCleared) == []
    sim.condition(Condition.COVERED, raised=False)
    wire.run(100)
    assert [clear.fault for clear in wire.of(DeviceCleared)] == ["view"]


def test_a_camera_that_restarts_is_ordered_anew_and_keeps_its_numbers_apart() -> None:
    wire, sim = _wire(unread=[9])
    sim.lay(1, "As")
    wire.open()
    wire.run(100)
    sim.reset()
    sim.lay(9, "Kd")
    wire.run(1000)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["reset"]
    assert [clear.fault for clear in wire.of(DeviceCleared)] == ["reset"]
    numbers = [seen.sequence for seen in wire.of(CardSighted)]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] >> 32 == 2
    assert all(seen.card is None for seen in wire.of(CardSighted) if seen.channel == "9")


def test_silence_another_camera_and_another_version() -> None:
    wire, _ = _wire(retries=2)
    wire.open()
    wire.run(100)
    wire.to_host = lambda data: []
    wire.run(10_000)
    assert wire.failed == "timeout"
    wire = VirtualWire(CameraHost("cam0", expect={"serial": "CAM-0002"}), SmartCamera())
    wire.open()
    wire.run(100)
    assert wire.failed == "wrong_device"
    wire, _ = _wire()
    wire.open()
    wire.hear(Frame(Kind.HELLO, version=2).encode())
    assert wire.failed == "wrong_device"
    assert "version 2" in wire.of(DeviceFault)[0].detail


def test_a_sighting_nobody_understands_holds_nothing_up() -> None:
    wire, sim = _wire()
    wire.open()
    wire.run(100)
    wire.hear(Frame(Kind.SIGHT, b"\x01", 1).encode())
    wire.hear(Frame(Kind.SIGHT, Sight(1, 2, "As", 99, up=True).encode(), 2).encode())
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["doubtful"]
    assert wire.of(CardSighted)[0].card == "As"
    wire.run(10)
    assert wire.sent[-1] == Frame(Kind.ACK, sequence=2).encode()
    assert sim.unconfirmed() == 0


def test_it_is_left_quiet_and_options_are_checked() -> None:
    wire, _ = _wire()
    wire.open()
    wire.run(100)
    assert wire.host.stop(wire.now).send == (Frame(Kind.STOP).encode(),)
    with pytest.raises(ConfigError):
        CameraHost("cam0", options={"unread": [300], "colour": 1})
    assert camera.VERSION == 1


@settings(max_examples=60)
@given(
    days(60, "swap"),
    st.integers(1, 300),
    st.lists(st.integers(0, 600), min_size=5, max_size=20),
)
def test_whatever_the_line_does_every_sighting_comes_once_and_in_order(
    weather: list[str], cut: int, pauses: list[int]
) -> None:
    wire, sim = _wire(cut=cut, retries=80)
    wire.to_host = wire.to_device = spoiling(weather, b"FC\x01\x02")
    wire.open()
    for at, pause in enumerate(pauses):
        sim.lay(1, CARDS[at])
        wire.run(pause)
    wire.run(60_000)
    assert wire.failed is None
    arrivals = [seen.card for seen in wire.of(CardSighted) if not seen.standing]
    assert arrivals == CARDS[: len(pauses)]
    assert sim.unconfirmed() == 0


def _again(sim: SmartCamera, *, commit: bool = True, **options: object) -> VirtualWire:
    """The daemon starts anew: another conversation with the same camera."""
    wire = VirtualWire(CameraHost("cam0", path="p", options=options), sim)
    wire.commit = commit
    wire.open()
    wire.run(3000)
    return wire


def test_what_is_on_record_does_not_come_again_after_a_restart() -> None:
    """The acknowledgement of what was committed got lost: it is confirmed now, and only the scene is told."""
    wire, sim = _wire(commit=False)
    wire.open()
    for region, card in enumerate(("As", "Kh", "Qd"), 1):
        sim.lay(region, card)
    wire.run(500)
    seen = wire.of(CardSighted)
    assert [one.card for one in seen] == ["As", "Kh", "Qd"]
    assert sim.unconfirmed() == 3

    unknown = _again(sim, commit=False)
    assert [one.standing for one in unknown.of(CardSighted)] == [False] * 3 + [True] * 3

    known = _again(sim, commit=False, committed=seen[1].sequence, committed_serial="CAM-0001")
    fresh = [one for one in known.of(CardSighted) if not one.standing]
    assert [(one.card, one.sequence) for one in fresh] == [("Qd", seen[2].sequence)]
    assert sum(one.standing for one in known.of(CardSighted)) >= 3
    assert Frame(Kind.ACK, sequence=2).encode() in known.sent


@pytest.mark.parametrize("other", ["serial", "power-up"])
def test_what_another_camera_or_power_up_told_says_nothing_of_this_one(other: str) -> None:
    sim = SmartCamera()
    if other == "power-up":
        sim.power_cycle(0)
    sim.lay(1, "As")
    whose = "CAM-0009" if other == "serial" else "CAM-0001"
    wire = _again(sim, committed=1 << 32 | 7, committed_serial=whose)
    assert next(one.card for one in wire.of(CardSighted)) == "As"
    assert sim.unconfirmed() == 0
