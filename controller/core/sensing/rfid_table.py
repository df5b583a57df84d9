"""The RFID table: cards and chips speak for themselves; keys say what no antenna sees. Readings in, facts out.

One source decides each act: chips decide stakes, cards decide dealing and folding, keys decide checks and shows.
A keyed amount is only spoken: it waits for the chips and goes with them.
"""

from controller.core.facts import (
    Declared,
    Evidence,
    Fact,
    Finished,
    HandAttested,
    Shown,
    StakePlaced,
)
from controller.core.rules.starting import dues
from controller.core.sensing import inorder
from controller.core.sensing.bets import Bets
from controller.core.sensing.cards import CARD_PLACES, Cards, ReadCards, is_card
from controller.core.sensing.change import Changing
from controller.core.sensing.closing import Closing, Tray
from controller.core.sensing.gone import Gone
from controller.core.sensing.keys import MS, Keys
from controller.core.sensing.lying import Lying
from controller.core.sensing.newcomers import Newcomers
from controller.core.sensing.out_of_pot import OutOfPot
from controller.core.sensing.shoe_beside import ShoeBeside
from controller.core.sensing.spoken import Spoken
from controller.core.sensing.unheard import Unheard
from controller.core.sensing.unread_cards import Turning, UnreadCards
from controller.core.sensing.whereabouts import Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import State
from drivers.readings import (
    CardSeen,
    DeviceCleared,
    DeviceConflict,
    DeviceFault,
    DeviceLost,
    KeyPressed,
    KeyReleased,
    Reading,
    TagsSeen,
)

SPOKEN = ("bet", "raise", "call", "all_in")
END = 1 << 63
AGAIN = 100 * MS
"""When to look again at chips that rest, while others that came before them do not yet."""


class RfidTable:
    """The sensing of one RFID table. Nothing here is restored after a crash: places are unknown until inventoried."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._timing = setup.timing
        self._watched = setup.watched_by_readers
        self._where = Whereabouts(setup.timing.debounce_ms * MS, self._absent)
        self._keys: dict[str, Keys] = {}
        self._spoken = Spoken(setup.timing.spoken_ms * MS)
        self._bets = Bets(setup, self._where)
        self._unheard = Unheard.of(setup)
        self._newest: dict[str, Evidence] = {}
        self._change = Changing(setup, self._where, self._bets, self._newest)
        self._out_of_pot = OutOfPot(setup, self._where, self._bets, self._newest)
        self._closing = Closing(setup, self._where, self._newest)
        self._tray = Tray(setup, self._where, self._newest)
        made = UnreadCards if setup.unread else ReadCards
        self._cards: Cards = made(setup, self._where, self._newest)
        self._turning = Turning(setup, self._where)
        self._lying = Lying(setup, self._where, self._cards, self._newest)
        self._gone = Gone(setup, self._where, self._cards, self._newest)
        self.shoe = ShoeBeside.of(setup)
        self._newcomers = Newcomers(setup, self._cards, self.shoe)
        self._later: list[inorder.Told] = []
        self._late = 2 * setup.timing.fuse_ms * MS
        self._burns = bool(setup.profile.burns_per_street)
        self._again: int | None = None
        self._early = False
        """Whether chips wait for cards, and with them the words that they follow."""
        self._card_places = {place for place in self._watched.values() if place.startswith(CARD_PLACES)}
        self._tags = {card: tag for tag, card in setup.deck.tags.items()}
        self._disputed: dict[str, set[str]] = {}
        self.sighted: set[str] = set()

    def _absent(self, tag: str, place: str) -> int:
        """Cards are missed soon; a chip deep in a stack is missed often and leaves it by showing up elsewhere."""
        del place
        card = is_card(self._setup, tag)
        return (self._timing.card_absent_ms if card else self._timing.chip_absent_ms) * MS

    # --- readings --------------------------------------------------------------------------------------------

    def feed(self, reading: Reading, at: int, state: State) -> list[Fact]:
        """What one reading means."""
        source = Evidence(reading.device, reading.reading)
        match reading:
            case KeyPressed(device=device, key=key):
                return self._key_facts(self._keypad(device).pressed(key, at, source), at, state) + self._told(at, state)
            case KeyReleased(device=device, key=key):
                self._keypad(device).released(key)
            case CardSeen() if self.shoe is not None:
                self.shoe.left(reading, at, state)
                return self.tick(at, state)
            case TagsSeen():
                return self._inventory(reading, source, at, state)
            case DeviceLost(device=device):
                self._lost(device)
            case DeviceFault(device=device, fault="reset" | "overflow"):
                self._lost(device)
            case DeviceConflict():
                self._dispute(reading)
            case DeviceCleared(device=device, fault="conflict"):
                self._disputed.pop(device, None)
            case _:
                pass
        return []

    def _keypad(self, device: str) -> Keys:
        if device not in self._keys:
            self._keys[device] = Keys(self._setup.chipset.unit, self._setup.seats, self._timing)
        return self._keys[device]

    def _key_facts(self, facts: list[Fact], at: int, state: State) -> list[Fact]:
        """Amounts are spoken and wait for chips; HAND and DONE carry the stacks that the antennas see."""
        out: list[Fact] = []
        for fact in facts:
            if isinstance(fact, Declared) and fact.kind in SPOKEN:
                self._spoken.say(at, fact)
            elif isinstance(fact, HandAttested):
                out += self._closing.attest(fact, at, state)
            elif isinstance(fact, Finished):
                self._closing.finish(fact, at)
            elif isinstance(fact, Shown):
                self._lying.shown(fact, at)
            elif isinstance(fact, Declared):
                self._later.append((at, fact))
            else:
                out.append(fact)
        return out

    def _inventory(self, reading: TagsSeen, source: Evidence, at: int, state: State) -> list[Fact]:
        place = self._watched.get((reading.device, reading.channel))
        if place is None or place in self._disputed.get(reading.device, ()):
            return []
        self._newest[place] = source
        ours = [tag for tag in reading.tags if tag in self._setup.chipset.tags or is_card(self._setup, tag)]
        self._bets.read(place, at)
        self._where.inventory(place, ours, at, complete=reading.complete)
        self._lying.read(place, ours, at, complete=reading.complete)
        if reading.complete:
            self._unheard.heard(place, at)
        else:  # until it is read whole again, what comes there may have come at any moment
            self._unheard.forget([place])
        return self.tick(at, state)

    def _dispute(self, conflict: DeviceConflict) -> None:
        """Two antennas claim one tag: what both watch is unknown, and neither is believed until that is over."""
        places = {
            self._watched[key] for channel in conflict.channels if (key := (conflict.device, channel)) in self._watched
        }
        self._disputed.setdefault(conflict.device, set()).update(places)
        self._forget(places)

    def _lost(self, device: str) -> None:
        if device in self._keys:
            self._keys[device].lost()
        self._forget({place for (name, _), place in self._watched.items() if name == device})

    def _forget(self, places: set[str]) -> None:
        self._where.forget(places)
        self._unheard.forget(places)

    # --- time ------------------------------------------------------------------------------------------------

    def tick(self, at: int, state: State) -> list[Fact]:
        """Let time pass up to ``at`` (monotonic ns)."""
        facts: list[Fact] = []
        for keys in self._keys.values():
            facts += self._key_facts(keys.tick(at), at, state)
        self._bets.follow(state, at)
        self._cards.follow(state)
        for move in self._where.tick(at):
            self._moved(move, at, state)
        facts += self._closing.attested(at, state)
        facts += self._out_of_pot.tick(at, state)
        facts += self._change.tick(at, state)
        facts += self._told(at, state)
        facts += self._turning.read(at, state.hand, self._newest)
        facts += self.shoe.tick(at, state) if self.shoe is not None else []
        facts += self._lapse(at)
        facts += self._gone.tick(at, state)
        facts += self._closing.tick(at, state, self.sighted)
        facts += self._tray.tick(at)
        return facts

    def also(self, since: int, fact: Fact) -> None:
        """See ``witnessed.Primary``."""
        self._later.append((since, fact))

    def has(self, card: str, place: str | None = None) -> bool:
        """See ``witnessed.Primary``."""
        return self._where.sees(self._tags.get(card, ""), place)

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        times: list[int | None] = [k.deadline() for k in self._keys.values()]
        times += [self._where.deadline(), self._turning.deadline(), self._tray.deadline(), self._lying.deadline()]
        times += [*self._bets.deadlines(), self._again, self._unheard.due, self._change.deadline()]
        times += [self._closing.deadline(), self._gone.deadline(), self._out_of_pot.deadline()]
        times += [self.shoe.deadline() if self.shoe is not None else None]
        times += self._spoken.deadlines(self._early)
        return min((t for t in times if t is not None), default=None)

    # --- cards -----------------------------------------------------------------------------------------------

    def _moved(self, move: Move, at: int, state: State) -> None:
        self._gone.moved(move)
        if is_card(self._setup, move.tag):
            self._lying.moved(move)
            self._newcomers.moved(move, at, state, self._later)
            return
        self._change.moved(move, at, state)
        self._bets.moved(move, at)
        self._out_of_pot.moved(move, state)
        self._tray.moved(move, at)

    # --- chips -----------------------------------------------------------------------------------------------

    def _told(self, at: int, state: State) -> list[Fact]:
        """What is due to be told, in the order in which it happened: nothing passes what came before it.

        One stake at a time: what comes after it depends on what the rules make of it.
        """
        bets = self._bets
        for seat, to in self._spoken.unanswered(state):
            assert state.hand is not None
            bets.answers(seat, state.hand, at, to)
        ready, moving = bets.at_rest(at)
        cards = self._where.eldest_arrival(self._card_places)
        self._later += self._lying.tick(at, state)
        shows = self._lying.waits_since()
        changing = self._exchanged(ready, at, state)
        waiting = min([*moving, *(since for since in (cards, shows) if since is not None)], default=None)
        facts: list[Fact] = []
        later, held, until = inorder.sort(self._later, at, state, self._late, self._where, burns=self._burns)
        if state.hand is not None and state.hand.phase == "bet":  # what comes after a fold that waits, waits with it
            waiting = min([*(since for since, _ in held), *([] if waiting is None else [waiting])], default=None)
        later, held, until = self._newcomers.in_turn(later, held, until, at, state.hand)
        facts += self._before_cards(ready, at, state)
        if not self._card_places <= self._where.seen_places:
            bets.unsure(at)
        for seat in [seat for seat in ready if self._has_to_wait(seat, cards, state)]:
            bets.postpone(seat, at + AGAIN)
            ready.remove(seat)
        later, unheard = self._unheard.part(later, ready, bets, at, state.hand)
        held += unheard
        while (later or ready) and not any(isinstance(fact, StakePlaced) for fact in facts):
            seat = min(ready, key=lambda one: (bets.since(one), inorder.turn(state.hand, one)), default=0)
            since = min(later[0][0] if later else END, bets.since(seat) if seat else END)
            if (waiting is not None and since > waiting) or self._is_behind(changing, since, seat, later, state):
                break
            if seat and since == bets.since(seat) and (bets.began(seat) or not later or later[0][0] > since):
                ready.remove(seat)
                facts += self._stake(seat, at, state)
            else:
                facts.append(later.pop(0)[1])
        soon = at if changing is None else at + AGAIN
        self._again = soon if waiting is None and (later or ready) else until
        self._later = later + held
        for seat in ready:
            bets.postpone(seat, soon if waiting is None else at + AGAIN)
        return facts

    def _exchanged(self, ready: list[int], at: int, state: State) -> int | None:
        """Chips that replace others, or may do so soon, are no stake yet: they leave ``ready``.

        Since when the seat to act makes change: what others do later is told later.
        """
        for seat, until in self._change.waiting(ready, at, state.hand).items():
            ready.remove(seat)
            self._bets.postpone(seat, until)
        return self._change.begun(at, state.hand)

    def _is_behind(self, changing: int | None, since: int, seat: int, later: list[inorder.Told], state: State) -> bool:
        """Whether what comes next, at ``since``, is another one's deed while the seat to act makes change."""
        if changing is None or since <= changing or state.hand is None:
            return False
        if not seat or (later and later[0][0] < self._bets.since(seat)):
            fact = later[0][1]
            return isinstance(fact, Declared) and fact.seat != state.hand.to_act
        return seat != state.hand.to_act

    def _before_cards(self, ready: list[int], at: int, state: State) -> list[Fact]:
        """Chips that came before the cards they follow wait for them, and leave ``ready``.

        So long as words wait for chips nobody is told; then it is said what lies there, and they wait on.
        """
        hand, bets, facts = state.hand, self._bets, list[Fact]()
        self._early = False
        if hand is None:
            return facts
        owing = {due[0] for due in dues(hand)}
        for seat in list(ready):
            age = at - bets.since(seat)
            if not bets.waits(seat, hand, owing, age < self._late):
                continue
            ready.remove(seat)
            bets.keep(seat)
            self._early = True
            bets.postpone(seat, at + self._spoken.lapse - age % self._spoken.lapse)
            if age >= self._spoken.lapse and state.held is None and (total := bets.warn(seat)):
                facts.append(StakePlaced(seat, total, 1, 0, evidence=(self._newest[f"bet:{seat}"],)))
        return facts

    def _has_to_wait(self, seat: int, cards: int | None, state: State) -> bool:
        """Blinds wait while no hand may begin. Chips that were taken wait for cards: a fold may have come first."""
        if state.hand is None:
            return bool(state.incidents)
        return not self._bets.began(seat) and (cards is not None or not self._card_places <= self._where.seen_places)

    def open_places(self, state: State) -> frozenset[str]:
        """The seats whose cards lie face up, and may be read."""
        return self._turning.places(state.hand)

    def _stake(self, seat: int, at: int, state: State) -> list[Fact]:
        """The chips before a seat are at rest: a stake, if they are something new. A HAND before it waits no more."""
        began = self._bets.began(seat)
        new = self._bets.settled(seat, state, lambda total: total < self._spoken.to(seat, began, state))
        if new is None:
            return []
        spoken = self._spoken.take(seat, began, state)
        evidence = (self._newest[f"bet:{seat}"], *(spoken.evidence if spoken is not None else ()))
        stake = StakePlaced(seat, new.total, new.movements, new.chips, spoken, evidence=evidence)
        return [*self._closing.attested(at, state, due=True), stake]

    def _lapse(self, at: int) -> list[Fact]:
        old = self._spoken.lapsed(at, self._early)
        if old:  # chips that waited for more of what was announced are taken for what they are
            self._bets.look_again(at)
        return old
