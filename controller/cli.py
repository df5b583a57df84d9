"""``feltd``: run a table, speak to it, check its configuration, prove and export its ledger."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller import ledgercli
from controller.capturecli import add_capture, add_run, lines, verified
from controller.errors import FeltError, LocalError
from controller.rulescli import add_arguments as add_rules
from controller.software import VERSION
from controller.staffcli import add_staff_commands
from controller.tablecli import add_table_commands, health

if TYPE_CHECKING:
    from controller.capture.starting import CaptureTo

OK, REFUSED, USAGE, UNREACHABLE, UNSOUND, IN_PART = 0, 1, 2, 3, 4, 6
EXIT_CODES = """\
exit codes:
  0  done
  1  refused by the house rules; `run`: ended because it could not go on
  2  wrong usage or configuration
  3  no daemon answers
  4  the ledger is not what was written, or a capture does not agree with it
  5  health: something is not well
  6  verify: the ledger is whole and nothing of the capture disagrees, but not all of it could be compared
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = _parser().parse_args(argv)
    try:
        code: int = args.act(args)
    except FeltError as error:
        print(f"feltd: {error}", file=sys.stderr)
        return _code(error)
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return OK
    return code


def _code(error: FeltError) -> int:
    from controller.capture.errors import CaptureDamaged  # noqa: PLC0415 - only where something went wrong
    from controller.client import NotReachable  # noqa: PLC0415
    from controller.ledger.errors import LedgerDamaged  # noqa: PLC0415

    if isinstance(error, LedgerDamaged | CaptureDamaged):
        return UNSOUND
    return UNREACHABLE if isinstance(error, NotReachable) else USAGE


# ---------------------------------------------------------------- the daemon and its files
# Imports stand inside the functions: `feltd status` on a small device must not load drivers, MQTT and SQLite.


def _run(args: argparse.Namespace) -> int:
    from controller.configuration.settings import load  # noqa: PLC0415
    from controller.daemon import Daemon  # noqa: PLC0415
    from controller.runtime import logs  # noqa: PLC0415

    settings = load(args.config)
    if args.test_speed != 1 and not settings.setup.test:
        raise LocalError("--test-speed", args.test_speed, "is for test mode only: leave it out, or set test = true")
    logs.configure(json_lines=not sys.stderr.isatty() if args.log is None else args.log == "json", level=args.level)
    while True:
        daemon = Daemon(settings, args.test_speed, _capture(args))
        code = daemon.run()
        if code or not daemon.again:
            return code


def _capture(args: argparse.Namespace) -> "CaptureTo | None":
    from controller.capture.starting import CaptureTo  # noqa: PLC0415

    return CaptureTo(args.capture, args.capture_mb, args.capture_keep) if args.capture else None


def _check(args: argparse.Namespace) -> int:
    from controller.configuration.settings import check  # noqa: PLC0415

    faults = check(args.config)
    if args.json:
        told = [{"file": f.file, "key": f.key, "value": f.value, "remedy": f.remedy} for f in faults]
        print(json.dumps({"ok": not faults, "faults": told}, ensure_ascii=False, indent=2))
    else:
        print("\n".join(map(str, faults)) or f"{args.config}: no fault found")
    return USAGE if faults else OK


def _keys(args: argparse.Namespace) -> int:
    from controller.ledger import keys  # noqa: PLC0415

    folder: Path = args.folder
    if not folder.is_dir():
        raise LocalError("folder", str(folder), "no such folder: create it, mode 0700")
    keys.create_device_key(folder / "device-key")
    keys.create_signing_key(folder / "signing-key", folder / "signing.pub", test=args.test)
    keys.create_auditor_key(folder / "auditor-key", folder / "auditor.pub")
    print(f"""{folder}/device-key   stays on the device (ledger.device_key)
{folder}/signing-key  stays on the device (ledger.signing_key)
{folder}/signing.pub  for the subscribers, who pin it
{folder}/auditor.pub  on the device (ledger.auditor_public_key)
{folder}/auditor-key  for the auditor alone: take it off this machine""")
    return OK


def _verify(args: argparse.Namespace) -> int:
    from controller.contract.checkpoint import UNCHECKED  # noqa: PLC0415
    from controller.ledger.keys import load_verify_key  # noqa: PLC0415
    from controller.ledger.verify import read_checkpoint, verify  # noqa: PLC0415

    if args.office_key and not args.checkpoint:
        raise LocalError("--office-key", str(args.office_key), "it is a checkpoint's: give --checkpoint too")
    checkpoint = read_checkpoint(args.checkpoint) if args.checkpoint else None
    office = load_verify_key(args.office_key) if args.office_key else None
    if checkpoint is not None and office is not None and not checkpoint.is_signed_by(office):
        raise LocalError("--checkpoint", str(args.checkpoint), "is not countersigned by this key: ask for another")
    public = [load_verify_key(path) for path in args.public_key] or None
    report = verify(args.ledger, checkpoint=checkpoint, public_keys=public)
    if checkpoint is not None and office is None:
        report = replace(report, notes=(*report.notes, UNCHECKED))
    if args.archives:
        from controller.ledger.archives import verified as archives_verified  # noqa: PLC0415

        report = replace(report, faults=(*report.faults, *archives_verified(args.ledger, public)))
    replayed = verified(args)
    # A capture of which nothing could be compared does not speak against the ledger, but not for it either.
    ok = report.ok and (replayed is None or not replayed.faults)
    all_held = replayed is None or replayed.whole
    if args.json:
        told: dict[str, Any] = {
            "ok": ok and all_held,
            "ledger": report.ledger,
            "rows": report.rows,
            "heads": {s: {"sequence": f"{h.sequence:016d}", "sha256": h.sha256} for s, h in report.heads.items()},
            "signatures": report.signatures,
            "cards_opened": report.cards_opened,
            "faults": [
                {"row": f.row, "stream": f.stream, "sequence": f.sequence, "what": f.what} for f in report.faults
            ],
            "notes": list(report.notes),
        }
        print(json.dumps(told | ({"capture": asdict(replayed)} if replayed else {}), ensure_ascii=False, indent=2))
    else:
        print(f"ledger {report.ledger}: {report.rows} rows, {report.signatures} signatures")
        for fault in report.faults:
            print(f"fault: {fault}")
        for note in report.notes:
            print(f"note: {note}")
        for line in lines(replayed) if replayed else ():
            print(line)
        print("not whole" if not ok else "whole" if all_held else "whole as far as it could be compared")
    return UNSOUND if not ok else OK if all_held else IN_PART


def _export(args: argparse.Namespace) -> int:
    from controller.exports.phh import hands, phh, unfinished  # noqa: PLC0415
    from controller.ledger.keys import load_auditor_key  # noqa: PLC0415
    from controller.ledger.reading import read_records  # noqa: PLC0415

    auditor = load_auditor_key(args.card_key) if args.card_key else None
    found: list[str] = []
    records = list(read_records(args.ledger, auditor=auditor))
    currencies = {record.session: record.data["currency"] for record in records if record.type == "table.opened"}
    for hand in hands(records):
        name = hand[0].hand or ""
        if args.hand not in (None, name):
            continue
        if args.hand is None and (why := unfinished(hand)):
            print(f"feltd: {name} left out: {why}", file=sys.stderr)
            continue
        if auditor is not None and any(r.type == "card.dealt" and "commit" in r.data and not r.secret for r in hand):
            print(f"feltd: {name} was sealed to no auditor: its closed cards stay unknown", file=sys.stderr)
        currency = currencies.get(hand[0].session, {"code": "", "exponent": 0})
        found.append(phh(hand, currency=currency["code"], exponent=currency["exponent"]))
    if not found:
        raise LocalError("--hand", args.hand, "no such finished hand in this ledger")
    # One hand is a .phh file; several are numbered tables, as .phhs files have them.
    text = found[0] if len(found) == 1 else "\n".join(f"[{no}]\n{hand}" for no, hand in enumerate(found, 1))
    if args.output is None:
        print(text, end="")
    else:
        args.output.write_text(text, encoding="utf-8")
    return OK


def _software(args: argparse.Namespace) -> int:
    from controller.software import changed, software  # noqa: PLC0415

    told, faults = software(), changed()
    if args.json:
        print(json.dumps({**told, "changed": faults}, indent=2))
    else:
        print("\n".join([f"feltd {told['version']} {told['sha256']}", *(f"changed: {name}" for name in faults)]))
    return UNSOUND if faults else OK


def _rules(args: argparse.Namespace) -> int:
    from controller.rulescli import show  # noqa: PLC0415

    return show(args)


def _speed(text: str) -> float:
    speed = float(text)
    if not 0.1 <= speed <= 1000:
        raise argparse.ArgumentTypeError("from 0.1 to 1000")
    return speed


# ---------------------------------------------------------------- the command line


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="feltd", description=__doc__, epilog=EXIT_CODES, formatter_class=raw)
    parser.add_argument("--version", action="version", version=f"feltd {VERSION}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, help_: str, act: Any) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_, description=help_, epilog=EXIT_CODES, formatter_class=raw)
        added.set_defaults(act=act, command=name)
        return added

    run = add("run", "run a table", _run)
    run.add_argument("-c", "--config", type=Path, required=True, metavar="FILE")
    run.add_argument("--test-speed", type=_speed, default=1.0, metavar="N", help="N times as fast: test mode only")
    run.add_argument("--log", choices=("json", "text"), help="default: text on a terminal, else json")
    run.add_argument("-v", "--verbose", dest="level", action="store_const", const=10, default=20)
    add_run(run)

    check = add("check", "name every fault of a configuration", _check)
    check.add_argument("-c", "--config", type=Path, required=True, metavar="FILE")
    check.add_argument("--json", action="store_true")

    keys = add("keys", "make the keys of a table: device, signing, auditor", _keys)
    keys.add_argument("--test", action="store_true", help="for rehearsals: a live table refuses the signing key")
    keys.add_argument("folder", type=Path, metavar="FOLDER")

    verify = add("verify", "find a changed, removed, inserted or reordered row", _verify)
    verify.add_argument("ledger", type=Path, metavar="LEDGER")
    verify.add_argument("--checkpoint", type=Path, metavar="FILE", help="heads that the back office has seen")
    verify.add_argument("--office-key", type=Path, metavar="FILE", help="who must have countersigned the checkpoint")
    verify.add_argument("--public-key", type=Path, action="append", default=[], metavar="FILE", help="a pinned key")
    verify.add_argument("--archives", action="store_true", help="all rows of the archived files before it too")
    add_capture(verify)
    verify.add_argument("--json", action="store_true")

    ledgercli.add(add("ledger", "look into a ledger: tail, search, recall, compact, archives, prune", None))

    told = add("health", "say how the daemon is; exit code 5 when something is not well", health)
    told.add_argument("--socket", type=Path, metavar="PATH")
    told.add_argument("-c", "--config", type=Path, metavar="FILE")
    told.add_argument("--json", action="store_true")

    export = add("export", "write finished hands in another format", _export)
    export.add_argument("ledger", type=Path, metavar="LEDGER")
    export.add_argument("--format", choices=("phh",), required=True)
    export.add_argument("--card-key", type=Path, metavar="FILE", help="the auditor's private key: opens closed cards")
    export.add_argument("--hand", metavar="ID")
    export.add_argument("-o", "--output", type=Path, metavar="FILE")

    add_rules(add("rules", "what every rule asks, where it is kept, which tests show it", _rules))
    software = add("software", "which program is installed, and whether its files were changed", _software)
    software.add_argument("--json", action="store_true")
    add_table_commands(add)
    add_staff_commands(add)
    return parser


if __name__ == "__main__":
    sys.exit(main())
