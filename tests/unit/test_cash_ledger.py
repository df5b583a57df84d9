"""Money through a real ledger: what only the ledger knows, the office's sums, and test money kept apart."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from backoffice import cli
from backoffice.reader import read
from backoffice.sqlite import SqliteStore
from backoffice.store import Pin
from backoffice.sums import sums_of
from controller.contract.envelope import event_id
from controller.contract.topics import Source
from controller.core.facts import Called
from controller.core.records import Record
from controller.core.session import Session
from controller.ledger.errors import LedgerError, NotWritable
from controller.ledger.keys import Keys
from controller.ledger.store import Ledger
from tests.felt import WALL, Felt
from tests.floors import House
from tests.ledgers import Desk, new_desk
from tests.unit.test_archives import acknowledge, reopen
from tests.unit.test_cash import a_table, final, lines, raked

TABLE = "/felt/zg1/t07"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return new_desk(tmp_path)


def day() -> House:
    """A day with a hand, a fill, a sale, a tip between hands and an exact closing."""
    felt = raked().done()
    felt.say("buyin", seat=2, amount=500)
    felt.say("tip", seat=1, amount=40)
    felt.say("fill", lines=lines(d1=600))
    felt.by("s-1", "dealer", "slip", do="complete", **{"with": "s-3"})
    felt.say("credit", lines=lines(d1=6))
    felt.say("slip", do="cancel")
    felt.say("meters")
    felt.by("s-1", "dealer", "close", lines=lines(d1=5100), **{"with": "s-3"})
    assert felt.all("table.closed")
    return felt


def written(ledger: Ledger, records: Sequence[Record]) -> list[dict[str, Any]]:
    """The events of these records, each appended as an input of its own."""
    for record in records:
        ledger.append([record], WALL)
    return [json.loads(body) for body in ledger.tail(10_000)]


def test_a_reading_of_the_meters_says_how_far_it_covers_both_streams(desk: Desk) -> None:
    with desk.open() as ledger:
        events = written(ledger, day().records)
    for at, event in enumerate(events):
        if event["type"] == "meter.read":
            before = [one["sequence"] for one in events[:at] if one["source"].endswith("/play")]
            cash = [one["sequence"] for one in events[:at] if one["source"].endswith("/cash")]
            assert event["data"]["through"] == {"play": max(before), "cash": max(cash)}


def test_an_adjustment_refers_to_the_event_that_made_the_hand_final(desk: Desk) -> None:
    felt = final()
    hand = felt.all("hand.final")[0]["hand"]
    move = {"hand": hand, "amount": 100, "from": "seat:1", "to": "seat:2", "with": "s-1"}
    felt.by("s-3", "chief_inspector", "adjust", "why", **move)
    with desk.open() as ledger:
        events = written(ledger, felt.records)
        (final_one,) = (one for one in events if one["type"] == "hand.final")
        assert events[-1]["type"] == "adjustment.recorded"
        assert (
            events[-1]["data"]["refers"] == final_one["id"] == event_id(ledger.id, "play", int(final_one["sequence"]))
        )
        strange = Record("cash", "adjustment.recorded", "x", felt.all("adjustment.recorded")[0] | {"hand": "x"})
        with pytest.raises(NotWritable, match=r"no hand\.final of hand x"):
            ledger.append([strange], WALL)


def test_slips_are_numbered_on_after_a_restart_from_the_ledger(desk: Desk) -> None:
    felt = a_table()
    felt.say("fill", lines=lines(d1=5))
    with desk.open() as ledger:
        written(ledger, felt.records)
    with desk.open() as ledger:
        felt.session = Session.restore(felt.setup, ledger.restore_rows())
    felt.by("s-1", "dealer", "slip", do="complete", **{"with": "s-3"})
    felt.say("fill", lines=lines(d1=5))
    assert [one["number"] for one in felt.all("slip.requested")] == [1, 2]


def test_test_money_never_reaches_a_live_ledger(desk: Desk) -> None:
    with desk.open() as ledger:
        events = written(ledger, day().records)
    assert {event["test"] for event in events} == {True}
    with pytest.raises(LedgerError, match="its test is"):
        Ledger.open(desk.path, source=Source("zg1", "t07"), test=False, keys=Keys(bytes(32)))


# --- the office ----------------------------------------------------------------------------------------------


def office(folder: Path, felt: Felt, streams: Sequence[str] = ("play", "cash", "ops", "guard")) -> SqliteStore:
    """What the office has stored of a table's records."""
    desk = new_desk(folder / "table")
    store = SqliteStore(folder / "store")
    with desk.open() as ledger:
        written(ledger, felt.records)
        events = [event for body in ledger.tail(10_000) if (event := read(body)) is not None]
    store.put([event for event in events if event.source.rsplit("/", 1)[1] in streams])
    return store


def test_the_office_checks_the_sums_of_a_day(tmp_path: Path) -> None:
    with closing(office(tmp_path, day())) as store:
        found = sums_of(store, TABLE)
    assert found.faults == []
    assert found.open == []
    assert [(one.reason, one.win, one.rake) for one in found.readings] == [("request", None, 70), ("close", 0, 70)]


def test_whoever_was_granted_one_stream_is_told_no_faults_of_the_others(tmp_path: Path) -> None:
    with closing(office(tmp_path, day(), ("cash",))) as store:
        found = sums_of(store, TABLE)
    assert found.faults == []
    assert [one.win for one in found.readings] == [None, 0]


@pytest.mark.parametrize(
    ("kind", "change", "fault"),
    [
        ("meter.read", {"drop": 501}, "drop is 501, the events before it say 500"),
        ("meter.read", {"bets_by_spot": {}}, "bets_by_spot is {}"),
        ("slip.requested", {"number": 7}, "slip 7 follows 1"),
        ("chips.bought", {"amount": 1}, "drop is 500, the events before it say 1"),
        ("rake.taken", {"computed": 69}, "rake is 70, the events before it say 69"),
    ],
)
def test_what_does_not_add_up_is_named(tmp_path: Path, kind: str, change: dict[str, Any], fault: str) -> None:
    felt = day()
    changed = max(i for i, record in enumerate(felt.records) if record.type == kind)
    felt.records[changed].data |= change
    with closing(office(tmp_path, felt)) as store:
        found = sums_of(store, TABLE)
    assert any(fault in one for one in found.faults), found.faults


def test_a_hand_that_does_not_add_up_is_named_and_what_is_open_as_well(tmp_path: Path) -> None:
    felt = raked().done()
    felt.say("fill", lines=lines(d1=5))
    felt.all("hand.closed")[0]["result"]["seats"][0]["out"] += 1
    with closing(office(tmp_path, felt)) as store:
        found = sums_of(store, TABLE)
    assert "701" not in str(found.faults)
    assert any("went in" in one for one in found.faults)
    hand = felt.all("hand.started")[0]["hand"]
    assert found.open == [f"{hand} is not final yet", "t07-s00001 has not ended"]


def test_the_command_tells_each_shift_and_fails_where_it_does_not_add_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = office(tmp_path, day())
    store.pin(Pin("/felt/zg1/t07", test=False, key=bytes(32)))
    store.close()
    assert cli.main(["sums", str(tmp_path / "store"), "zg1/t07"]) == 0
    told = capsys.readouterr().out
    assert "shift 1 (close): win by tray 0, rake 70" in told
    assert "adds up" in told
    assert cli.main(["sums", str(tmp_path / "store"), "zg1/t07", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def disputed() -> House:
    """The last hand of a day is disputed: some of its rake goes back, and a tip was a mistake."""
    felt = raked().done()
    felt.by("s-1", "dealer", "dispute", "the rake was too much")
    moves = [{"from": "rake", "to": "seat:1", "amount": 20}]
    felt.by("s-3", "chief_inspector", "rule", "it was", incident="I-19", ruling="correct", moves=moves)
    felt.say("meters")
    felt.by("s-1", "dealer", "close", lines=lines(d1=5000), **{"with": "s-3"})
    assert felt.all("table.closed"), felt.breaches
    return felt


def test_the_office_books_the_result_that_holds(tmp_path: Path) -> None:
    felt = disputed()
    with closing(office(tmp_path, felt)) as store:
        found = sums_of(store, TABLE)
    assert found.faults == []
    assert found.open == []
    assert [one.rake for one in found.readings] == [50, 50]


@pytest.mark.parametrize(
    ("kind", "change", "fault"),
    [
        ("hand.final", {"revision": 0}, "final at revision 0, the last one is 1"),
        ("hand.corrected", {"result": {"revision": 1, "seats": [], "rake": 7, "tips": 0}}, "the rest should be 7"),
        ("hand.corrected", {"result": {"revision": 2, "seats": [], "rake": 0, "tips": 0}}, "revision 2 of hand"),
    ],
)
def test_the_office_finds_what_does_not_fit_a_correction(
    tmp_path: Path, kind: str, change: dict[str, Any], fault: str
) -> None:
    felt = disputed()
    next(record for record in felt.records if record.type == kind).data.update(change)
    with closing(office(tmp_path, felt)) as store:
        assert any(fault in one for one in sums_of(store, TABLE).faults)


def test_what_a_correction_refers_to_gets_its_id_from_the_ledger(desk: Desk) -> None:
    with desk.open() as ledger:
        events = written(ledger, disputed().records)
    at = {event["type"]: event for event in events if event["type"].startswith(("hand.c", "hand.final"))}
    assert at["hand.corrected"]["data"]["refers"] == at["hand.closed"]["id"]
    assert at["hand.final"]["data"]["refers"] == at["hand.corrected"]["id"]
    closed = [event for event in events if event["type"] == "incident.closed"]
    assert [event["data"]["refers"] for event in closed] == [[at["hand.corrected"]["id"]]]


@pytest.mark.parametrize("ruling", ["void", "redeal"])
def test_what_ends_with_a_hand_that_is_given_up_refers_to_that(desk: Desk, ruling: str) -> None:
    felt = Felt().open([5000, 5000]).deal()
    felt.do(Called("misdeal"))
    felt.do(Called("void"))
    felt.say("rule", incident="I-2", ruling=ruling)
    with desk.open() as ledger:
        events = written(ledger, felt.records)
    (voided,) = (event for event in events if event["type"] == "hand.voided")
    closed = [event["data"] for event in events if event["type"] == "incident.closed"]
    assert [one["code"] for one in closed] == ["I-2", "I-37"]
    assert [one["refers"] for one in closed] == [[voided["id"]]] * 2
    assert {one["outcome"] for one in closed} == {"voided" if ruling == "void" else "redealt"}


def test_a_hand_in_an_archived_file_is_adjusted_and_a_hand_that_never_was_is_not(desk: Desk) -> None:
    felt = raked().done()
    felt.by("s-1", "dealer", "close", lines=lines(d1=5000), **{"with": "s-3"})
    hand = felt.all("hand.final")[0]["hand"]
    with desk.open() as ledger:
        written(ledger, felt.records)
    acknowledge(desk.path)
    move = {"amount": 5, "from": "rake", "to": "tips", "with": "s-1"}
    with reopen(desk, archive_mb=0) as ledger:
        assert ledger.row == 1
        felt.by("s-3", "chief_inspector", "adjust", "late", hand=hand, **move)
        refers = written(ledger, felt.last)[-1]["data"]["refers"]
        assert not refers.startswith(ledger.id)
        felt.by("s-3", "chief_inspector", "adjust", "late", hand=f"{hand[:-1]}9", **move)
        with pytest.raises(NotWritable, match=r"no hand\.final"):
            ledger.append(felt.last, WALL)
