"""The end of a scenario: results, chips, state and speed, each of which can fail; rounds of boxes at both tables."""

from collections.abc import Callable
from pathlib import Path

import pytest

from simulators import ending
from simulators.errors import ScriptError
from simulators.judge import MS, Performed
from simulators.rehearse import Ask, Found, find, play
from simulators.scripts import scenario
from simulators.scripts.acts import Declare, MoveChips, Muck, Show, Slide, Unsensed
from simulators.scripts.expectations import Final, Latency
from simulators.scripts.sequence import Step
from simulators.scripts.variants import Pick
from simulators.seen import Seen
from simulators.verdict import Case

HERE = Path(__file__).parent / "scenarios"
BOXES = HERE / "ultimate-dark-box.toml"
BOTH = (HERE / "both-tables.toml").read_text(encoding="utf-8")


@pytest.fixture
def rehearse(tmp_path: Path) -> Callable[..., Case]:
    """Play a scenario with something in its text changed, at one kind of table."""

    def run(text: str, pick: Pick) -> Case:
        path = tmp_path / "case.toml"
        path.write_text(text, encoding="utf-8")
        return play(Found(path, "case", pick), Ask("virtual"))

    return run


# ------------------------------------------------------------------------ boxes


@pytest.mark.parametrize("one", find([BOXES]), ids=lambda one: one.pick.label)
def test_the_round_of_boxes_passes_at_both_tables_and_restored_after_every_record(one: Found) -> None:
    case = play(one, Ask("virtual"))
    assert case.outcome == "passed", case.lines


def test_the_round_of_boxes_passes_without_devices() -> None:
    case = play(Found(BOXES, "boxes", Pick("", "shoe")), Ask("facts"))
    assert case.outcome == "passed", case.lines


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.timeout(400)
@pytest.mark.parametrize("table", ["shoe", "rfid"])
def test_the_round_of_boxes_passes_over_wires(table: str) -> None:
    picks = [one for one in find([BOXES]) if one.pick and one.pick.table == table and not one.pick.killed]
    for one in picks:
        case = play(one, Ask("wires", speed=5))
        assert case.outcome == "passed", (one.name, case.lines)


def test_a_table_of_boxes_keys_what_no_antenna_sees() -> None:
    keyed = {step.id: step.acts for step in scenario.load(BOXES, Pick("", "shoe")).steps}
    assert keyed["dark"][0] == Declare("bet", 2, 1000, name_seat=True)
    assert keyed["dark"][2] == Declare("raise", 2, 3000, name_seat=True)
    assert keyed["give-up"] == (Muck(3),)
    assert keyed["dealer"] == (Show(None),)
    assert all(isinstance(act, Unsensed) for act in keyed["pay"])
    felt = {step.id: step.acts for step in scenario.load(BOXES, Pick("", "rfid")).steps}
    assert felt["dark"][2] == MoveChips("purse:2", "box:2:play", {1000: 3})
    assert felt["deal"][0] == Slide("Kd", "box:1:cards")


@pytest.mark.parametrize(
    ("old", "new", "field", "remedy"),
    [
        ('"box:1:trips" = { 500 = 1 }', '"box:7:trips" = { 500 = 1 }', "step[1].spots.box:7:trips", "1, 2, 3"),
        ('"box:1:trips" = { 500 = 1 }', '"box:1:trips" = { 200 = 1 }', "step[1].spots.box:1:trips", "500, 1000"),
        ('to = "tray", chips = { 500 = 1', 'to = "tray", chips = { 500 = 2', "step[16].moves[0].chips", "has {500: 1}"),
        ('profile   = "lt_uth"', 'profile   = "rs_holdem"', "run.override.ante", "not played with boxes"),
        ('game      = "ultimate"', 'game      = "holdem"', "run.game", "plays ultimate"),
        ("tray   = { 1000 = 20, 500 = 20 }", "", "start.tray", "chips of the table"),
        ('kind = "no_more_bets"', 'kind = "all_in"', "step[4].kind", "no_more_bets"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_round_of_boxes_is_refused(
    tmp_path: Path, old: str, new: str, field: str, remedy: str
) -> None:
    text = BOXES.read_text(encoding="utf-8")
    assert text.count(old) >= 1, old
    path = tmp_path / "case.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ScriptError) as refused:
        scenario.load(path, Pick("", "rfid"))
    assert refused.value.field == field
    assert remedy in str(refused.value)


@pytest.mark.parametrize("table", ["shoe", "rfid"])
@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("house_net = -4500", "house_net = -4000", "final.house_net: -4500, expected -4000"),
        ("delta = -4500", "delta = 0", "final.tray: changed by -4500, expected 0"),
        ("[final]", "[final]\nboxes = { 1 = 2500, 3 = 0 }", "final.boxes: box 3 gains -2000, expected 0"),
        ("[final]", '[final]\nstate = "hand"', "final.state: closed, expected hand"),
        ("[final]", "[final]\nmeters = { hands = 7 }", "final.meters: hands: expected 7"),
        ("p99_ms = 2500", "p99_ms = 1", "final.latency chips.put -> bet.placed: p99_ms"),
        ('to = "bet.placed", p50_ms', 'to = "blind.posted", p50_ms', "no such step was followed by such an event"),
    ],
)
def test_an_end_that_is_not_as_said_fails_the_case(
    rehearse: Callable[..., Case], table: str, old: str, new: str, complaint: str
) -> None:
    text = BOXES.read_text(encoding="utf-8")
    assert text.count(old) >= 1, old
    case = rehearse(text.replace(old, new, 1), Pick("", table))  # type: ignore[arg-type]
    if table == "shoe" and complaint.endswith("p99_ms"):
        return  # the stake is told with the key that completes it, before the step ends
    assert case.outcome == "failed"
    assert any(complaint in line for line in case.lines), case.lines


def test_the_chips_of_a_tray_are_counted_at_a_table_with_antennas(rehearse: Callable[..., Case]) -> None:
    whole = rehearse(BOTH.replace("[final]", "[final]\ntray = { 500 = 24, 1000 = 24 }", 1), Pick("", "rfid"))
    assert whole.outcome == "passed", whole.lines
    short = rehearse(BOTH.replace("[final]", "[final]\ntray = { 500 = 23 }", 1), Pick("", "rfid"))
    assert any("final.tray: {500: 24}, expected {500: 23}" in line for line in short.lines)


# ---------------------------------------------------------------------- latency


def event(at_ms: int, kind: str) -> Seen:
    return Seen(at_ms * MS, "play", kind, {})


def test_latency_counts_from_the_end_of_each_step_to_its_own_event() -> None:
    steps = [Step(name, "chips.put", None, ()) for name in ("a", "b", "c")]
    performed = {
        "a": Performed(0, 100 * MS),
        "b": Performed(1000 * MS, 1100 * MS),
        "c": Performed(2000 * MS, 2100 * MS),
    }
    events = [event(50, "other"), event(400, "answer"), event(1050, "answer"), event(1300, "answer")]
    wanted = Latency("chips.put", "answer", 200, 250)
    took = ending.answers(events, steps, performed, wanted, 1.0)
    assert took == [300, 0]  # the third step was followed by none
    assert ending.slow(wanted, took) == ["final.latency chips.put -> answer: p99_ms 300, allowed are 250"]
    assert ending.answers(events, steps, performed, wanted, 5.0) == [1500, 0]
    assert ending.percentile([5, 1, 9, 7], 0.5) == 5
    assert ending.percentile([5, 1, 9, 7], 0.99) == 9


def test_the_state_of_a_table_is_told_by_its_events() -> None:
    def told(*types: str) -> str:
        data = {"incident": "i1", "holds": "hand"}
        return ending.state([Seen(0, "play", kind, data) for kind in types])

    assert told() == "closed"
    assert told("table.opened") == "open_between_hands"
    assert told("table.opened", "hand.started") == "hand"
    assert told("table.opened", "hand.started", "incident.opened") == "held"
    assert told("table.opened", "hand.started", "incident.opened", "incident.closed", "hand.closed") == (
        "open_between_hands"
    )
    assert told("table.opened", "table.closed") == "closed"
    assert ending.final([], Final(state="hand")) == ["final.state: closed, expected hand"]
