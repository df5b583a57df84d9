"""A table with antennas and chips in its tray, where people make change."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

from controller.core.session import Session
from controller.core.setup import DeviceInfo
from controller.core.table import Table
from drivers.readings import TagsSeen
from tests.felt import RS
from tests.unit.test_rfid_table import HOLES, Rfid

MOST_AT_ONCE = 200
"""Inputs of one moment: a poll of all antennas and what the core makes of it."""
Half = list[tuple[str, str, list[int]]]
"""Chips that move together: from where, to where, their values."""


class Till(Rfid):
    """``tray`` or ``stacks`` false: chips lie there and no antenna reads them."""

    def __init__(
        self, profile: Any = RS, chance: float = 1.0, seed: int = 1, *, tray: bool = True, stacks: bool = True
    ) -> None:
        super().__init__(profile, chance, seed)
        devices = [device for device in self.setup.devices if stacks or device.name != "stacks0"]
        devices += [DeviceInfo("tray0", "feig", {"0": "tray"})] if tray else []
        self.setup = replace(self.setup, devices=tuple(devices))
        self.table = Table(self.setup)
        self.ticks = (0, 0)
        self.silent: set[str] = set()
        """Readers that say nothing: they are away."""
        self.put([tags.pop() for tags in self.spare.values() for _ in range(30)], "tray")

    def feed(self, what: Any) -> None:
        self.ticks = (self.at, self.ticks[1] + 1 if self.ticks[0] == self.at else 1)
        assert self.ticks[1] < MOST_AT_ONCE, "the core asks for one tick after another and does nothing with them"
        if not isinstance(what, TagsSeen) or what.device not in self.silent:
            super().feed(what)

    def move(self, half: Half) -> None:
        """All at once."""
        for source, target, values in half:
            self.put(self.chips(source, *values), target)

    def change(self, *halves: Half, gap: int) -> None:
        """One half after the other, ``gap`` ms between them."""
        for half in halves:
            self.move(half)
            self.run(gap)

    def worth(self, place: str) -> int:
        return sum(int(self.setup.chipset.tags[tag]) for tag in self.places.get(place, []))

    def told(self) -> list[str]:
        """What went wrong, in words of the rules."""
        return [one["what"] for one in self.all("breach.noted")] + [one["kind"] for one in self.all("incident.opened")]

    def restart(self) -> None:
        """The process ends and begins again: the rules know what is on record, sensing knows nothing."""
        self.table = Table.restore(self.setup, self.records)

    def kept(self) -> None:
        """Recovery is replay."""
        assert Session.restore(self.setup, self.records).state == self.table.session.state

    def fold(self, seat: int, wait: int = 2500) -> None:
        self.put(list(self.places[f"seat:{seat}"]), "muck")
        self.run(wait)

    def won_by(self, winner: int) -> None:
        """All others fold, and the chips are pushed: the stacks agree with the award, or the table says so."""
        for seat in sorted({1, 2, 3} - {winner}):
            if self.places[f"seat:{seat}"]:
                self.fold(seat)
        for place in ("bet:1", "bet:2", "bet:3", "pot"):
            self.put(list(self.places.get(place, [])), f"stack:{winner}")
        for place in ("seat:1", "seat:2", "seat:3", "board", "burn", "muck"):
            self.put(list(self.places.get(place, [])), "stub")
        self.run(12_000)
        self.kept()


@cache
def _dealt(**given: Any) -> Till:
    table = Till(**given)
    table.open()
    table.bet(1, 500)
    table.bet(2, 1000)
    table.deal(HOLES)
    return table


def dealt(**given: Any) -> Till:
    """Blinds of 500 and 1000 lie there and the cards are dealt; seat 3 is to act. Played once, and then copied."""
    table = _dealt(**given)
    setup = table.setup
    same = (setup, setup.profile, setup.chipset, setup.deck, setup.devices, *setup.devices)
    return deepcopy(table, {id(one): one for one in same})
