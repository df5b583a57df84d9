"""Incidents that nobody rules on in time: they grow more severe, one step for each time that passes (events.md 5.4).

How long a person may take is the house's to say (``ruling_due_ms`` of the profile). Nothing happens to the hand: what
is held stays held. While the daemon runs the monotonic clock counts; how long an incident had waited before a restart
only the clock on the wall can tell, and what that says at the first input is believed.
"""

from typing import Any

from controller.core.cash.meters import utc
from controller.core.out import Out
from controller.core.state import Incident, Severity

MS = 1_000_000
NEXT: dict[Severity, Severity] = {"low": "high", "high": "stop", "stop": "stop"}


def asked(out: Out) -> dict[str, Any]:
    """What ``incident.opened`` says of the time: since when somebody is asked, and how long that may take."""
    due_ms = out.setup.profile.ruling_due_ms
    return {"at": utc(out.wall)} | ({} if due_ms is None else {"due_ms": due_ms})


def deadline(out: Out) -> int | None:
    """When the next incident is overdue, in monotonic ns; ``None`` where none can be, or nothing was fed yet."""
    state = out.state
    if not (state.incidents or state.silent) or not out.wall:
        return None
    due = (_due(out, one) for one in (*state.incidents.values(), *state.silent.values()))
    return min((at for at in due if at is not None), default=None)


def pass_time(out: Out) -> None:
    """``incident.updated`` for each incident that is overdue now: once more ``escalated``, and how severe it is."""
    state = out.state
    if not (state.incidents or state.silent):
        return
    for incident in (*state.incidents.values(), *state.silent.values()):
        at = _due(out, incident)
        if at is not None and at <= out.at:
            _escalate(out, incident)


def _due(out: Out, incident: Incident) -> int | None:
    """When an incident grows more severe; never again once it is of the last degree and that was told."""
    if incident.due_ms is None or (incident.severity == "stop" and incident.escalated):
        return None
    return out.asked_at(incident.id, incident.since) + (incident.escalated + 1) * incident.due_ms * MS


def _escalate(out: Out, incident: Incident) -> None:
    data: dict[str, Any] = {"incident": incident.id, "adds": {"escalated": incident.escalated + 1}}
    data["severity"] = NEXT[incident.severity]
    if incident.silent:
        out.emit("guard", "incident.updated", incident.id, data | {"basis": "derived"})
    elif incident.hand is not None and out.state.play is not None and out.state.play.id == incident.hand:
        out.hand("incident.updated", data, "derived")
    else:
        out.emit("play", "incident.updated", incident.id, data | {"basis": "derived"})
