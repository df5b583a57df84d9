"""What a broker can do to us."""

from controller.errors import FeltError, RemoteError


class TakenBack(FeltError):
    """What was made ready for the broker never became durable: the connection that has it must end unheard."""


class BrokerError(RemoteError):
    """The broker cannot be reached, refuses us, or has gone. ``cause`` is a short key for records and metrics."""

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(text)
        self.cause = cause
