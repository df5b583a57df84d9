"""What is published in the place of a row: only what was made of it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from controller.contract.envelope import withheld
from controller.ledger.outbox import Outbox, Unsent
from controller.ledger.verify import verify
from tests.ledgers import Desk, new_desk, play


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = new_desk(tmp_path)
    with desk.open() as ledger:
        play(ledger, 1)
    return desk


def first(desk: Desk) -> Unsent:
    with closing(Outbox(desk.path)) as outbox:
        return outbox.unsent(0, 1)[0]


def forge(desk: Desk, row: int, body: bytes) -> None:
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.execute("INSERT OR REPLACE INTO withheld (row, body) VALUES (?, ?)", (row, body))
        connection.commit()


def forgeries(original: bytes) -> dict[str, bytes]:
    good = json.loads(withheld(original, "not_authorized"))
    other = good["data"] | {"original_sha256": "0" * 64}
    return {
        "nothing": b"",
        "no JSON": b"\xff\xfe",
        "no event": b"[1]",
        "deep": b"[" * 100_000,
        "another event": original.replace(b"zg1", b"zg2"),
        "the row itself": original,
        "another hash": json.dumps(good | {"data": other}, separators=(",", ":")).encode(),
        "more in it": json.dumps(good | {"more": 1}, separators=(",", ":")).encode(),
        "other spaces": json.dumps(good).encode(),
        "a cause that tells": withheld(original, "seat 3 has As Kd"),
        "no cause": json.dumps(good | {"data": {**good["data"], "cause": None}}, separators=(",", ":")).encode(),
    }


@pytest.mark.parametrize("what", forgeries(b'{"type":"hand.closed","data":{}}'))
def test_what_was_not_made_of_the_row_is_a_fault_and_is_not_published(desk: Desk, what: str) -> None:
    item = first(desk)
    forge(desk, item.row, forgeries(item.body)[what])
    faults = verify(desk.path).faults
    assert [(fault.row, fault.stream, fault.sequence) for fault in faults] == [(item.row, item.stream, item.sequence)]
    assert "not made of it" in faults[0].what
    assert first(desk) == item
    with closing(Outbox(desk.path)) as outbox:
        decided = outbox.withhold(item, "quota_exceeded")
        assert json.loads(decided.body)["data"]["cause"] == "quota_exceeded"
        assert outbox.unsent(0, 1) == [decided]
    assert verify(desk.path).ok


def test_what_stands_for_another_row_or_for_none_is_a_fault(desk: Desk) -> None:
    with closing(Outbox(desk.path)) as outbox:
        one, two = outbox.unsent(0, 2)
    forge(desk, one.row, withheld(two.body, "not_authorized"))
    forge(desk, 9_999, withheld(two.body, "not_authorized"))
    assert [fault.row for fault in verify(desk.path).faults] == [one.row, 9_999]
    assert first(desk) == one


def test_what_was_made_of_it_is_whole_and_goes(desk: Desk) -> None:
    item = first(desk)
    forge(desk, item.row, withheld(item.body, "hangs_up"))
    assert verify(desk.path).ok
    assert first(desk).type == "record.withheld"
