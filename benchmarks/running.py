"""Runs a command as a user would and watches its time and memory."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_S = 0.2
SCRIPTS = Path(__file__).resolve().parent.parent / "simulators" / "scripts"
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class Run:
    """One finished command. ``rss`` are its resident sizes in bytes, one every ``SAMPLE_S`` seconds."""

    code: int
    seconds: float
    output: str
    rss: list[int] = field(default_factory=list)

    @property
    def peak_mb(self) -> float:
        """The largest resident size that was seen, in MB."""
        return max(self.rss, default=0) / 1e6


def command(name: str) -> str:
    """The command ``name`` of the environment that runs this module."""
    return str(Path(sys.executable).with_name(name))


def run(arguments: Sequence[str], limit_s: float) -> Run:
    """Run to the end; raises ``TimeoutError`` after ``limit_s`` seconds."""
    began = time.monotonic()
    sizes: list[int] = []
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        while True:
            try:
                output, _ = process.communicate(timeout=SAMPLE_S)
                return Run(process.returncode, time.monotonic() - began, output, sizes)
            except subprocess.TimeoutExpired:
                sizes.append(resident(process.pid))
            if time.monotonic() - began > limit_s:
                process.kill()
                raise TimeoutError(f"{' '.join(arguments[:4])} ... ran longer than {limit_s} s")


def resident(pid: int) -> int:
    """The resident size of a process of ours in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def hands(folder: Path) -> list[Path]:
    """The hands and scenarios in a folder."""
    return sorted(path for path in folder.rglob("*") if path.suffix in {".toml", ".phh"})
