"""Recorded hands with a seeded fault each: none silently wrong, few held, the report counts all."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from simulators import artefacts, faulted
from simulators.faulted import FATES, NEEDLESS, Faults
from simulators.faults import KINDS
from simulators.rehearse import Ask, find, main, play
from simulators.verdict import Case, Exit


def struck(
    shared: Path, count: int, *, rfid: bool = False, through: str = "virtual", kinds: tuple[str, ...] = KINDS
) -> list[Case]:
    found = find([shared / "data/phh/pluribus"])
    ask = Ask(through, seed=3, faults=Faults(5, 1.0, kinds), table="rfid" if rfid else None)
    return [play(one, ask) for one in found[:: len(found) // count][:count]]


def judged(cases: list[Case]) -> Counter[str]:
    said = "\n".join(f"{case.name}: {case.notes} {case.lines}" for case in cases if case.outcome != "passed")
    assert {case.outcome for case in cases} <= {"passed", "skipped"}, said
    return Counter(case.fate for case in cases if case.fate)


@pytest.mark.slow
@pytest.mark.needs_shared
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_fault_makes_a_hand_silently_wrong(kind: str, shared: Path) -> None:
    fates = judged(struck(shared, 6, kinds=(kind,)))
    assert set(fates) <= set(FATES) - {"silently wrong"}
    assert fates.total() == 6


@pytest.mark.slow
@pytest.mark.needs_shared
@pytest.mark.timeout(600)
def test_few_are_held_and_the_same_seed_strikes_the_same(shared: Path) -> None:
    cases = struck(shared, 30)
    fates = judged(cases)
    assert fates["silently wrong"] == 0
    assert faulted.within_budget(cases)
    again = struck(shared, 30)[:5]
    assert [(case.notes, case.events) for case in again] == [(case.notes, case.events) for case in cases[:5]]


@pytest.mark.slow
@pytest.mark.needs_shared
@pytest.mark.timeout(900)
def test_antennas_that_fail_move_no_chip(shared: Path) -> None:
    fates = judged(struck(shared, 10, rfid=True))
    assert fates["silently wrong"] == 0


@pytest.mark.slow
@pytest.mark.wires
@pytest.mark.needs_shared
@pytest.mark.timeout(900)
def test_over_wires_likewise(shared: Path) -> None:
    kinds = ("drop", "flip", "split", "glue", "noise", "deaf", "unplug", "reset")
    fates = judged(struck(shared, 5, through="wires", kinds=kinds))
    assert fates["silently wrong"] == 0


@pytest.mark.needs_shared
def test_the_report_counts_all(shared: Path) -> None:
    command = [sys.executable, "-m", "simulators.cli", "rehearse", str(shared / "data/phh/pluribus"), "--limit", "3"]
    ran = subprocess.run(
        [*command, "--through", "virtual", "--faults", "seed=1", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert ran.returncode == Exit.PASSED, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    assert told["faults"]["struck"] == 3
    assert told["faults"]["within_budget"]
    assert sum(sum(fates.values()) for fates in told["faults"]["kinds"].values()) == 3


def test_too_many_holds_break_the_budget_and_no_case() -> None:
    cases = [Case(f"c{n}", "passed", fault="drop", fate=NEEDLESS if n < 2 else "right") for n in range(10)]
    assert not faulted.within_budget(cases)
    assert not faulted.within_budget(cases[1:])
    assert any("20.0 %" in line for line in faulted.summary(cases))
    assert faulted.within_budget([])


@pytest.mark.needs_shared
def test_the_line_to_play_it_again_strikes_the_same(shared: Path, tmp_path: Path) -> None:
    """Also from another folder, and from the bundle alone: a hand draws by the name it had in its folder."""
    one = find([shared / "data/phh/pluribus"])[0]
    assert one.name != one.path.stem
    case = play(one, Ask("virtual", seed=3, faults=Faults(5)))
    artefacts.bundle(case, one.path, [], None, tmp_path)
    (script,) = tmp_path.glob("*/again.sh")
    (tmp_path / "feltsim").write_text(f'#!/bin/sh\nexec {sys.executable} -m simulators.cli "$@" --json\n', "utf-8")
    (tmp_path / "feltsim").chmod(0o755)
    root = str(Path(__file__).parents[2])
    around = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": root}
    for command in (["sh", "-c", case.command], [str(script)]):
        ran = subprocess.run(
            command, cwd=tmp_path, env=around, capture_output=True, text=True, check=False, timeout=100
        )
        assert ran.returncode in (Exit.PASSED, Exit.BUDGET), ran.stdout + ran.stderr
        (again,) = json.loads(ran.stdout)["cases"]
        assert (again["case"], again["notes"], again["fault"]) == (case.name, case.notes, case.fault)


def test_a_name_is_for_one_recorded_hand(tmp_path: Path) -> None:
    for name in ("a.phh", "b.phh"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert main([str(tmp_path), "--as", "x"]) == Exit.SCRIPT
