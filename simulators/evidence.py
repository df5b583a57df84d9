"""What a case that fails leaves behind: kept before its stage is closed, because most of it goes with that."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simulators import artefacts
from simulators.breaking import BrokenOff
from simulators.errors import ProductFailure, RigError
from simulators.through.stage import Captured, Gathers, NotRunnable, OnARig, Stage
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


@contextmanager
def blamed(case: Case, stage: Stage) -> Iterator[None]:
    """Where the rig itself has failed meanwhile, a case that did not pass proves nothing against the product.

    Raises ``RigError``.
    """
    try:
        yield
    except ProductFailure as error:
        if why := _fault(stage):
            raise RigError(f"{why}; what came of it: {error}") from error
        raise
    if case.lines and (why := _fault(stage)):
        case.wrong = case.changed = case.needless_holds = case.needless_breaches = 0
        raise RigError(f"{why}; what came of it: {'; '.join(case.lines)}")


def _fault(stage: Stage) -> str:
    return stage.fault() if isinstance(stage, OnARig) else ""
