"""A policy for a table of boxes with a shoe: plays a round on readings alone, with accidents of devices and people."""

import random
from dataclasses import replace
from typing import Any

from controller.core.rules.ultimate import closing
from controller.core.setup import Deck
from drivers.readings import DeviceUp
from tests.boxes import setup
from tests.leaking import Played, Player, shuffled
from tests.leaking_shoe import KEYS, SHOE, ShoeHand

BOXES = (1, 2, 3)
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
