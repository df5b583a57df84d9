"""A core thread on a real ledger that can fail, with devices that remember what was acknowledged."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from controller.contract.topics import Source
from controller.core.inputs import Command
from controller.core.records import Record
from controller.corethread import CoreThread
from controller.hearers import Listener
from controller.inbox import Ask, Inbox, Order, Outcome
from controller.ledger.errors import AppendFailed
from controller.ledger.keys import Keys, create_auditor_key
from controller.ledger.outbox import Unsent
from controller.ledger.store import Ledger
from controller.runtime.clock import Clock
from drivers.readings import CardSeen, DeviceUp, KeyPressed, KeyReleased, Reading
from tests.felt import setup
from tests.waiting import wait_until


class Unsteady(Ledger):
    """A ledger whose next appends fail, as on a disk that is full for a moment."""

    failures = 0
    """How many of the next transactions fail."""
    together: tuple[int, ...] = ()
    """How many inputs were in each transaction so far."""

    def append_together(
        self,
        inputs: Sequence[tuple[Sequence[Record], int]],
        *,
        coming: Callable[[Sequence[Unsent]], None] | None = None,
    ) -> list[Unsent]:
        self.together += (len(inputs),)
        if self.failures:
            self.failures -= 1
            raise AppendFailed(self.path, "nothing was stored (test)")
        return super().append_together(inputs, coming=coming)


class Rig:
    """A core thread with a device that remembers what was acknowledged."""

    def __init__(self, folder: Path, listener: Listener | None = None) -> None:
        create_auditor_key(folder / "auditor-key", folder / "auditor.pub")
        keys = Keys.load(device=folder / "device-key", auditor=folder / "auditor.pub", create=True)
        opened = Unsteady.open(folder / "t07.ledger", source=Source("zg1", "t07"), test=True, keys=keys)
        assert isinstance(opened, Unsteady)
        self.ledger = opened
        self.inbox = Inbox()
        self.acknowledged: list[Reading] = []
        self.rows_at_acknowledge: list[int] = []
        self.ended = threading.Event()
        self.woken = 0
        self.expected: list[Unsent] = []
        self.taken_back = 0
        self.core = CoreThread(
            setup(unit=1),
            self.ledger,
            Clock(),
            self.inbox,
            ended=self.ended.set,
            seed=7,
            listener=listener,
        )
        self.core.restore(list(self.ledger.restore_rows()))
        self.core.start(dict.fromkeys(("shoe0", "keys0", "cam0"), self._acknowledge), delivery=self)

    def expect(self, written: Sequence[Unsent]) -> None:
        """See ``Delivery``."""
        assert written
        self.expected = list(written)

    def wake(self, written: Sequence[Unsent]) -> None:
        """See ``Delivery``."""
        self.woken += bool(written)
        self.taken_back += not written

    def _acknowledge(self, reading: Reading) -> bool:
        self.acknowledged.append(reading)
        self.rows_at_acknowledge.append(self.ledger.row)
        return True

    def say(self, name: str, **args: Any) -> Outcome:
        order = Order(Command(name, args, "s-01", "manager", "test"))
        assert self.inbox.post(order)
        return order.outcome.result(10)

    def status(self) -> dict[str, Any]:
        ask = Ask(lambda table: table.status())
        assert self.inbox.post(ask)
        status: dict[str, Any] = ask.answer.result(10)
        return status

    def begin_hand(self) -> None:
        self.say("open", button=2)
        for seat in (1, 2):
            self.say("seat", seat=seat, stack=10_000)
        self.offer(DeviceUp("keys0", 1, "keypad", "K", "1", "1", "usb"))
        self.offer(KeyPressed("keys0", 2, "HAND"))
        self.offer(KeyReleased("keys0", 3, "HAND"))

    def offer(self, reading: Reading) -> None:
        assert self.inbox.offer(reading)
        wait_until(lambda: reading in self.acknowledged, what="acknowledged")

    def hold(self) -> threading.Event:
        """Let the thread wait until the event is set: what comes meanwhile waits together."""
        gate, held = threading.Event(), threading.Event()

        def wait(_table: object) -> None:
            held.set()
            gate.wait(10)

        assert self.inbox.post(Ask(wait))
        assert held.wait(10)
        return gate

    def records(self, *types: str) -> list[Record]:
        """What the ledger holds of some types, asked between two inputs."""
        ask = Ask(lambda _table: list(self.ledger.restore_rows()))
        assert self.inbox.post(ask)
        records: list[Record] = ask.answer.result(10)
        return [record for record in records if record.type in types]


def card(number: int, value: str) -> CardSeen:
    """A card leaves the shoe."""
    return CardSeen("shoe0", number, "0", value, None, 100, number)
