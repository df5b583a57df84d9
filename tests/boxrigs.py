"""Two Ultimate tables on a fake clock, as devices show them: one with shoe and keypad, one with antennas."""

from collections.abc import Iterable
from typing import Any

from controller.core.cards import DECK
from controller.core.inputs import Command, HandSeed, Input, Tick, What
from controller.core.records import Record
from controller.core.setup import Chipset, Deck, Denomination, DeviceInfo, Setup
from controller.core.table import Table
from drivers.readings import CardSeen, KeyPressed, KeyReleased, TagsSeen
from tests.boxes import WALL, setup

MS = 1_000_000
SPOTS = ("ante", "blind", "trips", "play")
CARD_TAGS = {f"CA{i:02X}": card for i, card in enumerate(DECK)}
TAG_OF = {card: tag for tag, card in CARD_TAGS.items()}
CHIP_TAGS = {f"C1{i:04X}": "c1000" for i in range(60)} | {f"C5{i:04X}": "c500" for i in range(60)}
CHIPS = Chipset("t", (Denomination("c500", 500), Denomination("c1000", 1000)), CHIP_TAGS)


class Rig:
    """A table with its devices on a fake clock."""

    def __init__(self, table: Setup) -> None:
        self.table = Table(table)
        self.records: list[Record] = []
        self.at = 0
        self.no = 0
        self.readings: dict[str, int] = {}
        self.say("login", staff="s-11", role="dealer")
        self.say("login", staff="s-12", role="pit_boss")
        self.say("open")

    def feed(self, what: What) -> None:
        self.no += 1
        self.records += self.table.feed(Input(self.no, self.at, WALL + self.at, what))
        if self.table.wants_seed:
            self.table.feed(Input(self.no, self.at, WALL + self.at, HandSeed(bytes(32))))

    def say(self, name: str, /, **args: Any) -> None:
        self.feed(Command(name, args, "s-12", "pit_boss", "test"))

    def announce(self, *boxes: int) -> None:
        self.say("attest", rule="LT-2.2", boxes=list(boxes))

    def players(self, players: dict[int, str]) -> None:
        for box, player in players.items():
            self.say("seat", seat=box, player=player, stack=None)

    def reading(self, device: str) -> int:
        self.readings[device] = self.readings.get(device, 0) + 1
        return self.readings[device]

    def key(self, *keys: str) -> None:
        for key in keys:
            self.pause(120)
            self.feed(KeyPressed("keys0", self.reading("keys0"), key))
            self.feed(KeyReleased("keys0", self.reading("keys0"), key))

    def pause(self, ms: int) -> None:
        until = self.at + ms * MS
        while (due := self.table.deadline()) is not None and due <= until:
            self.at = max(self.at, due)
            self.feed(Tick())
        self.at = until

    def all(self, event: str, /, **match: Any) -> list[dict[str, Any]]:
        found = [r.data for r in self.records if r.type == event]
        return [data for data in found if all(data.get(key) == value for key, value in match.items())]

    def check_example_b(self) -> None:
        assert self.all("bet.placed", box=2, spot="play", amount=3000, stage="before_deal", locked=True)
        assert self.all("box.decided", box=1, decision=2, kind="play", amount=2000)
        assert self.all("dealer.revealed", cards=["9d", "4c"], category="pair", qualified=True)
        assert self.all("box.settled", box=1, against="win", house_net=-2500, agrees=True)
        assert self.all("box.settled", box=2, against="win", house_net=-4000, agrees=True)
        assert self.all("box.settled", box=3, against="fold", house_net=2000, agrees=True)
        assert not [d for d in self.all("box.decided", box=2) if d["kind"] != "dark"]
        assert not self.all("incident.opened")
        assert not self.all("breach.noted")
        assert not self.all("action.refused")
        assert self.all("hand.closed")[0]["result"]["house_net"] == -4500
        text = str([r.data for r in self.records])
        assert not any(f"'{card}'" in text for card in ("Qs", "5h"))
        self.say("close")
        assert self.all("hand.final")


class ShoeRig(Rig):
    """Cards by the shoe, the rest by keys."""

    def __init__(self, cards: str = "", **house: Any) -> None:
        super().__init__(setup(house=house))
        self.deck = cards.split() + [card for card in DECK if card not in cards.split()]

    def slide(self, count: int = 1) -> None:
        for _ in range(count):
            self.pause(260)
            number = self.reading("shoe0")
            self.feed(CardSeen("shoe0", number, "0", self.deck.pop(0), None, 100, number))


CARD_PLACES = (
    *(f"box:{box}:{place}" for box in range(1, 4) for place in ("cards", "under_play")),
    "dealer",
    "board",
    "muck",
)
BET_PLACES = tuple(f"box:{box}:{spot}" for box in range(1, 4) for spot in SPOTS)
CHANNELS = {
    "cards0": {str(i): place for i, place in enumerate(CARD_PLACES)},
    "bets0": {str(i): place for i, place in enumerate((*BET_PLACES, "tray"))},
}


class RfidRig(Rig):
    """Antennas that read every 100 ms; chips come from a heap that nobody watches, or from the tray."""

    def __init__(self, cards: str = "", **house: Any) -> None:
        devices = (
            DeviceInfo("cards0", "feig", CHANNELS["cards0"], "reader"),
            DeviceInfo("bets0", "feig", CHANNELS["bets0"], "reader"),
            DeviceInfo("keys0", "keypad", {}, "keypad"),
        )
        self.lie: dict[str, set[str]] = {place: set() for place in (*CARD_PLACES, *BET_PLACES, "tray")}
        self.spare = {"c500": sorted(t for t, c in CHIP_TAGS.items() if c == "c500")}
        self.spare["c1000"] = sorted(t for t, c in CHIP_TAGS.items() if c == "c1000")
        self.lie["tray"] = {self.spare[kind].pop() for kind in ("c500", "c1000") for _ in range(20)}
        self.hidden: set[str] = set()
        kind: dict[str, Any] = {"kind": "rfid", "devices": devices, "deck": Deck("d1", CARD_TAGS), "chipset": CHIPS}
        super().__init__(setup(seats=3, house=house, **kind))
        self.deck = cards.split() + [card for card in DECK if card not in cards.split()]
        self.pause(1000)

    def pause(self, ms: int) -> None:
        for _ in range(max(1, ms // 100)):
            for device, places in CHANNELS.items():
                for channel, place in places.items():
                    tags = frozenset(self.lie[place] - self.hidden)
                    self.feed(TagsSeen(device, self.reading(device), channel, tags, True))
            super().pause(100)

    def put(self, box: int, settle: int = 1500, **chips: dict[int, int]) -> None:
        """Chips of a player on spots of a box: ``ante={1000: 1}``."""
        for spot, counts in chips.items():
            for worth, count in counts.items():
                self.lie[f"box:{box}:{spot}"] |= {self.spare[f"c{worth}"].pop() for _ in range(count)}
        self.pause(settle)

    def take(self, place: str, settle: int = 1500) -> None:
        """All chips of a spot to the tray."""
        self.lie["tray"] |= self.lie[place]
        self.lie[place] = set()
        self.pause(settle)

    def pay(self, place: str, amount: int) -> None:
        """Chips of 1000 from the tray to a spot."""
        tags = [tag for tag in sorted(self.lie["tray"]) if CHIP_TAGS[tag] == "c1000"][: amount // 1000]
        self.lie["tray"] -= set(tags)
        self.lie[place] |= set(tags)
        self.pause(1500)

    def deal(self, places: Iterable[str]) -> None:
        for place in places:
            self.lie[place].add(TAG_OF[self.deck.pop(0)])
            self.pause(700)

    def move(self, before: str, after: str) -> None:
        self.lie[after] |= self.lie[before]
        self.lie[before] = set()
        self.pause(700)

    def collect(self) -> None:
        for place in CARD_PLACES:
            self.lie[place] = set()
        self.pause(4000)
