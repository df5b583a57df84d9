"""Every rule is bound to the code that keeps it and to the tests that show it."""

import csv
import json
from pathlib import Path

import pytest

from controller.cli import main
from controller.core.records import Record
from controller.core.rules.breaches import ids
from controller.core.rules.codes import FAMILIES
from controller.rulebook import rules
from tests import marks, tracing
from tests.floors import House
from tests.marks import ID, broken

COUNTS = {"HR": 106, "BG": 70, "RS": 69, "LT": 65, "CM": 27}


def test_every_rule_is_bound_in_code_and_tests() -> None:
    lacking = {rule.id: rule.lacks() for rule in rules() if rule.lacks()}
    assert not lacking, "bind them, then run: python -m tests.tracing"


def test_the_bindings_are_those_of_code_and_tests() -> None:
    kept = tracing.TARGET.read_text(encoding="utf-8")
    assert kept == tracing.text(), "run: python -m tests.tracing"


def test_there_are_244_rules_and_no_id_twice() -> None:
    all_of_them = rules()
    assert len({rule.id for rule in all_of_them}) == len(all_of_them)
    numbered = [rule for rule in all_of_them if rule.kind not in ("reading", "default")]
    assert len(numbered) == 244
    families = [rule.family for rule in all_of_them]
    assert {family: families.count(family) for family in COUNTS} == COUNTS


def test_every_id_that_a_breach_can_name_is_a_rule(root: Path) -> None:
    known = {rule.id for rule in rules()}
    for path in (*(root / "controller").rglob("*.py"), *(root / "config").rglob("*.toml")):
        named = set(ID.findall(path.read_text(encoding="utf-8")))
        assert named <= known, f"{path} names {sorted(named - known)}"
    assert all(set(ids(key, "BG")) <= known for key in FAMILIES["BG"])


def test_bound_names_exist() -> None:
    tests: dict[str, str] = {}
    with tracing.TARGET.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["side"] != "code":
                path, _, function = row["name"].partition("::")
                text = tests.setdefault(path, (tracing.ROOT / path).read_text(encoding="utf-8"))
                assert f"def {function}(" in text


@broken("HR-21.1")
def test_a_marked_test_is_held_to_its_word() -> None:
    felt = House("hr_thp").ready([1000, 1000])
    felt.say("seat", seat=1, stack=1000, checked=True)


class Asked:
    """A test request with one mark."""

    def __init__(self, mark: pytest.MarkDecorator) -> None:
        self.node = self
        self.mark = mark.mark

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [self.mark] if name == "rule" else []


def watched(mark: pytest.MarkDecorator) -> None:
    """Seat a second player on a taken seat in a test that is marked like this."""
    watch = marks.watch(Asked(mark))  # type: ignore[arg-type]
    next(watch)
    test_a_marked_test_is_held_to_its_word()
    with pytest.raises(StopIteration):
        next(watch)


def test_a_mark_that_says_too_much_fails_its_test() -> None:
    watched(marks.broken("HR-21.1"))
    watched(marks.kept("HR-21.2"))
    with pytest.raises(AssertionError, match=r"nothing named \['HR-21.2'\]"):
        watched(marks.broken("HR-21.2"))
    with pytest.raises(AssertionError, match="found it broken"):
        watched(marks.kept("HR-21.1"))


def test_a_record_without_rules_names_none() -> None:
    assert Record("play", "seat.taken", "t", {"seat": 1}).data.get("rules") is None


# --- feltd rules ---------------------------------------------------------------------------------------------


def test_the_matrix_of_a_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--profile", "lt_uth"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].split() == ["rule", "kind", "reaction", "where", "tests", "what", "it", "asks"]
    assert told[1].startswith("LT-1.1 ")
    assert {line.partition("-")[0] for line in told[1:-1]} == {"LT", "CM"}
    assert told[-1] == "92 rules, 92 bound in code and tests"


def test_one_rule_with_all_that_is_bound_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--id", "HR-11.8"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("HR-11.8  A  BLOCK  A round has room for three raises.")
    assert "  code    controller.core.rules.betting._barred" in told
    assert "  broken  tests/unit/test_rules_of_betting.py::test_a_fourth_raise" in told
    with pytest.raises(SystemExit):
        main(["rules", "--no-such-option"])
    assert main(["rules", "--id", "HR-99.9"]) == 2


def test_nothing_is_unbound_and_all_of_it_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--unbound"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 rules, 0 bound in code and tests"
    assert main(["rules", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told) == len(rules())
    assert all(rule["code"] and not rule["lacks"] for rule in told)
    assert main(["rules", "--explain"]) == 2
    assert main(["rules", "--profile", "hr_thp", "--explain", "--json"]) == 0
