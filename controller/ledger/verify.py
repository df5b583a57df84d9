"""Proves that a ledger holds what was written, all of it, in order. Needs no daemon and no secret.

Each stream is a chain: every event carries the hash of the one before. A change, a removal, an insertion or another
order breaks it at a row that can be named. Who can write the file can also make a whole new chain: only a signature,
or a head that somebody else has seen (a checkpoint), shows that. Neither is needed against damage and mistakes.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from controller.contract.envelope import event_id
from controller.contract.integrity import GENESIS, commitment, digest, key_id, signed_text
from controller.contract.topics import STREAMS
from controller.ledger import database
from controller.ledger.errors import LedgerError
from controller.ledger.store import Head


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Heads that somebody outside the device has seen."""

    ledger: str
    heads: Mapping[str, Head]

    @classmethod
    def from_json(cls, path: Path) -> "Checkpoint":
        """Read ``{"ledger": ..., "heads": {stream: {"sequence": ..., "sha256": ...}}}``. Raises ``LedgerError``."""
        try:
            content = json.loads(path.read_bytes())
            heads = {name: Head(int(head["sequence"]), str(head["sha256"])) for name, head in content["heads"].items()}
            return cls(str(content["ledger"]), heads)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise LedgerError(path, f"is no checkpoint ({error}); give the file that the back office wrote") from error


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is not as it was written. ``row`` is ``None`` for what is not there any more."""

    row: int | None
    stream: str
    sequence: int
    what: str

    def __str__(self) -> str:
        place = "missing" if self.row is None else f"row {self.row}"
        return f"{place}, {self.stream} {self.sequence:016d}: {self.what}"


@dataclass(frozen=True, slots=True)
class Report:
    """What was looked at and what was found. ``notes`` say what could not be proved, and why."""

    ledger: str
    rows: int
    heads: Mapping[str, Head]
    signatures: int
    cards_opened: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """No fault was found."""
        return not self.faults


def verify(
    path: Path,
    *,
    checkpoint: Checkpoint | None = None,
    public_keys: Iterable[Ed25519PublicKey] | None = None,
) -> Report:
    """Check every row of a ledger file, opened for reading only.

    Without ``public_keys`` the signatures are held against the chain and not against a key. Raises ``LedgerError``
    for a file that cannot be read at all.
    """
    with closing(database.connect_read_only(path)) as connection:
        try:
            about = database.meta(connection)
            heads = {s: Head(n, h) for s, n, h in connection.execute("SELECT stream, sequence, sha256 FROM head")}
        except sqlite3.Error as error:
            raise database.unusable(path, error) from error
        check = _Check(about, checkpoint, None if public_keys is None else list(public_keys))
        try:
            for row in connection.execute("SELECT row, stream, sequence, type, hand, body FROM row ORDER BY row"):
                check.follow(_Row(*row))
        except sqlite3.DatabaseError as error:
            check.faults.append(Fault(check.last_row + 1, "?", 0, f"the file cannot be read from here on ({error})"))
        check.ends(heads)
    return check.report()


@dataclass(frozen=True, slots=True)
class _Row:
    """One row as it stands in the file."""

    row: int
    stream: str
    sequence: int
    type: str
    hand: str | None
    body: bytes

    def fault(self, what: str) -> Fault:
        return Fault(self.row, self.stream, self.sequence, what)


@dataclass(slots=True)
class _Chain:
    """How far one stream has been followed."""

    sequence: int = 0
    sha256: str = GENESIS
    row: int = 0
    signed: int = 0


@dataclass(slots=True)
class _Check:
    about: Mapping[str, str]
    checkpoint: Checkpoint | None
    public_keys: list[Ed25519PublicKey] | None
    faults: list[Fault] = field(default_factory=list)
    rows: int = 0
    last_row: int = 0
    signatures: int = 0
    cards_opened: int = 0
    chains: dict[str, _Chain] = field(default_factory=dict)
    commits: dict[str, dict[str, str]] = field(default_factory=dict)

    def follow(self, row: _Row) -> None:
        """Follow the row's chain by one."""
        self.rows += 1
        self.last_row = row.row
        chain = self.chains.setdefault(row.stream, _Chain())
        event = self._envelope(row)
        self._place(row, chain, event)
        if event is not None:
            if row.type == "ledger.signed":
                self._signature(row, chain, event["data"])
            self._card(row, event["data"])
        chain.sequence, chain.sha256, chain.row = row.sequence, digest(row.body), row.row
        seen = self.checkpoint.heads.get(row.stream) if self.checkpoint else None
        if seen is not None and seen.sequence == row.sequence and seen.sha256 != chain.sha256:
            self.faults.append(row.fault("changed: the checkpoint has another hash of it"))

    def ends(self, heads: Mapping[str, Head]) -> None:
        """Hold the end of each stream against the recorded heads and the checkpoint."""
        for stream in STREAMS:
            chain, head = self.chains.get(stream, _Chain()), heads.get(stream, Head())
            if head.sequence > chain.sequence:
                missing = f"removed: {stream} {chain.sequence + 1} to {head.sequence} are missing at the end"
                self.faults.append(Fault(None, stream, head.sequence, missing))
            elif head.sequence < chain.sequence:
                self.faults.append(
                    Fault(chain.row, stream, chain.sequence, "inserted: it stands behind the stream's end")
                )
            elif head.sha256 != chain.sha256:
                self.faults.append(
                    Fault(chain.row, stream, chain.sequence, "changed: the stream's end has another hash")
                )
        if self.checkpoint is None:
            return
        if self.checkpoint.ledger != self.about["ledger"]:
            self.faults.append(Fault(None, "?", 0, f"the checkpoint is of another ledger, {self.checkpoint.ledger}"))
            return
        for name, seen in self.checkpoint.heads.items():
            last = self.chains.get(name, _Chain()).sequence
            if seen.sequence > last:
                cut = f"removed: the checkpoint has seen {name} {seen.sequence}, the ledger ends at {last}"
                self.faults.append(Fault(None, name, seen.sequence, cut))

    def report(self) -> Report:
        """All that was found."""
        notes = []
        if self.checkpoint is None:
            notes.append("no checkpoint: an end that was cut off together with its record would not be seen")
        if self.public_keys is None:
            notes.append("no public key: signatures were held against the chain only")
        for stream, chain in self.chains.items():
            if chain.signed < chain.sequence:
                notes.append(f"{stream}: {chain.sequence - chain.signed} events at the end are chained and not signed")
        heads = {stream: Head(chain.sequence, chain.sha256) for stream, chain in self.chains.items()}
        return Report(
            self.about["ledger"],
            self.rows,
            heads,
            self.signatures,
            self.cards_opened,
            tuple(self.faults),
            tuple(notes),
        )

    def _envelope(self, row: _Row) -> dict[str, Any] | None:
        """Hold what the event says about itself against where it stands."""
        stands = {
            "id": event_id(self.about["ledger"], row.stream, row.sequence),
            "source": self._source(row.stream),
            "type": row.type,
            "sequence": f"{row.sequence:016d}",
            "ledger": self.about["ledger"],
            "row": f"{row.row:016d}",
            "test": self.about["test"] == "true",
        }
        try:
            event = dict(json.loads(row.body))
            said = {name: event.get(name) for name in stands} | {"hand": event["data"].get("hand")}
        except (ValueError, AttributeError, TypeError, KeyError):
            self.faults.append(row.fault("changed: its body is no event"))
            return None
        for name, value in (stands | {"hand": row.hand}).items():
            if said[name] != value:
                what = f"changed, inserted or moved: {name} is {said[name]!r} and should be {value!r}"
                self.faults.append(row.fault(what))
        return event

    def _place(self, row: _Row, chain: _Chain, event: Mapping[str, Any] | None) -> None:
        """Hold the row's number and its ``prev`` against the row before it in the stream."""
        if row.sequence > chain.sequence + 1:
            gap = f"removed: {row.stream} {chain.sequence + 1} to {row.sequence - 1} are missing before it"
            self.faults.append(row.fault(gap))
        elif row.sequence <= chain.sequence:
            self.faults.append(row.fault(f"reordered or inserted: it stands behind {row.stream} {chain.sequence}"))
        elif event is not None and event.get("prev") != chain.sha256:
            # The one that was changed is nearly always the one before: its hash was taken when it was written.
            what = f"changed: row {row.row} carries another hash of it"
            before = Fault(chain.row, row.stream, chain.sequence, what)
            self.faults.append(before if chain.row else row.fault("changed: the first event has a prev"))

    def _signature(self, row: _Row, chain: _Chain, data: Mapping[str, Any]) -> None:
        self.signatures += 1
        chain.signed = row.sequence
        if data.get("head") != {"sequence": f"{chain.sequence:016d}", "sha256": chain.sha256}:
            self.faults.append(row.fault("its signature is for another head than the event before it"))
        if self.public_keys is None:
            return
        named = [key for key in self.public_keys if key_id(key.public_bytes_raw()) == data.get("key")]
        if not named:
            self.faults.append(row.fault(f"signed with a key that was not given: {data.get('key')!r}"))
            return
        text = signed_text(self._source(row.stream), self.about["ledger"], chain.sequence, chain.sha256)
        try:
            named[0].verify(bytes.fromhex(data["signature"]), text)
        except (InvalidSignature, ValueError, KeyError, TypeError):
            self.faults.append(row.fault("its signature is not valid for the event before it"))

    def _card(self, row: _Row, data: Mapping[str, Any]) -> None:
        """Hold an opened card against what it was bound to while it was closed."""
        if row.hand is None:
            return
        if row.type == "card.dealt" and "commit" in data:
            self.commits.setdefault(row.hand, {})[str(data.get("slot"))] = data["commit"]
        elif row.type == "card.opened":
            slot: Any = data.get("slot")
            commit = self.commits.get(row.hand, {}).get(str(slot))
            if commit is None and "salt" in data:
                self.faults.append(row.fault("opened with a salt, but it was never bound"))
            elif commit is not None:
                self.cards_opened += 1
                if commit != commitment(row.hand, slot, str(data.get("card")), str(data.get("salt"))):
                    self.faults.append(row.fault("the card is not the one that was bound when it was dealt"))
        elif row.type in ("hand.final", "hand.voided"):
            self.commits.pop(row.hand, None)

    def _source(self, stream: str) -> str:
        return f"/felt/{self.about['site']}/{self.about['table']}/{stream}"
