"""Captures on the command line of ``feltd``: ``run --capture`` and ``verify --capture``."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controller.capture.verifying import Replayed


def add_run(parser: argparse.ArgumentParser) -> None:
    """The options of ``feltd run``."""
    group = parser.add_argument_group("capture: bytes of all devices and all inputs, sealed outside test mode")
    group.add_argument("--capture", type=Path, metavar="FILE")
    group.add_argument("--capture-mb", type=_many, default=64, metavar="N", help="size of one file (64)")
    group.add_argument("--capture-keep", type=_many, default=4, metavar="N", help="older files FILE.1 .. FILE.N (4)")


def add_capture(parser: argparse.ArgumentParser) -> None:
    """The options of ``feltd verify``."""
    parser.add_argument("--capture", type=Path, metavar="FILE", help="replay its inputs; all must come out the same")
    parser.add_argument("--card-key", type=Path, metavar="FILE", help="the auditor's private key: opens a sealed one")


def verified(args: argparse.Namespace) -> "Replayed | None":
    """Hold the capture that was named, if one was, against the ledger."""
    if args.capture is None:
        return None
    from controller.capture.verifying import verify_capture  # noqa: PLC0415 - loads core and drivers
    from controller.ledger.keys import load_auditor_key  # noqa: PLC0415

    return verify_capture(args.ledger, args.capture, load_auditor_key(args.card_key) if args.card_key else None)


def lines(replayed: "Replayed") -> Iterator[str]:
    """What came of it, for people."""
    counts = f"{replayed.inputs} inputs, {replayed.records} records, {replayed.frames} frames"
    yield f"capture: {replayed.runs} runs replayed, {counts}"
    yield from (f"fault: {fault}" for fault in replayed.faults)
    yield from (f"not compared: {what}" for what in replayed.unheld)
    yield from (f"note: {note}" for note in replayed.notes)


def _many(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 100_000:
        raise argparse.ArgumentTypeError("from 1 to 100000")
    return number
