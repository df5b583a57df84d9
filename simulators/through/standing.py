"""A daemon with six devices of six makes over wires, at which nobody plays: for what has to be watched from outside."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from simulators import config, plan
from simulators.broker import MosquittoBroker
from simulators.plan import Plan
from simulators.process import DaemonProcess
from simulators.rehearse import house
from simulators.rigs import Host
from simulators.scripts import phh
from simulators.through.wires import devices

HAND = """\
variant = "NT"
antes = [0, 0, 0, 0, 0, 0]
blinds_or_straddles = [50, 100, 0, 0, 0, 0]
min_bet = 100
starting_stacks = [20000, 20000, 20000, 20000, 20000, 20000]
actions = ["d dh p1 2c3c", "d dh p2 4c5c", "d dh p3 6c7c", "d dh p4 8c9c", "d dh p5 2d3d", "d dh p6 4d5d",
           "p3 f", "p4 f", "p5 f", "p6 f", "p1 f"]
"""
UP_S = 60.0


@dataclass(frozen=True, slots=True)
class Standing:
    """The daemon, its devices, and the table they are of."""

    daemon: DaemonProcess
    host: Host
    plan: Plan

    def until(self, state: str) -> None:
        """Wait until every device is ``up``, or ``lost``. Raises ``TimeoutError``."""
        deadline = time.monotonic() + UP_S
        while set(self.daemon.ask("status")["status"]["devices"].values()) != {state}:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not all devices are {state} within {UP_S} s: {self.daemon.last_words()}")
            time.sleep(0.02)


@contextmanager
def standing(folder: Path, *, chips: bool = True, speed: int = 1) -> Iterator[Standing]:
    """Six players have sat down; all devices are up. Without ``chips`` nothing lies in the readers' fields."""
    table = _six(folder)
    with (
        MosquittoBroker(folder) as broker,
        Host(devices(table.layout, folder), folder / "devices.sock", speed=speed) as host,
    ):
        for place, tags in table.tokens.places.items() if chips else ():
            if place in table.layout.watched:
                reader, channel = table.layout.watched[place]
                host.do("put", reader, tags=list(tags), channel=channel)
        path = config.write(table, folder, host.uris, broker.uri, broker.versions[0], folder / "ledger", speed)
        daemon = DaemonProcess(path, speed)
        daemon.start()
        try:
            stand = Standing(daemon, host, table)
            stand.until("up")
            for order in table.opening():
                daemon.ask(order.name, order.args, by=order.by, role=order.role, reason=order.reason)
            yield stand
        finally:
            daemon.stop()


def _six(folder: Path) -> Plan:
    file = folder / "hand.phh"
    file.write_text(HAND, encoding="utf-8")
    table = plan.of_script(phh.convert(file), "rs_holdem", *house("rs_holdem"))
    return replace(table, kind="rfid", six=True)
