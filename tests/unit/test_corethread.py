"""The core thread on a real ledger: what is stored, what is acknowledged, and what happens when storing fails."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.core import said
from controller.core.inputs import Command
from controller.core.records import Record
from controller.errors import FeltError
from controller.inbox import Ask, Order
from controller.ledger.errors import AppendFailed
from drivers.readings import KeyReleased
from tests.corerig import Rig, card
from tests.waiting import wait_until


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.core.stop("test", 10)
    rig.ledger.close()


def test_acknowledged_only_after_the_outcome_is_stored(rig: Rig) -> None:
    rig.begin_hand()
    wait_until(lambda: rig.status()["hand"], what="hand")
    before = rig.ledger.row
    assert rig.inbox.offer(card(1, "As"))
    wait_until(lambda: card(1, "As") in rig.acknowledged, what="acknowledged")
    at = rig.rows_at_acknowledge[rig.acknowledged.index(card(1, "As"))]
    assert at == before + 1
    assert rig.woken
    assert [row.row for row in rig.expected] == [at]


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
    assert rig.taken_back == 1, "delivery may have made ready what was not stored"


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
