"""A table of six devices of six makes: antennas of two of them, a tray of a third, a shoe, a camera, a keypad."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from simulators.layout import in_the_field, six_table
from simulators.rehearse import Ask, Found, find, main, run
from simulators.through.wires import bodies_after
from simulators.verdict import Exit
from tests.rehearsal.test_hands import all_of, said, sample
from tests.rehearsal.test_rfid import BOTH, needless

SIX = Ask("virtual", table="rfid", six=True)


def hands(shared: Path, count: int) -> list[Found]:
    return sample(shared, count)


@pytest.mark.ci
def test_hands_are_understood_from_six_devices(shared: Path) -> None:
    cases = run(hands(shared, 14)[10:], SIX, quiet=True)
    assert all_of(cases) == {"passed": 4}, said(cases)
    assert needless(cases) == 0


@pytest.mark.ci
def test_antennas_of_all_makes_miss_tags_and_the_results_are_the_same(shared: Path) -> None:
    cases = run(hands(shared, 14)[11:], replace(SIX, reads="field"), quiet=True)
    assert all_of(cases) == {"passed": 3}, said(cases)
    assert needless(cases) == 0


def test_in_the_field_every_make_of_reader_has_a_read_rate() -> None:
    table = in_the_field(six_table(6), "seed", ["E00400000000000A"])
    readers = [device for device in table.devices if device.kind == "reader"]
    assert {device.driver for device in readers} == {"feig", "eccel", "mercury"}
    assert all(device.model["reads"]["dead"] == ["E00400000000000A"] for device in readers)
    tray = next(device for device in readers if device.driver == "mercury")
    assert tray.model["reads"]["spread"] == [1]


def test_no_place_is_read_by_two_of_them_but_for_the_camera() -> None:
    table = six_table(9)
    read = [place for device in table.devices if device.kind != "camera" for place in device.places.values()]
    assert len(read) == len(set(read))
    assert {device.driver for device in table.devices} == {"feig", "eccel", "mercury", "shoe", "camera", "keypad"}
    assert set(table.regions) == {"board", *(f"seat:{seat}" for seat in range(1, 10))}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_hundred_hands_from_six_devices(shared: Path) -> None:
    cases = run(hands(shared, 100), SIX, jobs=2, quiet=True)
    assert all_of(cases) == {"passed": 100}, said(cases)
    assert needless(cases) == 0


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(300)
def test_a_hand_over_wires_from_six_devices(shared: Path) -> None:
    cases = run(hands(shared, 14)[13:], Ask("wires", table="rfid", six=True), quiet=True)
    assert all_of(cases) == {"passed": 1}, said(cases)


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_twenty_five_hands_over_wires_from_six_devices(shared: Path) -> None:
    cases = run(hands(shared, 25), Ask("wires", table="rfid", six=True), quiet=True)
    assert all_of(cases) == {"passed": 25}, said(cases)
    assert needless(cases) == 0


@pytest.mark.ci
def test_each_device_is_cited_for_what_it_sees(shared: Path, tmp_path: Path) -> None:
    """Cards by the shoe, the antennas and the camera; hands shown by the camera alone; chips by the Eccel MUX."""
    ledger = tmp_path / "ledger"
    record = shared / "data/phh/wsop-2023-43/1.phh"
    assert main(["--through", "virtual", "--table", "six", "--ledger", str(ledger), str(record)]) == Exit.PASSED
    events = [json.loads(body) for body in bodies_after(ledger, 0)]

    def cited(kind: str) -> list[set[str]]:
        return [{e["device"] for e in one["data"].get("evidence", ())} for one in events if one["type"] == kind]

    assert cited("hand.tabled") == [{"cam0"}, {"cam0"}]
    assert {"cards0", "shoe0"} in cited("card.dealt")
    assert all({"cards0", "shoe0"} <= devices for devices in cited("card.dealt"))
    board = [one["data"] for one in events if one["type"] == "card.opened" and one["data"]["place"] == "board"]
    assert all("cam0" in {e["device"] for e in one["evidence"]} for one in board)
    assert {"bets0"} in cited("action.taken")
    assert cited("tray.counted")[0] == {"tray0"}
    assert [one["data"]["device"] for one in events if one["type"] == "device.up"].count("cam0") == 1


@pytest.mark.parametrize("name", ["both-tables[rfid]", "both-tables[kill_after=every_step][rfid]"])
@pytest.mark.ci
def test_a_table_that_is_thrown_away_hears_its_witnesses_again(name: str) -> None:
    (one,) = [one for one in find([BOTH]) if one.name == name]
    cases = run([one], SIX, quiet=True)
    assert all_of(cases) == {"passed": 1}, said(cases)


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_process_is_killed_and_its_witnesses_tell_it_again() -> None:
    (one,) = [one for one in find([BOTH]) if one.name == "both-tables[kill_after=every_step][rfid]"]
    cases = run([one], Ask("wires", table="rfid", six=True), quiet=True)
    assert all_of(cases) == {"passed": 1}, said(cases)
