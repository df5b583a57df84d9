"""What can go wrong in the back office: our own mistake, or what somebody sent us."""


class OfficeError(Exception):
    """Root of every error that the back office raises on purpose."""


class UsageError(OfficeError):
    """Our own or the operator's mistake. ``field`` names what is wrong, ``remedy`` says what to do about it."""

    def __init__(self, field: str, value: object, remedy: str) -> None:
        super().__init__(f"{field}: {value!r}: {remedy}")
        self.field = field
        self.value = value
        self.remedy = remedy


class StoreError(OfficeError):
    """The store cannot be read or written now. Nothing was acknowledged that is not in it."""


class Forged(OfficeError):
    """Events came again with other bytes than those that are stored. Stop and look: one of the two is false."""


class BrokerError(OfficeError):
    """The broker cannot be reached, or refuses us."""
