"""Recorded hands played by the table: through the rules alone, through virtual devices, over wires."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from simulators.rehearse import Ask, Found, find, main, play, run
from simulators.scripts.acts import Act, Slide
from simulators.scripts.phh import convert
from simulators.verdict import Case, Exit, exit_code

CAPPED = 8
MUCKED = 116
TELEVISED = "dwan-ivey-2009"


def all_of(cases: list[Case]) -> Counter[str]:
    return Counter(case.outcome for case in cases)


def said(cases: list[Case]) -> str:
    return "\n".join(f"{case.name}: {line}" for case in cases if case.outcome != "passed" for line in case.lines)


def no_limit(shared: Path) -> list[Found]:
    return [
        one for one in find([shared / "data/phh"]) if 'variant = "NT"' in text(one) or "variant = 'NT'" in text(one)
    ]


def text(one: Found) -> str:
    return one.path.read_text(encoding="utf-8")


def sample(shared: Path, count: int) -> list[Found]:
    """The televised hand and the WSOP ones, then hands from all over the rest."""
    known = no_limit(shared)
    first = [one for one in known if one.name == TELEVISED or one.name.startswith("wsop")]
    rest = [one for one in known if one not in first]
    more = max(0, count - len(first))
    return first[:count] + rest[:: len(rest) // max(1, more)][:more]


@pytest.mark.ci
def test_all_hands_of_our_games_end_as_on_record(shared: Path) -> None:
    """1,573 no-limit, 3 fixed-limit and 5 pot-limit Omaha hands; short-deck is no game of ours."""
    cases = run(find([shared / "data/phh"]), Ask(), quiet=True)
    assert all_of(cases) == {"passed": 1581, "skipped": 1}, said(cases)
    assert not any(case.breaches or case.incidents for case in cases)
    halved = [case.name for case in cases if any("splits a chip" in note for note in case.notes)]
    assert len(halved) == 2
    bare = [case.name for case in cases if any("no stacks" in note for note in case.notes)]
    assert bare == ["antonius-blom-2009", TELEVISED]
    assert exit_code(cases) == Exit.PASSED


@pytest.mark.ci
def test_a_house_of_other_rules_names_what_breaks_them(shared: Path) -> None:
    cases = run(find([shared / "data/phh"]), Ask(profile="hr_thp"), quiet=True)
    assert all_of(cases) == {"passed": 1576, "skipped": 6}, said(cases)  # the text knows Hold'em only
    assert sum(1 for case in cases if case.breaches["HR-11.8"]) == CAPPED
    assert sum(1 for case in cases if case.breaches["HR-15.1"]) == MUCKED + 1  # one is a fixed-limit hand
    assert {code for case in cases for code in case.breaches} == {"HR-11.8", "HR-15.1"}
    apart = [case for case in cases if not case.compared]
    assert len(apart) == CAPPED
    assert all(case.breaches["HR-11.8"] for case in apart)


@pytest.mark.parametrize("profile", ["bg_holdem", pytest.param("bg_holdem_customary", marks=pytest.mark.slow)])
@pytest.mark.ci
def test_the_bulgarian_house_plays_what_it_allows(shared: Path, profile: str) -> None:
    cases = run(find([shared / "data/phh"]), Ask(profile=profile), quiet=True)
    assert all_of(cases) == {"passed": 1573, "skipped": 9}, said(cases)  # no Omaha, no fixed limit (BG-6.1)
    codes = {code for case in cases for code in case.breaches}
    assert codes == ({"BG-5.27"} if "customary" in profile else {"BG-5.10", "BG-5.18", "BG-5.25", "BG-5.27", "CM-8"})


def other_games(shared: Path) -> list[Found]:
    known = {one.name for one in no_limit(shared)}
    return [one for one in find([shared / "data/phh"]) if one.name not in known and "phua" not in one.name]


def test_limit_and_omaha_through_virtual_devices(shared: Path) -> None:
    cases = run(other_games(shared), Ask("virtual"), quiet=True)
    assert all_of(cases) == {"passed": 8}, said(cases)


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_limit_and_omaha_through_wires(shared: Path) -> None:
    cases = run(other_games(shared), Ask("wires", speed=40), quiet=True)
    assert all_of(cases) == {"passed": 8}, said(cases)


def test_a_wrong_record_fails_the_case(shared: Path, tmp_path: Path) -> None:
    record = (shared / "data/phh/wsop-2023-43/1.phh").read_text(encoding="utf-8")
    path = tmp_path / "wrong.phh"
    path.write_text(record.replace("[7340000, 3775000,", "[7345000, 3770000,"), encoding="utf-8")
    case = play(Found(path, "wrong"), Ask())
    assert case.outcome == "failed"
    assert case.lines[0] == "seat 1 ends with 7340000, on record is 7345000"


@pytest.mark.ci
def test_virtual_devices_bring_the_same_results(shared: Path) -> None:
    cases = run(sample(shared, 20), Ask("virtual"), quiet=True)
    assert all_of(cases) == {"passed": 20}, said(cases)
    assert all(case.events > 20 for case in cases)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_hundred_hands_through_virtual_devices(shared: Path) -> None:
    cases = run(sample(shared, 200), Ask("virtual"), jobs=2, quiet=True)
    assert all_of(cases) == {"passed": 200}, said(cases)


def test_a_capped_house_through_virtual_devices(shared: Path) -> None:
    one = next(one for one in find([shared / "data/phh/pluribus/31"]) if one.name == "28")
    case = play(one, Ask("virtual", "hr_thp"))
    assert case.outcome == "passed", case.lines
    assert case.breaches == {"HR-11.8": 1}
    assert not case.compared


@pytest.mark.slow
@pytest.mark.wires
def test_three_hands_over_wires(shared: Path) -> None:
    folder = shared / "data/phh"
    names = (f"{TELEVISED}.phh", "wsop-2023-43/1.phh", "pluribus/34/9.phh")
    cases = run([Found(folder / name, name) for name in names], Ask("wires"), quiet=True)
    assert all_of(cases) == {"passed": 3}, said(cases)
    assert not any(case.breaches or case.incidents for case in cases)


@pytest.mark.wires
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_five_hands_over_wires(shared: Path) -> None:
    cases = run(sample(shared, 25), Ask("wires"), quiet=True)
    assert all_of(cases) == {"passed": 25}, said(cases)
    assert not any(case.breaches or case.incidents for case in cases)


@pytest.mark.parametrize("through", ["facts", "virtual"])
def test_the_ledger_can_be_kept_and_verified(shared: Path, tmp_path: Path, through: str) -> None:
    ledger = tmp_path / "ledger"
    files = [str(shared / "data/phh/wsop-2023-43" / f"{number}.phh") for number in (1, 3)]
    assert main(["--through", through, "--ledger", str(ledger), *files]) == Exit.PASSED
    verified = feltd("verify", str(ledger), "--public-key", f"{ledger}.signing-key.pub")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert verified.stdout.endswith("whole\n")
    assert main(["--ledger", str(ledger), *files]) == Exit.SCRIPT  # a ledger is begun once


@pytest.mark.wires
@pytest.mark.ci
def test_the_ledger_of_wires_can_be_kept_and_verified(shared: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    files = [str(shared / "data/phh/wsop-2023-43" / f"{number}.phh") for number in (63, 67)]
    assert main(["--through", "wires", "--ledger", str(ledger), *files]) == Exit.PASSED
    assert feltd("verify", str(ledger)).returncode == 0


@pytest.mark.parametrize("name", [TELEVISED, "wsop-2023-43/1", "pluribus/34/9", "pluribus/31/24"])
def test_a_record_goes_in_and_comes_out_the_same(shared: Path, tmp_path: Path, name: str) -> None:
    """With the auditor's key the ledger gives the hand back: actions, cards and stacks."""
    record, ledger, out = shared / f"data/phh/{name}.phh", tmp_path / "ledger", tmp_path / "out.phh"
    assert main(["--through", "virtual", "--ledger", str(ledger), str(record)]) == Exit.PASSED
    key = ("--card-key", f"{ledger}.card-key")
    exported = feltd("export", str(ledger), "--format", "phh", *key, "-o", str(out))
    assert exported.returncode == 0, exported.stderr
    before, after = convert(record, name=record.stem), convert(out)
    hidden = before.outcome.masked
    assert [_masked(act, hidden) for act in after.acts] == [_masked(act, hidden) for act in before.acts]
    assert [seat.stack for seat in after.seats] == [seat.stack for seat in before.seats]
    assert after.outcome.board == before.outcome.board
    if before.outcome.stacks:
        assert after.outcome.stacks == before.outcome.stacks


def _masked(act: Act, hidden: frozenset[str]) -> Act:
    """Cards that the record does not know were drawn by chance; burns are drawn anew by each reader."""
    if isinstance(act, Slide) and (act.place == "burn" or act.card in hidden):
        return replace(act, card="??")
    return act


def feltd(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "controller.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_json_for_programs(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", str(shared / "data/phh/wsop-2023-43")]) == Exit.PASSED
    document = json.loads(capsys.readouterr().out)
    assert document["exit"] == 0
    assert document["outcomes"] == {"passed": 12}
    assert {case["case"] for case in document["cases"]} >= {"1", "27"}


def test_exit_codes(tmp_path: Path, shared: Path) -> None:
    short_deck = str(shared / "data/phh/phua-xuan-2019.phh")
    assert main([short_deck]) == Exit.NOTHING
    assert main([str(tmp_path / "absent.phh")]) == Exit.SCRIPT
    assert main(["--profile", "no_such_house", str(shared / "data/phh/wsop-2023-43/1.phh")]) == Exit.SCRIPT
    broken = tmp_path / "broken.phh"
    broken.write_text("variant = ", encoding="utf-8")
    assert main([str(broken)]) == Exit.SCRIPT
    assert exit_code([Case("a", "passed"), Case("b", "error")]) == Exit.RIG
    assert exit_code([Case("a", "passed"), Case("b", "failed")]) == Exit.PRODUCT
