"""Closed cards: what is looked through for them, and the second run with others in their place."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulators import sealed
from simulators.dealer import Timed
from simulators.dealer_rfid import AntennaDealer
from simulators.rehearse import Ask, Found, play
from simulators.scripts import scenario
from simulators.scripts.acts import Act, Declare, Press, Slide
from simulators.scripts.variants import Pick
from simulators.seen import Seen
from simulators.through import wires
from simulators.through.wires import numbers
from simulators.tokens import card_tag

BOTH = Path(__file__).parent / "scenarios" / "both-tables.toml"
RFID = Pick("", "rfid")


def event(**data: object) -> Seen:
    return Seen(0, "play", "card.dealt", data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"card": "2d"}, "card.dealt shows 2d"),
        ({"deep": [{"said": "it was 2d, I saw"}]}, "card.dealt shows 2d"),
        ({"tag": card_tag("As")}, "card.dealt has the tag of a card"),
        ({"tag": card_tag("As").lower()}, "card.dealt has the tag of a card"),
    ],
)
def test_an_event_that_tells_of_a_sealed_card_is_found(data: dict[str, object], says: str) -> None:
    assert sealed.told([event(**data)], ["2d"], {card_tag("As"): "As"}) == [says]


def test_what_only_looks_like_one_is_none() -> None:
    harmless = event(commit="9c2d" * 16, card="3h", hand="t01-20261130-2d9c")
    assert sealed.told([harmless], ["2d", "9c"], {card_tag("As"): "As"}) == []


def test_what_a_daemon_leaves_is_looked_through(tmp_path: Path) -> None:
    tags = {card_tag("As"): "As"}
    (tmp_path / "feltd.log").write_text(json.dumps({"event": "ready", "took": "2d"}) + "\nTraceback 9c2d\n", "utf-8")
    (tmp_path / "ledger").write_bytes(b"\x00" + bytes.fromhex(card_tag("As")) + b"\x00")
    assert sealed.left(tmp_path, ["2d"], tags) == ["feltd.log shows 2d", "ledger has the tag of a card"]


def test_a_core_file_is_a_leak_and_a_crash_cries_into_the_log(tmp_path: Path) -> None:
    tags = {card_tag("As"): "As"}
    (tmp_path / "core.4711").write_bytes(b"\x7fELF")
    (tmp_path / "feltd.log").write_text(f"Fatal Python error: Aborted\n  seen = '2d', {card_tag('As')}\n", "utf-8")
    assert sorted(sealed.left(tmp_path, ["2d"], tags)) == [
        "core.4711 was left: the memory of a table holds closed cards",
        "feltd.log has the tag of a card",
        "feltd.log shows 2d",
    ]


def test_what_a_daemon_answers_is_looked_through() -> None:
    pages = {"metrics": 'felt_cards{card="2d"} 1\nfelt_x{sha="9c2d"} 2\n', "status": {"tags": [card_tag("As").lower()]}}
    wanted = ["metrics shows 2d", "status has the tag of a card"]
    assert sealed.answered(pages, ["2d", "9c"], {card_tag("As"): "As"}) == wanted


@pytest.mark.wires
@pytest.mark.slow
def test_over_wires_the_numbers_are_looked_through_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the hand is played once more with other cards: the quick sibling is the one of virtual devices below."""
    whole, pages = BOTH.with_name("whole-hand.toml"), []

    def telling(port: int) -> str:
        pages.append(numbers(port))
        leak = 'felt_last_card{card="9c"} 1\n' if len(pages) == 4 else ""
        return pages[-1] + leak

    monkeypatch.setattr(wires, "numbers", telling)
    case = play(Found(whole, "case", Pick("", "shoe")), Ask("wires"))
    assert case.lines == ["final.sealed: metrics shows 9c"]
    assert case.leaked == 1
    steps = len(scenario.load(whole).steps)
    assert len(pages) == 2 * (steps + 1), "both runs, after every step and at the end"
    assert all("# TYPE " in page for page in pages)


def test_the_second_run_has_other_cards_where_nobody_saw_them() -> None:
    script = scenario.load(BOTH, RFID)
    opened = Seen(0, "play", "card.opened", {"card": "5d"})
    other = sealed.twin(script, [opened])
    ours, theirs = (
        [act.card for step in one.steps for act in step.acts if isinstance(act, Slide)] for one in (script, other)
    )
    assert len(set(theirs)) == len(theirs) == len(ours)
    assert [a for a, b in zip(ours, theirs, strict=True) if a == b] == ["5d"]


def test_both_runs_give_out_the_same() -> None:
    case = play(Found(BOTH, "case", RFID), Ask("virtual"))
    assert (case.outcome, case.leaked) == ("passed", 0)


def test_a_difference_is_told_where_it_is() -> None:
    assert sealed.differences([event(a=1)], [event(a=2), event()]) == [
        'with other closed cards: play card.dealt {"a": 2}, not play card.dealt {"a": 1}',
        "with other closed cards: 2 events, not 1",
    ]


def test_where_time_is_real_the_streams_of_devices_are_not_compared() -> None:
    ours = [Seen(0, "play", "card.dealt", {"a": 1}), Seen(0, "ops", "device.up", {"a": 1})]
    theirs = [Seen(0, "play", "ledger.signed", {"a": 2}), ours[0]]
    assert sealed.differences(ours, theirs, ("play",)) == []
    assert len(sealed.differences(ours, theirs)) == 2


def test_a_table_that_tells_more_of_some_cards_than_of_others_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It never names a card: it only does something more when a certain one is dealt."""
    slides = AntennaDealer.deeds

    def told(self: AntennaDealer, act: Act) -> Iterator[Timed]:
        yield from slides(self, act)
        if isinstance(act, Slide) and act.card == "7c":
            yield from slides(self, Press(("CLEAR",)))
            yield from slides(self, Declare("check", 9, None, name_seat=True))

    monkeypatch.setattr(AntennaDealer, "deeds", told)
    case = play(Found(BOTH, "case", RFID), Ask("virtual"))
    assert case.leaked
    assert any(line.startswith("final.sealed: with other closed cards") for line in case.lines)
