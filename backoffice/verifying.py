"""Proves what is stored: every chain, every signature, from one ledger of a table to the next."""

from collections.abc import Iterable
from dataclasses import replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from backoffice.errors import UsageError
from backoffice.messages import Previous, previous_of
from backoffice.store import Accepted, Event, Pin, Store
from controller.contract.checkpoint import Checkpoint
from controller.contract.following import Fault, Follower, Report, Stored
from controller.contract.keyring import Keyring
from controller.contract.topics import Source

NOT_LINKED = "its ledger.began (stream ops) is not stored: whether another ledger came before it is not known"
NOT_STORED = "the ledger before it is not stored"
ANEW = "names no ledger before it, though of this table is stored"
LOST = "what that one had not yet sent is lost: find out who took it away, then rule: feltoffice accept"


def source_of(table: str) -> Source:
    """The table behind ``/felt/{site}/{table}``, ``{site}/{table}`` is taken too. Raises ``UsageError``."""
    parts = table.strip("/").removeprefix("felt/").split("/")
    if len(parts) != 2:
        raise UsageError("table", table, "write SITE/TABLE, for example zg1/t07")
    return Source(*parts)


def table_name(source: Source) -> str:
    """``/felt/{site}/{table}``."""
    return f"/felt/{source.site}/{source.table}"


def verify_table(store: Store, table: str, checkpoint: Checkpoint | None = None) -> list[Report]:
    """Check all that is stored of a table, a report for each of its ledgers, oldest first.

    Keys are those that were pinned, and those that they handed over to. Raises ``UsageError`` for a table that is
    not enrolled, ``StoreError``.
    """
    pins = enrolled(store, table)
    keys = Keyring(Ed25519PublicKey.from_public_bytes(pin.key) for pin in pins)
    return _verify_ledgers(store, table, pins[0], keys, checkpoint)


def enrolled(store: Store, table: str) -> list[Pin]:
    """The keys pinned for a table. Raises ``UsageError`` where there are none, ``StoreError``."""
    if pins := store.pins(table):
        return pins
    raise UsageError("table", table, "is not enrolled: feltoffice enrol STORE SITE/TABLE --key FILE")


def accept(store: Store, table: str, ledger: str, by: str, reason: str) -> None:
    """A person rules that a ledger rightly names none before it: a new device, a new disk, a lost key.

    Raises ``UsageError`` where there is nothing to rule on or no word of who and why, ``StoreError``.
    """
    for field, said in (("--by", by), ("--reason", reason)):
        if not said.strip() or not said.isprintable():
            raise UsageError(field, said, "say it in one line")
    heard = ordered(store, table)
    if ledger not in heard:
        raise UsageError("ledger", ledger, f"nothing of it is stored; of {table} there is {', '.join(heard) or 'none'}")
    anew = [one for one in heard[1:] if _begins_anew(store, table, one)]
    if ledger not in anew:
        raise UsageError("ledger", ledger, "is the first, or names the one before it: there is nothing to rule on")
    store.accept(Accepted(table, ledger, by, reason))


def _begins_anew(store: Store, table: str, ledger: str) -> bool:
    first = next((one for one in store.events(table, ledger) if one.type == "ledger.began"), None)
    return first is not None and previous_of(first.payload) is None


def follows(store: Store, table: str, key: Ed25519PublicKey) -> bool:
    """Whether a pinned key of the table handed over to this one, as its stored events prove. Raises ``StoreError``."""
    pins = store.pins(table)
    keys = Keyring(Ed25519PublicKey.from_public_bytes(pin.key) for pin in pins)
    if pins:
        _verify_ledgers(store, table, pins[0], keys, None)
    return key.public_bytes_raw() in [known.public_bytes_raw() for known in keys.keys]


def _verify_ledgers(store: Store, table: str, pin: Pin, keys: Keyring, checkpoint: Checkpoint | None) -> list[Report]:
    reports: list[Report] = []
    for ledger in ordered(store, table):
        seen = checkpoint if checkpoint is not None and checkpoint.ledger == ledger else None
        reports.append(_verify(store, table, ledger, pin, keys, seen, reports))
        keys.next_ledger()
    if checkpoint is not None and checkpoint.ledger not in [report.ledger for report in reports]:
        fault = Fault(None, "?", 0, f"the checkpoint has seen ledger {checkpoint.ledger}, of which nothing is stored")
        reports.append(Report(checkpoint.ledger, 0, {}, 0, 0, (fault,), ()))
    return reports


def _verify(
    store: Store,
    table: str,
    ledger: str,
    pin: Pin,
    keys: Keyring,
    checkpoint: Checkpoint | None,
    before: list[Report],
) -> Report:
    follower = Follower(source_of(table), ledger, test=pin.test, keys=keys, checkpoint=checkpoint)
    notes = [NOT_LINKED]
    for event in store.events(table, ledger):
        one = stored(event)
        follower.follow(one)
        if event.type == "ledger.began":
            linked = previous_of(event.payload)
            notes = [] if linked is None or _kept(linked, before) else [f"{NOT_STORED}: {linked.ledger}"]
            for fault in _linked(one, linked, before) if linked else ():
                follower.fault(fault)
            if linked is None and before:
                anew = f"{ANEW} {before[-1].ledger}"
                if ruled := next((one for one in store.accepted(table) if one.ledger == ledger), None):
                    notes = [f"{anew}; accepted by {ruled.by}: {ruled.reason}"]
                else:
                    follower.fault(one.fault(f"{anew}; {LOST}"))
    follower.against_checkpoint()
    report = follower.report()
    return replace(report, notes=(*report.notes, *notes))


def stored(event: Event) -> Stored:
    """An event as the follower takes it."""
    stream = event.source.rsplit("/", 1)[1]
    return Stored(int(event.row), stream, int(event.sequence), event.payload, {"type": event.type})


def unlinked(reports: Iterable[Report]) -> bool:
    """Whether there is a ledger of which the one before is not stored, or not known."""
    return any(note.startswith((NOT_LINKED, NOT_STORED)) for report in reports for note in report.notes)


def _kept(linked: Previous, before: list[Report]) -> Report | None:
    return next((report for report in before if report.ledger == linked.ledger), None)


def _linked(one: Stored, linked: Previous, before: list[Report]) -> Iterable[Fault]:
    """Hold the ends of the ledger before, as this one names them, against what is stored of it."""
    kept = _kept(linked, before)
    if kept is None:
        return
    for stream, named in linked.heads.items():
        have = kept.heads.get(stream)
        if have is None:
            continue  # a stream that we were not granted
        if have.sequence < named.sequence:
            cut = f"removed: ledger {kept.ledger} ended at {stream} {named.sequence}, stored is up to {have.sequence}"
            yield Fault(None, stream, named.sequence, cut)
        elif have != named:
            yield one.fault(f"ledger {kept.ledger} ended with another {stream} {named.sequence} than what is stored")


def ordered(store: Store, table: str) -> list[str]:
    """The ledgers of a table, each behind the one that it names as the one before."""
    heard = store.ledgers(table)
    after: dict[str, str] = {}
    for ledger in heard:
        first = next(store.events(table, ledger), None)
        if first is not None and first.type == "ledger.began":
            previous = previous_of(first.payload)
            if previous:
                after[ledger] = previous.ledger
    done: list[str] = []
    while len(done) < len(heard):
        ready = [one for one in heard if one not in done and (after.get(one) in done or after.get(one) not in heard)]
        # A circle can only be forged; the rest is then taken as it was heard.
        done.append(ready[0] if ready else next(one for one in heard if one not in done))
    return done


def heads(reports: list[Report], time: str) -> Checkpoint:
    """A checkpoint of the newest ledger. Raises ``UsageError`` where something is not as it was written."""
    faulty = next((report for report in reports if report.faults), None)
    if faulty is not None:
        raise UsageError("ledger", faulty.ledger, f"has faults and is not countersigned: {faulty.faults[0]}")
    if not reports or not reports[-1].heads:
        raise UsageError("table", "", "nothing is stored of it")
    return Checkpoint(reports[-1].ledger, reports[-1].heads, time)
