"""``feltd rules``: the matrix of rules (what, where in the code, which tests), or what a profile comes to."""

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from controller.errors import LocalError
from controller.rulebook import FAMILIES, Rule, rules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``feltd rules``."""
    parser.add_argument("--profile", metavar="NAME|FILE", help="only the rules of this profile's text, and CM")
    parser.add_argument("--id", action="append", metavar="RULE", help="only this rule, with all that is bound to it")
    parser.add_argument("--unbound", action="store_true", help="only rules that code or tests lack; exit 1 if any")
    parser.add_argument("--explain", action="store_true", help="with --profile: each value, its file, its rules")
    parser.add_argument("--json", action="store_true")


def show(args: argparse.Namespace) -> int:
    """Print what was asked for; 1 where ``--unbound`` found something."""
    if args.explain:
        return _explain(args)
    chosen = _chosen(args)
    if args.unbound:
        chosen = [rule for rule in chosen if rule.lacks()]
    if args.json:
        print(json.dumps([_plain(rule) for rule in chosen], ensure_ascii=False, indent=2))
    elif args.id:
        print("\n".join(line for rule in chosen for line in _whole(rule)))
    else:
        print("\n".join(_matrix(chosen)))
    return 1 if args.unbound and chosen else 0


def _explain(args: argparse.Namespace) -> int:
    from controller.explaining import explained, lines  # noqa: PLC0415 - the matrix needs no profile reader

    if args.profile is None:
        raise LocalError("--profile", None, "say which profile to explain")
    told = explained(args.profile, Path())
    print(json.dumps(told, ensure_ascii=False, indent=2) if args.json else "\n".join(lines(told)))
    return 0


def _chosen(args: argparse.Namespace) -> list[Rule]:
    chosen = list(rules())
    if args.profile is not None:
        from controller.configuration import profiles  # noqa: PLC0415 - as above

        family = profiles.load(args.profile, Path()).family
        chosen = [rule for rule in chosen if rule.family in (family, FAMILIES[-1])]
    if args.id:
        known = {rule.id for rule in chosen}
        for asked in args.id:
            if asked not in known:
                raise LocalError("--id", asked, f"no such rule: {', '.join(sorted(known)[:3])} ... ({len(known)})")
        chosen = [rule for rule in chosen if rule.id in args.id]
    return chosen


def _plain(rule: Rule) -> dict[str, Any]:
    told: dict[str, Any] = {"id": rule.id, "kind": rule.kind, "reaction": rule.reaction, "summary": rule.summary}
    told |= {side: list(getattr(rule, side)) for side in ("code", "broken", "kept", "shown")}
    return told | {"lacks": rule.lacks()}


def _matrix(chosen: Iterable[Rule]) -> Iterator[str]:
    """One line a rule: where it is kept first, how many tests show it, what it lacks."""
    rows = [("rule", "kind", "reaction", "where", "tests", "what it asks")]
    for rule in chosen:
        more = f" +{len(rule.code) - 1}" if len(rule.code) > 1 else ""
        where = f"{rule.code[0].removeprefix('controller.')}{more}" if rule.code else "-"
        lacks = f"  [lacks {', '.join(rule.lacks())}]" if rule.lacks() else ""
        rows.append((rule.id, rule.kind, rule.reaction, where, str(len(rule.tests)), rule.summary + lacks))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[5]]).rstrip()
    bound = sum(1 for rule in chosen if not rule.lacks())
    yield f"{len(rows) - 1} rules, {bound} bound in code and tests"


def _whole(rule: Rule) -> Iterator[str]:
    yield f"{rule.id}  {rule.kind}  {rule.reaction}  {rule.summary}"
    for side in ("code", "broken", "kept", "shown"):
        for name in getattr(rule, side):
            yield f"  {side:<6}  {name}"
    if rule.lacks():
        yield f"  lacks   {', '.join(rule.lacks())}"
