"""What can be wrong with a capture."""

from pathlib import Path

from controller.errors import FeltError


class CaptureError(FeltError):
    """A capture cannot be read, opened or written; the message says what to do."""

    def __init__(self, path: Path, remedy: str) -> None:
        super().__init__(f"{path}: {remedy}")
        self.path = path


class CaptureDamaged(CaptureError):
    """A capture is not as it was written. ``what`` is wrong with it."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(path, f"{what}; use the file as it was written")
        self.what = what


class CaptureUnwritable(CaptureError):
    """The disk or the folder does not take a capture now: no mistake of whoever named the file."""
