"""The steps of a scenario in their order: when each happens, which happen at the same time, and which happen again."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulators.scripts import checkable, events
from simulators.scripts.accidents import Expand
from simulators.scripts.acts import Act
from simulators.scripts.felt import Felt
from simulators.scripts.strict import Section

MOST_TIMES = 1000
"""A step repeats others at most so often, and """
MOST_STEPS = 20_000
"""a scenario has at most so many steps after that: a bound, so that a typing error cannot play for ever."""


@dataclass(frozen=True, slots=True)
class Span:
    """A duration in ms, drawn from a triangle."""

    low: int
    mode: int
    high: int

    def draw(self, dice: random.Random) -> int:
        """One duration."""
        return round(dice.triangular(self.low, self.high, self.mode))


@dataclass(frozen=True, slots=True)
class When:
    """A step that waits for the product's answer."""

    event: str
    match: Mapping[str, Any]
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step. It starts ``gap`` after the end of the step before, or ``at_ms`` after the start of the run.

    ``beside`` is the step that it goes with: then it starts ``offset_ms`` after the start of that one.
    """

    id: str
    do: str
    line: int | None
    acts: tuple[Act, ...]
    gap: Span | None = None
    at_ms: int | None = None
    when: When | None = None
    beside: str = ""
    offset_ms: int = 0
    seat: int | None = None
    """The seat or box that the step is about, where it names one."""


def read_span(section: Section, key: str, default: Span | None) -> Span | None:
    """A number or ``{ min, mode, max }``; ``default`` when the key is not there. Raises ``ScriptError``."""
    value = section.take(key, (int, dict), None) if key in section else None
    if value is None:
        section.asked.add(key)
        return default
    if isinstance(value, int):
        value = dict.fromkeys(("min", "mode", "max"), value)
    numbers = [value[name] for name in ("min", "mode", "max") if isinstance(value.get(name), int)]
    if len(numbers) != 3 or len(value) != 3:
        raise section.wrong(key, value, "give a number of ms or { min, mode, max }")
    if not 0 <= numbers[0] <= numbers[1] <= numbers[2]:
        raise section.wrong(key, value, "min, mode and max must rise")
    return Span(*numbers)


def read_steps(sections: list[Section], felt: Felt, vocabulary: Mapping[str, Expand]) -> tuple[Step, ...]:
    """All steps in order; ``vocabulary`` says what each act is at this kind of table. Raises ``ScriptError``."""
    steps: list[Step] = []
    sources: list[tuple[str, Section]] = []
    """Every step so far by its own id, to be expanded anew where it is repeated."""
    for number, section in enumerate(sections, start=1):
        if section.data.get("do") == "repeat":
            again = _repeated(section, sources)
        else:
            again = [(_id(section, number), section)]
            sources += again
        for name, source in again:
            felt.step = number - 1
            step = _step(source, name, steps, felt, vocabulary)
            if any(step.id == other.id for other in steps):
                raise section.wrong("id", step.id, "another step has this id")
            steps.append(step)
        if len(steps) > MOST_STEPS:
            raise section.wrong("times", section.data.get("times"), f"a scenario has at most {MOST_STEPS} steps")
    return tuple(steps)


def groups(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps, together with those that go with them."""
    found: list[list[Step]] = []
    for step in steps:
        if step.beside:
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _id(section: Section, number: int) -> str:
    name: str = section.text("id", f"step-{number}")
    if "#" in name:
        raise section.wrong("id", name, "# is for steps that are repeated: deal#2")
    return name


def _repeated(section: Section, sources: Sequence[tuple[str, Section]]) -> list[tuple[str, Section]]:
    """``repeat``: the steps from one on, ``times`` more. They are called by their ids with #2, #3 ..."""
    section.choice("do", ("repeat",))
    section.asked.add("id")
    first, times = section.text("from"), section.number("times", 1, 1)
    section.done()
    names = [name for name, _ in sources]
    if first not in names:
        raise section.wrong("from", first, f"name the first of the steps before that are repeated: {', '.join(names)}")
    if times > MOST_TIMES:
        raise section.wrong("times", times, f"at most {MOST_TIMES}")
    round_ = sources[names.index(first) :]
    return [(f"{name}#{time}", source) for time in range(2, times + 2) for name, source in round_]


def _step(section: Section, name: str, before: Sequence[Step], felt: Felt, vocabulary: Mapping[str, Expand]) -> Step:
    do = section.choice("do", (*vocabulary, "repeat"))
    acts = tuple(vocabulary[do](section, felt))
    when = _when(section.section("when")) if "when" in section else None
    step = Step(
        id=name,
        do=do,
        line=section.line,
        acts=acts,
        gap=read_span(section, "gap_ms", None),
        at_ms=section.number("at_ms", None),
        when=when,
        beside=_beside(section, name, before),
        offset_ms=section.number("offset_ms", 0),
        seat=next((section.data[key] for key in ("seat", "box") if key in section), None),
    )
    section.asked.add("id")
    times = {"gap_ms": step.gap, "at_ms": step.at_ms, "when": when, "with": step.beside or None}
    given = [key for key, value in times.items() if value is not None]
    if len(given) > 1:
        raise section.wrong(given[1], section.data[given[1]], "a step has one of gap_ms, at_ms, when and with")
    if "offset_ms" in section and not step.beside:
        raise section.wrong("offset_ms", step.offset_ms, "it counts from the step that this one goes with")
    latest = max((one.at_ms for one in before if one.at_ms is not None), default=0)
    if step.at_ms is not None and step.at_ms < latest:
        raise section.wrong("at_ms", step.at_ms, f"never reached: a step before it begins {latest} ms after the start")
    section.done()
    return step


def _beside(section: Section, name: str, before: Sequence[Step]) -> str:
    """The step that this one goes with: the one right before, or one that others between them go with as well."""
    wanted: str = section.text("with", "")
    if not wanted:
        return ""
    if "#" in name:
        wanted = f"{wanted}#{name.rpartition('#')[2]}"
    group = groups(before)[-1] if before else []
    if not group or group[0].id != wanted:
        last = group[0].id if group else "none"
        raise section.wrong("with", section.data["with"], f"a step goes with one right before it: that is {last}")
    return wanted


def _when(section: Section) -> When:
    event = events.named(section)
    when = When(event, checkable.match(section, event), section.number("timeout_ms", 5000, 1))
    section.done()
    return when
