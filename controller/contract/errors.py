"""What is wrong with something that claims to follow the contract."""


class ContractError(ValueError):
    """A name, a record or a message does not fit the event contract. The text names the part and the remedy."""


class NoCheckpoint(ContractError):
    """A file is no checkpoint. ``field`` names what is wrong in it, ``value`` what stood there."""

    def __init__(self, field: str, value: object, remedy: str) -> None:
        super().__init__(f"{field}: {value!r}: {remedy}")
        self.field = field
        self.value = value
        self.remedy = remedy
