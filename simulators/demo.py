"""``feltsim demo``: a few hands through simulated devices, the real daemon and a broker, told as a story."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from controller.errors import FeltError
from simulators.broker import mosquitto_program
from simulators.errors import RigError, ScriptError, SimulatorError
from simulators.plan import of_scenario
from simulators.playing import ScenarioRun
from simulators.scripts import scenario
from simulators.telling import Teller
from simulators.through.wires import WiresStage
from simulators.verdict import Case, Exit

HANDS = ("evening", "million-dollar-pot")
"""What is played, in this order: scenarios of their own beside the code that reads them."""

Say = Callable[[str], Any]


def main(arguments: Sequence[str]) -> int:
    """Play, tell, verify. 0 when all of it was right."""
    parser = argparse.ArgumentParser(prog="feltsim demo", description=__doc__)
    parser.add_argument("--speed", type=int, default=0, help="times faster than real (default: the scenario's)")
    parser.add_argument("--keep", type=Path, help="keep the ledgers in this folder; it is made where it is missing")
    asked = parser.parse_args(arguments)
    if asked.keep:
        try:
            asked.keep.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            print(f"--keep: {asked.keep}: this folder cannot be made ({error.strerror}): name another", file=sys.stderr)
            return Exit.SCRIPT
    began = time.monotonic()
    scripts = [scenario.load(folder() / f"{name}.toml") for name in HANDS]
    total = sum(len(script.steps) for script in scripts)
    sound = True
    try:
        with _telling(total) as (say, advance):
            broker = "mosquitto" if mosquitto_program() else "a broker in this process"
            say(f"A shoe and a keypad on USB/IP, a chip tray on a pty, the daemon, and {broker}: all on this machine.")
            for script in scripts:
                sound = _play(script, asked.speed, asked.keep, say, advance) and sound
    except ScriptError as error:
        print(error, file=sys.stderr)
        return Exit.SCRIPT
    except RigError as error:
        print(error, file=sys.stderr)
        return Exit.RIG
    except (SimulatorError, FeltError) as error:
        print(error, file=sys.stderr)
        return Exit.PRODUCT
    print(f"\n{'All of it was right' if sound else 'Something was wrong'}, in {time.monotonic() - began:.0f} s.")
    return Exit.PASSED if sound else Exit.PRODUCT


def folder() -> Path:
    """Where the demo's scenarios are installed."""
    return Path(str(files("simulators"))) / "scripts" / "demo"


def _play(script: scenario.Scenario, speed: int, keep: Path | None, say: Say, advance: Callable[[], Any]) -> bool:
    """Play one scenario, telling what is published as it comes."""
    say(f"\n=== {script.title} ===\n")
    plan = of_scenario(script)
    teller = Teller()
    case = Case(script.id, "passed")
    told = 0

    def tell(stage: WiresStage) -> None:
        nonlocal told
        seen = stage.seen
        for event in seen[told:]:
            if line := teller.tell(event):
                say(line)
        told = len(seen)

    with tempfile.TemporaryDirectory(prefix="feltsim-") as temporary:
        ledger = keep / f"{script.path.stem}.ledger" if keep else None
        stage = WiresStage(plan, Path(temporary), speed or script.run.speed, ledger)
        try:
            run = ScenarioRun(script, plan, stage)

            def progress(_step: object) -> None:
                tell(stage)
                advance()

            run.play(case, progress)
            tell(stage)
        finally:
            stage.close()
    return _verdict(case, say)


def _verdict(case: Case, say: Say) -> bool:
    if case.lines:
        say("\nNot as expected:")
        for line in case.lines:
            say(f"  {line}")
        return False
    say(f"\nVerified: {case.events} events of {case.hands} hand{'s' if case.hands > 1 else ''}.")
    say("Every one was delivered byte for byte, the ledger's chains are whole and signed, every commitment")
    say("matches the card that was shown, and no card that stayed closed is in any event.")
    return True


@contextmanager
def _telling(total: int) -> Iterator[tuple[Say, Callable[[], Any]]]:
    """How to say a line, and how to show that a step is done: a bar on a terminal, nothing but lines in a pipe."""
    if not sys.stdout.isatty():
        yield (lambda line: print(line, flush=True)), lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415 - for a terminal

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task("the dealer's acts", total=total)
        yield (lambda line: bar.console.print(line, markup=False, highlight=False)), lambda: bar.advance(task)
