"""What holds in every rehearsal, whatever the scenario says (scenarios.md section 4, "always on")."""

import json
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from typing import Any

from controller.contract import checking
from controller.contract.integrity import GENESIS, digest
from simulators.scripts.expectations import Expect
from simulators.scripts.matching import matches
from simulators.seen import Seen

UNEXPECTED = ("incident.opened", "breach.noted", "device.fault")
AFTER_FINAL = frozenset({"hand.corrected", "hand.final"})


def broken(bodies: Iterable[bytes], *, whole: bool = True) -> list[str]:
    """What is wrong with published events, a line each: order, chain, duplicates, shape, test flag.

    With ``whole`` the streams must begin at 1; without, an earlier table has filled the ledger before.
    """
    found: list[str] = []
    streams: dict[tuple[str, str], dict[int, bytes]] = defaultdict(dict)
    for body in bodies:
        event = json.loads(body)
        rows = streams[event["source"], event["ledger"]]
        number = int(event["sequence"])
        if rows.setdefault(number, body) != body:
            found.append(f"{event['source']} {number}: published twice with different bytes")
        if event["test"] is not True:
            found.append(f"{event['type']} {event['id']}: the test flag is not set")
        found += checking.problems(body)
    for (source, _), rows in streams.items():
        found += _chain(source, rows, 1 if whole else min(rows))
    return found


def _chain(source: str, rows: dict[int, bytes], first: int) -> list[str]:
    found: list[str] = []
    prev = GENESIS if first == 1 else json.loads(rows[first])["prev"]
    for expected, number in enumerate(sorted(rows), start=first):
        if number != expected:
            return [*found, f"{source}: {expected} is missing, {number} came"]
        if json.loads(rows[number])["prev"] != prev:
            found.append(f"{source} {number}: prev is not the hash of the event before")
        prev = digest(rows[number])
    return found


def after_final(events: Iterable[Seen]) -> list[str]:
    """Events of a hand that came after its end."""
    found = []
    ended: set[str] = set()
    for event in events:
        if event.hand in ended and event.type not in AFTER_FINAL:
            found.append(f"{event.type} of {event.hand} after its hand.final")
        if event.type in ("hand.final", "hand.voided"):
            ended.add(event.hand)
    return found


def unfinished(events: Sequence[Seen]) -> list[str]:
    """Hands without an end and incidents nobody closed, once the table is closed."""
    ended = {e.hand for e in events if e.type in ("hand.final", "hand.voided")}
    closed = {e.data.get("incident") for e in events if e.type == "incident.closed"}
    found = [f"{e.hand} was started and has no end" for e in events if e.type == "hand.started" if e.hand not in ended]
    opened = (e.data for e in events if e.type == "incident.opened")
    return found + [f"{_called(data)} was never closed" for data in opened if data.get("incident") not in closed]


def unexpected(events: Iterable[Seen], expects: Iterable[Expect], tolerated: Container[str] = ()) -> list[str]:
    """Incidents, breaches and faults that no expectation names: an unexpected hold fails the case."""
    wanted = [expect for expect in expects if expect.event in UNEXPECTED]

    def named(event: Seen) -> bool:
        return any(expect.event == event.type and matches(expect.match, event.data) for expect in wanted)

    return [
        f"unexpected {event.type}: {_called(event.data)}"
        for event in events
        if event.type in UNEXPECTED and event.type not in tolerated and not named(event)
    ]


def _called(data: Any) -> str:
    names = ("code", "rules", "kind", "what", "device", "cause", "seat", "incident")
    return " ".join(f"{name}={data[name]}" for name in names if name in data)
