"""Shims for LD_PRELOAD, compiled when a test asks for one."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.running import ROOT

needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None, reason="no C compiler (Debian: apt-get install gcc libc6-dev)"
)


def built(name: str, folder: Path) -> Path:
    """The shim ``tests/shim/NAME.c`` as a library."""
    made = folder / f"{name}.so"
    source = ROOT / "tests" / "shim" / f"{name}.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", made, source, "-ldl"], check=True)
    return made
