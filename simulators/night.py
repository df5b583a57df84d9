"""A night of rehearsals and its budgets: what may go wrong over all hands, though each case passes.

``nightly.toml`` names the cases by globs beside it, how often each is played, and the budgets (scenarios.md
section 6). A case that is not the same every time is flaky and fails the night.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from simulators.cases import PLAYED
from simulators.scripts import strict
from simulators.scripts.strict import Section
from simulators.verdict import Case

PER_1000 = {
    "false_holds_per_1000_hands": "needless_holds",
    "false_breaches_per_1000_hands": "needless_breaches",
}
TOTALS = {"wrong_results": "wrong", "lost_or_changed_events": "changed", "leaks": "leaked"}
MEMORY = "memory_growth_kb_per_1000_hands"
LEAST_HANDS = 1000
"""Over fewer hands in one process, what an allocator keeps hides any growth."""


@dataclass(frozen=True, slots=True)
class Night:
    """One night as its file says it. ``limits`` are the budgets by name, ``keys`` those of keys by kind of table."""

    cases: tuple[Path, ...]
    repeat: int
    shuffle_seed: str
    limits: dict[str, float]
    keys: dict[str, int]
    rigs: tuple[Path, ...] = ()
    """The files of the rigs on which all cases are played; none where the command says through what."""


def read(path: Path) -> Night:
    """Read a night. Raises ``ScriptError``, also where its globs find nothing."""
    top = strict.read(path)
    if top.take("schema", int) != 1:
        raise top.wrong("schema", top.data["schema"], "this rig reads schema 1")
    rigs = tuple(_rig(top, name) for name in top.texts("rigs"))
    found: list[Path] = []
    for glob in top.texts("cases"):
        deep = f"{glob}/*" if glob.endswith("**") else glob  # all below it
        files = sorted(file for file in path.parent.glob(deep) if file.suffix in PLAYED and file != path)
        if not files:
            raise top.wrong("cases", glob, "no scenario and no recorded hand is there")
        found += [file for file in files if file not in found]
    repeat = top.number("repeat", 1, 1)
    seed = str(top.take("shuffle_seed", (str, int), ""))
    budget = top.section("budget")
    limits = _limits(budget, (*PER_1000, *TOTALS, "seconds_added_per_hand_p50", MEMORY))
    keys = budget.section("keys_per_hand_p50")
    per_table = {table: keys.number(table) for table in ("shoe", "rfid") if table in keys}
    keys.done()
    budget.done()
    faulted = top.section("faulted")
    limits |= _limits(faulted, ("silently_wrong", "held_that_need_not_be_pct"))
    faulted.done()
    top.done()
    return Night(tuple(found), repeat, _drawn(seed), limits, per_table, rigs)


def _drawn(seed: str) -> str:
    """``date``: another order every day, and the same again for who gives the day."""
    return datetime.now(UTC).date().isoformat() if seed == "date" else seed


def _rig(top: Section, name: str) -> Path:
    """The file of a rig by its name, beside the night's. Raises ``ScriptError``."""
    for file in (f"{name}.toml", f"{name}/rig.toml", f"rigs/{name}.toml", f"rigs/{name}/rig.toml", name):
        if (path := top.path.parent / file).is_file():
            return path
    raise top.wrong("rigs", name, f"there is no {name}.toml and no {name}/rig.toml beside it or in rigs/")


def _limits(section: Section, names: Sequence[str]) -> dict[str, float]:
    return {name: float(section.take(name, (int, float))) for name in names if name in section}


def shuffled(night: Night, cases: int) -> list[int]:
    """The order in which so many cases are played, each as often as the night says."""
    order = [number for number in range(cases) for _ in range(night.repeat)]
    if night.shuffle_seed:
        random.Random(night.shuffle_seed).shuffle(order)
    return order


def over(night: Night, cases: Sequence[Case]) -> list[str]:
    """The budgets that were broken, a line each; flaky cases first."""
    return [*flaky(cases), *(str(budget) for budget in budgets(night, cases) if budget.broken)]


def flaky(cases: Sequence[Case]) -> Iterator[str]:
    """Cases that did not end the same every time they were played, a line each."""
    outcomes: dict[str, Counter[str]] = {}
    for case in cases:
        outcomes.setdefault(case.name, Counter()).update([case.outcome])
    for name, seen in sorted(outcomes.items()):
        if len(seen) > 1:
            yield f"flaky: {name}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(seen.items()))


@dataclass(frozen=True, slots=True)
class Budget:
    """One budget: what was measured and what is allowed. ``detail`` says how the figure came about."""

    name: str
    value: float
    limit: float
    detail: str = ""

    @property
    def broken(self) -> bool:
        """Whether more was spent than is allowed."""
        return self.value > self.limit

    def __str__(self) -> str:
        return f"{self.name}: {self.value:g}, allowed are {self.limit:g}" + (f" ({self.detail})" if self.detail else "")

    def as_json(self) -> dict[str, Any]:
        """For a report."""
        return {"budget": self.name, "value": self.value, "limit": self.limit, "kept": not self.broken}


def budgets(night: Night, cases: Sequence[Case]) -> list[Budget]:
    """Every budget of the night that something was measured for."""
    played = [case for case in cases if case.outcome in ("passed", "failed")]
    return [
        Budget(name, value, night.limits[name], detail)
        for name, value, detail in _spent(played)
        if name in night.limits
    ] + list(_keys(night, [case for case in played if not case.faulted]))


def _spent(played: Sequence[Case]) -> Iterator[tuple[str, float, str]]:
    """What was measured, by the name of its budget, and how it came about."""
    sound = [case for case in played if not case.faulted]
    hands = sum(case.hands for case in sound)
    for budget, name in PER_1000.items() if hands else ():
        count = sum(getattr(case, name) for case in sound)
        yield budget, 1000 * count / hands, f"{count} in {hands} hands"
    for budget, name in TOTALS.items():
        yield budget, sum(getattr(case, name) for case in sound), ""
    waits = [case.added_ms / 1000 for case in sound if case.hands == 1]
    if waits:
        yield "seconds_added_per_hand_p50", median(waits), ""
    for kb, hands_played in growth(played):
        yield MEMORY, kb, f"over {hands_played} hands in one process"
    struck = [case for case in played if case.faulted]
    yield "silently_wrong", sum(bool(case.wrong) and not case.incidents for case in struck), ""
    if struck:
        held = sum(bool(case.needless_holds) for case in struck)
        yield "held_that_need_not_be_pct", 100 * held / len(struck), f"{held} of {len(struck)}"


def _keys(night: Night, sound: Sequence[Case]) -> Iterator[Budget]:
    for table, most in sorted(night.keys.items()):
        keys = [case.keys / case.hands for case in sound if case.table == table and case.hands]
        if keys:
            yield Budget(f"keys_per_hand_p50.{table}", median(keys), most)


def growth(played: Sequence[Case]) -> Iterator[tuple[float, int]]:
    """Of each process that played enough hands: by how many kB its memory grew per 1000 hands, and over how many.

    The first quarter of the hands fills caches and counts for nothing.
    """
    by_process: dict[int, list[Case]] = {}
    for case in played:
        if case.memory_kb:
            by_process.setdefault(case.process, []).append(case)
    for cases in by_process.values():
        total = sum(case.hands for case in cases)
        if total < LEAST_HANDS:
            continue
        quarters: list[list[int]] = [[], [], [], []]
        hands = 0
        for case in cases:
            quarters[min(3, 4 * hands // total)].append(case.memory_kb)
            hands += case.hands
        if quarters[1] and quarters[3]:
            yield (median(quarters[3]) - median(quarters[1])) * 1000 / (total / 2), total


def unmeasured(night: Night, cases: Sequence[Case]) -> list[str]:
    """Budgets that these cases could not be held to, with the reason."""
    if MEMORY not in night.limits or any(True for _ in growth(cases)):
        return []
    most = sum(case.hands for case in cases)
    return [f"{MEMORY}: not measured: {most} hands were played, {LEAST_HANDS} in one process are needed"]
