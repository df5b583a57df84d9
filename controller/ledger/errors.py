"""What can go wrong with a ledger file and its keys."""

from controller.errors import LocalError


class LedgerError(LocalError):
    """The ledger file cannot be used as it is. ``field`` is ``ledger``, ``value`` the path."""

    def __init__(self, path: object, remedy: str) -> None:
        super().__init__("ledger", str(path), remedy)


class LedgerBusy(LedgerError):
    """Another process writes this ledger."""


class LedgerDamaged(LedgerError):
    """The file does not hold what was written: a broken page, or a row that does not fit its hash."""


class AppendFailed(LedgerError):
    """Nothing of the records was stored. The caller restores the table from the ledger, or ends."""


class NotWritable(AppendFailed):
    """The records themselves cannot be an event: no fault of the disk, and trying again would not help."""


class KeyFileError(LocalError):
    """A key file is missing, can be read by others, or is not a key."""
