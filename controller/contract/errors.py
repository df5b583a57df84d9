"""What is wrong with something that claims to follow the contract."""


class ContractError(ValueError):
    """A name, a record or a message does not fit the event contract. The text names the part and the remedy."""
