"""A rig on loopback that starts its daemon itself: a broker of its own, a table's file, and ports for its devices."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simulators import config
from simulators.broker import MosquittoBroker, free_port
from simulators.plan import of_scenario
from simulators.scripts import scenario
from simulators.through.wires import PERSISTENT

SCENARIO = Path(__file__).resolve().parent / "rehearsal" / "scenarios" / "whole-hand.toml"
RIG = """\
schema = 1
name = "bench"
kind = "wire"
usbip = "127.0.0.1:{usbip}"
[dut]
config = "table.toml"
broker = "{broker}"
start = "exec:feltd run"
[devices.shoe0]
as = "shoe"
port = "usb:1-1"
serial = "SHOE-0001"
[devices.keys0]
as = "keypad"
port = "usb:1-2"
[devices.tray0]
as = "feig"
port = "pty:tray0"
"""
DEALT = '\n[[variant]]\nname = "dealt"\nstop_after = "deal"\nfinal = "none"\n'
"""The cards are dealt, and that is all: a case that takes seconds."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The rig's file, its broker, and a scenario to be played on it."""

    file: Path
    broker: MosquittoBroker
    table: Path
    script: Path

    def changed(self, file: Path, old: str, new: str) -> None:
        """Another word in one of its files."""
        text = file.read_text(encoding="utf-8")
        assert old in text, f"{file}: {old}"
        file.write_text(text.replace(old, new), encoding="utf-8")


@contextmanager
def standing(folder: Path, more: str = DEALT) -> Iterator[Standing]:
    """A rig in ``folder``, its broker running; ``more`` is added to the scenario of a whole hand."""
    script = folder / "hand.toml"
    script.write_text(SCENARIO.read_text(encoding="utf-8") + more, encoding="utf-8")
    kept = folder / "broker"
    kept.mkdir()
    with MosquittoBroker(kept, basic=PERSISTENT.format(folder=kept)) as broker:
        usbip = free_port()
        at = f"usbip://127.0.0.1:{usbip}"
        uris = {"shoe0": f"{at}/1-1", "keys0": f"{at}/1-2", "tray0": f"serial://{folder}/tray0?baud=38400"}
        table = config.write(
            of_scenario(scenario.load(SCENARIO)), folder, uris, broker.uri, broker.versions[0], folder / "ledger"
        )
        file = folder / "rig.toml"
        file.write_text(RIG.format(usbip=usbip, broker=broker.uri), encoding="utf-8")
        yield Standing(file, broker, table, script)
