"""``feltsim capture``: make a capture, look into one, open a sealed one.

feltsim capture FILE                              what is in it
feltsim capture FILE --open PLAIN --card-key KEY  open a sealed one, for Wireshark
feltsim capture FILE --play SCENARIO              play a scenario over wires and write the capture
feltsim capture FILE --as-scenario SCENARIO       write what hands did as a scenario; what to expect, the author adds

exit codes: 0 done; 1 what was played went otherwise; 2 an argument or a file cannot be used; 3 the rig failed;
            6 done as far as the file is whole: it is cut
"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from controller.capture.errors import CaptureError
from controller.capture.older import NO_CAPTURE, begins_as_capture
from controller.capture.reading import Said, parts, told, torn
from controller.capture.sealedfile import is_sealed, opened
from controller.errors import FeltError, LocalError
from controller.ledger.keys import load_auditor_key
from simulators.errors import ScriptError, SimulatorError
from simulators.plan import of_scenario
from simulators.playing import ScenarioRun
from simulators.recording import devices_of
from simulators.scripts import scenario
from simulators.scripts.recorded import scenario_of
from simulators.through.wires import WiresStage
from simulators.verdict import Case, Exit

CUT = Exit.PARTLY
"""As of a rehearsal that was broken off: nothing was wrong in what was read, and the rest is missing."""


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="feltsim capture", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("capture", type=Path, metavar="FILE")
    parser.add_argument("--card-key", type=Path, metavar="KEY", help="the auditor's private key")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--open", type=Path, metavar="PLAIN", help="write the sealed capture's content here")
    what.add_argument("--play", type=Path, metavar="SCENARIO", help="play this scenario over wires")
    what.add_argument("--as-scenario", type=Path, metavar="SCENARIO", help="write the acts of its first run here")
    asked = parser.parse_args(arguments)
    try:
        if asked.play:
            return _play(asked.play, asked.capture)
        return _read(asked)
    except (FeltError, SimulatorError) as error:
        sys.stderr.write(f"{error}\n")
        return Exit.SCRIPT if isinstance(error, ScriptError | CaptureError | LocalError) else Exit.RIG


def _read(asked: argparse.Namespace) -> int:
    """Do what was asked as far as the files are whole, and say where one is not."""
    cut = {part: left for part in parts(asked.capture) if (left := torn(part))}
    if asked.open:
        _open(asked.capture, asked.open, asked.card_key)
    elif asked.as_scenario:
        _as_scenario(asked.capture, asked.as_scenario, asked.card_key)
    else:
        _show(asked.capture, asked.card_key)
    for part, left in cut.items():
        remedy = "what was to follow is missing; use the file as it was written, or know that a crash tore it off"
        sys.stderr.write(f"{part}: is cut: its last {left} bytes are no whole block: {remedy}\n")
    return CUT if cut else Exit.PASSED


def _play(path: Path, capture: Path) -> int:
    if capture.exists():
        if not capture.is_file() or not begins_as_capture(capture):
            raise CaptureError(capture, f"{NO_CAPTURE}; it was left as it is")
    else:
        _new("FILE", capture)
    script = scenario.load(path)
    case = Case(script.id, "passed")
    with tempfile.TemporaryDirectory(prefix="feltsim-") as folder:
        stage = WiresStage(of_scenario(script), Path(folder), script.run.speed)
        try:
            ScenarioRun(script, stage.plan, stage).play(case)
        finally:
            stage.close()
            if stage.capture.exists():
                shutil.copyfile(stage.capture, capture)
    sys.stdout.writelines(f"{line}\n" for line in case.lines)
    return Exit.PRODUCT if case.lines else Exit.PASSED


def _open(sealed: Path, plain: Path, card_key: Path | None) -> None:
    if card_key is None:
        raise ScriptError("arguments", "--card-key", "", "name the auditor's private key")
    _new("--open", plain)
    key = load_auditor_key(card_key)
    for part in parts(sealed):
        if not is_sealed(part):
            raise CaptureError(part, "is not sealed: it can be read as it is")
    try:
        with plain.open("xb") as file:
            plain.chmod(0o600)
            for part in parts(sealed):
                file.writelines(opened(part, key))
    except CaptureError:
        plain.unlink()
        raise


def _as_scenario(capture: Path, script: Path, card_key: Path | None) -> None:
    _new("--as-scenario", script)
    said = told(capture, load_auditor_key(card_key) if card_key else None)
    text = scenario_of((one for one in said if isinstance(one, Said)), capture)
    script.write_text(text, encoding="utf-8")


def _new(field: str, path: Path) -> None:
    if path.exists():
        raise ScriptError("arguments", field, str(path), "is there already; name a new file")
    if not path.resolve().parent.is_dir():
        raise ScriptError("arguments", field, str(path), "there is no such folder; make it, or name another file")


def _show(path: Path, card_key: Path | None) -> None:
    lines = list(told(path, load_auditor_key(card_key) if card_key else None))
    said = [one.what for one in lines if isinstance(one, Said)]
    for one in said:
        if one.get("origin"):
            origin = one["origin"]
            where = f"{origin['setup']['site']}/{origin['setup']['table']}"
            sys.stdout.write(f"run {one['run']} of {where}, ledger {origin['ledger']} from row {origin['row'] + 1}\n")
            for device in origin["devices"]:
                sys.stdout.write(f"  {device['name']}: {device['driver']} at {device['uri']}\n")
    kinds = Counter(one["kind"] for one in said if "kind" in one)
    sys.stdout.write(f"inputs: {', '.join(f'{n} x {kind}' for kind, n in kinds.most_common()) or 'none'}\n")
    packets = devices_of(lines)
    sys.stdout.write(f"packets: {', '.join(f'{name} {count}' for name, count in packets.items()) or 'none'}\n")
