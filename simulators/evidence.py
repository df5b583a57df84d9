"""What a case that fails leaves behind: kept before its stage is closed, because most of it goes with that."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simulators import artefacts
from simulators.breaking import BrokenOff
from simulators.through.stage import Captured, Gathers, NotRunnable, Stage
from simulators.verdict import Case


@contextmanager
def kept(script: Path, case: Case, stage: Stage, bundles: Path | None) -> Iterator[None]:
    """Fill a folder in ``bundles`` if the case fails. What could not be had is a note of the case, with the reason."""
    well = False
    try:
        yield
        well = not case.lines
    except (BrokenOff, NotRunnable):
        well = True  # it proves nothing
        raise
    finally:
        if not well and bundles is not None:
            bodies = [event.body for event in stage.seen if event.body]
            folder = stage.capture.parent if isinstance(stage, Captured) else None
            case.bundle = artefacts.bundle(case, script, bodies, folder, bundles)
            missing = stage.gather(case.bundle) if isinstance(stage, Gathers) else ()
            case.notes += [f"not in the bundle: {line}" for line in missing]
