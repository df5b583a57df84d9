"""The port through which the pump publishes: small enough that another protocol fits behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """One message to publish at QoS 1. ``labels`` repeat what the body says, for brokers that route by them."""

    topic: str
    body: bytes
    retain: bool = False
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """The broker took a message, or refused it: then ``refused`` is the cause as a key."""

    session: int
    token: int
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """The connection is gone."""

    session: int
    cause: str


Outcome = Answered | Dropped


class Publisher(Protocol):
    """A connection to a broker, used by one thread. Outcomes come from another one, into the ``sink``."""

    def connect(self, session: int, will: Message, sink: Callable[[Outcome], None]) -> None:
        """Connect and be greeted, or raise ``BrokerError``. ``will`` is published when we vanish.

        ``sink`` must take an outcome without blocking and without failing. Each outcome carries ``session``, so that
        those of an earlier connection can be told.
        """

    def publish(self, message: Message) -> int:
        """Send a message and return the token that its outcome will carry. Raises ``BrokerError``."""

    def close(self) -> None:
        """End the connection, whatever its state. May be called at any time."""
