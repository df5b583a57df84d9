"""Looks into a ledger file for people: the end, a search, the last hands. Works beside a daemon and without one."""

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from controller.core.records import Record
from controller.errors import LocalError
from controller.ledger import database, linked
from controller.ledger.errors import LedgerDamaged
from controller.ledger.reading import read_records

_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?P<hour>[T ][0-9]{2}(?P<minute>:[0-9]{2}(?P<second>:[0-9]{2}(?P<fraction>\.[0-9]{1,6})?)?)?"
    r"(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
"""A part of ISO 8601: as far as a day, an hour, a minute, a second or a fraction of it."""


def moment(option: str, text: str, *, end: bool = False) -> str:
    """A time as a person writes it, in the form that events carry: UTC with six decimals.

    ISO 8601; without an offset it is UTC. A time names all that it covers (a day, a minute): its first microsecond, or
    with ``end`` its last one. Raises ``LocalError`` that names ``option`` for what is no time.
    """
    remedy = "no such time: write UTC as 2026-11-30 or 2026-11-30T20:14:05, or an offset with it: ...T21:14:05+01:00"
    shape = _TIME.fullmatch(text)
    if shape is None:
        raise LocalError(option, text, remedy)
    if shape["fraction"]:
        covers = timedelta(microseconds=10 ** (7 - len(shape["fraction"])))
    else:
        covers = timedelta(seconds=1 if shape["second"] else 60 if shape["minute"] else 3600)
        covers = covers if shape["hour"] else timedelta(days=1)
    try:
        at = datetime.fromisoformat(text)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        at += covers - timedelta(microseconds=1) if end else timedelta()
    except (ValueError, OverflowError):
        raise LocalError(option, text, remedy) from None
    return at.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a search is for; what is ``None`` does not matter. Times are texts as ``moment`` makes them."""

    hand: str | None = None
    seat: int | None = None
    type: str | None = None
    incident: str | None = None
    since: str | None = None
    until: str | None = None

    def fits(self, event: dict[str, Any]) -> bool:
        """Whether an event is wanted."""
        data = event["data"]
        return (
            (self.hand is None or data.get("hand") == self.hand)
            and (self.seat is None or self.seat in _seats(data))
            and (self.type is None or event["type"] == self.type or event["type"].startswith(f"{self.type}."))
            and (self.incident is None or self.incident in (data.get("incident"), data.get("code")))
            and (self.since is None or event["time"] >= self.since)
            and (self.until is None or event["time"] <= self.until)
        )


def _seats(data: Any) -> Iterator[int]:
    """The seats and boxes that an event is about, however deep they stand: ``seat``, ``seats``, a line of a result."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name in ("seat", "box", "seats", "boxes"):
                yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, int))
            yield from _seats(value)
    elif isinstance(data, list):
        for value in data:
            yield from _seats(value)


Doubt = Callable[[linked.Before], None]
"""Takes an archived file that is missing, or is not the one that the file after it names."""


def _none(_: linked.Before) -> None:
    """Nobody wants to know."""


def search(path: Path, wanted: Wanted, limit: int, doubt: Doubt = _none) -> list[dict[str, Any]]:
    """The last ``limit`` events that fit, oldest first, of this file and of the archived ones before it.

    Raises ``LedgerError``.
    """
    kept: deque[dict[str, Any]] = deque(maxlen=limit)
    kept.extend(event for event in _events(path, wanted) if wanted.fits(event))
    if len(kept) < limit and (older := _older(path, doubt)) is not None:
        return [*search(older, wanted, limit - len(kept), doubt), *kept]
    return list(kept)


def last_hands(
    path: Path, count: int, auditor: X25519PrivateKey | None = None, doubt: Doubt = _none
) -> list[list[Record]]:
    """The records of the last hands, oldest first, each in its original order, back into the archived files.

    With the auditor's key each record has its secret: closed cards and those that were burnt or mucked. Raises
    ``LedgerError``.
    """
    with closing(database.connect_read_only(path)) as connection:
        try:
            found = connection.execute(
                "SELECT hand FROM row WHERE type = 'hand.started' AND hand IS NOT NULL ORDER BY row DESC LIMIT ?",
                (count,),
            ).fetchall()
        except database.UNREADABLE as error:
            raise database.unusable(path, error) from error
    hands = [list(read_records(path, auditor=auditor, hand=hand)) for (hand,) in reversed(found)]
    if len(hands) < count and (older := _older(path, doubt)) is not None:
        return [*last_hands(older, count - len(hands), auditor, doubt), *hands]
    return hands


def _older(path: Path, doubt: Doubt) -> Path | None:
    """The archived file before this one, where it is still there. What is wrong with it goes to ``doubt``."""
    with closing(database.connect_read_only(path)) as connection:
        try:
            older = linked.before(path, connection)
        except database.UNREADABLE as error:
            raise database.unusable(path, error) from error
    if older is None:
        return None
    if older.missing or older.faults:
        doubt(older)
    return None if older.missing else older.path


def told(records: Sequence[Record]) -> Iterator[str]:
    """A hand in lines: stakes, cards, actions and payments in the order in which they came."""
    for record in records:
        data = record.data
        seat = next((f"{name} {data[name]}" for name in ("seat", "box") if data.get(name) is not None), "")
        shown = {
            name: data[name]
            for name in ("street", "kind", "place", "card", "added", "to", "amount", "category", "cause", "pot")
            if data.get(name) is not None
        }
        if record.secret and "card" in record.secret:
            shown["closed"] = record.secret["card"]
        if record.type == "hand.started":
            shown |= {f"seat {line['seat']}": line["stack"] for line in data.get("seats", ())}
        elif record.type in ("hand.closed", "hand.corrected"):
            shown |= {f"seat {line['seat']}": line["net"] for line in data["result"].get("seats", ())}
            shown |= {f"box {box['box']}": -box["house_net"] for box in data["result"].get("boxes", ())}
        words = " ".join(f"{name}={value}" for name, value in shown.items())
        # What is said of the table meanwhile (a device that comes back) has no place in the hand's own time.
        after = f"{data['t_ms'] / 1000:.1f} s" if "t_ms" in data else ""
        at = f"{data.get('n', ''):>4} {after:>10}"
        yield f"{at}  {record.type:<18} {seat:<8} {words}".rstrip()


def line(event: dict[str, Any]) -> str:
    """One event in a line."""
    data = json.dumps(event["data"], ensure_ascii=False, separators=(",", ":"))
    return f"{event['row']} {event['time']} {event['type']:<20} {event.get('subject', ''):<24} {data}"


def _events(path: Path, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Candidates in row order; by the hand's index where a hand is asked for."""
    with closing(database.connect_read_only(path)) as connection:
        try:
            if wanted.hand is not None:
                rows = connection.execute("SELECT row, body FROM row WHERE hand = ? ORDER BY row", (wanted.hand,))
            elif wanted.type is not None and "." in wanted.type:
                rows = connection.execute("SELECT row, body FROM row WHERE type = ? ORDER BY row", (wanted.type,))
            else:
                rows = connection.execute("SELECT row, body FROM row ORDER BY row")
            for row, body in database.ascending(rows):
                yield _event(path, row, body)
        except database.UNREADABLE as error:
            raise database.unusable(path, error) from error


def tail(path: Path, count: int) -> list[dict[str, Any]]:
    """The last events, oldest first. Raises ``LedgerError``."""
    with closing(database.connect_read_only(path)) as connection:
        try:
            rows = connection.execute("SELECT row, body FROM row ORDER BY row DESC LIMIT ?", (count,)).fetchall()
        except database.UNREADABLE as error:
            raise database.unusable(path, error) from error
    return [_event(path, row, body) for row, body in reversed(rows)]


def _event(path: Path, row: int, body: Any) -> dict[str, Any]:
    """The event of a row, as far as a search looks into it. Raises ``LedgerDamaged``."""
    try:
        event = json.loads(body)
        whole = isinstance(event["data"], dict) and all(
            isinstance(event[name], str) for name in ("row", "time", "type")
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        whole = False
    if not whole:
        raise LedgerDamaged(path, f"row {row} is no event; read a copy that feltd verify calls whole")
    return event  # type: ignore[no-any-return]
