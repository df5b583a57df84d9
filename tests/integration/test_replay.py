"""Replay and rebirth against a real broker: the same bytes once more, for who was granted them, and nothing else."""

import json
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest
import structlog
from paho.mqtt.client import Client, MQTTMessage, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from controller.delivery.flight import PumpSettings
from controller.delivery.publisher import Message
from controller.delivery.replay import UNREADABLE_NOW
from controller.delivery.requests import BURST
from controller.ledger import files
from controller.ledger.outbox import Outbox
from simulators.broker import MosquittoBroker, mosquitto_program
from tests.delivering import TOPICS, Gate, Rig, make_rig, unsent
from tests.ledgers import WALL, play, record
from tests.rotting import GARBLED, NO_LEDGER, rot
from tests.subscribers import Subscriber
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.wires,
    pytest.mark.skipif(mosquitto_program() is None, reason="mosquitto is not installed"),
]
GRANTS = {"pit": frozenset({"play", "cash"}), "accounting": frozenset({"cash"})}
MakeRig = Callable[..., AbstractContextManager[Rig]]


@pytest.fixture
def rig(tmp_path: Path) -> MakeRig:
    return partial(make_rig, tmp_path / "table", grants=GRANTS)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MosquittoBroker]:
    with MosquittoBroker(tmp_path) as made:
        yield made


class Customer:
    """Asks, and keeps what comes under its own address."""

    def __init__(self, port: int, name: str, version: str = "5") -> None:
        self.home = TOPICS.reply(name)
        self._modern = version == "5"
        self._answers: queue.SimpleQueue[tuple[bytes, bytes | None]] = queue.SimpleQueue()
        self._client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5 if self._modern else MQTTv311)
        ready: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._client.on_connect = lambda c, *_: c.subscribe(self.home + "#", 1)
        self._client.on_subscribe = lambda *_: ready.put(None)
        self._client.on_message = self._take
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        ready.get(timeout=10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _take(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        self._answers.put((bytes(message.payload), getattr(message.properties, "CorrelationData", None)))

    def ask(self, command: str = "replay", **content: Any) -> None:
        properties = None
        if self._modern:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            properties.ResponseTopic = self.home + "a"
            properties.CorrelationData = b"c1"
        else:
            content |= {"reply_to": self.home + "a", "correlation_id": "c1"}
        topic = TOPICS.command(command)
        self._client.publish(topic, json.dumps(content).encode(), qos=1, properties=properties)

    def next_said(self) -> dict[str, Any] | None:
        """The next message, whatever it belongs to; ``None`` where none comes for a while."""
        try:
            said: dict[str, Any] = json.loads(self._answers.get(timeout=1.5)[0])
        except queue.Empty:
            return None
        return said

    def answer(self) -> tuple[list[bytes], Mapping[str, Any]]:
        """The events of one answer, and its end."""
        events: list[bytes] = []
        while True:
            body, correlation = self._answers.get(timeout=10)
            assert correlation == (b"c1" if self._modern else None)
            said = json.loads(body)
            if "done" in said or "error" in said:
                return events, said
            events.append(body)

    def told(self, **content: Any) -> tuple[list[bytes], Mapping[str, Any]]:
        self.ask(**content)
        return self.answer()


def of_stream(r: Rig, stream: str) -> list[bytes]:
    return [body for body in r.bodies() if json.loads(body)["source"].endswith(f"/{stream}")]


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_range_comes_again_with_the_same_bytes(broker: MosquittoBroker, rig: MakeRig, version: str) -> None:
    with rig(broker.port, version=version) as r, Customer(broker.port, "pit", version) as pit:
        play(r.ledger, hands=20)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        everything = of_stream(r, "play")
        head = f"{len(everything):016d}"
        events, end = pit.told(stream="play", ledger=r.ledger.id, **{"from": f"{5:016d}", "to": f"{9:016d}"})
        assert events == everything[4:9]
        assert end["done"]
        assert (end["next"], end["head"]) == (None, head)
        events, end = pit.told(stream="play", max=100)
        assert events == everything[:100]
        assert end["next"] == f"{101:016d}"
        events, end = pit.told(stream="play", **{"from": end["next"]}, max=5000)
        assert events == everything[100:]
        assert end["next"] is None
        assert ("correlation_id" in end) is (version == "3.1.1")


def test_errors_are_told(broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, Customer(broker.port, "accounting") as customer:
        play(r.ledger)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        assert customer.told(stream="play") == ([], {"error": "denied"})
        assert customer.told(stream="cash", max=6000) == ([], {"error": "too_many", "max": 5000})
        unknown = "11111111-1111-4111-8111-111111111111"
        assert customer.told(stream="cash", ledger=unknown) == ([], {"error": "unknown_ledger"})
        events, end = customer.told(stream="cash", **{"from": "0000000000000999"})
        assert (events, end["next"]) == ([], None)
        customer.ask(stream="cash")
        assert customer.answer()[1]["done"]
        _, end = customer.told(stream="cash")
        assert end["error"] == "busy"
        assert 0 < end["retry_ms"] <= 1001
    assert r.pump.counters.requests_refused >= 4


def test_a_stranger_gets_nothing(broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, Customer(broker.port, "spy") as spy:
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        assert spy.told(stream="play") == ([], {"error": "denied"})


def test_what_was_withheld_can_be_had_by_replay(tmp_path: Path, rig: MakeRig) -> None:
    topic = TOPICS.event("play", "action.taken")
    (tmp_path / "acl").write_text(f"topic read #\ntopic deny {topic}\ntopic readwrite {TOPICS.base}/#\n")
    with (
        MosquittoBroker(tmp_path, extra=f"acl_file {tmp_path / 'acl'}\n") as broker,
        rig(broker.port) as r,
        Customer(broker.port, "pit") as pit,
    ):
        r.pump.start()
        r.play(2)
        wait_until(lambda: unsent(r) == 0)
        assert "record.withheld" in r.kinds()
        events, _ = pit.told(stream="play")
        assert events == of_stream(r, "play"), "the originals"


def test_what_is_new_goes_first_and_a_second_replay_waits(broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, Customer(broker.port, "pit") as pit, Customer(broker.port, "accounting") as other:
        play(r.ledger, hands=60)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0, 30)
        pit.ask(stream="play", max=5000)
        wait_until(lambda: r.pump.counters.replays == 1)
        _, told = other.told(stream="cash")
        assert told.get("error") == "busy" or told["done"]
        r.play(5)
        wait_until(lambda: unsent(r) == 0, 30)
        events, end = pit.answer()
        assert events == of_stream(r, "play")[: len(events)]
        assert end["done"]


def test_a_rebirth_tells_state_and_description_to_all_and_to_who_asked(broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, Customer(broker.port, "pit") as pit:
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        pit.ask("rebirth")
        (description, state), end = pit.answer()
        assert end == {"done": True}
        assert json.loads(description)["ledger"] == r.ledger.id
        assert json.loads(state) == {"state": "ready", "session": 1, "ledger": r.ledger.id}


def test_a_snapshot_is_retained_behind_what_it_tells_of(broker: MosquittoBroker, rig: MakeRig) -> None:
    shown = b'{"ledger":"x","sequence":"0000000000000009"}'
    with rig(broker.port) as r, Subscriber(broker.port) as subscriber, Customer(broker.port, "pit") as pit:
        play(r.ledger, hands=20)
        r.pump.show(r.ledger.row, shown)
        r.pump.start()
        told = f"{TOPICS.base}/snapshot"
        wait_until(lambda: any(heard.topic == told for heard in list(subscriber.heard)), what="the snapshot")
        topics = [heard.topic for heard in list(subscriber.heard)]
        before = [topic for topic in topics[: topics.index(told)] if not topic.endswith(("/state", "/description"))]
        assert len(before) == r.ledger.row, "whoever begins with it has missed nothing"
        pit.ask("rebirth")
        answered, end = pit.answer()
        assert answered[-1] == shown
        assert end == {"done": True}
        play(r.ledger)
        r.pump.wake()
        r.pump.show(r.ledger.row, b'{"newer":true}')
        wait_until(lambda: topics_of(subscriber, told) >= 2, what="the next one")
        with Subscriber(broker.port) as late:
            wait_until(lambda: any(heard.topic == told for heard in list(late.heard)), what="the retained one")
            assert [heard.body for heard in late.heard if heard.topic == told] == [b'{"newer":true}']


class Meanwhile(Gate):
    """Does something at the very moment at which a message is handed in: what another thread may do then."""

    def __init__(self, topic: str, act: Callable[[], None]) -> None:
        super().__init__()
        self._topic, self._act = topic, act

    def publish(self, message: Message) -> int:
        if message.topic == self._topic:
            self._topic = ""
            self._act()
        return super().publish(message)


@pytest.mark.parametrize("where", ["a record", "the last word of the start"])
def test_a_snapshot_of_what_is_committed_meanwhile_waits_until_that_is_out(
    broker: MosquittoBroker, rig: MakeRig, where: str
) -> None:
    shown = b'{"snapshot":true}'
    written: list[bytes] = []

    def meanwhile() -> None:
        rows = r.ledger.append([record("seat.left", seat=1)], WALL)
        written.extend(row.body for row in rows)
        r.pump.wake(rows)
        r.pump.show(r.ledger.row, shown)

    topic = TOPICS.event("play", "button.placed") if where == "a record" else TOPICS.description
    with rig(broker.port, gate=Meanwhile(topic, meanwhile)) as r, Subscriber(broker.port) as subscriber:
        if where == "a record":
            r.pump.start()
            wait_until(lambda: unsent(r) == 0)
            r.pump.wake(r.ledger.append([record("button.placed", seat=1)], WALL))
        else:
            r.pump.start()
        wait_until(lambda: any(heard.topic == TOPICS.snapshot for heard in list(subscriber.heard)), what="the snapshot")
        bodies = [heard.body for heard in list(subscriber.heard)]
        assert bodies.index(written[0]) < bodies.index(shown)


def test_no_snapshot_tells_what_the_broker_does_not_take_of_play(tmp_path: Path, rig: MakeRig) -> None:
    lines = ("read #", f"deny {TOPICS.base}/play/#", f"write {TOPICS.base}/#")
    (tmp_path / "acl").write_text("".join(f"topic {line}\n" for line in lines))
    with (
        MosquittoBroker(tmp_path, extra=f"acl_file {tmp_path / 'acl'}\n") as broker,
        rig(broker.port, pump=PumpSettings(backoff_s=0.02, backoff_cap_s=0.2)) as r,
        Subscriber(broker.port) as subscriber,
    ):
        r.ledger.append([record("daemon.started", "ops", reason="start")], WALL)
        r.pump.start()
        r.pump.wake(r.ledger.append([record("button.placed", seat=1)], WALL))
        wait_until(lambda: r.pump.counters.barred == {"play": "not_authorized"}, 20, "play being barred")
        r.pump.show(r.ledger.row, b'{"snapshot":true}')
        last = r.ledger.append([record("daemon.started", "ops", reason="again")], WALL)
        r.pump.wake(last)
        wait_until(lambda: any(heard.body == last[0].body for heard in list(subscriber.heard)), what="what follows")
        assert not topics_of(subscriber, TOPICS.snapshot)


def test_a_snapshot_goes_to_nobody_who_may_not_read_play(broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, Customer(broker.port, "accounting") as accounting:
        r.pump.show(0, b'{"sequence":"0"}')
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        accounting.ask("rebirth")
        answered, end = accounting.answer()
        assert len(answered) == 2
        assert end == {"done": True}


def test_a_broker_that_refuses_the_snapshot_gets_everything_else(tmp_path: Path, rig: MakeRig) -> None:
    lines = ("read #", f"deny {TOPICS.snapshot}", f"write {TOPICS.base}/#")
    (tmp_path / "acl").write_text("".join(f"topic {line}\n" for line in lines))
    with (
        MosquittoBroker(tmp_path, extra=f"acl_file {tmp_path / 'acl'}\n") as broker,
        rig(broker.port) as r,
        Subscriber(broker.port) as subscriber,
    ):
        r.pump.start()
        for number in range(8):
            r.play()
            r.pump.show(r.ledger.row, b'{"sequence":"%d"}' % number)
            wait_until(lambda: unsent(r) == 0, 20)
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        assert not topics_of(subscriber, TOPICS.snapshot)
        assert "record.withheld" not in r.kinds()
        connections = r.pump.counters.connections
        for number in range(4):
            r.play()
            r.pump.show(r.ledger.row, b'{"sequence":"1%d"}' % number)
            wait_until(lambda: unsent(r) == 0, 20)
        assert r.pump.counters.connections == connections, "it is not tried again"


def topics_of(subscriber: Subscriber, topic: str) -> int:
    return sum(heard.topic == topic for heard in list(subscriber.heard))


def test_noise_on_the_command_topics_harms_nobody(broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, Customer(broker.port, "pit") as pit:
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        for noise in (b"", b"\xff\xfe", b"[]", b"x" * 6000, b'{"reply_to":"felt/v1/a"}'):
            for command in ("replay", "rebirth"):
                pit._client.publish(TOPICS.command(command), noise, qos=1)
        for _ in range(200):
            pit._client.publish(TOPICS.command("replay"), b"{}", qos=1)
        r.play(2)
        wait_until(lambda: unsent(r) == 0)
        wait_until(lambda: r.pump.counters.requests_refused > 0)
        assert r.kinds() == []
        _, end = pit.told(stream="cash")
        assert end["done"] or end["error"] == "busy"


def test_a_flood_in_the_name_of_another_does_not_make_the_table_talk(broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, Customer(broker.port, "pit") as pit, Customer(broker.port, "spy") as spy:
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        flood, began = 3000, time.monotonic()
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        for number in range(flood):
            properties.ResponseTopic = f"{pit.home}{number}"
            spy._client.publish(TOPICS.command("rebirth"), b"{}", qos=1, properties=properties)
        wait_until(lambda: r.pump.counters.requests_refused >= flood - BURST - 30, 30, "all to be looked at")
        seconds = time.monotonic() - began
        answers = list(iter(pit.next_said, None))
        busy = [said for said in answers if said.get("error") == "busy"]
        assert 1 <= len(busy) <= seconds + 1
        assert len([said for said in answers if "done" in said]) <= BURST + seconds + 1


@pytest.mark.ci
def test_another_under_our_name_is_seen(broker: MosquittoBroker, rig: MakeRig, tmp_path: Path) -> None:
    slow = PumpSettings(backoff_s=0.05, backoff_cap_s=0.2)
    with rig(broker.port, pump=slow) as ours:
        ours.pump.start()
        wait_until(lambda: unsent(ours) == 0)
        with make_rig(tmp_path / "other", broker.port, grants=GRANTS, pump=slow) as theirs:
            theirs.pump.start()
            wait_until(ours.kinds, what="thrown out by the broker")
            assert ours.notices[0][0] == "link.lost"
            wait_until(lambda: ours.pump.counters.conflicts + theirs.pump.counters.conflicts > 0, 20)
            before = ours.pump.counters.connections + theirs.pump.counters.connections
            wait_until(lambda: ours.pump.counters.conflicts + theirs.pump.counters.conflicts > 2, 40)
            assert ours.pump.counters.connections + theirs.pump.counters.connections <= before + 6, "no race of two"


@pytest.mark.parametrize("name", ["felt-zg1-t07", "another"])
def test_one_with_a_copy_of_our_ledger_is_seen(broker: MosquittoBroker, tmp_path: Path, name: str) -> None:
    slow = PumpSettings(backoff_s=0.05, backoff_cap_s=0.2)
    with make_rig(tmp_path / "table", broker.port, grants=GRANTS, pump=slow) as ours:
        play(ours.ledger, hands=1)
    shutil.copytree(tmp_path / "table", tmp_path / "copy")
    with make_rig(tmp_path / "table", broker.port, grants=GRANTS, pump=slow) as ours:
        ours.pump.start()
        wait_until(lambda: unsent(ours) == 0)
        with make_rig(tmp_path / "copy", broker.port, grants=GRANTS, pump=slow, client_id=name) as theirs:
            Outbox(theirs.desk.path).next_session()  # the numbers of their connections are not ours
            theirs.pump.start()
            wait_until(lambda: ours.pump.counters.conflicts + theirs.pump.counters.conflicts > 0, 20)


@pytest.mark.parametrize("how", GARBLED)
def test_a_row_that_cannot_be_read_ends_a_replay_and_nothing_else(
    broker: MosquittoBroker, rig: MakeRig, how: str
) -> None:
    with (
        rig(broker.port) as r,
        Subscriber(broker.port) as subscriber,
        Customer(broker.port, "pit") as pit,
        structlog.testing.capture_logs() as logs,
    ):
        play(r.ledger, hands=20)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        before = of_stream(r, "play")[:69]
        rot(r.desk.path, how, 70)
        for _ in range(3):
            assert pit.told(stream="play") == (before, UNREADABLE_NOW)
        assert pit.told(stream="cash")[1]["done"], "what can be read is served as before"
        r.ledger.append([record("tray.counted", "cash", total=1)], WALL)
        r.pump.wake()
        wait_until(lambda: topics_of(subscriber, TOPICS.event("cash", "tray.counted")), what="what is new")
        wait_until(lambda: unsent(r) == 0)
        assert (r.pump.counters.connections, r.kinds()) == (1, [])
    assert [line["file"] for line in logs if line["log_level"] == "error"] == [str(r.desk.path)]


@pytest.mark.parametrize("spoil", NO_LEDGER.values(), ids=NO_LEDGER)
def test_an_archived_file_that_cannot_be_read_harms_nobody(
    broker: MosquittoBroker, rig: MakeRig, spoil: Callable[[Path], None]
) -> None:
    with rig(broker.port) as r, Customer(broker.port, "pit") as pit, structlog.testing.capture_logs() as logs:
        lost = "11111111-1111-4111-8111-111111111111"
        folder = files.archive_folder(r.desk.path)
        folder.mkdir()
        spoil(file := folder / f"20260101T000000Z-{lost}.ledger")
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        assert pit.told(stream="play", ledger=lost) == ([], UNREADABLE_NOW)
        assert pit.told(stream="play", ledger="") == ([], {"error": "unknown_ledger"})
        for number in range(3):
            said = {"state": "ready", "session": number, "ledger": "22222222-2222-4222-8222-222222222222"}
            publish_once(broker.port, TOPICS.state, json.dumps(said).encode(), retain=False)
        wait_until(lambda: r.pump.counters.conflicts == 3, what="a stranger to be seen")
        r.play()
        wait_until(lambda: unsent(r) == 0)
        assert pit.told(stream="play")[0] == of_stream(r, "play")
        assert (r.pump.counters.connections, r.kinds()) == (1, [])
    assert [line["file"] for line in logs if "file" in line] == [str(file)]


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_request_that_the_broker_kept_is_never_served(broker: MosquittoBroker, rig: MakeRig, version: str) -> None:
    with Customer(broker.port, "pit", version) as pit:
        request = {"stream": "cash", "reply_to": pit.home + "a", "correlation_id": "c1"}
        for command in ("replay", "rebirth"):
            publish_once(broker.port, TOPICS.command(command), json.dumps(request).encode(), retain=True)
        for _ in range(2):
            with structlog.testing.capture_logs() as logs, rig(broker.port, version=version) as r:
                serves_only_what_is_asked_now(r, pit)
            told = [line for line in logs if line["event"] == "request not served"]
            assert {line["why"] for line in told} == {"retained at the broker"}


def serves_only_what_is_asked_now(r: Rig, pit: Customer) -> None:
    r.play()
    r.pump.start()
    wait_until(lambda: r.pump.counters.requests_refused == 2, what="both to be refused")
    wait_until(lambda: unsent(r) == 0)
    events, end = pit.told(stream="cash")
    assert (events, end["done"]) == (of_stream(r, "cash"), True), "the first answer is to this"
    assert r.pump.counters.replays == 1


DEEP = [b"[" * 7000, b'{"a":' * 7000, b"[" * 7000 + b"]" * 7000]


@pytest.mark.parametrize(
    "body", [*DEEP, b"\xff", b"7", b"[]", b"null", b'{"state":[],"ledger":{}}', b'{"session":1e400}']
)
@pytest.mark.parametrize("topic", ["state", "replay", "rebirth"])
def test_whatever_is_said_to_a_table_it_goes_on(broker: MosquittoBroker, rig: MakeRig, topic: str, body: bytes) -> None:
    """Also where it is the first thing that a new connection hears."""
    where = TOPICS.state if topic == "state" else TOPICS.command(topic)
    publish_once(broker.port, where, body, retain=True)
    with rig(broker.port) as r:
        r.pump.start()
        play(r.ledger, hands=1)
        r.pump.wake()
        wait_until(lambda: unsent(r) == 0)
        publish_once(broker.port, where, body, retain=False)
        play(r.ledger, hands=1)
        r.pump.wake()
        wait_until(lambda: unsent(r) == 0)
        assert not r.pump.revive(), "the thread is the first one still"


def test_a_dead_delivery_thread_is_noticed_and_replaced(
    broker: MosquittoBroker, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an error that nobody foresaw. The daemon looks for it each second."""
    threads: list[object] = []
    monkeypatch.setattr(threading, "excepthook", threads.append)
    with rig(broker.port) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        with monkeypatch.context() as broken:
            broken.setattr(r.mqtt, "wait", None)
            play(r.ledger, hands=2)
            r.pump.wake()
            wait_until(lambda: threads, what="the end of the thread")
        wait_until(r.pump.revive)
        play(r.ledger, hands=1)
        r.pump.wake()
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        assert not r.pump.revive()


def publish_once(port: int, topic: str, body: bytes, *, retain: bool) -> None:
    taken: queue.SimpleQueue[None] = queue.SimpleQueue()
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    client.on_publish = lambda *_: taken.put(None)
    client.connect("127.0.0.1", port)
    client.loop_start()
    client.publish(topic, body, qos=1, retain=retain)
    taken.get(timeout=10)
    client.disconnect()
    client.loop_stop()
