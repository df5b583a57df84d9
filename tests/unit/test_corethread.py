"""The core thread on a real ledger: what is stored, what is acknowledged, and what happens when storing fails."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from controller.contract.topics import Source
from controller.core import said
from controller.core.inputs import Command
from controller.core.records import Record
from controller.corethread import CoreThread
from controller.errors import FeltError
from controller.inbox import Ask, Inbox, Order, Outcome
from controller.ledger.errors import AppendFailed
from controller.ledger.keys import Keys
from controller.ledger.store import Ledger
from controller.runtime.clock import Clock
from drivers.readings import CardSeen, DeviceUp, KeyPressed, KeyReleased, Reading
from tests.felt import setup
from tests.waiting import wait_until


class Unsteady(Ledger):
    """A ledger whose next appends fail, as on a disk that is full for a moment."""

    failures = 0

    def append(self, records: Sequence[Record], wall_ns: int) -> list[int]:
        if self.failures:
            self.failures -= 1
            raise AppendFailed(self.path, "nothing was stored (test)")
        return super().append(records, wall_ns)


class Rig:
    """A core thread with a device that remembers what was acknowledged."""

    def __init__(self, folder: Path) -> None:
        keys = Keys.load(device=folder / "device-key", create=True)
        opened = Unsteady.open(folder / "t07.ledger", source=Source("zg1", "t07"), test=True, keys=keys)
        assert isinstance(opened, Unsteady)
        self.ledger = opened
        self.inbox = Inbox()
        self.acknowledged: list[Reading] = []
        self.rows_at_acknowledge: list[int] = []
        self.ended = threading.Event()
        self.woken = 0
        self.core = CoreThread(
            setup(unit=1), self.ledger, Clock(), self.inbox, wake=self._wake, ended=self.ended.set, seed=7
        )
        self.core.restore(list(self.ledger.restore_rows()))
        self.core.start({"shoe0": self._acknowledge, "keys0": self._acknowledge})

    def _wake(self) -> None:
        self.woken += 1

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


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.core.stop("test", 10)
    rig.ledger.close()


def card(number: int, value: str) -> CardSeen:
    return CardSeen("shoe0", number, "0", value, None, 100, number)


def test_acknowledged_only_after_the_outcome_is_stored(rig: Rig) -> None:
    rig.begin_hand()
    wait_until(lambda: rig.status()["hand"], what="hand")
    before = rig.ledger.row
    assert rig.inbox.offer(card(1, "As"))
    wait_until(lambda: card(1, "As") in rig.acknowledged, what="acknowledged")
    at = rig.rows_at_acknowledge[rig.acknowledged.index(card(1, "As"))]
    assert at == before + 1
    assert rig.woken


def test_a_mistaken_command_stores_nothing(rig: Rig) -> None:
    before = rig.ledger.row
    outcome = rig.say("seat", seat="one")
    assert outcome.mistake is not None
    assert outcome.mistake.field == "seat"
    assert rig.ledger.row == before


def test_an_append_that_fails_once_costs_nothing(rig: Rig) -> None:
    rig.begin_hand()
    wait_until(lambda: rig.status()["hand"], what="hand")
    rig.ledger.failures = 1
    assert rig.inbox.offer(card(1, "As"))
    wait_until(lambda: card(1, "As") in rig.acknowledged, what="acknowledged")
    assert rig.status()["hand"]["cards"] == 1
    dealt = [record for record in rig.ledger.restore_rows() if record.type == "card.dealt"]
    assert [record.data["slot"] for record in dealt] == [0]
    assert dealt[0].secret is not None
    assert dealt[0].secret["card"] == "As"


def test_an_append_that_fails_again_ends_the_thread_and_acknowledges_nothing(rig: Rig) -> None:
    rig.begin_hand()
    wait_until(lambda: rig.status()["hand"], what="hand")
    rig.ledger.failures = 99
    assert rig.inbox.offer(card(1, "As"))
    assert rig.ended.wait(10)
    assert isinstance(rig.core.failure, AppendFailed)
    assert card(1, "As") not in rig.acknowledged


def test_a_command_that_cannot_be_stored_is_answered_with_the_error(rig: Rig) -> None:
    rig.ledger.failures = 99
    with pytest.raises(FeltError, match="nothing was stored"):
        rig.say("open")
    assert rig.ended.wait(10)


@pytest.mark.parametrize("name", ["\ud800", "x" * 70_000])
def test_a_command_whose_records_can_be_no_event_is_refused_and_nothing_is_lost(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(said, "check", lambda _command: None)  # the door is open: this is what stands behind it
    rig.begin_hand()
    wait_until(lambda: rig.status()["hand"], what="hand")
    before, row = rig.status(), rig.ledger.row
    order = Order(Command("report", {"rule": "CM-20"}, "s-01", "manager", name))
    assert rig.inbox.post(order)
    mistake = order.outcome.result(10).mistake
    assert mistake is not None
    assert mistake.field == "command"
    assert rig.ledger.row == row + 1  # the keypad's word again, which the restored table has to hear
    assert rig.status() == before
    assert rig.core.alive()
    assert rig.say("away", seat=1).mistake is None


def test_what_is_queued_is_worked_off_before_the_end(rig: Rig) -> None:
    order = Order(Command("open", {}, "s-01", "manager"))
    assert rig.inbox.post(order)
    assert rig.core.stop("SIGTERM", 10)
    assert order.outcome.result(0).records[0].type == "table.opened"
    last = list(rig.ledger.restore_rows())[-1]
    assert (last.type, last.data["reason"]) == ("daemon.stopped", "SIGTERM")


def test_nobody_waits_for_a_thread_that_has_ended(rig: Rig) -> None:
    assert rig.core.stop("SIGTERM", 10)
    assert not rig.inbox.post(Order(Command("open")), timeout_s=0.1)


def test_a_full_queue_is_recorded_as_a_fault_of_its_device(rig: Rig) -> None:
    gate = threading.Event()
    assert rig.inbox.post(Ask(lambda _table: gate.wait(10)))
    number = 0
    while rig.inbox.offer(KeyReleased("keys0", number, "CALL")):
        number += 1
    gate.set()

    def overflows() -> list[Record]:
        ask = Ask(lambda _table: list(rig.ledger.restore_rows()))
        assert rig.inbox.post(ask)
        records: list[Record] = ask.answer.result(10)
        return [r for r in records if r.type == "device.fault" and r.data["cause"] == "overflow"]

    assert wait_until(overflows, what="device.fault")[0].subject == "keys0"
