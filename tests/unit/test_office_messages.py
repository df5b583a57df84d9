"""Whatever comes over MQTT, the back office refuses or stores it, and goes on: for every kind of topic."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paho.mqtt.client import MQTTMessage

from backoffice import messages
from backoffice.following import Connection, Listener
from backoffice.sqlite import SqliteStore
from backoffice.store import Pin
from backoffice.sums import sums_of
from backoffice.verifying import verify_table
from controller.contract.catalogue import DATA
from controller.contract.topics import STREAMS, Source, Topics

TABLE = "/felt/zg1/t07"
TOPICS = Topics(Source("zg1", "t07"), test=False)
REPLY = TOPICS.reply("accounting") + "play"
KINDS = [TOPICS.event("play", "hand.started"), TOPICS.snapshot, REPLY, f"{TOPICS.base}/play/é"]
LEDGER = "8b0e1a52-1111-4222-8333-444455556666"


class Broker:
    """Stands in for paho's client: counts what was acknowledged."""

    def __init__(self) -> None:
        self.acknowledged = 0

    def ack(self, _mid: int, _qos: int) -> None:
        self.acknowledged += 1


class Office:
    """A listener of one table whose messages come from the test."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.listener = Listener(store, Connection("unused", 1883, "accounting"), STREAMS)
        self.listener.asking.connected(time.monotonic())
        self.broker: Any = Broker()
        self.requests: list[dict[str, Any]] = []

    def ask(self) -> dict[str, Any]:
        """Open a request, if none is."""
        self.requests += [json.loads(body) for _, body, _ in self.listener.asking.due(time.monotonic())]
        return self.requests[-1]

    def hear(self, topic: str, *bodies: bytes) -> None:
        for body in bodies:
            message = MQTTMessage(topic=topic.encode("utf-8", "surrogateescape"))
            message.payload, message.qos = body, 1
            self.listener._messages.put(message)
        before = self.broker.acknowledged
        self.listener._drain(self.broker)
        assert self.broker.acknowledged == before + len(bodies)

    @property
    def refused(self) -> dict[str, int]:
        return self.listener.reader.counts.reasons


@contextmanager
def office() -> Iterator[Office]:
    with SqliteStore(Path(":memory:")) as store:
        store.pin(Pin(TABLE, test=False, key=bytes(32)))
        yield Office(store)


def event(**changed: Any) -> dict[str, Any]:
    made = {"source": f"{TABLE}/play", "ledger": LEDGER, "sequence": f"{1:016d}", "row": f"{1:016d}"}
    made |= {"type": "hand.started", "gamingday": "2026-11-30", "time": "2026-11-30T10:00:00.000000Z"}
    return made | {"test": False, "data": {}} | changed


def body(said: Any) -> bytes:
    return json.dumps(said).encode()


NASTY: list[bytes] = [
    b"",
    b"\xff\xfe",
    b"[" * 7000,
    b'{"a":' * 7000,
    b'{"a":' * 500 + b"1" + b"}" * 500,
    b"null",
    b"3",
    b"9" * 5000,
    b'"text"',
    b'{"a": NaN}',
    b"{" + b" " * messages.LONGEST,
    body({"test": False, "ledger": LEDGER, "sequence": "9" * 5000}),
    body({"test": False, "ledger": LEDGER, "sequence": "٣" * 16}),
    body({"test": False, "ledger": "\ud800", "sequence": f"{1:016d}"}),
    body({"test": False, "ledger": "\0", "sequence": f"{1:016d}"}),
]
NO_EVENTS: list[bytes] = [
    body(event(sequence="٣" * 16)),
    body(event(sequence="9" * 5000)),
    body(event(sequence=f"{0:016d}")),
    body(event(row=f"{-1:016d}")),
    body(event(subject="\ud800")),
    body(event(session=["a"])),
    body(event(subject="a\0b")),
    body(event(source=f"{TABLE}/nowhere")),
    body(event(data=[1])),
    body(event(test=1)),
]


@pytest.mark.parametrize(
    ("topic", "payload"),
    [(topic, payload) for topic in KINDS[:3] for payload in NASTY]
    + [(topic, payload) for topic in (KINDS[0], REPLY) for payload in NO_EVENTS],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_message_of_a_table_is_counted_and_the_next_one_is_taken(topic: str, payload: bytes) -> None:
    with office() as at:
        at.ask()
        at.hear(topic, payload)
        assert sum(at.refused.values()) == 1
        at.hear(KINDS[0], body(event()))
        assert at.listener.reader.counts.stored == 1


@pytest.mark.parametrize("topic", [TOPICS.state, TOPICS.description])
@pytest.mark.parametrize(
    "payload",
    [
        *NASTY[:11],
        *(body({"ledger": name}) for name in (None, 3, "", "x" * 65, "\0", "\ud800", [LEDGER])),
        *(body({"ledger": LEDGER, "test": test}) for test in (True, None, 0)),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_names_no_ledger_is_counted_and_nothing_is_asked_for_by_it(topic: str, payload: bytes) -> None:
    with office() as at:
        at.hear(topic, payload)
        assert sum(at.refused.values()) == 1
        assert "ledger" not in at.ask()
        at.hear(topic, body({"ledger": LEDGER}))
        at.hear(REPLY, body({"done": True, "next": None, "correlation_id": at.ask()["correlation_id"]}))
        asked: list[str | None] = []
        for _ in range(2 * len(STREAMS)):
            said = at.ask()
            asked.append(said.get("ledger"))
            at.hear(REPLY, body({"done": True, "next": None, "correlation_id": said["correlation_id"]}))
        assert asked.count(LEDGER) >= len(STREAMS)


@pytest.mark.parametrize(
    "answer",
    [
        {"done": True, "next": "abc"},
        {"done": True, "next": 7},
        {"done": True, "next": "9" * 5000},
        {"done": True, "next": f"{1:016d}"},
        {"done": 1},
        {"done": None, "error": ["busy"]},
        {"error": "a word that nobody knows"},
    ],
)
def test_an_answer_that_makes_no_sense_leaves_the_request_open(answer: dict[str, Any]) -> None:
    with office() as at:
        asked = at.ask()
        at.hear(REPLY, body(answer | {"correlation_id": asked["correlation_id"]}))
        assert at.refused == {"answer that makes no sense": 1}
        at.hear(REPLY, body({"done": True, "next": f"{9:016d}", "correlation_id": asked["correlation_id"]}))
        assert at.ask()["from"] == f"{9:016d}"


@pytest.mark.parametrize("rest", ["soon", None, -5, True, [], 1e300, 10**18, "٣"])
def test_a_busy_table_is_asked_again_within_a_minute_whatever_it_says(rest: Any) -> None:
    with office() as at:
        asked = at.ask()
        at.hear(REPLY, body({"error": "busy", "retry_ms": rest, "correlation_id": asked["correlation_id"]}))
        at.requests += [json.loads(said) for _, said, _ in at.listener.asking.due(time.monotonic() + 61)]
        assert [one["from"] for one in at.requests] == [asked["from"]] * 2


@pytest.mark.parametrize("correlation", [None, "", "c1", 3, "the one before"])
def test_only_the_answer_to_the_open_request_is_taken(correlation: Any) -> None:
    with office() as at:
        first = at.ask()
        at.hear(REPLY, body({"done": True, "next": None, "correlation_id": first["correlation_id"]}))
        second = at.ask()
        assert second["correlation_id"] != first["correlation_id"]
        other = first["correlation_id"] if correlation == "the one before" else correlation
        for words in ({"done": True, "next": None}, {"error": "denied"}):
            at.hear(REPLY, body(words | ({} if other is None else {"correlation_id": other})))
        assert at.ask() is second
        assert at.refused == {"answer to no open request": 2}
        assert at.listener.asking.errors == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(f"{2:016d}") | st.just(LEDGER),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
PREVIOUS = {"previous": {"ledger": LEDGER, "heads": {"play": {"sequence": f"{3:016d}", "sha256": "0" * 64}}}}


def _mixed(sound: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Something that is well made but for some of its fields."""
    changed = st.dictionaries(st.sampled_from(sorted(sound)), JSON, max_size=2)
    return changed.map(lambda some: sound | some)


EVENTS = st.builds(
    lambda made, kind, data, at: made | {"type": kind, "data": data, "sequence": f"{at:016d}", "row": f"{at:016d}"},
    _mixed(event()),
    st.sampled_from(sorted(DATA)),
    st.dictionaries(st.sampled_from(sorted({name.rstrip("?") for name in DATA["hand.started"]["properties"]})), JSON)
    | st.just(PREVIOUS)
    | st.builds(lambda heads: {"previous": heads}, JSON),
    st.integers(1, 10**16 - 1),
)
SNAPSHOTS = _mixed({"test": False, "ledger": LEDGER, "sequence": f"{7:016d}"})
ANSWERS = _mixed({"done": True, "next": f"{7:016d}"}) | _mixed({"error": "busy", "retry_ms": 5})


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.binary(max_size=60)
            | (JSON | EVENTS | SNAPSHOTS | ANSWERS).map(body)
            | st.sampled_from(NASTY + NO_EVENTS),
        ),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
)
def test_nothing_that_comes_ends_the_listening_or_the_proof(heard: list[tuple[str, bytes]], ours: bool) -> None:
    with office() as at:
        for topic, payload in heard:
            asked = at.ask()
            said = messages.read(payload) if ours and topic == REPLY else None
            at.hear(topic, payload if said is None else body(said | {"correlation_id": asked["correlation_id"]}))
        assert sum(report.rows for report in verify_table(at.store, TABLE)) == at.listener.reader.counts.stored
        sums_of(at.store, TABLE)
