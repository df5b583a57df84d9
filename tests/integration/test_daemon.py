"""The daemon as a process: its start, its socket, its devices, its end, and what a crash leaves behind."""

import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from controller.access import TRIES
from controller.configuration import stafffile
from controller.contract.integrity import key_id
from controller.ledger.keys import create_auditor_key, load_auditor_key
from controller.ledger.verify import verify
from simulators.broker import MosquittoBroker
from simulators.rigs import Host
from tests.running import ROOT, Running, write_config
from tests.waiting import wait_until

pytestmark = [pytest.mark.wires, pytest.mark.timeout(120)]

DECK = ["2c", "2d", "7h", "7s", "9c", "Jd", "Ah", "Kd", "3s", "4c", "5c", "8d"]


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Running]:
    """A daemon without devices and broker."""
    with Running(write_config(tmp_path)) as daemon:
        yield daemon


class Table:
    """A daemon with a simulated shoe and keypad."""

    def __init__(self, folder: Path) -> None:
        drivers = {"shoe0": "shoe", "keys0": "keypad"}
        devices = [{"name": name, "driver": driver} for name, driver in drivers.items()]
        self.host = Host(devices, folder / "host.sock")
        self.config = write_config(folder, {name: (drivers[name], uri) for name, uri in self.host.uris.items()})
        self.daemon = Running(self.config)

    def open(self) -> None:
        self.daemon.do("login", staff="s-01", role="dealer")
        self.daemon.do("open", button=3)
        for seat in (1, 2, 3):
            self.daemon.do("seat", seat=seat, stack=20_000, player=f"p{seat}")
        self.host.do("load", "shoe0", cards=DECK)
        wait_until(lambda: self.daemon.status["devices"].get("keys0") == "up", what="keypad up")
        wait_until(lambda: self.daemon.status["devices"].get("shoe0") == "up", what="shoe up")

    def key(self, *keys: str) -> None:
        for key in keys:
            self.host.do("press", "keys0", key=key)
            self.host.do("release", "keys0", key=key)

    def hand(self) -> dict[str, Any]:
        hand: dict[str, Any] | None = self.daemon.status["hand"]
        return hand or {"actions": -1, "cards": -1, "phase": "", "to_act": None}

    def slide(self, count: int) -> None:
        before = self.hand()["cards"]
        for _ in range(count):
            self.host.do("slide", "shoe0")
        wait_until(lambda: self.hand()["cards"] == before + count, what=f"{count} cards on record")

    def deal(self) -> None:
        self.key("HAND")
        wait_until(lambda: self.hand()["phase"] == "deal", what="hand begun")
        self.slide(6)

    def act(self, *keys: str) -> None:
        before = self.hand()["actions"]
        self.key(*keys)
        wait_until(lambda: self.hand()["actions"] == before + 1, what=f"{keys} on record")

    def close(self) -> None:
        self.daemon.kill()
        self.host.stop()


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    table = Table(tmp_path)
    try:
        yield table
    finally:
        table.close()


def test_start_says_ready_and_how_long_it_took(quiet: Running) -> None:
    ready = quiet.ready
    assert ready["table"] == "t07"
    assert ready["after_ms"] > 0
    assert 0 < ready["memory_mb"] < 80
    started = quiet.records("daemon.started")[0].data
    assert started["reason"] == "start"
    assert len(started["config_sha256"]) == len(started["profile_sha256"]) == 64
    assert started["auditor_key"] is None


def test_an_orderly_end_is_recorded_and_leaves_no_socket(quiet: Running) -> None:
    quiet.do("open")
    assert quiet.stop() == 0
    assert not quiet.socket.exists()
    assert [r.data["reason"] for r in quiet.records("daemon.stopped")] == ["SIGTERM"]
    assert verify(quiet.ledger).ok


def test_systemd_hears_ready_and_stopping(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(10)
        with Running(write_config(tmp_path), environ={"NOTIFY_SOCKET": str(tmp_path / "notify")}) as daemon:
            assert manager.recv(1000).startswith(b"READY=1")
            assert manager.recv(1000) == b"WATCHDOG=1"
            assert daemon.stop() == 0
        heard = [manager.recv(1000)]
        while heard[-1] != b"STOPPING=1":
            heard.append(manager.recv(1000))


def test_commands_are_recorded_under_the_person_who_logged_in(quiet: Running) -> None:
    quiet.do("open")
    quiet.do("login", staff="s-01", role="dealer")
    quiet.do("seat", seat=1, stack=20_000)
    by = [r.data["by"] for r in quiet.records("chips.bought")]
    assert by == [[{"staff": "s-01", "role": "dealer"}]]


def test_a_refusal_a_mistake_and_a_stranger_are_told_apart(quiet: Running) -> None:
    refused = quiet.tell("seat", seat=1)
    assert refused["ok"] is False
    assert refused["refused"][0]["what"] == "no_session"
    assert quiet.tell("seat", seat=77)["error"]["field"] == "seat"
    assert quiet.tell("dance")["error"]["field"] == "command"
    assert quiet.tell("seat", "s-09", seat=1)["error"] == {
        "field": "by",
        "value": "s-09",
        "remedy": "log in first: feltd login STAFF ROLE",
    }


def test_noise_at_the_socket_harms_nobody(quiet: Running) -> None:
    for noise in (b"\xff\xfe\n", b"[]\n", b'{"command": 3}\n', b'{"command":"seat","extra":1}\n', b"x" * 70_000):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(10)
            peer.connect(str(quiet.socket))
            peer.sendall(noise)
            assert b'"ok": false' in peer.recv(65536)
    assert quiet.status["table"] == "t07"


def test_idle_clients_lock_nobody_out(quiet: Running) -> None:
    peers = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(40)]
    try:
        for peer in peers:
            peer.connect(str(quiet.socket))
        assert quiet.status["table"] == "t07"
    finally:
        for peer in peers:
            peer.close()


@pytest.mark.parametrize(
    "line",
    [
        b'{"command":"login","args":{"staff":"\\udc00x","role":"dealer"}}',
        b'{"command":"close","reason":"\\ud800"}',
        b'{"command":"attest","args":{"rule":"CM-20","statement":NaN}}',
        b'{"command":"report","args":{"rule":"CM-20"},"reason":"' + b"x" * 65_000 + b'"}',
        b'{"command":"seat","args":{"seat":1,"stak":20000}}',
        b"[" * 60_000,
    ],
)
def test_bad_text_is_refused_and_the_table_goes_on(quiet: Running, line: bytes) -> None:
    quiet.do("open")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(10)
        peer.connect(str(quiet.socket))
        peer.sendall(line + b"\n")
        assert b'"ok": false' in peer.recv(65536)
    quiet.do("seat", seat=1, stack=20_000)
    assert quiet.stop() == 0


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [("rs_holdem", "hr_thp", "profile"), ("seats = 6", "seats = 5", "seats"), ("5%", "10%", "profile")],
)
@pytest.mark.ci
def test_an_open_table_is_not_played_on_under_other_rules(tmp_path: Path, old: str, new: str, named: str) -> None:
    config = write_config(tmp_path, more='override = { "rake.rate" = "5%", "rake.rounding" = 100 }')
    with Running(config) as daemon:
        daemon.do("open")
        daemon.kill()
        rows = _beside_meters(daemon)
    was = config.read_text(encoding="utf-8")
    config.write_text(was.replace(old, new), encoding="utf-8")
    refused = subprocess.run(
        [sys.executable, "-m", "controller.cli", "run", "-c", str(config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"feltd: {named}: ")
    assert "close the table, then change it" in refused.stderr
    config.write_text(was, encoding="utf-8")
    with Running(config) as daemon:
        assert _beside_meters(daemon) == rows + 3  # started, test.entered, recovered: the refusal wrote none
        assert daemon.status["session"] is not None
        daemon.do("close")
        assert daemon.stop() == 0
    config.write_text(was.replace(old, new), encoding="utf-8")
    with Running(config) as daemon:
        assert daemon.stop() == 0


def _beside_meters(daemon: Running) -> int:
    """How much is on record, whatever the hour: with each new one the meters are read."""
    return sum(record.type != "meter.read" for record in daemon.records())


def test_a_second_daemon_is_refused(quiet: Running) -> None:
    again = subprocess.run(
        [sys.executable, "-m", "controller.cli", "run", "-c", str(quiet.folder / "table.toml")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert again.returncode == 2
    assert f"socket.path: '{quiet.socket}': is another daemon's: process {quiet.process.pid} has it" in again.stderr
    assert quiet.status["table"] == "t07"


def test_speed_is_refused_outside_test_mode(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    keys = subprocess.run([sys.executable, "-m", "controller.cli", "keys", str(tmp_path)], cwd=ROOT, check=True)
    assert keys.returncode == 0
    stafffile.save(tmp_path / "staff", {})
    text = config.read_text().replace("test = true", "test = false")
    text += f"""
[access]
staff = "{tmp_path}/staff"
[broker]
uri = "mqtt://127.0.0.1:1"
[ledger]
device_key = "{tmp_path}/device-key"
signing_key = "{tmp_path}/signing-key"
auditor_public_key = "{tmp_path}/auditor.pub"
[devices.shoe0]
driver = "shoe"
uri = "usb://1209:0001"
channels = {{ "0" = "shoe" }}
[devices.keys0]
driver = "keypad"
uri = "usb://1209:0002"
"""
    config.write_text(text)
    command = [sys.executable, "-m", "controller.cli"]
    asked: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 30}
    checked = subprocess.run([*command, "check", "-c", str(config)], check=False, **asked)
    assert checked.returncode == 0, checked.stdout
    fast = subprocess.run([*command, "run", "-c", str(config), "--test-speed", "10"], check=False, **asked)
    assert fast.returncode == 2
    assert "--test-speed: 10.0: is for test mode only" in fast.stderr


def test_a_device_that_is_missing_at_the_start_is_told_and_waited_for(tmp_path: Path) -> None:
    with (
        Host([{"name": "keys0", "driver": "keypad", "plugged": False}], tmp_path / "host.sock") as host,
        Running(write_config(tmp_path, {"keys0": ("keypad", host.uris["keys0"])})) as daemon,
    ):
        wait_until(lambda: daemon.records("device.lost"), what="device.lost")
        assert daemon.records("device.lost")[0].data["cause"] == "missing"
        daemon.do("open")
        host.do("plug", "keys0")
        wait_until(lambda: daemon.records("device.up"), what="device.up")
        assert daemon.stop() == 0


def test_a_hand_from_the_wire_to_the_ledger(table: Table) -> None:
    table.open()
    table.deal()
    table.act("CALL")
    table.act("FOLD")
    table.act("CHECK")
    table.slide(4)
    table.act("CHECK")
    table.act("BET", "4", "ENTER")
    table.act("FOLD")
    wait_until(lambda: table.hand()["phase"] == "award", what="award")
    table.key("DONE")
    wait_until(lambda: table.daemon.records("hand.closed"), what="hand.closed")
    result = table.daemon.records("hand.closed")[0].data["result"]
    assert {line["seat"]: line["net"] for line in result["seats"]} == {1: -100, 2: -200, 3: 300}
    wait_until(lambda: table.host.do("state", "shoe0")["unconfirmed"] == 0, what="every card acknowledged")
    assert table.daemon.records("breach.noted", "incident.opened") == []
    assert table.daemon.stop() == 0
    assert verify(table.daemon.ledger).ok


def test_kill_in_the_middle_of_a_hand_loses_nothing(table: Table) -> None:
    table.open()
    table.key("HAND")
    wait_until(lambda: table.hand()["phase"] == "deal", what="hand begun")
    table.slide(4)
    before = table.daemon.status
    rows = [record.data for record in table.daemon.records()]
    table.daemon.kill()
    # Cards go on leaving the shoe while nobody listens; it keeps them.
    table.host.do("slide", "shoe0")
    table.host.do("slide", "shoe0")
    table.daemon = Running(table.config)
    wait_until(lambda: table.hand()["cards"] == 6, what="the cards of the meantime")
    after = table.daemon.status
    assert after["hand"]["hand"] == before["hand"]["hand"]
    assert [record.data for record in table.daemon.records()][: len(rows)] == rows
    assert after["seats"] == before["seats"]
    assert after["staff"] == before["staff"]
    started = table.daemon.records("daemon.started")[-1].data
    assert started["reason"] == "recovery"
    assert started["open_hand"] == before["hand"]["hand"]
    assert table.daemon.records("recovery.completed")[0].data["gap_ms"] >= 0
    wait_until(lambda: table.daemon.status["devices"] == {"keys0": "up", "shoe0": "up"}, what="devices up")
    table.act("FOLD")
    table.act("FOLD")
    table.key("DONE")
    wait_until(lambda: table.daemon.records("hand.closed"), what="hand.closed")
    dealt = [record.data for record in table.daemon.records("card.dealt")]
    assert [(card["slot"], card["seat"]) for card in dealt] == [(i, (1, 2, 3)[i % 3]) for i in range(6)]
    assert table.daemon.stop() == 0
    assert verify(table.daemon.ledger).ok


def test_a_card_whose_acknowledgement_was_lost_counts_once(table: Table) -> None:
    """The ledger has the card, the shoe does not know: killed between the commit and the ACK."""
    table.open()
    table.key("HAND")
    wait_until(lambda: table.hand()["phase"] == "deal", what="hand begun")
    table.host.do("slide", "shoe0")
    table.host.do("deaf", "shoe0")  # from here on the shoe hears nothing: the ACK of the last card cannot arrive
    wait_until(lambda: table.hand()["cards"] == 1, what="the card on record")
    table.daemon.kill()
    table.host.do("hear", "shoe0")
    table.daemon = Running(table.config)
    wait_until(lambda: table.host.do("state", "shoe0")["unconfirmed"] == 0, what="the card confirmed after all")
    table.slide(1)
    assert len(table.daemon.records("card.dealt")) == 2
    assert table.daemon.records("incident.opened", "breach.noted") == []


def test_an_append_that_fails_for_good_ends_the_process_with_a_clear_error(quiet: Running) -> None:
    quiet.do("open")
    with closing(sqlite3.connect(quiet.ledger, isolation_level=None)) as spoiler:
        # Whatever the daemon writes from now on is refused by the file itself, as a full disk would.
        spoiler.execute("CREATE TRIGGER full BEFORE INSERT ON row BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        answer = quiet.tell("seat", seat=1)
        assert answer["error"]["field"] == "ledger"
        assert quiet.process.wait(20) == 1
        last = [line for line in quiet.lines() if line["level"] == "critical"][-1]
        assert "nothing was stored" in last["error"]
        spoiler.execute("DROP TRIGGER full")
    assert quiet.records("seat.taken") == []
    with Running(quiet.folder / "table.toml") as again:
        assert again.status["session"]
        assert again.do("seat", seat=1) == ["seat.taken"]


def test_events_reach_a_broker_that_comes_late(tmp_path: Path) -> None:
    broker = MosquittoBroker(tmp_path)
    config = write_config(tmp_path)
    config.write_text(config.read_text() + f'[broker]\nuri = "{broker.uri}"\n')
    with Running(config) as daemon:
        daemon.do("open")
        wait_until(lambda: daemon.records("link.lost"), what="link.lost")
        with broker:
            wait_until(lambda: daemon.records("link.restored"), 40, what="link.restored")

            def unsent() -> int:
                with closing(sqlite3.connect(daemon.ledger)) as ledger:
                    (count,) = ledger.execute("SELECT count(*) FROM row WHERE acked = 0").fetchone()
                return int(count)

            wait_until(lambda: unsent() == 0, 20, what="everything delivered")
            assert daemon.stop() == 0


def test_another_auditors_key_is_told_and_confirmed_by_two(tmp_path: Path) -> None:
    """Whoever exchanges it could open every closed card from then on: no start takes it silently."""
    config, public = write_config(tmp_path), tmp_path / "auditor.pub"
    pin, names = "471102", ("s-01", "s-02")
    stafffile.save(tmp_path / "staff", {name: stafffile.Member.new(name, ("inspector",), pin) for name in names})
    create_auditor_key(tmp_path / "first", public)
    more = f'[access]\nstaff = "{tmp_path}/staff"\n[ledger]\nauditor_public_key = "{public}"\n'
    config.write_text(config.read_text() + more)

    def confirmed(daemon: Running) -> None:
        for name in names:
            assert daemon.tell("login", staff=name, role="inspector", pins={name: pin})["ok"]
            assert daemon.tell("confirm", name, pins={name: pin})["ok"]

    def logged_in(daemon: Running) -> None:
        assert daemon.tell("login", staff="s-01", role="inspector", pins={"s-01": pin})["ok"]

    with Running(config) as daemon:
        confirmed(daemon)
        assert daemon.stop() == 0
    with Running(config) as daemon:
        logged_in(daemon)
        assert "table.opened" in daemon.do("open"), "the same key is not asked for again"
        daemon.do("close")
        assert daemon.stop() == 0
    public.unlink()
    create_auditor_key(tmp_path / "second", public)
    with Running(config) as daemon:
        logged_in(daemon)
        refused = daemon.tell("open")["refused"]
        assert "the configuration is new" in str(refused)
        confirmed(daemon)
        assert "table.opened" in daemon.do("open")
        started = [record.data for record in daemon.records("daemon.started")]
        assert daemon.stop() == 0
    keys = [load_auditor_key(tmp_path / name).public_key() for name in ("first", "first", "second")]
    assert [one["auditor_key"] for one in started] == [key_id(key.public_bytes_raw()) for key in keys]
    assert started[0]["to_confirm"] == started[1]["to_confirm"] != started[2]["to_confirm"]
    assert verify(tmp_path / "t07.ledger").ok


@pytest.mark.ci
def test_a_table_with_a_staff_file_believes_nobody_without_a_pin(tmp_path: Path) -> None:
    """Over the real socket, from the command line; the PIN stands in no file and in no log afterwards."""
    pin, command = "471102", [sys.executable, "-m", "controller.cli"]
    people = {name: stafffile.Member.new(name, ("inspector",), pin) for name in ("s-01", "s-02")}
    stafffile.save(tmp_path / "staff", people)
    config = write_config(tmp_path)
    config.write_text(config.read_text() + f'[access]\nstaff = "{tmp_path}/staff"\n')

    def feltd(*words: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
        asked = [*command, *words, "-c", str(config), "--pin-stdin"]
        return subprocess.run(asked, cwd=ROOT, input=typed, capture_output=True, text=True, timeout=30, check=False)

    with Running(config, "-v") as daemon:
        assert daemon.tell("open")["error"]["field"] == "by"
        assert feltd("login", "s-01", "inspector", typed="000001\n").returncode == 2
        assert feltd("login", "s-01", "inspector", typed=f"{pin}\n").returncode == 0
        refused = feltd("open")
        assert refused.returncode == 1
        assert "the configuration is new" in refused.stderr
        assert feltd("confirm").returncode == 0
        assert feltd("confirm").returncode == 2
        assert feltd("login", "s-02", "inspector", typed=f"{pin}\n").returncode == 0
        assert feltd("confirm").returncode == 0
        assert feltd("open").returncode == 0
        told = [(r.data["staff"], r.data["result"]) for r in daemon.records("staff.login")]
        assert told == [("s-01", "denied"), ("s-01", "ok"), ("s-02", "ok")]
        assert daemon.stop() == 0
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file() and path.name != "table.toml")
    assert pin.encode() not in kept


@pytest.mark.ci
def test_whoever_is_locked_out_stays_so_when_the_daemon_is_killed(tmp_path: Path) -> None:
    stafffile.save(tmp_path / "staff", {"s-01": stafffile.Member.new("s-01", ("inspector",), "471102")})
    config = write_config(tmp_path)
    config.write_text(config.read_text() + f'[access]\nstaff = "{tmp_path}/staff"\n')

    def login(pin: str) -> dict[str, Any]:
        return daemon.tell("login", staff="s-01", role="inspector", pins={"s-01": pin})

    with Running(config) as daemon:
        with ThreadPoolExecutor(TRIES) as at_once:
            list(at_once.map(login, ["000001"] * TRIES))
        wait_until(lambda: len(daemon.records("staff.login")) == TRIES, what="all on record")
    with Running(config) as daemon:
        assert "locked out" in login("471102")["error"]["remedy"]
        assert [r.data["result"] for r in daemon.records("staff.login")] == ["denied"] * TRIES + ["locked"]


def test_a_ledger_that_is_moved_away_holds_new_hands_and_serves_no_second_daemon(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    with Running(config) as daemon:
        daemon.do("open", button=1)
        away = daemon.ledger.with_name("away.ledger")
        for ending in ("", "-wal", "-shm"):
            daemon.ledger.with_name(daemon.ledger.name + ending).rename(away.with_name(away.name + ending))
        wait_until(lambda: daemon.status["incidents"], what="an incident")
        (incident,) = daemon.status["incidents"]
        assert (incident["code"], incident["kind"]) == ("I-32", "ledger_fault")
        assert [one["what"] for one in daemon.status["missing"] if one["what"] == "held"], "no new hand begins"
        other = tmp_path / "other"
        other.mkdir()
        text = config.read_text(encoding="utf-8") + f'[ledger]\nfile = "{away}"\n'
        (other / "table.toml").write_text(text.replace(f'state_dir = "{tmp_path}"', f'state_dir = "{other}"'))
        command = [sys.executable, "-m", "controller.cli", "run", "-c", str(other / "table.toml")]
        second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode != 0
        assert "under the name that the file had before" in second.stderr
        for ending in ("", "-wal", "-shm"):
            away.with_name(away.name + ending).rename(daemon.ledger.with_name(daemon.ledger.name + ending))
        assert daemon.stop() == 0
    assert verify(daemon.ledger).ok


def test_a_second_daemon_of_a_table_is_refused_whichever_ledger_it_is_given(tmp_path: Path) -> None:
    with Running(write_config(tmp_path)) as daemon:
        other = tmp_path / "other.toml"
        text = (tmp_path / "table.toml").read_text(encoding="utf-8")
        other.write_text(f'{text}[ledger]\nfile = "{tmp_path / "other.ledger"}"\n', encoding="utf-8")
        command = [sys.executable, "-m", "controller.cli", "run", "-c", str(other)]
        second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode != 0
        assert f"process {daemon.process.pid} has it" in second.stderr
        assert f"socket.path: '{daemon.socket}'" in second.stderr, "it is the socket that is taken, not the ledger"
        assert not (tmp_path / "other.ledger").exists()
        assert daemon.status["table"] == "t07"
