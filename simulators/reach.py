"""How a rig gets to the machine of the daemon under test: this one, or another through ssh.

Commands run there, and the daemon's command socket is reached here: ssh carries it (``-L``), so that whoever talks to a
daemon need not know where it is. ssh itself is the system's; keys, ports and jumps are for its own configuration.
"""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from simulators.errors import RigError

MS = 1_000_000
ANSWER_S = 60.0
CONNECT_S = 15.0
LAST_ROW = "SELECT coalesce(max(row), 0) FROM row WHERE row > ?"
BODIES = "SELECT hex(body) FROM row WHERE row > ? ORDER BY row"
SIGNED = "SELECT hex(body) FROM row WHERE row > ? AND type = 'ledger.signed' ORDER BY row DESC LIMIT 1"
UPS = "SELECT hex(body) FROM row WHERE row > ? AND type = 'device.up' ORDER BY row"
QUERY = """
import sqlite3, sys
ledger = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for (value,) in ledger.execute(sys.argv[2], (int(sys.argv[3]),)):
    print(value)
"""
"""Read a ledger where it lies, with nothing but Python's own library."""

PAGE = """
import sys, urllib.request
sys.stdout.write(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/metrics", timeout=5).read().decode())
"""
"""Read the numbers of a daemon on its machine, which serves them to nobody else."""

REMEDY = "write local, or ssh://user@host:port; a password never stands in it"
IDENTITY = ("model", "serial", "firmware")

Done = subprocess.CompletedProcess[str]


class Reach(Protocol):
    """One machine."""

    python: str
    """Its interpreter."""

    def run(self, *command: str) -> Done:
        """Run a command there to its end. Raises ``RigError`` where the machine does not answer."""

    def socket(self, path: Path) -> Path:
        """A path of this machine at which a socket of that machine answers. Raises ``RigError``."""

    def close(self) -> None:
        """Give up what was opened."""


class Here:
    """This machine."""

    python = sys.executable

    def run(self, *command: str) -> Done:
        """See ``Reach``."""
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RigError(f"{shlex.join(command)}: {error}") from error

    def socket(self, path: Path) -> Path:
        """See ``Reach``."""
        return path

    def close(self) -> None:
        """Nothing was opened."""


class There:
    """Another machine: ``ssh://[user@]host[:port]``. ``config`` is a file of ssh's own, for keys and the rest."""

    python = "python3"

    def __init__(self, uri: str, folder: Path, config: Path | None = None) -> None:
        """Raises ``RigError`` for an address that is none."""
        parts = urlsplit(uri)
        if parts.scheme != "ssh" or not parts.hostname or parts.password or parts.path.strip("/"):
            raise RigError(f"dut.reach = {uri!r}: {REMEDY}")
        self._uri = uri
        self._folder = folder
        user = [f"{parts.username}@"] if parts.username else [""]
        self._to = f"{user[0]}{parts.hostname}"
        self._ssh = ["ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S:.0f}"]
        self._ssh += ["-F", str(config)] if config is not None else []
        self._ssh += ["-p", str(parts.port)] if parts.port else []
        self._carriers: dict[Path, tuple[Path, subprocess.Popen[str]]] = {}

    def run(self, *command: str) -> Done:
        """See ``Reach``. 255 is what ssh itself ends with."""
        done = Here().run(*self._ssh, self._to, "--", shlex.join(command))
        if done.returncode == 255:
            raise RigError(f"{self._uri}: {done.stderr.strip() or 'no answer'}")
        return done

    def socket(self, path: Path) -> Path:
        """See ``Reach``. One ssh carries each socket, as long as the rig is there."""
        if path not in self._carriers:
            here = self._folder / f"carried-{len(self._carriers)}.sock"
            carry = [*self._ssh, "-o", "ExitOnForwardFailure=yes", "-N", "-L", f"{here}:{path}", self._to]
            process = subprocess.Popen(carry, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self._carriers[path] = (here, process)
            deadline = time.monotonic() + CONNECT_S
            while not here.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    why = (
                        process.stderr.read().strip() if process.poll() is not None and process.stderr else "no answer"
                    )
                    self.close()
                    raise RigError(f"{self._uri}: {path} cannot be carried here: {why}")
                time.sleep(0.05)
        return self._carriers[path][0]

    def close(self) -> None:
        """End the carriers."""
        for here, process in self._carriers.values():
            process.terminate()
            process.wait(CONNECT_S)
            if process.stderr is not None:
                process.stderr.close()
            here.unlink(missing_ok=True)
        self._carriers = {}


def of(uri: str, folder: Path, config: Path | None = None) -> Here | There:
    """The machine that ``dut.reach`` names. Raises ``RigError``."""
    return Here() if uri == "local" else There(uri, folder, config)


def machine(reach: Reach) -> Mapping[str, str]:
    """Kernel, processors and governor of a machine, and how far its clock is from ours, for the report."""
    governor = reach.run("cat", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "kernel": reach.run("uname", "-r").stdout.strip(),
        "cpus": reach.run("nproc").stdout.strip(),
        "governor": governor.stdout.strip() if governor.returncode == 0 else "unknown",
        "clock_offset_ms": _clock_offset(reach),
    }


def _clock_offset(reach: Reach) -> str:
    """How far that clock is ahead, and how well that is known: half of the time that asking took."""
    before = time.time_ns()
    there = int(reach.run("date", "+%s%N").stdout)
    after = time.time_ns()
    half = (after - before) / 2
    return f"{(there - before - half) / MS:+.0f} (within {half / MS:.0f})"


def last_row(reach: Reach, ledger: Path) -> int:
    """The number of a ledger's last row; 0 where there is no ledger yet. Raises ``RigError``."""
    if reach.run("test", "-e", str(ledger)).returncode != 0:
        return 0
    return int(_asked(reach, ledger, LAST_ROW, 0)[0])


def bodies_after(reach: Reach, ledger: Path, row: int) -> list[bytes]:
    """The events of a ledger after a row, in order. Raises ``RigError``."""
    return [bytes.fromhex(line) for line in _asked(reach, ledger, BODIES, row)]


def ups(reach: Reach, ledger: Path) -> dict[str, Mapping[str, str]]:
    """Who each device has said it is, by the ledger's newest ``device.up`` of it. Raises ``RigError``."""
    said = (json.loads(bytes.fromhex(line))["data"] for line in _asked(reach, ledger, UPS, 0))
    return {one["device"]: {name: str(one.get(name) or "") for name in IDENTITY} for one in said}


def signer(reach: Reach, ledger: Path) -> str:
    """The id of the key with which a ledger was signed last; empty where it was not yet. Raises ``RigError``."""
    lines = _asked(reach, ledger, SIGNED, 0)
    return str(json.loads(bytes.fromhex(lines[0]))["data"]["key"]) if lines else ""


def numbers(reach: Reach, port: int) -> str:
    """The page of numbers that a daemon serves there. Raises ``RigError``."""
    done = reach.run(reach.python, "-c", PAGE, str(port))
    if done.returncode != 0:
        raise RigError(f"http://127.0.0.1:{port}/metrics there: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def _asked(reach: Reach, ledger: Path, query: str, row: int) -> list[str]:
    done = reach.run(reach.python, "-c", QUERY, str(ledger), query, str(row))
    if done.returncode != 0:
        raise RigError(f"{ledger}: cannot be read there: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
    return done.stdout.split()
