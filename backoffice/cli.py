"""``feltoffice``: keep what tables publish, find what is missing, prove what is kept, open what was sealed."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from backoffice.errors import Forged, OfficeError, UsageError
from backoffice.opening import open_store
from backoffice.store import Pin, Refused, Store
from backoffice.verifying import accept, enrolled, follows, heads, source_of, table_name, unlinked, verify_table
from controller.contract.checkpoint import UNCHECKED, Checkpoint
from controller.contract.errors import ContractError
from controller.contract.following import Report
from controller.contract.integrity import key_id
from controller.contract.topics import STREAMS

OK, USAGE, UNSOUND, NOTHING, FORGED = 0, 2, 4, 5, 6
EXIT_CODES = """\
exit codes:
  0  done
  2  wrong usage, nothing enrolled, or a store or broker that cannot be used;
     --until-quiet: no good connection to the broker for 60 s
  4  verify, checkpoint, unseal: what is stored is not what was written; sums: it does not add up
  5  verify, sums: nothing is stored of a table; unseal: nothing is sealed; now: a table retains nothing
  6  follow: an event came again with other bytes; it is set aside, and verify names it
"""
QUIET_S = 2.0
"""``--until-quiet``: nothing is missing and nothing came for so long."""
AWAY_S = 60.0
"""``--until-quiet``: so long we wait for a broker that has gone."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = _parser().parse_args(argv)
    try:
        code: int = args.act(args)
    except Forged as error:
        print(f"feltoffice: {error}", file=sys.stderr)
        return FORGED
    except (OfficeError, ContractError) as error:
        print(f"feltoffice: {error}", file=sys.stderr)
        return USAGE
    return code


def _keys(args: argparse.Namespace) -> int:
    from backoffice.keys import create  # noqa: PLC0415 - only what a command needs is loaded

    private, public = create(args.folder)
    print(f"{private}  countersigns checkpoints: keep it off every table's device\n{public}  for who checks them")
    return OK


def _enrol(args: argparse.Namespace) -> int:
    from backoffice.keys import public_key  # noqa: PLC0415

    table = table_name(source_of(args.table))
    with closing(open_store(args.store, create=True)) as store:
        pins = store.pins(table)
        other = next((pin for pin in pins if pin.test is not args.test), None)
        if other is not None:
            kind = "test" if other.test else "live"
            raise UsageError("table", args.table, f"is enrolled as a {kind} table: take another store")
        key = public_key(args.key, test=args.test)
        if pins and not args.also and not follows(store, table, key):
            have = ", ".join(key_id(pin.key) for pin in pins)
            remedy = (
                f"is {key_id(key.public_bytes_raw())}; pinned for {table} is {have}, and no stored event hands over "
            )
            raise UsageError("key", str(args.key), f"{remedy}to this one: ask the house, then add --also")
        store.pin(Pin(table, args.test, key.public_bytes_raw()))
    print(f"{table}: pinned for {'test' if args.test else 'live'} events")
    return OK


def _accept(args: argparse.Namespace) -> int:
    table = table_name(source_of(args.table))
    with closing(open_store(args.store)) as store:
        enrolled(store, table)
        accept(store, table, args.ledger, args.by, args.reason)
    print(f"{table}: ledger {args.ledger} may begin anew, by {args.by}")
    return OK


def _follow(args: argparse.Namespace) -> int:
    with closing(open_store(args.store)) as store:
        return _listen(args, store, forever=not args.until_quiet)


def _listen(args: argparse.Namespace, store: Store, *, forever: bool) -> int:
    from backoffice.following import Listener  # noqa: PLC0415

    _tables(args, store)
    listener = Listener(store, _connection(args), args.streams or STREAMS, away_s=None if forever else AWAY_S)
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _frame: told.append(got))
    listener.run(_until(listener, told, forever=forever, seconds=args.seconds))
    counts, asking = listener.reader.counts, listener.asking
    said: dict[str, Any] = {"stored": counts.stored, "repeated": counts.repeated, "replaced": counts.replaced}
    said |= {"refused": counts.reasons, "requests": asking.replays, "errors": asking.errors, "notes": asking.notes()}
    # `verify --json` is one document: what was heard before it is told beside it.
    print(json.dumps(said), file=sys.stderr if getattr(args, "json", False) else sys.stdout)
    if listener.reader.forged:
        raise Forged("; ".join(listener.reader.forged.values()))
    return OK


def _tables_now(args: argparse.Namespace) -> int:
    """What stands on a screen: how each enrolled table is now, by what it retains at the broker."""
    from backoffice.following import Listener  # noqa: PLC0415

    with closing(open_store(args.store)) as store:
        tables = _tables(args, store)
        listener = Listener(store, replace(_connection(args), client=f"{args.client}-now"), ["play"], screen=True)
        by = time.monotonic() + (args.seconds or QUIET_S)
        snapshots = listener.asking.snapshots
        listener.run(lambda: time.monotonic() > by or set(snapshots) >= set(tables))
    print(json.dumps({table: snapshots.get(table) for table in tables}, ensure_ascii=False, indent=2))
    return OK if set(snapshots) >= set(tables) else NOTHING


def _until(listener: Any, told: list[int], *, forever: bool, seconds: float | None) -> Callable[[], bool]:
    """When to stop: a signal, the end of the time, or quiet."""
    began = changed = time.monotonic()
    last = -1
    quiet = False

    def stop() -> bool:
        nonlocal changed, last, quiet
        now = time.monotonic()
        counts = listener.reader.counts
        seen = counts.stored + counts.repeated + counts.refused + counts.replaced + listener.asking.replays
        # Who hears nothing because nobody is there has not found it quiet.
        if seen != last or not listener.up or not listener.asking.idle():
            changed, last = now, seen
        quiet = quiet or (not forever and now - changed > QUIET_S)
        return bool(told) or quiet or (seconds is not None and now - began > seconds)

    return stop


def _verify(args: argparse.Namespace) -> int:
    if args.office_key is not None and args.checkpoint is None:
        raise UsageError("--office-key", str(args.office_key), "it is a checkpoint's: give --checkpoint too")
    checkpoint = Checkpoint.from_json(args.checkpoint) if args.checkpoint else None
    if checkpoint is not None and args.office_key is not None:
        from backoffice.keys import public_key  # noqa: PLC0415

        if not checkpoint.is_signed_by(public_key(args.office_key)):
            raise UsageError("checkpoint", str(args.checkpoint), "is not countersigned by this key")
    with closing(open_store(args.store)) as store:
        if args.broker is not None:
            _listen(args, store, forever=False)
        tables = _tables(args, store)
        reports = {table: verify_table(store, table, checkpoint) for table in tables}
        if checkpoint is not None and args.office_key is None:
            reports = {table: [_unchecked(one, checkpoint) for one in found] for table, found in reports.items()}
        aside = {table: store.refused(table) for table in tables}
    sound = all(report.ok for found in reports.values() for report in found)
    without = [table for table, found in reports.items() if not found]
    code = UNSOUND if not sound else NOTHING if without else OK
    if args.json:
        told = {table: [_told(report) for report in found] for table, found in reports.items()}
        beside = {table: [_aside(one) for one in some] for table, some in aside.items() if some}
        print(json.dumps({"ok": code == OK, "tables": told, "refused": beside}, ensure_ascii=False, indent=2))
        return code
    for table, found in reports.items():
        for report in found:
            print(f"{table} ledger {report.ledger}: {report.rows} events, {report.signatures} signatures")
            for line in [f"fault: {fault}" for fault in report.faults] + [f"note: {note}" for note in report.notes]:
                print(f"  {line}")
    for one in (one for some in aside.values() for one in some):
        print(f"set aside: {one.source} {one.ledger} {one.sequence}: {one.reason}; sha256 {one.sha256}")
    _tell_nothing(without)
    words = [{OK: "whole", NOTHING: "nothing to prove"}.get(code, "not whole")]
    if any(map(unlinked, reports.values())):
        words.append("other ledgers may be missing, see the notes")
    if refused := sum(map(len, aside.values())):
        words.append(f"{refused} set aside: stop and look")
    print("; ".join(words))
    return code


def _unchecked(report: Report, checkpoint: Checkpoint) -> Report:
    """With a note, where the checkpoint was held against it."""
    return replace(report, notes=(*report.notes, UNCHECKED)) if report.ledger == checkpoint.ledger else report


def _aside(one: Refused) -> dict[str, str]:
    fields = {name: getattr(one, name) for name in ("source", "ledger", "sequence", "sha256", "reason")}
    return fields | {"event": one.payload.decode("utf-8", "replace")}


def _told(report: Report) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "ledger": report.ledger,
        "events": report.rows,
        "heads": {stream: head.to_json() for stream, head in report.heads.items()},
        "signatures": report.signatures,
        "cards_opened": report.cards_opened,
        "faults": [str(fault) for fault in report.faults],
        "notes": list(report.notes),
    }


def _sums(args: argparse.Namespace) -> int:
    from backoffice.sums import sums_of  # noqa: PLC0415

    with closing(open_store(args.store)) as store:
        tables = _tables(args, store)
        without = [table for table in tables if not store.ledgers(table)]
        found = {table: sums_of(store, table) for table in tables}
    agree = not any(one.faults for one in found.values())
    code = UNSOUND if not agree else NOTHING if without else OK
    if args.json:
        print(json.dumps({"ok": code == OK, "tables": {table: asdict(one) for table, one in found.items()}}, indent=2))
        return code
    for table, one in found.items():
        print(table)
        for read in one.readings:
            win = "not counted" if read.win is None else str(read.win)
            print(f"  {read.session} shift {read.shift} ({read.reason}): win by tray {win}, rake {read.rake}")
        for line in [f"fault: {fault}" for fault in one.faults] + [f"open: {name}" for name in one.open]:
            print(f"  {line}")
    _tell_nothing(without)
    print({OK: "adds up", NOTHING: "nothing to add up"}.get(code, "does not add up"))
    return code


def _tables(args: argparse.Namespace, store: Store) -> list[str]:
    """The table that was asked for, or all that are enrolled. Raises ``UsageError`` where there is none."""
    if getattr(args, "table", None):
        table = table_name(source_of(args.table))
        enrolled(store, table)
        return [table]
    if tables := sorted({pin.table for pin in store.pins()}):
        return tables
    raise UsageError("store", args.store, "no table is enrolled: feltoffice enrol STORE SITE/TABLE --key FILE")


def _tell_nothing(tables: Sequence[str]) -> None:
    for table in tables:
        print(f"{table}: nothing is stored: feltoffice follow fetches it")


def _checkpoint(args: argparse.Namespace) -> int:
    from backoffice.keys import office_key  # noqa: PLC0415

    table = table_name(source_of(args.table))
    with closing(open_store(args.store)) as store:
        reports = verify_table(store, table)
    faults = [fault for report in reports for fault in report.faults]
    if faults:
        print(f"feltoffice: not countersigned, {len(faults)} faults: {faults[0]}", file=sys.stderr)
        return UNSOUND
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    text = json.dumps(heads(reports, now).countersigned(office_key(args.key)).to_json(), indent=1) + "\n"
    if args.output is None:
        print(text, end="")
    else:
        args.output.write_text(text, encoding="utf-8")
    return OK


def _unseal(args: argparse.Namespace) -> int:
    from backoffice.keys import auditor_key  # noqa: PLC0415
    from backoffice.unseal import unseal  # noqa: PLC0415

    fits, some = True, False
    for opened in unseal(args.ledger, auditor_key(args.key), args.hand):
        print(json.dumps(opened.to_json(), ensure_ascii=False))
        fits, some = fits and opened.fits is not False, True
    if not some:
        print("feltoffice: nothing is sealed to an auditor in it", file=sys.stderr)
        return NOTHING
    return OK if fits else UNSOUND


def _connection(args: argparse.Namespace) -> Any:
    from backoffice.following import Connection  # noqa: PLC0415
    from backoffice.keys import password, secret  # noqa: PLC0415

    try:
        parts = urlsplit(args.broker)
        port = parts.port or {"mqtt": 1883, "mqtts": 8883}[parts.scheme]
    except (ValueError, KeyError):
        raise UsageError("--broker", args.broker, "write mqtt://host[:port] or mqtts://host[:port]") from None
    if args.certificate_key is not None:
        secret("--certificate-key", args.certificate_key)
    return Connection(
        host=parts.hostname or "",
        port=port,
        client=args.client,
        version=args.mqtt,
        tls=parts.scheme == "mqtts",
        username=args.username,
        password=password("--password-file", args.password_file) if args.password_file else None,
        ca=args.ca,
        certificate=args.certificate,
        key=args.certificate_key,
    )


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="feltoffice", description=__doc__, epilog=EXIT_CODES, formatter_class=raw)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, help_: str, act: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_, description=help_, epilog=EXIT_CODES, formatter_class=raw)
        added.set_defaults(act=act)
        return added

    def store(one: argparse.ArgumentParser) -> None:
        one.add_argument("store", metavar="STORE", help="a file (SQLite), or postgresql://user@host/database")

    def broker(one: argparse.ArgumentParser, *, required: bool) -> None:
        group = one.add_argument_group("broker")
        group.add_argument("--broker", required=required, metavar="URI", help="mqtts://host:8883")
        group.add_argument("--client", default="office", metavar="NAME", help="our name at the broker and the tables")
        group.add_argument("--mqtt", choices=("5", "3.1.1"), default="5")
        group.add_argument("--username")
        group.add_argument("--password-file", type=Path, metavar="FILE")
        group.add_argument("--ca", type=Path, metavar="FILE")
        group.add_argument("--certificate", type=Path, metavar="FILE")
        group.add_argument("--certificate-key", type=Path, metavar="FILE")
        group.add_argument("--streams", nargs="+", choices=STREAMS, help="those that we were granted; default all")
        group.add_argument("--seconds", type=float, metavar="N", help="stop after N seconds")

    keys = add("keys", "make the key that countersigns checkpoints", _keys)
    keys.add_argument("folder", type=Path, metavar="FOLDER")

    enrol = add("enrol", "pin the signing key of a table", _enrol)
    store(enrol)
    enrol.add_argument("table", metavar="SITE/TABLE")
    enrol.add_argument("--key", type=Path, required=True, metavar="FILE", help="signing.pub of the table")
    enrol.add_argument("--test", action="store_true", help="take test events of it, and no live ones")

    enrol.add_argument("--also", action="store_true", help="beside pinned keys that have not handed over to it")

    follow = add("follow", "store what enrolled tables publish, and ask for what is missing", _follow)
    store(follow)
    broker(follow, required=True)
    follow.add_argument("--until-quiet", action="store_true", help="stop when nothing is missing and nothing comes")

    now = add("now", "how the enrolled tables stand: what they retain at the broker", _tables_now)
    store(now)
    broker(now, required=True)

    verify = add("verify", "prove that what is stored is what was written", _verify)
    store(verify)
    verify.add_argument("table", nargs="?", metavar="SITE/TABLE")
    verify.add_argument("--checkpoint", type=Path, metavar="FILE")
    verify.add_argument("--office-key", type=Path, metavar="FILE", help="office.pub: who must have countersigned it")
    verify.add_argument("--json", action="store_true")
    broker(verify, required=False)

    ruled = add("accept", "rule that a ledger rightly names none before it: a new device, disk or key", _accept)
    store(ruled)
    ruled.add_argument("table", metavar="SITE/TABLE")
    ruled.add_argument("ledger", metavar="LEDGER", help="its id, as verify tells it")
    ruled.add_argument("--by", required=True, metavar="NAME", help="who rules")
    ruled.add_argument("--reason", required=True, metavar="TEXT", help="why it begins anew; verify repeats both")

    sums = add("sums", "check the sums of hands, slips and meters, and tell each shift's win", _sums)
    store(sums)
    sums.add_argument("table", nargs="?", metavar="SITE/TABLE")
    sums.add_argument("--json", action="store_true")

    checkpoint = add("checkpoint", "countersign the heads of a table that was verified", _checkpoint)
    store(checkpoint)
    checkpoint.add_argument("table", metavar="SITE/TABLE")
    checkpoint.add_argument("--key", type=Path, required=True, metavar="FILE", help="office-key")
    checkpoint.add_argument("-o", "--output", type=Path, metavar="FILE")

    unseal = add("unseal", "open the closed cards of a ledger file", _unseal)
    unseal.add_argument("ledger", type=Path, metavar="LEDGER")
    unseal.add_argument("--key", type=Path, required=True, metavar="FILE", help="the auditor's private key")
    unseal.add_argument("--hand", metavar="ID")
    return parser


if __name__ == "__main__":
    sys.exit(main())
