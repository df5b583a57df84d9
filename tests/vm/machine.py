"""The machine itself: qemu, its hot plug, and the line on which the check inside reports.

The cable of the chip tray is a real one as far as a machine without hardware can have one: one end is a 16550 on the
board, where the simulated reader sits, the other an FTDI adapter on USB that can be pulled.
"""

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.vm.errors import NoMachine
from tests.vm.image import Image

ADAPTER = {"driver": "usb-serial", "id": "adapter", "chardev": "dut", "serial": "A10XAMPL", "bus": "usb.0"}
"""QEMU's adapter has FTDI's ids; its serial number is the one that 60-feltd.rules has as an example."""
SOCKET_S = 30.0
STOP_S = 30.0
CHUNK = 65536


class Machine:
    """One machine, booting when the constructor returns. A context manager. ``sockets``: a folder with a short path."""

    def __init__(self, image: Image, console: Path, sockets: Path) -> None:
        self._sockets = sockets
        cable, report, qmp = (sockets / name for name in ("cable", "report", "qmp"))
        command: list[str | Path] = [
            *("nice", "-n", "15", "qemu-system-x86_64"),
            *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1024"),
            *("-display", "none", "-nodefaults", "-no-reboot", "-nic", "none"),
            *("-kernel", image.kernel, "-initrd", image.initrd),
            *("-append", "console=ttyS0 root=/dev/vda rw panic=-1 systemd.show_status=1"),
            *("-drive", f"file={image.disk},format=raw,if=virtio"),
            *("-serial", f"file:{console}"),
            *("-chardev", f"socket,id=rig,path={cable},server=on,wait=off", "-serial", "chardev:rig"),
            *("-chardev", f"socket,id=dut,path={cable},reconnect=1"),
            *("-device", "qemu-xhci,id=usb"),
            *("-chardev", f"socket,id=report,path={report},server=on,wait=off"),
            *("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=report,name=org.feltd.check"),
            *("-qmp", f"unix:{qmp},server=on,wait=off"),
        ]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self._report = _connected(report, self._process)
        self._qmp = _connected(qmp, self._process)
        self._answers = self._qmp.makefile("rb")
        self._answers.readline()  # its greeting
        self._tell("qmp_capabilities")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def plug(self) -> None:
        """The adapter of the chip tray is put in."""
        self._tell("device_add", ADAPTER)

    def unplug(self) -> None:
        """And pulled out."""
        self._tell("device_del", {"id": ADAPTER["id"]})

    def reports(self, seconds: float) -> Iterator[dict[str, Any]]:
        """What the check says, until the machine is off. Raises ``NoMachine`` when that takes longer."""
        deadline, data = time.monotonic() + seconds, b""
        while True:
            self._report.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                chunk = self._report.recv(CHUNK)
            except TimeoutError as late:
                raise NoMachine(f"the check did not end within {seconds / 60:g} minutes") from late
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                return
            *lines, data = (data + chunk).split(b"\n")
            yield from (json.loads(line) for line in lines if line)

    def answer(self) -> None:
        """What the check asked for is done."""
        self._report.sendall(b"done\n")

    def ended(self) -> int:
        """Wait until the machine is off; its code. Raises ``NoMachine``."""
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired as late:
            raise NoMachine(f"the machine did not power off within {STOP_S:g} s") from late

    def stop(self) -> None:
        """Pull its power. Nothing happens when it is off."""
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for end in (self._report, self._answers, self._qmp):
            end.close()

    def _tell(self, execute: str, arguments: dict[str, Any] | None = None) -> None:
        self._qmp.sendall(json.dumps({"execute": execute, "arguments": arguments or {}}).encode() + b"\n")
        while line := self._answers.readline():
            said = json.loads(line)
            if "error" in said:
                raise NoMachine(f"qemu refused {execute}: {said['error']['desc']}")
            if "return" in said:
                return
        raise NoMachine(f"qemu was gone before it answered {execute}")


def _connected(path: Path, process: "subprocess.Popen[bytes]") -> socket.socket:
    deadline = time.monotonic() + SOCKET_S
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            end.connect(os.fspath(path))
            return end
        time.sleep(0.05)
    end.close()
    process.terminate()
    raise NoMachine(f"qemu opened no {path.name} (code {process.wait(STOP_S)})")
