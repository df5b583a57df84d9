"""``feltd ledger``: what is in the file, for people who look into a dispute, and what becomes of old files."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller.errors import LocalError

if TYPE_CHECKING:
    from controller.ledger.linked import Before

OK, UNSOUND = 0, 4


def add(parser: argparse.ArgumentParser) -> None:
    """Add the commands of ``feltd ledger``."""
    commands = parser.add_subparsers(metavar="WHAT", required=True)

    def command(name: str, help_: str, act: Any) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_, description=help_)
        added.set_defaults(act=act)
        added.add_argument("ledger", type=Path, metavar="LEDGER")
        return added

    tail = command("tail", "the last events", _tail)
    tail.add_argument("-n", type=int, default=20, dest="count", metavar="N")
    tail.add_argument("--json", action="store_true")

    search = command("search", "the events that fit", _search)
    search.add_argument("--hand", metavar="ID")
    search.add_argument("--seat", type=int, metavar="N")
    search.add_argument("--type", metavar="TYPE", help="for example hand.closed, or hand for all of them")
    search.add_argument("--incident", metavar="ID", help="its id or its code")
    search.add_argument("--since", metavar="TIME", help="UTC, or with its offset: 2026-11-30T20:14:05+01:00")
    search.add_argument("--until", metavar="TIME", help="the same; a day or minute to its end: 2026-11-30")
    search.add_argument("-n", type=int, default=1000, dest="count", metavar="N", help="at most the last N")
    search.add_argument("--json", action="store_true")

    recall = command("recall", "the last hands with stakes, actions and cards, in their order", _recall)
    recall.add_argument("-n", type=int, default=10, dest="count", metavar="N")
    recall.add_argument("--card-key", type=Path, metavar="FILE", help="the auditor's private key: shows closed cards")

    command("compact", "give unused space back, or make a damaged file anew; the daemon must not run", _compact)

    archives = command("archives", "the older files of this ledger", _archives)
    archives.add_argument("--json", action="store_true")

    prune = command("prune", "delete archived files that ended before a day", _prune)
    prune.add_argument("--before", required=True, metavar="DAY", help="for example 2025-11-30")
    prune.add_argument("--yes", action="store_true", help="do it; without it the files are only named")


def _tail(args: argparse.Namespace) -> int:
    from controller.ledger.search import tail  # noqa: PLC0415 - nothing else of feltd needs it

    return _show(tail(args.ledger, args.count), as_json=args.json)


def _search(args: argparse.Namespace) -> int:
    from controller.ledger.search import Wanted, moment, search  # noqa: PLC0415

    since = None if args.since is None else moment("--since", args.since)
    until = None if args.until is None else moment("--until", args.until, end=True)
    wanted = Wanted(args.hand, args.seat, args.type, args.incident, since, until)
    doubts: list[Before] = []
    _show(search(args.ledger, wanted, args.count, doubts.append), as_json=args.json)
    return _doubted(args.ledger, doubts)


def _doubted(ledger: Path, doubts: "Sequence[Before]") -> int:
    """Say which archived files are not there, or not what they were; the newest one is never pruned."""
    for one in doubts:
        for fault in one.faults:
            print(f"feltd: {fault.what}", file=sys.stderr)
        if one.missing and not one.faults:
            remedy = (
                "put a copy of it back" if one.after == ledger else "it was pruned, or is to be put back from a copy"
            )
            remedy = "look as the daemon's user" if one.lies else remedy
            print(f"feltd: the archived file {one.path} {one.missing}: {remedy}", file=sys.stderr)
    return UNSOUND if any(one.faults or one.after == ledger for one in doubts) else OK


def _show(events: list[dict[str, Any]], *, as_json: bool) -> int:
    from controller.ledger.search import line  # noqa: PLC0415

    for event in events:
        print(json.dumps(event, ensure_ascii=False) if as_json else line(event))
    return OK


def _recall(args: argparse.Namespace) -> int:
    from controller.ledger.keys import load_auditor_key  # noqa: PLC0415
    from controller.ledger.search import last_hands, told  # noqa: PLC0415

    auditor = load_auditor_key(args.card_key) if args.card_key else None
    doubts: list[Before] = []
    for records in last_hands(args.ledger, args.count, auditor, doubts.append):
        print(records[0].hand)
        for text in told(records):
            print(text)
    return _doubted(args.ledger, doubts)


def _compact(args: argparse.Namespace) -> int:
    from controller.ledger.compacting import compact  # noqa: PLC0415

    done = compact(args.ledger)
    print(f"{args.ledger}: {done.before / 1e6:.1f} MB, now {done.after / 1e6:.1f} MB")
    if done.damaged is not None:
        print(f"made anew from its rows, which are whole; the damaged file is kept as {done.damaged}")
    return OK


def _archives(args: argparse.Namespace) -> int:
    from controller.ledger.archives import listed  # noqa: PLC0415
    from controller.ledger.linked import walk  # noqa: PLC0415

    found = listed(args.ledger)
    named = {one.path: one for one in walk(args.ledger)}
    doubts = [one for one in named.values() if one.missing or one.faults]
    if args.json:
        fit = {path: not one.faults for path, one in named.items()}
        print(json.dumps([one.to_json() | {"ends_fit": fit.get(one.path)} for one in found], indent=2))
        return _doubted(args.ledger, doubts)
    for one in found:
        held = named.get(one.path)
        ends = "no later file names it" if held is None else "its ends do not fit" if held.faults else "its ends fit"
        print(f"{one.path.name}  {one.first[:19]} to {one.last[:19]}  {one.rows} rows  {ends}")
    return _doubted(args.ledger, doubts)


def _prune(args: argparse.Namespace) -> int:
    from controller.ledger.archives import prune  # noqa: PLC0415

    _checked_day("--before", args.before)
    for path in prune(args.ledger, args.before, really=args.yes):
        print(f"{'deleted' if args.yes else 'would delete'} {path}")
    return OK


def _checked_day(option: str, text: str) -> None:
    """Raises ``LocalError`` for what is no day of the calendar: it is compared as text, and above zzzz all is older."""
    try:
        day: str | None = date.fromisoformat(text).isoformat()
    except ValueError:
        day = None
    if day != text:
        raise LocalError(option, text, "write a day as 2025-11-30")
