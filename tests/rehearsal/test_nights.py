"""What nights keep: golden streams, the coverage table, figures against the nights before, and memory."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from simulators import accepting, coverage, golden, night, report, trend
from simulators.errors import ScriptError
from simulators.faulted import NEEDED, Faults
from simulators.faults import KINDS
from simulators.rehearse import Ask, Found, main, play
from simulators.scripts.variants import Pick
from simulators.seen import Seen, rules_and_incidents
from simulators.verdict import Case, Exit

HERE = Path(__file__).parent / "scenarios"
HAND = (HERE / "whole-hand.toml").read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hand.toml"
    path.write_text(f'golden = "golden"\n{HAND}', encoding="utf-8")
    return path


# ----------------------------------------------------------------------- golden


def test_a_stream_is_accepted_with_a_reason_and_then_held_to(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = play(Found(file, "hand"), Ask("virtual"))
    assert (case.outcome, case.lines[0][:36]) == ("failed", "golden: nothing is accepted yet; loo")
    assert accepting.main([str(file)]) == Exit.PRODUCT
    assert "say with --reason" in capsys.readouterr().out
    assert not (file.parent / "golden").exists()
    assert accepting.main([str(file), "--reason", "the first one"]) == Exit.PASSED
    assert accepting.main([str(file)]) == Exit.PASSED
    assert play(Found(file, "hand"), Ask("virtual")).outcome == "passed"
    kept = next((file.parent / "golden").iterdir())
    assert kept.read_text(encoding="utf-8").startswith("# the first one\n")


def test_what_differs_is_shown_and_fails_the_case(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accepting.main([str(file), "--reason", "the first one"])
    capsys.readouterr()
    file.write_text(file.read_text("utf-8").replace("number = 3000", "number = 4000").replace("to = 3000", "to = 4000"))
    case = play(Found(file, "hand"), Ask("virtual"))
    assert any(line.startswith('+play action.taken {"added": 4000') for line in case.lines), case.lines
    assert any(line.startswith('-play action.taken {"added": 3000') for line in case.lines)


def test_a_case_that_fails_is_not_accepted(file: Path) -> None:
    file.write_text(file.read_text("utf-8").replace("1 = 16500", "1 = 16501"))
    assert accepting.main([str(file), "--reason", "no"]) == Exit.PRODUCT
    assert not (file.parent / "golden").exists()


def test_no_case_with_a_stream_is_nothing_to_accept(capsys: pytest.CaptureFixture[str]) -> None:
    assert accepting.main([str(HERE / "whole-hand.toml"), "--reason", "no"]) == Exit.NOTHING
    assert "golden" in capsys.readouterr().err


def test_times_names_and_hashes_are_masked_and_amounts_are_not() -> None:
    data = {
        "hand": "t01-20261130-0001",
        "elapsed_ms": 7,
        "evidence": ["x"],
        "at": "2026-11-30T12:00:00.050000Z",
        "commit": "ab" * 32,
        "amount": 500,
        "cards": ["As"],
    }
    (line,) = golden.lines([Seen(0, "play", "kind", data)])
    assert json.loads(line.removeprefix("play kind ")) == {
        "hand": "*",
        "elapsed_ms": "*",
        "evidence": "*",
        "at": "*",
        "commit": "*",
        "amount": 500,
        "cards": ["As"],
    }


@pytest.mark.slow
@pytest.mark.wires
def test_the_play_over_wires_is_that_of_virtual_devices(file: Path) -> None:
    accepting.main([str(file), "--reason", "the first one"])
    case = play(Found(file, "hand"), Ask("wires"))
    assert case.outcome == "passed", case.lines


# --------------------------------------------------------------------- coverage


def test_coverage_is_what_scenarios_claim_and_what_events_show(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert main(["--through", "virtual", "--report", str(report), str(HERE / "premature-flop.toml")]) == Exit.PASSED
    told = json.loads(report.read_text(encoding="utf-8"))["coverage"]
    incidents = {line["id"]: line for line in told["incidents"]["lines"]}
    assert incidents["I-4"]["claimed_by"] == incidents["I-4"]["seen_in"] == ["premature-flop[shoe]"]
    assert "I-1" in told["incidents"]["never"]
    assert "CM-23" in told["rules"]["claimed_not_seen"]
    assert told["faults"]["never"] == list(KINDS)
    assert told["strangers"] == []


def test_what_is_no_id_is_a_stranger_and_what_was_not_played_covers_nothing() -> None:
    cases = [
        Case("a", "passed", covers=("I-4", "drop", "recovery.completed", "HR-99")),
        Case("b", "skipped", covers=("I-5",)),
    ]
    assert coverage.strangers(cases) == ["HR-99"]
    lines = {line.id: line for of_kind in coverage.table(cases).values() for line in of_kind}
    assert lines["I-4"].claimed == ("a",)
    assert lines["I-5"].claimed == ()
    assert lines["drop"].claimed == ("a",)
    assert "1 more claimed" in coverage.summary(cases)


def test_a_fault_that_struck_is_covered() -> None:
    lines = coverage.table([Case("a", "passed", fault="drop", fate=NEEDED)])["faults"]
    assert [line.id for line in lines if line.seen] == ["drop"]


def test_rules_are_seen_wherever_events_name_them() -> None:
    events = [
        Seen(0, "play", "action.taken", {"read_as": "CM-16"}),
        Seen(0, "play", "breach.noted", {"rules": ["HR-12.1", "not-a-rule"]}),
        Seen(0, "play", "incident.opened", {"code": "I-4", "rules": ["HR-11.6"]}),
    ]
    assert dict(rules_and_incidents(events)) == {"CM-16": 1, "HR-12.1": 1, "HR-11.6": 1, "I-4": 1}


# ------------------------------------------------------------------------ trend


def cases(added_ms: int, holds: int = 0) -> list[Case]:
    return [Case(f"c{n}", "passed", hands=1, added_ms=added_ms + n, needless_holds=holds) for n in range(3)]


def test_a_change_beyond_the_noise_of_the_nights_before_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trend.jsonl"
    for day, added in enumerate((900, 905, 895, 902, 898), start=1):
        before = trend.read(path)
        said = trend.tonight(cases(added), "virtual", datetime(2026, 11, day, tzinfo=UTC))
        assert trend.changes(before, said) == []
        trend.append(path, said)
    nights = trend.read(path)
    assert len(nights) == 5
    assert trend.changes(nights, trend.tonight(cases(910), "virtual")) == []
    slower = trend.changes(nights, trend.tonight(cases(1500), "virtual"))
    assert [line.split()[:4] for line in slower] == [
        ["hand_close_p50_ms", "rose", "to", "1501;"],
        ["hand_close_p99_ms", "rose", "to", "1502;"],
    ]
    held = trend.changes(nights, trend.tonight(cases(900, holds=1), "virtual"))
    assert any(line.startswith("false_holds_per_1000_hands rose to 1000") for line in held)


def test_nights_of_other_cases_or_other_ways_are_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "trend.jsonl"
    for _ in range(6):
        trend.append(path, trend.tonight(cases(900), "virtual"))
    assert trend.changes(trend.read(path), trend.tonight(cases(9000), "wires")) == []
    assert trend.changes(trend.read(path), trend.tonight(cases(9000)[:2], "virtual")) == []


def test_a_file_that_is_no_trend_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "trend.jsonl"
    path.write_text('{"what": "x", "when": "y", "figures": {}}\nnonsense\n', encoding="utf-8")
    with pytest.raises(ScriptError) as refused:
        trend.read(path)
    assert refused.value.line == 2


def test_the_command_keeps_a_line_a_night(tmp_path: Path) -> None:
    path = tmp_path / "trend.jsonl"
    for _ in range(2):
        assert main(["--through", "virtual", "--trend", str(path), str(HERE / "whole-hand.toml")]) == Exit.PASSED
    first, second = trend.read(path)
    assert first.what == second.what
    assert {"resyncs", "reconnects", "flaky_cases", "hand_close_p50_ms"} <= set(second.figures)


# ----------------------------------------------------------------------- memory


def grown(per_case_kb: float, count: int = 1200, warm_kb: int = 9000) -> list[Case]:
    """Cases of one process: it fills its caches during the first fifth, then grows evenly."""
    return [
        Case(f"c{n}", "passed", hands=1, process=7, memory_kb=50_000 + min(n * 40, warm_kb) + round(n * per_case_kb))
        for n in range(count)
    ]


def nightly(tmp_path: Path) -> night.Night:
    (tmp_path / "hand.toml").write_text(HAND, encoding="utf-8")
    path = tmp_path / "night.toml"
    path.write_text('schema = 1\ncases = ["hand.toml"]\n[budget]\nmemory_growth_kb_per_1000_hands = 64\n')
    return night.read(path)


def test_memory_that_grows_with_the_hands_breaks_the_budget(tmp_path: Path) -> None:
    plan = nightly(tmp_path)
    assert night.over(plan, grown(0.05)) == []
    (broken,) = night.over(plan, grown(0.2))
    assert broken.startswith("memory_growth_kb_per_1000_hands: 2")
    assert "over 1200 hands" in broken
    assert night.unmeasured(plan, grown(0.2)) == []


def test_too_few_hands_measure_no_memory_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = nightly(tmp_path)
    assert night.over(plan, grown(9, count=900)) == []
    assert "900 hands were played" in night.unmeasured(plan, grown(9, count=900))[0]
    assert main(["--through", "virtual", "--night", str(tmp_path / "night.toml")]) == Exit.PASSED
    assert "not measured" in capsys.readouterr().err


def test_a_case_says_in_which_process_it_was_played_and_the_command_that_plays_it_again() -> None:
    case = play(Found(HERE / "whole-hand.toml", "hand", Pick("", "shoe")), Ask("virtual", faults=Faults(7, 0.5)))
    assert case.process
    assert case.memory_kb > 10_000
    assert "--faults seed=7,rate=0.5" in case.command


# ----------------------------------------------------------------------- report


def test_the_report_has_every_step_and_what_met_each_expectation(tmp_path: Path) -> None:
    report, script = tmp_path / "report.json", tmp_path / "hand.toml"
    script.write_text(HAND.replace("min_next = 5000", "min_next = 6000"), encoding="utf-8")
    assert main(["--through", "virtual", "--report", str(report), str(script)]) == Exit.PRODUCT
    (case,) = json.loads(report.read_text(encoding="utf-8"))["cases"]
    steps = {step["step"]: step for step in case["steps"]}
    assert steps["raise"]["planned_ms"] == steps["raise"]["began_ms"] < steps["raise"]["ended_ms"]
    (missed,) = [one for one in case["expectations"] if one["met"] is None]
    assert missed["nearest"] == "nearest: min_next: expected 6000, found 5000"
    met = [one for one in case["expectations"] if one["event"] == "street.opened"]
    assert all(one["after_ms"] >= 0 and one["met"] for one in met)


def test_the_order_of_the_date_is_the_days_own(tmp_path: Path) -> None:
    written = tmp_path / "nightly.toml"
    written.write_text('schema = 1\ncases = ["*.phh"]\nshuffle_seed = "date"\n', encoding="utf-8")
    (tmp_path / "one.phh").write_text("", encoding="utf-8")
    assert night.read(written).shuffle_seed in {
        (datetime.now(UTC) + timedelta(days=days)).date().isoformat() for days in (0, -1)
    }


def test_a_night_finds_its_rigs_by_name(tmp_path: Path) -> None:
    (tmp_path / "one.phh").write_text("", encoding="utf-8")
    (tmp_path / "rigs" / "lab-2").mkdir(parents=True)
    files = [tmp_path / "lab-1.toml", tmp_path / "rigs" / "lab-2" / "rig.toml"]
    for file in files:
        file.write_text("", encoding="utf-8")
    written = tmp_path / "nightly.toml"
    written.write_text('schema = 1\nrigs = ["lab-1", "lab-2"]\ncases = ["*.phh"]\n', encoding="utf-8")
    assert list(night.read(written).rigs) == files
    written.write_text('schema = 1\nrigs = ["lab-3"]\ncases = ["*.phh"]\n', encoding="utf-8")
    with pytest.raises(ScriptError, match=r"no lab-3\.toml"):
        night.read(written)


def test_the_report_has_drawn_values_budgets_and_who_was_there(tmp_path: Path) -> None:
    whole = Path(__file__).parent / "scenarios" / "whole-hand.toml"
    (tmp_path / "case.toml").write_text(whole.read_text(encoding="utf-8"), encoding="utf-8")
    written, told, out = tmp_path / "nightly.toml", tmp_path / "report.json", tmp_path / "out.xml"
    written.write_text('schema = 1\ncases = ["case.toml"]\n[budget]\nwrong_results = 0\n', encoding="utf-8")
    asked = ["--night", str(written), "--through", "virtual", "--report", str(told), "--junit", str(out)]
    assert main(asked) == Exit.PASSED
    document = json.loads(told.read_text(encoding="utf-8"))
    assert document["budgets"] == [{"budget": "wrong_results", "value": 0, "limit": 0.0, "kept": True}]
    steps = document["cases"][0]["steps"]
    names = {name for step in steps for one in step.get("drawn", ()) for name in one}
    assert names == {"gap_ms", "slide_ms", "put_ms", "key_gap_ms", "key_hold_ms"}
    said = out.read_text(encoding="utf-8")
    assert '<property name="profile" value="' in said
    assert '<property name="device.shoe0" value="FS-1 SHOE-0001 1.0.0"' in said


def test_the_report_counts_what_became_of_hands_without_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [
        Case("well", "passed", hands=1),
        Case("held", "failed", hands=1, needless_holds=2, wrong=1, lines=["incident I-4 was opened"]),
        Case("breached", "failed", hands=1, needless_breaches=1, lines=["breach RS-4.2 was noted"]),
        Case("struck", "passed", hands=1, needless_holds=1, fault="drop", fate=NEEDED),
        Case("skipped", "skipped", ["no"]),
    ]
    said = list(report.summary(cases))
    counted = "1 wrong, 1 held needlessly, 1 breached needlessly, 0 lost or changed, 0 leaked"
    assert f"3 hands without a fault: {counted}" in said
    assert any(line.startswith("1 hands were struck by a fault: 0 right, 1 held and needed") for line in said)
    report.as_json(cases, sys.stdout, Exit.PRODUCT)
    document = json.loads(capsys.readouterr().out)
    assert document["unstruck"]["held_needlessly"] == 1
    assert document["faults"]["struck"] == 1


def test_a_night_takes_all_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "poker" / "deep").mkdir(parents=True)
    for name in ("poker/one.toml", "poker/deep/two.toml", "poker/deep/three.pcapng", "poker/notes.txt"):
        (tmp_path / name).write_text("", encoding="utf-8")
    written = tmp_path / "nightly.toml"
    written.write_text('schema = 1\ncases = ["poker/**"]\n', encoding="utf-8")
    assert {path.name for path in night.read(written).cases} == {"one.toml", "two.toml", "three.pcapng"}
