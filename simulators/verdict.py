"""What became of one case of a rehearsal, and what became of all of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal

from simulators.scripts.acts import Script
from simulators.seen import HandSeen, Seen, hand_seen, hands, rules_and_incidents

Outcome = Literal["passed", "failed", "skipped", "wrong", "error"]


class Exit(IntEnum):
    """Exit codes of a rehearsal (scenarios.md section 7)."""

    PASSED = 0
    PRODUCT = 1
    SCRIPT = 2
    RIG = 3
    BUDGET = 4
    NOTHING = 5
    PARTLY = 6
    """Ours: broken off, and nothing was wrong until then."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A rehearsal that was ended before all was played: by what, and the case that was being played."""

    why: str
    played: int
    cases: int
    during: str = ""

    def __str__(self) -> str:
        during = f"; {self.during} was being played" if self.during else ""
        return f"broken off {self.why}: {self.played} of {self.cases} cases were played{during}"

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {"why": self.why, "played": self.played, "cases": self.cases, "during": self.during}


@dataclass(slots=True)
class Case:
    """One hand or scenario. ``lines`` say why it is not passed, ``notes`` what is worth knowing all the same."""

    name: str
    outcome: Outcome
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    breaches: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    incidents: Counter[str] = field(default_factory=Counter)
    hands: int = 0
    events: int = 0
    keys: int = 0
    ms: int = 0
    compared: bool = True
    command: str = ""
    seed: int = 0
    """What was drawn, was drawn with it."""
    table: str = "shoe"
    faulted: bool = False
    """Whether something was made to go wrong: a device, the system, or a tag."""
    needless_holds: int = 0
    needless_breaches: int = 0
    wrong: int = 0
    """Lines that say that a result is not what it must be."""
    changed: int = 0
    """Lines that say that events are lost, changed or out of order."""
    leaked: int = 0
    added_ms: int = 0
    """How long the table still needed, by its own clock, when everything had been done until the hand was closed."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    """When each step was planned and performed."""
    met: list[dict[str, Any]] = field(default_factory=list)
    """What met each expectation, or came nearest."""
    answers_ms: list[int] = field(default_factory=list)
    """How long the table took to answer, by its own clock, where the scenario asks for its latency."""
    covers: tuple[str, ...] = ()
    """Rules, incidents, kinds of fault and events that its scenario says it covers."""
    shown: Counter[str] = field(default_factory=Counter)
    """Rules and incidents that events have named, and how often."""
    reconnects: int = 0
    """How often a device was lost."""
    resyncs: int = 0
    """How often a link had to find the next frame again, where a device was called faulty for it."""
    devices: dict[str, str] = field(default_factory=dict)
    """Model, serial number and firmware of each device that came up, and """
    profile: str = ""
    """name and hash of the house rules, as the events say."""
    drawn: list[tuple[str, str, int]] = field(default_factory=list)
    """Every duration that was drawn: for which step, which one, in ms."""
    process: int = 0
    """The process that played it, and """
    memory_kb: int = 0
    """how much memory that had when the case was over."""
    fault: str = ""
    """The kind of fault that struck the hand, and """
    fate: str = ""
    """what became of it: one of ``faulted.FATES``."""
    bundle: Path | None = None
    """The folder of its evidence, where it failed and such folders are kept."""

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "case": self.name,
            "outcome": self.outcome,
            "lines": self.lines,
            "notes": self.notes,
            "breaches": dict(self.breaches),
            "incidents": dict(self.incidents),
            "hands": self.hands,
            "events": self.events,
            "ms": self.ms,
            "table": self.table,
            "seed": self.seed,
            "keys": self.keys,
            "added_ms": self.added_ms,
            "compared": self.compared,
        } | ({"fault": self.fault, "fate": self.fate} if self.fault else {})


def exit_code(cases: Iterable[Case]) -> Exit:
    """A wrong script weighs more than a failed product, a broken rig more than both: their results mean nothing."""
    outcomes = Counter(case.outcome for case in cases)
    if outcomes["error"]:
        return Exit.RIG
    if outcomes["wrong"]:
        return Exit.SCRIPT
    if outcomes["failed"]:
        return Exit.PRODUCT
    return Exit.PASSED if outcomes["passed"] else Exit.NOTHING


def unstruck(cases: Iterable[Case]) -> dict[str, int]:
    """What became of the hands to which nothing was made to happen: each figure but ``hands`` ought to be 0."""
    sound = [case for case in cases if case.outcome in ("passed", "failed") and not (case.fault or case.faulted)]
    return {
        "hands": sum(case.hands for case in sound),
        "wrong": sum(bool(case.wrong) for case in sound),
        "held_needlessly": sum(bool(case.needless_holds) for case in sound),
        "breached_needlessly": sum(bool(case.needless_breaches) for case in sound),
        "lost_or_changed": sum(bool(case.changed) for case in sound),
        "leaked": sum(bool(case.leaked) for case in sound),
    }


def count(case: Case, events: Sequence[Seen]) -> None:
    """Note what the events tell of breaches, incidents and hands."""
    for event in events:
        if event.type == "breach.noted":
            case.breaches.update([named(event)])
        elif event.type == "incident.opened":
            case.incidents.update([event.data["code"]])
        elif event.type == "device.up":
            who = (event.data.get(name) for name in ("model", "serial", "firmware"))
            case.devices[event.data["device"]] = " ".join(filter(None, who))
        elif event.type == "table.opened":
            case.profile = f"{event.data['profile']['name']} {event.data['profile']['sha256']}"
        elif event.type == "device.lost":
            case.reconnects += 1
        elif event.type == "device.fault":
            case.resyncs += event.data["counts"]["resync"] if "counts" in event.data else 0
    case.shown += rules_and_incidents(events)
    case.hands = len(hands(events))
    case.events = len(events)


def named(event: Seen) -> str:
    """The code of a breach: the profile's own id, or what it is called where no rule has one."""
    rules: Sequence[str] = event.data.get("rules", ())
    return rules[0] if rules else str(event.data.get("what", "?"))


def compare(
    script: Script, events: Sequence[Seen], departed: bool, *, flop_at_once: bool = False
) -> tuple[list[str], list[str]]:
    """Hold a played hand against its record: what differs, and what is worth a note.

    ``flop_at_once``: antennas may read the three cards of a flop in any order, and their order decides nothing.
    """
    played = hands(events)
    if len(played) != 1:
        return [f"{len(played)} hands were started instead of one"], []
    hand = hand_seen(events, played[0])
    if not hand.closed:
        return [f"{hand.hand} was not closed"], []
    lines = [] if hand.final else [f"{hand.hand} was not made final"]
    if not hand.balanced:
        lines.append(f"{hand.hand} does not add up")
    if departed:
        return lines, ["the rules refused what the record says: the result is not compared"]
    notes = [] if script.outcome.stacks or script.outcome.halves else ["the record names no stacks to compare"]
    if script.outcome.fault:
        notes.append(script.outcome.fault)
    return [*lines, *_differences(script, hand, flop_at_once)], notes


def _differences(script: Script, hand: HandSeen, flop_at_once: bool) -> Iterable[str]:
    wanted, unit = script.outcome, script.stakes.unit
    for seat, stack in sorted(wanted.stacks.items()):
        if hand.stacks.get(seat) != stack:
            yield f"seat {seat} ends with {hand.stacks.get(seat)}, on record is {stack}"
    for seat, doubled in sorted(wanted.halves.items()):
        has = hand.stacks.get(seat)
        # The recorded stack is no whole chip: the nearest payable amounts on either side will do.
        if has is None or abs(2 * has - doubled) >= 2 * unit:
            yield f"seat {seat} ends with {has}, on record is {doubled / 2}"
    boards = [(*(sorted(b[:3]) if flop_at_once else b[:3]), *b[3:]) for b in (hand.board, wanted.board)]
    if boards[0] != boards[1]:
        yield f"the board is {' '.join(hand.board)}, on record is {' '.join(wanted.board)}"
    if wanted.stacks:
        starts = {s.seat: s.stack for s in script.seats}
        ends = {**{s: 2 * v for s, v in wanted.stacks.items()}, **wanted.halves}
        gained = {seat for seat, end in ends.items() if end > 2 * (starts[seat] or 0)}
        if hand.gained != gained or not gained <= hand.winners:
            yield f"seats {sorted(hand.winners)} win, on record {sorted(gained)} gain"
