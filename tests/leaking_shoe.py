"""A policy for a shoe table: plays a hand on readings alone, and lets accidents happen to devices and people."""

import hashlib
import random
from collections.abc import Callable
from dataclasses import replace

from controller.core.inputs import Command, HandSeed, Notice, Tick, What
from controller.core.rules.profile import Profile
from controller.core.setup import Deck
from drivers.readings import (
    CardSeen,
    DeviceCleared,
    DeviceFault,
    DeviceLost,
    DeviceUp,
    KeyPressed,
    KeyReleased,
    TagsSeen,
)
from tests.felt import setup
from tests.leaking import Played, Player, shuffled

MS = 1_000_000
SHOE, KEYS = "shoe0", "keys0"


class ShoeHand:
    """One table, one hand. ``tagged``: the shoe reads tags and the deck's registry names the cards."""

    def __init__(self, seed: int, profile: Profile, *, tagged: bool, wild: float) -> None:
        self.chance = random.Random(seed)
        self.wild = wild
        tags = {f"E004015A{n:08X}": card for n, card in enumerate(shuffled(seed + 1))}
        self.tag_of = {card: tag for tag, card in tags.items()} if tagged else {}
        self.player = Player(replace(setup(profile), deck=Deck("d1", tags if tagged else {})))
        self.deck = shuffled(seed)
        self.at = self.reading = self.sequence = 0
        self.seats = self.chance.randint(2, 4)
        self.seed = seed
        self.last = CardSeen(SHOE, 0, "0", None, None, 0, 0)

    # --- hands and devices ------------------------------------------------------------------------------------

    def feed(self, what: What, ms: int = 40) -> None:
        """One reading or command after a moment; what is due in between happens first."""
        end = self.at + ms * MS
        table = self.player.table
        while (due := table.deadline()) is not None and due <= end:
            self.at = max(self.at, due)
            self.player.feed(Tick(), self.at)
        self.at = end
        if table.wants_seed:
            self.player.feed(HandSeed(hashlib.sha256(f"{self.seed}/{self.player.no}".encode()).digest()), self.at)
        self.player.feed(what, self.at)

    def number(self) -> int:
        self.reading += 1
        return self.reading

    def key(self, *keys: str, hold: int = 50) -> None:
        for key in keys:
            self.feed(KeyPressed(KEYS, self.number(), key))
            self.feed(KeyReleased(KEYS, self.number(), key), hold)

    def say(self, name: str, **args: object) -> None:
        self.feed(Command(name, args, "s-01", "manager", "test"))

    def card(self, confidence: int = 100, *, unread: bool = False, again: bool = False) -> None:
        if again and self.sequence:
            seen = self.last
        else:
            self.sequence += 1
            value = None if unread or not self.deck else self.deck.pop()
            tag = self.tag_of.get(value) if value else ("E00401FFFFFFFFFF" if self.tag_of else None)
            seen = CardSeen(SHOE, 0, "0", None if self.tag_of else value, tag, confidence, self.sequence)
        self.last = seen
        self.feed(replace(seen, reading=self.number()), 400)

    # --- the hand -----------------------------------------------------------------------------------------------

    def play(self) -> Played:
        for device in (SHOE, KEYS, "tray0"):
            self.feed(DeviceUp(device, self.number(), "x", "M", "S1", "1.0", "serial:///dev/x"))
        self.say("login", staff="s-01", role="manager")
        self.say("open", button=self.seats)
        for seat in range(1, self.seats + 1):
            stack = self.chance.choice([None, 150, 700, 5000, 5000])
            self.say("seat", seat=seat, stack=stack)
        begun = False
        for _ in range(160):
            state = self.player.table.session.state
            begun = begun or state.hand is not None
            if begun and state.hand is None:
                break
            if self.chance.random() < self.wild:
                self.accident()
            else:
                self.help()
        self.key("HAND")
        return self.player.played

    def help(self) -> None:
        state = self.player.table.session.state
        hand, held = state.hand, state.held
        if held is not None and "name_card" in (held.proposed, *held.alternatives):
            # Whoever reads a card may misread it for one that lies face down somewhere.
            self.say("rule", incident=held.id, ruling="name_card", card=self.chance.choice(shuffled(self.seed)))
        elif held is not None and self.chance.random() < 0.7:
            ruling = self.chance.choice(["proposed", *held.alternatives])
            self.say("rule", incident=held.id, ruling=ruling, card=self.chance.choice(self.deck or ["As"]))
        elif hand is None:
            self.key("HAND")
        elif hand.phase == "bet":
            self.decide()
        elif hand.phase == "award":
            self.key("DONE")
        elif waiting := [
            seat for seat in hand.live if seat not in hand.shown and (hand.phase == "showdown" or hand.must_show)
        ]:
            self.key(*str(self.chance.choice(waiting)), self.chance.choice(["SHOW", "SHOW", "FOLD"]))
        else:
            self.card()

    def decide(self) -> None:
        legal = self.player.table.session.legal()
        if legal is None:
            self.card()
        elif legal.raising and self.chance.random() < 0.25:
            verb = "BET" if legal.raising == "bet" else "RAISE"
            top = legal.max_to if legal.max_to is not None else legal.min_to * 2
            self.key(verb, *str(self.chance.choice([legal.min_to, top])), "ENTER")
        elif self.chance.random() < 0.2:
            self.key("FOLD")
        else:
            self.key("CALL" if legal.call else "CHECK")

    # --- what goes wrong ------------------------------------------------------------------------------------------

    def accident(self) -> None:
        name = self.chance.choice(["shoe0", "keys0", "tray0"])
        accidents: list[Callable[[], None]] = [
            lambda: self.card(40),
            lambda: self.card(unread=True),
            lambda: self.card(again=True),
            self.card,
            self.twice,
            lambda: self.feed(DeviceFault(name, self.number(), "jam", "", (("crc", 3),))),
            lambda: self.feed(DeviceCleared(name, self.number(), "jam")),
            lambda: self.feed(DeviceLost(name, self.number(), "unplugged", "serial:///dev/x")),
            lambda: self.feed(DeviceUp(name, self.number(), "x", "M", "S1", "1.0", "serial:///dev/x")),
            lambda: self.key("MISDEAL", "MISDEAL"),
            lambda: self.key("VOID", "VOID"),
            lambda: self.key("FOLD", hold=2500),
            lambda: self.key(str(self.chance.randint(1, 5)), self.chance.choice(["FOLD", "SHOW", "CALL"])),
            lambda: self.key("F13", "7", "RAISE", "DONE", "HAND"),
            lambda: self.feed(TagsSeen("tray0", self.number(), "0", frozenset({"E00402AAAAAAAAAA"}), complete=True)),
            lambda: self.feed(Notice("link.lost", {"since": "x", "queued": 3, "range": {}})),
            lambda: self.say("leave", seat=self.chance.randint(1, 4)),
            lambda: self.say("close"),
            lambda: self.say("rule", incident="I-17", ruling="name_card", card=self.chance.choice(shuffled(self.seed))),
            self.restart,
        ]
        self.chance.choice(accidents)()

    def restart(self) -> None:
        """The power fails: the rules come back from the records, what was half typed is gone."""
        self.player.restart()

    def twice(self) -> None:
        """A card of this hand comes out of the shoe again: the deck is fouled."""
        out = [card for card in shuffled(self.seed) if card not in self.deck]
        if out:
            self.deck.append(self.chance.choice(out))
            self.card()
