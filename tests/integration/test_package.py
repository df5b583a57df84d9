"""An installed feltd must find its profiles and its schema: they are data inside the wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

DATA = {
    "config": ("*.toml", "*.csv", "*.conf"),
    "controller/contract": ("*.json", "*.yaml"),
    "controller/ledger/schema": ("*.sql",),
    "simulators/scripts": ("*.toml", "*.phh"),
}


def copy_of_source(root: Path, target: Path) -> Path:
    """What git would clone, uncommitted files included: building must not leave anything in the work tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((root / name).read_bytes())
    return target


@pytest.mark.slow
def test_a_wheel_carries_every_data_file_and_no_test(root: Path, tmp_path: Path) -> None:
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
