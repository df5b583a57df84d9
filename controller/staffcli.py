"""``feltd staff``: who may work at a table, and with which PIN. Works on the staff file; no daemon is needed."""

import argparse
import getpass
import json
import sys
from pathlib import Path
from typing import Any

from controller.errors import LocalError

OK = 0


def add_staff_commands(add: Any) -> None:
    """Add ``staff``; ``add(name, help, act)`` makes one parser."""
    staff: argparse.ArgumentParser = add("staff", "who may work at a table: add, change and remove persons", _staff)
    staff.add_argument("do", choices=("add", "passwd", "roles", "remove", "list"))
    staff.add_argument("staff", nargs="?", metavar="STAFF", help="the person's number, for example s-0193")
    staff.add_argument("--file", type=Path, required=True, metavar="FILE", help="the staff file (access.staff)")
    staff.add_argument("--role", action="append", default=[], metavar="ROLE", help="a function that may be taken")
    staff.add_argument("--pin-stdin", action="store_true", help="read the PIN from standard input instead of asking")
    staff.add_argument("--json", action="store_true")


def _staff(args: argparse.Namespace) -> int:
    from controller.configuration import stafffile  # noqa: PLC0415 - `feltd status` must not load the core
    from controller.configuration.stafffile import Member  # noqa: PLC0415

    path: Path = args.file
    known = stafffile.load(path) if path.exists() or args.do != "add" else {}
    if args.do == "list":
        if args.json:
            print(json.dumps({name: list(one.roles) for name, one in sorted(known.items())}, indent=2))
        else:
            print("\n".join(f"{name}: {', '.join(one.roles)}" for name, one in sorted(known.items())))
        return OK
    name = stafffile.checked_name(args.staff or "")
    if (name in known) == (args.do == "add"):
        remedy = "is there already: use passwd or roles" if args.do == "add" else "no such person: see list"
        raise LocalError("staff", name, remedy)
    if args.do == "add":
        known[name] = Member.new(name, stafffile.checked_roles(tuple(args.role)), new_pin(name, args.pin_stdin))
    elif args.do == "passwd":
        known[name] = Member.new(name, known[name].roles, new_pin(name, args.pin_stdin))
    elif args.do == "roles":
        before = known[name]
        known[name] = Member(stafffile.checked_roles(tuple(args.role)), before.salt, before.proof)
    else:
        del known[name]
    stafffile.save(path, known)
    return OK


def new_pin(staff: str, from_stdin: bool) -> str:
    """A PIN, asked twice where a person types it. Raises ``LocalError``."""
    pin = ask_pin(f"new PIN of {staff}: ", from_stdin=from_stdin)
    if not from_stdin and ask_pin("again: ", from_stdin=False) != pin:
        raise LocalError("pin", "", "the two were not the same: begin again")
    return pin


def ask_pin(prompt: str, *, from_stdin: bool) -> str:
    """A PIN without showing it. Raises ``LocalError`` where nobody can be asked."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise LocalError("pin", "", "nobody can be asked here: use --pin-stdin")
    return getpass.getpass(prompt)
