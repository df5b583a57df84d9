"""The bytes of an event, its names and its schemas."""

import json
from datetime import UTC, datetime

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.contract import asyncapi, envelope
from controller.contract.catalogue import DATA, STREAMS_OF
from controller.contract.checking import problems
from controller.contract.envelope import MAX_BYTES, Position, encode, time_text, withheld
from controller.contract.errors import ContractError
from controller.contract.integrity import GENESIS, digest
from controller.contract.schemas import event_schema
from controller.contract.state import state_body
from controller.contract.topics import Source, Topics

LEDGER = "8b0e6a54-6f0e-4d0e-9d53-1c6d1b1d7c11"
ACTION = {
    "hand": "t07-20261130-0042",
    "n": 12,
    "t_ms": 31250,
    "street": "preflop",
    "seat": 1,
    "kind": "raise",
    "all_in": False,
    "added": 3000,
    "to": 3000,
    "call_before": 1000,
    "pot_before": 1500,
    "raise_no": 1,
    "full_raise": True,
    "min_next": 5000,
    "stack_after": None,
    "in_turn": True,
    "elapsed_ms": 4180,
    "basis": "sensor",
    "evidence": [{"device": "bets0", "reading": "88121"}],
}


def event(data: dict[str, object], kind: str = "action.taken", session: str | None = "t07-20261130-a") -> bytes:
    return encode(
        Position(LEDGER, "play", 4711, 9133, "9f" * 32),
        source=Source("zg1", "t07").stream("play"),
        kind=kind,
        wall_ns=1_796_069_647_123_456_999,
        subject="t07-20261130-0042",
        day="2026-11-30",
        session=session,
        test=False,
        data=data,
    )


def test_attributes_are_those_of_the_contract() -> None:
    body = event(ACTION)
    parsed = json.loads(body)
    assert list(parsed) == [
        "specversion",
        "id",
        "source",
        "type",
        "time",
        "subject",
        "datacontenttype",
        "dataschema",
        "sequence",
        "ledger",
        "row",
        "gamingday",
        "session",
        "test",
        "prev",
        "data",
    ]
    assert parsed["id"] == f"{LEDGER}/play/0000000000004711"
    assert parsed["source"] == "/felt/zg1/t07/play"
    assert parsed["sequence"] == "0000000000004711"
    assert parsed["row"] == "0000000000009133"
    assert parsed["time"] == "2026-11-30T20:14:07.123456Z"
    assert parsed["dataschema"] == "urn:felt:schema:action.taken:1.0"
    assert parsed["test"] is False
    assert parsed["data"] == ACTION
    assert b": " not in body
    assert problems(body) == []


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))


@given(st.text(), st.none() | st.text(), st.text(), st.booleans(), st.dictionaries(st.text(), VALUES))
def test_the_bytes_are_those_that_json_itself_would_write(
    subject: str, session: str | None, day: str, test: bool, data: dict[str, object]
) -> None:
    position = Position(LEDGER, "play", 4711, 9133, "f" * 64)
    told = {"source": "/felt/zg1/t07/play", "kind": "action.taken", "wall_ns": 0, "subject": subject, "day": day}
    body = encode(position, **told, session=session, test=test, data=data)  # type: ignore[arg-type]
    parsed = json.loads(body)
    assert json.dumps(parsed, ensure_ascii=False, separators=(",", ":")).encode() == body
    assert (parsed.get("subject", ""), parsed.get("session"), parsed["gamingday"]) == (subject, session, day)
    assert (parsed["test"], parsed["data"]) == (test, data)
    stands_in = json.loads(withheld(body, "not_authorized"))
    same = parsed.keys() - {"type", "dataschema", "data"}
    assert {key: stands_in[key] for key in same} == {key: parsed[key] for key in same}


def test_what_does_not_apply_is_left_out() -> None:
    assert "session" not in json.loads(event(ACTION, session=None))


@given(st.integers(min_value=0, max_value=4_000_000_000_000_000_000))
def test_time_is_utc_and_cut_to_microseconds(wall_ns: int) -> None:
    text = time_text(wall_ns)
    read = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    since = read - datetime(1970, 1, 1, tzinfo=UTC)
    assert (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds == wall_ns // 1000


def test_text_is_utf8_and_not_escaped() -> None:
    assert "Čačak" in event(ACTION | {"note": "Čačak"}).decode()


CIRCLE: list[object] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"x": float("nan")},
        {"x": [float("-inf")]},
        {"x": object()},
        {"x": {1}},
        {"x": b""},
        {"x": "\ud800"},
        {("x",): 1},
        {"x": CIRCLE},
    ],
)
def test_what_is_no_json_is_refused_without_quoting_it(wrong: dict[str, object]) -> None:
    with pytest.raises(ContractError, match=r"action\.taken"):
        event(wrong | {"secret": "not in the message"})


def test_an_interpreter_without_the_quick_part_of_json_writes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = envelope._encoder()
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert envelope._encoder()(ACTION) == quick(ACTION)


def test_an_event_has_a_limit() -> None:
    with pytest.raises(ContractError, match="65536"):
        event({"x": "x" * MAX_BYTES})


def test_withheld_takes_the_place_and_is_the_same_each_time() -> None:
    original = event(ACTION)
    instead = withheld(original, "not_authorized")
    parsed, before = json.loads(instead), json.loads(original)
    assert parsed["type"] == "record.withheld"
    assert parsed["data"] == {
        "original_type": "action.taken",
        "original_sha256": digest(original),
        "cause": "not_authorized",
    }
    for name in ("id", "source", "sequence", "row", "prev", "time", "ledger"):
        assert parsed[name] == before[name]
    assert instead == withheld(original, "not_authorized")
    assert problems(instead) == []


@pytest.mark.parametrize("name", ["", "T07", "t.07", "a" * 33, "t/7", "t+", "t07\n"])
def test_names_that_would_break_a_topic_are_refused(name: str) -> None:
    with pytest.raises(ContractError):
        Source("zg1", name)
    with pytest.raises(ContractError):
        Source(name, "t07")


def test_topics() -> None:
    live, test = (Topics(Source("zg1", "t07"), test=flag) for flag in (False, True))
    assert live.event("play", "hand.started") == "felt/v1/zg1/t07/play/hand/started"
    assert test.event("ops", "ledger.signed") == "felt-test/v1/zg1/t07/ops/ledger/signed"
    assert live.state == "felt/v1/zg1/t07/state"
    assert live.description == "felt/v1/zg1/t07/description"
    assert live.command("replay") == "felt/v1/zg1/t07/cmd/replay"
    assert live.reply("archive") == "felt/v1/zg1/t07/reply/archive/"
    with pytest.raises(ContractError):
        live.event("other", "hand.started")
    with pytest.raises(ContractError):
        live.event("play", "hand/#")


def test_no_topic_level_has_a_dot() -> None:
    topics = Topics(Source("zg1", "t07"), test=False)
    for kind, streams in STREAMS_OF.items():
        for stream in streams:
            assert "." not in topics.event(stream, kind)


def test_every_type_has_a_stream_and_a_sound_schema() -> None:
    assert set(DATA) == set(STREAMS_OF)
    for kind in DATA:
        jsonschema.Draft202012Validator.check_schema(event_schema(kind))


def test_a_float_and_a_missing_field_are_problems() -> None:
    wrong = ACTION | {"added": 3000.0}
    del wrong["seat"]
    found = problems(event(wrong))
    assert any("$.data.added" in line for line in found)
    assert any("'seat' is a required property" in line for line in found)


def test_an_unknown_type_is_no_problem() -> None:
    assert problems(event(ACTION, kind="some.thing")) == []


def test_the_published_description_is_current(pytestconfig: pytest.Config) -> None:
    kept = (pytestconfig.rootpath / "docs" / "asyncapi.json").read_text(encoding="utf-8")
    assert kept == asyncapi.text(), "run: python -m controller.contract.asyncapi > docs/asyncapi.json"


def test_state_says_which_connection() -> None:
    assert json.loads(state_body("ready", 3, LEDGER)) == {"state": "ready", "session": 3, "ledger": LEDGER}


def test_the_first_event_follows_nothing() -> None:
    assert GENESIS == "0" * 64
