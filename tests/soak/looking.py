"""What a table that was killed must have left behind, held against the script it was played by."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pokerkit

from controller.contract.integrity import digest
from controller.core.records import Record
from controller.exports.phh import hands, phh
from controller.ledger.keys import load_auditor_key, load_verify_key
from controller.ledger.reading import read_records
from controller.ledger.verify import verify
from tests.soak.office import Ear, Heard, Office

SMALLEST_CHIP = 100
MOST_TOLD = 30
"""More faults than this tell nothing new."""


@dataclass(slots=True)
class Figures:
    """What happened. ``wrong`` is empty when all is as it must be."""

    kills: int = 0
    while_starting: int = 0
    broker_kills: int = 0
    broker_stops: int = 0
    rows: int = 0
    sessions: int = 0
    hands: int = 0
    hands_void: int = 0
    replayed_by_pokerkit: int = 0
    cards: int = 0
    decisions: int = 0
    stored: int = 0
    heard: int = 0
    repeated: int = 0
    lost_by_broker: int = 0
    by_replay: int = 0
    recoveries: int = 0
    ready_ms: list[int] = field(default_factory=list)
    incidents: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        ready = sorted(self.ready_ms) or [0]
        lines = [
            f"kills of the table: {self.kills}, while it started: {self.while_starting}",
            f"of the broker: {self.broker_kills} kills, {self.broker_stops} stops",
            f"committed: {self.rows} rows in {self.sessions} sessions",
            f"delivered: {self.stored}, {self.by_replay} of them by replay",
            f"first heard live, in order: {self.heard}; repeats with equal bytes: {self.repeated}",
            f"lost by a killed broker that had acknowledged them: {self.lost_by_broker}",
            f"hands: {self.hands} closed, {self.hands_void} void; played by pokerkit too: {self.replayed_by_pokerkit}",
            f"as in the script: {self.cards} cards, {self.decisions} decisions",
            f"recoveries: {self.recoveries}; ready after {ready[len(ready) // 2]} ms, at most {ready[-1]} ms",
            f"incidents: {dict(self.incidents) or 'none'}",
        ]
        return "\n".join([*lines, *(f"WRONG: {what}" for what in self.wrong[:MOST_TOLD])])


@dataclass(frozen=True, slots=True)
class Script:
    """What hands did at the table: each card by its number out of the shoe, and the keys in their order."""

    cards: Mapping[int, str]
    keys: Sequence[str]


def look(folder: Path, office: Office, ear: Ear, script: Script, figures: Figures) -> None:
    """Hold what is left against what must be."""
    ledger = folder / "t07.ledger"
    report = verify(ledger, public_keys=[load_verify_key(folder / "signing.pub")])
    figures.rows = report.rows
    figures.wrong += [f"ledger: {fault}" for fault in report.faults]
    _delivered(ledger, office, ear.heard, figures)
    office.verify()
    records = list(read_records(ledger, auditor=load_auditor_key(folder / "auditor-key")))
    _hands(records, figures)
    _replayed(records, figures)
    _as_the_script_says(records, script, figures)


def _delivered(ledger: Path, office: Office, heard: Heard, figures: Figures) -> None:
    """All that is committed is delivered, byte by byte; nothing is published that is not committed."""
    with closing(sqlite3.connect(ledger)) as connection:
        rows = connection.execute("SELECT stream, sequence, body FROM row ORDER BY row").fetchall()
    kept = office.bodies()
    figures.stored = len(kept)
    if kept != [body for _, _, body in rows]:
        figures.wrong.append(f"{len(rows)} rows were committed, {len(kept)} are delivered, or in another form")
    committed = {(stream, sequence): digest(body) for stream, sequence, body in rows}
    if other := [at for at, told in heard.digests.items() if committed.get(at) != told]:
        figures.wrong.append(f"{len(other)} events were published and are not on record as such: {sorted(other)[:5]}")
    figures.heard, figures.repeated, figures.lost_by_broker = len(heard.digests), heard.repeated, heard.holes
    figures.wrong += heard.faults


def _hands(records: Iterable[Record], figures: Figures) -> None:
    """Every hand ends once, its money adds up, and each one begins with the stacks that the one before left."""
    open_hand, stacks, numbers = None, dict[int, int](), list[int]()
    for record in records:
        data = record.data
        match record.type:
            case "table.opened":
                figures.sessions += 1
                stacks.clear()
            case "hand.started":
                if open_hand is not None:
                    figures.wrong.append(f"{record.hand} began before {open_hand} had ended")
                open_hand = record.hand
                numbers.append(data["number"])
                for line in data["seats"]:
                    if line["dealt_in"] and stacks.get(line["seat"], line["stack"]) != line["stack"]:
                        figures.wrong.append(f"{record.hand}: seat {line['seat']} begins with another stack")
            case "hand.closed":
                figures.hands += 1
                open_hand = None
                result = data["result"]
                if sum(line["net"] for line in result["seats"]) + result["rake"] + result["tips"]:
                    figures.wrong.append(f"{record.hand}: the money does not add up")
                stacks |= {line["seat"]: line["stack_after"] for line in result["seats"]}
            case "hand.voided":
                figures.hands_void += 1
                open_hand = None
            case "incident.opened":
                figures.incidents[data["code"]] += 1
            case "recovery.completed":
                figures.recoveries += 1
            case "chips.bought":
                stacks[data["seat"]] = data["stack_after"]
    for before, after in pairwise(numbers):
        if after not in (before + 1, 1):
            figures.wrong.append(f"hand {after} follows hand {before}")
    unforeseen = {code: count for code, count in figures.incidents.items() if code != "I-33"}
    if unforeseen:
        figures.wrong.append(f"incidents without a cause: {unforeseen}")


def _replayed(records: Iterable[Record], figures: Figures) -> None:
    """Let pokerkit play each hand from its cards and decisions, to our stacks.

    It splits a pot to the minor unit: where our smallest chip makes it odd (C9), one such chip more or less is right.
    """
    for hand in hands(records):
        if not any(record.type == "hand.closed" for record in hand):
            continue
        try:
            history = pokerkit.HandHistory.loads(phh(hand))
            *_, end = history
        except (ValueError, KeyError) as error:
            figures.wrong.append(f"{hand[0].hand}: pokerkit does not play it: {error}")
            continue
        award = next((record for record in reversed(hand) if record.type == "award.computed"), None)
        odd = any(pot["odd"] for pot in award.data["pots"]) if award else False
        finished = history.finishing_stacks or []
        apart = [abs(ours - theirs) for ours, theirs in zip(finished, end.stacks, strict=True)]
        if max(apart) >= (SMALLEST_CHIP if odd else 1):
            figures.wrong.append(f"{hand[0].hand}: {finished} against pokerkit's {list(end.stacks)}")
        figures.replayed_by_pokerkit += 1


def _as_the_script_says(records: Sequence[Record], script: Script, figures: Figures) -> None:
    """Each card that left the shoe is on record once and by its name; decisions are keys that were pressed."""
    named: dict[int, str] = {}
    open_slots: dict[tuple[str | None, int], int] = {}
    cited: set[int] = set()
    for record in records:
        data, numbers = record.data, list(shoe_numbers(record.data))
        cited.update(numbers)
        if record.type == "card.dealt":
            for number in numbers:
                if number in named:
                    figures.wrong.append(f"card {number} was dealt twice")
                named[number] = (record.secret or {}).get("card", "")
                open_slots[record.hand, data["slot"]] = number
        elif record.type == "card.opened":
            number = open_slots[record.hand, data["slot"]]
            if named[number] not in ("", data["card"]):
                figures.wrong.append(f"card {number} was {named[number]} and is opened as {data['card']}")
            named[number] = data["card"]
    for number, card in named.items():
        if script.cards.get(number) != card:
            figures.wrong.append(f"card {number} is {card} on record and {script.cards.get(number)} in the shoe")
    if lost := sorted(set(script.cards) - cited):
        figures.wrong.append(f"{len(lost)} cards left the shoe and are not on record: {lost[:10]}")
    figures.cards = len(named)
    taken = [record.data["kind"] for record in records if record.type == "action.taken"]
    keys = iter(script.keys)
    for number, kind in enumerate(taken):
        if kind.upper() not in keys:  # looks on from where it stands: the order counts
            figures.wrong.append(f"decision {number}, {kind}, was not keyed at its place")
            break
    figures.decisions = len(taken)


def shoe_numbers(data: Mapping[str, Any]) -> Iterator[int]:
    """The cards that an event is based on, by their number out of the shoe."""
    for source in data.get("evidence", ()):
        if source["device"] == "shoe0":
            yield int(source["reading"]) & 0xFFFF_FFFF  # above it stands which memory of the shoe counts
