"""What can be wrong with a capture."""

from pathlib import Path

from controller.errors import FeltError


class CaptureError(FeltError):
    """A capture cannot be read, opened or written; the message says what to do."""

    def __init__(self, path: Path, remedy: str) -> None:
        super().__init__(f"{path}: {remedy}")
        self.path = path
