"""Closed cards that are not read, on real threads and wires: orders reach a reader, a shoe keeps what is not done."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller.core.setup import DeviceInfo
from controller.core.table import Table
from drivers.backoff import Backoff
from drivers.readings import UNREAD, CardSeen, DeviceUp, Reading, TagsSeen
from drivers.supervisor import Supervisor
from drivers.veil import Veil
from tests.corerig import Rig
from tests.integration.test_supervisor import Lines, expect
from tests.integration.test_supervisor import Table as Queue
from tests.ptywire import PtyWire
from tests.waiting import wait_until

pytestmark = pytest.mark.wires


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[PtyWire]:
    under_test = PtyWire(tmp_path / "dev")
    yield under_test
    under_test.unplug()


class Listener:
    """A tap that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def received(self, device: str, data: bytes, now: int) -> None:
        self.told.append(data)

    def sent(self, device: str, data: bytes, now: int) -> None:
        self.told.append(data)

    def called(self, device: str, what: str, now: int, **about: object) -> None:
        self.told.append(what)


def test_a_reader_names_a_card_only_where_it_was_told_that_cards_lie_open(wire: PtyWire) -> None:
    table, tap = Queue(), Listener()
    supervisor = Supervisor(
        "dev",
        f"serial://{wire.path}",
        "lines",
        emit=table.emit,
        clock=time.monotonic_ns,
        backoff=Backoff(0.01, 0.05),
        make=lambda *_: Lines(),
        tap=tap,
        veil=Veil(["AA01", "AA02"]),
    )
    supervisor.start()
    try:
        expect(wire, b"WHO\n")
        wire.send(b"ID R1\nTAGS AA01,C1\n")
        hidden = table.next(TagsSeen)
        assert isinstance(hidden, TagsSeen)
        (name,) = hidden.tags - {"C1"}
        assert name.startswith(UNREAD)
        supervisor.lift(frozenset({"0"}), playing=True)
        shown = table.next(TagsSeen)
        assert isinstance(shown, TagsSeen)
        assert shown.tags == {"AA01", "C1"}
        assert shown.reading > hidden.reading
        supervisor.lift(frozenset(), playing=True)
        again = table.next(TagsSeen)
        assert isinstance(again, TagsSeen)
        assert again.tags == hidden.tags
        wire.send(b"CARD 4\n")
        card = table.next(CardSeen)
        assert isinstance(card, CardSeen)
        assert (card.card, card.confidence) == (None, 100)
        assert tap.told == []  # a capture gets no byte in which a tag may be
    finally:
        assert supervisor.stop()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.core.stop("test", 10)
    rig.ledger.close()


def test_a_reading_whose_outcome_is_waited_for_is_not_acknowledged_and_is_fed_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the table waits for stays with the device: through a ledger that fails too."""
    fed: list[Reading] = []
    waits = True
    monkeypatch.setattr(Table, "waits_for", lambda _self, one: waits and isinstance(one, CardSeen))
    original = Table._reading

    def reading(self: Table, one: Reading, at: int) -> None:
        fed.append(one)
        original(self, one, at)

    monkeypatch.setattr(Table, "_reading", reading)
    rig.say("open", button=2)
    card = CardSeen("shoe0", 1, "0", None, None, 100, 1)
    assert rig.inbox.offer(card)
    up = DeviceUp("cam0", 1, "camera", "C", "1", "1", "usb")
    rig.offer(up)
    assert card not in rig.acknowledged
    rig.ledger.failures = 1
    rig.say("seat", seat=1, stack=1000)
    wait_until(lambda: fed.count(card) == 2, what="fed again after the table was restored")
    assert card not in rig.acknowledged
    waits = False
    rig.say("seat", seat=2, stack=1000)
    wait_until(lambda: card in rig.acknowledged, what="acknowledged")


def test_readers_are_told_where_cards_lie_open_when_that_changes(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[frozenset[str], bool]] = []
    reader = DeviceInfo("cards0", "feig", {"1": "board", "2": "seat:1"}, "reader")
    setup = replace(rig.core._table.setup, devices=(reader,), closed_cards="unread")
    rig.core._table.setup = setup
    rig.core._lifts = {"cards0": lambda open_, *, playing: told.append((open_, playing))}
    rig.begin_hand()
    wait_until(lambda: told and told[-1] == (frozenset({"1"}), True), what="told")
    assert told == [(frozenset({"1"}), False), (frozenset({"1"}), True)]
