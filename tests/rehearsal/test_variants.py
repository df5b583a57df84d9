"""Variants, sweeps and budgets: what they change, what they refuse, and that a budget can break."""

from collections.abc import Callable
from pathlib import Path

import pytest

from simulators import night
from simulators.errors import ScriptError
from simulators.rehearse import find, main
from simulators.scripts import scenario
from simulators.scripts.acts import MoveCards, MoveChips, Stake, Sweep, Unsensed
from simulators.scripts.variants import Pick
from simulators.verdict import Case, Exit

HERE = Path(__file__).parent / "scenarios"
BOTH = (HERE / "both-tables.toml").read_text(encoding="utf-8")
BASE = BOTH[: BOTH.index("[[variant]]")]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(more: str) -> Path:
        path = tmp_path / "case.toml"
        path.write_text(BASE + more, encoding="utf-8")
        return path

    return write


def ids(path: Path, pick: Pick) -> list[str]:
    return [step.id for step in scenario.load(path, pick).steps]


def test_a_variant_inserts_replaces_and_removes_steps(written: Callable[[str], Path]) -> None:
    path = written("""
[[variant]]
name = "other"
tables = ["shoe"]
insert = [ { after = "deal", steps = [ { id = "wait", do = "pause", ms = 5 } ] } ]
replace = { "raise" = { do = "chips.put", seat = 4, chips = { 1000 = 4 } } }
remove = ["string-back"]
drop_expect = "all"
final = "none"
""")
    whole = ids(path, Pick("", "shoe"))
    other = ids(path, Pick("other", "shoe"))
    assert other.index("wait") == other.index("deal") + 1
    assert set(whole) - set(other) == {"string-back"}
    load = scenario.load(path, Pick("other", "shoe"))
    assert load.expects == ()
    assert load.final.stacks == {}
    assert next(step for step in load.steps if step.id == "raise").line == scenario.load(path).steps[5].line


def test_steps_end_where_a_variant_stops(written: Callable[[str], Path]) -> None:
    path = written(
        '[[variant]]\nname = "short"\nstop_after = "deal"\ndrop_expect = "all"\ndrop_never = ["card.opened"]\n'
    )
    short = scenario.load(path, Pick("short", "rfid"))
    assert [step.id for step in short.steps] == ["small", "big", "deal"]
    assert not short.close
    assert [never.event for never in short.nevers] == ["incident.opened", "action.refused"]


def test_a_sweep_multiplies_the_cases(written: Callable[[str], Path]) -> None:
    path = written(
        '[[variant]]\nname = "v"\ntables = ["rfid"]\n[sweep]\ngap_ms = [50, 400]\nkill_after = "every_step"\n'
    )
    picks = scenario.cases(path)
    assert len(picks) == 12
    assert picks[0].label == "[gap_ms=50][shoe]"
    assert picks[-1].label == "[v][gap_ms=400,kill_after=every_step][rfid]"
    pace = scenario.load(path, picks[0]).pace["gap_ms"]
    assert (pace.low, pace.high) == (50, 50)


def test_the_same_step_is_chips_and_cards_on_antennas_and_keys_at_a_shoe() -> None:
    path = HERE / "both-tables.toml"
    steps = {step.id: step.acts for step in scenario.load(path, Pick("", "rfid")).steps}
    assert steps["string"] == (MoveChips("stack:3", "bet:3", {1000: 2}, 2, 2500),)
    assert steps["fold3"] == (MoveCards("seat:3", "muck"),)
    assert steps["burn1"][0] == Sweep()
    keyed = {step.id: step.acts for step in scenario.load(path, Pick("", "shoe")).steps}
    assert not any(isinstance(act, MoveChips | Stake | Sweep) for acts in keyed.values() for act in acts)
    assert isinstance(keyed["string-back"][0], Unsensed)


@pytest.mark.parametrize(
    ("more", "field", "remedy"),
    [
        ('name = "v"\nstop_after = "nowhere"', "variant[0].stop_after", "no step with this id"),
        ('name = "v"\nremove = ["nowhere"]', "variant[0].remove", "no step with this id"),
        ('name = "v"\nreplace = { nowhere = { do = "pause" } }', "variant[0].replace", "no step with this id"),
        ('name = "v"\ninsert = { before = "deal", steps = [] }', "variant[0].insert", "after = STEP"),
        ('name = "v"\nfinal = "all"', "variant[0].final", '"none"'),
        ('name = "v"\ndrop_expect = "some"', "variant[0].drop_expect", '"all"'),
        ('name = "v"\ntables = ["pit"]', "variant[0].tables", "shoe, rfid"),
        ('name = "v"\nother = 1', "variant[0].other", "unknown here"),
        ('name = "v"\n[[variant]]\nname = "v"', "variant[1].name", "a name of its own"),
    ],
)
def test_what_is_wrong_with_a_variant_is_refused(
    written: Callable[[str], Path], more: str, field: str, remedy: str
) -> None:
    path = written(f"[[variant]]\n{more}\n")
    with pytest.raises(ScriptError) as refused:
        scenario.load(path, Pick("v", "rfid"))
    assert refused.value.field == field
    assert remedy in refused.value.remedy
    assert refused.value.line


def test_chips_that_do_not_add_up_are_refused_before_anything_moves(written: Callable[[str], Path]) -> None:
    path = written("")
    path.write_text(BASE.replace("chips = { 1000 = 3, 500 = 3 }", "chips = { 1000 = 4, 500 = 3 }"), encoding="utf-8")
    with pytest.raises(ScriptError, match="stack:1 has"):
        scenario.load(path, Pick("", "rfid"))


# ------------------------------------------------------------------ budgets

NIGHT = """\
schema = 1
cases = ["*.toml"]
repeat = 2
shuffle_seed = "x"
[budget]
false_holds_per_1000_hands = 1
false_breaches_per_1000_hands = 5
wrong_results = 0
lost_or_changed_events = 0
leaks = 0
keys_per_hand_p50 = { rfid = 6, shoe = 30 }
seconds_added_per_hand_p50 = 2
[faulted]
silently_wrong = 0
held_that_need_not_be_pct = 10
"""


@pytest.fixture
def nightly(tmp_path: Path) -> Path:
    (tmp_path / "hand.toml").write_text((HERE / "whole-hand.toml").read_text(encoding="utf-8"), encoding="utf-8")
    path = tmp_path / "nightly.toml"
    path.write_text(NIGHT, encoding="utf-8")
    return path


def test_a_night_plays_its_cases_and_keeps_its_budgets(nightly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--night", str(nightly), "--through", "virtual"]) == Exit.PASSED
    assert "2 cases, 2 hands: 2 passed" in capsys.readouterr().out


def test_a_broken_budget_is_exit_code_4(nightly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nightly.write_text(NIGHT.replace("shoe = 30", "shoe = 3"), encoding="utf-8")
    assert main(["--night", str(nightly)]) == Exit.BUDGET
    assert "over budget: keys_per_hand_p50.shoe" in capsys.readouterr().err


def hand(**more: object) -> Case:
    case = Case("hand", "passed", hands=1, keys=5, table="rfid")
    for name, value in more.items():
        setattr(case, name, value)
    return case


@pytest.mark.parametrize(
    ("changed", "budget"),
    [
        ({"needless_holds": 1}, "false_holds_per_1000_hands"),
        ({"needless_breaches": 1}, "false_breaches_per_1000_hands"),
        ({"wrong": 1}, "wrong_results"),
        ({"changed": 1}, "lost_or_changed_events"),
        ({"leaked": 1}, "leaks"),
        ({"keys": 1000}, "keys_per_hand_p50.rfid"),
        ({"added_ms": 3000}, "seconds_added_per_hand_p50"),
        ({"faulted": True, "wrong": 1}, "silently_wrong"),
        ({"faulted": True, "needless_holds": 1}, "held_that_need_not_be_pct"),
        ({"outcome": "failed"}, "flaky"),
    ],
)
def test_every_budget_can_break(nightly: Path, changed: dict[str, object], budget: str) -> None:
    plan = night.read(nightly)
    assert night.over(plan, [hand()]) == []
    cases = [hand(**changed)] + ([hand()] if budget == "flaky" else [])
    assert any(line.startswith(budget) for line in night.over(plan, cases))


def test_a_night_without_cases_is_refused(nightly: Path) -> None:
    nightly.write_text(NIGHT.replace("*.toml", "poker/**"), encoding="utf-8")
    with pytest.raises(ScriptError, match="no scenario and no recorded hand"):
        night.read(nightly)
    assert find([HERE / "both-tables.toml"])
