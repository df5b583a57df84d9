"""Recorded hands and scenarios where closed cards are not read, and where a shoe stands beside the antennas."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.capture.verifying import verify_capture
from drivers.readings import CardSeen, TagsSeen
from simulators import playing
from simulators.plan import Plan, of_scenario
from simulators.rehearse import Ask, find, run
from simulators.scripts import scenario
from simulators.scripts.acts import DECK
from simulators.through.stage import Journal
from simulators.through.virtual import VirtualStage
from simulators.through.wires import WiresStage
from simulators.tokens import card_tag
from simulators.verdict import Case
from tests.rehearsal.test_hands import all_of, said, sample
from tests.rehearsal.test_rfid import BOTH, HERE, needless

BESIDE = HERE / "shoe-beside.toml"
WAYS: dict[str, dict[str, Any]] = {
    "antennas": {"table": "rfid", "closed_cards": "unread"},
    "shoe": {"closed_cards": "unread"},
    "beside": {"table": "rfid", "shoe": True},
    "beside-unread": {"table": "rfid", "shoe": True, "closed_cards": "unread"},
}
ways = pytest.mark.parametrize("way", WAYS)


def ask(through: str, way: str, **more: Any) -> Ask:
    return Ask(through, **{**WAYS[way], **more})


@ways
@pytest.mark.ci
def test_hands_come_out_as_on_record(shared: Path, way: str) -> None:
    cases = run(sample(shared, 6)[1:], ask("virtual", way), quiet=True)
    assert all_of(cases) == {"passed": 5}, said(cases)
    assert needless(cases) == 0


@ways
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_four_hundred_hands_come_out_as_on_record(shared: Path, way: str) -> None:
    cases = run(sample(shared, 400), ask("virtual", way), jobs=2, quiet=True)
    assert all_of(cases) == {"passed": 400}, said(cases)
    assert needless(cases) == 0


@pytest.mark.parametrize("way", ["antennas", "beside-unread"])
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_and_fifty_with_antennas_that_miss_tags(shared: Path, way: str) -> None:
    cases = run(sample(shared, 150), ask("virtual", way, reads="field"), jobs=2, quiet=True)
    assert sum(case.wrong for case in cases) == 0, said(cases)
    assert needless(cases) <= 1, said(cases)


@pytest.mark.parametrize("way", ["shoe", pytest.param("beside-unread", marks=pytest.mark.slow)])
@pytest.mark.wires
@pytest.mark.timeout(300)
@pytest.mark.ci
def test_a_hand_over_wires(shared: Path, way: str) -> None:
    cases = run(sample(shared, 8)[:1], ask("wires", way), quiet=True)
    assert all_of(cases) == {"passed": 1}, said(cases)


@ways
@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_dozen_hands_over_wires(shared: Path, way: str) -> None:
    cases = run(sample(shared, 12), ask("wires", way), quiet=True)
    assert all_of(cases) == {"passed": 12}, said(cases)
    assert needless(cases) == 0


@pytest.mark.parametrize("way", [pytest.param("antennas", marks=pytest.mark.slow), "beside-unread"])
@pytest.mark.ci
def test_the_hand_of_both_tables_in_all_its_variants(way: str) -> None:
    """Flicker, second deck, antenna lost, cards lifted, killed at every step; at the shoe table too."""
    found = find([BOTH])
    cases = run(found, replace(ask("virtual", way), table=None), quiet=True)
    assert all_of(cases) == {"passed": 20}, said(cases)
    assert needless(cases) == 0


@pytest.mark.ci
def test_where_shoe_and_antennas_differ_a_person_looks_unless_they_agree_after_all() -> None:
    cases = run(find([BESIDE]), Ask("virtual"), quiet=True)
    assert all_of(cases) == {"passed": 7}, said(cases)
    assert needless(cases) == 0


@pytest.mark.ci
def test_the_same_where_nothing_is_read() -> None:
    """That another card lies there than left the shoe is known to nobody then."""
    cases = run(find([BESIDE]), Ask("virtual", closed_cards="unread"), quiet=True)
    outcomes = {case.name: case.outcome for case in cases}
    assert outcomes.pop("shoe-beside[another-card][rfid]") == "skipped"
    assert set(outcomes.values()) == {"passed"}, said(cases)


@pytest.mark.parametrize("closed", ["read", "unread"])
@pytest.mark.ci
def test_a_table_killed_at_every_step_loses_no_word_of_the_shoe(tmp_path: Path, closed: Any) -> None:
    text = BESIDE.read_text(encoding="utf-8")
    base, held = text.split("[[variant]]")[:2]
    path = tmp_path / "killed.toml"
    path.write_text(f'{base}\n[[variant]]{held}\n[sweep]\nkill_after = "every_step"\n', encoding="utf-8")
    cases = run(find([path]), Ask("virtual", closed_cards=closed), quiet=True)
    assert all_of(cases) == {"passed": 4}, said(cases)


# --- what gets out, and what gets in ------------------------------------------------------------------------------


def _plan(shoe: bool) -> tuple[Any, Plan]:
    pick = next(one.pick for one in find([BOTH]) if one.name == "both-tables[rfid]")
    script = scenario.load(BOTH, pick)
    return script, replace(of_scenario(script), closed_cards="unread", shoe=shoe)


def _told(stage: VirtualStage, said: list[Any]) -> Iterator[str]:
    for one in said:
        if isinstance(one, CardSeen) and one.card is not None:
            yield one.card
        elif isinstance(one, TagsSeen):
            yield from (stage.plan.deck[tag] for tag in one.tags if tag in stage.plan.deck)


def test_the_core_is_told_of_no_card_before_it_lies_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every input is kept; a card may be in one only once the table has seen it turned face up."""
    script, plan = _plan(shoe=True)
    journal = Journal(tmp_path / "ledger", plan.seed)
    inputs: list[Any] = []
    original = VirtualStage._input

    def kept(self: VirtualStage, what: Any) -> None:
        inputs.append(what)
        original(self, what)

    monkeypatch.setattr(VirtualStage, "_input", kept)
    stage = VirtualStage(plan, journal)
    case = Case("closed", "passed")
    playing.ScenarioRun(script, plan, stage).play(case)
    assert not case.lines
    opened = [event.data["card"] for event in stage.seen if event.type == "card.opened"]
    told = list(dict.fromkeys(_told(stage, inputs)))
    assert sorted(told) == sorted(opened)
    secrets = [record.secret for record in journal.restore() if record.type == "card.dealt" and record.secret]
    assert {secret["card"] for secret in secrets} == {"??"} or not secrets
    journal.close()


@pytest.mark.wires
@pytest.mark.timeout(300)
@pytest.mark.ci
def test_no_file_of_a_real_table_holds_a_closed_card(tmp_path: Path) -> None:
    """Ledger, capture (plain, as in test mode), log: of a card that was never opened there is neither tag nor value."""
    script, plan = _plan(shoe=True)
    stage = WiresStage(plan, tmp_path, 5)
    case = Case("closed", "passed")
    try:
        playing.ScenarioRun(script, plan, stage).play(case)
    finally:
        stage.close()
    assert not case.lines, case.lines
    opened = {event.data["card"] for event in stage.seen if event.type == "card.opened"}
    closed = set(DECK) - opened
    registry = {"deck.csv", "table.toml"}
    for file in [path for path in tmp_path.iterdir() if path.is_file() and path.name not in registry]:
        content = file.read_bytes()
        if file.name.startswith("capture"):
            origin, _, content = content.partition(b'"input":1,')  # before it stands the registry of the deck
            assert b'"tags"' in origin
        for card in closed:
            assert card_tag(card).encode() not in content, f"{file.name}: the tag of {card}"
            assert bytes.fromhex(card_tag(card)) not in content, f"{file.name}: the bytes of the tag of {card}"
            assert not re.search(rf'"card": ?"{card}"'.encode(), content), f"{file.name}: {card}"
    replayed = verify_capture(stage.ledger, stage.capture)
    assert replayed.ok, replayed.faults
    assert any("closed cards are not read here" in note for note in replayed.notes)
