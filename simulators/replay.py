"""``feltsim replay``: play a capture's bytes into a daemon, byte for byte.

Without ``-c`` the devices of the capture are served, and one line says where. A line on standard input begins the run;
the devices are gone when it ends. Where the recorded daemon was started again there is a run for each start: the line
``turn`` comes to the next one, and a daemon that is started then finds the devices as that one did.
With ``-c TABLE.toml`` a daemon is started on that table in test mode, with the recorded devices in the place of its
own, and is told what people said then; it is killed, or stopped, and started again where the recorded one was. At the
end the counts of what it concluded are shown.

A capture that usbmon made of a real device replays too: ``--device NAME=BUS-DEVICE:DRIVER`` says which of its devices
is which of the table.

exit codes: 0 done; 2 an argument or a file cannot be used, or the table is another than that of the capture;
            3 the rig, or the daemon on it, failed
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from controller.capture.errors import CaptureError
from controller.capture.reading import Said, parts, told, torn
from controller.capture.wire import Passed
from controller.configuration import settings
from controller.errors import FeltError, LocalError
from controller.faults import BadConfiguration, Fault, read_toml
from controller.ledger.keys import load_auditor_key
from controller.ledger.reading import read_records
from drivers import catalog
from drivers.options import MS
from simulators.config import toml
from simulators.errors import RigError, ScriptError, SimulatorError
from simulators.process import DaemonProcess
from simulators.recording import devices_of, runs_of
from simulators.rigs import Host
from simulators.through.wires import last_row
from simulators.verdict import Exit

LINKS = {"keypad": "keyboard", "shoe": "bulk", "camera": "bulk"}
LEAST_SPEED, MOST_SPEED = 0.1, 1000
"""What ``feltd run --test-speed`` takes."""
MISTAKES = (CaptureError, ScriptError, LocalError, BadConfiguration)
"""Of whoever gave the command."""
SETTLE_S = 2.0
NEAR = 200 * MS
"""Who speaks so soon after a key has seen what the table made of it."""
PATIENCE_S = 30.0
QUIET_S = 0.15
"""All that was said has been understood when nothing new was written for so long."""


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="feltsim replay", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("capture", type=Path, metavar="FILE")
    parser.add_argument("--speed", type=float, default=1.0, metavar="X", help="so many times faster")
    parser.add_argument("-c", "--config", type=Path, metavar="TABLE", help="start a daemon on this table")
    parser.add_argument("--ledger", type=Path, metavar="NEW", help="with -c: keep the ledger in this new file")
    parser.add_argument(
        "--card-key", type=Path, metavar="KEY", help="the auditor's private key: opens a sealed capture"
    )
    parser.add_argument("--device", action="append", default=[], metavar="NAME=RECORDED:DRIVER")
    asked = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="feltsim-") as folder:
            return _replay(asked, Path(folder))
    except (FeltError, SimulatorError) as error:
        sys.stderr.write(f"{error}\n")
        return Exit.SCRIPT if isinstance(error, MISTAKES) else Exit.RIG


def _replay(asked: argparse.Namespace, folder: Path) -> int:
    named = _arguments(asked)
    auditor = load_auditor_key(asked.card_key) if asked.card_key else None
    for part in parts(asked.capture):
        torn(part)  # one that is empty or damaged is refused
    lines = list(told(asked.capture, auditor))
    known = devices_of(lines)
    for name, (recorded, driver) in named.items():
        if recorded not in known:
            raise _mistake("--device", f"{name}={recorded}:{driver}", f"the capture holds {', '.join(known) or 'none'}")
    named = named or _recorded(lines, known)
    if asked.config is not None:
        _same_devices(asked.config, named if asked.device else dict(_configured(lines)))
    specs = [_spec(name, recorded, driver, asked, folder) for name, (recorded, driver) in named.items()]
    with Host(specs, folder / "devices.sock") as host:
        if asked.config is None:
            sys.stdout.write(json.dumps({"ready": True, "devices": host.uris}) + "\n")
            sys.stdout.flush()
            for line in sys.stdin.buffer:
                _all(host, "turn" if line.strip() == b"turn" else "begin")
            return Exit.PASSED
        return _into_daemon(asked, folder, host, lines)


def _arguments(asked: argparse.Namespace) -> dict[str, tuple[str, str]]:
    """The devices that were named. Raises ``ScriptError`` for an argument that cannot be used."""
    if not LEAST_SPEED <= asked.speed <= MOST_SPEED:
        raise _mistake("--speed", asked.speed, f"so many times faster: from {LEAST_SPEED} to {MOST_SPEED}")
    if asked.ledger is not None:
        if asked.config is None:
            raise _mistake(
                "--ledger", str(asked.ledger), "is that of a daemon: name its table with -c, or leave it out"
            )
        if asked.ledger.exists() or not asked.ledger.resolve().parent.is_dir():
            raise _mistake("--ledger", str(asked.ledger), "name a new file in a folder that is there")
    named: dict[str, tuple[str, str]] = {}
    for text in asked.device:
        name, _, rest = text.partition("=")
        recorded, _, driver = rest.partition(":")
        if not (name and recorded and driver):
            raise _mistake("--device", text, "write NAME=RECORDED:DRIVER, for example keys0=1-7:keypad")
        if driver not in catalog.names():
            raise _mistake("--device", text, f"no driver {driver}: use {', '.join(catalog.names())}")
        if name in named:
            raise _mistake("--device", text, f"{name} is named twice")
        named[name] = (recorded, driver)
    return named


def _mistake(field: str, value: object, remedy: str) -> ScriptError:
    return ScriptError("arguments", field, value, remedy)


def _configured(lines: Sequence[Said | Passed]) -> Iterator[tuple[str, tuple[str, str]]]:
    """The devices of the recorded table, of all its runs; none where another program made the capture."""
    for one in lines:
        if isinstance(one, Said) and one.what.get("origin"):
            for device in one.what["origin"]["devices"]:
                yield device["name"], (device["name"], device["driver"])


def _recorded(lines: Sequence[Said | Passed], known: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    if found := {name: of for name, of in _configured(lines) if name in known}:
        return found
    held = ", ".join(known) or "none"
    raise _mistake("--device", "", f"the capture does not say which devices it has: name them; it holds {held}")


def _same_devices(config: Path, recorded: Mapping[str, tuple[str, str]]) -> None:
    """Every recorded device has its like on this table. Raises ``BadConfiguration`` naming those that have none."""
    devices = read_toml(config).get("devices", {})
    faults = []
    for name, (_, driver) in recorded.items():
        own = devices.get(name) if isinstance(devices, dict) else None
        has = own.get("driver", "") if isinstance(own, dict) else ""
        if has != driver:
            remedy = f"the capture is of a table whose {name} is {driver}: name the table that it was made on"
            faults.append(Fault(str(config), f"devices.{name}.driver", str(has) or "missing", remedy))
    if faults:
        raise BadConfiguration(faults)


def _spec(name: str, recorded: str, driver: str, asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    model = {
        "capture": str(asked.capture.resolve()),
        "device": recorded,
        "speed": asked.speed,
        "held": True,
    }
    if asked.card_key:
        model["card_key"] = str(asked.card_key.resolve())
    return {
        "name": name,
        "driver": "recording",
        "link": LINKS.get(driver, "pty"),
        "path": str(folder / name),
        "serial": name,
        "model": model,
    }


def _into_daemon(asked: argparse.Namespace, folder: Path, host: Host, lines: Sequence[Said | Passed]) -> int:
    ledger = asked.ledger or folder / "ledger"
    daemon = DaemonProcess(_table(asked.config, folder, host.uris, ledger), asked.speed)
    answered: Counter[bool] = Counter()
    runs = runs_of(lines)
    try:
        for number, run in enumerate(runs):
            if number:
                if any(_stopped(one) for one in runs[number - 1]):
                    _ended(daemon)
                else:
                    daemon.kill()
                _all(host, "turn")
            daemon.start()
            answered += _run(daemon, host, ledger, run, asked.speed)
            _settled(ledger, QUIET_S)
        time.sleep(SETTLE_S)
        _ended(daemon)
    finally:
        daemon.kill()
    counts = Counter(record.type for record in read_records(ledger))
    told_of = ", ".join(f"{count} x {kind}" for kind, count in sorted(counts.items()))
    sys.stdout.write(f"{answered.total()} commands, {answered[False]} refused\n{told_of}\n")
    return Exit.PASSED


def _run(daemon: DaemonProcess, host: Host, ledger: Path, run: Sequence[Said | Passed], speed: float) -> Counter[bool]:
    """One run: whether what people said was done. Devices have said all of theirs when it returns."""
    answered: Counter[bool] = Counter()
    asked = {one.device for one in run if isinstance(one, Passed) and not one.inward}
    start, began, last = time.monotonic(), run[0].at, 0
    _all(host, "begin")
    for one in run:
        if isinstance(one, Passed) and one.device not in asked:
            last = one.at
        elif isinstance(one, Said) and one.what.get("kind") == "Command":
            time.sleep(max(0.0, start + (one.at - began) / 1e9 / speed - time.monotonic()))
            if one.at - last < NEAR:
                _settled(ledger, QUIET_S)
            what = one.what["what"]
            who = {"by": what["by"], "role": what["role"], "reason": what["reason"]}
            answered[bool(daemon.ask(what["name"], what["args"], **who)["ok"])] += 1
    while any(host.do("state", name)["left"] for name in host.uris):
        time.sleep(0.01)
    # A key that was down, and what the table was waiting for, were so until then and no longer.
    time.sleep(max(0.0, start + (run[-1].at - began) / 1e9 / speed - time.monotonic()))
    return answered


def _stopped(one: Said | Passed) -> bool:
    """Whether it is the last word of a daemon that was stopped in order."""
    return isinstance(one, Said) and one.what.get("kind") == "Notice" and one.what["what"]["kind"] == "daemon.stopped"


def _settled(ledger: Path, quiet_s: float) -> None:
    """Wait until nothing more is written. Raises ``RigError`` for a table that never comes to rest."""
    deadline = time.monotonic() + PATIENCE_S
    row, since = -1, time.monotonic()
    while time.monotonic() - since < quiet_s:
        if (now := last_row(ledger)) != row:
            row, since = now, time.monotonic()
        if since > deadline:
            raise RigError(f"{ledger}: grows on although no device says anything")
        time.sleep(0.01)


def _all(host: Host, what: str) -> None:
    for name in host.uris:
        host.do(what, name)


def _ended(daemon: DaemonProcess) -> None:
    if (code := daemon.stop()) != 0:
        raise RigError(f"the daemon ended with {code}: {daemon.last_words()}")


def _table(config: Path, folder: Path, uris: Mapping[str, str], ledger: Path) -> Path:
    """A copy of the table's file: in test mode, without a broker, its devices where the recorded ones are."""
    table = read_toml(config)
    home = config.resolve().parent
    for name, uri in uris.items():
        device = table["devices"][name]
        device["uri"] = uri
        device.pop("expect", None)
    for part, keys in (("chips", ("file", "tags")), ("deck", ("file",)), ("access", ("staff",))):
        given = table.get(part, {})
        for key in keys:
            if isinstance(given, dict) and key in given:
                given[key] = str(home / str(given[key]))
    if str(table.get("profile", "")).endswith(".toml"):
        table["profile"] = str(home / table["profile"])
    for part in ("broker", "metrics"):
        table.pop(part, None)
    table |= {"test": True, "state_dir": str(folder), "socket": {"path": str(folder / "feltd.sock")}}
    table["ledger"] = {"file": str(ledger.resolve())}
    made = folder / "table.toml"
    made.write_text(toml(table), encoding="utf-8")
    if faults := settings.check(made):
        raise BadConfiguration(replace(one, file=str(config)) if one.file == str(made) else one for one in faults)
    return made
