"""A night of rehearsals and its budgets: what may go wrong over all hands, though each case passes.

``nightly.toml`` names the cases by globs beside it, how often each is played, and the budgets (scenarios.md
section 6). A case that is not the same every time is flaky and fails the night.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

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


def read(path: Path) -> Night:
    """Read a night. Raises ``ScriptError``, also where its globs find nothing."""
    top = strict.read(path)
    if top.take("schema", int) != 1:
        raise top.wrong("schema", top.data["schema"], "this rig reads schema 1")
    top.texts("rigs")
    found: list[Path] = []
    for glob in top.texts("cases"):
        files = sorted(file for file in path.parent.glob(glob) if file.suffix in (".toml", ".phh") and file != path)
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
    return Night(tuple(found), repeat, seed, limits, per_table)


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
    return [*flaky(cases), *_broken(night, [case for case in cases if case.outcome in ("passed", "failed")])]


def flaky(cases: Sequence[Case]) -> Iterator[str]:
    """Cases that did not end the same every time they were played, a line each."""
    outcomes: dict[str, Counter[str]] = {}
    for case in cases:
        outcomes.setdefault(case.name, Counter()).update([case.outcome])
    for name, seen in sorted(outcomes.items()):
        if len(seen) > 1:
            yield f"flaky: {name}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(seen.items()))


def _broken(night: Night, played: Sequence[Case]) -> Iterator[str]:
    sound = [case for case in played if not case.faulted]
    hands = sum(case.hands for case in sound)
    for budget, name in PER_1000.items():
        if budget in night.limits and hands:
            count = sum(getattr(case, name) for case in sound)
            yield from _above(night, budget, 1000 * count / hands, f"{count} in {hands} hands")
    for budget, name in TOTALS.items():
        if budget in night.limits:
            yield from _above(night, budget, sum(getattr(case, name) for case in sound), "")
    for table, most in sorted(night.keys.items()):
        keys = [case.keys / case.hands for case in sound if case.table == table and case.hands]
        if keys and median(keys) > most:
            yield f"keys_per_hand_p50.{table}: {median(keys):g}, allowed are {most}"
    waits = [case.added_ms / 1000 for case in sound if case.hands == 1]
    if "seconds_added_per_hand_p50" in night.limits and waits:
        yield from _above(night, "seconds_added_per_hand_p50", median(waits), "")
    for kb, hands_played in growth(played):
        yield from _above(night, MEMORY, kb, f"over {hands_played} hands in one process")
    struck = [case for case in played if case.faulted]
    yield from _above(night, "silently_wrong", sum(bool(case.wrong) and not case.incidents for case in struck), "")
    if struck:
        held = sum(bool(case.needless_holds) for case in struck)
        yield from _above(night, "held_that_need_not_be_pct", 100 * held / len(struck), f"{held} of {len(struck)}")


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


def _above(night: Night, budget: str, value: float, detail: str) -> Iterator[str]:
    limit = night.limits.get(budget)
    if limit is not None and value > limit:
        yield f"{budget}: {value:g}, allowed are {limit:g}" + (f" ({detail})" if detail else "")
