"""What a scenario expects: events that must come, events that must not, and the state at the end."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from controller.contract.catalogue import DATA
from simulators.layout import Kind
from simulators.scripts import checkable, events
from simulators.scripts.sequence import Step
from simulators.scripts.strict import Section, is_number

STATES = ("closed", "open_between_hands", "hand", "held")


@dataclass(frozen=True, slots=True)
class Expect:
    """An event that must be seen: at least once, or exactly ``count`` times.

    ``after`` is a step's id; ``within_ms`` counts from that step's end (without ``after`` from the last step before).
    ``order`` names other expectations whose first events must come in that order.
    """

    id: str
    line: int | None
    event: str
    match: Mapping[str, Any]
    after: str | None = None
    within_ms: int | None = None
    count: int | None = None
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Never:
    """An event that must not be seen, at all or between the starts of two steps."""

    line: int | None
    event: str
    match: Mapping[str, Any]
    between: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """How soon after the end of each step of one kind (``act``) an event must come, in ms of the table's time."""

    act: str
    event: str
    p50_ms: int | None
    p99_ms: int | None


@dataclass(frozen=True, slots=True)
class Final:
    """The state at the end. ``None`` where the scenario does not care.

    ``boxes`` are what each box has gained in all, ``tray`` the chips that lie in the tray, ``tray_delta`` what it has
    gained, ``meters`` fields of the last reading of the meters.
    """

    stacks: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    rake: int | None = None
    conserved: bool = False
    incidents_open: int | None = None
    sealed: tuple[str, ...] = ()
    house_net: int | None = None
    boxes: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    tray: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    tray_delta: int | None = None
    meters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    state: str | None = None
    latency: tuple[Latency, ...] = ()


def read_expectations(
    top: Section, performed: Sequence[Step], seats: Collection[int], table: Kind = "shoe"
) -> tuple[tuple[Expect, ...], tuple[Never, ...], Final]:
    """Read ``[[expect]]``, ``[[never]]`` and ``[final]``. Raises ``ScriptError`` for what can never be checked.

    With ``tables`` an expectation is one of those kinds of table only.
    """
    steps, acts = [step.id for step in performed], list(dict.fromkeys(step.do for step in performed))
    expects: list[Expect] = []
    elsewhere: list[str] = []
    for number, section in enumerate(top.sections("expect"), start=1):
        event = section.text("event", "" if "order" in section else "?")
        if event == "?" or (event and "order" in section):
            raise section.wrong("event", section.data.get("event"), "give an event, or an order of expectations")
        expect = Expect(
            id=section.text("id", f"expect-{number}"),
            line=section.line,
            event=events.known(section, "event", event) if event else "",
            match=checkable.match(section, event, absent=section.data.get("count") == 0, seats=seats),
            after=_known(section, "after", section.text("after", None), steps),
            within_ms=section.number("within_ms", None, 1),
            count=section.number("count", None),
            order=section.texts("order"),
        )
        if table not in section.texts("tables", (table,)):
            elsewhere.append(expect.id)
        section.done()
        expects.append(expect)
    ids = [expect.id for expect in expects]
    for section, expect in zip(top.sections("expect"), expects, strict=True):
        if ids.count(expect.id) > 1:
            raise section.wrong("id", expect.id, "another expectation has this id")
        for name in expect.order:
            _known(section, "order", name, ids)
    nevers = []
    for section in top.sections("never"):
        between = section.texts("between")
        if len(between) not in (0, 2):
            raise section.wrong("between", list(between), "name two steps")
        for name in between:
            _known(section, "between", name, steps)
        if between and steps.index(between[0]) >= steps.index(between[1]):
            raise section.wrong("between", list(between), "the second step must come after the first")
        pair = (between[0], between[1]) if between else None
        event = events.named(section)
        never = Never(section.line, event, checkable.match(section, event, absent=True, seats=seats), pair)
        if table in section.texts("tables", (table,)):
            nevers.append(never)
        section.done()
    here = tuple(expect for expect in expects if expect.id not in elsewhere)
    return here, tuple(nevers), _final(top.section("final"), seats, acts)


def _known(section: Section, key: str, name: str | None, among: Sequence[str]) -> str | None:
    if name is not None and name not in among:
        raise section.wrong(key, name, f"there is no such id; there are {', '.join(among)}")
    return name


def _final(section: Section, seats: Collection[int], acts: Sequence[str]) -> Final:
    stacks = section.section("stacks")
    section.asked.add("stacks")
    wanted = {int(seat): stacks.number(seat) for seat in stacks.data if is_number(seat)}
    stacks.done()
    meters = section.take("meters", dict, {})
    checkable.hold(section, "meters", meters, DATA["meter.read"], absent=True)
    if "ledger" in section:
        section.choice("ledger", ("verifies",))
    tray = section.take("tray", dict, {})
    delta = tray.get("delta")
    if ("delta" in tray) + bool(set(tray) - {"delta"}) > 1 or not all(isinstance(n, int) for n in tray.values()):
        raise section.wrong("tray", tray, "write { delta = -4500 }, or the chips that lie there: { 1000 = 20 }")
    final = Final(
        stacks=wanted,
        rake=section.number("rake", None),
        conserved=section.take("conserved", bool, False),
        incidents_open=section.number("incidents_open", None),
        sealed=checkable.cards(section, "sealed"),
        house_net=section.take("house_net", int, None),
        boxes=_by_number(section, "boxes", section.take("boxes", dict, {})),
        tray=_by_number(section, "tray", {value: count for value, count in tray.items() if value != "delta"}),
        tray_delta=delta,
        meters=meters,
        state=section.choice("state", STATES) if "state" in section else None,
        latency=_latency(section, acts),
    )
    for key, named in (("stacks", final.stacks), ("boxes", final.boxes)):
        for number in named:
            if number not in seats:
                raise section.wrong(f"{key}.{number}", named[number], f"nobody is there; {_among(seats)}")
    section.asked.add("state")
    section.done()
    return final


def _by_number(section: Section, key: str, given: Mapping[str, Any]) -> dict[int, int]:
    if not all(is_number(name) and isinstance(value, int) for name, value in given.items()):
        raise section.wrong(key, dict(given), "write whole numbers: { 1 = 2500, 2 = -1000 }")
    return {int(name): value for name, value in given.items()}


def _among(seats: Collection[int]) -> str:
    return f"there are {', '.join(map(str, sorted(seats)))}"


def _latency(section: Section, acts: Sequence[str]) -> tuple[Latency, ...]:
    """``latency``: one table, or a list of them."""
    given = section.take("latency", (dict, list), [])
    found = []
    for number, one in enumerate([given] if isinstance(given, dict) else given):
        name = f"{section.name}.latency" + (f"[{number}]" if isinstance(given, list) else "")
        if not isinstance(one, dict):
            raise section.wrong("latency", one, "write a table, or a list of them: { from = .., to = .., p99_ms = .. }")
        part = Section(section.path, one, name, section.lines)
        latency = Latency(
            part.choice("from", acts),
            events.named(part, "to"),
            part.number("p50_ms", None, 1),
            part.number("p99_ms", None, 1),
        )
        if latency.p50_ms is None and latency.p99_ms is None:
            raise section.wrong("latency", one, "give p50_ms, p99_ms, or both")
        part.done()
        found.append(latency)
    return tuple(found)
