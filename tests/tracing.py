"""Binds every rule to the code that keeps it and to the tests that show it: ``python -m tests.tracing`` writes it down.

Code: a function, class or module whose docstring or comment names the rule; a function that uses a breach key behind
which the rule stands; a key of a profile that decides it. Tests: the decorators of ``tests.marks``.
"""

import ast
import csv
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from controller.configuration.profilefile import ANSWERS
from controller.core.cash.codes import CASH
from controller.core.floor.codes import FLOOR
from controller.core.rules.breaches import IDS
from controller.core.rules.codes import FAMILIES
from controller.core.rules.moments import MOMENTS
from controller.rulebook import rules
from tests.marks import ID

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "config" / "rules" / "bindings.csv"
TABLES = ("breaches.py", "codes.py", "moments.py")
"""Modules whose text lists rules; that a rule stands there binds nothing."""
SIDES = {"broken": "broken", "kept": "kept", "shows": "shown"}

Binding = tuple[str, str, str]
"""Rule, side, name."""


def bindings() -> list[Binding]:
    """All of them, in the order of the rules; code before tests."""
    order = {rule.id: place for place, rule in enumerate(rules())}
    sides = ("code", *SIDES.values())
    found = {*code(), *tests()}
    strangers = sorted({rule for rule, _, _ in found} - set(order))
    if strangers:
        where = [f"{rule} in {name}" for rule, _, name in sorted(found) if rule in strangers]
        raise LookupError(f"no such rules: {', '.join(where)}; name one of config/rules/rules.csv")
    return sorted(found, key=lambda b: (order[b[0]], sides.index(b[1]), _rank(b[2]), b[2]))


def _rank(name: str) -> int:
    """Functions first, then modules, then keys of profiles: the nearest place to look at stands first."""
    return 2 if name.startswith("profile: ") else 0 if "." in name and name.rsplit(".", 1)[1][:1].islower() else 1


def text() -> str:
    """The file as it should stand."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("id", "side", "name"))
    writer.writerows(bindings())
    return out.getvalue()


# --- code ----------------------------------------------------------------------------------------------------


def code() -> Iterator[Binding]:
    """What docstrings, comments, breach keys and keys of profiles bind."""
    behind = _behind()
    for path in sorted((ROOT / "controller").rglob("*.py")):
        yield from _module(path, behind)
    for key, ids in ANSWERS.items():
        yield from ((rule, "code", f"profile: {key}") for rule in ids)


def _behind() -> dict[str, set[str]]:
    """The rules behind each breach key, of all families."""
    behind: dict[str, set[str]] = {}
    for table in (IDS, FLOOR, CASH):
        for key, families in table.items():
            behind.setdefault(key, set()).update(rule for ids in families.values() for rule in ids)
    for keys in FAMILIES.values():
        for key, ids in keys.items():
            behind.setdefault(key, set()).update(ids)
    for moments in MOMENTS.values():
        for key, by_moment in moments.items():
            behind.setdefault(key, set()).update(rule for ids in by_moment.values() for rule in ids)
    return behind


def _module(path: Path, behind: dict[str, set[str]]) -> Iterator[Binding]:
    source = path.read_text(encoding="utf-8")
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    tree = ast.parse(source)
    spans = list(_spans(tree, name))
    table = path.name in TABLES
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        where = _innermost(spans, node.lineno, name)
        if node.value in behind and not table:
            yield from ((rule, "code", where) for rule in behind[node.value])
        if not table or where != name:
            yield from ((rule, "code", where) for rule in ID.findall(node.value))
    if table:
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            where = _innermost(spans, token.start[0], name)
            yield from ((rule, "code", where) for rule in ID.findall(token.string))


def _spans(tree: ast.AST, prefix: str) -> Iterator[tuple[int, int, str]]:
    """First and last line and dotted name of every function and class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}"
            yield node.lineno, node.end_lineno or node.lineno, name
            yield from _spans(node, name)


def _innermost(spans: list[tuple[int, int, str]], line: int, module: str) -> str:
    inside = [span for span in spans if span[0] <= line <= span[1]]
    return min(inside, key=lambda span: span[1] - span[0])[2] if inside else module


# --- tests ---------------------------------------------------------------------------------------------------


def tests() -> Iterator[Binding]:
    """What the decorators of ``tests.marks`` say, on functions and in the marks of single parameters."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "tests.marks" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                test = f"{path.relative_to(ROOT)}::{node.name}"
                for call in (c for decorator in node.decorator_list for c in ast.walk(decorator)):
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in SIDES:
                        yield from ((_literal(arg, test), SIDES[call.func.id], test) for arg in call.args)


def _literal(arg: ast.expr, test: str) -> str:
    if not isinstance(arg, ast.Constant) or not isinstance(arg.value, str):
        raise TypeError(f"{test}: name each rule as a plain text, so that it can be read without running the test")
    return arg.value


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    lacking = [rule for rule in rules() if rule.lacks()]
    for rule in lacking:
        print(f"{rule.id} lacks {', '.join(rule.lacks())}: {rule.summary}")
    print(f"{len(lacking)} rules lack something")
    sys.exit(bool(lacking))
