"""The other end of the command socket: asks the daemon, and tells its answer to a person."""

import json
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.errors import RemoteError

FIGURES = ("since", "drop", "opener", "fills", "credits", "closer", "rake", "tips", "orphans", "hands", "hands_void")
"""What is shown of a reading of the meters, in this order; the places follow."""
WAIT_S = 30.0
"""Longer than the daemon lets a command wait."""


class NotReachable(RemoteError):
    """No daemon answers at the socket."""


def ask(path: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Send one request and wait for the answer. Raises ``NotReachable``."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            # A blocking connect waits where many knock at once; with a Python time-out it would fail at once.
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(WAIT_S), 0))
            peer.connect(str(path))
            peer.settimeout(WAIT_S)
            peer.sendall(json.dumps(request).encode() + b"\n")
            with peer.makefile("rb") as answers:
                line = answers.readline()
    except OSError as error:
        remedy = "is it running, and may you use the socket?"
        raise NotReachable(f"no daemon answers at {path} ({error.strerror or error}): {remedy}") from error
    try:
        answer = json.loads(line)
    except json.JSONDecodeError as error:
        raise NotReachable(f"the daemon at {path} hung up before it answered") from error
    if not isinstance(answer, dict):
        raise NotReachable(f"what answers at {path} is no table's daemon")
    return answer


def told(answer: Mapping[str, Any]) -> str:
    """An answer in words."""
    if "status" in answer:
        return picture(answer["status"])
    if "error" in answer:
        error = answer["error"]
        return f"{error['field']} = {error['value']!r}: {error['remedy']}"
    lines = [_refusal(refused) for refused in answer.get("refused", ())]
    if not lines:
        lines = [line for record in answer["records"] for line in _record(record)]
    return "\n".join(lines) or "done"


def _record(record: Mapping[str, Any]) -> list[str]:
    """A record by its type and subject; a reading of the meters with its figures."""
    head = f"{record['type']} {record['subject']}".rstrip()
    data = record.get("data", {})
    told = [(name, data[name]) for name in FIGURES if name in data]
    lines = [f"  {name:<10} {'not counted' if figure is None else figure}" for name, figure in told]
    for place, staked in data.get("bets_by_spot", {}).items():
        lines.append(f"  {place:<12} bets {staked}, wins {data['wins_by_spot'][place]}")
    return [head, *lines]


def _refusal(refused: Mapping[str, Any]) -> str:
    rules = ", ".join(refused.get("rules") or ())
    allowed = "; ".join(
        f"{may['kind']} {may['min']}" + (f" to {may['max']}" if may["max"] != may["min"] else "")
        for may in refused.get("allowed_now") or ()
    )
    text = f"refused: {refused.get('asked') or refused.get('what')}"
    return text + (f" ({rules})" if rules else "") + (f"; allowed now: {allowed}" if allowed else "")


def picture(status: Mapping[str, Any]) -> str:
    """The state of a table in a few lines."""
    test = " (test)" if status.get("test") else ""
    lines = [f"table {status['table']}{test}: {status['session'] or 'closed'}"]
    for seat, taken in status["seats"].items():
        stack = "unknown" if taken["stack"] is None else taken["stack"]
        button = "  button" if str(status["button"]) == seat else ""
        leaving = "  leaving: the seat is free when the hand has ended" if taken.get("leaving") else ""
        lines.append(f"  seat {seat:>2}  {taken['player'] or '-':<16} {stack:>10}{button}{leaving}")
    hand = status["hand"]
    lines += _boxes(status)
    if hand and "boxes" not in status:
        lines.append(f"hand {hand['hand']}: {hand['street']}, {hand['phase']}, pot {hand['pot']}")
        if hand["board"]:
            lines.append(f"  board {' '.join(hand['board'])}")
        if hand["to_act"] is not None:
            may = ", ".join(f"{act['kind']} {act['min']}..{act['max']}" for act in hand["allowed"])
            lines.append(f"  seat {hand['to_act']} to act: {may}")
    if "again" in status:
        again = status["again"]
        seats = ", ".join(map(str, again["seats"]))
        lines.append(
            f"  since the restart no key was pressed: {again['key']} of seats {seats} has to be pressed (again)"
        )
    lines += [
        f"incident {open_['incident']} {open_['code']} {open_['kind']}: proposed {open_['proposed']}"
        + (f"; overdue, {open_['severity']}" if open_.get("escalated") else "")
        for open_ in status["incidents"]
    ]
    lines += [
        f"missing: {one['asked']}" + (f" ({', '.join(one['rules'])})" if one["rules"] else "")
        for one in status["missing"]
        if one["reaction"] == "BLOCK"
    ]
    lines += [f"slip {one['slip']}: {one['kind']} of {one['total']} is open" for one in status.get("slips", ())]
    lines += [f"staff {staff}: {role}" for staff, role in status["staff"].items()]
    faults = status.get("faults", {})
    lines += [
        f"device {name}: {state}" + (f", in trouble: {', '.join(faults[name])}" if name in faults else "")
        for name, state in status["devices"].items()
    ]
    return "\n".join(lines)


def _boxes(status: Mapping[str, Any]) -> list[str]:
    """A table of boxes: what is announced, what lies there, what is due."""
    if "boxes" not in status:
        return []
    lines = [f"boxes announced: {', '.join(map(str, status['announced'])) or 'none'}"]
    for box in status["boxes"]:
        stakes = ", ".join(f"{spot} {amount}" for spot, amount in box["stakes"].items())
        marks = "".join(f"  {mark}" for mark in ("dark", "folded", "settled") if box[mark])
        lines.append(f"  box {box['box']}  {box['player'] or '-':<16} {stakes}{marks}")
    hand, due = status["hand"], status["due"]
    if hand:
        lines.append(f"round {hand['hand']}: {hand['phase']}")
        if hand["board"]:
            lines.append(f"  board {' '.join(card or '??' for card in hand['board'])}")
    for box in due.get("boxes", ()):
        may = ", ".join(f"{act['kind']} {act['min']}" if act["min"] else act["kind"] for act in box["allowed"])
        lines.append(f"  box {box['box']} to decide: {may}")
    lines += [f"  box {box} has to be opened" for box in due.get("open", ())]
    for box in due.get("settle", ()):
        if not box["settled"]:
            told = ", ".join(f"{line['spot']} {line['outcome']} {line['pays'] or ''}".strip() for line in box["lines"])
            lines.append(f"  box {box['box']}: {told}")
    return lines + [f"  against the deal: {one['asked']}" for one in due.get("against", ())]
