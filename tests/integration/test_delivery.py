"""Delivery against a real mosquitto: whatever breaks, every event arrives, in order, with the same bytes."""

import json
import random
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.contract.integrity import digest
from controller.contract.topics import STREAMS, Stream
from controller.delivery.errors import BrokerError
from controller.delivery.flight import PumpSettings
from controller.delivery.mqtt import MqttPublisher, MqttSettings
from controller.delivery.publisher import Dropped, Message, Outcome
from controller.errors import LocalError
from controller.ledger.outbox import Outbox, Unsent
from simulators.broker import AmqttBroker, MosquittoBroker, mosquitto_program
from tests.certificates import Authority
from tests.delivering import QUICK, TOPICS, Gate, Rig, make_rig, unsent
from tests.ledgers import WALL, hand_records, new_desk, play, record
from tests.subscribers import Subscriber
from tests.waiting import wait_until

CONNACK = bytes.fromhex("2003000000")
CONNACK_311 = bytes.fromhex("20020000")
SAYINGS = st.one_of(
    st.binary(min_size=1, max_size=40),
    # A packet of a kind and a length that fits, with anything in it.
    st.builds(
        lambda kind, body: bytes([kind, len(body)]) + body,
        st.sampled_from([0x20, 0x30, 0x32, 0x34, 0x40, 0x50, 0x62, 0x70, 0x90, 0xB0, 0xD0, 0xE0, 0xF0]),
        st.binary(max_size=40),
    ),
)
"""What a broker may say behind its greeting that is not, or only just, MQTT."""

pytestmark = [
    pytest.mark.wires,
    pytest.mark.skipif(mosquitto_program() is None, reason="mosquitto is not installed"),
]

MakeRig = Callable[..., AbstractContextManager[Rig]]


@pytest.fixture
def rig(tmp_path: Path) -> MakeRig:
    """Called with a port, makes a rig whose pump is not started."""
    return partial(make_rig, tmp_path / "table")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MosquittoBroker]:
    with MosquittoBroker(tmp_path) as made:
        yield made


@contextmanager
def talking(greeting: bytes, words: bytes) -> Iterator[int]:
    """A port where everybody is greeted, then told ``words`` when they have spoken again, and left."""

    def speak(link: socket.socket) -> None:
        for answer in (greeting, words):
            if not link.recv(4096):
                return
            link.sendall(answer)
        link.shutdown(socket.SHUT_WR)
        while link.recv(4096):
            pass

    def serve() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return  # the test is over
            with link, suppress(OSError):  # who was greeted may be gone
                speak(link)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_everything_arrives_in_order_with_birth_and_death(broker: MosquittoBroker, rig: MakeRig, version: str) -> None:
    with rig(broker.port, version=version) as r, Subscriber(broker.port) as subscriber:
        play(r.ledger, hands=20)
        r.pump.start()
        r.play(5)
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        assert r.pump.connected
        assert r.pump.stop(5)
        wait_until(lambda: subscriber.states()[-1:] == [("disconnected", 1)])
        assert subscriber.states() == [("init", 1), ("ready", 1), ("disconnected", 1)]
        first = subscriber.events[0]
        assert first.topic == "felt-test/v1/zg1/t07/ops/ledger/began"
        if version == "5":
            assert first.labels == {"event-id": first.event["id"], "type": "ledger.began", "sequence": "0" * 15 + "1"}
        assert r.notices == []
        with Subscriber(broker.port) as late:
            wait_until(lambda: len(late.heard) == 2, what="the retained state and description")
            assert {heard.topic.rsplit("/", 1)[1]: heard.retained for heard in late.heard} == {
                "state": True,
                "description": True,
            }
    with sqlite3.connect(r.desk.path) as connection:
        assert connection.execute("SELECT count(*) FROM row WHERE acked = 0").fetchone() == (0,)
    connection.close()


def test_the_embedded_broker_will_do(rig: MakeRig) -> None:
    with AmqttBroker() as broker, rig(broker.port, version="3.1.1") as r:
        play(r.ledger, hands=3)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)


def hears_more(subscriber: Subscriber, count: int) -> bool:
    return len(subscriber.events) > count


def was_said(subscriber: Subscriber, state: str, session: int) -> bool:
    return (state, session) in subscriber.states()


def test_a_broker_that_comes_late_gets_everything(broker: MosquittoBroker, rig: MakeRig) -> None:
    broker.stop()
    with rig(broker.port) as r:
        r.pump.start()
        r.play(3)
        wait_until(lambda: r.kinds() == ["link.lost"])
        before = r.pump.progress()
        wait_until(lambda: r.pump.progress() > before, what="progress although there is no broker")
        broker.start()
        with Subscriber(broker.port) as subscriber:
            wait_until(lambda: r.kinds() == ["link.lost", "link.restored"])
            wait_until(lambda: unsent(r) == 0)
            assert subscriber.states()[-1][0] == "ready"
        lost, restored = (data for _, data in r.notices)
        assert lost["cause"] == "refused"
        assert restored["since"] == lost["since"]
        assert restored["queued"] == r.ledger.row
        assert restored["range"]["ops"] == {"from": f"{1:016d}", "to": f"{r.ledger.head('ops').sequence:016d}"}
        json.dumps(dict(restored))


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_broker_that_is_restarted_in_the_stream(broker: MosquittoBroker, rig: MakeRig, how: str) -> None:
    gate = Gate()
    with rig(broker.port, gate=gate) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        for _ in range(3):
            before = len(subscriber.events)
            r.play(10)
            wait_until(partial(hears_more, subscriber, before + 20))
            gate.open = False
            getattr(broker, how)()
            r.play(5)
            broker.start()
            subscriber.resume()
            gate.open = True
        r.play(2)
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        assert [session for state, session in subscriber.states() if state == "ready"][-1] >= 4
        assert r.kinds() == ["link.lost", "link.restored"] * 3


@pytest.mark.ci
def test_a_publisher_that_is_killed_in_the_stream(broker: MosquittoBroker, tmp_path: Path) -> None:
    desk = new_desk(tmp_path / "table")
    command = [sys.executable, "-m", "tests.publishing_process", str(desk.folder), str(broker.port)]
    with Subscriber(broker.port) as subscriber:
        for number, stop_after in enumerate((3, 11, 23), start=1):
            process = subprocess.Popen([*command, "100000"], stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            for _ in range(stop_after):
                assert process.stdout.readline()
            wait_until(partial(was_said, subscriber, "ready", number), what="a connection")
            process.kill()
            process.wait(10)
            process.stdout.close()
            wait_until(partial(was_said, subscriber, "lost", number), what="the last will")
        done = subprocess.run([*command, "3"], capture_output=True, text=True, timeout=60, check=True)
        assert "stopped" in done.stdout
        with desk.open() as ledger:
            bodies = ledger.tail(1_000_000)
            # Opening signed nothing and wrote nothing: what is there is what was published.
            assert subscriber.wait_for(len(bodies)) == bodies
        assert [state for state, _ in subscriber.states()][-3:] == ["init", "ready", "disconnected"]
        sessions = [session for _, session in subscriber.states()]
        assert sessions == sorted(sessions)


def rules(*lines: str) -> str:
    return "".join(f"topic {line}\n" for line in ("read #", *lines))


@contextmanager
def guarded(folder: Path, *lines: str) -> Iterator[MosquittoBroker]:
    """A broker with access rules; they can be written again."""
    (folder / "acl").write_text(rules(*lines))
    with MosquittoBroker(folder, extra=f"acl_file {folder / 'acl'}\n") as made:
        yield made


def test_a_refused_event_is_withheld_and_the_rest_goes_on(tmp_path: Path, rig: MakeRig) -> None:
    topic = TOPICS.event("play", "action.taken")
    with (
        guarded(tmp_path, f"deny {topic}", f"write {TOPICS.base}/#") as broker,
        rig(broker.port) as r,
        Subscriber(broker.port) as subscriber,
    ):
        r.pump.start()
        r.play(4)
        heard = subscriber.wait_for(r.ledger.row)
        assert unsent(r) == 0 or wait_until(lambda: unsent(r) == 0)
        originals = {json.loads(body)["id"]: body for body in r.bodies()}
        refused = [body for body in originals.values() if json.loads(body)["type"] == "action.taken"]
        assert len(refused) == 4
        withheld = [json.loads(body) for body in heard if json.loads(body)["type"] == "record.withheld"]
        assert [event["data"]["original_sha256"] for event in withheld] == [digest(body) for body in refused]
        assert {event["data"]["cause"] for event in withheld} == {"not_authorized"}
        assert {event["id"] for event in withheld} == {json.loads(body)["id"] for body in refused}
        arrived = {json.loads(body)["id"]: body for body in heard}
        assert set(arrived) == set(originals)
        assert all(arrived[name] == body for name, body in originals.items() if body not in refused)
        alarms = [data for kind, data in r.notices if kind == "record.withheld"]
        assert [alarm["type"] for alarm in alarms] == ["action.taken"] * 4


def test_many_refused_events_do_not_hold_up_the_rest(tmp_path: Path, rig: MakeRig) -> None:
    """This broker hangs up on each; each is a step, so the pause between two attempts does not grow."""
    with (
        guarded(tmp_path, f"deny {TOPICS.event('play', 'action.taken')}", f"write {TOPICS.base}/#") as broker,
        rig(broker.port, pump=PumpSettings(backoff_s=0.05, backoff_cap_s=30.0)) as r,
    ):
        r.pump.start()
        r.play(14)
        wait_until(lambda: unsent(r) == 0, 25, "the rest")
        assert r.kinds().count("record.withheld") == r.pump.counters.withheld == 14
        assert r.pump.counters.withheld_last == "action.taken: not_authorized"


def test_a_broker_that_refuses_all_gets_it_when_its_rules_are_mended(tmp_path: Path, rig: MakeRig) -> None:
    with (
        guarded(tmp_path, f"write {TOPICS.state}", f"write {TOPICS.description}") as broker,
        rig(broker.port) as r,
        Subscriber(broker.port) as subscriber,
    ):
        r.play(2)
        r.pump.start()
        wait_until(lambda: r.kinds() == ["link.lost"])
        wait_until(lambda: [state for state, _ in subscriber.states()].count("ready") > 3, what="some attempts")
        assert r.kinds() == ["link.lost"], "that the broker greets us restores nothing"
        assert r.notices[0][1]["cause"] == "not_authorized"
        assert unsent(r) == r.ledger.row
        (tmp_path / "acl").write_text(rules(f"write {TOPICS.base}/#"))
        broker.reload()
        heard = subscriber.wait_for(r.ledger.row)
        assert {json.loads(body)["id"] for body in heard} == {json.loads(body)["id"] for body in r.bodies()}


@pytest.mark.ci
@pytest.mark.parametrize("denied", STREAMS)
@pytest.mark.parametrize("first", [True, False], ids=["denied-first", "denied-later"])
def test_a_stream_that_is_denied_wholly_waits_and_the_others_go_on(
    tmp_path: Path, rig: MakeRig, denied: Stream, first: bool
) -> None:
    """Neither its records nor what stands for them is taken: it is kept, told, and delivered when rules are mended."""
    others = [stream for stream in STREAMS if stream != denied]
    order: list[Stream] = [denied, *others] if first else [*others, denied]
    with (
        guarded(tmp_path, f"deny {TOPICS.base}/{denied}/#", f"write {TOPICS.base}/#") as broker,
        rig(broker.port, pump=replace(QUICK, barred_s=3.0)) as r,
        Subscriber(broker.port) as subscriber,
    ):

        def say(count: int) -> None:
            for _ in range(count):
                for stream in order:
                    r.ledger.append([record("daemon.started", stream, reason="start")], WALL)
                    r.pump.wake()

        def heard(streams: Collection[Stream]) -> list[bytes]:
            return [body for body in subscriber.first_sights() if json.loads(body)["source"].endswith(tuple(streams))]

        def written(streams: Collection[Stream]) -> list[bytes]:
            return [body for body in r.bodies() if json.loads(body)["source"].endswith(tuple(streams))]

        say(30)
        r.pump.start()
        wait_until(lambda: heard(others) == written(others), what="the other streams")
        wait_until(lambda: r.pump.counters.barred == {denied: "not_authorized"})
        say(5)
        wait_until(lambda: heard(others) == written(others), what="the other streams, later too")
        assert r.pump.connected
        assert heard([denied]) == []
        wait_until(lambda: unsent(r) == len(written([denied])), what="the broker's last answers")
        assert r.pump.counters.withheld == 0
        (tmp_path / "acl").write_text(rules(f"write {TOPICS.base}/#"))
        broker.reload()
        wait_until(lambda: unsent(r) == 0, 20, "what was kept")
        wait_until(lambda: heard([denied]) == written([denied]))
        assert r.pump.counters.barred == {}


def test_a_frozen_broker_is_given_up_and_taken_again(broker: MosquittoBroker, rig: MakeRig) -> None:
    gate = Gate()
    with rig(broker.port, gate=gate, connect_timeout_s=0.5) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        r.play(2)
        wait_until(lambda: unsent(r) == 0)
        broker.freeze()
        gate.open = False
        r.play(2)
        wait_until(lambda: r.kinds() == ["link.lost"])
        assert r.notices[0][1]["cause"] == "silent"
        gate.open = True
        broker.thaw()
        assert subscriber.wait_for(r.ledger.row) == r.bodies()


def test_what_is_no_mqtt_ends_the_connection_and_not_the_pump(broker: MosquittoBroker, rig: MakeRig) -> None:
    """Delivery has one thread. What a broker says must not end it."""
    with talking(CONNACK, b"\xff" * 9) as port, rig(port) as r, Subscriber(broker.port) as subscriber:
        r.play(2)
        r.pump.start()
        wait_until(lambda: r.kinds() == ["link.lost"])
        assert r.notices[0][1]["cause"] in ("malformed", "lost")
        moved = r.pump.progress()
        wait_until(lambda: r.pump.progress() > moved + 3, what="attempt after attempt")
        r.mqtt._settings = replace(r.mqtt._settings, port=broker.port)
        assert subscriber.wait_for(r.ledger.row) == r.bodies()


@given(version=st.sampled_from(["5", "3.1.1"]), said=SAYINGS)
@settings(max_examples=150, deadline=None)
def test_whatever_a_broker_says_is_an_outcome_or_a_broker_error(version: str, said: bytes) -> None:
    heard: list[Outcome] = []
    greeting = CONNACK if version == "5" else CONNACK_311
    with talking(greeting, said) as port:
        publisher = MqttPublisher(MqttSettings("127.0.0.1", port, "x", version=version))
        with closing(publisher), suppress(BrokerError):
            publisher.connect(1, Message("x", b""), heard.append)
            publisher.publish(Message("x", b"1"))
            # The server speaks once it has heard the message, and then hangs up.
            for _ in range(50):
                publisher.wait(2.0)
                if any(isinstance(one, Dropped) for one in heard):
                    return
            raise AssertionError("neither an error nor the end of the connection")


def test_rows_come_with_the_wake_or_out_of_the_ledger_but_each_once(broker: MosquittoBroker, rig: MakeRig) -> None:
    """What was just written is handed over; a wake that is lost, says nothing or says it again does no harm."""
    with rig(broker.port) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        chance = random.Random(5)
        late: list[list[Unsent]] = []
        for _ in range(40):
            for rec in hand_records(f"h{r.ledger.row}"):
                late.append(r.ledger.append([rec], WALL))
                match chance.choice(["told", "late", "again", "empty", "burst"]):
                    case "told":
                        r.pump.wake(late[-1])
                        late.clear()
                    case "again":
                        for written in late[-2:] * 2:
                            r.pump.wake(written)
                    case "empty":
                        r.pump.wake()
                        late.clear()
                    case "burst":
                        r.pump.wake([row for written in late for row in written])
                        late.clear()
                    case "late":
                        pass
        r.pump.wake()
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        wait_until(lambda: unsent(r) == 0)
        events = [heard.body for heard in subscriber.heard if b'"specversion"' in heard.body]
        assert events == r.bodies(), "nothing was sent twice"


def test_an_idle_connection_proves_that_it_lives(broker: MosquittoBroker, rig: MakeRig) -> None:
    patience = PumpSettings(heartbeat_s=0.1, ack_timeout_s=0.3, backoff_s=0.01)
    with rig(broker.port, pump=patience, connect_timeout_s=0.5) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        wait_until(lambda: [heard for heard in subscriber.heard if b'"ready"' in heard.body][2:], what="heartbeats")
        broker.freeze()
        try:
            wait_until(lambda: r.kinds() == ["link.lost"], what="a broker that hangs while there is nothing to send")
        finally:
            broker.thaw()
        wait_until(lambda: subscriber.states()[-1][0] == "ready" and subscriber.states()[-1][1] > 1)


def test_a_wrong_password_is_told(tmp_path: Path, rig: MakeRig) -> None:
    passwords = tmp_path / "passwords"
    subprocess.run(["mosquitto_passwd", "-b", "-c", str(passwords), "t07", "right"], check=True)
    basic = "listener {port} {host}\nallow_anonymous false\nuser root\npersistence false\n"
    with MosquittoBroker(tmp_path, basic=basic, extra=f"password_file {passwords}\n") as broker:
        with rig(broker.port, username="t07", password="wrong") as r:
            r.pump.start()
            wait_until(lambda: r.kinds() == ["link.lost"])
            assert r.notices[0][1]["cause"] in ("not_authorized", "bad_user_name_or_password")
        account = MqttSettings("127.0.0.1", broker.port, "x", username="t07", password="right")
        assert "right" not in repr(account)
        publisher = MqttPublisher(account)
        publisher.connect(1, Message("x", b""), lambda outcome: None)
        publisher.close()


# paho leaves it to the garbage collector to close a socket whose handshake failed.
@pytest.mark.filterwarnings("ignore:.*SSLSocket:pytest.PytestUnraisableExceptionWarning")
def test_tls_with_certificates_on_both_sides(tmp_path: Path, rig: MakeRig) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("broker", "127.0.0.1")
    ours, our_key = authority.issue("t07")
    basic = (
        "listener {port} {host}\nallow_anonymous true\nuser root\npersistence false\nrequire_certificate true\n"
        f"cafile {authority.file}\ncertfile {certificate}\nkeyfile {key}\n"
    )
    with MosquittoBroker(tmp_path, basic=basic) as broker:
        known: dict[str, Any] = {"tls": True, "ca": authority.file}
        with rig(broker.port, **known) as r:
            r.pump.start()
            wait_until(lambda: r.kinds() == ["link.lost"], what="a refusal without a certificate")
        with rig(broker.port, certificate=ours, key=our_key, **known) as r:
            r.pump.start()
            wait_until(lambda: unsent(r) == 0)
        stranger = Authority(tmp_path / "table")
        publisher = MqttPublisher(MqttSettings("127.0.0.1", broker.port, "x", tls=True, ca=stranger.file))
        with pytest.raises(BrokerError, match="certificate verify failed"):
            publisher.connect(1, Message("x", b""), lambda outcome: None)
    with pytest.raises(LocalError, match=r"broker\.ca"):
        MqttPublisher(MqttSettings("127.0.0.1", 1, "x", tls=True, ca=tmp_path / "none"))


def test_stopping_flushes_and_is_bounded(broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        r.play(50)
        assert r.pump.stop(20)
        assert subscriber.wait_for(r.ledger.row) == r.bodies()


def test_stopping_without_a_broker_ends_at_once(broker: MosquittoBroker, rig: MakeRig) -> None:
    broker.stop()
    with rig(broker.port, pump=PumpSettings(backoff_s=60, backoff_cap_s=60)) as r:
        r.pump.start()
        wait_until(lambda: r.kinds() == ["link.lost"])
        started = time.monotonic()
        assert r.pump.stop(30)
        assert time.monotonic() - started < 20, "it did not wait for the next attempt"


def test_an_outbox_that_cannot_be_marked_repeats_and_loses_nothing(
    broker: MosquittoBroker, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Outbox.mark_acked
    failures = iter([True, True])

    def fail_twice(self: Outbox, rows: list[int]) -> None:
        if next(failures, False):
            raise sqlite3.OperationalError("disk I/O error")
        real(self, rows)

    monkeypatch.setattr(Outbox, "mark_acked", fail_twice)
    with rig(broker.port) as r, Subscriber(broker.port) as subscriber:
        r.pump.start()
        r.play(2)
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
        wait_until(lambda: unsent(r) == 0)
        assert "outbox.failed" in r.kinds()
        r.ledger.append([record("seat.taken", seat=1)], WALL)
        r.pump.wake()
        assert subscriber.wait_for(r.ledger.row) == r.bodies()
