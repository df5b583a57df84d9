"""A policy for a table with antennas: chips and cards move as tags, and readers miss, are lost and lie."""

import hashlib
import random
from collections.abc import Callable, Iterable

from controller.core.inputs import Command, HandSeed, Tick, What
from controller.core.rules.profile import Profile
from controller.core.setup import Chipset, Deck, Denomination, DeviceInfo, Limits, Setup
from drivers.readings import (
    DeviceCleared,
    DeviceConflict,
    DeviceFault,
    DeviceLost,
    DeviceUp,
    KeyPressed,
    KeyReleased,
    TagsSeen,
)
from tests.leaking import Played, Player, shuffled

MS = 1_000_000
VALUES = (5000, 1000, 500, 100)
POLL = 250 * MS
STACK = (5000, 1000, 1000, 1000, 500, 500, 500, 500, 100, 100, 100, 100, 100)
CARDS0, STACKS0, BETS0, KEYS = "cards0", "stacks0", "bets0", "keys0"


def table(seed: int, profile: Profile, seats: int) -> Setup:
    chips = {f"E00402AB{n:04X}{value:04d}": str(value) for value in VALUES for n in range(60)}
    cards = {f"E004015A{n:08X}": card for n, card in enumerate(shuffled(seed + 1))}
    ring = range(1, seats + 1)
    devices = (
        DeviceInfo(CARDS0, "feig", {str(s): f"seat:{s}" for s in ring} | {"20": "board", "21": "burn", "22": "muck"}),
        DeviceInfo(STACKS0, "feig", {str(s): f"stack:{s}" for s in ring} | {"20": "pot"}),
        DeviceInfo(BETS0, "feig", {str(s): f"bet:{s}" for s in ring}),
        DeviceInfo(KEYS, "keypad", {}, "keypad"),
    )
    chipset = Chipset("t", tuple(Denomination(str(v), v) for v in VALUES), chips)
    deck = Deck("d1", cards)
    return Setup("zg1", "t07", "rfid", seats, profile, Limits(500, 1000), chipset, deck, devices, test=True)


class RfidHand:
    """One table, one hand."""

    def __init__(self, seed: int, profile: Profile, *, wild: float, missed: float) -> None:
        self.chance = random.Random(seed)
        self.wild, self.missed, self.seed = wild, missed, seed
        self.seats = self.chance.randint(2, 3)
        self.setup = table(seed, profile, self.seats)
        self.player = Player(self.setup)
        self.tag_of = {card: tag for tag, card in self.setup.deck.tags.items()}
        self.deck = [self.tag_of[card] for card in shuffled(seed)]
        self.lies: dict[str, list[str]] = {}
        self.at = self.next_poll = self.reading = 0

    # --- time and tags ----------------------------------------------------------------------------------------

    def feed(self, what: What) -> None:
        if self.player.table.wants_seed:
            seed = hashlib.sha256(f"{self.seed}/{self.player.no}".encode()).digest()
            self.player.feed(HandSeed(seed), self.at)
        self.player.feed(what, self.at)

    def number(self) -> int:
        self.reading += 1
        return self.reading

    def run(self, ms: int) -> None:
        """Let time pass: the readers poll, the core gets its ticks."""
        end = self.at + ms * MS
        while True:
            due = self.player.table.deadline()
            when = min(self.next_poll, due if due is not None else self.next_poll)
            if when > end:
                break
            self.at = max(self.at, when)
            if self.at >= self.next_poll:
                self.next_poll = self.at + POLL
                self.poll()
            else:
                self.feed(Tick())
        self.at = end

    def poll(self) -> None:
        for device in self.setup.devices:
            for channel, place in device.places.items():
                lying = self.lies.get(place, [])
                seen = frozenset(tag for tag in lying if self.chance.random() >= self.missed)
                self.feed(TagsSeen(device.name, self.number(), channel, seen, complete=True))

    def key(self, *keys: str) -> None:
        for key in keys:
            self.feed(KeyPressed(KEYS, self.number(), key))
            self.run(60)
            self.feed(KeyReleased(KEYS, self.number(), key))
            self.run(60)

    def say(self, name: str, **args: object) -> None:
        self.feed(Command(name, args, "s-01", "chief_inspector", "test"))

    def put(self, tags: Iterable[str], place: str, ms: int = 600) -> None:
        for tag in list(tags):
            for held in self.lies.values():
                if tag in held:
                    held.remove(tag)
            self.lies.setdefault(place, []).append(tag)
        self.run(ms)

    def bet(self, seat: int, amount: int) -> bool:
        """Chips of exactly this amount, largest first; ``False`` where the stack has none."""
        chosen: list[str] = []
        worth = self.setup.chipset.tags
        for tag in sorted(self.lies.get(f"stack:{seat}", ()), key=lambda tag: -int(worth[tag])):
            if int(worth[tag]) <= amount:
                chosen.append(tag)
                amount -= int(worth[tag])
        if amount or not chosen:
            return False
        self.put(chosen, f"bet:{seat}", 2500)
        return True

    # --- the hand -----------------------------------------------------------------------------------------------

    def play(self) -> Played:
        for device in self.setup.devices:
            self.feed(DeviceUp(device.name, self.number(), "feig", "M", "S1", "1.0", "serial:///dev/x"))
        self.say("open", button=self.seats)
        spare = {str(v): [tag for tag, d in self.setup.chipset.tags.items() if d == str(v)] for v in VALUES}
        for seat in range(1, self.seats + 1):
            self.put([spare[str(value)].pop() for value in STACK], f"stack:{seat}", 0)
            self.say("seat", seat=seat, stack=sum(STACK))
        self.run(4000)
        begun = False
        for _ in range(60):
            state = self.player.table.session.state
            begun = begun or state.hand is not None
            if begun and state.hand is None:
                break
            self.accident() if self.chance.random() < self.wild else self.help()
        self.run(3000)
        return self.player.played

    def help(self) -> None:
        session = self.player.table.session
        hand, held = session.state.hand, session.state.held
        if held is not None and self.chance.random() < 0.8:
            self.say("rule", incident=held.id, ruling=self.chance.choice(["proposed", *held.alternatives]))
        elif hand is None:
            self.key("HAND")
            small = self.seats if self.seats == 2 else 1  # two players: the button posts it
            self.bet(small, 500)
            self.bet(small % self.seats + 1, 1000)
        elif hand.phase == "deal":
            self.deal()
        elif hand.phase == "bet":
            self.decide()
        elif hand.phase == "award":
            self.finish()
        elif waiting := [s for s in hand.live if s not in hand.shown and (hand.phase == "showdown" or hand.must_show)]:
            seat = self.chance.choice(waiting)
            if self.chance.random() < 0.7:
                self.key(*str(seat), "SHOW")
            else:
                self.put(self.lies.get(f"seat:{seat}", []), "muck", 2500)
        else:
            for seat in range(1, self.seats + 1):
                self.put(self.lies.get(f"bet:{seat}", []), "pot", 0)
            self.run(1500)
            self.put([self.deck.pop()], "board" if hand.burned else "burn", 1200)

    def deal(self) -> None:
        hand = self.player.table.session.state.hand
        assert hand is not None
        posted = {seat for seat, _ in hand.posted}
        for seat, amount in ((hand.small, 500), (hand.big, 1000)):
            if seat is not None and seat not in posted:
                self.bet(seat, amount)
        if len(self.deck) < 10:  # two antennas quarrel about a card and are not believed: somebody has to part them
            self.feed(DeviceCleared(CARDS0, self.number(), "conflict"))
            self.run(2000)
            return
        seat = hand.order[len(hand.slots) % len(hand.order)]
        self.put([self.deck.pop()], f"seat:{seat}", 1200)

    def decide(self) -> None:
        legal = self.player.table.session.legal()
        if legal is None:
            self.run(1500)
            return
        seat, roll = legal.seat, self.chance.random()
        if legal.raising and roll < 0.15 and self.bet(seat, legal.min_to - self.staked(seat)):
            return
        if roll < 0.35 and legal.call:
            self.put(self.lies.get(f"seat:{seat}", []), "muck", 2500)
        elif not legal.call:
            self.key("CHECK")
        elif not self.bet(seat, legal.call):
            self.key("FOLD")

    def staked(self, seat: int) -> int:
        hand = self.player.table.session.state.hand
        return hand.bet.get(seat, 0) if hand is not None else 0

    def finish(self) -> None:
        awarded = [r for r in self.player.played.records if r.type == "award.computed"]
        pots = awarded[-1].data["pots"] if awarded else []
        winner = pots[0]["winners"][0]["seat"] if pots else 1
        for place in [p for p in self.lies if p.startswith("bet:")]:
            self.put(self.lies[place], "pot", 0)
        self.put(self.lies.get("pot", []), f"stack:{winner}", 1500)
        for place in [p for p in self.lies if p.startswith("seat:") or p in ("board", "burn", "muck")]:
            self.put(self.lies[place], "stub", 0)
        self.run(6000)
        self.key("DONE")

    # --- what goes wrong ------------------------------------------------------------------------------------------

    def accident(self) -> None:
        reader = self.chance.choice([CARDS0, BETS0, STACKS0])
        seat = self.chance.randint(1, self.seats)
        accidents: list[Callable[[], None]] = [
            lambda: self.put([self.deck.pop()], self.chance.choice([f"seat:{seat}", "board", "burn", "muck"]), 1500),
            lambda: self.lift(f"seat:{seat}"),
            lambda: self.lift("board"),
            lambda: self.put([f"E00409F{self.chance.randrange(10)}ABCDEF00"], f"seat:{seat}", 2000),
            lambda: self.feed(DeviceLost(reader, self.number(), "unplugged", "serial:///dev/x")),
            lambda: self.feed(DeviceUp(reader, self.number(), "feig", "M", "S1", "1.0", "serial:///dev/x")),
            lambda: self.feed(DeviceFault(reader, self.number(), "rf", "", (("crc", 1),))),
            lambda: self.conflict(f"seat:{seat}"),
            lambda: self.key("MISDEAL", "MISDEAL"),
            lambda: self.key(str(seat), self.chance.choice(["SHOW", "FOLD"])),
            lambda: self.put(self.lies.get(f"seat:{seat}", [])[:1], f"seat:{self.seats + 1 - seat}", 1500),
            self.restart,
        ]
        self.chance.choice(accidents)()

    def lift(self, place: str) -> None:
        held = self.lies.get(place, [])
        self.lies[place] = []
        self.run(self.chance.choice([200, 800, 3000]))
        self.lies[place] = held
        self.run(1500)

    def conflict(self, place: str) -> None:
        for tag in self.lies.get(place, [])[:1]:
            self.feed(DeviceConflict(CARDS0, self.number(), tag, ("1", "2")))

    def restart(self) -> None:
        self.player.restart()
        self.run(2000)
