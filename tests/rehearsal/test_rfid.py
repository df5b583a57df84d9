"""Tables with antennas: recorded hands played with chips and cards, and a hand that both kinds of table play."""

from collections import Counter
from pathlib import Path

import pytest

from simulators.rehearse import Ask, Found, find, run
from simulators.verdict import Case
from tests.rehearsal.test_hands import all_of, no_limit, said, sample

HERE = Path(__file__).parent / "scenarios"
BOTH = HERE / "both-tables.toml"


def needless(cases: list[Case]) -> int:
    return sum(case.needless_holds + case.needless_breaches for case in cases)


@pytest.mark.ci
def test_hands_are_understood_from_chips_and_cards(shared: Path) -> None:
    cases = run(sample(shared, 20), Ask("virtual", table="rfid"), quiet=True)
    assert all_of(cases) == {"passed": 20}, said(cases)
    assert needless(cases) == 0
    assert {case.table for case in cases} == {"rfid"}
    assert max(case.keys for case in cases) < 30


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_no_limit_hands_end_as_on_record_from_chips_and_cards(shared: Path) -> None:
    cases = run(no_limit(shared), Ask("virtual", table="rfid"), jobs=2, quiet=True)
    assert all_of(cases) == {"passed": 1573}, said(cases)
    assert needless(cases) == 0


@pytest.mark.ci
def test_antennas_that_miss_tags_bring_the_same_results(shared: Path) -> None:
    cases = run(sample(shared, 8), Ask("virtual", table="rfid", reads="field"), quiet=True)
    assert sum(case.wrong for case in cases) == 0, said(cases)
    assert needless(cases) <= 1, said(cases)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_three_hundred_hands_with_antennas_that_miss_tags(shared: Path) -> None:
    cases = run(sample(shared, 300), Ask("virtual", table="rfid", reads="field"), jobs=2, quiet=True)
    assert len(cases) == 300
    assert sum(case.wrong for case in cases) == 0, said(cases)
    assert needless(cases) <= 1, said(cases)


@pytest.mark.slow
@pytest.mark.wires
def test_two_hands_over_wires_from_chips_and_cards(shared: Path) -> None:
    cases = run(sample(shared, 8)[:2], Ask("wires", table="rfid"), quiet=True)
    assert all_of(cases) == {"passed": 2}, said(cases)


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_twenty_five_hands_over_wires_from_chips_and_cards(shared: Path) -> None:
    cases = run(sample(shared, 25), Ask("wires", table="rfid"), quiet=True)
    assert all_of(cases) == {"passed": 25}, said(cases)
    assert needless(cases) == 0


@pytest.mark.ci
def test_one_hand_is_played_on_both_kinds_of_table_in_all_its_variants() -> None:
    cases = run(find([BOTH]), Ask("virtual"), quiet=True)
    assert all_of(cases) == {"passed": 20}, said(cases)
    assert Counter(case.table for case in cases) == {"rfid": 16, "shoe": 4}
    assert sum(case.faulted for case in cases) == 18
    assert needless(cases) == 0


@pytest.mark.ci
def test_change_at_the_tray_is_no_bet_at_any_pace_and_with_the_daemon_killed_at_every_step() -> None:
    cases = run(find([HERE / "change.toml"]), Ask("virtual"), quiet=True)
    assert all_of(cases) == {"passed": 30}, said(cases)
    assert needless(cases) == 0


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("label", ["[rfid]", "[daemon-killed][shoe]"])
def test_the_same_over_wires(label: str) -> None:
    """Quick sibling: test_closed_cards.py plays this hand over wires, from antennas with a shoe beside them."""
    one = next(one for one in find([BOTH]) if one.name == f"both-tables{label}")
    cases = run([one], Ask("wires"), quiet=True)
    assert all_of(cases) == {"passed": 1}, said(cases)


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_variants_over_wires_with_processes_killed() -> None:
    cases = run(find([BOTH]), Ask("wires"), quiet=True)
    assert all_of(cases) == {"passed": 20}, said(cases)


def test_a_hand_that_the_house_refuses_is_skipped_with_the_reason(shared: Path) -> None:
    one = next(one for one in find([shared / "data/phh/pluribus/31"]) if one.name == "28")
    (case,) = run([one], Ask("virtual", "hr_thp", table="rfid"), quiet=True)
    assert case.outcome == "skipped"
    assert "the chips have moved" in case.lines[0]


def test_a_missing_chip_is_found(tmp_path: Path) -> None:
    """The table is told the truth by its antennas, so a push to the wrong seat is no result."""
    text = BOTH.read_text(encoding="utf-8")
    wrong = text.replace(
        'from = "pot", to = "stack:2", chips = { 1000 = 4 }', 'from = "pot", to = "stack:4", chips = { 1000 = 4 }'
    )
    assert wrong != text
    path = tmp_path / "wrong.toml"
    path.write_text(wrong[: wrong.index("[[variant]]")], encoding="utf-8")
    one = next(one for one in find([path]) if one.pick is not None and one.pick.table == "rfid")
    (case,) = run([one], Ask("virtual"), quiet=True)
    assert case.outcome == "failed"
    assert case.incidents == {"I-19": 1}
    assert case.needless_holds == 1


def test_found_names_each_case_of_a_file() -> None:
    names = [one.name for one in find([BOTH])]
    assert names[0] == "both-tables[shoe]"
    assert "both-tables[flicker][kill_after=every_step][rfid]" in names
    assert len(set(names)) == len(names) == 20
    assert [one.name for one in find([BOTH], table="shoe")] == [name for name in names if name.endswith("[shoe]")]
    assert all(isinstance(one, Found) for one in find([BOTH]))
