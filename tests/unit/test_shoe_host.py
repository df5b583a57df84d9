"""The shoe's conversation with a simulated shoe on a fake clock: no card lost, none twice, none too early."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.conversation import Conversation
from drivers.errors import ConfigError
from drivers.options import MS
from drivers.readings import CardSeen, DeviceCleared, DeviceFault, DeviceUp
from drivers.shoe import Card, Frame, Hello, Kind, Mode
from drivers.shoe_host import ShoeHost
from simulators.hardware.shoe import MEMORY, REPEAT, SmartShoe
from tests.virtual_wire import VirtualWire, clean
from tests.weather import days, persevere, spoiling

DECK = [rank + suit for suit in "shdc" for rank in "AKQJT98765432"]
FIRST = 1 << 32 | 1


def _wire(cut: int = 4096, **options: object) -> tuple[VirtualWire, SmartShoe]:
    device = SmartShoe()
    device.load(DECK)
    wire = VirtualWire(ShoeHost("shoe0", path="usb://shoe", options=options), device, cut)
    return wire, device


def _cards(wire: VirtualWire) -> list[str | None]:
    return [reading.card for reading in wire.of(CardSeen)]


def _deal(wire: VirtualWire, device: SmartShoe, count: int) -> None:
    for _ in range(count):
        assert device.slide(wire.now) is not None
        wire.run(20)


def test_it_says_who_it_is_then_tells_cards_in_order() -> None:
    wire, device = _wire()
    wire.open()
    _deal(wire, device, 3)
    up, first, second, third = wire.readings
    assert up == DeviceUp("shoe0", 1, "shoe", "FS-1", "SHOE-0001", "1.0.0", "usb://shoe")
    assert first == CardSeen("shoe0", 2, "0", "As", None, 100, FIRST)
    assert isinstance(second, CardSeen)
    assert isinstance(third, CardSeen)
    assert (second.card, third.sequence) == ("Ks", FIRST + 2)


def test_a_card_is_confirmed_only_by_acknowledge() -> None:
    wire, device = _wire()
    wire.open()
    _deal(wire, device, 2)
    wire.run(5 * REPEAT // MS)
    assert device.unconfirmed() == 2
    assert _cards(wire) == ["As", "Ks"]
    wire.acknowledge(wire.of(CardSeen)[1])
    assert device.unconfirmed() == 1
    wire.acknowledge(wire.of(CardSeen)[0])
    assert device.unconfirmed() == 0
    sent = len(wire.sent)
    wire.acknowledge(wire.of(CardSeen)[0])
    wire.acknowledge(wire.of(DeviceUp)[0])
    assert len(wire.sent) == sent


def test_a_lost_confirmation_is_given_again() -> None:
    wire, device = _wire()
    wire.open()
    _deal(wire, device, 1)
    wire.to_device = lambda data: []
    wire.acknowledge(wire.of(CardSeen)[0])
    assert device.unconfirmed() == 1
    wire.to_device = clean
    wire.run(3000)
    assert device.unconfirmed() == 0
    assert _cards(wire) == ["As"]


def test_a_lost_card_is_asked_for_and_order_is_kept() -> None:
    wire, device = _wire()
    wire.open()
    wire.to_host = lambda data: []
    _deal(wire, device, 1)
    wire.to_host = clean
    _deal(wire, device, 2)
    wire.run(100)
    assert _cards(wire) == ["As", "Ks", "Qs"]
    assert wire.sent.count(Frame(Kind.RESEND, sequence=1).encode()) == 1


def test_a_storm_of_missing_cards_asks_once_in_a_while() -> None:
    wire, device = _wire(resend_ms=250, retries=4)
    wire.open()
    wire.to_host = lambda data: [] if Frame.decode(data).sequence == 1 else [data]
    _deal(wire, device, 20)
    assert wire.sent.count(Frame(Kind.RESEND, sequence=1).encode()) <= 2
    wire.run(3000)
    assert wire.failed == "timeout"
    assert _cards(wire) == []
    wire.to_host = clean
    wire.open()
    wire.run(200)
    assert _cards(wire) == DECK[:20]


def test_a_missing_card_behind_an_unfinished_frame_is_heard_before_it_is_asked_for_again() -> None:
    host = ShoeHost("shoe0", options={"resend_ms": 250, "gap_ms": 50})
    device = SmartShoe()
    device.load(DECK)
    for frame in host.start(0).send:
        for answer in device.feed(frame, 0):
            host.feed(answer, 0)
    device.slide(0)
    (first,) = device.poll(0)
    device.slide(0)
    (second,) = device.poll(0)
    resend = Frame(Kind.RESEND, sequence=1).encode()
    assert host.feed(second, 10 * MS).send == (resend,)
    begun = Frame(Kind.CARD, bytes(200), 9).encode()[:11]
    assert host.feed(begun + first, 200 * MS).readings == ()
    step = host.tick(260 * MS)
    assert [reading.card for reading in step.readings if isinstance(reading, CardSeen)] == ["As", "Ks"]
    assert resend not in step.send


def test_cards_drawn_while_the_link_was_down_come_after_it() -> None:
    wire, device = _wire()
    wire.open()
    _deal(wire, device, 2)
    for _ in range(40):
        device.slide(wire.now)
    device.power_cycle(wire.now)
    wire.open()
    wire.run(200)
    assert len(wire.of(DeviceUp)) == 2
    for reading in wire.of(CardSeen):
        wire.acknowledge(reading)
    wire.run(200)
    for reading in wire.of(CardSeen):
        wire.acknowledge(reading)
    assert _cards(wire) == DECK[:42]
    assert device.unconfirmed() == 0
    assert wire.of(DeviceFault) == []


def test_a_new_process_confirms_what_was_committed_and_delivers_the_rest() -> None:
    wire, device = _wire()
    wire.open()
    _deal(wire, device, 5)
    again = VirtualWire(ShoeHost("shoe0", options={"committed": FIRST + 1}), device)
    again.now = wire.now
    again.open()
    again.run(200)
    assert _cards(again) == DECK[2:5]
    assert device.unconfirmed() == 3


def test_a_doubtful_card_is_told_with_its_confidence() -> None:
    wire, device = _wire()
    wire.open()
    device.slide(wire.now, confidence=41)
    device.slide(wire.now, card="2c")
    device.slide(wire.now, confidence=0, card="??")
    wire.run(20)
    assert [(seen.card, seen.confidence) for seen in wire.of(CardSeen)] == [("As", 41), ("2c", 100), (None, 0)]


def test_a_shoe_that_reads_tags() -> None:
    wire, device = _wire()
    device.load(["As", "Kd"], tags={"As": "E00401", "Kd": "E00402"})
    wire.open()
    _deal(wire, device, 2)
    assert [(seen.card, seen.tag) for seen in wire.of(CardSeen)] == [(None, "E00401"), (None, "E00402")]


def test_unread_cards_have_no_value_anywhere_on_the_wire() -> None:
    wire, device = _wire(closed_cards="unread")
    heard: list[bytes] = []

    def listen(data: bytes) -> list[bytes]:
        heard.append(data)
        return [data]

    wire.to_host = listen
    wire.open()
    _deal(wire, device, 3)
    assert [(seen.card, seen.tag) for seen in wire.of(CardSeen)] == [(None, None)] * 3
    cards = [frame for frame in map(Frame.decode, heard) if frame.kind == Kind.CARD]
    assert {frame.payload for frame in cards} == {Card(None, 100).encode()}


def test_a_shoe_that_sends_values_against_the_order_is_not_believed() -> None:
    wire, _ = _wire(closed_cards="unread")
    wire.open()
    wire.hear(Frame(Kind.CARD, Card("As", 99).encode(), 1).encode())
    assert [(seen.card, seen.tag) for seen in wire.of(CardSeen)] == [(None, None)]


def test_jam_lid_and_empty_begin_and_end() -> None:
    wire, device = _wire()
    wire.open()
    device.jam()
    assert device.slide(wire.now) is None
    wire.run(20)
    device.clear()
    device.lid(is_open=True)
    wire.run(20)
    device.lid(is_open=False)
    device.load(["2c"])
    assert device.slide(wire.now) == "2c"
    assert device.slide(wire.now) is None
    wire.run(20)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["jam", "lid", "empty"]
    assert [cleared.fault for cleared in wire.of(DeviceCleared)] == ["jam", "lid"]
    assert isinstance(wire.readings[-3], CardSeen)


def test_a_lost_status_is_made_good_by_the_next_sign_of_life() -> None:
    wire, device = _wire(ping_ms=500)
    wire.open()
    wire.to_host = lambda data: []
    device.jam()
    wire.run(20)
    wire.to_host = clean
    wire.run(1000)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["jam"]


def test_conditions_are_known_after_a_reconnect() -> None:
    wire, device = _wire()
    device.jam()
    wire.open()
    wire.run(20)
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["jam"]
    device.power_cycle(wire.now)
    device.clear()
    wire.open()
    wire.run(20)
    assert [cleared.fault for cleared in wire.of(DeviceCleared)] == ["jam"]


def test_a_full_memory_keeps_the_gate_shut() -> None:
    wire, device = _wire()
    device.load(DECK * 10)
    drawn = 0
    while device.slide(wire.now) is not None:
        drawn += 1
    assert drawn == MEMORY
    wire.open()
    wire.run(100)
    assert "overflow" in [fault.fault for fault in wire.of(DeviceFault)]
    done = 0
    while done < drawn:
        for reading in wire.of(CardSeen)[done:]:
            done += 1
            wire.acknowledge(reading)
        wire.run(10)
    assert device.unconfirmed() == 0
    assert [cleared.fault for cleared in wire.of(DeviceCleared)] == ["overflow"]


@pytest.mark.parametrize("greeting_lost", [False, True])
def test_a_shoe_that_restarts_is_ordered_again_and_loses_nothing(greeting_lost: bool) -> None:
    wire, device = _wire()
    wire.open()
    _deal(wire, device, 2)
    if greeting_lost:
        wire.to_host = lambda data: []
    device.restart()
    device.slide(wire.now)
    wire.run(10)
    wire.to_host = clean
    wire.run(5000)
    assert _cards(wire) == DECK[:3]
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["reset"]
    assert [cleared.fault for cleared in wire.of(DeviceCleared)] == ["reset"]


def test_an_erased_memory_begins_again() -> None:
    wire, device = _wire()
    wire.open()
    _deal(wire, device, 2)
    device.erase()
    device.power_cycle(wire.now)
    wire.open()
    _deal(wire, device, 1)
    assert [seen.sequence for seen in wire.of(CardSeen)] == [FIRST, FIRST + 1, 2 << 32 | 1]
    wire.acknowledge(wire.of(CardSeen)[0])
    assert device.unconfirmed() == 1
    wire.acknowledge(wire.of(CardSeen)[2])
    assert device.unconfirmed() == 0


@pytest.mark.parametrize("mode", ["read", "unread"])
@pytest.mark.parametrize("acknowledged", [True, False])
def test_a_memory_that_is_erased_without_a_new_name_is_a_fault_and_nothing_is_confirmed(
    mode: str, acknowledged: bool
) -> None:
    wire, device = _wire(closed_cards=mode)
    wire.open()
    _deal(wire, device, 3)
    for seen in wire.of(CardSeen) if acknowledged else ():
        wire.acknowledge(seen)
    wire.run(2 * REPEAT // MS)
    device._kept.clear()  # the firmware does what the protocol forbids
    device._sequence = 0
    _deal(wire, device, 3)
    wire.run(5 * REPEAT // MS)
    assert device.unconfirmed() == 3, "each of them is kept by the shoe"
    faults = [fault for fault in wire.of(DeviceFault) if fault.fault == "reset"]
    assert "was taken before and comes as a new one" in faults[0].detail
    assert len(wire.of(CardSeen)) == 3
    device.erase()  # as it should be done: all is well again
    device.restart()
    _deal(wire, device, 2)
    assert len(wire.of(CardSeen)) == 5


@pytest.mark.parametrize("swapped", [True, False])
def test_another_shoe_with_the_same_memory_id_is_heard_from_its_first_card(swapped: bool) -> None:
    options: dict[str, Any] = {"committed": FIRST + 4, "committed_serial": "SHOE-0009" if swapped else "SHOE-0001"}
    wire, device = _wire(**options)
    for _ in range(6):
        device.slide(0)
    wire.open()
    wire.run(100)
    assert _cards(wire) == (DECK[:6] if swapped else DECK[5:6])


def test_a_shoe_that_is_changed_while_we_run_is_heard_from_its_first_card() -> None:
    wire, device = _wire()
    wire.open()
    _deal(wire, device, 3)
    for seen in wire.of(CardSeen):
        wire.acknowledge(seen)
    device._who = ("FS-1", "SHOE-0002", "1.0.0")
    device._kept.clear()
    device._sequence = 0
    device.restart()
    _deal(wire, device, 2)
    assert _cards(wire) == DECK[:5]
    assert [up.serial for up in wire.of(DeviceUp)] == ["SHOE-0001", "SHOE-0002"]


def test_cards_confirmed_to_somebody_else_are_reported_as_lost() -> None:
    wire, device = _wire()
    wire.open()
    _deal(wire, device, 1)
    device.power_cycle(wire.now)
    device.slide(wire.now)
    for sequence in (1, 2):
        device.feed(Frame(Kind.ACK, sequence=sequence).encode(), wire.now)
    wire.open()
    _deal(wire, device, 1)
    assert _cards(wire) == ["As", "Qs"]
    assert "1 card frames were confirmed to somebody else" in wire.of(DeviceFault)[0].detail


def test_another_version_is_named() -> None:
    wire, _ = _wire()
    wire.to_host = lambda data: [Frame(Kind.HELLO, b"new", version=2).encode()]
    wire.open()
    assert wire.failed == "wrong_device"
    assert "speaks version 2, here is 1" in wire.of(DeviceFault)[0].detail
    assert wire.of(DeviceUp) == []


def test_another_shoe_is_refused_by_name() -> None:
    wire = VirtualWire(ShoeHost("shoe0", expect={"serial": "SHOE-0002"}), SmartShoe())
    wire.open()
    assert wire.failed == "wrong_device"
    assert wire.of(DeviceFault)[0].detail == "expected serial 'SHOE-0002', found 'SHOE-0001'"


def test_a_shoe_that_disobeys_the_order_is_given_up() -> None:
    wire, _ = _wire(closed_cards="unread", retries=2)
    hello = Frame(Kind.HELLO, Hello(1, 1, 1, 0, Mode.VALUES, "FS-1", "S", "1").encode()).encode()
    wire.to_host = lambda data: [hello]
    wire.open()
    wire.run(5000)
    assert wire.failed == "timeout"
    assert wire.of(DeviceFault)[0].detail == "the shoe is in mode 1, ordered was PRESENCE"


def test_a_deaf_shoe_is_given_up_and_an_idle_one_is_not() -> None:
    wire, _ = _wire(ping_ms=500, timeout_ms=100, retries=3)
    wire.open()
    wire.run(60_000)
    assert wire.of(DeviceFault) == []
    wire.to_host = lambda data: []
    wire.run(5000)
    assert wire.failed == "timeout"


def test_a_shoe_missing_at_start_is_given_up() -> None:
    wire, _ = _wire(timeout_ms=100, retries=3)
    wire.to_host = lambda data: []
    wire.open()
    wire.run(5000)
    assert (wire.failed, wire.readings) == ("timeout", [])


def test_an_impossible_card_is_told_as_unknown() -> None:
    wire, _ = _wire()
    wire.open()
    wire.hear(Frame(Kind.CARD, b"\xff\x64\x00", 1).encode())
    assert [(seen.card, seen.confidence) for seen in wire.of(CardSeen)] == [(None, 0)]
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["doubtful"]
    wire.hear(Frame(Kind.CARD, Card("As", 99).encode(), 2).encode())
    assert [cleared.fault for cleared in wire.of(DeviceCleared)] == ["doubtful"]


@pytest.mark.parametrize(
    "frame",
    [Frame(0x44), Frame(Kind.PONG), Frame(Kind.STATUS, b"\x09\x01"), Frame(Kind.CARD, Card("As", 9).encode(), 9000)],
)
def test_what_the_protocol_does_not_know_is_a_fault(frame: Frame) -> None:
    wire, _ = _wire()
    wire.open()
    wire.hear(frame.encode())
    assert [fault.fault for fault in wire.of(DeviceFault)] == ["protocol"]
    assert _cards(wire) == []


def test_stop_leaves_the_shoe_quiet() -> None:
    wire, device = _wire()
    wire.open()
    wire.run(10)
    step = wire.host.stop(wire.now)
    assert step.send == (Frame(Kind.STOP).encode(),)
    device.feed(step.send[0], wire.now)
    device.slide(wire.now)
    assert device.poll(wire.now) == []
    assert wire.host.stop(wire.now).send == ()


def test_options_are_checked() -> None:
    conversation: Conversation = ShoeHost("shoe0")
    assert conversation.start(0).send == (Frame(Kind.START, b"\x01").encode(),)
    with pytest.raises(ConfigError, match=r"shoe0\.closed_cards = 'hidden': use one of read, unread"):
        ShoeHost("shoe0", options={"closed_cards": "hidden"})


@settings(max_examples=60)
@given(days(40, "ok"), days(40, "ok"), st.integers(1, 300), st.data())
def test_every_card_once_in_order_whatever_the_line_does(
    inbound: list[str], outbound: list[str], cut: int, data: st.DataObject
) -> None:
    wire, device = _wire(cut=cut, retries=3)

    wire.to_host = spoiling(inbound, b"\x00F")
    wire.to_device = spoiling(outbound, b"\x00F")
    wire.open()
    done = 0
    for _ in range(20):
        assert device.slide(wire.now) is not None
        match data.draw(st.sampled_from(["go", "go", "commit", "unplug", "restart"])):
            case "commit":
                for reading in wire.of(CardSeen)[done:]:
                    done += 1
                    wire.acknowledge(reading)
            case "unplug":
                device.power_cycle(wire.now)
                wire.open()
            case "restart":
                device.restart()
            case _:
                pass
        wire.run(30)
        if wire.failed is not None:
            wire.open()
    persevere(wire, 8)
    assert _cards(wire) == DECK[:20]
    for reading in wire.of(CardSeen)[done:]:
        wire.acknowledge(reading)
    for _ in range(4):
        wire.run(3000)
        if wire.failed is not None:
            wire.open()
    assert device.unconfirmed() == 0
