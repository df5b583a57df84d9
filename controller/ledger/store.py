"""The ledger: what the rules concluded, written once, in order, and never changed."""

import hashlib
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from controller.contract import envelope
from controller.contract.checkpoint import Head
from controller.contract.following import Fault
from controller.contract.integrity import GENESIS, digest, key_id, sealed_digest
from controller.contract.sealed import bound_to
from controller.contract.topics import STREAMS, Source
from controller.core.records import Record
from controller.errors import LocalError
from controller.ledger import database, ends, files, images, locks, referring, restoring, structure, tailcheck
from controller.ledger.ends import Tail
from controller.ledger.errors import AppendFailed, LedgerError, NotWritable
from controller.ledger.keys import Keys
from controller.ledger.locks import Lock
from controller.ledger.outbox import Unsent
from controller.ledger.sealing import Vault
from controller.ledger.signature import ENDS_A_HAND, SIGNED_AT_ONCE, Signer, SigningRhythm

_INSERT = "INSERT INTO row (row, stream, sequence, type, hand, body, key, secret) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_HEAD = (
    "INSERT INTO head (stream, sequence, sha256, sealed) VALUES (?, ?, ?, ?) ON CONFLICT (stream) "
    "DO UPDATE SET sequence = excluded.sequence, sha256 = excluded.sha256, sealed = excluded.sealed"
)
_LOOK = "check the disk, restart, and look: what a failing disk took at the last moment can be there all the same"
MOST_TOGETHER = 64
"""The most inputs that a caller stores in one transaction."""
_SEALED = "INSERT INTO sealed (stream, sequence, sha256, signature) VALUES (?, ?, ?, ?)"


class Ledger:
    """One append-only file of one table, written by one process and one thread.

    Made by ``Ledger.open``; a second writer is refused for as long as this one is open.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: Lock, keys: Keys, rhythm: SigningRhythm
    ) -> None:
        about = database.meta(connection)
        self.path = path
        self.source = Source(about["site"], about["table"])
        self.id = about["ledger"]
        self.test = about["test"] == "true"
        self._connection = connection
        self.lock = lock
        self._device = keys.device
        self._vault = Vault(path, connection, self.id, keys.device, keys.auditor)
        self._signer = Signer(keys.signing) if keys.signing else None
        self._rhythm = rhythm
        self._sign_at: int | None = None
        self._wipe = True  # a run before may have ended between a hand's end and the wiping
        self._sources = {stream: self.source.stream(stream) for stream in STREAMS}
        self._tail: Tail | None = ends.read(self._connection, self.path)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        source: Source,
        test: bool,
        keys: Keys,
        rhythm: SigningRhythm | None = None,
        retention: files.Retention | None = None,
        new_id: str | None = None,
        wall_ns: int | None = None,
    ) -> "Ledger":
        """Open or begin the ledger of a table and take its lock.

        A new file gets a random UUID, or ``new_id`` in test mode where a run is to be repeated exactly, and begins
        with ``ledger.began``, stamped with ``wall_ns`` (now, if not given). With ``retention`` a file that is due is
        archived first. A signing key that is new takes over from ``keys.signing_before``, signed by both.

        Raises ``LedgerBusy`` if another process has it, ``LedgerDamaged`` for a file that lost or changed its end,
        ``LedgerError`` for another table's file, a live file in test mode or the other way round, a file that cannot
        be used, or one that is missing while its write-ahead log lies there.
        """
        if new_id is not None and not test:
            raise LedgerError(path, "an id may be given in test mode only; leave it out")
        wall = time.time_ns() if wall_ns is None else wall_ns
        path = files.real(path)
        with ExitStack() as undo:
            lock = locks.take(path)
            undo.callback(lock.release)
            try:
                files.finish_archiving(path)
                if path.exists():
                    lock.hold_file()
                    if retention is not None:
                        cls._archive(path, lock, keys, retention, new_id, wall)
                database.make(path)
                lock.hold_file()
                connection = database.connect(path, durable=True)
                undo.callback(connection.close)
                structure.bring_up(connection, path)
                files.describe(connection, path, source, test=test, new_id=new_id)
                ledger = cls(path, connection, lock, keys, rhythm or SigningRhythm())
                if not ledger.row:
                    ledger.append([Record("ops", "ledger.began", "", {"previous": None, "reason": "first"})], wall)
                ledger.take_over_key(keys.signing_before, wall)
            except (*database.UNREADABLE, OSError) as error:
                raise database.unusable(path, error) from error
            undo.pop_all()
        return ledger

    @classmethod
    def _archive(
        cls, path: Path, lock: Lock, keys: Keys, retention: files.Retention, new_id: str | None, wall_ns: int
    ) -> None:
        """Put the file away if it is due, and begin the next one."""
        with closing(database.connect(path, durable=True)) as connection:
            structure.bring_up(connection, path)
            due = files.is_due(connection, path, retention, wall_ns)
        if not due:
            return

        def begin(coming: Path, before: Mapping[str, str], heads: Mapping[str, Head]) -> None:
            old = before["ledger"]
            made = uuid.UUID(bytes=hashlib.sha256(f"{old}|{new_id}".encode()).digest()[:16], version=4)
            with closing(database.connect(coming, durable=True)) as connection:
                database.migrate(connection, coming)
                about = {
                    "ledger": str(uuid.uuid4() if new_id is None else made),
                    "session": "0",
                    "previous": old,
                    "sealed_from": "0",
                }
                files.say(connection, {**before, **about})
                linked = {"ledger": old, "heads": {stream: head.to_json() for stream, head in heads.items()}}
                record = Record("ops", "ledger.began", "", {"previous": linked, "reason": "archived"})
                cls(coming, connection, lock, keys, SigningRhythm()).append([record], wall_ns)

        files.put_away(path, begin)

    def append(self, records: Sequence[Record], wall_ns: int) -> list[Unsent]:
        """Store the records of one input: ``append_together`` of that alone."""
        return self.append_together([(records, wall_ns)])

    def append_together(
        self,
        inputs: Sequence[tuple[Sequence[Record], int]],
        *,
        coming: Callable[[Sequence[Unsent]], None] | None = None,
    ) -> list[Unsent]:
        """Store the records of some inputs in one transaction; return what was written once all of it is durable.

        ``coming`` is told what is written just before: whoever has to do with it may prepare, and nothing more.

        With each input comes its ``wall_ns`` (nanoseconds since 1970), the ``time`` of its records. Signatures that
        are due go in after the input that made them due: what is written does not depend on what is written together.
        Raises ``AppendFailed``; nothing of any input is stored then.
        """
        hands_end = False

        def write(tail: Tail) -> None:
            nonlocal hands_end
            for records, wall_ns in inputs:
                at_once = False
                for record in records:
                    self._put(tail, record, wall_ns)
                    at_once |= record.type in SIGNED_AT_ONCE
                    hands_end |= record.type in ENDS_A_HAND
                self._sign(tail, 1 if at_once else self._rhythm.rows, wall_ns)

        written = self._transaction(write, coming)
        if hands_end:
            self._wipe = True
            self._wipe_log()
        return written

    def sign_due(self, mono_ns: int, wall_ns: int) -> list[Unsent]:
        """Sign what has been unsigned for a period; call it whenever the core thread wakes.

        ``mono_ns`` is the monotonic clock. Returns what was written. Raises ``AppendFailed``. A hand's key
        that still stands in the write-ahead log, because somebody was reading, is wiped as well.
        """
        self._wipe_log()
        if self._sign_at is None:
            self._sign_at = mono_ns + self._rhythm.period_ms * 1_000_000
        if self._signer is None or mono_ns < self._sign_at:
            return []
        self._sign_at = mono_ns + self._rhythm.period_ms * 1_000_000
        if not any((self._tail or ends.read(self._connection, self.path)).unsigned.values()):
            return []
        return self._transaction(lambda tail: self._sign(tail, 1, wall_ns))

    @property
    def public_key(self) -> Ed25519PublicKey | None:
        """The public half of the signing key."""
        return self._signer.public if self._signer else None

    def _wipe_log(self) -> None:
        if self._wipe:
            self._wipe = not database.wipe_log(self._connection)

    @property
    def row(self) -> int:
        """The last row written, 0 in an empty file."""
        return (self._tail or ends.read(self._connection, self.path)).row

    def head(self, stream: str) -> Head:
        """The last event of a stream."""
        return (self._tail or ends.read(self._connection, self.path)).heads.get(stream, Head())

    def restore_rows(self) -> Iterator[Record]:
        """The core's records since the table was last opened, all if it never was, as ``Table.restore`` needs them.

        What the ledger wrote about itself is left out. Secrets are decrypted where their hand is still open; they are
        ``None`` otherwise. A file that was begun since then goes on from the archived one. Raises ``KeyFileError``
        for a device key that is not this ledger's, ``LedgerError`` for a row that cannot be read.
        """
        yield from self.beginning("").records

    def _records(self, first: int) -> Iterator[Record]:
        """The core's records from a row on, with what may still be known of their secrets."""
        try:
            rows = database.ascending(self._connection.execute(restoring.SINCE, (first,)))
            for _, stream, sequence, body, key, box in rows:
                secret = None if box is None else self._vault.unseal(key, box, bound_to(stream, sequence, self.id))
                yield restoring.restored(self.path, stream, sequence, body, secret)
        except database.UNREADABLE as error:
            raise database.unusable(self.path, error) from error

    def beginning(self, form: str) -> images.Beginning:
        """What a restart needs: the state that was kept last, if its ``form`` is this program's, and what came after.

        Else all that ``restore_rows`` gives. Raises as that does, at once or while the records are read.
        """
        try:
            return restoring.beginning(self.path, self._connection, self._device, form, self._records)
        except database.UNREADABLE as error:
            raise database.unusable(self.path, error) from error

    def keep_image(self, form: str, state: Any) -> None:
        """Keep the state after the last row: ``beginning`` gives it back. Raises ``LedgerError``; nothing is lost."""
        try:
            tail = self._tail or ends.read(self._connection, self.path)
            images.keep(self._connection, images.key(self._device, self.id), tail.row, form, tail.heads, state)
        except database.UNREADABLE as error:
            raise database.unusable(self.path, error) from error

    def tail(self, limit: int) -> list[bytes]:
        """The bodies of the last ``limit`` rows, oldest first."""
        return restoring.last(self._connection, limit)

    def last_said(self, limit: int) -> list[bytes]:
        """``tail``, and where the file has just begun also the end of the one before. Raises ``LedgerError``."""
        try:
            return restoring.last_said(self.path, self._connection, limit)
        except database.UNREADABLE as error:
            raise database.unusable(self.path, error) from error

    def check_tail(self) -> tuple[Fault, ...]:
        """Check what no signature covers yet, the last signature of each stream, and what else the file has in it.

        Bounded, whatever the size.
        """
        heads: dict[str, Head] = {stream: self.head(stream) for stream in STREAMS}
        faults = tailcheck.check(self._connection, heads, self._signer.public if self._signer else None)
        faults += structure.foreign(self._connection)
        return (*faults, *restoring.check_image(self._connection, images.key(self._device, self.id)))

    def close(self) -> None:
        """Close the file and give up the lock."""
        self._connection.close()
        self.lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take_over_key(self, before: Ed25519PrivateKey | None, wall_ns: int) -> None:
        """If the signing key is another than so far, say ``key.rotated`` under both, in each stream for its readers.

        Raises ``LedgerError``.
        """
        if self._signer is None:
            return
        last = database.said(self._connection, "signing_key") or tailcheck.last_signed_by(self._connection)
        if last == self._signer.key_id:
            return
        if last is None:
            files.say(self._connection, {"signing_key": self._signer.key_id})
            return
        if before is None or key_id(before.public_key().public_bytes_raw()) != last:
            remedy = "set ledger.signing_key_before to that key; where it is lost, have a new ledger begun (docs)"
            raise LedgerError(self.path, f"was signed with key {last} so far and not {self._signer.key_id}; {remedy}")
        told = [
            Record(stream, "key.rotated", "", self._signer.take_over(before, self._sources[stream], self.id, row))
            for row, stream in enumerate(STREAMS, self.row + 1)
        ]
        self.append(told, wall_ns)

    def _put(self, tail: Tail, record: Record, wall_ns: int) -> None:
        stream = record.stream
        if record.day:
            tail.day = record.day
        tail.session = None if record.type == "table.closed" else record.session or tail.session
        self._insert(tail, record, wall_ns, day=record.day, session=record.session)
        if record.type in ENDS_A_HAND and (hand := record.hand) is not None:
            self._vault.retire(hand)
        if record.type == "key.rotated":
            self._connection.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES ('signing_key', ?)", (record.data["new"],)
            )
        tail.unsigned[stream] = tail.unsigned.get(stream, 0) + 1

    def _insert(self, tail: Tail, record: Record, wall_ns: int, *, day: str, session: str | None) -> None:
        stream = record.stream
        head = tail.heads.get(stream, Head())
        sequence = head.sequence + 1
        tail.row += 1
        body = envelope.encode(
            envelope.Position(self.id, stream, sequence, tail.row, head.sha256),
            source=self._sources[stream],
            kind=record.type,
            wall_ns=wall_ns,
            subject=record.subject,
            day=day or tail.day or envelope.time_text(wall_ns)[:10],
            session=session,
            test=self.test,
            data=referring.resolved(self.path, self._connection, record, tail.heads),
        )
        key, box = None, None
        if record.secret is not None:
            key, box = self._vault.seal(record.hand, record.secret, bound_to(stream, sequence, self.id))
            before = tail.sealed.get(stream, GENESIS)
            tail.sealed[stream] = sealed_digest(before, sequence, key, box, self._vault.auditors(key))
        self._connection.execute(_INSERT, (tail.row, stream, sequence, record.type, record.hand, body, key, box))
        tail.heads[stream] = Head(sequence, digest(body))
        tail.written.append(Unsent(tail.row, stream, sequence, record.type, body))

    def _sign(self, tail: Tail, at_least: int, wall_ns: int) -> None:
        """Sign the head of each stream that has so many unsigned rows. A signature itself is not counted."""
        if self._signer is None:
            return
        for stream in STREAMS:
            if tail.unsigned.get(stream, 0) >= at_least:
                head = tail.heads[stream]
                data = self._signer.sign(self._sources[stream], self.id, head.sequence, head.sha256)
                record = Record(stream, "ledger.signed", "", data)
                self._insert(tail, record, wall_ns, day=tail.day, session=tail.session)
                tail.unsigned[stream] = 0
                sequence, sealed = tail.heads[stream].sequence, tail.sealed.get(stream, GENESIS)
                signature = self._signer.sign_sealed(self._sources[stream], self.id, sequence, sealed)
                self._connection.execute(_SEALED, (stream, sequence, sealed, signature))

    def _transaction(
        self, write: Callable[[Tail], None], coming: Callable[[Sequence[Unsent]], None] | None = None
    ) -> list[Unsent]:
        """Have rows written behind a tail that becomes the ledger's own when all of it is durable; return the rows.

        ``coming`` is told last of all before the commit: what it wakes works while the disk does, not in its way.
        """
        before = self._tail or ends.read(self._connection, self.path)
        tail = before.to_grow()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            write(tail)
            for stream, head in tail.heads.items():
                if head is not before.heads.get(stream):
                    sealed = tail.sealed.get(stream, GENESIS)
                    self._connection.execute(_HEAD, (stream, head.sequence, head.sha256, sealed))
            if coming is not None:
                coming(tail.written)
            self._connection.execute("COMMIT")
        except (TypeError, ValueError, OverflowError) as error:
            self._undo(error)
            raise NotWritable(self.path, f"nothing was stored ({error}); this cannot be an event") from error
        except (sqlite3.Error, LocalError) as error:
            self._undo(error)
            raise AppendFailed(self.path, f"nothing was stored ({error}); {_LOOK}") from error
        self._tail = tail
        return tail.written

    def _undo(self, cause: Exception) -> None:
        """Roll back, and believe nothing in memory until it has been read again."""
        self._tail = None
        self._vault.forget()
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise AppendFailed(self.path, f"not rolled back ({error}) after: {cause}; restart the daemon") from error
