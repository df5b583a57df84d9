"""Reports of a rehearsal: a table and a summary for people, one JSON document for programs."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from simulators import coverage, faulted
from simulators.verdict import Broken, Case, Exit, unstruck

ALL_BELOW = 40
"""Up to so many cases the table has a line for each; above, only for those with something to say."""


def tracked(cases: Iterable[Case], total: int, *, quiet: bool = False) -> Iterator[Case]:
    """Pass cases on with a progress bar on a terminal, without a word into a pipe."""
    if quiet or not sys.stderr.isatty():
        yield from cases
        return
    from rich.console import Console  # noqa: PLC0415 - an extra: rehearsals in a pipe do without
    from rich.progress import track  # noqa: PLC0415

    yield from track(cases, "rehearsing", total, console=Console(stderr=True), transient=True)


def as_json(cases: Sequence[Case], out: TextIO, code: Exit, broken: Broken | None = None) -> None:
    """Everything, as one document."""
    document = {
        "exit": int(code),
        "outcomes": dict(Counter(case.outcome for case in cases)),
        "breaches": dict(_total(case.breaches for case in cases)),
        "incidents": dict(_total(case.incidents for case in cases)),
        "unstruck": unstruck(cases),
        "cases": [case.as_json() for case in cases],
    }
    if faulted.struck_of(cases):
        document["faults"] = faulted.as_json(cases)
    if broken:
        document["broken_off"] = broken.as_json()
    json.dump(document, out, indent=1)
    out.write("\n")


def as_table(cases: Sequence[Case], out: TextIO, broken: Broken | None = None) -> None:
    """A line a case and what there is to say, then the summary."""
    for case in cases:
        if len(cases) <= ALL_BELOW or case.lines or case.notes or case.breaches or case.incidents:
            said = [f"{n} x {code}" if n > 1 else code for code, n in sorted((case.breaches + case.incidents).items())]
            tail = "; ".join([*case.lines, *said, *case.notes])
            out.write(f"{case.outcome:8} {case.name:40} {case.ms:6} ms  {tail}".rstrip() + "\n")
            if case.outcome == "failed":
                out.write(f"{'':9}again: {case.command}\n")
    out.write("\n")
    out.writelines(line + "\n" for line in summary(cases))
    if broken:
        out.write(f"{broken}\n")


def summary(cases: Sequence[Case]) -> Iterator[str]:
    """What it comes to."""
    outcomes = Counter(case.outcome for case in cases)
    parts = [f"{outcomes[name]} {name}" for name in ("passed", "failed", "skipped", "wrong", "error") if outcomes[name]]
    hands = sum(case.hands for case in cases)
    yield f"{len(cases)} cases, {hands} hands: {', '.join(parts) or 'nothing ran'}"
    for title, counters in (
        ("breaches", [case.breaches for case in cases]),
        ("incidents", [case.incidents for case in cases]),
    ):
        total = _total(counters)
        if total:
            in_cases = {code: sum(1 for counter in counters if counter[code]) for code in total}
            yield f"{title}: " + ", ".join(
                f"{code} in {in_cases[code]} hands ({n} times)" for code, n in sorted(total.items())
            )
    sound = unstruck(cases)
    if sound["hands"]:
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sound.items() if name != "hands")
        yield f"{sound['hands']} hands without a fault: {told}"
    yield from faulted.summary(cases)
    yield coverage.summary(cases)
    apart = [case.name for case in cases if not case.compared]
    if apart:
        yield f"not compared, because the rules refused what the record says: {', '.join(apart)}"


def _total(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total
