"""A ledger with its pump, for tests of delivery."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controller.contract.state import description_body
from controller.contract.topics import Topics
from controller.delivery.errors import BrokerError
from controller.delivery.flight import PumpSettings
from controller.delivery.mqtt import MqttPublisher, MqttSettings
from controller.delivery.publisher import Message, Outcome, Publisher
from controller.delivery.pump import Pump
from controller.delivery.requests import Grants
from controller.ledger.outbox import Outbox
from controller.ledger.store import Ledger
from tests.ledgers import SOURCE, WALL, Desk, hand_records, new_desk

TOPICS = Topics(SOURCE, test=True)
QUICK = PumpSettings(backoff_s=0.02, backoff_cap_s=0.2, ack_timeout_s=1.0)


class Rig:
    """A ledger and its pump. Notices are kept."""

    def __init__(
        self,
        desk: Desk,
        ledger: Ledger,
        mqtt: MqttPublisher,
        publisher: Publisher,
        settings: PumpSettings,
        grants: Grants | None = None,
    ) -> None:
        self.desk = desk
        self.ledger = ledger
        self.mqtt = mqtt
        self.notices: list[tuple[str, Mapping[str, Any]]] = []
        self.pump = Pump(
            ledger.path,
            TOPICS,
            publisher,
            notify=lambda kind, data: self.notices.append((kind, data)),
            description=description_body(SOURCE, ledger.id, test=True, software="0"),
            settings=settings,
            grants=grants,
        )

    def play(self, hands: int = 1) -> None:
        for _ in range(hands):
            for rec in hand_records(f"h{self.ledger.row}"):
                self.ledger.append([rec], WALL)
                self.pump.wake()

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.notices]

    def bodies(self) -> list[bytes]:
        return self.ledger.tail(1_000_000)


class Gate:
    """A publisher that lets no connection through until the gate is opened: the subscriber is to be there first."""

    def __init__(self) -> None:
        self.open = True
        self.staged = 0
        """How many messages waited for a commit, made ready, so far."""
        self.publisher: Publisher | None = None

    def connect(self, session: int, will: Message, sink: Callable[[Outcome], None]) -> None:
        if not self.open:
            raise BrokerError("refused", "the gate is shut")
        assert self.publisher is not None
        self.publisher.connect(session, will, sink)

    def listen(self, topics: Sequence[str]) -> None:
        assert self.publisher is not None
        self.publisher.listen(topics)

    def stage(self, messages: Sequence[Message]) -> list[int]:
        assert self.publisher is not None
        tokens = self.publisher.stage(messages)
        self.staged += len(tokens)
        return tokens

    def release(self) -> None:
        assert self.publisher is not None
        self.publisher.release()

    def publish(self, message: Message) -> int:
        assert self.publisher is not None
        return self.publisher.publish(message)

    def wait(self, timeout_s: float) -> None:
        assert self.publisher is not None
        self.publisher.wait(timeout_s)

    def wake(self) -> None:
        assert self.publisher is not None
        self.publisher.wake()

    def close(self) -> None:
        assert self.publisher is not None
        self.publisher.close()


@contextmanager
def make_rig(
    folder: Path,
    port: int,
    *,
    pump: PumpSettings = QUICK,
    gate: Gate | None = None,
    grants: Grants | None = None,
    **settings: Any,
) -> Iterator[Rig]:
    desk = Desk(folder) if folder.exists() else new_desk(folder)
    settings.setdefault("client_id", "felt-zg1-t07")
    publisher = MqttPublisher(MqttSettings("127.0.0.1", port, **settings))
    if gate is not None:
        gate.publisher = publisher
    with desk.open() as ledger:
        made = Rig(desk, ledger, publisher, gate or publisher, pump, grants)
        try:
            yield made
        finally:
            assert made.pump.stop(5)


def unsent(r: Rig) -> int:
    outbox = Outbox(r.desk.path)
    try:
        return outbox.backlog().rows
    finally:
        outbox.close()
