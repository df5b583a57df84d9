"""What is being committed is made ready for the broker, and leaves when the commit has ended, and only then."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from controller.contract.topics import STREAMS
from controller.delivery.flight import PumpSettings
from controller.ledger.errors import AppendFailed
from controller.ledger.outbox import Unsent
from simulators.broker import MosquittoBroker, mosquitto_program
from tests.delivering import QUICK, Gate, Rig, make_rig, unsent
from tests.ledgers import WALL, hand_records, record
from tests.scriptedbroker import WELCOME, scripted_broker
from tests.subscribers import Subscriber
from tests.waiting import InVain, wait_until

pytestmark = [
    pytest.mark.wires,
    pytest.mark.skipif(mosquitto_program() is None, reason="mosquitto is not installed"),
]

MakeRig = Callable[..., AbstractContextManager[Rig]]
Stall = Callable[[Sequence[Unsent]], None]


@pytest.fixture
def rig(tmp_path: Path) -> MakeRig:
    """Called with a port, makes a rig whose pump is not started."""
    return partial(make_rig, tmp_path / "table")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MosquittoBroker]:
    with MosquittoBroker(tmp_path) as made:
        yield made


def begun(r: Rig) -> None:
    """Something has been delivered: from now on rows are made ready."""
    r.pump.start()
    r.play(1)
    wait_until(lambda: unsent(r) == 0)


def committed(r: Rig, gate: Gate, stall: Stall, rows: int = 1) -> None:
    """Commit so many rows, and do something while all that is to be made ready is and the disk has not ended."""

    def coming(written: Sequence[Unsent]) -> None:
        before = gate.staged
        r.pump.expect(written)
        wait_until(lambda: gate.staged > before, what="made ready")
        stall(written)

    told = [record("button.placed", seat=1)] * rows
    r.pump.wake(r.ledger.append_together([(told, WALL)], coming=coming))


def test_what_is_expected_is_sent_only_once_it_is_durable(broker: MosquittoBroker, rig: MakeRig) -> None:
    """What is being committed is made ready and no more: where that fails, others may come under its numbers."""
    gate = Gate()
    with rig(broker.port, gate=gate) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        fails = False

        def coming(written: Sequence[Unsent]) -> None:
            staged = gate.staged
            r.pump.expect([replace(row, body=b"never") for row in written] if fails else written)
            if fails:
                # The first after a failure finds the pump with a new connection, on which nothing was taken yet.
                with suppress(InVain):
                    wait_until(lambda: gate.staged > staged, 0.2)
                made_ready.append(gate.staged > staged)
                raise sqlite3.OperationalError("the disk is gone")

        made_ready: list[bool] = []
        for n in range(60):
            wait_until(lambda: unsent(r) == 0)
            fails = n % 3 > 0
            rows = list(hand_records(f"h{r.ledger.row}"))
            if not fails:
                r.pump.wake(r.ledger.append_together([(rows, WALL)], coming=coming))
                continue
            with pytest.raises(AppendFailed):
                r.ledger.append_together([(rows, WALL)], coming=coming)
            if n % 3 == 1:
                r.pump.wake(r.ledger.append(rows[:2], WALL))
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        assert not any(b"never" in heard.body for heard in subscriber.heard)
        assert sum(made_ready) >= 20, "what failed had been made ready"
        assert r.kinds() == [], "that is no matter of the link"


def test_what_is_made_ready_waits_as_long_as_the_disk_and_so_does_what_comes_behind_it(
    broker: MosquittoBroker, rig: MakeRig
) -> None:
    """A commit that stalls for longer than a broker may take to answer: nothing is sent, and nobody is blamed."""
    gate = Gate()
    grants = {"office": frozenset(STREAMS)}
    with rig(broker.port, gate=gate, grants=grants) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        r.play(1)
        wait_until(lambda: unsent(r) == 0)
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        wait_until(lambda: subscriber.states()[-1][0] == "ready")

        def coming(written: Sequence[Unsent]) -> None:
            heard = len(subscriber.heard)
            r.pump.expect(written)
            wait_until(lambda: gate.staged == len(written))
            r.pump.show(r.ledger.row + len(written), b"{}")
            time.sleep(QUICK.ack_timeout_s * 1.5)  # the stall
            assert len(subscriber.heard) == heard

        rows = list(hand_records("slow"))
        r.pump.wake(r.ledger.append_together([(rows, WALL)], coming=coming))
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        wait_until(lambda: subscriber.heard[-1].body == b"{}", what="the snapshot behind its rows")
        wait_until(lambda: unsent(r) == 0)
        assert (r.kinds(), r.pump.counters.connections) == ([], 1)
        events = [heard.body for heard in subscriber.heard if b'"specversion"' in heard.body]
        assert events == r.bodies(), "nothing was sent twice"


@pytest.mark.ci
@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_commit_that_stalls_for_longer_than_the_broker_waits_for_a_word_costs_no_connection(
    broker: MosquittoBroker, rig: MakeRig, version: str
) -> None:
    gate = Gate()
    with rig(broker.port, gate=gate, keepalive_s=2, version=version) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        r.play(1)
        wait_until(lambda: unsent(r) == 0)

        def coming(written: Sequence[Unsent]) -> None:
            r.pump.expect(written)
            wait_until(lambda: gate.staged == len(written))
            time.sleep(6)  # the stall: a broker goes after one and a half times ``keepalive_s``, and looks now and then

        r.pump.wake(r.ledger.append_together([(list(hand_records("slow")), WALL)], coming=coming))
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        wait_until(lambda: unsent(r) == 0)
        assert (r.kinds(), r.pump.counters.connections) == ([], 1)


@pytest.mark.ci
def test_a_table_that_stops_while_something_is_made_ready_sends_nothing_of_it(
    broker: MosquittoBroker, rig: MakeRig
) -> None:
    gate = Gate()
    with Subscriber(broker.port) as subscriber, rig(broker.port, gate=gate) as r:
        r.pump.start()
        r.play(1)
        wait_until(lambda: unsent(r) == 0)
        first = Unsent(r.ledger.row + 1, "play", r.ledger.head("play").sequence + 1, "card.dealt", b"never")
        r.pump.expect([first])
        wait_until(lambda: gate.staged == 1)
        assert r.pump.stop(2)
        wait_until(lambda: subscriber.states()[-1][0] in ("disconnected", "lost"))
        assert not any(b"never" in heard.body for heard in subscriber.heard)


@pytest.mark.ci
def test_a_stalled_commit_keeps_nobody_busy(broker: MosquittoBroker, rig: MakeRig) -> None:
    """Neither where the heartbeat falls due in it nor where an answer is missing: it waited for no time, often."""
    gate = Gate()
    patience = PumpSettings(heartbeat_s=0.5, ack_timeout_s=0.5)
    with rig(broker.port, gate=gate, pump=patience) as r:
        begun(r)

        def stall(_: Sequence[Unsent]) -> None:
            time.sleep(1)
            turns = r.pump.progress()
            time.sleep(2)
            assert r.pump.progress() - turns < 10

        committed(r, gate, stall)
        wait_until(lambda: unsent(r) == 0)
        assert r.kinds() == []


def test_a_table_that_stops_in_a_stall_does_not_say_that_it_has_gone_in_order(
    broker: MosquittoBroker, rig: MakeRig
) -> None:
    """Nobody knows how the commit ends: subscribers hear once that the table is lost, not both."""
    gate = Gate()
    with rig(broker.port, gate=gate) as r, Subscriber(broker.port) as subscriber:
        begun(r)

        def stall(_: Sequence[Unsent]) -> None:
            assert r.pump.stop(1)

        committed(r, gate, stall)
        wait_until(lambda: subscriber.states()[-1][0] == "lost")
        assert "disconnected" not in [state for state, _ in subscriber.states()]


@pytest.mark.parametrize("rows", [20, 21, 256, 257, 700])
def test_a_commit_of_any_size_costs_no_connection(broker: MosquittoBroker, rig: MakeRig, rows: int) -> None:
    """What does not fit into the window, or into what is handed over, comes out of the ledger."""
    with rig(broker.port) as r, Subscriber(broker.port) as subscriber:
        begun(r)
        told = [record("button.placed", seat=1)] * rows
        r.pump.wake(r.ledger.append_together([(told, WALL)], coming=r.pump.expect))
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        wait_until(lambda: unsent(r) == 0)
        assert (r.kinds(), r.pump.counters.connections) == ([], 1)


@pytest.mark.ci
def test_a_stall_behind_what_is_not_marked_yet_is_no_failure(broker: MosquittoBroker, rig: MakeRig) -> None:
    """The mark of what the broker has taken waits for the commit; delivery does not."""
    with rig(broker.port) as r, Subscriber(broker.port) as subscriber:
        begun(r)

        def coming(written: Sequence[Unsent]) -> None:
            r.pump.expect(written)  # made ready or not: the row before it may be on its way just now
            time.sleep(6)  # longer than a connection waits for another that writes

        r.pump.wake(r.ledger.append([record("button.placed", seat=2)], WALL))
        r.pump.wake(r.ledger.append_together([([record("button.placed", seat=1)], WALL)], coming=coming))
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        wait_until(lambda: unsent(r) == 0)
        assert (r.kinds(), r.pump.counters.connections) == ([], 1)


@pytest.mark.ci
def test_marks_wait_where_commits_leave_no_room(tmp_path: Path, broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, Subscriber(broker.port) as subscriber:
        begun(r)
        other = sqlite3.connect(r.ledger.path, isolation_level=None)
        r.pump.wake(r.ledger.append([record("button.placed", seat=2)], WALL))
        other.execute("BEGIN IMMEDIATE")  # behind the append, before its mark, or the mark has been quicker
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        time.sleep(1)
        other.execute("ROLLBACK")
        other.close()
        wait_until(lambda: unsent(r) == 0)
        assert (r.kinds(), r.pump.counters.connections) == ([], 1)


# ---------------------------------------------------------------- brokers that say what real ones seldom do


def test_what_the_broker_said_last_is_heard_before_anything_is_made_ready(rig: MakeRig) -> None:
    """Its cause was lost where a commit was announced at that very moment: who is pushed out must know, and wait."""
    gate = Gate()
    with scripted_broker() as broker, rig(broker.port, gate=gate) as r:
        begun(r)
        row = r.ledger.row + 1
        r.pump._fresh.expect([Unsent(row, "play", row, "button.placed", b"never")])  # nobody rings: the next word does
        broker.say(bytes.fromhex("e0028e00"))
        wait_until(lambda: r.kinds() == ["link.lost"])
        assert r.notices[0][1]["cause"] == "session_taken_over"
        assert gate.staged == 0


def test_an_answer_to_what_was_never_sent_ends_the_connection_and_not_the_pump(rig: MakeRig) -> None:
    gate = Gate()
    with scripted_broker() as broker, rig(broker.port, gate=gate) as r:
        begun(r)

        def stall(_: Sequence[Unsent]) -> None:
            broker.say(b"".join(b"\x40\x02" + number.to_bytes(2, "big") for number in range(1, 60)))
            wait_until(lambda: r.kinds() == ["link.lost"])

        committed(r, gate, stall)
        assert r.notices[0][1]["cause"] == "malformed"
        wait_until(lambda: unsent(r) == 0)
        assert r.pump.connected


@pytest.mark.parametrize("most", [1, 3, 10, 20, 65_535])
def test_a_broker_has_no_more_without_its_answer_than_it_wants(rig: MakeRig, most: int) -> None:
    """Receive Maximum of MQTT 5: whoever sends more is sent away."""
    welcome = WELCOME if most == 65_535 else bytes.fromhex("2006000003") + b"\x21" + most.to_bytes(2, "big")
    with scripted_broker(welcome, most=most) as broker, rig(broker.port) as r:
        for _ in range(8):
            r.play()
        r.pump.start()
        wait_until(lambda: unsent(r) == 0, 30)
        assert broker.breaches == 0
        assert (r.kinds(), r.pump.counters.connections) == ([], 1)
        sent = [body for body in broker.bodies if b'"specversion"' in body]
        assert [body[body.index(b'{"specversion"') :] for body in sent] == r.bodies()
