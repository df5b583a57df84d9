"""What the desk answers: what was recorded, what was refused and why, or what could not be read."""

from collections.abc import Mapping
from typing import Any

from controller.core.records import REFUSALS, Record
from controller.errors import LocalError

HIDDEN = "guard"
"""The stream that is for surveillance alone: nothing that is said at the table names a record of it (I-29)."""


def mistake(error: LocalError) -> dict[str, Any]:
    """A command that could not be read: the field, its value, the remedy."""
    return {"ok": False, "error": {"field": error.field, "value": error.value, "remedy": error.remedy}}


def told(written: tuple[Record, ...]) -> dict[str, Any]:
    """What the records of a command say to the person who gave it, of the streams that the table may see."""
    records = [record for record in written if record.stream != HIDDEN]
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


def healthy(report: Mapping[str, Any]) -> dict[str, Any]:
    """How the process is, as the table is told. What has waited longest may be an event of ``guard``: only its age."""
    outbox = dict(report.get("outbox") or {})
    if outbox.get("oldest"):
        outbox["oldest"] = {"time": outbox["oldest"]["time"]}
    return {**report, "outbox": outbox}


def _refused(data: Mapping[str, Any]) -> dict[str, Any]:
    """An entry that makes no sense now, as a refusal is told: what was tried, why it may not be, what may."""
    what = data["tried"]["kind"] if "tried" in data else data["spot"]
    told = {"what": what, "rules": data["rules"], "asked": data["why"], "allowed_now": data["allowed"]}
    return told | {name: data[name] for name in ("seat", "box") if data.get(name) is not None}
