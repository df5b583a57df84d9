"""The port through which the pump publishes: small enough that another protocol fits behind it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Notify = Callable[[str, Mapping[str, Any]], None]
"""Called from the pump's thread; must not block. Kinds: ``link.lost`` and ``link.restored`` (``since``, ``queued``,
``range``, ``cause``), ``ledger.fault`` (``faults``, ``first``), and for the operator ``record.withheld`` (``stream``,
``sequence``, ``type``, ``cause``) and ``outbox.failed`` (``cause``)."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message to publish at QoS 1. ``labels`` repeat what the body says, for brokers that route by them.

    ``correlation`` goes back to who asked, with an answer.
    """

    topic: str
    body: bytes
    retain: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    correlation: bytes | None = None


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


@dataclass(frozen=True, slots=True)
class Asked:
    """A message on a topic that we listen to. ``reply_to`` and ``correlation`` as the protocol carried them.

    ``kept``: the broker had it from before.
    """

    session: int
    topic: str
    body: bytes
    reply_to: str | None = None
    correlation: bytes | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Unheard:
    """The broker does not let us listen, for this cause."""

    session: int
    cause: str


Outcome = Answered | Dropped | Asked | Unheard


class Publisher(Protocol):
    """A connection to a broker, used by one thread: nothing is sent or heard but within its calls.

    Only ``wake`` may be called from another thread.
    """

    def connect(self, session: int, will: Message, sink: Callable[[Outcome], None]) -> None:
        """Connect and be greeted, or raise ``BrokerError``. ``will`` is published when we vanish.

        ``sink`` must take an outcome without failing and without calling back. Each outcome carries ``session``, so
        that those of an earlier connection can be told.
        """

    def listen(self, topics: Sequence[str]) -> None:
        """Ask for the messages of these topics: they come as ``Asked``. Raises ``BrokerError``."""

    def publish(self, message: Message) -> int:
        """Hand in a message and return the token that its outcome will carry; ``wait`` sends it.

        Raises ``BrokerError``.
        """

    def stage(self, messages: Sequence[Message]) -> list[int]:
        """Hand in messages that may not go yet, and return their tokens: none where others still wait to be sent.

        Nothing is sent any more until ``release``; where the connection is closed before, they are gone with it.
        Raises ``BrokerError``.
        """

    def release(self) -> None:
        """What was staged may go, and goes at once as far as the broker takes it."""

    def wait(self, timeout_s: float) -> None:
        """Send and hear, until the broker has said something, ``wake`` was called or the time is over.

        Without a connection it only waits. Raises ``BrokerError`` where the broker cannot be understood.
        """

    def wake(self) -> None:
        """End the ``wait`` that is under way, or the next one."""

    def close(self) -> None:
        """End the connection, whatever its state. May be called at any time."""
