"""Brokers as a house runs them: certificates on both sides and rights for each; and RabbitMQ, which hangs up."""

import json
import queue
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.reasoncodes import ReasonCode

from controller.contract.topics import Source, Topics
from controller.delivery.errors import BrokerError
from controller.delivery.mqtt import MqttPublisher, MqttSettings
from controller.delivery.publisher import Message
from controller.ledger.verify import verify
from simulators.broker import MosquittoBroker, mosquitto_program
from tests.certificates import Authority
from tests.delivering import TOPICS, Rig, make_rig, unsent
from tests.ledgers import Desk, play
from tests.rabbit import Rabbit, rabbit_programs
from tests.running import ROOT
from tests.waiting import wait_until

pytestmark = pytest.mark.wires
with_mosquitto = pytest.mark.skipif(mosquitto_program() is None, reason="mosquitto is not installed")
with_rabbit = pytest.mark.skipif(rabbit_programs() is None, reason="rabbitmq-server is not installed")
GRANTS = {"accounting": frozenset({"cash"})}
MakeRig = Callable[..., AbstractContextManager[Rig]]
OTHER = Topics(Source("zg1", "t08"), test=True)


@pytest.fixture
def rig(tmp_path: Path) -> MakeRig:
    return partial(make_rig, tmp_path / "table", grants=GRANTS)


class House:
    """A broker with the shipped rights, and certificates for all."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.authority = Authority(folder)
        certificate, key = self.authority.issue("broker", "127.0.0.1")
        shipped = (ROOT / "config" / "mosquitto" / "acl.example").read_text(encoding="utf-8")
        (folder / "acl").write_text(
            shipped.replace(" felt/v1/", " felt-test/v1/").replace("user zg1-t07\n", "user zg1-t07\n" + more)
        )
        basic = (
            "listener {port} {host}\nallow_anonymous false\nuser root\npersistence false\nmax_queued_messages 0\n"
            "require_certificate true\nuse_identity_as_username true\ntls_version tlsv1.2\n"
            f"cafile {self.authority.file}\ncertfile {certificate}\nkeyfile {key}\nacl_file {folder / 'acl'}\n"
        )
        self.broker = MosquittoBroker(folder, basic=basic)

    def papers(self, name: str) -> dict[str, Any]:
        certificate, key = self.authority.issue(name)
        return {"tls": True, "ca": self.authority.file, "certificate": certificate, "key": key}

    def try_to_publish(self, name: str, topic: str) -> str:
        """What the broker says to a publish of this person (MQTT 5)."""
        papers = self.papers(name)
        said: list[str] = []
        client = Client(CallbackAPIVersion.VERSION2, client_id=f"test-{name}", protocol=MQTTv5)
        client.tls_set(str(papers["ca"]), str(papers["certificate"]), str(papers["key"]))

        def answered(_c: Client, _u: object, _mid: int, reason: ReasonCode, _p: object) -> None:
            said.append(str(reason))

        client.on_publish = answered
        client.connect("127.0.0.1", self.broker.port)

        def turned() -> bool:
            # No thread: it takes paho's own a second to end.
            return client.loop(0.02) == MQTTErrorCode.MQTT_ERR_SUCCESS

        wait_until(lambda: turned() and client.is_connected(), what="a connection")
        client.publish(topic, b"{}", qos=1)
        wait_until(lambda: turned() and said, what="an answer")
        client.disconnect()
        return said[0]


@with_mosquitto
def test_a_table_publishes_its_own_and_nothing_else(tmp_path: Path, rig: MakeRig) -> None:
    house = House(tmp_path)
    with house.broker, rig(house.broker.port, **house.papers("zg1-t07")) as r:
        play(r.ledger)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        assert r.kinds() == []
        own = "No matching subscribers"
        assert house.try_to_publish("zg1-t07", TOPICS.event("play", "hand.started")) in ("Success", own)
        for topic in (OTHER.event("play", "hand.started"), OTHER.state, TOPICS.command("replay"), "anything"):
            assert house.try_to_publish("zg1-t07", topic) == "Not authorized"


@with_mosquitto
def test_a_subscriber_publishes_no_event_of_any_table(tmp_path: Path) -> None:
    house = House(tmp_path)
    with house.broker:
        for name in ("accounting", "pit-board", "zg1-t99"):
            for topic in (TOPICS.event("cash", "slip.completed"), TOPICS.state, TOPICS.reply("accounting") + "a"):
                assert house.try_to_publish(name, topic) == "Not authorized"
        assert house.try_to_publish("pit-board", TOPICS.command("replay")) == "Not authorized"


@with_mosquitto
def test_a_denied_publish_is_seen_withheld_and_alarmed(tmp_path: Path, rig: MakeRig) -> None:
    house = House(tmp_path, f"topic deny {TOPICS.event('play', 'action.taken')}\n")
    with house.broker, rig(house.broker.port, **house.papers("zg1-t07")) as r:
        r.pump.start()
        r.play(3)
        wait_until(lambda: unsent(r) == 0)
        alarms = [data for kind, data in r.notices if kind == "record.withheld"]
        assert [(alarm["type"], alarm["cause"]) for alarm in alarms] == [("action.taken", "not_authorized")] * 3
        assert r.pump.counters.withheld == 3
    assert verify(Desk(tmp_path / "table").path).ok


@with_mosquitto
def test_the_office_reads_what_it_was_granted_over_tls(tmp_path: Path, rig: MakeRig) -> None:
    house = House(tmp_path)
    with house.broker, rig(house.broker.port, **house.papers("zg1-t07")) as r:
        play(r.ledger)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        office = [sys.executable, "-m", "backoffice.cli"]
        run: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 60}
        store = str(tmp_path / "office.db")
        key = str(r.desk.folder / "signing.pub")
        subprocess.run([*office, "enrol", store, "zg1/t07", "--key", key, "--test"], check=True, **run)
        papers = house.papers("accounting")
        where = ["--broker", f"mqtts://127.0.0.1:{house.broker.port}", "--client", "accounting", "--ca", papers["ca"]]
        where += ["--certificate", papers["certificate"], "--certificate-key", papers["key"], "--streams", "cash"]
        told = subprocess.run([*office, "follow", store, *map(str, where), "--until-quiet"], check=True, **run)
        assert json.loads(told.stdout)["stored"] == r.ledger.head("cash").sequence
        subprocess.run([*office, "verify", store], check=True, **run)


@with_mosquitto
# paho leaves it to the garbage collector to close a socket whose handshake failed.
@pytest.mark.filterwarnings("ignore:.*SSLSocket:pytest.PytestUnraisableExceptionWarning")
def test_the_broker_is_known_by_the_name_in_its_certificate(tmp_path: Path) -> None:
    house = House(tmp_path)
    with house.broker:
        papers = house.papers("zg1-t07")
        will = Message(TOPICS.state, b"{}")
        for name, fits in ((None, True), ("127.0.0.1", True), ("other.example", False)):
            publisher = MqttPublisher(MqttSettings("127.0.0.1", house.broker.port, "x", server_name=name, **papers))
            if fits:
                publisher.connect(1, will, lambda outcome: None)
                publisher.close()
            else:
                with pytest.raises(BrokerError, match="certificate verify failed"):
                    publisher.connect(1, will, lambda outcome: None)


# ---------------------------------------------------------------- RabbitMQ


@pytest.fixture(scope="module")
def rabbit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rabbit]:
    if rabbit_programs() is None:
        pytest.skip("rabbitmq-server is not installed")
    with Rabbit(tmp_path_factory.mktemp("rabbit") / "node") as made:
        made.table("zg1", "t07", "table-password")
        made.subscriber("accounting", "office-password", "cash", "play", "ops")
        yield made


def at_rabbit(rabbit: Rabbit) -> dict[str, Any]:
    return {"version": "3.1.1", "username": "zg1-t07", "password": "table-password"}


def office_at(rabbit: Rabbit, folder: Path, desk: Desk) -> tuple[dict[str, Any], Path]:
    office = [sys.executable, "-m", "backoffice.cli"]
    run: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 90}
    store, password = folder / "office.db", folder / "office-password"
    password.write_text("office-password\n")
    password.chmod(0o600)
    key = str(desk.folder / "signing.pub")
    subprocess.run([*office, "enrol", str(store), "zg1/t07", "--key", key, "--test"], check=True, **run)
    where = ["--broker", f"mqtt://127.0.0.1:{rabbit.port}", "--client", "accounting", "--mqtt", "3.1.1"]
    where += ["--username", "accounting", "--password-file", str(password), "--streams", "play", "cash", "ops"]
    told = subprocess.run([*office, "follow", str(store), *where, "--until-quiet"], check=True, **run)
    subprocess.run([*office, "verify", str(store)], check=True, **run)
    return json.loads(told.stdout), store


@with_rabbit
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_same_contract_through_rabbitmq(rabbit: Rabbit, tmp_path: Path) -> None:
    grants = {"accounting": frozenset({"cash", "play", "ops"})}
    with make_rig(tmp_path / "table", rabbit.port, grants=grants, **at_rabbit(rabbit)) as r:
        play(r.ledger, hands=5)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0, 30)
        assert r.kinds() == []
        told, _ = office_at(rabbit, tmp_path, r.desk)
        assert told["stored"] == r.ledger.row
        assert told["errors"] == {}


@with_rabbit
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_rabbitmq_hangs_up_on_a_row_and_the_rest_goes_on(rabbit: Rabbit, tmp_path: Path) -> None:
    """It cannot say why over 3.1.1: after some times the row is withheld, with an alarm, and the next ones follow."""
    at = "felt-test\\.v1\\.zg1\\.t07\\."
    own = f"^{at}((play|cash|ops|guard|reply)\\..*|description|state)$"
    but = f"^(?!{at}play\\.action\\.taken$){at}((play|cash|ops|guard|reply)\\..*|description|state)$"
    read = f"^{at}(cmd\\..*|state)$"
    rabbit.control("set_topic_permissions", "zg1-t07", "amq.topic", but, read)
    try:
        with make_rig(tmp_path / "table", rabbit.port, **at_rabbit(rabbit)) as r:
            r.pump.start()
            r.play(2)
            wait_until(lambda: unsent(r) == 0, 90)
            alarms = [data for kind, data in r.notices if kind == "record.withheld"]
            assert [(alarm["type"], alarm["cause"]) for alarm in alarms] == [("action.taken", "hangs_up")] * 2
    finally:
        rabbit.control("set_topic_permissions", "zg1-t07", "amq.topic", own, read)


@with_rabbit
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_where_rabbitmq_takes_nothing_of_ours_nothing_is_withheld(rabbit: Rabbit, tmp_path: Path) -> None:
    at = "felt-test\\.v1\\.zg1\\.t07\\."
    own = f"^{at}((play|cash|ops|guard|reply)\\..*|description|state)$"
    read = f"^{at}(cmd\\..*|state)$"
    rabbit.control("set_topic_permissions", "zg1-t07", "amq.topic", f"^{at}(description|state)$", read)
    try:
        with make_rig(tmp_path / "table", rabbit.port, **at_rabbit(rabbit)) as r:
            r.play(1)
            r.pump.start()
            wait_until(lambda: r.pump.counters.losses > 20, 60)
            assert unsent(r) == r.ledger.row
            assert r.pump.counters.withheld == 0
            rabbit.control("set_topic_permissions", "zg1-t07", "amq.topic", own, read)
            wait_until(lambda: unsent(r) == 0, 60)
            assert r.pump.counters.withheld <= 1
    finally:
        rabbit.control("set_topic_permissions", "zg1-t07", "amq.topic", own, read)


@with_rabbit
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", ["accounting", "pit-board"])
def test_a_screen_at_rabbitmq_may_read_but_not_ask(rabbit: Rabbit, name: str) -> None:
    rabbit.screen("pit-board", "office-password", "play")
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()
    topic = "felt-test/v1/zg1/t07"
    client = Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=MQTTv311, reconnect_on_failure=False)
    client.username_pw_set(name, "office-password")
    client.on_connect = lambda c, *_: c.subscribe(f"{topic}/play/#", 1)
    client.on_subscribe = lambda *_: heard.put("subscribed")
    client.on_publish = lambda *_: heard.put("published")
    client.on_disconnect = lambda *_: heard.put("hung up")
    client.connect("127.0.0.1", rabbit.port)
    client.loop_start()
    try:
        assert heard.get(timeout=20) == "subscribed"
        client.publish(f"{topic}/cmd/replay", b"{}", qos=1)
        assert heard.get(timeout=20) == ("published" if name == "accounting" else "hung up")
    finally:
        client.disconnect()
        client.loop_stop()
