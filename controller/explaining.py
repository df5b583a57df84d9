"""``feltd rules --profile FILE --explain``: what a profile comes to, and which file said so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controller.configuration import profiles
from controller.configuration.profiles import Value
from controller.core.rules.profile import Profile


def explained(name: str, folder: Path | None = None) -> dict[str, Any]:
    """The effective values of a profile, JSON-shaped. Raises ``BadConfiguration`` with every fault."""
    profile, values = profiles.explain(name, folder)
    return {
        "profile": _head(profile),
        "approvals": [
            {"of": a.of, "authority": a.authority, "reference": a.reference, "date": a.date} for a in profile.approvals
        ],
        "values": [
            {"key": value.key, "value": value.value, "from": _short(value), "rules": _of(profile, value)}
            for value in values
            if value.key not in ("schema", "name", "version", "approvals")
        ],
    }


def _head(profile: Profile) -> dict[str, str]:
    names = ("name", "version", "sha256", "language", "family", "status", "game")
    return {name: getattr(profile, name) for name in names}


def _of(profile: Profile, value: Value) -> list[str]:
    """The rules of this profile's own text, and the common ones."""
    return [rule for rule in value.rules if rule.partition("-")[0] in (profile.family, "CM")]


def _short(value: Value) -> str:
    return Path(value.origin).name


def lines(told: dict[str, Any]) -> Iterator[str]:
    """The same for people."""
    head = told["profile"]
    yield f"{head['name']} {head['version']} ({head['status']}), {head['game']}, sha256 {head['sha256']}"
    for approval in told["approvals"]:
        yield f"approved: {approval['of']} by {approval['authority']}, {approval['reference']}, {approval['date']}"
    if head["status"] == "draft":
        yield "draft: no named person has signed the table of readings"
    rows = [(row["key"], _word(row["value"]), row["from"], " ".join(row["rules"])) for row in told["values"]]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for key, value, origin, rules in rows:
        yield f"{key:<{widths[0]}}  {value:<{widths[1]}}  {origin:<{widths[2]}}  {rules}".rstrip()


def _word(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_word, value))
    return str(value)
