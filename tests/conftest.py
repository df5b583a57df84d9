"""What all tests share: the folder of recorded hands and device vectors, and how hypothesis searches."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import marks

ROOT = Path(__file__).resolve().parent.parent

# The same examples on every run: a red test must be red again. `HYPOTHESIS_PROFILE=search` looks for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Hundreds of daemons are started in these tests. Where no bytecode is kept each of them compiles the whole program.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for ``shared``, so that ``-m "not needs_shared"`` runs without that folder."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.needs_shared)


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of this repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with ``data/phh`` and ``data/device_vectors.json``: beside the repository, or ``FELTD_SHARED``."""
    folder = Path(os.environ.get("FELTD_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no recorded hands and device vectors at {folder}; set FELTD_SHARED to the folder that has them")
    return folder


@pytest.fixture(autouse=True)
def _shown(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that is marked with a rule really shows it."""
    yield from marks.watch(request)
