"""Who may ask what over MQTT, where the answer may go, and how often."""

import json
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from controller.contract.topics import Topics
from controller.delivery.counters import Counters
from controller.delivery.flight import Flight
from controller.delivery.publisher import Asked
from controller.delivery.refusals import EVERY_S, Refusals
from controller.delivery.requests import BURST, MOST, Desk, RebirthWanted, Refusal, ReplayWanted, Unanswered
from controller.delivery.serving import Serving
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
    nowhere = Unanswered("no address to answer to")
    assert desk().read(asked({"stream": "cash"}, reply_to), 0) == nowhere
    assert desk().read(asked({"stream": "cash", "reply_to": reply_to}), 0) == nowhere


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"3", b'{"stream":', b"x" * 5000, b"[" * 4000])
def test_what_is_no_request_is_not_answered(body: bytes) -> None:
    assert isinstance(desk().read(asked(body, HOME + "a"), 0), Unanswered)


@pytest.mark.parametrize("command", ["replay", "rebirth"])
def test_what_the_broker_kept_is_not_served_but_counted_and_told(tmp_path: Path, command: str) -> None:
    """Or it were served at each connection, for ever."""
    counters = Counters()
    serving = Serving(tmp_path / "none", TOPICS, {"accounting": frozenset({"cash"})}, b"{}", counters, lambda *_: None)
    body = json.dumps({"stream": "cash"} if command == "replay" else {}).encode()
    with structlog.testing.capture_logs() as logs:
        serving.offer(Asked(1, TOPICS.command(command), body, HOME + "a", b"c1", kept=True))
        flight = Flight(1)
        assert not list(serving.answers(flight, "ledger"))
    assert flight.replay is None
    assert counters.requests_refused == 1
    assert [line["why"] for line in logs] == ["retained at the broker"]


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
    assert all(answer == Unanswered("strangers ask too often") for answer in answers[BURST:])
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
    assert isinstance(desk().read(asked({}, None, "rebirth"), 0), Unanswered)


def test_a_flood_in_the_name_of_another_is_answered_once_a_second_wherever_it_says_to_answer() -> None:
    one, seconds, a_second = desk(), 10, 500
    answers = [one.read(asked({"stream": "cash"}, f"{HOME}{n}"), 7 + n / a_second) for n in range(seconds * a_second)]
    served = [answer for answer in answers if isinstance(answer, ReplayWanted)]
    refused = [answer for answer in answers if isinstance(answer, Refusal)]
    assert len(served) <= BURST + seconds
    assert {answer.content["error"] for answer in refused} == {"busy"}
    assert seconds - 1 <= len(refused) <= seconds
    silent = {answer for answer in answers if isinstance(answer, Unanswered)}
    assert silent == {Unanswered("asks too often, was told so", "accounting")}
    assert isinstance(one.read(asked({"stream": "cash"}, f"{TOPICS.base}/reply/pit/a"), 17), ReplayWanted)


@pytest.mark.parametrize("client", ["accounting", "spy", None], ids=["in the name of another", "strangers", "nobody"])
def test_a_flood_is_a_line_of_log_with_a_count_for_each_cause(tmp_path: Path, client: str | None) -> None:
    now = 100.0
    counters, flood, seconds = Counters(), 2000, 20
    serving = Serving(tmp_path / "none", TOPICS, {"accounting": frozenset()}, b"{}", counters, lambda *_: None)
    serving._refusals = Refusals(lambda: now)
    flight = Flight(1)
    said = 0
    with structlog.testing.capture_logs() as logs:
        for n in range(flood):
            now = 100 + n * seconds / flood
            reply_to = None if client is None else f"{TOPICS.base}/reply/{client}{n if client == 'spy' else ''}/a"
            serving.offer(asked({"stream": "cash"}, reply_to))
            said += len(list(serving.answers(flight, "ledger")))
        now += EVERY_S
        list(serving.answers(flight, "ledger"))
    causes = {line["why"] for line in logs}
    asked_too_often = {"accounting": "asks too often, was told so", "spy": "strangers ask too often"}
    assert causes <= {"denied", "busy", asked_too_often.get(str(client), "no address to answer to")}
    assert len(logs) <= len(causes) * (2 + seconds / EVERY_S)
    assert {line["client"] for line in logs} == {client if client == "accounting" else None}
    assert sum(line["times"] for line in logs) == counters.requests_refused == flood
    assert said <= 2 * BURST + 2


@given(st.binary(max_size=300), st.one_of(st.none(), st.text(max_size=80)))
def test_nothing_that_comes_in_makes_it_stumble(body: bytes, reply_to: str | None) -> None:
    assert isinstance(desk().read(asked(body, reply_to), 0), Unanswered) or reply_to


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
