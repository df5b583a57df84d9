"""The back office against a real broker and a real ledger: what it keeps, what it misses, what it will not take."""

import json
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.publish import single

from backoffice import cli
from backoffice.asking import Asking
from backoffice.following import Connection, Listener, rest
from backoffice.opening import open_store
from backoffice.reader import Reader
from backoffice.sqlite import SqliteStore
from backoffice.store import Pin, Store
from backoffice.verifying import heads, verify_table
from controller.contract.checkpoint import Checkpoint
from controller.contract.envelope import withheld
from controller.contract.topics import STREAMS
from controller.ledger.files import Retention
from controller.ledger.keys import Keys, create_signing_key, load_signing_key, load_verify_key
from controller.ledger.store import Ledger
from controller.ledger.verify import verify
from simulators.broker import MosquittoBroker, mosquitto_program
from tests.delivering import TOPICS, Rig, make_rig, unsent
from tests.ledgers import CARDS, SOURCE, WALL, Desk, new_desk, play, record
from tests.rotting import GARBLED, rot
from tests.running import ROOT, Running, write_config
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.wires,
    pytest.mark.skipif(mosquitto_program() is None, reason="mosquitto is not installed"),
]
TABLE = "/felt/zg1/t07"
GRANTS = {"office": frozenset({"play", "cash", "ops", "guard"}), "accounting": frozenset({"cash"})}
MakeRig = Callable[..., AbstractContextManager[Rig]]


@pytest.fixture
def rig(tmp_path: Path) -> MakeRig:
    return partial(make_rig, tmp_path / "table", grants=GRANTS)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MosquittoBroker]:
    with MosquittoBroker(tmp_path) as made:
        yield made


def office(*arguments: object, code: int = 0) -> str:
    command = [sys.executable, "-m", "backoffice.cli", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def enrol(folder: Path, desk: Desk) -> Path:
    store = folder / "office.db"
    office("enrol", store, "zg1/t07", "--key", desk.folder / "signing.pub", "--test")
    return store


def follow(store: Path, port: int, *more: object) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(
        office("follow", store, "--broker", f"mqtt://127.0.0.1:{port}", "--until-quiet", *more)
    )
    return told


def stored(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [body for (body,) in connection.execute("select payload from event order by ledger, row_no")]


@pytest.mark.parametrize("version", ["5", pytest.param("3.1.1", marks=pytest.mark.slow)])
@pytest.mark.ci
def test_all_that_is_on_the_device_is_in_the_office(
    broker: MosquittoBroker, rig: MakeRig, tmp_path: Path, version: str
) -> None:
    """Everything was published before the office existed: it comes by replay, with the same bytes."""
    with rig(broker.port) as r:
        play(r.ledger, hands=60)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        store = enrol(tmp_path, r.desk)
        told = follow(store, broker.port, "--mqtt", version)
        assert stored(store) == r.bodies()
        assert told["stored"] == len(r.bodies())
        assert "whole" in office("verify", store)
        again = follow(store, broker.port, "--mqtt", version)
        assert again["stored"] == 0


def test_a_verdict_after_listening_is_one_document(broker: MosquittoBroker, rig: MakeRig, tmp_path: Path) -> None:
    with rig(broker.port) as r:
        play(r.ledger, hands=2)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        store = enrol(tmp_path, r.desk)
        command = ["verify", store, "--json", "--broker", f"mqtt://127.0.0.1:{broker.port}"]
        done = subprocess.run(
            [sys.executable, "-m", "backoffice.cli", *map(str, command)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, json.loads(done.stdout)["ok"]) == (0, True), done.stderr
        assert json.loads(done.stderr)["stored"] == len(r.bodies())


@pytest.mark.parametrize("news", [0, 1])
@pytest.mark.ci
def test_a_gap_is_found_and_filled(broker: MosquittoBroker, rig: MakeRig, tmp_path: Path, news: int) -> None:
    """Also where nothing is heard of the stream: who listened before may have ended with the gap open."""
    with rig(broker.port) as r:
        play(r.ledger, hands=5)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        store = enrol(tmp_path, r.desk)
        follow(store, broker.port)
        with closing(sqlite3.connect(store, isolation_level=None)) as connection:
            connection.execute("delete from event where cast(sequence as integer) in (2, 3, 7, 20)")
        told = json.loads(office("verify", store, "--json", code=4))
        assert "removed" in told["tables"][TABLE][0]["faults"][0]
        r.play(news)
        follow(store, broker.port)
        assert stored(store) == r.bodies()


def test_what_was_asked_for_when_the_broker_went_is_asked_for_again(tmp_path: Path, desk: Desk) -> None:
    with pinned(tmp_path, desk) as store:
        reader = Reader(store)
        reader.take(bodies(desk.path))
        asking = Asking(store, reader, {TABLE: TOPICS}, "office", ("play",))
        asking.shown(TOPICS.snapshot, json.dumps({"ledger": "new", "sequence": f"{900:016d}", "test": True}).encode())
        asking.connected(0.0)
        asked = [json.loads(body) for at in range(3) for _, body, _ in asking.due(at / 10)]
        assert ("new", "0000000000000900") in [(one.get("ledger"), one.get("to")) for one in asked]
        asking.connected(1.0)
        again = [json.loads(body) for _, body, _ in asking.due(1.0)]
        assert [(one.get("ledger"), one.get("to")) for one in again] == [("new", "0000000000000900")]


@pytest.mark.ci
def test_an_office_is_soon_back_however_often_its_broker_went(
    broker: MosquittoBroker, rig: MakeRig, tmp_path: Path
) -> None:
    """A good connection ends the waiting that grew before it."""
    with rig(broker.port) as r:
        r.pump.start()
        store = enrol(tmp_path, r.desk)
        enough = threading.Event()

        def listen() -> None:
            where = Connection("127.0.0.1", broker.port, "office", stable_s=0.05)
            with closing(open_store(str(store))) as opened:
                Listener(opened, where, STREAMS).run(enough.is_set)

        listening = threading.Thread(target=listen)
        listening.start()
        try:
            for _ in range(5):
                r.play()
                wait_until(lambda: stored(store) == r.bodies(), 5, "all in the office")
                broker.stop()
                broker.start()
        finally:
            enough.set()
            listening.join(10)
        assert not listening.is_alive()


def test_who_waits_for_a_broker_can_be_told_to_stop() -> None:
    asked = iter((False, False, True))
    began = time.monotonic()
    rest(60, lambda: next(asked))
    assert time.monotonic() - began < 30


def test_verify_from_the_broker_alone(broker: MosquittoBroker, rig: MakeRig, tmp_path: Path) -> None:
    with rig(broker.port) as r:
        play(r.ledger, hands=3)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        store = enrol(tmp_path, r.desk)
        assert "whole" in office("verify", store, "--broker", f"mqtt://127.0.0.1:{broker.port}")
        assert len(stored(store)) == r.ledger.row


def test_who_was_granted_one_stream_gets_one(broker: MosquittoBroker, rig: MakeRig, tmp_path: Path) -> None:
    with rig(broker.port) as r:
        play(r.ledger, hands=3)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        store = enrol(tmp_path, r.desk)
        told = follow(store, broker.port, "--client", "accounting")
        assert told["errors"] == {"denied": 3}
        sources = {json.loads(body)["source"] for body in stored(store)}
        assert sources == {f"{TABLE}/cash"}
        assert "whole" in office("verify", store)


def test_a_withheld_event_is_replaced_by_its_original(tmp_path: Path, rig: MakeRig) -> None:
    (tmp_path / "acl").write_text(
        f"topic read #\ntopic deny {TOPICS.event('play', 'action.taken')}\n"
        f"topic readwrite {TOPICS.base}/#\ntopic readwrite felt-test/#\n"
    )
    with MosquittoBroker(tmp_path, extra=f"acl_file {tmp_path / 'acl'}\n") as broker, rig(broker.port) as r:
        r.pump.start()
        r.play(3)
        wait_until(lambda: unsent(r) == 0)
        assert "record.withheld" in r.kinds()
        store = enrol(tmp_path, r.desk)
        follow(store, broker.port)
        assert stored(store) == r.bodies()
        assert "withheld" not in office("verify", store)


# ---------------------------------------------------------------- what is stored


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = new_desk(tmp_path / "table")
    with desk.open() as ledger:
        play(ledger)
    return desk


def bodies(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [body for (body,) in connection.execute("SELECT body FROM row ORDER BY row")]


def pinned(folder: Path, desk: Desk, *, test: bool = True, key: str = "signing.pub") -> SqliteStore:
    store = SqliteStore(folder / "office.db")
    store.pin(Pin(TABLE, test, load_verify_key(desk.folder / key).public_bytes_raw()))
    return store


def test_a_repeat_is_ignored_and_a_forgery_is_set_aside_and_stops_its_stream(tmp_path: Path, desk: Desk) -> None:
    everything = bodies(desk.path)
    with pinned(tmp_path, desk) as store:
        reader = Reader(store)
        reader.take(everything)
        reader.take([*everything[:5], *everything])
        assert (reader.counts.stored, reader.counts.repeated) == (len(everything), len(everything) + 5)
        other = everything[3].replace(b"}", b" }", 1)
        reader.take([other, other])
        assert stored(tmp_path / "office.db") == everything
        assert [(one.payload, one.reason) for one in store.refused(TABLE)] == [(other, "came again with other bytes")]
        (stopped,) = reader.forged
        assert "stop and look" in reader.forged[stopped]
        before = reader.counts.repeated
        reader.take(everything)
        still = sum(b'"source":"' + stopped.encode() + b'"' in one.replace(b": ", b":") for one in everything)
        assert reader.counts.repeated - before == len(everything) - still, "the other streams go on"
        assert verify_table(store, TABLE)[0].ok
    assert "set aside" in office("verify", tmp_path / "office.db")


@pytest.mark.ci
def test_after_a_forgery_other_streams_go_on_and_the_next_run_goes_on_with_all(
    broker: MosquittoBroker, rig: MakeRig, tmp_path: Path
) -> None:
    with rig(broker.port) as r:
        play(r.ledger, hands=2)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        store = enrol(tmp_path, r.desk)
        first = ("follow", store, "--broker", broker.uri)
        office(*first, "--until-quiet")
        office("enrol", store, "zg1/t08", "--key", r.desk.folder / "signing.pub", "--test")
        (one, *_) = [body for body in r.bodies() if b"/t07/play" in body]
        said = json.loads(one)
        other = one.replace(b"/felt/zg1/t07/", b"/felt/zg1/t08/")
        topic = TOPICS.event("play", said["type"])
        for where, payload in ((topic, one.replace(b"}", b" }", 1)), (topic.replace("t07", "t08"), other)):
            single(where, payload, qos=1, hostname="127.0.0.1", port=broker.port, retain=payload is other)
        told = office(*first, "--seconds", 6, code=6)
        assert f"/felt/zg1/t07/play {said['ledger']} {said['sequence']} came again with other bytes" in told
        assert other in stored(store), "the other table goes on"
        with closing(sqlite3.connect(store, isolation_level=None)) as connection:
            connection.execute("delete from pin where site_table like '%t08'")  # nobody answers for it: never quiet
        r.play(1)
        wait_until(lambda: unsent(r) == 0)
        office(*first, "--until-quiet")
        kept = [body for body in stored(store) if body != other]
        assert kept == r.bodies(), "what came meanwhile was asked for"
        new = tmp_path / "new"
        new.mkdir()
        follow(enrol(new, r.desk), broker.port)
        assert stored(new / "office.db") == r.bodies(), "where the stored one was the false one, a new store has it all"
    shown = office("verify", store, "zg1/t07")
    assert "set aside: /felt/zg1/t07/play" in shown
    assert shown.splitlines()[-1] == "whole; 1 set aside: stop and look"
    beside = json.loads(office("verify", store, "zg1/t07", "--json"))["refused"][TABLE]
    assert [(row["sequence"], row["reason"]) for row in beside] == [(said["sequence"], "came again with other bytes")]


def test_what_stands_in_and_its_original_in_either_order(tmp_path: Path, desk: Desk) -> None:
    everything = bodies(desk.path)
    stand_in = withheld(everything[4], "not_authorized")
    with pinned(tmp_path, desk) as store:
        reader = Reader(store)
        reader.take([*everything[:4], stand_in, *everything[5:]])
        (report,) = verify_table(store, TABLE)
        assert report.ok, "the chain is of the originals"
        assert any("withheld" in note for note in report.notes)
        reader.take([everything[4]])
        assert reader.counts.replaced == 1
        reader.take([stand_in])
        assert stored(tmp_path / "office.db") == everything


@pytest.mark.parametrize("pinned_as", ["live", "test"])
def test_a_verifier_of_one_mode_takes_nothing_of_the_other(tmp_path: Path, desk: Desk, pinned_as: str) -> None:
    live = tmp_path / "live"
    live.mkdir()
    keys = Keys(bytes(32), None, load_signing_key(desk.folder / "signing.key"))
    with Ledger.open(live / "t07.ledger", source=SOURCE, test=False, keys=keys) as ledger:
        play(ledger)
    events = {"live": bodies(live / "t07.ledger"), "test": bodies(desk.path)}
    with pinned(tmp_path, desk, test=pinned_as == "test") as store:
        reader = Reader(store)
        other = "test" if pinned_as == "live" else "live"
        reader.take(events[other])
        assert reader.counts.stored == 0
        assert list(reader.counts.reasons) == [f"{other} event of a {pinned_as} table"]
        reader.take(events[pinned_as])
        assert verify_table(store, TABLE)[0].ok
    command = ["enrol", tmp_path / "office.db", "zg1/t07", "--key", desk.folder / "signing.pub"]
    refused = office(*command, *([] if pinned_as == "test" else ["--test"]), code=2)
    assert "is enrolled as a" in refused
    mixed = office("enrol", tmp_path / "new.db", "zg1/t07", "--key", desk.folder / "signing.pub", code=2)
    assert "it signs rehearsals" in mixed


def test_events_under_another_key_are_faults(tmp_path: Path, desk: Desk) -> None:
    create_signing_key(desk.folder / "other.key", desk.folder / "other.pub")
    with pinned(tmp_path, desk, key="other.pub") as store:
        Reader(store).take(bodies(desk.path))
        (report,) = verify_table(store, TABLE)
        assert len(report.faults) == report.signatures > 0


def test_noise_and_strangers_are_counted_and_not_kept(tmp_path: Path, desk: Desk) -> None:
    with pinned(tmp_path, desk) as store:
        reader = Reader(store)
        stranger = bodies(desk.path)[0].replace(b"/felt/zg1/t07/", b"/felt/zg1/t99/")
        reader.take([b"", b"\xff", b"[]", b"{}", b'{"source":3}', stranger])
        assert reader.counts.reasons == {"no event": 5, "table is not enrolled": 1}


def archived(desk: Desk, *, goes_on: bool = True) -> list[Path]:
    """The ledger closed, archived and begun anew, with or without play; the files, oldest first."""
    with desk.open() as ledger:
        ledger.append([record("table.closed", hands=2)], WALL)
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as connection:
        connection.execute("UPDATE row SET acked = 1")
    with Ledger.open(
        desk.path, source=SOURCE, test=True, keys=desk.keys(), retention=Retention(archive_mb=0), wall_ns=WALL
    ) as ledger:
        if goes_on:
            play(ledger)
    (old,) = (desk.path.parent / "t07.ledger.archive").glob("*.ledger")
    return [old, desk.path]


def test_the_chain_goes_on_from_one_ledger_to_the_next(tmp_path: Path, desk: Desk) -> None:
    old, new = (bodies(path) for path in archived(desk))
    with pinned(tmp_path, desk) as store:
        reader = Reader(store)
        reader.take(new)
        reader.take(old[:-2])
        first, second = verify_table(store, TABLE)
        assert first.ok
        assert "removed: ledger" in second.faults[0].what, "nothing but the next ledger knows that the end is missing"
        reader.take(old)
        assert all(report.ok for report in verify_table(store, TABLE))


@pytest.mark.parametrize("heard", ["nothing of the new one", "the new one, before"])
@pytest.mark.ci
def test_the_end_of_an_archived_ledger_is_asked_for(
    broker: MosquittoBroker, rig: MakeRig, tmp_path: Path, heard: str
) -> None:
    with rig(broker.port) as r:
        play(r.ledger)
    desk = Desk(tmp_path / "table")
    store = enrol(tmp_path, desk)
    old, new = archived(desk)
    with open_store(str(store)) as kept:  # type: ignore[attr-defined]
        Reader(kept).take(bodies(old)[:-3])
        if heard == "the new one, before":
            Reader(kept).take(bodies(new))
    with rig(broker.port) as r:
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        follow(store, broker.port)
    assert "whole" in office("verify", store)


def granted(client: str, *files: Path) -> set[bytes]:
    """What a client may have of some ledgers."""
    every = [body for file in files for body in bodies(file)]
    return {body for body in every if json.loads(body)["source"].rpartition("/")[2] in GRANTS[client]}


@pytest.mark.parametrize(
    ("client", "goes_on"), [("office", True), ("office", False), ("accounting", True), ("accounting", False)]
)
@pytest.mark.ci
def test_a_new_ledger_is_found_whatever_is_in_it_and_whoever_asks(
    broker: MosquittoBroker, rig: MakeRig, tmp_path: Path, client: str, goes_on: bool
) -> None:
    """What the table retains names it; no snapshot, no event of ``play`` and no ``ledger.began`` is needed."""
    with rig(broker.port) as r:
        play(r.ledger)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        desk, store = r.desk, enrol(tmp_path, r.desk)
        us = "--client", client, "--streams", *sorted(GRANTS[client])
        follow(store, broker.port, *us)
        r.ledger.append([record("tray.counted", "cash", total=200)], WALL)
    broker.stop()  # it keeps nothing: what comes while we are away does not come by itself
    broker.start()
    old, new = archived(desk, goes_on=goes_on)
    with rig(broker.port) as r:
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        follow(store, broker.port, *us)
        assert set(stored(store)) == granted(client, old, new)
    assert "whole" in office("verify", store)


@pytest.mark.ci
def test_who_has_one_stream_has_the_end_of_each_ledger_that_is_stored(
    broker: MosquittoBroker, rig: MakeRig, tmp_path: Path
) -> None:
    """Also where the newer one was heard before: no event of this stream tells where the old one ended."""
    with rig(broker.port) as r:
        play(r.ledger)
        r.ledger.append([record("tray.counted", "cash", total=200)], WALL)
    desk = Desk(tmp_path / "table")
    store = enrol(tmp_path, desk)
    old, new = archived(desk)
    with open_store(str(store)) as kept:  # type: ignore[attr-defined]
        reader = Reader(kept)
        reader.take([body for body in bodies(old) if body in granted("accounting", old)][:1])
        reader.take(list(granted("accounting", new)))
    with rig(broker.port) as r:
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        follow(store, broker.port, "--client", "accounting", "--streams", "cash")
    assert set(stored(store)) == granted("accounting", old, new)


@pytest.mark.parametrize("client", ["office", "accounting"])
@pytest.mark.ci
def test_a_new_office_has_every_ledger_or_says_which_it_cannot_know(
    broker: MosquittoBroker, rig: MakeRig, tmp_path: Path, client: str
) -> None:
    with rig(broker.port) as r:
        play(r.ledger)
    desk = Desk(tmp_path / "table")
    old, new = archived(desk)
    with rig(broker.port) as r:
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        store = enrol(tmp_path, desk)
        told = follow(store, broker.port, "--client", client)
    said = office("verify", store)
    if client == "office":
        assert set(stored(store)) == granted(client, old, new)
        assert told["notes"] == []
        assert said.splitlines()[-1] == "whole"
    else:
        assert set(stored(store)) == granted(client, new)
        assert "without stream ops no event names the ledger before" in told["notes"][0]
        assert "whether another ledger came before it is not known" in said
        assert said.splitlines()[-1] == "whole; other ledgers may be missing, see the notes"


def test_a_ledger_that_is_named_and_not_stored_is_noted(tmp_path: Path, desk: Desk) -> None:
    old, new = archived(desk)
    with pinned(tmp_path, desk) as store:
        Reader(store).take(bodies(new))
    said = office("verify", tmp_path / "office.db")
    assert f"the ledger before it is not stored: {json.loads(bodies(old)[0])['ledger']}" in said
    assert said.splitlines()[-1] == "whole; other ledgers may be missing, see the notes"


@pytest.mark.parametrize("client", ["office", "accounting"])
@pytest.mark.ci
def test_who_names_a_ledger_that_there_is_not_hides_none(
    broker: MosquittoBroker, rig: MakeRig, tmp_path: Path, client: str
) -> None:
    with rig(broker.port) as r:
        play(r.ledger)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        for topic in (TOPICS.state, TOPICS.description):
            body = json.dumps({"ledger": "no such", "state": "ready", "session": 1, "test": True})
            single(topic, body, qos=1, hostname="127.0.0.1", port=broker.port, retain=True)
        store = enrol(tmp_path, r.desk)
        told = follow(store, broker.port, "--client", client)
        assert told["errors"]["unknown_ledger"] >= 1
        assert any("did not say which ledger" in note for note in told["notes"])
        assert set(stored(store)) == granted(client, r.desk.path)


@pytest.mark.ci
def test_what_a_table_cannot_read_keeps_nothing_else_from_the_office(
    broker: MosquittoBroker, rig: MakeRig, tmp_path: Path
) -> None:
    with rig(broker.port) as r:
        play(r.ledger, hands=20)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        there = [body for body in r.bodies() if not json.loads(body)["source"].endswith("/play")]
        there += [body for body in r.bodies() if json.loads(body)["source"].endswith("/play")][:69]
        rot(r.desk.path, GARBLED[0], 70)
        store = enrol(tmp_path, r.desk)
        where = ["--broker", f"mqtt://127.0.0.1:{broker.port}", "--seconds", "8", "--until-quiet"]
        office("follow", store, *where)
        assert sorted(stored(store)) == sorted(there)


# ---------------------------------------------------------------- a broker that goes away


@pytest.mark.parametrize(
    ("asked_for", "returns"), [("what nobody answers", False), ("nothing any more", False), ("nothing any more", True)]
)
@pytest.mark.ci
def test_until_quiet_ends_soon_after_the_broker_has_gone_and_does_not_call_that_quiet(
    broker: MosquittoBroker,
    rig: MakeRig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    asked_for: str,
    returns: bool,
) -> None:
    monkeypatch.setattr(cli, "AWAY_S", 30.0 if returns else 1.5)
    monkeypatch.setattr(cli, "QUIET_S", 4.0)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # those of the tests stay
    with rig(broker.port) as r:
        play(r.ledger)
        r.pump.start()
        wait_until(lambda: unsent(r) == 0)
        store = enrol(tmp_path, r.desk)
        if asked_for == "what nobody answers":
            office("enrol", store, "zg1/t08", "--key", r.desk.folder / "signing.pub", "--test")
        went: list[float] = []

        def go() -> None:
            wait_until(lambda: stored(store) == r.bodies(), 20, "all in the office")
            broker.stop()
            went.append(time.monotonic())
            if returns:
                r.play()
                broker.start()

        going = threading.Thread(target=go)
        going.start()
        code = cli.main(["follow", str(store), "--broker", broker.uri, "--until-quiet"])
        took = time.monotonic() - went[0]
        going.join(20)
        said = capsys.readouterr().err
        assert "the broker is away, trying again" in said
        if returns:
            assert code == cli.OK
            assert stored(store) == r.bodies()
        else:
            assert code == cli.USAGE
            assert "no good connection to the broker for 1.5 s" in said
            assert took < 20


# ---------------------------------------------------------------- checkpoints and sealed cards


def test_a_countersigned_checkpoint_finds_a_cut_tail_on_the_device(tmp_path: Path, desk: Desk) -> None:
    with pinned(tmp_path, desk) as store:
        Reader(store).take(bodies(desk.path))
    office("keys", tmp_path)
    seen = tmp_path / "checkpoint.json"
    office("checkpoint", tmp_path / "office.db", "zg1/t07", "--key", tmp_path / "office-key", "-o", seen)
    checkpoint = Checkpoint.from_json(seen)
    assert checkpoint.is_signed_by(load_verify_key(tmp_path / "office.pub"))
    assert not checkpoint.is_signed_by(load_verify_key(desk.folder / "signing.pub"))
    assert verify(desk.path, checkpoint=checkpoint).ok
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as cutter:
        cutter.execute("DELETE FROM row WHERE row > 20")
        cutter.execute("DELETE FROM head")
        cutter.execute(
            "INSERT INTO head (stream, sequence, sha256) SELECT stream, max(sequence), '' FROM row GROUP BY stream"
        )
    cut = verify(desk.path, checkpoint=checkpoint)
    assert any("the checkpoint has seen" in fault.what for fault in cut.faults)
    command = [sys.executable, "-m", "controller.cli", "verify", str(desk.path), "--checkpoint", str(seen)]
    feltd = subprocess.run(
        [*command, "--office-key", str(tmp_path / "office.pub")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert feltd.returncode == 4
    assert "the checkpoint has seen" in feltd.stdout
    seen.write_text(seen.read_text().replace('"sequence": "00000000000000', '"sequence": "00000000000001', 1))
    forged = subprocess.run(
        [*command, "--office-key", str(tmp_path / "office.pub")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert forged.returncode == 2
    assert "not countersigned" in forged.stderr


def test_faults_are_not_countersigned(tmp_path: Path, desk: Desk) -> None:
    with pinned(tmp_path, desk) as store:
        Reader(store).take([body for body in bodies(desk.path) if b'"row":"0000000000000009"' not in body])
        reports = verify_table(store, TABLE)
        with pytest.raises(Exception, match="is not countersigned"):
            heads(reports, "2026-11-30T20:00:00.000000Z")
    office("keys", tmp_path)
    office("checkpoint", tmp_path / "office.db", "zg1/t07", "--key", tmp_path / "office-key", code=4)


def test_the_auditor_opens_what_was_sealed_and_nobody_else(tmp_path: Path, desk: Desk) -> None:
    copy = tmp_path / "copy.ledger"
    shutil.copy(desk.path, copy)
    lines = [json.loads(line) for line in office("unseal", copy, "--key", desk.folder / "auditor.key").splitlines()]
    assert [line["sealed"]["card"] for line in lines] == [*CARDS, *CARDS]
    assert all(line["fits"] for line in lines)
    one = office("unseal", copy, "--key", desk.folder / "auditor.key", "--hand", "t07-20261130-0002")
    assert len(one.splitlines()) == 4
    other = new_desk(tmp_path / "other")
    refused = office("unseal", copy, "--key", other.folder / "auditor.key", code=2)
    assert "does not open this hand" in refused
    (desk.folder / "auditor.key").chmod(0o644)
    assert "others can read it" in office("unseal", copy, "--key", desk.folder / "auditor.key", code=2)


# ---------------------------------------------------------------- PostgreSQL


def postgres_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A PostgreSQL server of its own, on a socket in a folder."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg", reason="the extra 'postgresql' is not installed")
    # Not below pytest's own folder: that is closed to the account that the server needs.
    folder = Path(tempfile.mkdtemp(prefix="felt-postgres-"))
    run: dict[str, Any] = {"capture_output": True, "timeout": 60}
    if os.getuid() == 0:
        # The server refuses to run as root.
        account = pwd.getpwnam("postgres")
        run |= {"user": account.pw_uid, "group": account.pw_gid, "cwd": "/"}
        os.chown(folder, account.pw_uid, account.pw_gid)
    data = folder / "data"
    subprocess.run([programs / "initdb", "-D", data, "-A", "trust", "-U", "felt", "--no-sync"], check=True, **run)
    serve: list[str | Path] = [programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
    subprocess.run([*serve, "-o", f"-c listen_addresses='' -k {folder}", "start"], check=True, **run)
    try:
        yield f"postgresql:///postgres?host={folder}&user=felt"
    finally:
        subprocess.run([*serve, "-m", "fast", "stop"], check=True, **run)
        shutil.rmtree(folder)


def test_the_archive_on_postgresql_does_the_same(database: str, desk: Desk) -> None:
    everything = bodies(desk.path)
    store: Store = open_store(database, create=True)
    try:
        store.pin(Pin(TABLE, True, load_verify_key(desk.folder / "signing.pub").public_bytes_raw()))
        store.pin(Pin(TABLE, True, load_verify_key(desk.folder / "signing.pub").public_bytes_raw()))
        assert len(store.pins()) == 1
        reader = Reader(store)
        reader.take([everything[0], *everything[2:4], withheld(everything[4], "x"), *everything[5:]])
        reader.take(everything[2:3])
        ledger = json.loads(everything[0])["ledger"]
        source = json.loads(everything[1])["source"]
        assert store.gaps(source, ledger) == [
            (json.loads(everything[1])["sequence"] and int(json.loads(everything[1])["sequence"]),) * 2
        ]
        assert len(store.withheld(TABLE, ledger)) == 1
        reader.take(everything)
        assert [event.payload for event in store.events(TABLE, ledger)] == everything
        assert verify_table(store, TABLE)[0].ok
        other = everything[3].replace(b"}", b" }", 1)
        reader.take([other])
        assert [one.payload for one in store.refused(TABLE)] == [other]
    finally:
        store.close()


def test_a_screen_sees_how_a_running_table_stands(tmp_path: Path, broker: MosquittoBroker) -> None:
    create_signing_key(tmp_path / "signing.key", tmp_path / "signing.pub", test=True)
    more = f'[broker]\nuri = "{broker.uri}"\n'
    store = tmp_path / "office.db"
    office("enrol", store, "zg1/t07", "--key", tmp_path / "signing.pub", "--test")
    now = ("now", store, "--broker", broker.uri, "--seconds", 20)
    with Running(write_config(tmp_path, more=more)) as daemon:
        daemon.do("open", button=1)
        daemon.do("seat", seat=2, stack=20_000, player="p2")
        wanted = [{"seat": 2, "stack": 20_000, "away": False, "player": "p2"}]
        wait_until(lambda: json.loads(office(*now))[TABLE]["seats"] == wanted, 30, "the seat on the screen")
        shown = json.loads(office(*now))[TABLE]
        assert shown["session"]
        assert shown["hand"] is None
        assert daemon.stop() == 0
    assert json.loads(office(*now))[TABLE]["ledger"] == shown["ledger"]


def test_a_snapshot_shows_what_the_office_has_missed(tmp_path: Path, broker: MosquittoBroker, rig: MakeRig) -> None:
    with rig(broker.port) as r, closing(SqliteStore(tmp_path / "store")) as store:
        store.pin(Pin(TABLE, test=True, key=bytes(32)))
        play(r.ledger)
        reader = Reader(store)
        asking = Asking(store, reader, {TABLE: TOPICS}, "office", ("play",))
        head = r.ledger.head("play").sequence
        body = json.dumps({"ledger": r.ledger.id, "sequence": f"{head:016d}", "test": True}).encode()
        assert asking.shown(TOPICS.snapshot, body)
        assert asking.shown(TOPICS.snapshot, body)
        assert reader.tails == [(f"{TABLE}/play", r.ledger.id, 1, head)]
        assert not asking.shown(f"{TOPICS.base}/play/hand/started", body)
