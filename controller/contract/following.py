"""Follows the chains of one ledger, event by event: needs no daemon and no secret.

Each stream is a chain: every event carries the hash of the one before. A change, a removal, an insertion or another
order breaks it at an event that can be named. Who can write all of it can also make a whole new chain: only a
signature, or a head that somebody else has seen (a checkpoint), shows that. Neither is needed against damage.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.contract.checkpoint import Checkpoint, Head
from controller.contract.envelope import event_id
from controller.contract.integrity import GENESIS, MOST_UNSIGNED, SIGNED_AT_ONCE, commitment, digest
from controller.contract.keyring import Keyring
from controller.contract.topics import STREAMS, Source


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


@dataclass(frozen=True, slots=True)
class Stored:
    """One event where it is kept. ``columns`` are what stands beside the bytes and has to agree with them."""

    row: int
    stream: str
    sequence: int
    body: bytes
    columns: Mapping[str, Any] = field(default_factory=dict)

    def fault(self, what: str) -> Fault:
        """A fault of this event."""
        return Fault(self.row, self.stream, self.sequence, what)


@dataclass(slots=True)
class Chain:
    """How far one stream has been followed."""

    sequence: int = 0
    sha256: str = GENESIS
    row: int = 0
    signed: int = 0
    due: str = ""
    """The time of what has to be signed before an event of another time comes; empty where nothing is due."""


class Follower:
    """Takes the events of one ledger in row order; ``report`` says what was found.

    Without ``keys`` the signatures are held against the chain and not against a key. ``most`` bounds how many faults
    are kept: a file that is broken from end to end is told in a few. ``ordered``: the events of all streams come in
    the order of their rows, so that what one stream owes the others can be told.
    """

    def __init__(
        self,
        source: Source,
        ledger: str,
        *,
        test: bool,
        keys: Keyring | None = None,
        checkpoint: Checkpoint | None = None,
        most: int = 1000,
        ordered: bool = False,
    ) -> None:
        self.source = source
        self._ledger = ledger
        self._test = test
        self._keys = keys
        self._checkpoint = checkpoint
        self._most = most
        self._faults: list[Fault] = []
        self._commits: dict[str, dict[str, str]] = {}
        self._rows = 0
        self._signatures = 0
        self._cards_opened = 0
        self._withheld = 0
        self._from_middle = False
        self._ordered = ordered
        self._at_once = ""
        self.last_row = 0
        self.chains: dict[str, Chain] = {}

    def fault(self, fault: Fault) -> None:
        """Keep a fault."""
        if len(self._faults) < self._most:
            self._faults.append(fault)

    def begin_at(self, stream: str, head: Head) -> None:
        """Follow a stream from the middle: what lies up to ``head`` is taken as it is."""
        self._from_middle = True
        self.chains[stream] = Chain(head.sequence, head.sha256, 0, head.sequence)

    def follow(self, one: Stored) -> None:
        """Follow the event's chain by one."""
        self._rows += 1
        self.last_row = max(self.last_row, one.row)
        chain = self.chains.setdefault(one.stream, Chain())
        event = self._envelope(one)
        self._place(one, chain, event)
        sha256 = digest(one.body)
        if event is not None:
            kind, data = event["type"], event["data"]
            if kind == "ledger.signed":
                self._signature(one, chain, data)
            elif kind == "key.rotated":
                self._rotation(one, data)
            elif kind == "record.withheld":
                # The chain is of the originals; this one stands where an original could not be delivered.
                self._withheld += 1
                sha256 = str(data.get("original_sha256"))
            self._card(one, event)
            if self._keys is not None and kind != "ledger.signed":
                self._due(one, chain, str(event.get("time")), str(kind))
        chain.sequence, chain.sha256, chain.row = one.sequence, sha256, one.row
        seen = self._checkpoint.heads.get(one.stream) if self._checkpoint else None
        if seen is not None and seen.sequence == one.sequence and seen.sha256 != sha256:
            self.fault(one.fault("changed: the checkpoint has another hash of it"))

    def against_signing(self) -> None:
        """Hold the ends against the pinned keys: a hand that has ended and its whole transaction are signed.

        Only for a place where all is there at once; what comes over a line may be cut between the two.
        """
        for name, chain in self.chains.items():
            if chain.due and self._keys is not None:
                self.fault(self._unsigned(Fault(chain.row, name, chain.sequence, ""), chain))

    def _due(self, one: Stored, chain: Chain, time: str, kind: str) -> None:
        """Whoever has a key pinned need not believe an end of a hand, or a long run, that nobody signed."""
        if chain.due and chain.due != time:
            self.fault(self._unsigned(one.fault(""), chain))
            chain.due = ""
        if kind in SIGNED_AT_ONCE:
            self._at_once = chain.due = time
            for other in self.chains.values() if self._ordered else ():
                if other.signed < other.sequence:
                    other.due = time
        elif self._ordered and time == self._at_once:
            chain.due = time
        if one.sequence - chain.signed == MOST_UNSIGNED:
            self.fault(one.fault(f"not signed: no signature since {one.stream} {chain.signed}"))

    @staticmethod
    def _unsigned(at: Fault, chain: Chain) -> Fault:
        what = f"not signed: what ended at {chain.due} has no signature behind it, and the key says it must"
        return Fault(at.row, at.stream, at.sequence, what)

    def against_checkpoint(self) -> None:
        """Hold the end of each stream against the checkpoint, if there is one."""
        if self._checkpoint is None:
            return
        if self._checkpoint.ledger != self._ledger:
            self.fault(Fault(None, "?", 0, f"the checkpoint is of another ledger, {self._checkpoint.ledger}"))
            return
        for name, seen in self._checkpoint.heads.items():
            last = self.chains.get(name, Chain()).sequence
            if seen.sequence > last:
                cut = f"removed: the checkpoint has seen {name} {seen.sequence}, the ledger ends at {last}"
                self.fault(Fault(None, name, seen.sequence, cut))

    def report(self) -> Report:
        """All that was found."""
        notes = []
        if self._checkpoint is None:
            notes.append("no checkpoint: an end that was cut off together with its record would not be seen")
        if self._keys is None:
            notes.append("no public key: signatures were held against the chain only")
        if self._withheld:
            notes.append(f"{self._withheld} events were withheld: their content has to be had by replay")
        for stream in STREAMS:
            chain = self.chains.get(stream, Chain())
            if chain.signed < chain.sequence:
                notes.append(f"{stream}: {chain.sequence - chain.signed} events at the end are chained and not signed")
        heads = {stream: Head(chain.sequence, chain.sha256) for stream, chain in self.chains.items()}
        return Report(
            self._ledger,
            self._rows,
            heads,
            self._signatures,
            self._cards_opened,
            tuple(self._faults),
            tuple(notes),
        )

    def _envelope(self, one: Stored) -> dict[str, Any] | None:
        """Hold what the event says about itself against where it stands."""
        stands: dict[str, Any] = {
            "id": event_id(self._ledger, one.stream, one.sequence),
            "source": self.source.stream(one.stream),
            "sequence": f"{one.sequence:016d}",
            "ledger": self._ledger,
            "row": f"{one.row:016d}",
            "test": self._test,
        } | {name: value for name, value in one.columns.items() if name != "hand"}
        try:
            event = dict(json.loads(one.body))
            said = {name: event.get(name) for name in stands}
            if "hand" in one.columns:
                stands["hand"], said["hand"] = one.columns["hand"], event["data"].get("hand")
            event["data"].get("hand"), event["type"]
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
            self.fault(one.fault("changed: its body is no event"))
            return None
        for name, value in stands.items():
            if said[name] != value:
                what = f"changed, inserted or moved: {name} is {said[name]!r} and should be {value!r}"
                self.fault(one.fault(what))
        return event

    def _place(self, one: Stored, chain: Chain, event: Mapping[str, Any] | None) -> None:
        """Hold the event's number and its ``prev`` against the one before it in the stream."""
        if one.sequence > chain.sequence + 1:
            gap = f"removed: {one.stream} {chain.sequence + 1} to {one.sequence - 1} are missing before it"
            self.fault(one.fault(gap))
        elif one.sequence <= chain.sequence:
            self.fault(one.fault(f"reordered or inserted: it stands behind {one.stream} {chain.sequence}"))
        elif event is not None and event.get("prev") != chain.sha256:
            # The one that was changed is nearly always the one before: its hash was taken when it was written.
            what = f"changed: row {one.row} carries another hash of it"
            before = Fault(chain.row, one.stream, chain.sequence, what)
            self.fault(before if chain.row else one.fault("changed: the first event has a prev"))

    def _signature(self, one: Stored, chain: Chain, data: Mapping[str, Any]) -> None:
        self._signatures += 1
        chain.signed, chain.due = one.sequence, ""
        self._at_once = ""  # signatures come last in what is written at once
        if data.get("head") != Head(chain.sequence, chain.sha256).to_json():
            self.fault(one.fault("its signature is for another head than the event before it"))
        if self._keys is None:
            return
        head = (chain.sequence, chain.sha256)
        trouble = self._keys.signature(data, one.row, self.source.stream(one.stream), self._ledger, head)
        if trouble:
            self.fault(one.fault(trouble))

    def _rotation(self, one: Stored, data: Mapping[str, Any]) -> None:
        if self._keys is not None:
            trouble = self._keys.rotation(data, one.row, self.source.stream(one.stream), self._ledger)
            if trouble:
                self.fault(one.fault(trouble))

    def _card(self, one: Stored, event: Mapping[str, Any]) -> None:
        """Hold an opened card against what it was bound to while it was closed."""
        kind, data = event["type"], event["data"]
        hand = data.get("hand")
        if not isinstance(hand, str):
            return
        if kind == "card.dealt" and "commit" in data:
            self._commits.setdefault(hand, {})[str(data.get("slot"))] = data["commit"]
        elif kind == "card.opened":
            slot: Any = data.get("slot")
            commit = self._commits.get(hand, {}).get(str(slot))
            if commit is None and "salt" in data and not self._from_middle:
                self.fault(one.fault("opened with a salt, but it was never bound"))
            elif commit is not None:
                self._cards_opened += 1
                # A card that no sensor could name was bound as unknown; its value is the word of who named it.
                bound = "??" if data.get("named") is True else str(data.get("card"))
                if commit != commitment(hand, slot, bound, str(data.get("salt"))):
                    self.fault(one.fault("the card is not the one that was bound when it was dealt"))
        elif kind in ("hand.final", "hand.voided"):
            self._commits.pop(hand, None)
