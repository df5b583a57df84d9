"""An installed feltd must find its profiles and its schema: they are data inside the wheel."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller import software

DATA = {
    "config": ("*.toml", "*.csv", "*.conf"),
    "controller/contract": ("*.json", "*.yaml"),
    "controller/ledger/schema": ("*.sql",),
    "simulators/scripts": ("*.toml", "*.phh"),
}


FROM = {
    "phevaluator": "phevaluator",
    "paho": "paho-mqtt",
    "psycopg": "psycopg",
    "pydantic_core": "pydantic",
    "serial": "pyserial",
    "usb": "pyusb",
}
"""Import name to the name of its distribution, where they differ or a reader may doubt it."""
APART = {"controller/contract/checking.py": "jsonschema", "simulators/pytest_plugin.py": "pytest"}
"""Modules that are loaded only where that is there: the daemon never loads the first, pytest alone the second."""


def imported(path: Path) -> Iterator[str]:
    """The packages that a module loads, by their first name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_every_import_is_a_declared_dependency(root: Path) -> None:
    """The tools of development are not there where feltd is installed."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def names(lines: list[str]) -> set[str]:
        return {re.split(r"[^\w-]", line)[0] for line in lines}

    extras = {name: names(lines) for name, lines in project["optional-dependencies"].items()}
    runtime = names(project["dependencies"])
    ours = {"backoffice", "config", "controller", "drivers", "simulators"}
    for folder in sorted(ours):
        for path in sorted((root / folder).rglob("*.py")):
            allowed = runtime | (extras["postgresql"] if folder == "backoffice" else set())
            allowed |= extras["simulators"] if folder == "simulators" else set()
            allowed |= {APART.get(path.relative_to(root).as_posix(), "")}
            foreign = {FROM.get(name, name) for name in set(imported(path)) - ours - sys.stdlib_module_names}
            assert foreign <= allowed, f"{path}: {foreign - allowed}"


def copy_of_source(root: Path, target: Path) -> Path:
    """What git would clone, uncommitted files included: building must not leave anything in the work tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((root / name).read_bytes())
    return target


@pytest.mark.ci
def test_a_wheel_carries_every_data_file_and_no_test(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = copy_of_source(root, tmp_path / "source")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run([*command, "--wheel-dir", tmp_path, source], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("feltd-*.whl")
    carried = set(zipfile.ZipFile(wheel).namelist())
    for folder, patterns in DATA.items():
        for pattern in patterns:
            assert {path.relative_to(source).as_posix() for path in (source / folder).rglob(pattern)} <= carried
    assert not [name for name in carried if name.startswith(("tests/", "benchmarks/"))]
    installed = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    done = subprocess.run([*command, installed, wheel], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list((installed / "controller").rglob("*.pyc")), "pip compiles what it installs"
    told = []
    for place in (source, installed):
        monkeypatch.setattr(software, "__file__", str(place / "controller" / "software.py"))
        told.append(software.software())
    assert told[0] == told[1], "one program, from a wheel or from its source"
