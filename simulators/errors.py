"""The simulators' error tree: whose mistake it was decides the exit code of a rehearsal."""

from pathlib import Path


class SimulatorError(Exception):
    """Root of every error the simulators raise on purpose."""


class ScriptError(SimulatorError):
    """A scenario, a recorded hand or an argument is not as it must be (exit code 2).

    The message names the file, the line where it is known, the field, the value and the remedy.
    """

    def __init__(self, path: Path | str, field: str, value: object, remedy: str, line: int | None = None) -> None:
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {field} = {value!r}: {remedy}")
        self.path = str(path)
        self.line = line
        self.field = field
        self.value = value
        self.remedy = remedy


class NotOurGame(ScriptError):
    """The file is sound, but the table does not play that game."""


class RigError(SimulatorError):
    """The rig failed, not the product: a process that will not start, a device that is not there (exit code 3)."""


class ProductFailure(SimulatorError):
    """What is rehearsed failed so badly that the case cannot go on (exit code 1)."""
