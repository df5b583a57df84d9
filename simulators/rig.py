"""Rig files: where the devices of a rehearsal are, which daemon is under test, and what is checked before the night.

A rig of kind ``sim`` needs no file. With ``wire`` the simulated devices stand on real ports, or on ports of this
machine, and the daemon is one that runs already, or that the rig starts from its own configuration.
"""

import shlex
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from controller import client
from controller.configuration.settings import load
from controller.contract.integrity import key_id
from controller.contract.keyfile import TEST_KEY
from controller.contract.topics import Source, Topics
from controller.core.setup import Setup
from controller.faults import BadConfiguration, read_toml
from controller.ledger.errors import KeyFileError
from controller.ledger.keys import load_verify_key
from simulators import brokerat
from simulators import reach as reaches
from simulators.brokerat import BrokerAt
from simulators.errors import RigError, ScriptError
from simulators.host import MODELS, PRODUCTS
from simulators.reach import Reach
from simulators.realports import is_port
from simulators.relays import channels
from simulators.rigs import Host
from simulators.scripts import strict
from simulators.scripts.strict import Section

KINDS = ("sim", "wire", "felt")
MB = 1 << 20
LEAST_FREE_MB = 512
ACTS = 10
"""So often each device is asked to measure how long an act takes."""


@dataclass(frozen=True, slots=True)
class Dut:
    """What the rig must know of the table under test. Paths are those of its machine."""

    site: str
    table: str
    test: bool
    profile: str
    devices: Mapping[str, str]
    """Its devices, with their drivers."""
    ledger: Path
    socket: Path
    places: frozenset[str] = frozenset()
    """Where antennas of its devices are."""
    metrics: int = 0
    """The port of its numbers on its machine; 0 where it serves none."""
    kind: str = "shoe"
    seats: int = 10
    closed_cards: str = "read"
    channels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By device, which channel watches which place."""
    setup: Setup | None = None
    """All that it plays with; ``None`` where the files that its own names are on another machine."""


@dataclass(frozen=True, slots=True)
class Rig:
    """One rig. ``start`` is empty for a daemon that runs already; ``devices`` as ``simulators.host`` spells them.

    ``reach`` is ``local``, or the machine of the daemon as ``ssh://user@host:port``; ``feltd`` is the command there.
    """

    file: Path
    kind: str
    """``wire``: the devices are simulated, on real ports. ``felt``: they are real, and a person acts."""
    name: str
    config: Path
    reach: str
    ssh_config: Path | None
    feltd: str
    start: str
    broker: BrokerAt
    devices: tuple[Mapping[str, Any], ...]
    usbip: str
    power: Mapping[str, int]
    """What the rig's relays switch (``dut``, or a device), by the number of the relay."""
    expect: Mapping[str, Mapping[str, str]]
    """Who the daemon must find at each device's port: some of ``reach.IDENTITY``."""
    most_late_ms: int | None
    """An act performed later than planned by more is the rig's fault; ``None``: nobody asks."""
    disk: Path | None
    """A small file system of the machine under test that holds the ledger and may be filled."""
    board: str
    """The serial port of the relay board; empty where the rig switches nothing."""
    matrix: Mapping[str, int] = field(default_factory=dict)
    """Places whose antennas are coupled by a relay each, on a rig of kind ``felt``."""
    matrix_board: str = ""
    """The serial port of their board."""
    key: str = ""
    """The id of the rig's signing key, with which the table under test signs; empty where nobody asks."""

    @property
    def remote(self) -> bool:
        """Whether the daemon is on another machine."""
        return self.reach != "local"

    @property
    def dut(self) -> Dut:
        """What the daemon under test is configured with. Raises ``BadConfiguration``, ``RigError``.

        Of a daemon on another machine ``config`` is a copy: the files that it names are there, and not looked at here.
        """
        if not self.remote:
            settings = load(self.config)
            setup = settings.setup
            names = {device.name: device.driver for device in settings.devices}
            channels = {device.name: device.places for device in setup.devices}
            where = (settings.ledger.file, settings.socket.path, _places(channels), settings.metrics_port or 0)
            how = (setup.kind, setup.seats, setup.closed_cards)
            facts = (setup.site, setup.table, setup.test, setup.profile.name, names)
            return Dut(*facts, *where, *how, channels=channels, setup=setup)
        return _copied(self.config, read_toml(self.config))


def read(path: Path) -> Rig:
    """Read ``rig.toml``. Raises ``ScriptError`` for what is wrong in it."""
    top = strict.read(path)
    if top.take("schema", int) != 1:
        raise top.wrong("schema", top.data["schema"], "this rig reads schema 1")
    name, kind = top.text("name", path.stem), top.choice("kind", KINDS)
    if kind == "sim":
        raise top.wrong("kind", kind, "sim needs no rig file: rehearse through virtual or wires")
    dut = top.section("dut")
    reach, start = dut.text("reach", "local"), dut.text("start", "")
    if reach != "local":
        try:
            reaches.of(reach, path.parent)
        except RigError as error:
            raise dut.wrong("reach", reach, reaches.REMEDY) from error
    if (start and not start.startswith(("exec:", "systemd:"))) or (start.startswith("exec:") and reach != "local"):
        told = "leave it out for a daemon that runs already, or systemd:UNIT; on this machine also exec:feltd run"
        raise dut.wrong("start", start, told)
    ssh_config = dut.text("ssh_config", None)
    feltd = dut.text("feltd", "feltd")
    config = path.parent / dut.text("config")
    key = _key(path.parent, dut) if "key" in dut else ""
    disk = dut.text("disk", None)
    if disk is not None and not disk.startswith("/"):
        raise dut.wrong("disk", disk, "name the mount point from the root /")
    broker = brokerat.read(dut, top.section("broker"))
    dut.done()
    listed = top.section("devices")
    expect = {called: _expected(listed.section(called).section("expect")) for called in listed.data}
    felt = kind == "felt"
    devices = tuple(
        _device(path, called, listed.section(called), number, real=felt) for number, called in enumerate(listed.data, 1)
    )
    listed.done()
    power = top.section("power")
    board, switches = _relays(path, power)
    for switch in switches:
        if switch != "dut" and switch not in listed.data:
            raise power.wrong(switch, power.data[switch], f"is no device of this rig: {', '.join(listed.data)}, or dut")
    matrix_board, matrix = _relays(path, top.section("matrix"))
    if matrix and not felt:
        raise top.wrong("matrix", sorted(matrix), "is for kind felt: simulated readers hear what they are told to")
    if shared := set(matrix.values()) & set(switches.values()) if matrix_board == board else set():
        raise top.section("matrix").wrong("board", board, f"relay:{min(shared)} is one of [power] already")
    clock = top.section("clock")
    clock.choice("source", ("rig-host",), "rig-host")
    late = clock.number("max_act_late_ms", None)
    clock.done()
    usbip = top.text("usbip", "127.0.0.1:0")
    if not is_port(usbip):
        raise top.wrong("usbip", usbip, "write HOST:PORT, a port of 0 to 65535")
    top.done()
    ssh = path.parent / ssh_config if ssh_config else None
    where = (path, kind, name, config, reach, ssh, feltd, start, broker, devices, usbip, switches)
    return Rig(
        *where, expect, late, Path(disk) if disk else None, _node(path, board), matrix, _node(path, matrix_board), key
    )


def _relays(path: Path, section: Section) -> tuple[str, dict[str, int]]:
    """A board, and what each of its relays is called."""
    board = section.text("board", "")
    try:
        switches = channels(path, {name: section.text(name) for name in section.data if name != "board"}, section.name)
    except ScriptError as error:
        raise section.wrong(error.field.partition(".")[2], error.value, error.remedy) from error
    if switches and not board:
        raise section.wrong("board", "", "name the relay board's port, for instance /dev/ttyUSB9")
    return board, switches


def _key(folder: Path, dut: Section) -> str:
    """The id of the key that the table under test signs with: one for rehearsals, which no live meter accepts."""
    name = dut.text("key")
    file = folder / name
    try:
        marked = file.read_bytes().startswith(TEST_KEY)
        key = load_verify_key(file)
    except (OSError, KeyFileError) as error:
        raise dut.wrong("key", name, f"name the public half of the rig's signing key: {error}") from error
    if not marked:
        raise dut.wrong("key", name, "is a key for live play: make one with feltd keys --test")
    return key_id(key.public_bytes_raw())


def _copied(path: Path, tree: Mapping[str, Any]) -> Dut:
    """The table of another machine, by a copy of its file."""
    ledger = tree.get("ledger", {}).get("file") or f"{tree.get('state_dir')}/{tree.get('table')}.ledger"
    listens = tree.get("socket", {}).get("path") or f"{tree.get('state_dir')}/{tree.get('table')}.sock"
    if not (str(ledger).startswith("/") and str(listens).startswith("/")):
        raise RigError(f"{path}: state_dir, ledger.file and socket.path of another machine are given from the root /")
    names = {name: str(device["driver"]) for name, device in tree.get("devices", {}).items()}
    facts = (tree["site"], tree["table"], tree.get("test") is True, tree["profile"], names)
    channels = {name: dict(device.get("channels", {})) for name, device in tree.get("devices", {}).items()}
    where = (Path(ledger), Path(listens), _places(channels), int(tree.get("metrics", {}).get("port", 0)))
    how = (tree["kind"], tree["seats"], tree.get("closed_cards", "read"))
    return Dut(*facts, *where, *how, channels=channels)


def _places(channels: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    return frozenset(place for watched in channels.values() for place in watched.values())


def _node(path: Path, port: str) -> str:
    return str((path.parent / port.removeprefix("pty:")).resolve()) if port.startswith("pty:") else port


def _expected(section: Section) -> dict[str, str]:
    found = {name: section.text(name) for name in reaches.IDENTITY if name in section}
    section.asked.update(reaches.IDENTITY)
    section.done()
    return found


def _device(path: Path, name: str, section: Section, number: int, *, real: bool) -> dict[str, Any]:
    """``port``: a device node, ``tcp:HOST:PORT``, ``usb:1-N`` (bus id of the rig's USB/IP server) or ``pty:PATH``.

    The server calls its devices by their place in the file: the second of it is ``usb:1-2``.

    A ``real`` one hangs at a port of the machine under test, which is that machine's to know.
    """
    driver = section.text("as")
    if real:
        section.asked.update(("expect", "port"))
        section.done()
        return {"name": name, "driver": driver}
    section.choice("as", MODELS)
    port = section.text("port")
    made: dict[str, Any] = {"name": name, "driver": driver, "serial": section.text("serial", "")}
    section.asked.add("expect")
    if "model" in section:
        made["model"] = dict(section.take("model", dict))
    section.done()
    kind, _, rest = port.partition(":")
    match kind:
        case "usb" if rest != f"1-{number}":
            raise section.wrong("port", port, f"device {number} of this file is served as usb:1-{number}")
        case "usb":
            made["product"] = PRODUCTS.get(driver, 1)
        case "tcp" if not is_port(rest):
            raise section.wrong("port", port, "write tcp:HOST:PORT, a port of 0 to 65535")
        case "tcp":
            made |= {"link": "tcp", "path": rest}
        case "pty":
            made |= {"link": "pty", "path": str((path.parent / rest).resolve())}
        case _ if port.startswith("/dev/"):
            made |= {"link": "serial", "path": port}
        case _:
            raise section.wrong("port", port, "write /dev/..., tcp:HOST:PORT, usb:1-N or pty:PATH")
    return made


def unsound(rig: Rig) -> Iterator[ScriptError]:
    """What of a rig does not fit the table that it plays on, as far as their files say."""
    try:
        dut = rig.dut
    except (BadConfiguration, RigError) as error:
        yield ScriptError(rig.file, "dut.config", rig.config.name, str(error))
        return
    except KeyError as error:
        yield ScriptError(
            rig.file, "dut.config", rig.config.name, f"has no {error.args[0]}: give a copy of the table's"
        )
        return
    for device in rig.devices:
        name, driver = device["name"], device["driver"]
        if name not in dut.devices:
            near = strict.suggestion(name, dut.devices)
            told = f"{rig.config.name} has no such device; it has {', '.join(dut.devices)}{near}"
            yield ScriptError(rig.file, f"devices.{name}", driver, told)
        elif driver not in (wanted := dut.devices[name], f"{wanted}-buffered", "recording"):
            yield ScriptError(
                rig.file, f"devices.{name}.as", driver, f"{rig.config.name} has the driver {wanted} there"
            )

    for place in sorted(set(rig.matrix) - dut.places):
        near = strict.suggestion(place, dut.places)
        told = f"{rig.config.name} has no antenna there; it has {', '.join(sorted(dut.places))}{near}"
        yield ScriptError(rig.file, f"matrix.{place}", f"relay:{rig.matrix[place]}", told)


def preflight(rig: Rig, folder: Path, reach: Reach, *, running: bool) -> dict[str, str]:
    """Look before the first case; what was found, for the report. Raises ``RigError`` naming what is not ready."""
    dut = rig.dut
    if not dut.test:
        raise RigError(f"{rig.config}: test is not set: a rig never plays on a live table")
    if missing := [device["name"] for device in rig.devices if device["name"] not in dut.devices]:
        raise RigError(f"{rig.config}: has no device {', '.join(missing)}, which the rig plays")
    if nowhere := sorted(set(rig.matrix) - dut.places):
        raise RigError(f"{rig.config}: has no antenna at {', '.join(nowhere)}, which the rig's matrix couples")
    free = shutil.disk_usage(folder).free // MB
    if free < LEAST_FREE_MB:
        raise RigError(f"{folder}: {free} MB are free, {LEAST_FREE_MB} are needed for evidence")
    if not running and reach.run("test", "-e", str(dut.ledger)).returncode == 0:
        raise RigError(f"{dut.ledger}: is there already; a rig starts its daemon on a new ledger{_cleaning(rig)}")
    if running:
        _answering(reach.socket(dut.socket))
    base = Topics(Source(dut.site, dut.table), dut.test).base
    try:
        brokerat.emptied(rig.broker, "rig", base, running=running)
    except RigError as error:
        raise RigError(f"{error}{_cleaning(rig) if f' {base}/' in str(error) else ''}") from error
    found = reaches.machine(reach)
    return {"rig": rig.name, **found, "free_mb": str(free), "table": f"{dut.site}/{dut.table}", "reach": rig.reach}


def _cleaning(rig: Rig) -> str:
    return f": feltsim rig clean --rig {shlex.quote(str(rig.file))}, or rehearse with --clean"


def identified(rig: Rig, reach: Reach) -> dict[str, str]:
    """Who stands at each port, by what the daemon found there. Raises ``RigError`` where it is somebody else.

    Also where the table has signed with another key than the rig's.
    """
    found = reaches.ups(reach, rig.dut.ledger)
    for name, wanted in rig.expect.items():
        for what, value in wanted.items():
            if (got := found.get(name, {}).get(what)) != value:
                raise RigError(f"devices.{name}.expect.{what} = {value!r}: the daemon found {got!r} at its port")
    signer = reaches.signer(reach, rig.dut.ledger)
    if rig.key and signer not in ("", rig.key):
        raise RigError(f"dut.key: the table signs with the key {signer}, the rig's is {rig.key}")
    return {f"device.{name}": " ".join(filter(None, who.values())) for name, who in found.items()}


def latency(host: Host, names: Sequence[str]) -> dict[str, str]:
    """How long the rig takes to perform an act, measured: the median and the longest of some, in ms."""
    took = []
    for name in names:
        for _ in range(ACTS):
            began = time.monotonic()
            host.do("state", name)
            took.append(1000 * (time.monotonic() - began))
    return {"actuator_ms": f"{median(took):.1f} (longest {max(took):.1f})"} if took else {}


def _answering(socket: Path) -> None:
    try:
        status = client.ask(socket, {"command": "status"})["status"]
    except client.NotReachable as error:
        raise RigError(str(error)) from error
    if not status["test"]:
        raise RigError("the daemon under test is not in test mode: a rig never plays on a live table")
    if status["hand"] is not None or status["session"] is not None:
        raise RigError("the table is open: close it before the rig plays on it")


def all_up(dut: Dut, socket: Path) -> list[str]:
    """The devices that the daemon under test does not call up."""
    devices = client.ask(socket, {"command": "status"})["status"]["devices"]
    return [name for name in dut.devices if devices.get(name) != "up"]
