"""A replay from files that cannot be read: what can be read goes out, an error ends it, and the file is named."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import structlog

from controller.contract.topics import Topics
from controller.delivery.counters import Counters
from controller.delivery.flight import Flight
from controller.delivery.publisher import Asked
from controller.delivery.replay import UNREADABLE_NOW, Replay, begin, is_ours
from controller.delivery.requests import Address, Refusal, ReplayWanted
from controller.delivery.serving import Serving
from controller.ledger import files
from controller.ledger.errors import LedgerError
from tests.ledgers import SOURCE, WALL, Desk, new_desk, play, record
from tests.rotting import GARBLED, NO_LEDGER, rot
from tests.unit.test_archives import acknowledge, reopen

Unread = list[tuple[Path, LedgerError]]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = new_desk(tmp_path)
    with desk.open() as ledger:
        play(ledger, 30)
        ledger.append([record("table.closed", hands=2)], WALL)
    return desk


def archive(desk: Desk, times: int = 1) -> list[str]:
    """Put the file away so many times; the names of all ledgers, oldest first."""
    with desk.open() as ledger:
        names = [ledger.id]
    for _ in range(times):
        acknowledge(desk.path)
        with reopen(desk, archive_mb=0) as ledger:
            names.append(ledger.id)
            ledger.append([record("tray.counted", "cash", total=1), record("table.closed", hands=0)], WALL)
    return names


def wanted(ledger: str | None, stream: str = "play", most: int = 5000) -> ReplayWanted:
    return ReplayWanted(Address("pit", "t"), stream, ledger, 1, None, most)


def served(path: Path, asked: ReplayWanted) -> tuple[list[bytes], dict[str, object], Unread]:
    """All that goes out: the events, the end, and what was told of files."""
    unread: Unread = []
    begun = begin(path, asked, lambda file, error: unread.append((file, error)))
    if isinstance(begun, Refusal):
        return [], dict(begun.content), unread
    said = [message.body for message in iter(begun.next, None)]
    assert begun.over
    begun.close()
    return said[:-1], json.loads(said[-1]), unread


def of_play(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [body for (body,) in connection.execute("SELECT body FROM row WHERE stream = 'play' ORDER BY sequence")]


@pytest.mark.parametrize("how", GARBLED)
@pytest.mark.parametrize("at", [1, 2, 49, 50, 51, 120])
@pytest.mark.parametrize("put_away", [False, True])
def test_all_before_a_row_that_cannot_be_read_goes_out_and_an_error_ends_it(
    desk: Desk, how: str, at: int, put_away: bool
) -> None:
    (ledger, *_) = archive(desk, int(put_away))
    file = files.archived(desk.path)[0] if put_away else desk.path
    before = of_play(file)[: at - 1]
    rot(file, how, at)
    events, end, unread = served(desk.path, wanted(ledger))
    assert end == UNREADABLE_NOW
    assert events == before
    assert [(where, str(file) in str(error)) for where, error in unread] == [(file, True)]
    if at > 1:
        assert served(desk.path, wanted(ledger, most=at - 1)) == (before, end_at(file, at), []), "it is not asked for"


def end_at(file: Path, at: int) -> dict[str, object]:
    return {"done": True, "next": f"{at:016d}", "head": f"{len_of_play(file):016d}"}


def len_of_play(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        (count,) = connection.execute("SELECT sequence FROM head WHERE stream = 'play'").fetchone()
    return int(count)


def test_a_page_of_zeros_ends_it_too(desk: Desk) -> None:
    bodies = of_play(desk.path)
    content = bytearray(desk.path.read_bytes())
    page = content.index(bodies[100]) // 4096 * 4096
    content[page : page + 4096] = bytes(4096)
    desk.path.write_bytes(content)
    events, end, unread = served(desk.path, wanted(None))
    assert end == UNREADABLE_NOW
    assert 50 < len(events) <= 100
    assert events == bodies[: len(events)]
    assert [file for file, _ in unread] == [desk.path]


@pytest.mark.parametrize("sql", ["UPDATE head SET sequence = 'x'", "UPDATE head SET sequence = CAST(X'ff' AS TEXT)"])
def test_a_head_that_is_no_number_ends_it(desk: Desk, sql: str) -> None:
    rot(desk.path, sql)
    events, end, unread = served(desk.path, wanted(None))
    assert (events, end, [file for file, _ in unread]) == ([], UNREADABLE_NOW, [desk.path])


@pytest.mark.parametrize("spoil", NO_LEDGER.values(), ids=NO_LEDGER)
def test_a_file_that_cannot_be_read_stands_in_no_others_way(desk: Desk, spoil: Callable[[Path], None]) -> None:
    first, second, third = archive(desk, 2)
    old, newer = files.archived(desk.path)
    bodies = of_play(old)
    spoil(newer)
    assert served(desk.path, wanted(third))[1]["done"]
    events, end, unread = served(desk.path, wanted(first))
    assert (events, end["done"]) == (bodies, True)
    assert [file for file, _ in unread] == [newer]
    assert served(desk.path, wanted("x"))[1] == {"error": "unknown_ledger"}
    assert served(desk.path, wanted(second))[:2] == ([], UNREADABLE_NOW)
    old.unlink()
    assert served(desk.path, wanted(first))[1] == {"error": "unknown_ledger"}, "no file that can be read tells of it"
    spoil(desk.path)
    for name in (None, third):
        assert served(desk.path, wanted(name))[:2] == ([], UNREADABLE_NOW)


@pytest.mark.parametrize("spoil", NO_LEDGER.values(), ids=NO_LEDGER)
def test_whose_a_ledger_is_can_be_asked_beside_files_that_cannot_be_read(
    desk: Desk, spoil: Callable[[Path], None]
) -> None:
    first, second, third = archive(desk, 2)
    spoil(files.archived(desk.path)[1])
    spoil(files.archive_folder(desk.path) / "a.ledger")
    unread: Unread = []
    ours = {name: is_ours(desk.path, name, lambda *one: unread.append(one)) for name in (first, second, third, "x", "")}
    assert ours == {first: True, second: True, third: True, "x": False, "": False}
    spoil(desk.path)
    archive_is_found = not desk.path.is_symlink()  # it lies beside the file itself, not beside the link
    assert is_ours(desk.path, first, lambda *one: unread.append(one)) is archive_is_found
    assert not is_ours(desk.path, "x", lambda *one: unread.append(one))


def test_a_ledger_without_a_name_is_unknown(desk: Desk) -> None:
    for times in (0, 1):
        archive(desk, times)
        assert served(desk.path, wanted(""))[1] == {"error": "unknown_ledger"}


def test_a_file_is_named_once_in_the_log_however_often_it_is_asked_for(desk: Desk) -> None:
    topics = Topics(SOURCE, test=True)
    rot(desk.path, GARBLED[0], 3)
    serving = Serving(desk.path, topics, {"pit": frozenset({"play"})}, b"{}", Counters(), lambda *_: None)
    reply = f"{topics.base}/reply/pit/a"
    with structlog.testing.capture_logs() as logs:
        for _ in range(4):
            flight = Flight(1)
            serving.offer(Asked(1, topics.command("replay"), b'{"stream":"play"}', reply))
            assert not list(serving.answers(flight, "x"))
            assert isinstance(flight.replay, Replay)
            assert len(list(iter(flight.replay.next, None))) == 3
            flight.end_replay()
    assert [line["file"] for line in logs if line["log_level"] == "error"] == [str(desk.path)]
