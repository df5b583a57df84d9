"""Drivers and simulated devices joined on a fake clock: no IO, no thread, any amount of trouble."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.options import MS
from drivers.readings import CardSeen, DeviceLost, DeviceUp, KeyPressed, KeyReleased, Reading, TagsSeen
from simulators.errors import RigError
from simulators.gestures import FILLER, MODELS, loaded_shoe
from simulators.hardware.feig import FeigReader
from simulators.hardware.keypad import Keypad
from simulators.hardware.mercury import MercuryModule
from simulators.rigs import VirtualWire

SECOND = 1000 * MS


def run(wire: VirtualWire, now: int, until: int) -> list[Reading]:
    """Let the clock run, from one deadline to the next."""
    readings = wire.pump(now)
    while (due := wire.deadline()) is not None and due <= until:
        readings += wire.pump(max(now, due))
    return readings


def test_up_card_acknowledged() -> None:
    wire = VirtualWire("shoe0", "shoe", loaded_shoe())
    (up,) = wire.pump(0)
    assert isinstance(up, DeviceUp)
    assert (up.reading, up.path, wire.up) == (1, "virtual://shoe0", True)
    assert wire.perform("slide", SECOND, card="As") == {"card": "As"}
    card = next(each for each in wire.pump(SECOND) if isinstance(each, CardSeen))
    assert card.card == "As"
    assert wire.perform("state", SECOND)["unconfirmed"] == 1
    wire.acknowledge(card, SECOND)
    wire.pump(SECOND)
    assert wire.perform("state", SECOND)["unconfirmed"] == 0


def test_unplugged_and_plugged_in_again() -> None:
    wire = VirtualWire("shoe0", "shoe", loaded_shoe())
    wire.pump(0)
    wire.perform("unplug", SECOND)
    assert wire.pump(SECOND) == [DeviceLost("shoe0", 2, "unplugged", "virtual://shoe0", 1)]
    assert run(wire, SECOND, 5 * SECOND) == []
    wire.perform("plug", 6 * SECOND)
    readings = run(wire, 6 * SECOND, 8 * SECOND)
    (up,) = [each for each in readings if isinstance(each, DeviceUp)]
    assert up.attempt > 3
    with pytest.raises(RigError, match="plugged in already"):
        wire.perform("plug", 8 * SECOND)


def test_missing_from_the_start() -> None:
    wire = VirtualWire("shoe0", "shoe", loaded_shoe())
    wire.unplug()
    assert wire.pump(0) == [DeviceLost("shoe0", 1, "missing", "virtual://shoe0", 1)]
    with pytest.raises(RigError, match="not plugged in"):
        wire.unplug()


def test_a_quick_replug_is_still_a_loss() -> None:
    wire = VirtualWire("shoe0", "shoe", loaded_shoe())
    wire.pump(0)
    wire.unplug()
    wire.plug(0)
    assert any(isinstance(each, DeviceLost) for each in wire.pump(0))


def test_the_wrong_device_is_refused() -> None:
    wire = VirtualWire("shoe0", "shoe", loaded_shoe(serial="OTHER"), expect={"serial": "SHOE-0001"})
    readings = run(wire, 0, 5 * SECOND)
    assert [each.cause for each in readings if isinstance(each, DeviceLost)] == ["wrong_device"]
    assert not wire.up


def test_a_deaf_device_is_lost_and_found() -> None:
    wire = VirtualWire("tray0", "feig", FeigReader())
    run(wire, 0, SECOND)
    wire.perform("deaf", SECOND)
    lost = [each for each in run(wire, SECOND, 60 * SECOND) if isinstance(each, DeviceLost)]
    assert [each.cause for each in lost] == ["timeout"]
    wire.perform("hear", 60 * SECOND)
    assert any(isinstance(each, DeviceUp) for each in run(wire, 60 * SECOND, 70 * SECOND))


def test_tags_and_keys() -> None:
    wire = VirtualWire("tray0", "feig", FeigReader(), piece=1)
    run(wire, 0, SECOND)
    wire.perform("put", SECOND, channel="0", tags=["E00401000000000A"])
    seen = [each.tags for each in run(wire, SECOND, 3 * SECOND) if isinstance(each, TagsSeen)]
    assert seen[-1] == {"E00401000000000A"}

    keys = VirtualWire("keys0", "keypad", Keypad())
    keys.pump(0)
    keys.perform("tap", 0, keys=["7", "FOLD"])
    told = [each for each in keys.pump(0) if isinstance(each, KeyPressed | KeyReleased)]
    assert [each.key for each in told] == ["7", "7", "FOLD", "FOLD"]


def test_an_act_that_cannot_be_done_is_named() -> None:
    wire = VirtualWire("keys0", "keypad", Keypad())
    with pytest.raises(RigError, match="correct the arguments"):
        wire.perform("press", 0, key="PANIC")
    with pytest.raises(RigError, match="a keypad knows no 'slide'"):
        wire.perform("slide", 0)


TROUBLES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["unplug", "plug", "reset", "jam", "clear", "deaf", "hear", "commit"]), st.just({})),
        st.tuples(st.sampled_from(["corrupt", "drop"]), st.fixed_dictionaries({"frames": st.integers(1, 3)})),
        st.tuples(
            st.just("noise"), st.fixed_dictionaries({"bytes": st.binary(min_size=1, max_size=20).map(bytes.hex)})
        ),
        st.tuples(st.just("slide"), st.fixed_dictionaries({"card": st.sampled_from(FILLER)})),
    ),
    max_size=40,
)


@given(TROUBLES, st.sampled_from([None, 1, 3, 17]))
def test_whatever_happens_every_card_comes_once_and_in_order(
    troubles: list[tuple[str, dict[str, Any]]], piece: int | None
) -> None:
    wire = VirtualWire("shoe0", "shoe", loaded_shoe(), piece=piece)
    slid: list[str] = []
    cards: list[CardSeen] = []
    numbers: list[int] = []
    now = committed = 0

    def commit() -> None:
        nonlocal committed
        for card in cards[committed:]:
            wire.acknowledge(card, now)
        committed = len(cards)

    for what, args in [("hear", {}), *troubles]:
        if what == "commit":
            commit()
        # A jammed shoe gives no card, and what is plugged in cannot be plugged in: not every act can be done.
        with contextlib.suppress(RigError):
            if what != "commit" and (card := wire.perform(what, now, **args).get("card")):
                slid.append(card)
        for reading in run(wire, now, now + 300 * MS):
            numbers.append(reading.reading)
            cards += [reading] if isinstance(reading, CardSeen) else []
        now += 300 * MS

    for what, args in [("hear", {}), ("corrupt", {"frames": 0}), ("drop", {"frames": 0}), ("unplug", {}), ("plug", {})]:
        with contextlib.suppress(RigError):
            wire.perform(what, now, **args)
    for _ in range(2):
        for reading in run(wire, now, now + 30 * SECOND):
            numbers.append(reading.reading)
            cards += [reading] if isinstance(reading, CardSeen) else []
        now += 30 * SECOND
        commit()
    run(wire, now, now + 10 * SECOND)
    assert [card.card for card in cards] == slid
    assert numbers == list(range(1, len(numbers) + 1))
    assert wire.perform("state", now)["unconfirmed"] == 0
    assert wire.up


@pytest.mark.parametrize("speed", [9_600, 921_600])
def test_the_line_has_the_speed_that_the_driver_asks_for(speed: int) -> None:
    """A module that a former host has left at another speed is found, and found again after it was unplugged."""
    wire = VirtualWire("tray0", "mercury", MercuryModule(baud=speed), baud=115_200)
    for round_ in range(2):
        began = round_ * 100 * SECOND
        readings = run(wire, began, began + 20 * SECOND)
        assert wire.up
        assert [type(each) for each in readings if isinstance(each, DeviceUp | DeviceLost)][-1] is DeviceUp
        wire.perform("unplug", began + 30 * SECOND)
        run(wire, began + 30 * SECOND, began + 40 * SECOND)
        wire.perform("plug", began + 50 * SECOND)


def test_a_module_at_a_speed_that_nobody_tries_stays_deaf() -> None:
    wire = VirtualWire("tray0", "mercury", MercuryModule(baud=300), baud=115_200)
    readings = run(wire, 0, 60 * SECOND)
    assert not wire.up
    assert [each.cause for each in readings if isinstance(each, DeviceLost)] == ["timeout"]


@pytest.mark.parametrize(
    ("driver", "options", "channel"),
    [("eccel", {"antennas": [1, 2]}, "2"), ("eccel", {}, "0"), ("mercury", {}, "0"), ("feig", {"antennas": [2]}, "2")],
)
def test_a_reader_of_any_make_reads_as_well_as_it_hears(driver: str, options: dict[str, object], channel: str) -> None:
    """A dead tag is never heard, and one that is missed now and then has not gone for it."""
    lying = [f"E0040000000000{number:02X}" for number in range(12)]
    reads = {"seed": driver, "dead": lying[:1]}
    wire = VirtualWire("r0", driver, MODELS[driver](reads=reads), options=options)
    run(wire, 0, SECOND)
    wire.perform("put", SECOND, tags=lying, channel=int(channel))
    told = [one for one in run(wire, SECOND, 90 * SECOND) if isinstance(one, TagsSeen) and one.channel == channel]
    heard = frozenset[str]().union(*(one.tags for one in told))
    assert heard == frozenset(lying[1:])
    whole = [one for one in told if one.complete and one.tags]
    assert any(one.tags == heard for one in whole)
    missed = [one for one in whole[len(whole) // 2 :] if one.tags != heard]
    assert bool(missed) is (driver == "feig" or channel == "2")  # they tell what one inventory heard; others wait
    wire.perform("take", 90 * SECOND, tags=lying, channel=int(channel))
    gone = [one for one in run(wire, 90 * SECOND, 99 * SECOND) if isinstance(one, TagsSeen) and one.channel == channel]
    assert gone[-1].tags == frozenset()
