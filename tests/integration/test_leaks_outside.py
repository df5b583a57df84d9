"""What a real daemon lets out of its process: messages, log at debug, numbers, answers, crash. Twice, with other cards.

The same keys are pressed at two tables, the closed cards are others. A subscriber, a reader of the log, of the metrics
and of the socket must not be able to tell which table it was until the first closed card is turned over.
"""

import json
import re
import signal
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.ledger.keys import create_auditor_key, create_signing_key, load_auditor_key
from controller.ledger.reading import read_records
from simulators.broker import MosquittoBroker, free_port
from simulators.rigs import Host
from tests.leaking import CARD, HASH, SALT
from tests.running import Running, write_config
from tests.subscribers import Heard, Subscriber
from tests.waiting import wait_until

pytestmark = [pytest.mark.wires, pytest.mark.timeout(180)]

ONE = ["2c", "2d", "7h", "7s", "9c", "Jd", "Ah", "Kd", "3s", "4c", "5c", "8d", "6h", "Th"]
OTHER = ["As", "Ad", "Ac", "Qh", "Qd", "Qs", "8s", "Kd", "3s", "4c", "9h", "8d", "Ts", "Th"]
"""The common cards are the same; own cards and those that are burnt are not."""
BOARD = {"Kd", "3s", "4c", "8d", "Th"}
KEPT_BY_TIME = frozenset({"t_ms", "elapsed_ms", "held_ms", "duration_ms", "time", "at"})
HASHES = frozenset({"prev", "sha256", "signature", "commit", "id", "row", "sequence", "refers"})
SECRETS = frozenset({"salt", "seed"})
MORE = """
[ledger]
signing_key = "{folder}/signing-key"
auditor_public_key = "{folder}/auditor.pub"
[broker]
uri = "{uri}"
[metrics]
port = {port}
"""


@dataclass(slots=True)
class Outside:
    """All that one table has shown of itself."""

    heard: list[Heard] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    crash: str = ""
    secrets: list[Mapping[str, Any]] = field(default_factory=list)


class Felt:
    """A real table at which a hand is played to its showdown, and what is seen of it meanwhile."""

    def __init__(self, folder: Path, cards: list[str]) -> None:
        folder.mkdir()
        self.port, self.outside = free_port(), Outside()
        create_signing_key(folder / "signing-key", folder / "signing.pub", test=True)
        create_auditor_key(folder / "auditor-key", folder / "auditor.pub")
        drivers = {"shoe0": "shoe", "keys0": "keypad"}
        devices = [{"name": name, "driver": driver} for name, driver in drivers.items()]
        with MosquittoBroker(folder) as broker, Subscriber(broker.port) as subscriber:
            with Host(devices, folder / "host.sock") as self.host:
                uris = {name: (drivers[name], uri) for name, uri in self.host.uris.items()}
                config = write_config(folder, uris, "seed = 7")
                more = MORE.format(folder=folder, uri=broker.uri, port=self.port)
                config.write_text(config.read_text() + more, encoding="utf-8")
                with Running(config, "-v") as self.daemon:
                    self.play(cards)
                    rows = len(self.daemon.records())
                    wait_until(lambda: len(subscriber.first_sights()) >= rows, what="all published")
                    before = self.daemon.log.stat().st_size
                    self.daemon.process.send_signal(signal.SIGABRT)  # what a watchdog does
                    self.daemon.process.wait(20)
                    self.outside.crash = self.daemon.log.read_text(encoding="utf-8")[before:]
            self.outside.log = self.daemon.lines()
            self.outside.heard = list(subscriber.heard)
        auditor = load_auditor_key(folder / "auditor-key")
        records = read_records(self.daemon.ledger, auditor=auditor)
        self.outside.secrets = [record.secret for record in records if record.secret]

    def play(self, cards: list[str]) -> None:
        self.daemon.do("login", staff="s-01", role="dealer")
        self.daemon.do("open", button=3)
        for seat in (1, 2, 3):
            self.daemon.do("seat", seat=seat, stack=20_000)
        self.host.do("load", "shoe0", cards=cards)
        for device in ("keys0", "shoe0"):
            wait_until(lambda name=device: self.daemon.status["devices"].get(name) == "up", what=device)  # type: ignore[misc]
        self.act("phase", "deal", "HAND")
        self.slide(6)
        for number, keys in enumerate((["CALL"], ["CALL"], ["CHECK"]), 1):
            self.act("actions", number, *keys)
        self.slide(4)
        for number, keys in enumerate((["CHECK"], ["BET", "4", "ENTER"], ["FOLD"], ["CALL"]), 4):
            self.act("actions", number, *keys)
        for count in (8, 10):
            self.slide(2)
            self.act("actions", count, "CHECK")
            self.act("actions", count + 1, "CHECK")
        self.act("phase", "showdown")

    def slide(self, count: int) -> None:
        cards = self.hand()["cards"]
        for number in range(cards + 1, cards + count + 1):
            self.host.do("slide", "shoe0")
            self.act("cards", number)

    def act(self, name: str, becomes: object, *keys: str) -> None:
        for key in keys:
            self.host.do("press", "keys0", key=key)
            self.host.do("release", "keys0", key=key)
        wait_until(lambda: self.hand()[name] == becomes, what=f"{name} {becomes} after {keys}")
        self.outside.answers.append(self.daemon.tell("status"))
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as page:
            self.outside.numbers.append(page.read().decode())

    def hand(self) -> dict[str, Any]:
        hand: dict[str, Any] | None = self.daemon.status["hand"]
        return hand or {"actions": -1, "cards": -1, "phase": ""}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outside, Outside]:
    folder = tmp_path_factory.mktemp("outside")
    return Felt(folder / "one", ONE).outside, Felt(folder / "other", OTHER).outside


def texts(outside: Outside) -> Iterator[tuple[str, str]]:
    """Everything that was shown, and where."""
    for heard in outside.heard:
        yield f"{heard.topic} {heard.event.get('type')}", heard.body.decode()
        yield f"{heard.topic} label", json.dumps(heard.labels)
    for line in outside.log:
        yield f"log {line['event']}", json.dumps({k: v for k, v in line.items() if k != "timestamp"})
    for number in outside.numbers:
        yield "metrics", number
    for answer in outside.answers:
        yield "status", json.dumps(answer)
    yield "crash", outside.crash


def test_nothing_card_shaped_leaves_and_no_secret_whatever_its_shape(tables: tuple[Outside, Outside]) -> None:
    for outside in tables:
        secrets = {str(value) for secret in outside.secrets for name, value in secret.items() if name in SECRETS}
        assert len(secrets) > len(ONE) - len(BOARD)  # salts, and the hand's seed
        for where, text in texts(outside):
            assert not set(CARD.findall(text)) - BOARD, where
            assert not SALT.findall(text), where
            assert not [secret for secret in secrets if secret in text], where
            if not where.startswith("felt-test/"):
                assert not HASH.findall(text), where


def test_a_crash_tells_where_the_threads_were_and_no_value(tables: tuple[Outside, Outside]) -> None:
    for outside in tables:
        assert "Fatal Python error: Aborted" in outside.crash
        assert "controller/corethread.py" in outside.crash
        assert not re.search(r"CardSeen|card=|secret", outside.crash)


def test_a_subscriber_cannot_tell_the_two_tables_apart(tables: tuple[Outside, Outside]) -> None:
    one, other = ([*_messages(outside)] for outside in tables)
    assert len(one) > 30
    for left, right in zip(one, other, strict=True):
        assert left == right


def _messages(outside: Outside) -> Iterator[Any]:
    """What came from the start of the hand on: topic, size and content without time and hashes, in order."""
    begun = False
    for heard in outside.heard:
        begun = begun or heard.topic.endswith("/hand/started")
        if begun and "/play/" in heard.topic:
            content = _masked(heard.event)
            size = len(heard.body) - sum(len(str(v)) for n, v in _numbers(heard.event) if n in KEPT_BY_TIME)
            yield heard.topic, sorted(heard.labels), size, content


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        hidden = KEPT_BY_TIME | HASHES
        return {name: "#" if name in hidden else _masked(inner) for name, inner in value.items()}
    return [_masked(inner) for inner in value] if isinstance(value, list) else value


def _numbers(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from _numbers(inner)


def test_answers_log_and_numbers_cannot_tell_them_apart_either(tables: tuple[Outside, Outside]) -> None:
    one, other = tables
    assert [_masked(answer) for answer in one.answers] == [_masked(answer) for answer in other.answers]
    assert _recorded(one) == _recorded(other)
    assert _said_beside(one) == _said_beside(other)
    assert [_names(page) for page in one.numbers] == [_names(page) for page in other.numbers]


def _hand_log(outside: Outside) -> Iterator[dict[str, Any]]:
    """The log from the start of the hand on, without times."""
    begun = False
    for line in outside.log:
        begun = begun or "hand.started" in line.get("types", ())
        if begun and line["event"] != "ledger checked":
            yield {name: value for name, value in line.items() if name != "timestamp"}


def _recorded(outside: Outside) -> list[str]:
    """What the core recorded, in its order. Inputs that waited together share a line; devices tell theirs in time."""
    lines = [line for line in _hand_log(outside) if line["event"] == "recorded"]
    return [kind for line in lines for kind in line["types"] if not kind.startswith("device.")]


def _said_beside(outside: Outside) -> set[str]:
    """What else the log said, however often."""
    return {json.dumps(line, sort_keys=True) for line in _hand_log(outside) if line["event"] != "recorded"}


def _names(page: str) -> list[str]:
    """The numbers' names and labels; their values count messages and bytes and follow time."""
    return [line.rpartition(" ")[0] for line in page.splitlines()]
