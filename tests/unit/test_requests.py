"""Who may ask what over MQTT, where the answer may go, and how often."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.contract.topics import Topics
from controller.delivery.publisher import Asked
from controller.delivery.requests import BURST, MOST, Desk, RebirthWanted, Refusal, ReplayWanted
from tests.ledgers import SOURCE

TOPICS = Topics(SOURCE, test=True)
HOME = f"{TOPICS.base}/reply/accounting/"


def desk() -> Desk:
    return Desk(TOPICS, {"accounting": frozenset({"cash"}), "pit": frozenset({"play", "cash"})})


def asked(content: Any, reply_to: str | None = None, command: str = "replay") -> Asked:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return Asked(1, TOPICS.command(command), body, reply_to, b"c1")


def test_a_request_that_is_granted() -> None:
    content = {"stream": "cash", "ledger": "x", "from": "0000000000000003", "to": "9", "max": 7}
    wanted = desk().read(asked(content, HOME + "a"), 0)
    assert isinstance(wanted, ReplayWanted)
    assert (wanted.stream, wanted.ledger, wanted.first, wanted.last, wanted.most) == ("cash", "x", 3, 9, 7)
    assert wanted.address.answer({"done": True}).correlation == b"c1"


def test_over_mqtt_3_address_and_correlation_stand_in_the_body() -> None:
    content = {"stream": "cash", "reply_to": HOME + "a", "correlation_id": "c7"}
    wanted = desk().read(Asked(1, TOPICS.command("replay"), json.dumps(content).encode()), 0)
    assert isinstance(wanted, ReplayWanted)
    assert (wanted.first, wanted.last) == (1, None)
    assert json.loads(wanted.address.answer({"done": True}).body) == {"done": True, "correlation_id": "c7"}


@pytest.mark.parametrize(
    "reply_to",
    [
        None,
        "",
        "felt-test/v1/zg1/t08/reply/accounting/a",
        "felt/v1/zg1/t07/reply/accounting/a",
        f"{TOPICS.base}/reply/accounting",
        HOME,
        HOME + "#",
        HOME + "a/+/b",
        HOME + "../x",
        f"{TOPICS.base}/reply//a",
        f"{TOPICS.base}/reply/ACC/a",
        f"{TOPICS.base}/play/hand/started",
        "$SYS/broker",
        HOME + "a" * 65,
    ],
)
def test_an_address_elsewhere_is_not_answered_at_all(reply_to: str | None) -> None:
    assert desk().read(asked({"stream": "cash"}, reply_to), 0) is None
    assert desk().read(asked({"stream": "cash", "reply_to": reply_to}), 0) is None


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"3", b'{"stream":', b"x" * 5000, b"[" * 4000])
def test_what_is_no_request_is_not_answered(body: bytes) -> None:
    assert desk().read(asked(body, HOME + "a"), 0) is None or body == b"{}"


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"stream": "play"}, "denied"),
        ({"stream": "guard"}, "denied"),
        ({"stream": "none"}, "denied"),
        ({}, "denied"),
        ({"stream": "cash", "max": MOST + 1}, "too_many"),
        ({"stream": "cash", "max": 0}, "denied"),
        ({"stream": "cash", "max": True}, "denied"),
        ({"stream": "cash", "from": "-3"}, "denied"),
        ({"stream": "cash", "from": "x' OR 1"}, "denied"),
        ({"stream": "cash", "extra": 1}, "denied"),
    ],
)
def test_what_is_refused(content: dict[str, Any], error: str) -> None:
    refusal = desk().read(asked(content, HOME + "a"), 0)
    assert isinstance(refusal, Refusal)
    assert refusal.content["error"] == error
    assert refusal.message.topic == HOME + "a"


def test_a_stranger_is_denied_and_all_strangers_share_one_allowance() -> None:
    one = desk()
    answers = [one.read(asked({"stream": "cash"}, f"{TOPICS.base}/reply/spy{n}/a"), 0) for n in range(50)]
    assert [isinstance(answer, Refusal) for answer in answers].count(True) == BURST
    assert isinstance(one.read(asked({"stream": "cash"}, HOME + "a"), 0), ReplayWanted), "others are not held up"


def test_too_often_is_told_when_to_come_again() -> None:
    one = desk()
    for _ in range(BURST):
        assert isinstance(one.read(asked({"stream": "cash"}, HOME + "a"), 0), ReplayWanted)
    refusal = one.read(asked({"stream": "cash"}, HOME + "a"), 0)
    assert isinstance(refusal, Refusal)
    assert refusal.content["error"] == "busy"
    wait = refusal.content["retry_ms"]
    assert isinstance(one.read(asked({"stream": "cash"}, HOME + "a"), wait / 1000), ReplayWanted)


def test_a_rebirth_needs_an_address_too() -> None:
    assert isinstance(desk().read(asked({}, HOME + "a", "rebirth"), 0), RebirthWanted)
    assert desk().read(asked({}, None, "rebirth"), 0) is None


@given(st.binary(max_size=300), st.one_of(st.none(), st.text(max_size=80)))
def test_nothing_that_comes_in_makes_it_stumble(body: bytes, reply_to: str | None) -> None:
    assert desk().read(asked(body, reply_to), 0) is None or reply_to


@given(
    st.dictionaries(
        st.sampled_from(["stream", "ledger", "from", "to", "max", "reply_to", "x"]),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(max_size=20),
            st.lists(st.integers(), max_size=3),
        ),
    )
)
def test_any_fields_are_answered_or_refused(content: dict[str, Any]) -> None:
    answer = desk().read(asked(content, HOME + "a"), 0)
    assert isinstance(answer, ReplayWanted | Refusal)
