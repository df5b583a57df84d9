"""What the check inside the machine stands on: the line to the outside, programs, the word of systemd and udev."""

import json
import re
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

LINE = Path("/dev/virtio-ports/org.feltd.check")
PROGRAM_S = 180.0
WAIT_S = 300.0
"""Emulation is slow; nothing here is measured."""
UNIT = "feltd@t07.service"


class Failed(Exception):
    """What was to be seen was not."""


class Outside:
    """The line to whoever runs the machine: one JSON object a line out, one word a line back."""

    def __init__(self) -> None:
        self._line = LINE.open("r+b", buffering=0)

    def say(self, **message: object) -> None:
        """Report something."""
        self._line.write(json.dumps(message).encode() + b"\n")

    def ask(self, what: str) -> None:
        """Ask for hands outside, and wait until they have done it."""
        self.say(ask=what)
        answer = b""
        while not answer.endswith(b"\n"):
            answer += self._line.read(1)
        if answer != b"done\n":
            raise Failed(f"{what}: the outside says {answer!r}")


def run(*command: str | Path, seconds: float = PROGRAM_S) -> subprocess.CompletedProcess[str]:
    """A program to its end. Raises ``Failed`` when it does not end."""
    try:
        return subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{command[0]} did not end within {seconds:g} s: {late.stdout!r}") from late


def sh(*command: str | Path) -> str:
    """What a program said. Raises ``Failed`` when it was not content."""
    done = run(*command)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: {done.returncode}: {(done.stdout + done.stderr).strip()}")
    return done.stdout


def until(ask: Callable[[], T], what: str | Callable[[], str], seconds: float = WAIT_S) -> T:
    """Ask until the answer is true, and return it. Raises ``Failed``."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.1)
    return answer


def expect(wanted: object, found: object, what: str) -> None:
    """Raises ``Failed`` where they differ."""
    if wanted != found:
        raise Failed(f"{what}: {found!r}, not {wanted!r}")


def shown(*properties: str) -> dict[str, str]:
    """What systemd says of the unit."""
    said = sh("systemctl", "show", UNIT, *(f"--property={name}" for name in properties))
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def udev(node: Path) -> dict[str, str]:
    """What udev knows of a device."""
    said = sh("udevadm", "info", "--query=property", f"--name={node}")
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def rights(node: Path) -> str:
    """Owner, group and mode."""
    found = node.stat()
    return f"{node.owner()}:{node.group()} {found.st_mode & 0o7777:04o}"


def attached() -> dict[str, str]:
    """Bus id of the rig -> port of the kernel's virtual host controller."""
    said = run("usbip", "port").stdout
    found = re.findall(r"Port (\d+): <Port in Use>.*?usbip://\S+/(\S+)", said, re.DOTALL)
    return {busid: port for port, busid in found}


def answers(address: str) -> bool:
    """Whether somebody listens there (``HOST:PORT``)."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def usb_devices(ids: str) -> list[Path]:
    """The folders of the kernel for devices with these ids (``vendor:product``)."""
    found = []
    for folder in Path("/sys/bus/usb/devices").iterdir():
        files = [folder / name for name in ("idVendor", "idProduct")]
        if all(file.exists() for file in files) and ":".join(file.read_text().strip() for file in files) == ids:
            found.append(folder)
    return found


def node_of(folder: Path) -> Path:
    """Where a USB device is opened."""
    bus, device = (int((folder / name).read_text()) for name in ("busnum", "devnum"))
    return Path(f"/dev/bus/usb/{bus:03d}/{device:03d}")


def driver_of(folder: Path) -> str:
    """Who has the first interface of a USB device."""
    interfaces: Sequence[Path] = sorted(folder.glob(f"{folder.name}:*"))
    link = interfaces[0] / "driver" if interfaces else folder / "none"
    return link.resolve().name if link.exists() else "nobody"
