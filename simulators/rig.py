"""Rig files: where the devices of a rehearsal are, which daemon is under test, and what is checked before the night.

A rig of kind ``sim`` needs no file. With ``wire`` the simulated devices stand on real ports, or on ports of this
machine, and the daemon is one that runs already, or that the rig starts from its own configuration.
"""

import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from controller import client
from controller.settings import Settings, load
from simulators.errors import RigError
from simulators.scripts import strict
from simulators.scripts.strict import Section

KINDS = ("sim", "wire", "felt")
MB = 1 << 20
LEAST_FREE_MB = 512
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


@dataclass(frozen=True, slots=True)
class Rig:
    """One rig. ``start`` is empty for a daemon that runs already; ``devices`` as ``simulators.host`` spells them."""

    name: str
    config: Path
    start: str
    broker: int
    devices: tuple[Mapping[str, Any], ...]
    usbip: str
    power: Mapping[str, str]

    @property
    def settings(self) -> Settings:
        """What the daemon under test is configured with. Raises ``BadConfiguration``."""
        return load(self.config)


def read(path: Path) -> Rig:
    """Read ``rig.toml``. Raises ``ScriptError`` for what is wrong in it, ``RigError`` for what this rig cannot do."""
    top = strict.read(path)
    if top.take("schema", int) != 1:
        raise top.wrong("schema", top.data["schema"], "this rig reads schema 1")
    name, kind = top.text("name", path.stem), top.choice("kind", KINDS)
    if kind != "wire":
        raise top.wrong("kind", kind, "sim needs no rig file, and felt needs an actuator that this rig has not got")
    dut = top.section("dut")
    reach, start = dut.text("reach", "local"), dut.text("start", "")
    if reach != "local":
        raise RigError(f"{path}: dut.reach = {reach!r}: this rig reaches a daemon on its own machine only: local")
    if start and not start.startswith("exec:"):
        raise RigError(f"{path}: dut.start = {start!r}: leave it out for a daemon that runs already, or exec:feltd run")
    config = path.parent / dut.text("config")
    dut.text("key", "")
    broker = _port(path, dut.text("broker"))
    dut.done()
    listed = top.section("devices")
    devices = tuple(_device(path, called, listed.section(called)) for called in listed.data)
    listed.done()
    power = top.section("power")
    switches = {switch: power.text(switch) for switch in power.data}
    clock = top.section("clock")
    clock.text("source", "rig-host")
    clock.number("max_act_late_ms", 20)
    clock.done()
    usbip = top.text("usbip", "127.0.0.1:0")
    top.done()
    return Rig(name, config, start, broker, devices, usbip, switches)


def _port(path: Path, uri: str) -> int:
    parts = urlsplit(uri)
    if parts.scheme != "mqtt" or parts.hostname not in ("127.0.0.1", "localhost"):
        raise RigError(f"{path}: dut.broker = {uri!r}: the rig hears its own broker on loopback: mqtt://127.0.0.1:1883")
    return parts.port or 1883


def _device(path: Path, name: str, section: Section) -> dict[str, Any]:
    """``port``: a device node, ``tcp:HOST:PORT``, ``usb:1-N`` (bus id of the rig's USB/IP server) or ``pty:PATH``."""
    driver, port = section.text("as"), section.text("port")
    made: dict[str, Any] = {"name": name, "driver": driver, "serial": section.text("serial", "")}
    if "model" in section:
        made["model"] = dict(section.take("model", dict))
    section.done()
    kind, _, rest = port.partition(":")
    match kind:
        case "usb":
            made["product"] = {"shoe": 0xF001, "keypad": 0xF002}.get(driver, 1)
        case "tcp":
            made |= {"link": "tcp", "path": rest}
        case "pty":
            made |= {"link": "pty", "path": str((path.parent / rest).resolve())}
        case _ if port.startswith("/dev/"):
            made |= {"link": "serial", "path": port}
        case _:
            raise RigError(f"{path}: devices.{name}.port = {port!r}: /dev/..., tcp:HOST:PORT, usb:1-N or pty:PATH")
    return made


def preflight(rig: Rig, folder: Path, *, running: bool) -> dict[str, str]:
    """Look before the first case; what was found, for the report. Raises ``RigError`` naming what is not ready."""
    settings = rig.settings
    if not settings.setup.test:
        raise RigError(f"{rig.config}: test is not set: a rig never plays on a live table")
    configured = {device.name for device in settings.devices}
    if missing := [device["name"] for device in rig.devices if device["name"] not in configured]:
        raise RigError(f"{rig.config}: has no device {', '.join(missing)}, which the rig plays")
    free = shutil.disk_usage(folder).free // MB
    if free < LEAST_FREE_MB:
        raise RigError(f"{folder}: {free} MB are free, {LEAST_FREE_MB} are needed for evidence")
    if not running and settings.ledger.file.exists():
        raise RigError(f"{settings.ledger.file}: is there already; a rig starts its daemon on a new ledger")
    if running:
        _answering(settings)
    governor = GOVERNOR.read_text(encoding="ascii").strip() if GOVERNOR.exists() else "unknown"
    return {
        "rig": rig.name,
        "kernel": platform.release(),
        "cpus": str(os.cpu_count()),
        "governor": governor,
        "free_mb": str(free),
        "table": f"{settings.setup.site}/{settings.setup.table}",
    }


def _answering(settings: Settings) -> None:
    try:
        status = client.ask(settings.socket.path, {"command": "status"})["status"]
    except client.NotReachable as error:
        raise RigError(str(error)) from error
    if not status["test"]:
        raise RigError("the daemon under test is not in test mode: a rig never plays on a live table")
    if status["hand"] is not None or status["session"] is not None:
        raise RigError("the table is open: close it before the rig plays on it")


def all_up(settings: Settings) -> list[str]:
    """The devices that the daemon under test does not call up."""
    devices = client.ask(settings.socket.path, {"command": "status"})["status"]["devices"]
    return [device.name for device in settings.devices if devices.get(device.name) != "up"]
