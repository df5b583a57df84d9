"""``feltsim expand``: the primitive acts of a scenario, with the times they are planned at."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from simulators.errors import ScriptError
from simulators.plan import of_scenario
from simulators.scripts import scenario
from simulators.scripts.scenario import Scenario
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
    now, lines = 0, []
    for step in script.steps:
        if step.at_ms is not None:
            now = max(now, step.at_ms)
        elif step.when is not None:
            lines.append(f"{now:8} {step.id}: waits for {step.when.event}, at most {step.when.timeout_ms} ms")
        else:
            now += step.gap.draw(dealer.dice) if step.gap else dealer.pause()
        for act in step.acts:
            deeds = list(dealer.deeds(act))
            if not deeds:
                lines.append(f"{now:8} {step.id}: {_told(act)}")
            for timed in deeds:
                now += timed.after_ms
                lines.append(f"{now:8} {step.id}: {_told(timed.deed)}")
    return lines


def _told(thing: Any) -> str:
    listed = ", ".join(f"{field.name}={getattr(thing, field.name)!r}" for field in fields(thing))
    return f"{type(thing).__name__}({listed})"
