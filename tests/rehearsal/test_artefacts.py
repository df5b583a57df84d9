"""What a rehearsal leaves for machines: JUnit, report.json, and a bundle for a case that fails."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from simulators import artefacts
from simulators.rehearse import main
from simulators.verdict import Case, Exit

SCENARIOS = Path(__file__).resolve().parent / "scenarios"


def test_junit_tells_whose_mistake_it_was(tmp_path: Path) -> None:
    cases = [
        Case("a[v]", "passed", ms=1500),
        Case("a[w]", "failed", ["it is wrong \x00 <&"], command="feltsim rehearse a"),
        Case("b", "error", ["the rig"]),
        Case("c", "wrong", ["line 3"]),
        Case("d", "skipped", ["needs a broker"]),
    ]
    artefacts.junit(cases, tmp_path / "out.xml", artefacts.properties("sim"))
    root = ET.parse(tmp_path / "out.xml").getroot()
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["a", "b", "c", "d"]
    assert (suites["a"].get("tests"), suites["a"].get("failures"), suites["a"].get("errors")) == ("2", "1", "0")
    failure = suites["a"].find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "it is wrong ? <&"
    assert "again: feltsim rehearse a" in (failure.text or "")
    assert suites["b"].get("errors") == suites["c"].get("errors") == "1"
    assert suites["d"].find("testcase/skipped") is not None
    assert {p.get("name") for p in suites["a"].iter("property")} >= {"seed", "software_sha256", "rig", "kernel"}


@pytest.mark.parametrize("through", ["virtual", pytest.param("wires", marks=[pytest.mark.wires, pytest.mark.slow])])
def test_a_case_that_fails_leaves_a_bundle_that_plays_it_again(through: str, tmp_path: Path) -> None:
    text = (SCENARIOS / "whole-hand.toml").read_text(encoding="utf-8")
    script = tmp_path / "wrong.toml"
    script.write_text(text + '\n[[expect]]\nevent = "deck.changed"\n', encoding="utf-8")
    where = {name: tmp_path / name for name in ("out.xml", "report.json", "bundles")}
    options = [
        "--junit",
        str(where["out.xml"]),
        "--report",
        str(where["report.json"]),
        "--bundles",
        str(where["bundles"]),
    ]
    assert main([str(script), "--through", through, *options]) == Exit.PRODUCT
    told = json.loads(where["report.json"].read_text(encoding="utf-8"))
    assert told["exit"] == 1
    (case,) = told["cases"]
    assert any("deck.changed" in line for line in case["lines"])
    (folder,) = where["bundles"].iterdir()
    kept = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    assert kept["outcome"] == "failed"
    assert {name: told for name, told in case.items() if name in kept} == kept
    names = {file.name for file in folder.iterdir()}
    assert names >= {"events.jsonl", "wrong.toml", "case.json", "again.sh"}
    assert len((folder / "events.jsonl").read_bytes().splitlines()) > 40
    if through == "wires":
        assert names >= {"capture.pcapng", "ledger", "feltd.log", "table.toml"}
        assert not any("key" in name and not name.endswith(".pub") for name in names)
    assert "feltsim rehearse" in (folder / "again.sh").read_text(encoding="utf-8")
    assert ET.parse(where["out.xml"]).getroot().find("testsuite/testcase/failure") is not None


def test_a_bundle_says_of_its_case_what_the_report_says(tmp_path: Path) -> None:
    """Whatever ended it: what was seen, or a command that was refused."""
    text = (SCENARIOS / "whole-hand.toml").read_text(encoding="utf-8")
    wrong = {
        "sums": ("1 = 16500,", "1 = 16501,"),
        "refused": ('id = "fold2"', 'do = "command"\nname = "open"\nwho = "s-01"\n\n[[step]]\nid = "fold2"'),
    }
    for name, (old, new) in wrong.items():
        assert old in text
        (tmp_path / f"{name}.toml").write_text(text.replace(old, new), encoding="utf-8")
    files = [str(tmp_path / f"{name}.toml") for name in wrong]
    report, bundles = tmp_path / "report.json", tmp_path / "bundles"
    main([*files, "--through", "virtual", "--report", str(report), "--bundles", str(bundles)])
    cases = {one["case"]: one for one in json.loads(report.read_text(encoding="utf-8"))["cases"]}
    kept = [json.loads(file.read_text(encoding="utf-8")) for file in bundles.glob("*/case.json")]
    assert len(kept) == len(files)
    for one in kept:
        assert one["outcome"] != "passed"
        assert {name: told for name, told in cases[one["case"]].items() if name in one} == one


def test_exit_codes(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.toml").write_text("schema = 1\nwhat = 2\n", encoding="utf-8")
    for arguments, code in (([str(tmp_path / "empty")], Exit.NOTHING), ([str(tmp_path / "bad.toml")], Exit.SCRIPT)):
        command = [sys.executable, "-m", "simulators.cli", "rehearse", *arguments]
        assert subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == code
