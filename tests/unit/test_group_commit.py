"""Inputs that wait together are stored in one transaction: all or none, told afterwards, and the same as one by one."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.capture.recorder import CapturedDevice, Origin, Recorder
from controller.capture.verifying import verify_capture
from controller.contract.integrity import digest
from controller.core import said
from controller.core.inputs import Command, Notice
from controller.inbox import Ask, Order
from controller.ledger.errors import AppendFailed
from controller.ledger.keys import load_auditor_key
from controller.ledger.signature import SigningRhythm
from controller.ledger.store import MOST_TOGETHER
from drivers.readings import DeviceUp, KeyPressed
from tests.corerig import Rig, card
from tests.felt import setup
from tests.ledgers import WALL, hand_records, new_desk, opening
from tests.waiting import wait_until

CARDS = ("As", "Kd", "2c", "3h")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    rig.begin_hand()
    wait_until(lambda: rig.status()["hand"], what="hand")
    yield rig
    rig.core.stop("test", 10)
    rig.ledger.close()


def dealt(rig: Rig) -> list[int]:
    """The cards on record, by their number out of the shoe."""
    return [int(record.data["evidence"][0]["reading"]) for record in rig.records("card.dealt")]


def test_what_waits_together_is_one_transaction_and_is_told_after_it(rig: Rig) -> None:
    row, gate = rig.ledger.row, rig.hold()
    orders = [Order(Command("away", {"seat": seat}, "s-01", "manager")) for seat in (1, 2)]
    for number, value in enumerate(CARDS, 1):
        assert rig.inbox.offer(card(number, value))
    assert all(rig.inbox.post(order) for order in orders)
    before = rig.ledger.together
    gate.set()
    assert [order.outcome.result(10).records[0].type for order in orders] == ["seat.away"] * 2
    assert rig.ledger.together == (*before, len(CARDS) + len(orders))
    assert rig.acknowledged[-4:] == [card(number, value) for number, value in enumerate(CARDS, 1)]
    assert rig.rows_at_acknowledge[-4:] == [rig.ledger.row] * 4
    assert rig.ledger.row >= row + 6


def test_an_input_that_comes_alone_is_stored_alone(rig: Rig) -> None:
    before = rig.ledger.together
    for number, value in enumerate(CARDS, 1):
        rig.offer(card(number, value))
    assert rig.ledger.together == (*before, 1, 1, 1, 1)


def test_the_number_in_one_transaction_is_bounded(rig: Rig) -> None:
    gate = rig.hold()
    for _ in range(3 * MOST_TOGETHER):
        assert rig.inbox.post(Notice("link.lost", {"since": "", "queued": 0, "range": {}}))
    gate.set()
    wait_until(lambda: len(rig.records("link.lost")) == 3 * MOST_TOGETHER, what="all on record")
    assert MOST_TOGETHER >= max(rig.ledger.together) > 1


def test_nobody_is_shown_what_is_not_stored(rig: Rig) -> None:
    gate = rig.hold()
    assert rig.inbox.offer(card(1, "As"))
    ask = Ask(lambda table: (table.status()["hand"]["cards"], rig.ledger.row))
    row = rig.ledger.row
    assert rig.inbox.post(ask)
    gate.set()
    assert ask.answer.result(10) == (1, row + 1)


def test_a_transaction_that_fails_fails_all_its_inputs_and_each_is_played_again(rig: Rig) -> None:
    gate = rig.hold()
    for number, value in enumerate(CARDS, 1):
        assert rig.inbox.offer(card(number, value))
    order = Order(Command("away", {"seat": 1}, "s-01", "manager"))
    assert rig.inbox.post(order)
    rig.ledger.failures = 1
    gate.set()
    assert order.outcome.result(10).records[0].type == "seat.away"
    assert dealt(rig) == [1, 2, 3, 4]
    assert rig.acknowledged[-4:] == [card(number, value) for number, value in enumerate(CARDS, 1)]


def test_a_disk_that_stays_broken_acknowledges_none_of_them(rig: Rig) -> None:
    gate, row = rig.hold(), rig.ledger.row
    for number, value in enumerate(CARDS, 1):
        assert rig.inbox.offer(card(number, value))
    order = Order(Command("away", {"seat": 1}, "s-01", "manager"))
    ask = Ask(lambda table: table.status())
    assert rig.inbox.post(order)
    assert rig.inbox.post(ask)
    rig.ledger.failures = 99
    gate.set()
    with pytest.raises(AppendFailed):
        order.outcome.result(10)
    assert rig.ended.wait(10)
    assert ask.answer.cancelled(), "nobody waits for an answer in vain"
    assert not [reading for reading in rig.acknowledged if reading.device == "shoe0"]
    assert rig.ledger.row == row


def test_one_command_that_can_be_no_event_takes_no_other_input_with_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(said, "check", lambda _command: None)
    gate = rig.hold()
    good = [Order(Command("away", {"seat": seat}, "s-01", "manager")) for seat in (1, 2)]
    bad = Order(Command("report", {"rule": "CM-20"}, "s-01", "manager", "\ud800"))
    assert rig.inbox.post(good[0])
    assert rig.inbox.offer(card(1, "As"))
    assert rig.inbox.post(bad)
    assert rig.inbox.offer(card(2, "Kd"))
    assert rig.inbox.post(good[1])
    gate.set()
    assert [order.outcome.result(10).records[0].type for order in good] == ["seat.away"] * 2
    mistake = bad.outcome.result(10).mistake
    assert mistake is not None
    assert mistake.field == "command"
    assert dealt(rig) == [1, 2]


@pytest.mark.parametrize("company", [False, True])
def test_a_reading_that_can_be_no_event_is_a_fault_and_an_incident_and_the_table_goes_on(
    rig: Rig, company: bool
) -> None:
    gate = rig.hold()
    broken = DeviceUp("cam0", 9, "camera", "C", "\ud800", "1", "usb")
    if company:
        assert rig.inbox.offer(card(1, "As"))
    assert rig.inbox.offer(broken)
    assert rig.inbox.offer(card(2, "Kd")) or company
    gate.set()
    wait_until(lambda: broken in rig.acknowledged, what="the fault on record")
    (fault,) = rig.records("device.fault")
    assert (fault.subject, fault.data["cause"], fault.data["detail"]) == ("cam0", "unrecorded", "DeviceUp")
    (incident,) = rig.records("incident.opened")
    assert (incident.data["code"], incident.data["kind"]) == ("I-32", "reading_unrecorded")
    assert incident.data["facts"] == {"device": "cam0", "reading": 9, "kind": "DeviceUp"}
    rig.offer(card(3, "2c"))
    assert dealt(rig) == ([1, 2, 3] if company else [2, 3])
    assert rig.say("rule", incident=incident.data["incident"], ruling="stands").mistake is None


def test_the_hand_that_an_append_failed_at_begins_all_the_same(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.say("open", button=2)
    for seat in (1, 2):
        rig.say("seat", seat=seat, stack=10_000)
    rig.offer(DeviceUp("keys0", 1, "keypad", "K", "1", "1", "usb"))
    rig.ledger.failures = 1
    rig.offer(KeyPressed("keys0", 2, "HAND"))
    wait_until(lambda: rig.status()["hand"], what="hand")
    assert not rig.records("breach.noted")
    rig.core.stop("test", 10)
    rig.ledger.close()


def test_what_is_written_does_not_depend_on_what_is_written_together(tmp_path: Path) -> None:
    inputs = [([one], WALL + n) for n, one in enumerate([*opening(), *hand_records("h1"), *hand_records("h2")])]
    new_id = "8b0e6a54-6f0e-4d0e-9d53-1c6d1b1d7c11"
    heads: list[dict[str, Any]] = []
    keys = new_desk(tmp_path / "keys").keys()
    for name, size in (("alone", 1), ("some", 3), ("all", 99)):
        desk = new_desk(tmp_path / name)
        rhythm = SigningRhythm(rows=4)
        for file in ("device.key", "signing.key", "auditor.key", "auditor.pub"):
            (desk.folder / file).unlink(missing_ok=True)
            (desk.folder / file).write_bytes((tmp_path / "keys" / file).read_bytes())
            (desk.folder / file).chmod(0o600)
        with desk.open(rhythm=rhythm, new_id=new_id) as ledger:
            for at in range(0, len(inputs), size):
                ledger.append_together(inputs[at : at + size])
            heads.append({"bodies": [digest(body) for body in ledger.tail(999)], "keys": keys.auditor is not None})
    assert heads[0] == heads[1] == heads[2]


def test_a_capture_agrees_with_the_ledger_although_a_transaction_failed(tmp_path: Path) -> None:
    class Late:
        """The listener is made before the ledger that it is about."""

        recorder: Recorder | None = None

        def input(self, what: Any) -> None:
            assert self.recorder is not None
            self.recorder.input(what)

        def restored(self, row: int, at: int) -> None:
            assert self.recorder is not None
            self.recorder.restored(row, at)

    late = Late()
    rig = Rig(tmp_path, late)
    device = CapturedDevice("shoe0", "shoe", "serial:///dev/null", {}, {})
    origin = Origin(setup(unit=1), rig.ledger.id, rig.ledger.row, (replace(device, name="none"),))
    late.recorder = Recorder(tmp_path / "c.pcapng", origin, mono_ns=0, wall_ns=WALL, auditor=None)
    rig.begin_hand()
    gate = rig.hold()
    for number, value in enumerate(CARDS, 1):
        assert rig.inbox.offer(card(number, value))
    rig.ledger.failures = 1
    gate.set()
    wait_until(lambda: len(dealt(rig)) == 4, what="dealt")
    rig.core.stop("SIGTERM", 10)
    late.recorder.close()
    rig.ledger.close()
    auditor = load_auditor_key(tmp_path / "auditor-key")  # the hand was open when the table started over
    replayed = verify_capture(tmp_path / "t07.ledger", tmp_path / "c.pcapng", auditor)
    assert replayed.faults == []
    assert replayed.records > 10
