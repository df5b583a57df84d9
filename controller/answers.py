"""What the desk answers: what was recorded, what was refused and why, or what could not be read."""

from collections.abc import Mapping
from typing import Any

from controller.core.records import REFUSALS, Record
from controller.errors import LocalError


def mistake(error: LocalError) -> dict[str, Any]:
    """A command that could not be read: the field, its value, the remedy."""
    return {"ok": False, "error": {"field": error.field, "value": error.value, "remedy": error.remedy}}


def told(records: tuple[Record, ...]) -> dict[str, Any]:
    """What the records of a command say to the person who gave it."""
    refused: list[dict[str, Any]] = [
        {
            str(name): record.data[name]
            for name in ("what", "rules", "asked", "allowed_now", "seat")
            if name in record.data
        }
        for record in records
        if record.type == "breach.noted" and record.data.get("reaction") == "BLOCK"
    ]
    told_why = {one.get("asked") for one in refused}
    # Where a rule stands behind a refusal, its breach has said all of it.
    bare = [record.data for record in records if record.type in REFUSALS and record.data["why"] not in told_why]
    refused += map(_refused, bare)
    told = [
        {"type": record.type, "subject": record.subject}
        | ({"data": record.data} if record.type == "meter.read" else {})
        for record in records
    ]
    return {"ok": False, "refused": refused, "records": told} if refused else {"ok": True, "records": told}


def _refused(data: Mapping[str, Any]) -> dict[str, Any]:
    """An entry that makes no sense now, as a refusal is told: what was tried, why it may not be, what may."""
    what = data["tried"]["kind"] if "tried" in data else data["spot"]
    told = {"what": what, "rules": data["rules"], "asked": data["why"], "allowed_now": data["allowed"]}
    return told | {name: data[name] for name in ("seat", "box") if data.get(name) is not None}
