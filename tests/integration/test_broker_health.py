"""What ``feltd health`` and the numbers say of the broker: who else has our name, and whether we may listen."""

import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from controller.contract.state import description_body, state_body
from controller.contract.topics import Topics
from controller.delivery import others
from controller.delivery.mqtt import MqttPublisher, MqttSettings
from controller.delivery.publisher import Unheard
from controller.delivery.pump import Pump
from controller.health import Health
from controller.inbox import Inbox
from controller.ledger.files import Retention
from controller.ledger.keys import Keys, create_signing_key
from controller.ledger.outbox import Outbox
from controller.ledger.store import Ledger
from controller.ledgercare import BackgroundCheck, FillWatch
from simulators.broker import MosquittoBroker, mosquitto_program
from tests.delivering import QUICK, TOPICS, Rig, make_rig, unsent
from tests.ledgers import SOURCE, WALL, new_desk, record
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.wires,
    pytest.mark.skipif(mosquitto_program() is None, reason="mosquitto is not installed"),
]
GRANTS = {"pit": frozenset({"play"})}
"""A table listens only where somebody may ask."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MosquittoBroker]:
    with MosquittoBroker(tmp_path) as made:
        yield made


def looks(r: Rig) -> Health:
    fill = FillWatch(r.desk.path, Retention(), was_full=False)
    return Health(r.desk.path, Inbox(), {}, r.pump, fill, BackgroundCheck(r.desk.path, (), lambda _: None))


def bad(health: Health) -> dict[str, str]:
    """The checks that name a trouble."""
    return {name: what for name, what in health.report()["checks"].items() if what}


@pytest.mark.parametrize("end", ["in order", "killed"])
def test_another_who_has_gone_is_no_trouble_any_more(
    broker: MosquittoBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """A last word of his own, or the one that the broker says for him."""
    monkeypatch.setattr(others, "GONE_S", 0.3)
    with make_rig(tmp_path / "table", broker.port, grants=GRANTS) as ours:
        ours.pump.start()
        wait_until(lambda: unsent(ours) == 0)
        health, seen = looks(ours), ours.pump.counters.others
        assert "name" not in bad(health)
        other = Client(CallbackAPIVersion.VERSION2, client_id="another")
        other.will_set(TOPICS.state, state_body("lost", 7, "e" * 8), qos=1, retain=True)
        other.connect("127.0.0.1", broker.port)
        other.loop_start()
        other.publish(TOPICS.state, state_body("ready", 7, "e" * 8), qos=1, retain=True)
        wait_until(lambda: seen.there(time.monotonic()), what="the other being seen")
        assert "stop it" in bad(health)["name"]
        assert "feltd_name_shared 1" in health.metrics()
        ours.pump.counters.others.went("e" * 8, 6, time.monotonic(), strange=True)
        assert "name" in bad(health), "he is there still"
        if end == "killed":
            other.socket().shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
            other.loop_stop()
        else:
            other.publish(TOPICS.state, state_body("disconnected", 7, "e" * 8), qos=1, retain=True).wait_for_publish(10)
            other.disconnect()
            other.loop_stop()
        wait_until(lambda: "name" not in bad(health), what="the all-clear")
        assert "feltd_name_shared 0" in health.metrics()


def test_another_of_whom_only_the_last_word_is_heard_is_a_trouble(broker: MosquittoBroker, tmp_path: Path) -> None:
    """The broker may say it for one whose coming was not heard."""
    with make_rig(tmp_path / "table", broker.port, grants=GRANTS) as ours:
        ours.pump.start()
        wait_until(lambda: unsent(ours) == 0)
        health = looks(ours)
        assert "name" not in bad(health)
        other = Client(CallbackAPIVersion.VERSION2, client_id="another")
        other.connect("127.0.0.1", broker.port)
        other.loop_start()
        other.publish(TOPICS.state, state_body("lost", 7, "e" * 8), qos=1, retain=True).wait_for_publish(10)
        other.disconnect()
        other.loop_stop()
        wait_until(lambda: ours.pump.counters.conflicts > 0, what="the last word")
        assert "stop it" in bad(health)["name"]
        assert "feltd_name_shared 1" in health.metrics()


@pytest.mark.parametrize("test", [False, True], ids=["live", "rehearsal"])
def test_an_old_copy_that_is_put_back_is_a_fault_of_the_ledger(
    broker: MosquittoBroker, tmp_path: Path, *, test: bool
) -> None:
    """The broker still has the table's words of later connections. A rehearsal may begin one ledger again and again."""
    desk = new_desk(tmp_path / "table")
    if not test:
        create_signing_key(desk.folder / "live.key", desk.folder / "live.pub", test=False)
    told: list[tuple[str, Mapping[str, Any]]] = []

    def run() -> None:
        keys = Keys.load(
            device=desk.folder / "device.key",
            auditor=desk.folder / "auditor.pub",
            signing=desk.folder / ("signing.key" if test else "live.key"),
            create=True,
        )
        with Ledger.open(desk.path, source=SOURCE, test=test, keys=keys, wall_ns=WALL) as ledger:
            pump = Pump(
                ledger.path,
                Topics(SOURCE, test=test),
                MqttPublisher(MqttSettings("127.0.0.1", broker.port, client_id="felt-zg1-t07")),
                notify=lambda kind, data: told.append((kind, data)),
                description=description_body(SOURCE, ledger.id, test=test, software="0"),
                settings=QUICK,
                grants=GRANTS,
            )
            pump.start()
            try:
                # What the broker keeps comes before its answer to what was said behind the subscription.
                pump.wake(ledger.append([record("daemon.started", "ops", reason="start")], WALL))
                with closing(Outbox(desk.path)) as outbox:
                    wait_until(lambda: outbox.depth() == 0, what="the broker's answers")
            finally:
                pump.stop(5.0)

    run()
    shutil.copy(desk.path, tmp_path / "copy")
    run()
    run()
    assert told == [], "a start is no fault"
    shutil.copy(tmp_path / "copy", desk.path)
    run()
    assert [kind for kind, _ in told] == ([] if test else ["ledger.fault"])
    if not test:
        assert "older copy" in told[0][1]["first"]["what"]


def test_one_who_only_takes_our_client_id_is_suspected(broker: MosquittoBroker, tmp_path: Path) -> None:
    """The broker does not tell us why it leaves us then."""
    with make_rig(tmp_path / "table", broker.port) as ours:
        ours.pump.start()
        health = looks(ours)
        for times in range(1, 5):
            wait_until(lambda: ours.pump.connected, what="the table at the broker")
            assert "name" not in bad(health)
            impostor = Client(CallbackAPIVersion.VERSION2, client_id="felt-zg1-t07")
            impostor.connect("127.0.0.1", broker.port)
            impostor.loop_start()
            wait_until(lambda times=times: ours.pump.counters.losses == times, what="the takeover")  # type: ignore[misc]
            impostor.disconnect()
            impostor.loop_stop()
        assert "client id" in bad(health)["name"]
        counts = ours.pump.counters
        assert not counts.torn(counts.left[-1] + 601)


def test_a_stream_that_is_denied_wholly_is_named(tmp_path: Path) -> None:
    acl = tmp_path / "acl"
    acl.write_text(f"topic read #\ntopic deny {TOPICS.base}/guard/#\ntopic write {TOPICS.base}/#\n")
    with (
        MosquittoBroker(tmp_path, extra=f"acl_file {acl}\n") as broker,
        make_rig(tmp_path / "table", broker.port) as ours,
    ):
        health = looks(ours)
        ours.ledger.append([record("guard.chip_unknown", "guard", place="pot"), record("table.opened")], WALL)
        ours.pump.start()
        wait_until(lambda: "streams" in bad(health), what="the trouble")
        assert "guard (not_authorized)" in bad(health)["streams"]
        assert "feltd_streams_barred 1" in health.metrics()
        wait_until(lambda: ours.pump.connected and unsent(ours) == 2)  # the record and the signature of its stream


def test_a_table_that_may_not_listen_says_so_until_it_may(
    broker: MosquittoBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed: list[bool] = []
    listen = MqttPublisher.listen

    def refused(self: MqttPublisher, topics: Sequence[str]) -> None:
        listen(self, topics)
        if not allowed:
            ours.pump._sink(Unheard(1, "not_authorized"))

    monkeypatch.setattr(MqttPublisher, "listen", refused)
    with make_rig(tmp_path / "table", broker.port, grants=GRANTS) as ours:
        health = looks(ours)
        ours.pump.start()
        wait_until(lambda: "requests" in bad(health), what="the trouble")
        assert "not_authorized" in bad(health)["requests"]
        assert "feltd_listens_refused_total 1" in health.metrics()
        assert "feltd_broker_deaf 1" in health.metrics()
        allowed.append(True)
        ours.mqtt._client.socket().shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
        wait_until(lambda: ours.pump.counters.connections > 1 and ours.pump.connected)
        assert "requests" not in bad(health)
        assert "feltd_broker_deaf 0" in health.metrics()
