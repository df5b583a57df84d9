"""The sums that a subscriber can check from events alone: hands, boxes of players, shifts, numbers without holes.

A stream that was not granted is not held against the others. Test events and live ones are never in one store's table,
so they never meet in a sum.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from backoffice.messages import data_of
from backoffice.store import Event, Store
from backoffice.verifying import ordered

Data = Mapping[str, Any]
FIGURES = ("drop", "fills", "credits", "rake", "tips", "orphans", "hands", "hands_void")
"""What a reading of the meters and the events before it have to agree on."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of the meters. ``win`` by tray is ``None`` while there is no opener or closer."""

    session: str
    shift: str
    reason: str
    win: int | None
    rake: int


@dataclass(slots=True)
class Sums:
    """What was found for a table. ``faults``: what does not add up; ``open``: what has begun and has not ended."""

    readings: list[Reading] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Run:
    """What the events said so far."""

    since: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FIGURES, 0))
    bets: dict[str, int] = field(default_factory=dict)
    wins: dict[str, int] = field(default_factory=dict)
    rake: dict[str, int] = field(default_factory=dict)
    results: dict[str, Data] = field(default_factory=dict)
    """The result that holds so far, of hands that have ended and are not final."""
    hands: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    """Hands that have ended; of them those in ``hands`` are not final yet."""
    incidents: set[str] = field(default_factory=set)
    slips: set[str] = field(default_factory=set)
    last_slip: int | None = None
    last_hand: tuple[str, int] | None = None
    opened: bool = False
    streams: set[str] = field(default_factory=set)


def sums_of(store: Store, table: str) -> Sums:
    """Check the sums of all that is stored of a table, over all its ledgers. Raises ``StoreError``."""
    found, run = Sums(), _Run()
    for ledger in ordered(store, table):
        for event in store.events(table, ledger):
            run.streams.add(event.source.rsplit("/", 1)[1])
            where = f"{event.type} {event.source.rsplit('/', 1)[1]} {event.sequence}"
            try:
                for fault in _take(run, found, event, data_of(event.payload)):
                    found.faults.append(f"{where}: {fault}")
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                # Nobody has proved yet that a table wrote it: `verify` does.
                found.faults.append(f"{where}: is not as the contract has it ({error!r}): see feltoffice verify")
    open_ = sorted(run.hands | run.incidents | run.slips)
    found.open += [f"{name} {'is not final yet' if name in run.closed else 'has not ended'}" for name in open_]
    return found


def _take(run: _Run, found: Sums, event: Event, data: Data) -> Iterator[str]:
    """Take one event; what of it does not add up."""
    _begins_and_ends(run, event.type, data)
    match event.type:
        case "table.opened":
            run.opened, run.since = True, dict.fromkeys(FIGURES, 0)
            run.bets, run.wins = {}, {}
        case "settings.changed" if "shift" in data["new"]:
            run.since = dict.fromkeys(FIGURES, 0)
            run.bets, run.wins = {}, {}
        case "hand.started":
            yield from _hand_number(run, event.day, data["number"])
        case "rake.taken":
            run.rake[data["hand"]] = data["computed"] if data["dropped"] is None else data["dropped"]
        case "hand.closed":
            yield from _hand(run, data["hand"], data["result"])
        case "hand.corrected":
            yield from _corrected(run, data["hand"], data["result"])
        case "hand.final" if data["hand"] in run.results:
            result = run.results.pop(data["hand"])
            if data["revision"] != result["revision"]:
                yield f"final at revision {data['revision']}, the last one is {result['revision']}"
        case "hand.voided":
            run.rake.pop(data["hand"], None)
            run.since["hands_void"] += 1
        case "tip.given" if "hand" not in data:
            run.since["tips"] += data["amount"]
        case "slip.requested":
            if run.last_slip is not None and data["number"] != run.last_slip + 1:
                yield f"slip {data['number']} follows {run.last_slip}: a number is missing or stands twice"
            run.last_slip = data["number"]
        case "meter.read":
            yield from _reading(run, found, event, data)
        case _:
            _money(run, event.type, data)


def _begins_and_ends(run: _Run, kind: str, data: Data) -> None:
    match kind:
        case "hand.started":
            run.hands.add(data["hand"])
        case "hand.closed":
            run.closed.add(data["hand"])
        case "hand.final" | "hand.voided":
            run.hands.discard(data["hand"])
            run.closed.discard(data["hand"])
        case "incident.opened":
            run.incidents.add(data["incident"])
        case "incident.closed":
            run.incidents.discard(data["incident"])
        case "slip.requested":
            run.slips.add(data["slip"])
        case "slip.completed" | "slip.cancelled":
            run.slips.discard(data["slip"])


def _money(run: _Run, kind: str, data: Data) -> None:
    match kind:
        case "chips.bought" if data["means"] != "chips":
            run.since["drop"] += data["amount"]
        case "chips.redeemed" if data.get("place") == "table":
            run.since["drop"] -= data["amount"]
        case "slip.completed":
            run.since["fills" if data["kind"] == "fill" else "credits"] += data["total"]
        case "orphan.found":
            run.since["orphans"] += data["amount"]
        case "adjustment.recorded":
            for place, amount in ((data["from"], -data["amount"]), (data["to"], data["amount"])):
                if place in ("drop", "rake", "tips"):
                    run.since[place] += amount


def _hand_number(run: _Run, day: str, number: int) -> Iterator[str]:
    before, run.last_hand = run.last_hand, (day, number)
    if before is not None and number != (before[1] + 1 if before[0] == day else 1):
        yield f"hand {number} of {day} follows {before[1]} of {before[0]}: a number is missing or stands twice"


def _hand(run: _Run, hand: str, result: Data) -> Iterator[str]:
    """What went in came out, is rake, or a tip; what boxes won, the house lost."""
    yield from _balance(result)
    for place, put, got in _spots(result):
        run.bets[place] = run.bets.get(place, 0) + put
        run.wins[place] = run.wins.get(place, 0) + got
    run.results[hand] = result
    run.since["hands"] += 1
    run.since["rake"] += run.rake.pop(hand, 0)
    run.since["tips"] += result.get("tips", 0)


def _balance(result: Data) -> Iterator[str]:
    spots = list(_spots(result))
    staked, back = sum(spot[1] for spot in spots), sum(spot[2] for spot in spots)
    rest = result["house_net"] if "boxes" in result else result["rake"] + result["tips"]
    if staked != back + rest:
        yield f"{staked} went in, {back} came out, and the rest should be {rest}"


def _corrected(run: _Run, hand: str, result: Data) -> Iterator[str]:
    """The new result of a hand holds in the place of the one before: what differs is booked now."""
    yield from _balance(result)
    before = run.results.get(hand)
    run.results[hand] = result
    if before is None:
        return
    if result["revision"] != before["revision"] + 1:
        yield f"revision {result['revision']} of hand {hand} follows {before['revision']}"
    for sign, one in ((-1, before), (1, result)):
        for place, put, got in _spots(one):
            run.bets[place] = run.bets.get(place, 0) + sign * put
            run.wins[place] = run.wins.get(place, 0) + sign * got
        run.since["rake"] += sign * one.get("rake", 0)
        run.since["tips"] += sign * one.get("tips", 0)


def _spots(result: Data) -> Iterable[tuple[str, int, int]]:
    for line in result.get("seats", ()):
        yield f"seat:{line['seat']}", line["in"], line["out"]
    for box in result.get("boxes", ()):
        for line in box["lines"]:
            yield f"box:{box['box']}:{line['spot']}", line["stake"], line["stake"] + line["net"]


def _reading(run: _Run, found: Sums, event: Event, data: Data) -> Iterator[str]:
    """Hold a reading of the meters against the events before it, where all of them are stored."""
    win = None
    if data["opener"] is not None and data["closer"] is not None:
        win = data["drop"] + data["closer"] + data["credits"] - data["opener"] - data["fills"]
    found.readings.append(Reading(event.session or "", data["shift"], data["reason"], win, data["rake"]))
    if not run.opened or not {"play", "cash"} <= run.streams:
        return
    for name in FIGURES:
        if data[name] != run.since[name]:
            yield f"{name} is {data[name]}, the events before it say {run.since[name]}"
    for name, sums in (("bets_by_spot", run.bets), ("wins_by_spot", run.wins)):
        if data[name] != sums:
            yield f"{name} is {data[name]}, the events before it say {sums}"
