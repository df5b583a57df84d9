"""Policies for tables of boxes, with a shoe and with antennas: a round on readings alone, with accidents."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from controller.core.inputs import Command
from controller.core.rules.ultimate import closing
from controller.core.setup import Deck, DeviceInfo
from drivers.readings import DeviceLost, DeviceUp
from tests.boxes import setup
from tests.boxrigs import CARD_PLACES, CHANNELS, CHIP_TAGS, CHIPS
from tests.leaking import Played, Player, shuffled
from tests.leaking_rfid import BETS0, CARDS0, RfidHand
from tests.leaking_shoe import KEYS, SHOE, ShoeHand

BOXES = (1, 2, 3)
WORTH = ("c500", "c1000")
HOUSES: tuple[dict[str, Any], ...] = (
    {},
    {"board": "predealt"},
    {"fold_trips": "lost", "misdeal_after_play": "play_returned"},
)


class BoxHand(ShoeHand):
    """One table of boxes, one round."""

    def __init__(self, seed: int, *, tagged: bool, wild: float) -> None:
        self.chance = random.Random(seed)
        self.wild, self.seed = wild, seed
        tags = {f"E004015A{n:08X}": card for n, card in enumerate(shuffled(seed + 1))}
        self.tag_of = {card: tag for tag, card in tags.items()} if tagged else {}
        deck = Deck("d1", tags if tagged else {})
        self.player = Player(replace(setup(house=HOUSES[seed % len(HOUSES)]), deck=deck))
        self.deck = shuffled(seed)
        self.at = self.reading = self.sequence = 0

    def play(self) -> Played:
        """To the end of the round, or as far as the accidents let it come."""
        for device in (SHOE, KEYS, "tray0"):
            self.feed(DeviceUp(device, self.number(), "x", "M", "S1", "1.0", "serial:///dev/x"))
        self.say("login", staff="s-01", role="manager")
        self.say("open")
        for box in BOXES:
            self.say("seat", seat=box, player=f"p-{box}", stack=None)
        self.say("attest", rule="LT-2.2", boxes=list(BOXES))
        begun = False
        for _ in range(160):
            coup = self.player.table.session.state.table.coup
            begun = begun or coup is not None
            if begun and coup is None:
                break
            if self.chance.random() < self.wild:
                self.accident()
            else:
                self.help()
        self.key("HAND")
        return self.player.played

    def help(self) -> None:
        """What the round waits for."""
        session, chance = self.player.table.session, self.chance
        table = session.state.table
        coup = table.coup
        incidents = list(session.state.incidents.values())
        if incidents and chance.random() < 0.8:
            ruling = chance.choice(["proposed", *incidents[0].alternatives])
            card = chance.choice(shuffled(self.seed))
            self.say("rule", incident=incidents[0].id, ruling=ruling, card=card)
        elif coup is None:
            self.bet()
        elif coup.phase == "decide":
            box = str(chance.choice(coup.waiting(coup.decision)))
            self.key(box, chance.choice(["CHECK", "CHECK", "CALL", "FOLD"] if coup.decision < 3 else ["CALL", "FOLD"]))
        elif coup.phase == "settle" and not closing.unrevealed(coup):
            self.key("DONE")
        elif coup.phase in ("reveal", "settle") or (coup.phase == "board" and len(coup.cards("board")) == 5):
            self.key("SHOW")
        else:
            self.card()

    def bet(self) -> None:
        """Another stake, or the end of betting."""
        table = self.player.table.session.state.table
        box = str(self.chance.choice(BOXES))
        if not table.staked or self.chance.random() < 0.6:
            self.key(box, "BET", "2", "ENTER")
            if self.chance.random() < 0.4:
                self.key(box, "ALLIN", "1", "ENTER")
            if self.chance.random() < 0.2:
                self.key(box, "RAISE", "6", "ENTER")
        else:
            self.key("HAND")


class BoxAntennas(RfidHand):
    """One table of boxes with antennas, one round: four spots, cards and their play are watched at each box."""

    def __init__(self, seed: int, *, wild: float, missed: float) -> None:
        self.chance = random.Random(seed)
        self.wild, self.missed, self.seed, self.seats = wild, missed, seed, 3
        devices = (
            DeviceInfo(CARDS0, "feig", CHANNELS[CARDS0], "reader"),
            DeviceInfo(BETS0, "feig", CHANNELS[BETS0], "reader"),
            DeviceInfo(KEYS, "keypad", {}, "keypad"),
        )
        deck = Deck("d1", {f"E004015A{n:08X}": card for n, card in enumerate(shuffled(seed + 1))})
        house = HOUSES[seed % len(HOUSES)]
        self.setup = setup(seats=3, house=house, kind="rfid", devices=devices, deck=deck, chipset=CHIPS)
        self.player = Player(self.setup)
        self.tag_of = {card: tag for tag, card in self.setup.deck.tags.items()}
        self.deck = [self.tag_of[card] for card in shuffled(seed)]
        self.lies = {}
        self.at = self.next_poll = self.reading = 0
        self.spare = {value: sorted(tag for tag, kind in CHIP_TAGS.items() if kind == value) for value in WORTH}

    def say(self, name: str, **args: object) -> None:
        self.feed(Command(name, args, "s-01", "manager", "test"))

    def play(self) -> Played:
        """To the end of the round, or as far as the accidents let it come."""
        for device in self.setup.devices:
            self.feed(DeviceUp(device.name, self.number(), "feig", "M", "S1", "1.0", "serial:///dev/x"))
        self.say("login", staff="s-01", role="manager")
        self.say("open")
        for box in BOXES:
            self.say("seat", seat=box, player=f"p-{box}", stack=None)
        self.say("attest", rule="LT-2.2", boxes=list(BOXES))
        self.put([self.spare[value].pop() for value in WORTH for _ in range(20)], "tray", 2000)
        begun = False
        for _ in range(70):
            coup = self.player.table.session.state.table.coup
            begun = begun or coup is not None
            if begun and coup is None:
                break
            self.accident() if self.chance.random() < self.wild else self.help()
        self.run(3000)
        return self.player.played

    def help(self) -> None:
        """What the round waits for."""
        state, chance = self.player.table.session.state, self.chance
        incidents = list(state.incidents.values())
        coup = state.table.coup
        if incidents and chance.random() < 0.8:
            ruling = chance.choice(["proposed", *incidents[0].alternatives])
            card = chance.choice(shuffled(self.seed))
            self.say("rule", incident=incidents[0].id, ruling=ruling, card=card)
        elif coup is None:
            self.bet_or_begin()
        elif coup.phase == "decide":
            self.decide_at(chance.choice(coup.waiting(coup.decision)))
        elif coup.phase == "deal":
            places = [*(f"box:{box}:cards" for box in sorted(coup.boxes)), "dealer"]
            self.put([self.deck.pop()], places[len(coup.slots) % len(places)], 1200)
        elif coup.phase == "settle" and not closing.unrevealed(coup):
            for place in CARD_PLACES:
                self.lies[place] = []
            self.run(5000)
            self.key("DONE")
        elif coup.phase == "board" and len(coup.cards("board")) < 5:
            self.put([self.deck.pop()], "board", 1200)
        else:
            self.key("SHOW")

    def bet_or_begin(self) -> None:
        """Another stake, or the end of betting."""
        box = self.chance.choice(BOXES)
        if self.player.table.session.state.table.staked and self.chance.random() < 0.5:
            self.key("HAND")
        elif not self.lies.get(f"box:{box}:ante"):
            for spot, value in (("ante", "c1000"), ("blind", "c1000"), ("trips", "c500")):
                if spot != "trips" or self.chance.random() < 0.5:
                    self.put([self.spare[value].pop()], f"box:{box}:{spot}", 0)
            self.run(2500)

    def decide_at(self, box: int) -> None:
        """A check by key, a play by chips, a fold by cards."""
        roll = self.chance.random()
        cards = self.lies.get(f"box:{box}:cards", [])
        if roll < 0.3 and cards:
            self.put(cards, "muck", 2500)
        elif roll < 0.6:
            self.put([self.spare["c1000"].pop() for _ in range(self.chance.choice([1, 2, 3, 4]))], f"box:{box}:play", 0)
            self.put(cards, f"box:{box}:under_play", 2500)
        else:
            self.key(str(box), self.chance.choice(["CHECK", "CHECK", "FOLD"]))

    def accident(self) -> None:
        reader, box = self.chance.choice([CARDS0, BETS0]), self.chance.choice(BOXES)
        here, there = f"box:{box}:cards", f"box:{self.chance.choice(BOXES)}:cards"
        up = DeviceUp(reader, self.number(), "feig", "M", "S1", "1.0", "serial:///dev/x")
        accidents: list[Callable[[], None]] = [
            lambda: self.put([self.deck.pop()], self.chance.choice([here, "board", "dealer", "muck"]), 1500),
            lambda: self.lift(self.chance.choice([here, "board", "dealer"])),
            lambda: self.put(self.lies.get(here, []), there, 1500),
            lambda: self.put(self.lies.get(there, []), "muck", 1500),
            lambda: self.feed(DeviceLost(reader, self.number(), "unplugged", "serial:///dev/x")),
            lambda: self.feed(up),
            lambda: self.key("MISDEAL", "MISDEAL"),
            lambda: self.conflict(here),
            self.restart,
        ]
        self.chance.choice(accidents)()
