"""What the stores in SQL share: their tables and queries. Each database says how a query is run."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Self

from backoffice.store import Accepted, Event, Pin, Refused
from controller.contract.integrity import digest

TABLES = """
create table if not exists event (
  source text not null, ledger text not null, sequence char(16) not null, row_no char(16) not null, type text not null,
  gamingday text, session text, subject text, happened text not null, received text not null, test {bool} not null,
  payload {bytes} not null, primary key (source, ledger, sequence));
create index if not exists event_subject on event (subject);
create index if not exists event_day on event (gamingday, type);
create index if not exists event_row on event (ledger, row_no);
create index if not exists event_withheld on event (ledger, source, sequence) where type = 'record.withheld';
create table if not exists refused (
  source text not null, ledger text not null, sequence char(16) not null, sha256 char(64) not null,
  reason text not null, payload {bytes} not null, primary key (source, ledger, sequence, sha256));
create table if not exists pin (
  site_table text not null, test {bool} not null, public_key {bytes} not null,
  primary key (site_table, test, public_key));
create table if not exists accepted (
  site_table text not null, ledger text not null, ruled_by text not null, reason text not null, ruled text not null,
  primary key (site_table, ledger))
"""
NO_STORE = "holds no store of feltoffice: check its name, or begin one with feltoffice enrol"
COLUMNS = "source, ledger, sequence, row_no, type, gamingday, session, subject, happened, test, payload"
INSERT = f"insert into event ({COLUMNS}, received) values ({', '.join('?' * 11)}, {{now}}) on conflict do nothing"  # noqa: S608
PAYLOAD = "select payload from event where source = ? and ledger = ? and sequence = ?"
EVENTS = f"select {COLUMNS} from event where ledger = ? and source like ? order by row_no"  # noqa: S608
GAPS = (
    "select before, sequence from (select sequence, lag(sequence) over (order by sequence) as before from event "
    "where source = ? and ledger = ?) as steps "
    "where cast(sequence as bigint) <> coalesce(cast(before as bigint), 0) + 1 order by sequence"
)


def gap_ranges(steps: Iterable[tuple[str | None, str]]) -> list[tuple[int, int]]:
    """Where the sequence jumps, as ranges of what is missing."""
    return [(int(before or 0) + 1, int(sequence) - 1) for before, sequence in steps]


def from_row(row: Sequence[Any]) -> Event:
    """The event of the columns in the order of ``COLUMNS``."""
    return Event(*(*row[:9], bool(row[9]), bytes(row[10])))


def values(event: Event) -> tuple[object, ...]:
    """The columns of an event in the order of ``COLUMNS``."""
    return (
        *event.key,
        event.row,
        event.type,
        event.day,
        event.session,
        event.subject,
        event.happened,
        event.test,
        event.payload,
    )


class SqlStore(ABC):
    """See ``Store``. The marks in all queries are ``?``; used by one thread."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def replace(self, event: Event) -> None:
        """See ``Store``."""
        self._run(
            "update event set type = ?, payload = ? where source = ? and ledger = ? and sequence = ? "
            "and type = 'record.withheld'",
            (event.type, event.payload, *event.key),
        )

    def refuse(self, event: Event, reason: str) -> None:
        """See ``Store``."""
        self._run(
            "insert into refused (source, ledger, sequence, sha256, reason, payload) values (?, ?, ?, ?, ?, ?) "
            "on conflict do nothing",
            (*event.key, digest(event.payload), reason, event.payload),
        )

    def refused(self, table: str) -> list[Refused]:
        """See ``Store``."""
        found = self._read(
            "select source, ledger, sequence, sha256, reason, payload from refused where source like ? "
            "order by source, ledger, sequence, sha256",
            (f"{table}/%",),
        )
        return [Refused(*row) for row in found]

    def ledgers(self, table: str) -> list[str]:
        """See ``Store``."""
        found = self._read(
            "select ledger from event where source like ? group by ledger order by min(received)", (f"{table}/%",)
        )
        return [ledger for (ledger,) in found]

    def highest(self, source: str, ledger: str) -> int:
        """See ``Store``."""
        ((found,),) = self._read("select max(sequence) from event where source = ? and ledger = ?", (source, ledger))
        return int(found or 0)

    def gaps(self, source: str, ledger: str) -> list[tuple[int, int]]:
        """See ``Store``."""
        return gap_ranges(self._read(GAPS, (source, ledger)))

    def withheld(self, table: str, ledger: str) -> list[tuple[str, int]]:
        """See ``Store``."""
        found = self._read(
            "select source, sequence from event where ledger = ? and source like ? and type = 'record.withheld' "
            "order by source, sequence",
            (ledger, f"{table}/%"),
        )
        return [(source, int(sequence)) for source, sequence in found]

    def pin(self, pin: Pin) -> None:
        """See ``Store``."""
        self._run(
            "insert into pin (site_table, test, public_key) values (?, ?, ?) on conflict do nothing",
            (pin.table, pin.test, pin.key),
        )

    def pins(self, table: str | None = None) -> list[Pin]:
        """See ``Store``."""
        found = self._read("select site_table, test, public_key from pin order by site_table", ())
        return [Pin(name, bool(test), bytes(key)) for name, test, key in found if table in (None, name)]

    def accept(self, accepted: Accepted) -> None:
        """See ``Store``."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._run(
            "insert into accepted (site_table, ledger, ruled_by, reason, ruled) values (?, ?, ?, ?, ?) "
            "on conflict do nothing",
            (accepted.table, accepted.ledger, accepted.by, accepted.reason, now),
        )

    def accepted(self, table: str) -> list[Accepted]:
        """See ``Store``."""
        found = self._read(
            "select site_table, ledger, ruled_by, reason from accepted where site_table = ? order by ruled", (table,)
        )
        return [Accepted(*row) for row in found]

    @abstractmethod
    def close(self) -> None:
        """See ``Store``."""

    @abstractmethod
    def _run(self, query: str, arguments: Sequence[object]) -> Any:
        """Run a query; its cursor. Raises ``StoreError``."""

    def _read(self, query: str, arguments: Sequence[object]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._run(query, arguments).fetchall()
        return rows
