"""Proves that a ledger file holds what was written, all of it, in order. Needs no daemon and no secret.

The chains are followed by ``contract.following``, which subscribers use too; here the file's own record of its ends
and the columns beside the bytes are held against them.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from controller.contract.checkpoint import Checkpoint, Head
from controller.contract.errors import NoCheckpoint
from controller.contract.following import Chain, Fault, Follower, Report, Stored
from controller.contract.keyring import Keyring
from controller.contract.topics import STREAMS, Source
from controller.errors import LocalError
from controller.ledger import beside, database, kinds, linked, sealedcheck, standins, structure
from controller.ledger.errors import LedgerDamaged

_AT_ONCE = 500
ROWS = "SELECT row, stream, sequence, type, hand, body, acked FROM row"
COLUMNS = ("row", "stream", "sequence", "type", "hand", "body", "acked")
"""Their names, for ``kinds``: in a damaged file they can hold anything."""


SENT = (0, 1)
"""What ``acked`` can be."""


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in a file. Raises ``LocalError``."""
    try:
        return Checkpoint.from_json(path)
    except NoCheckpoint as error:
        raise LocalError(error.field, error.value, error.remedy) from error


def verify(
    path: Path,
    *,
    checkpoint: Checkpoint | None = None,
    public_keys: Iterable[Ed25519PublicKey] | None = None,
    go_on: Callable[[int], bool] = lambda _row: True,
    archive: bool = True,
) -> Report:
    """Check every row of a ledger file, opened for reading only, up to what is its end when it gets there.

    Without ``public_keys`` the signatures are held against the chain and not against a key. ``go_on`` is asked before
    each row (0: between rows) and may wait, or say ``False`` to end early. With ``archive`` the ends of the
    archived file before it, where it lies there, are held against what this one says of them: its rows are its own
    check's. Raises ``LedgerError`` for a file that cannot be read at all, or not now.
    """
    with closing(database.connect_read_only(path)) as connection:
        try:
            about, faults = beside.about(connection)
        except database.UNREADABLE as error:
            raise database.unusable(path, error) from error
        keyring = None if public_keys is None else Keyring(public_keys)
        try:
            follower = follow(about, keyring, checkpoint)
        except (KeyError, ValueError) as error:
            raise LedgerDamaged(path, f"does not say whose ledger it is ({error}); {database.COPY}") from error
        for fault in faults:
            follower.fault(fault)
        heads: list[Any] | None = None
        before: linked.Before | None = None
        after = -(2**63)  # a forged row may stand in front of the first
        at_once = _AT_ONCE
        while heads is None:
            try:
                rows, heads = _batch(connection, after, at_once)
            except database.UNREADABLE as error:
                database.of_the_file(path, error)
                if at_once > 1:
                    at_once = 1  # up to the very row
                    continue
                broken = f"the file cannot be read from here on ({error})"
                follower.fault(Fault(max(after + 1, 1), "?", 0, broken))
                break
            for row in rows:
                if not go_on(row[0]):
                    return follower.report()
                if row[0] <= after:
                    raise LedgerDamaged(path, f"its rows lie in no order behind row {after}; {database.COPY}")
                after = row[0]
                if what := kinds.wrong(COLUMNS, row):
                    follower.fault(
                        Fault(after, "?", 0, f"damaged: it holds what no row does ({what}); {database.COPY}")
                    )
                else:
                    follower.follow(stored(*row))
                    if row[-1] not in SENT:
                        unknown = f"changed: it is neither marked as sent nor as unsent; {database.RESTORE}"
                        follower.fault(Fault(after, row[1], row[2], unknown))
        if heads is not None:
            ends(follower, heads)
            follower.against_signing()
        looked: Iterable[tuple[str, Callable[[], Iterable[Fault]]]] = (
            ("what it is made of", lambda: structure.schema(connection)),
            ("its pages", lambda: structure.check(connection, go_on)),
            ("its counter", lambda: beside.check(connection)),
            ("what stands in for its rows", lambda: standins.check(connection)),
            ("what lies sealed", lambda: sealedcheck.check(connection, follower.source, about, keyring, go_on)),
        )
        for of, look in looked:
            _add(path, follower, of, look)
        if archive:
            before = _before(path, connection, follower)
        follower.against_checkpoint()
    report = follower.report()
    if before is not None and before.missing:
        not_compared = f"not compared with the file before it: {before.path.name} {before.missing}"
        return replace(report, notes=(*report.notes, not_compared))
    return report


def _add(path: Path, follower: Follower, of: str, look: Callable[[], Iterable[Fault]]) -> None:
    """Keep what one look finds; what cannot be read is a fault too, and hides nothing of the other looks.

    Raises ``LedgerError`` for what is around the file.
    """
    try:
        for fault in look():
            follower.fault(fault)
    except database.UNREADABLE as error:
        database.of_the_file(path, error)
        follower.fault(Fault(None, "?", 0, f"{of} cannot be read ({error}); {database.RESTORE}"))


def _before(path: Path, connection: sqlite3.Connection, follower: Follower) -> linked.Before | None:
    """The archived file before this one, its faults kept."""
    found: list[linked.Before] = []

    def look() -> Iterator[Fault]:
        if (one := linked.before(path, connection)) is not None:
            found.append(one)
            yield from one.faults

    _add(path, follower, "what it says of the file before it", look)
    return found[0] if found else None


def _batch(connection: sqlite3.Connection, after: int, at_once: int) -> tuple[list[Any], list[Any] | None]:
    """The next rows, and with the last of them the ends of the streams as they were at that moment.

    A few rows at a time: a daemon that writes meanwhile must be able to empty its log.
    """
    connection.execute("BEGIN")
    try:
        read = kinds.anything(connection)
        rows = read.execute(f"{ROWS} WHERE row > ? ORDER BY row LIMIT ?", (after, at_once)).fetchall()
        if len(rows) == at_once:
            return rows, None
        return rows, read.execute("SELECT stream, sequence, sha256 FROM head").fetchmany(_AT_ONCE)
    finally:
        connection.execute("ROLLBACK")


def handed_over(path: Path) -> list[Ed25519PublicKey]:
    """The keys that signed this file before they handed over to a later one, which vouches for them.

    Raises ``LedgerError``.
    """
    query = "SELECT body FROM row WHERE stream = 'ops' AND type = 'key.rotated'"
    with closing(database.connect_read_only(path)) as connection:
        try:
            rotations = kinds.anything(connection).execute(query).fetchall()
        except database.UNREADABLE as error:
            raise database.unusable(path, error) from error
    found = []
    for (body,) in rotations:
        try:
            found.append(Ed25519PublicKey.from_public_bytes(bytes.fromhex(json.loads(body)["data"]["old_public_key"])))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # a damaged event: following the chain says so
    return found


def follow(about: Mapping[str, str], keys: Keyring | None, checkpoint: Checkpoint | None = None) -> Follower:
    """A follower for the file that says this about itself."""
    source = Source(about["site"], about["table"])
    return Follower(
        source, about["ledger"], test=about["test"] == "true", keys=keys, checkpoint=checkpoint, ordered=True
    )


def stored(row: int, stream: str, sequence: int, kind: str, hand: str | None, body: bytes, _sent: int) -> Stored:
    """A row of the file as the follower takes it."""
    return Stored(row, stream, sequence, body, {"type": kind, "hand": hand})


def ends(follower: Follower, found: Iterable[tuple[Any, Any, Any]]) -> None:
    """Hold the end of each stream against the file's own record of it: stream, sequence and hash, of whatever kind."""
    heads: dict[str, Head] = {}
    for stream, sequence, sha256 in found:
        if what := kinds.wrong(("stream", "sequence", "sha256"), (stream, sequence, sha256)):
            damaged = f"damaged: the record of a stream's end ({stream!r:.40}): {what}; {database.RESTORE}"
            follower.fault(Fault(None, "?", 0, damaged))
        elif stream not in STREAMS:
            follower.fault(
                Fault(None, stream, sequence, f"inserted: the end of a stream that is none; {database.RESTORE}")
            )
        else:
            heads[stream] = Head(sequence, sha256)
    for stream in STREAMS:
        chain, head = follower.chains.get(stream, Chain()), heads.get(stream, Head())
        if head.sequence > chain.sequence:
            missing = f"removed: {stream} {chain.sequence + 1} to {head.sequence} are missing at the end"
            follower.fault(Fault(None, stream, head.sequence, missing))
        elif head.sequence < chain.sequence:
            behind = "inserted: it stands behind the stream's end"
            follower.fault(Fault(chain.row, stream, chain.sequence, behind))
        elif head.sha256 != chain.sha256:
            other = "changed: the stream's end has another hash"
            follower.fault(Fault(chain.row, stream, chain.sequence, other))
