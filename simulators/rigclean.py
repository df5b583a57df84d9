"""``feltsim rig clean``: what a rig's table left of an earlier run is put aside, so that the next one begins anew.

    feltsim rig clean --rig rig.toml

Only what the rig's file owns: the ledger of a daemon that the rig starts itself, written in test mode, goes to
``LEDGER.before`` (what lay there from the run before that is gone), and what its table has retained at the rig's broker
is taken back. Nothing is touched where the daemon is running, or where anything else lies at the broker.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from controller.contract.topics import Source, Topics
from controller.faults import BadConfiguration
from simulators import brokerat
from simulators import reach as reaches
from simulators import rig as rigs
from simulators.errors import RigError, ScriptError
from simulators.reach import Reach
from simulators.rig import Rig
from simulators.verdict import Exit

ASIDE = """
import fcntl, os, sqlite3, sys
ledger, before = sys.argv[1], sys.argv[1] + ".before"
parts = ("", "-wal", "-shm")
if not os.path.exists(ledger):
    sys.exit(0)
with open(ledger + ".lock", "a") as lock:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("a daemon is writing to it: stop it")
    try:
        about = sqlite3.connect("file:" + ledger + "?mode=ro", uri=True)
        found = about.execute("SELECT value FROM meta WHERE name = 'test'").fetchone()
        about.close()
    except sqlite3.Error as error:
        sys.exit("is no ledger that can be read (" + str(error) + "): move it away yourself")
    if found is None or str(found[0]) != "true":
        sys.exit("was not written in test mode: it is no rig's to put aside")
    for part in parts:
        if os.path.exists(before + part):
            os.unlink(before + part)
    for part in parts[::-1]:
        if os.path.exists(ledger + part):
            os.rename(ledger + part, before + part)
print(before)
"""
"""Run where the ledger lies. It holds the lock that a daemon holds; its last word is why nothing was done."""


def clean(rig: Rig, reach: Reach) -> list[str]:
    """Put it aside; what was done, a line each.

    Raises ``ScriptError`` for a rig that does not start its daemon, ``RigError`` where nothing may be touched,
    ``BadConfiguration`` where the table's file cannot be read.
    """
    dut = rig.dut
    if not rig.start:
        remedy = "the rig does not start this daemon, so its ledger is not the rig's: stop it and clean it by hand"
        raise ScriptError(rig.file, "dut.start", "", remedy)
    if not dut.test:
        raise RigError(f"{rig.config}: test is not set: a rig never touches a live table")
    own = Topics(Source(dut.site, dut.table), dut.test).base
    lying = brokerat.retained(rig.broker, "rig")
    if others := [topic for topic in lying if not topic.startswith(f"{own}/")]:
        raise RigError(f"{rig.broker}: {others[0]} lies there, which is not of {own}: it is not this rig's own broker")
    done = reach.run(reach.python, "-c", ASIDE, str(dut.ledger))
    if done.returncode != 0:
        raise RigError(f"{dut.ledger}: {(done.stderr.strip().splitlines() or ['cannot be put aside'])[-1]}")
    brokerat.take_back(rig.broker, lying)
    told = [f"{dut.ledger}: put aside as {done.stdout.strip()}"] if done.stdout.strip() else []
    return told + ([f"{rig.broker}: {len(lying)} retained messages of {own} taken back"] if lying else [])


def cleaned(rig: Rig) -> list[str]:
    """The same with a way of its own to the machine."""
    with (
        tempfile.TemporaryDirectory(prefix="feltsim-") as folder,
        closing(reaches.of(rig.reach, Path(folder), rig.ssh_config)) as reach,
    ):
        return clean(rig, reach)


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="feltsim rig", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("clean",))
    parser.add_argument("--rig", type=Path, required=True, metavar="RIG.toml")
    asked = parser.parse_args(arguments)
    try:
        done = cleaned(rigs.read(asked.rig))
    except (ScriptError, BadConfiguration) as error:
        sys.stderr.write(f"{error}\n")
        return Exit.SCRIPT
    except RigError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.RIG
    sys.stdout.writelines(f"{line}\n" for line in done or ["nothing lies there"])
    return Exit.PASSED
