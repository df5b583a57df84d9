"""Looking into a ledger: the end, a search by everything a dispute asks for, the last hands in their order."""

import argparse
import json
from pathlib import Path

import pytest

from controller.cli import main
from controller.errors import LocalError
from controller.ledger.files import Retention
from controller.ledger.keys import load_auditor_key
from controller.ledger.outbox import Outbox
from controller.ledger.search import Wanted, last_hands, moment, search, tail, told
from controller.ledger.store import Ledger
from controller.ledgercli import _prune
from tests.felt import Felt, setup
from tests.ledgers import CARDS, SOURCE, WALL, Desk, hand_records, new_desk, play, record

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = new_desk(tmp_path_factory.mktemp("search"))
    with desk.open() as ledger:
        play(ledger, hands=3)
        opened = record("incident.opened", incident="t07-i1", code="I-7", seats=[2], facts={})
        ledger.append([opened], WALL + 60 * SECOND)
        ledger.append([record("incident.closed", incident="t07-i1", code="I-7")], WALL + 120 * SECOND)
    return desk


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(hand="t07-20261130-0002"), 10),
        (Wanted(type="hand.closed"), 3),
        (Wanted(type="incident"), 2),
        (Wanted(type="hand"), 9),
        (Wanted(incident="I-7"), 2),
        (Wanted(incident="t07-i1"), 2),
        (Wanted(seat=2), 1),
        (Wanted(seat=1, hand="t07-20261130-0001"), 7),
        (Wanted(since=moment("", "2026-11-30T20:15"), type="incident"), 2),
        (Wanted(until=moment("", "2026-11-30T20:15", end=True), type="incident"), 1),
        (Wanted(hand="none"), 0),
    ],
)
def test_what_is_asked_for_is_found(desk: Desk, wanted: Wanted, found: int) -> None:
    assert len(search(desk.path, wanted, 1000)) == found


def test_a_seat_is_found_wherever_an_event_names_it_and_a_number_of_seats_is_none(tmp_path: Path) -> None:
    desk = new_desk(tmp_path)
    with desk.open() as ledger:
        felt = Felt(setup(blinds=(50, 100))).open([1000, 1000, 1000]).deal()
        felt.act("r300", "f", "f").done()
        ledger.append(felt.records, WALL)
    by_seat = {seat: {event["type"] for event in search(desk.path, Wanted(seat=seat), 1000)} for seat in (1, 3, 6)}
    assert {"seat.taken", "hand.started", "blind.posted", "card.dealt", "hand.closed"} <= by_seat[1]
    assert "action.taken" in by_seat[3]
    assert not by_seat[6], "the table has six seats, and nobody sits there"
    boxes = [{"data": {"boxes": [{"box": 2, "lines": []}]}, "type": "hand.closed", "time": ""}]
    assert [Wanted(seat=2).fits(boxes[0]), Wanted(seat=1).fits(boxes[0])] == [True, False]


def test_recall_and_search_reach_back_into_the_archived_files(tmp_path: Path) -> None:
    desk = new_desk(tmp_path)
    with desk.open() as ledger:
        play(ledger, hands=3)
        ledger.append([record("table.closed", hands=3)], WALL)
        outbox = Outbox(desk.path)
        outbox.mark_acked(range(1, ledger.row + 1))
        outbox.close()
    retention = Retention(limit_mb=100, archive_mb=100, archive_days=1)
    later = WALL + 3 * 86_400 * SECOND
    with Ledger.open(desk.path, source=SOURCE, test=True, keys=desk.keys(), retention=retention, wall_ns=later) as new:
        assert new.row < 5
        new.append(hand_records("t07-20261203-0001"), later)
    auditor = load_auditor_key(desk.folder / "auditor.key")
    hands = last_hands(desk.path, 3, auditor)
    names = ["t07-20261130-0002", "t07-20261130-0003", "t07-20261203-0001"]
    assert [records[0].hand for records in hands] == names
    assert all(records[1].secret for records in hands)
    assert len(search(desk.path, Wanted(type="hand.closed"), 1000)) == 4
    assert [event["data"]["hand"] for event in search(desk.path, Wanted(type="hand.closed"), 2)] == names[1:]


def test_a_limit_keeps_the_last(desk: Desk) -> None:
    (last,) = search(desk.path, Wanted(type="hand.closed"), 1)
    assert last["data"]["hand"] == "t07-20261130-0003"
    assert [event["row"] for event in tail(desk.path, 3)] == sorted(event["row"] for event in tail(desk.path, 3))


def test_the_last_hands_in_their_order_and_closed_cards_for_the_auditor_only(desk: Desk) -> None:
    hands = last_hands(desk.path, 2)
    assert [records[0].hand for records in hands] == ["t07-20261130-0002", "t07-20261130-0003"]
    assert [record.data.get("slot") for record in hands[0][1:5]] == [0, 1, 2, 3]
    text = "\n".join(told([rec for rec in hands[0] if rec.type not in ("hand.started", "hand.closed")]))
    assert CARDS[2] not in text, "never opened"
    auditor = load_auditor_key(desk.folder / "auditor.key")
    opened = [record.secret for record in last_hands(desk.path, 1, auditor)[0][1:5]]
    assert [secret["card"] for secret in opened if secret] == list(CARDS)


def test_what_has_no_time_of_the_hand_is_told_without_one() -> None:
    started = record("hand.started", hand="h1", n=0, t_ms=0)
    acted = record("action.taken", hand="h1", n=1, t_ms=12_345, seat=2)
    lines = list(told([started, acted, record("device.up", hand="h1", device="keys0")]))
    assert ["0.0 s" in lines[0], "12.3 s" in lines[1], " s " in lines[2]] == [True, True, False]
    assert len({text.index(kind) for text, kind in zip(lines, ("hand.", "action.", "device."), strict=True)}) == 1


def test_the_command_line(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "tail", str(desk.path), "-n", "2", "--json"]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert shown == tail(desk.path, 2)
    assert main(["ledger", "search", str(desk.path), "--type", "hand.final"]) == 0
    assert capsys.readouterr().out.count("hand.final") == 3
    assert main(["ledger", "archives", str(desk.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["ledger", "tail", str(Path("nowhere"))]) == 2
    assert "no such file" in capsys.readouterr().err


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("2026-11-30T20:14:07", "2026-11-30T20:14:07.000000Z", "2026-11-30T20:14:07.999999Z"),
        ("2026-11-30 20:14:07", "2026-11-30T20:14:07.000000Z", "2026-11-30T20:14:07.999999Z"),
        ("2026-11-30T20:14:07Z", "2026-11-30T20:14:07.000000Z", "2026-11-30T20:14:07.999999Z"),
        ("2026-11-30T21:14:07+01:00", "2026-11-30T20:14:07.000000Z", "2026-11-30T20:14:07.999999Z"),
        ("2026-12-01 01:44:07+05:30", "2026-11-30T20:14:07.000000Z", "2026-11-30T20:14:07.999999Z"),
        ("2026-11-30T15:14:07-05:00", "2026-11-30T20:14:07.000000Z", "2026-11-30T20:14:07.999999Z"),
        ("2026-11-30T20:14:07.123456Z", "2026-11-30T20:14:07.123456Z", "2026-11-30T20:14:07.123456Z"),
        ("2026-11-30T20:14:07.12", "2026-11-30T20:14:07.120000Z", "2026-11-30T20:14:07.129999Z"),
        ("2026-11-30T20:14", "2026-11-30T20:14:00.000000Z", "2026-11-30T20:14:59.999999Z"),
        ("2026-11-30T20", "2026-11-30T20:00:00.000000Z", "2026-11-30T20:59:59.999999Z"),
        ("2026-11-30", "2026-11-30T00:00:00.000000Z", "2026-11-30T23:59:59.999999Z"),
        ("9999-12-31", "9999-12-31T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_time_is_the_same_however_it_is_written(written: str, first: str, last: str) -> None:
    assert (moment("--since", written), moment("--until", written, end=True)) == (first, last)


NO_TIMES = [
    *("", " ", "yesterday", "now", "30.11.2026", "11/30/2026", "2026", "2026-11", "2026-02-30", "2026-13-01", "20:14"),
    *("2026-11-30T25:00", "2026-11-30T20:14:60", "2026-11-30T20:14:07+25:00", "2026-11-30T20:14:07 CET", "1796069647"),
    *("2026-11-30Z", "2026-11-30T20:14:07.1234567", "2026-11-30x20:14", "2026-W48-1", "20261130", "2026-11-30T20:14\n"),
    *("0001-01-01T00:00+05:00", "9999-12-31T23:00-05:00", "\u0662\u0660\u0662\u0666-11-30"),
]


@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.parametrize("written", NO_TIMES)
def test_what_is_no_time_is_refused(desk: Desk, written: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "search", str(desk.path), f"{option}={written}"]) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert f"{option}: {written!r}: no such time: write UTC as" in said


def test_the_command_line_finds_the_same_whichever_way_a_time_is_written(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    (closed,) = search(desk.path, Wanted(type="incident.closed"), 1)
    assert closed["time"].startswith("2026-11-30T")
    at = closed["time"][:19]
    hour = f"{int(at[11:13]) + 1:02}"
    for option in ("--since", "--until"):
        answers = []
        for written in (at, at.replace("T", " "), f"{at}Z", f"{at[:11]}{hour}{at[13:]}+01:00"):
            assert main(["ledger", "search", str(desk.path), option, written, "--type", "incident"]) == 0
            answers.append(capsys.readouterr().out)
        assert len(set(answers)) == 1
        assert "incident.closed" in answers[0], "the very second belongs to it"
        assert ("incident.opened" in answers[0]) == (option == "--until")


@pytest.mark.parametrize("day", ["zzzz-zz-zz", "2026-13-01", "2026-02-30", "30.11.2026", "9999-99-99", "2026-11-3", ""])
def test_files_are_pruned_before_a_day_of_the_calendar_only(day: str) -> None:
    with pytest.raises(LocalError, match="--before"):
        _prune(argparse.Namespace(ledger=Path("unread"), before=day, yes=True))
