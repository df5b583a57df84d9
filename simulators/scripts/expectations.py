"""What a scenario expects: events that must come, events that must not, and the state at the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from simulators.layout import Kind
from simulators.scripts.strict import Section

LATER = "not checked by this rig yet: leave it out"


@dataclass(frozen=True, slots=True)
class Expect:
    """An event that must be seen: at least once, or exactly ``count`` times.

    ``after`` is a step's id; ``within_ms`` counts from that step's end (without ``after`` from the start).
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
class Final:
    """The state at the end. ``None`` where the scenario does not care."""

    stacks: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    rake: int | None = None
    conserved: bool = False
    incidents_open: int | None = None
    sealed: tuple[str, ...] = ()


def read_expectations(
    top: Section, steps: Sequence[str], table: Kind = "shoe"
) -> tuple[tuple[Expect, ...], tuple[Never, ...], Final]:
    """Read ``[[expect]]``, ``[[never]]`` and ``[final]``. Raises ``ScriptError`` for what can never be checked.

    With ``tables`` an expectation is one of those kinds of table only.
    """
    expects: list[Expect] = []
    elsewhere: list[str] = []
    for number, section in enumerate(top.sections("expect"), start=1):
        expect = Expect(
            id=section.text("id", f"expect-{number}"),
            line=section.line,
            event=section.text("event", "" if "order" in section else "?"),
            match=section.take("match", dict, {}),
            after=_known(section, "after", section.text("after", None), steps),
            within_ms=section.number("within_ms", None, 1),
            count=section.number("count", None),
            order=section.texts("order"),
        )
        if expect.event == "?" or (expect.event and expect.order):
            raise section.wrong("event", section.data.get("event"), "give an event, or an order of expectations")
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
        never = Never(section.line, section.text("event"), section.take("match", dict, {}), pair)
        if table in section.texts("tables", (table,)):
            nevers.append(never)
        section.done()
    here = tuple(expect for expect in expects if expect.id not in elsewhere)
    return here, tuple(nevers), _final(top.section("final"))


def _known(section: Section, key: str, name: str | None, among: Sequence[str]) -> str | None:
    if name is not None and name not in among:
        raise section.wrong(key, name, f"there is no such id; there are {', '.join(among)}")
    return name


def _final(section: Section) -> Final:
    section.refuse(dict.fromkeys(("boxes", "tray", "meters", "latency", "state", "house_net"), LATER))
    stacks = section.section("stacks")
    wanted = {int(seat): stacks.number(seat) for seat in stacks.data if seat.isdigit()}
    stacks.done()
    if "ledger" in section:
        section.choice("ledger", ("verifies",))
    final = Final(
        stacks=wanted,
        rake=section.number("rake", None),
        conserved=section.take("conserved", bool, False),
        incidents_open=section.number("incidents_open", None),
        sealed=section.texts("sealed"),
    )
    section.done()
    return final
