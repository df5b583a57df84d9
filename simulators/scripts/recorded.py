"""A capture as a scenario: what hands did at a table, written as steps. What has to be seen, the author adds.

The inputs of the capture are fed to a core once more: it tells where each card was dealt and which incident a person
ruled on. Antennas tell of chips and cards by where they come to rest.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.capture import words
from controller.capture.errors import CaptureError
from controller.capture.reading import Said, told
from controller.configuration import profiles
from controller.core.errors import BadCommand
from controller.core.inputs import Command, Input
from controller.core.records import Record
from controller.core.sensing.whereabouts import Move, Whereabouts
from controller.core.setup import Setup
from controller.core.table import Table
from controller.faults import BadConfiguration
from drivers.readings import CardSeen, DeviceLost, DeviceUp, KeyPressed, KeyReleased, TagsSeen
from simulators.config import toml
from simulators.duties import TAGGED
from simulators.errors import ScriptError

MS = 1_000_000
PAUSE_MS = 1500
"""Keys further apart are no single entry, and moves no single movement."""
COMMIT = ("ENTER", "FOLD", "CHECK", "CALL", "SHOW", "DONE", "HAND")
"""Keys with which an entry is complete."""
OPENING = ("login", "open", "seat", "buyin", "button", "attest", "deck", "count")
"""What people say before the first hand is the state to begin from."""
CLOSING = ("close", "logout", "leave")
Step = dict[str, Any]


def _ended(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"result": {"seats": [{"seat": one["seat"], "net": one["net"]} for one in data["result"]["seats"]]}}


TELLING: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "incident.opened": lambda data: {"code": data["code"]},
    "breach.noted": lambda data: {"what": data["what"]},
    "device.fault": lambda data: {"device": data["device"], "cause": data["cause"]},
    "hand.closed": _ended,
}
"""Events that have to come out again, and what of them."""


@dataclass(slots=True)
class Recorded:
    """One run of a table, while its inputs are read."""

    setup: Setup
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    expects: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """What the table told that whoever plays it again must hear: events and what they say."""
    decks: list[list[str]] = field(default_factory=lambda: [[]])
    """The cards of each hand as they left the shoe."""
    people: dict[str, str] = field(default_factory=dict)
    seats: dict[int, int | None] = field(default_factory=dict)
    button: int = 1
    began: bool = False
    _ends: int = 0
    _keyed: int = 0
    _down: dict[str, int] = field(default_factory=dict)
    _lost: set[str] = field(default_factory=set)
    _incidents: dict[str, str] = field(default_factory=dict)
    _places: dict[str, str] = field(default_factory=dict)
    """Tag -> where it lay last."""
    _chips: dict[str, Counter[int]] = field(default_factory=dict)
    """What lay where before the first hand, by value."""
    _where: Whereabouts = field(init=False)
    _values: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._where = Whereabouts(self.setup.timing.debounce_ms * MS, lambda _tag, _place: 2 * PAUSE_MS * MS)
        self._values = {one.id: one.value for one in self.setup.chipset.denominations}

    def read(self, what: Input, records: Iterable[Record]) -> None:
        """The next input, and what it led to."""
        dealt: Record | None = None
        for record in records:
            if record.type in TELLING:
                match = TELLING[record.type](record.data)
                if match not in [known for event, known in self.expects if event == record.type]:
                    self.expects.append((record.type, match))
            if record.type == "incident.opened":
                self._incidents[record.data["incident"]] = record.data["code"]
                self._to_expect(f"incident.opened, code {record.data['code']}")
            elif record.type == "breach.noted":
                self._to_expect(f"breach.noted, {' '.join(record.data['rules']) or record.data['what']}")
            elif record.type == "card.dealt":
                dealt = record
        match what.what:
            case Command():
                self._said(what.what, what.at)
            case KeyPressed(key=key):
                self._key(key, what.at)
            case KeyReleased(key=key):
                self._released(key, what.at)
            case CardSeen():
                self._slid(what.what, dealt, what.at)
            case TagsSeen():
                self._inventory(what.what, what.at)
            case DeviceLost(device=device) if device not in self._lost:
                self._lost.add(device)
                self._step(what.at, do="device.unplug", device=device)
            case DeviceUp(device=device) if device in self._lost:
                self._lost.discard(device)
                self._step(what.at, do="device.plug", device=device)
        for move in self._where.tick(what.at):
            self._moved(move, what.at)

    def _to_expect(self, what: str) -> None:
        note = f"was seen, and has to be expected: {what}"
        if note not in self.notes:
            self.notes.append(note)

    def _step(self, at: int, **step: Any) -> None:
        gap = max(0, (at - (self._ends or at)) // MS)
        self.steps.append({**step, "gap_ms": gap})
        self._ends = at

    # ---------------------------------------------------------------- people

    def _said(self, command: Command, at: int) -> None:
        args = dict(command.args)
        if command.name == "login":
            self.people.setdefault(str(args.get("role", command.role)), str(args.get("staff", command.by)))
        if not self.began and command.name in OPENING:
            self._opening(command.name, args)
        elif command.name == "rule":
            code = self._incidents.get(str(args["incident"]), "?")
            ruled = {"do": "rule", "code": code, "ruling": args["ruling"], "who": command.by}
            self._step(at, **ruled, **({"reason": command.reason} if command.reason else {}))
        elif command.name == "login":
            self._step(at, do="login", who=str(args.get("staff", command.by)))
        elif command.name not in CLOSING:
            self._step(at, do="command", name=command.name, args=args, who=command.by)

    def _opening(self, name: str, args: Mapping[str, Any]) -> None:
        if name == "seat":
            self.seats[int(args["seat"])] = args.get("stack")
        elif name == "buyin":
            self.seats[int(args["seat"])] = (self.seats.get(int(args["seat"])) or 0) + int(args["amount"])
        elif args.get("button") is not None:
            self.button = int(args["button"])

    # ---------------------------------------------------------------- keys

    def _key(self, key: str, at: int) -> None:
        if key not in self._down:
            self._down[key] = at
        if key == "HAND":
            self._next_hand(at)
        last = self.steps[-1] if self.steps else {}
        goes_on = last.get("do") == "key" and last["keys"][-1] not in COMMIT and at - self._keyed < PAUSE_MS * MS
        if goes_on and key != "HAND":
            last["keys"].append(key)
            self._ends = at
        else:
            self._step(at, do="key", keys=[key])
        self._keyed = at

    def _released(self, key: str, at: int) -> None:
        held = (at - self._down.pop(key, at)) // MS
        if held >= self.setup.timing.undo_hold_ms and self.steps and self.steps[-1].get("do") == "key":
            self.steps[-1]["hold_ms"] = held

    def _next_hand(self, at: int) -> None:
        if self.began and self.decks[-1]:
            self.decks.append([])
            self._step(at, do="deck.shuffle", top=self.decks[-1])
        self.began = True

    # ---------------------------------------------------------------- cards

    def _slid(self, card: CardSeen, dealt: Record | None, at: int) -> None:
        self.began = True
        value = card.card or self.setup.deck.tags.get(card.tag or "")
        place = dealt.data["place"] if dealt is not None else "burn"
        step: Step = {"do": "card.slide", "to": f"seat:{dealt.data['seat']}" if dealt and place == "seat" else place}
        self._draw(value)
        if card.confidence < 100:
            step["confidence"] = card.confidence
        self._step(at, **step, **({} if value else {"unread": True}))

    def _draw(self, value: str | None) -> None:
        if value is not None and value in self.decks[-1]:
            self.notes.append(f"{value} came twice in one hand: the stub was shuffled, or the deck is fouled; write it")
            value = None
        self.decks[-1].append(value or "??")

    # ---------------------------------------------------------------- antennas

    def _inventory(self, seen: TagsSeen, at: int) -> None:
        place = self.setup.watched_by_readers.get((seen.device, seen.channel))
        if place is not None:
            known = [tag for tag in seen.tags if tag in self.setup.chipset.tags or tag in self.setup.deck.tags]
            self._where.inventory(place, known, at, complete=seen.complete)

    def _moved(self, move: Move, at: int) -> None:
        before, self._places[move.tag] = self._places.get(move.tag, ""), move.after or self._places.get(move.tag, "")
        card = self.setup.deck.tags.get(move.tag)
        if card is not None:
            self._card(card, before, move, at)
        elif move.after is None or before == move.after:
            return  # on its way
        elif not self.began:
            self._chips.setdefault(move.after, Counter())[self._worth(move.tag)] += 1
        elif before:
            self._chip(before, move.after, self._worth(move.tag), at)

    def _worth(self, tag: str) -> int:
        return self._values[self.setup.chipset.tags[tag]]

    def _card(self, card: str, before: str, move: Move, at: int) -> None:
        if move.after is None:
            self._places.pop(move.tag, None)
            if not (self.steps and self.steps[-1]["do"] == "cards.collect"):
                self._step(at, do="cards.collect")
        elif not before:
            self.began = True
            self._draw(card)
            self._step(at, do="card.slide", to=move.after)
        elif before != move.after:
            last = self.steps[-1]
            if last["do"] == "card.move" and (last["from"], last["to"]) == (before, move.after):
                last["count"] += 1
            else:
                self._step(at, **{"do": "card.move", "from": before, "to": move.after, "count": 1})

    def _chip(self, before: str, after: str, worth: int, at: int) -> None:
        last = self.steps[-1] if self.steps else {}
        same = last.get("do") == "chips.move" and (last["from"], last["to"]) == (before, after)
        if same and at - self._ends < PAUSE_MS * MS:
            last["chips"][str(worth)] = last["chips"].get(str(worth), 0) + 1
        else:
            self._step(at, **{"do": "chips.move", "from": before, "to": after, "chips": {str(worth): 1}})

    # ---------------------------------------------------------------- writing

    def text(self, name: str, *, expects: bool = False) -> str:
        """The scenario. Raises ``ScriptError`` for a table at which nobody sat down.

        With ``expects`` the trouble that the table told of, and how hands ended, has to come out again.
        """
        if len(self.seats) < 2:
            raise ScriptError(name, "capture", len(self.seats), "begin the capture before the players sit down")
        run = {
            "game": "holdem",
            "profile": self.setup.profile.name,
            "override": {"blinds": [self.setup.limits.small_blind, self.setup.limits.big_blind], **self._house()},
            "tables": [self.setup.kind],
            "clock": "virtual",
            "needs": ["devices"],
        }
        kinds = sorted(self._values.values())
        tray = self._chips.get("tray") or dict.fromkeys(kinds, TAGGED)
        start: Step = {"button": self.button, "people": self.people or {"dealer": "s-01"}}
        start["tray"] = {str(value): count for value, count in sorted(tray.items())}
        start["stacks"] = {str(seat): self._stack(seat, stack) for seat, stack in sorted(self.seats.items())}
        top = {"schema": 1, "id": f"recorded/{name}", "title": f"Recorded at {self.setup.site}/{self.setup.table}"}
        pace = {"gap_ms": 500, "slide_ms": 260, "put_ms": 600}
        parts = [toml({**top, "run": run, "start": start, "deck": {"top": self.decks[0]}, "pace": pace})]
        parts += [f"[[step]]\n{_inline(step)}" for step in self.steps]
        for event, match in self.expects if expects else ():
            parts.append(f"[[expect]]\n{_inline({'event': event, 'match': match})}")
        return "".join(f"# {note}\n" for note in self.notes) + "\n".join(parts)

    def _stack(self, seat: int, stack: int | None) -> Any:
        chips = self._chips.get(f"stack:{seat}")
        if chips:
            return {str(value): count for value, count in sorted(chips.items())}
        return "unknown" if stack is None else stack

    def _house(self) -> dict[str, Any]:
        """Overrides of the profile that are known to lead to the one that was played."""
        profile = self.setup.profile
        free = {"rake.rate": "0%"}
        for override in ({}, free, free | {"buy_in_min_bb": "none", "buy_in_max_bb": "none"}):
            try:
                if profiles.load(profile.name, override=override).sha256 == profile.sha256:
                    return dict(override)
            except BadConfiguration:
                continue
        self.notes.append(f"this table had settings of its own for {profile.name}: add them to run.override")
        return {"rake.rate": "0%"}


def heard_again(path: Path) -> str:
    """A capture of test mode as a scenario that expects what the table told then. Raises ``ScriptError``."""
    try:
        said = [one for one in told(path, None) if isinstance(one, Said)]
    except CaptureError as error:
        raise ScriptError(path, "capture", path.name, str(error)) from error
    return scenario_of(said, path, expects=True)


def scenario_of(said: Iterable[Said], path: Path, *, expects: bool = False) -> str:
    """The first run of a capture as a scenario. Raises ``ScriptError`` where it cannot be one.

    ``expects``: see ``Recorded.text``.
    """
    recorded: Recorded | None = None
    table: Table | None = None
    run = ""
    for one in said:
        if "origin" in one.what:
            if one.what["run"] == run:
                continue  # the same run goes on in another file
            if recorded is not None:
                break
            run = one.what["run"]
            setup = words.as_setup(one.what["origin"]["setup"])
            if setup.profile.game == "ultimate":
                raise ScriptError(path, "game", "ultimate", "only poker tables are written as scenarios")
            recorded, table = Recorded(setup), Table(setup)
        elif recorded is not None and table is not None and "kind" in one.what:
            what = words.as_input(one.what)
            recorded.read(what, _fed(table, what))
    if recorded is None:
        raise ScriptError(path, "capture", "", "holds no run of a table")
    return recorded.text(path.stem, expects=expects)


def _fed(table: Table, what: Input) -> list[Record]:
    try:
        return table.feed(what)
    except BadCommand:
        return []  # the person was told so


def _inline(step: Mapping[str, Any]) -> str:
    lines: Iterator[str] = (f"{key} = {_value(value)}\n" for key, value in step.items())
    return "".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return f"[{', '.join(map(_value, value))}]"
    return toml({"v": value}).removeprefix("v = ").rstrip("\n")
