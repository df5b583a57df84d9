"""Asks tables for what is missing: a gap, what was withheld, what may have come after the last event we have.

One request a table at a time. An answer that does not come is asked for again, later each time. Works on times it is
given (monotonic seconds); no broker in here.
"""

import json
import math
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from backoffice import messages
from backoffice.reader import Reader
from backoffice.store import Store
from controller.contract.topics import Topics

MOST = 500
LONGEST_NAME = 64
"""Characters of the name of a ledger; a table answers no request that is longer than it reads."""
ANSWER_S = 5.0
"""How long an answer, or the next part of it, may take."""
LONGEST_S = 60.0
LOOK_S = 60.0
"""How often each stream is asked for what came after the last event: the last one of all makes no gap."""
ERRORS = ("busy", "denied", "pruned", "too_many", "unknown_ledger")
"""What a table answers instead of events."""
BUSY_MS = 1000
NO_OPS = (
    "without stream ops no event names the ledger before: asked for was what is stored and what the table goes on in; "
    "whether there are other ledgers, before or between, is not known"
)
NOT_NAMED = "did not say which ledger it goes on in (topics state and description): a new one may be missing"


_Range = tuple[str, str | None, int, int | None]
"""Stream, ledger, first, last (``None``: up to the head)."""


@dataclass(slots=True)
class _Table:
    """What is under way with one table. ``todo`` are the ranges to ask for."""

    topics: Topics
    todo: list[_Range] = field(default_factory=list)
    asked: _Range | None = None
    correlation: str = ""
    """What the answer to the open request carries. Nobody can guess it who has not heard the request."""
    until: float = 0.0
    not_before: float = 0.0
    failures: int = 0
    denied: set[str] = field(default_factory=set)
    look_at: float = 0.0
    named: dict[str, str] = field(default_factory=dict)
    """The ledger that the table goes on in, as each of its retained topics names it."""
    ends: list[str] = field(default_factory=list)
    """Stored ledgers of whose end no later one tells: only the table knows it."""
    resting: list[tuple[float, _Range]] = field(default_factory=list)
    """Ranges that the table cannot serve now, and when to ask again: they stand in no other's way."""

    def rested(self, now: float) -> list[_Range]:
        """Take those that may be asked for again."""
        due = [one for until, one in self.resting if until <= now]
        self.resting = [(until, one) for until, one in self.resting if until > now]
        return due


def _told(body: bytes, *, test: bool) -> dict[str, Any] | None:
    """A snapshot, ``None`` where it is none, or one of the other mode."""
    told = messages.read(body)
    if told is None or told.get("test") is not test:
        return None
    return told if messages.text(told.get("ledger")) and messages.number(told.get("sequence")) is not None else None


def _rest_ms(said: object) -> int:
    """How long a busy table wants to be left alone."""
    known = isinstance(said, int) and not isinstance(said, bool) and said > 0
    return min(said, int(LONGEST_S * 1000)) if isinstance(said, int) and known else BUSY_MS


class Asking:
    """Turns what a reader misses into requests, and answers into what is still to be asked."""

    def __init__(
        self, store: Store, reader: Reader, topics: Mapping[str, Topics], client: str, streams: tuple[str, ...]
    ) -> None:
        self._store = store
        self._reader = reader
        self._client = client
        self._streams = streams
        self._tables = {name: _Table(one) for name, one in topics.items()}
        self.errors: dict[str, int] = {}
        self.snapshots: dict[str, dict[str, Any]] = {}
        """How each table stood last by its retained snapshot: for screens, never to book from."""
        self.replays = 0
        self._looked_back = False

    def connected(self, now: float) -> None:
        """A connection begins: what was under way is to be asked again, but for the looks at what came last."""
        for table in self._tables.values():
            under_way = [*([] if table.asked is None else [table.asked]), *table.todo, *table.rested(math.inf)]
            table.todo = [one for one in under_way if one[3] is not None]
            table.ends += [ledger for _, ledger, _, high in under_way if high is None and ledger is not None]
            table.asked, table.not_before, table.look_at = None, 0.0, now
        if not self._looked_back:
            self._looked_back = True
            self._look_back()

    def _look_back(self) -> None:
        """What may be missing by the store alone: who ran before us has told nobody what it was still asking for."""
        for name, table in self._tables.items():
            told_of: set[str] = set()
            for ledger in self._store.ledgers(name):
                table.ends.append(ledger)
                self._reader.missing |= {(f"{name}/{stream}", ledger) for stream in self._streams}
                first = next(self._store.events(name, ledger), None)
                if first is not None and first.type == "ledger.began":
                    self._reader.linked(first)
                    if previous := messages.previous_of(first.payload):
                        told_of.add(previous.ledger)
            table.ends = [ledger for ledger in table.ends if ledger not in told_of]

    def idle(self) -> bool:
        """Whether nothing is under way and nothing is known to be missing."""
        tables = self._tables.values()
        asked = self._reader.missing or self._reader.tails
        under_way = any(table.asked or table.todo or table.resting or not table.look_at for table in tables)
        return not asked and not under_way

    def heard(self, topic: str, body: bytes, now: float) -> bool:
        """Take an answer that is no event, and what names a table's ledger. ``False`` for everything else."""
        for table in self._tables.values():
            if topic in (table.topics.state, table.topics.description):
                self._named(table, topic, body, now)
                return True
            if topic.startswith(table.topics.reply(self._client)):
                table.until = now + ANSWER_S
                return self._answer(table, body, now)
        return False

    def _named(self, table: _Table, topic: str, body: bytes, now: float) -> None:
        """A ledger that we know nothing of has to be asked for from its first event: none may come by itself."""
        told = messages.read(body) or {}
        ledger, test = told.get("ledger"), told.get("test", table.topics.test)
        if not isinstance(ledger, str) or not 0 < len(ledger) <= LONGEST_NAME or not messages.text(ledger):
            self._reader.counts.refuse("names no ledger of this table")
        elif test is not table.topics.test:
            self._reader.counts.refuse("description of a test table" if test else "description of a live table")
        else:
            if ledger not in table.named.values():
                table.ends += table.named.values()
                table.look_at = now
            table.named[topic] = ledger

    def notes(self) -> list[str]:
        """What could not be found out of each table, for who reads that all is there."""
        found: list[str] = []
        for name, table in self._tables.items():
            if "ops" not in self._streams or "ops" in table.denied:
                found.append(f"{name}: {NO_OPS}")
            if not table.named:
                found.append(f"{name}: {NOT_NAMED}")
        return found

    def shown(self, topic: str, body: bytes) -> bool:
        """Take a table's snapshot, and ask for what it tells of that we have not. ``False`` for everything else."""
        for name, table in self._tables.items():
            if topic == table.topics.snapshot:
                told = _told(body, test=table.topics.test)
                if told is None:
                    self._reader.counts.refuse("no snapshot of this table")
                else:
                    self.snapshots[name] = told
                    self._behind(name, told["ledger"], int(told["sequence"]))
                return True
        return False

    def _behind(self, name: str, ledger: str, head: int) -> None:
        """Events that a snapshot was made of and we have not may still come by themselves; the tail is asked for."""
        source = f"{name}/play"
        have = self._store.highest(source, ledger)
        if have < head and (source, ledger, have + 1, head) not in self._reader.tails:
            self._reader.tails.append((source, ledger, have + 1, head))

    def due(self, now: float) -> Iterator[tuple[str, bytes, str]]:
        """What to publish now: topic, body, and the topic for the answer."""
        for name, table in self._tables.items():
            if table.asked is not None and now > table.until:
                self._again(table, now, "no_answer")
            if table.asked is not None or now < table.not_before:
                continue
            table.todo += table.rested(now)
            if not table.todo:
                self._find(name, table, now)
            if table.todo:
                yield self._request(table, now)

    def _may(self, name: str, table: _Table, stream: str) -> bool:
        return stream not in table.denied and f"{name}/{stream}" not in self._reader.forged

    def _find(self, name: str, table: _Table, now: float) -> None:
        for source, ledger in sorted(self._reader.missing):
            base, _, stream = source.rpartition("/")
            if base != name:
                continue
            self._reader.missing.discard((source, ledger))
            ranges = self._store.gaps(source, ledger)
            ranges += [(at, at) for where, at in self._store.withheld(name, ledger) if where == source]
            table.todo += [(stream, ledger, low, high) for low, high in ranges if self._may(name, table, stream)]
        for source, ledger, low, high in [tail for tail in self._reader.tails if tail[0].rpartition("/")[0] == name]:
            self._reader.tails.remove((source, ledger, low, high))
            stream = source.rpartition("/")[2]
            if stream in self._streams and self._may(name, table, stream):
                table.todo.append((stream, ledger, low, high))
        if not (table.todo or table.resting) and now >= table.look_at:
            table.look_at = now + LOOK_S
            table.todo += self._look(name, table)

    def _look(self, name: str, table: _Table) -> Iterator[_Range]:
        """What may have come after the last event, in each ledger of whose end only the table knows."""
        newest = self._store.ledgers(name)[-1:]
        known = dict.fromkeys([*table.ends, *newest, *table.named.values()])
        table.ends = []
        for ledger in known or (None,):
            for stream in self._streams:
                if self._may(name, table, stream):
                    have = 0 if ledger is None else self._store.highest(f"{name}/{stream}", ledger)
                    yield stream, ledger, have + 1, None

    def _request(self, table: _Table, now: float) -> tuple[str, bytes, str]:
        stream, ledger, low, high = table.asked = table.todo.pop(0)
        reply = f"{table.topics.reply(self._client)}{stream}"
        table.correlation = secrets.token_hex(16)
        content: dict[str, object] = {"stream": stream, "from": f"{low:016d}", "max": MOST, "reply_to": reply}
        content["correlation_id"] = table.correlation
        if ledger is not None:
            content["ledger"] = ledger
        if high is not None:
            content["to"] = f"{high:016d}"
        table.until = now + ANSWER_S
        self.replays += 1
        return table.topics.command("replay"), json.dumps(content, separators=(",", ":")).encode(), reply

    def _answer(self, table: _Table, body: bytes, now: float) -> bool:
        """``True`` for the words that end an answer, ``False`` for an event in it."""
        said = messages.read(body)
        if said is None or not ("done" in said or "error" in said):
            return False
        if table.asked is None or said.get("correlation_id") != table.correlation:
            self._reader.counts.refuse("answer to no open request")
        elif said.get("done") is True:
            self._done(table, table.asked, said.get("next"))
        elif said.get("error") in ERRORS:
            self._refused(table, table.asked, said, now)
        else:
            self._reader.counts.refuse("answer that makes no sense")
        return True

    def _done(self, table: _Table, asked: _Range, rest: object) -> None:
        stream, ledger, low, high = asked
        following = messages.number(rest)
        if rest is not None and (following is None or following <= low):
            self._reader.counts.refuse("answer that makes no sense")
            return
        table.asked, table.failures = None, 0
        if following is not None:
            table.todo.insert(0, (stream, ledger, following, high))

    def _refused(self, table: _Table, asked: _Range, said: Mapping[str, Any], now: float) -> None:
        stream, ledger, _, high = asked
        error = str(said["error"])
        table.asked = None
        if error == "busy":
            rest_s = _rest_ms(said.get("retry_ms")) / 1000
            table.resting.append((now + rest_s, asked))
            table.not_before = now + min(rest_s, BUSY_MS / 1000)
            return
        self.errors[error] = self.errors.get(error, 0) + 1
        if error == "denied":
            table.denied.add(stream)
            table.todo = [one for one in table.todo if one[0] != stream]
        elif error == "unknown_ledger" and high is None:
            # Not on the device, or not any more: what it has now is of the one that it names, or does not name.
            table.named = {topic: named for topic, named in table.named.items() if named != ledger}
            afresh = (stream, None, 1, None)
            if not table.named and afresh not in table.todo:
                table.todo.append(afresh)

    def _again(self, table: _Table, now: float, why: str) -> None:
        self.errors[why] = self.errors.get(why, 0) + 1
        assert table.asked is not None
        table.todo.insert(0, table.asked)
        table.asked = None
        table.not_before = now + min(LONGEST_S, 2.0**table.failures)
        table.failures += 1
