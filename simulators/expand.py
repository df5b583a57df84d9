"""``feltsim expand``: the primitive acts of a scenario, with the times they are planned at."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from simulators.errors import ScriptError
from simulators.plan import of_scenario
from simulators.scripts import scenario
from simulators.scripts.acts import Order, Rule
from simulators.scripts.scenario import Scenario
from simulators.scripts.sequence import Step, groups
from simulators.through.moments import Hands, of
from simulators.verdict import Exit


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="feltsim expand", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    asked = parser.parse_args(arguments)
    try:
        for path in asked.files:
            for pick in scenario.cases(path):
                sys.stdout.write(f"{path.stem}{pick.label}\n")
                sys.stdout.writelines(f"{line}\n" for line in expanded(scenario.load(path, pick)))
    except ScriptError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.SCRIPT
    return Exit.PASSED


def expanded(script: Scenario) -> list[str]:
    """A line for each thing a hand does: ms since the start, the step, the deed. Times are those drawn by the seed."""
    plan = of_scenario(script)
    dealer = plan.dealer()
    now, lines = 0, list[str]()
    for group in groups(script.steps):
        first = group[0]
        if first.at_ms is not None:
            now = max(now, first.at_ms)
        elif first.when is not None:
            lines.append(f"{now:8} {first.id}: waits for {first.when.event}, at most {first.when.timeout_ms} ms")
        else:
            now += first.gap.draw(dealer.dice) if first.gap else dealer.pause()
        deeds = [deed for step in group for deed in _deeds(step, dealer, now + step.offset_ms)]
        lines += [f"{at:8} {told}" for at, told in sorted(deeds, key=lambda deed: deed[0])]
        now = max((at for at, _ in deeds), default=now)
    return lines


def _deeds(step: Step, dealer: Hands, begins: int) -> Iterator[tuple[int, str]]:
    """What is done in one step, and when."""
    at = begins
    for act in step.acts:
        done = [then for then in of(act, dealer) if not isinstance(then.what, Order | Rule)]
        if not done:
            yield at, f"{step.id}: {_told(act)}"
        for then in done:
            at += then.after_ms
            yield at, f"{step.id}: {_told(then.what) if then.what is not None else _told(act)}"


def _told(thing: Any) -> str:
    listed = ", ".join(f"{field.name}={getattr(thing, field.name)!r}" for field in fields(thing))
    return f"{type(thing).__name__}({listed})"
