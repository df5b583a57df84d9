"""What a scenario asks for that a way to rehearse, or a rig, has not got: known before anything moves.

``feltsim check`` says it with file, line, field, value and remedy; a rehearsal skips such a case with the same words.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from simulators import disk
from simulators.broker import mosquitto_program
from simulators.errors import RigError, ScriptError
from simulators.scripts import scenario
from simulators.scripts.acts import (
    FELT_ACTS,
    Act,
    CloneTags,
    DeviceAct,
    Flicker,
    Pause,
    Power,
    Press,
    SystemAct,
    Unreadable,
)
from simulators.scripts.scenario import NEEDS, Scenario
from simulators.verdict import Exit

if TYPE_CHECKING:
    from simulators.rig import Rig

HAS = {"facts": (), "virtual": ("devices",), "wires": NEEDS}
"""What a scenario may ask for in ``needs``, and which way to rehearse has it."""
WIRED = ("fault", "noise")
"""What happens to a link, and not to a plug."""
DEVICES = "there are no devices: rehearse through virtual or wires"


def lacks(script: Scenario, through: str, rig: "Rig | None" = None) -> Iterator[ScriptError]:
    """Everything in a scenario that cannot be done so, step by step."""
    path = script.path
    if script.run.clock == "virtual" and through == "wires":
        yield ScriptError(path, "run.clock", "virtual", "time of processes is real: rehearse through virtual")
    if through == "wires" and (least := _least_ms(script)) > 1000 * script.run.timeout_s * script.run.speed:
        remedy = f"its last step is never reached: the steps take {least // 1000} s at least"
        yield ScriptError(path, "run.timeout_s", script.run.timeout_s, remedy)
    for need in script.run.needs:
        if need not in HAS[through]:
            yield ScriptError(path, "run.needs", need, f"{through} has not got it: rehearse through wires")
    if script.killed and through == "facts":
        yield ScriptError(path, "sweep.kill_after", "every_step", f"there is nothing to kill, as {DEVICES}")
    for step in script.steps:
        if step.beside and through == "facts":
            yield ScriptError(path, f"{step.id}.with", step.beside, DEVICES, step.line)
        if step.beside and rig is not None and rig.kind == "felt":
            told = "a person does one thing after the other: rehearse it on a rig of kind wire"
            yield ScriptError(path, f"{step.id}.with", step.beside, told, step.line)
        for why in filter(None, (_lack(act, through, rig) for act in step.acts)):
            yield ScriptError(path, f"{step.id}.do", step.do, why, step.line)
            break


def _least_ms(script: Scenario) -> int:
    """So long the steps take at least, in the table's time, when nobody waits for anything."""
    total, gap = 0, script.pace["gap_ms"].low
    for step in script.steps:
        if step.at_ms is not None:
            total = max(total, step.at_ms)
        elif step.when is None and not step.beside:
            total += gap if step.gap is None else step.gap.low
        if not step.beside:
            total += sum(act.ms for act in step.acts if isinstance(act, Pause))
    return total


def _lack(act: Act, through: str, rig: "Rig | None") -> str:
    """Why this cannot be done; empty where it can."""
    if through == "facts":
        return DEVICES if isinstance(act, (*FELT_ACTS, DeviceAct, Power, Press, SystemAct)) else ""
    if through == "virtual":
        broker = isinstance(act, SystemAct) and act.what.startswith("broker.")
        return "there is no broker in this process: rehearse through wires" if broker else ""
    if rig is not None and rig.kind == "felt" and (why := _by_hand(act, rig)):
        return why
    match act:
        case DeviceAct(what="clock"):
            return "the clock of a machine is not the rig's to set: rehearse through virtual"
        case DeviceAct(device=device) if rig is not None and device not in {one["name"] for one in rig.devices}:
            return f"the rig has no device {device}: add it to [devices] of its file"
        case Power(name=name) if rig is not None and rig.kind == "wire" and name not in rig.power:
            return f"the rig has no relay for {name}: see [power] of its file"
        case SystemAct(what=what):
            return _system(what, rig)
    return ""


def _by_hand(act: Act, rig: "Rig") -> str:
    """Why neither a person nor a relay can do this; empty where one can."""
    if isinstance(act, Flicker):
        told = f"no relay couples the antenna of {act.place}: see [matrix] of its file"
        return "" if act.place in rig.matrix else told
    if isinstance(act, CloneTags | Unreadable):
        return "no person and no relay can make a tag do this: rehearse it on a rig of kind wire"
    if isinstance(act, DeviceAct) and act.what in WIRED:
        kind = act.args.get("kind", act.what)
        return f"no person can do {kind} to a device: rehearse it on a rig of kind wire"
    return ""


def _system(what: str, rig: "Rig | None") -> str:
    if what.startswith("disk."):
        if rig is None:
            return disk.refusal()
        return "" if rig.disk is not None else "the rig has no disk of its own for it: see dut.disk of its file"
    if what.startswith("broker."):
        if rig is not None:
            return "the rig only hears its broker, and did not start it: rehearse through wires"
        frozen = what == "broker.freeze" and not mosquitto_program()
        return "a broker within this process cannot be frozen: install mosquitto" if frozen else ""
    running = rig is not None and not rig.start
    return "the rig did not start this daemon: set dut.start of its file" if running else ""


def main(arguments: Sequence[str]) -> int:
    """The command: read scenarios, and say what is wrong with each case or cannot be done."""
    parser = argparse.ArgumentParser(prog="feltsim check", description=main.__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="scenario *.toml")
    parser.add_argument("--through", choices=tuple(HAS), help="also what cannot be done so")
    parser.add_argument("--rig", type=Path, metavar="RIG.toml", help="also what cannot be done on this rig")
    asked = parser.parse_args(arguments)
    try:
        rig = _rig(asked.rig) if asked.rig else None
    except ScriptError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.SCRIPT
    except RigError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.RIG
    through = "wires" if rig else asked.through
    wrong: dict[str, None] = dict.fromkeys(map(str, _unsound(rig))) if rig else {}
    sound = not wrong  # else it is not known what fits
    cases = 0
    for path in asked.files:
        try:
            for pick in scenario.cases(path):
                cases += 1
                script = scenario.load(path, pick)
                wrong |= dict.fromkeys(str(lack) for lack in (lacks(script, through, rig) if through else ()))
                wrong |= dict.fromkeys(map(str, _unfit(script, rig) if rig and sound else ()))
        except ScriptError as error:
            wrong[str(error)] = None
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    if not wrong:
        sys.stdout.write(f"{cases} cases are sound\n")
    return Exit.SCRIPT if wrong else Exit.PASSED


def _unsound(rig: "Rig") -> Iterator[ScriptError]:
    from simulators import rig as rigs  # noqa: PLC0415 - as below

    return rigs.unsound(rig)


def _unfit(script: Scenario, rig: "Rig") -> Iterator[ScriptError]:
    from simulators import fitting  # noqa: PLC0415 - as below
    from simulators.plan import of_scenario  # noqa: PLC0415

    shoe = script.run.shoe and script.table == "rfid"
    plan = replace(of_scenario(script), closed_cards=script.run.closed_cards, shoe=shoe)
    return fitting.unfit(script.path, plan, rig)


def _rig(path: Path) -> "Rig":
    from simulators import rig  # noqa: PLC0415 - the other ways need none

    return rig.read(path)
