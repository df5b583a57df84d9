"""Tables that do not have their closed cards read, and tables with a shoe beside their antennas."""

from dataclasses import replace
from typing import Any

from controller.core.setup import DeviceInfo
from controller.core.table import Table
from drivers.readings import CardSeen, DeviceUp, TagsSeen
from drivers.veil import Veil
from tests.unit.test_rfid_table import Rfid

SHOE = DeviceInfo("shoe0", "shoe", {"0": "shoe"}, "shoe")


class Antennas(Rfid):
    """A table with antennas. ``unread``: closed cards are not read; ``shoe``: one stands beside the antennas."""

    def __init__(self, *, unread: bool = False, shoe: bool = False, **given: Any) -> None:
        super().__init__(**given)
        devices = tuple(replace(device, kind=device.kind or "reader") for device in self.setup.devices)
        self.setup = replace(
            self.setup,
            devices=(*devices, SHOE) if shoe else devices,
            closed_cards="unread" if unread else "read",
        )
        self.table = Table(self.setup)
        self.inputs: list[Any] = []
        open_ = self.setup.open_channels({"board"}) if unread else {}
        self.veils = {name: Veil(self.setup.deck.tags, channels) for name, channels in open_.items()}
        self.lifted: Any = None
        self.slid = 0
        if shoe:
            self.feed(DeviceUp("shoe0", 1, "shoe", "FS-1", "S1", "1.0", "usb://1"))

    def feed(self, what: Any) -> None:
        if isinstance(what, TagsSeen | CardSeen) and what.device in self.veils:
            what = self.veils[what.device].over(what, self.at)
        self.inputs.append(what)
        super().feed(what)
        lifted = self.table.open_channels()
        if self.veils and lifted != self.lifted:
            self.lifted = lifted
            for name, veil in self.veils.items():
                for told in veil.lift(lifted[0][name], playing=lifted[1]):
                    self.inputs.append(told)
                    super().feed(told)

    def _poll(self) -> None:
        for device in self.setup.devices:
            for channel, place in device.places.items() if device.kind == "reader" else ():
                lying = self.places.get(place, [])
                seen = frozenset(t for t in lying if self.random.random() <= self.chance)
                self.reading += 1
                self.feed(TagsSeen(device.name, self.reading, channel, seen, complete=True))

    def restart(self) -> None:
        """The process ends and begins again: other names, another sensing; the rules know what is on record."""
        self.veils = {
            name: Veil(self.setup.deck.tags, channels)
            for name, channels in (self.setup.open_channels({"board"}) if self.veils else {}).items()
        }
        self.lifted = None
        self.table = Table.restore(self.setup, self.records)

    def from_shoe(self, card: str | None, confidence: int = 100, tag: str | None = None) -> None:
        self.slid += 1
        self.feed(CardSeen("shoe0", self.slid, "0", card, tag, confidence, self.slid))

    def draw(self, card: str, place: str, wait: int = 800) -> None:
        """A card leaves the shoe and comes to lie somewhere."""
        self.from_shoe(card)
        self.run(300)
        self.slide(card, place, wait)

    def codes(self) -> list[str]:
        """The incidents so far."""
        return [one["code"] for one in self.all("incident.opened")]

    def closed(self) -> list[str]:
        """The incidents that are over, and how."""
        return [f"{one['code']} {one['outcome']}" for one in self.all("incident.closed")]
