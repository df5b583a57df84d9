"""An Ultimate table with antennas: chips decide stakes and payments, cards decide dealing and giving up.

Keys say what no antenna sees: checks, the end of betting, cards that are turned. What happened later is told later:
a key or a card waits for chips that began to move before it.
"""

from collections import Counter

from controller.core.facts import (
    BoxDecided,
    CardCame,
    CardsMoved,
    Chips,
    Evidence,
    Fact,
    Finished,
    HandAttested,
    Refused,
    StakeLies,
)
from controller.core.rules.ultimate.house import SPOTS
from controller.core.rules.ultimate.state import Coup
from controller.core.sensing import ultimate_keys
from controller.core.sensing.closing import Tray
from controller.core.sensing.gaps import Gaps
from controller.core.sensing.keys import MS, Keys
from controller.core.sensing.ultimate_spots import Lying, Round
from controller.core.sensing.whereabouts import Move, Whereabouts
from controller.core.setup import Setup
from controller.core.state import State
from drivers.readings import DeviceFault, DeviceLost, KeyPressed, KeyReleased, Reading, TagsSeen

TUCK_MS = 10_000
"""So long a player may take to put the cards under PLAY (LT-7.3)."""
LIFT_DEBOUNCES = 2
"""A card that is missed for so many debounce times has been lifted: longer than a tag flickers, shorter than a look."""
GONE_TO = ("muck", "discard")


class UltimateRfid:
    """The sensing of one such table. Nothing here is restored: places are unknown until inventoried."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._timing = setup.timing
        self._watched = setup.watched_by_readers
        self._tags = {card: tag for tag, card in setup.deck.tags.items()}
        self.sighted: set[str] = set()
        self._spots = {f"box:{box}:{spot}": Lying(box, spot) for box in range(1, setup.seats + 1) for spot in SPOTS}
        self._where = Whereabouts(setup.timing.debounce_ms * MS, self._absent)
        self._gaps = Gaps.of(setup.timing)
        self._keys: dict[str, Keys] = {}
        self._later: list[tuple[int, Move | Fact]] = []
        self._newest: dict[str, Evidence] = {}
        self._round = Round()
        self._met: set[str] = set()
        self._tray = Tray(setup, self._where, self._newest)

    def _absent(self, tag: str, place: str) -> int:
        if tag not in self._setup.deck.tags:
            return self._timing.chip_absent_ms * MS
        held = place.startswith("box:")
        return (LIFT_DEBOUNCES * self._timing.debounce_ms if held else self._timing.card_absent_ms) * MS

    # --- readings --------------------------------------------------------------------------------------------

    def feed(self, reading: Reading, at: int, state: State) -> list[Fact]:
        """What one reading means."""
        source = Evidence(reading.device, reading.reading)
        match reading:
            case KeyPressed(device=device, key=key):
                self._keyed(self._keypad(device).pressed(key, at, source), at)
                return self._tell(at, state)
            case KeyReleased(device=device, key=key):
                self._keypad(device).released(key)
            case TagsSeen():
                self._inventory(reading, source, at)
                return self.tick(at, state)
            case DeviceLost(device=device):
                self._gone(device, at)
            case DeviceFault(device=device, fault="reset" | "overflow"):
                self._gone(device, at)
            case _:
                pass
        return []

    def _keypad(self, device: str) -> Keys:
        if device not in self._keys:
            unit, seats = self._setup.chipset.unit, self._setup.seats
            self._keys[device] = Keys(unit, seats, self._timing)
        return self._keys[device]

    def _keyed(self, facts: list[Fact], at: int) -> None:
        self._later += [(at, fact) for fact in ultimate_keys.read(facts)]

    def _inventory(self, reading: TagsSeen, source: Evidence, at: int) -> None:
        """Chips are looked for where chips lie and cards where cards lie: an antenna may see through a stack."""
        place = self._watched.get((reading.device, reading.channel))
        if place is None:
            return
        self._newest[place] = source
        cards = self._setup.deck.tags
        if place not in self._where.seen_places and place in self._spots and reading.complete:
            self._look_again(self._spots[place], at)
        if place in self._spots:
            if reading.complete:
                self._gaps.read(place, at)
            else:
                self._gaps.begin([place], at)
            tags = [tag for tag in reading.tags if tag not in cards]
        elif place == "tray":
            tags = [tag for tag in reading.tags if tag in self._setup.chipset.tags]
        else:
            tags = [tag for tag in reading.tags if tag in cards]
        self._where.inventory(place, tags, at, complete=reading.complete)

    def _look_again(self, lying: Lying, at: int) -> None:
        """A spot is read for the first time: what lies there by then is held against what is on record (I-32).

        One inventory may miss a chip, so that it is not told before some more could have been read.
        """
        lying.check_at = at + self._timing.fuse_ms * MS

    def _gone(self, device: str, at: int) -> None:
        if device in self._keys:
            self._keys[device].lost()
        places = [place for (name, _), place in self._watched.items() if name == device]
        self._where.forget(places)
        self._gaps.begin((place for place in places if place in self._spots), at)

    # --- time ------------------------------------------------------------------------------------------------

    def tick(self, at: int, state: State) -> list[Fact]:
        """Let time pass up to ``at`` (monotonic ns)."""
        for keys in self._keys.values():
            self._keyed(keys.tick(at), at)
        self._follow(state)
        for move in self._where.tick(at):
            self._moved(move, at)
        for place, lying in self._spots.items():
            if lying.check_at is not None and at >= lying.check_at:
                lying.check_at = None
                if lying.changed_at is None and self._amount(place, state)[0] != self._last(lying, state):
                    lying.changed_at = lying.began = lying.due = at
        facts = self._tell(at, state)
        if not facts:
            facts += self._tucked(at, state) + self._collected(at, state)
        return facts + self._tray.tick(at)

    def also(self, since: int, fact: Fact) -> None:
        """See ``witnessed.Primary``."""
        self._later.append((since, fact))

    def has(self, card: str, place: str | None = None) -> bool:
        """See ``witnessed.Primary``."""
        return self._where.sees(self._tags.get(card, ""), place)

    def deadline(self) -> int | None:
        """When ``tick`` is next due, in monotonic ns."""
        times: list[int | None] = [keys.deadline() for keys in self._keys.values()]
        times.append(self._where.deadline())
        times += [lying.due for lying in self._spots.values() if lying.changed_at is not None]
        times.append(self._gaps.due if self._later else None)
        times += [lying.check_at for lying in self._spots.values() if lying.check_at is not None]
        times += [since + TUCK_MS * MS for since in self._round.tuck_since.values()]
        if self._round.clear_since is not None:
            times.append(self._round.clear_since + self._timing.clear_ms * MS)
        times.append(self._tray.deadline())
        return min((t for t in times if t is not None), default=None)

    def _follow(self, state: State) -> None:
        """With a round's beginning and end, what lies on the spots is known: it is told again when it changes."""
        coup = state.table.coup
        name = coup.id if coup is not None else ""
        if name == self._round.id:
            return
        self._round = Round(name)
        for place, lying in self._spots.items():
            if lying.changed_at is None and place in self._where.seen_places:
                lying.told = self._amount(place, state)[0]

    def _moved(self, move: Move, at: int) -> None:
        if move.tag in self._setup.deck.tags:
            self._later.append((move.since, move))
            return
        self._tray.moved(move, at)
        for place in (move.before, move.after):
            lying = self._spots.get(place or "")
            if lying is not None:
                since = self._gaps.earliest(place or "", move.since)
                lying.began = since if lying.changed_at is None else min(lying.began, since)
                lying.changed_at, lying.due = at, at + self._timing.merge_ms * MS
                lying.changes = lying.changes or "tray" in (move.before, move.after)

    # --- telling in order ------------------------------------------------------------------------------------

    def _tell(self, at: int, state: State) -> list[Fact]:
        """What is due, in the order in which it began."""
        facts: list[Fact] = []
        waiting: list[int] = []
        for place, lying in self._spots.items():
            arriving = self._where.arriving_since(place)
            if arriving is not None:
                waiting.append(arriving)
            if lying.changed_at is None:
                continue
            if arriving is not None:
                lying.changed_at = at
            lying.due = lying.changed_at + self._timing.merge_ms * MS
            if at < lying.due:
                waiting.append(lying.began)
                continue
            if self._half_changed(place, lying, state):
                lying.due = lying.changed_at + self._timing.change_ms * MS
                if at < lying.due:
                    continue
            self._later.append((lying.began, self._stake(place, lying, state)))
            lying.changed_at, lying.changes = None, False
        first = min(waiting, default=None)
        coming = [s for place in self._card_places() if (s := self._where.arriving_since(place)) is not None]
        cards = min([*coming, *self._gaps.open(at)], default=None)  # stakes that are keyed stand in for a lost reader
        later, self._later = sorted(self._later, key=lambda one: one[0]), []
        for since, what in later:
            barred = first is not None and since > first
            if barred or (cards is not None and since > cards and not isinstance(what, StakeLies)):
                self._later.append((since, what))
            else:
                facts += self._fact(what, state)
        return facts

    def _half_changed(self, place: str, lying: Lying, state: State) -> bool:
        """A stake that stands is perhaps being changed at the tray: the other half comes, or it is told."""
        coup = state.table.coup
        standing = coup is not None and coup.phase in ("deal", "decide") and state.held is None
        return lying.changes and standing and self._amount(place, state)[0] != self._last(lying, state)

    def _card_places(self) -> list[str]:
        return [place for place in self._watched.values() if place not in self._spots and place != "tray"]

    def _fact(self, what: Move | Fact, state: State) -> list[Fact]:
        match what:
            case Move():
                return self._card(what, state)
            case StakeLies(basis="sensor"):
                lying = self._spots[f"box:{what.box}:{what.spot}"]
                if what.amount == self._last(lying, state) and not what.strange:
                    lying.told = what.amount
                    return []
                lying.told = what.amount
                return [what]
            case StakeLies() | BoxDecided(kind="play") if self._sees_chips(what):
                return [Refused(_name(what), "chips decide stakes at this table", what.box, what.evidence)]
            case HandAttested():
                return [*self._untold(state), what]
            case _:
                return [what]

    def _sees_chips(self, fact: StakeLies | BoxDecided) -> bool:
        """Whether an antenna watches the spot and has read it: keys stand in for one that is lost."""
        spot = fact.spot if isinstance(fact, StakeLies) else "play"
        return fact.box is None or f"box:{fact.box}:{spot}" in self._where.seen_places

    # --- chips -----------------------------------------------------------------------------------------------

    def _amount(self, place: str, state: State) -> tuple[int, Chips, int]:
        """What lies on a spot: its value, its chips, and how many of them nobody can value."""
        chipset, colours = self._setup.chipset, state.table.colours
        kinds = {d.id: d for d in chipset.denominations}
        known: Counter[tuple[str, int]] = Counter()
        strange = 0
        for tag in self._where.at(place):
            kind = kinds.get(chipset.tags.get(tag, ""))
            if kind is None or (kind.kind == "colour" and kind.id not in colours):
                strange += 1
            else:
                known[kind.kind, colours[kind.id].value if kind.kind == "colour" else kind.value] += 1
        chips = tuple((name, value, count) for (name, value), count in sorted(known.items()))
        return sum(value * count for _, value, count in chips), chips, strange

    def _stake(self, place: str, lying: Lying, state: State) -> StakeLies:
        amount, chips, strange = self._amount(place, state)
        return StakeLies(lying.box, lying.spot, amount, chips, strange, evidence=(self._newest[place],))

    def _last(self, lying: Lying, state: State) -> int:
        if lying.told is not None:
            return lying.told
        box = state.table.box(lying.box)
        return box.counted.get(lying.spot, box.stake(lying.spot))

    def _untold(self, state: State) -> list[Fact]:
        """When betting ends, what still lies from the round before is a stake of this one."""
        facts: list[Fact] = []
        if state.table.coup is not None:
            return facts
        for place, lying in self._spots.items():
            if place in self._where.seen_places:
                fact = self._stake(place, lying, state)
                if fact.amount != state.table.box(lying.box).stake(lying.spot):
                    facts.append(fact)
                lying.told = fact.amount
        return facts

    # --- cards -----------------------------------------------------------------------------------------------

    def _card(self, move: Move, state: State) -> list[Fact]:
        coup, card = state.table.coup, self._setup.deck.tags[move.tag]
        source = (self._newest[move.after or move.before or ""],)
        slot = next((s for s in coup.slots if s.card == card and not s.gone), None) if coup is not None else None
        if coup is not None and slot is not None and slot.place == "box" and slot.box is not None:
            return self._box_card(coup, slot.box, card, move, source)
        first = move.tag not in self._met
        self._met.add(move.tag)
        if move.after is None or slot is not None or (first and coup is not None and _lies(coup, card, move.after)):
            return []
        if move.after.startswith("box:"):
            return [CardCame("box", card, int(move.after.split(":")[1]), evidence=source)]
        if move.after in ("dealer", "board"):
            return [CardCame(move.after, card, evidence=source)]
        return []

    def _box_card(self, coup: Coup, owner: int, card: str, move: Move, source: tuple[Evidence, ...]) -> list[Fact]:
        """A card of a box moved: to the muck it gives the box up; lifted, it may have been looked at."""
        after, tucked = move.after, move.before == f"box:{owner}:under_play"
        if after is not None and after.startswith("box:") and int(after.split(":")[1]) != owner:
            return [CardCame("box", card, int(after.split(":")[1]), evidence=source)]
        if after in GONE_TO and coup.phase == "decide" and owner not in self._round.given_up:
            self._round.given_up.add(owner)
            return [BoxDecided("fold", owner, basis="sensor", evidence=source)]
        if after is None and move.before is not None:
            return [CardsMoved(owner, "touched" if tucked else "lifted", evidence=source)]
        if tucked and after == f"box:{owner}:cards":
            return [CardsMoved(owner, "touched", evidence=source)]
        return []

    def _tucked(self, at: int, state: State) -> list[Fact]:
        """Cards that still lie beside a PLAY after a while (LT-7.3); dark boxes need not (rules.md 9.6)."""
        coup, facts = state.table.coup, list[Fact]()
        if coup is None:
            return facts
        for number, box in coup.boxes.items():
            beside, under = f"box:{number}:cards", f"box:{number}:under_play"
            waits = bool(box.play_at) and number not in self._round.tuck_told and under in self._where.seen_places
            if not waits or not self._where.holds(beside):
                self._round.tuck_since.pop(number, None)
                continue
            if at - self._round.tuck_since.setdefault(number, at) >= TUCK_MS * MS:
                self._round.tuck_told.add(number)
                del self._round.tuck_since[number]
                facts.append(CardsMoved(number, "not_under_play", evidence=(self._newest[beside],)))
        return facts

    def _collected(self, at: int, state: State) -> list[Fact]:
        """The cards are gone from their places: the dealer is done, once no chips move and nothing is held."""
        coup = state.table.coup
        held = any(i.hand == coup.id for i in state.incidents.values()) if coup is not None else True
        lie = self.sighted or any(self._where.holds(place) for place in self._card_places() if place not in GONE_TO)
        if coup is None or coup.phase != "settle" or held or lie or self._later or not self._at_rest():
            self._round.clear_since = None
            return []
        if self._round.clear_since is None:
            self._round.clear_since = at
        if at - self._round.clear_since < self._timing.clear_ms * MS:
            return []
        self._round.clear_since = None
        sources = {source.device: source for place, source in self._newest.items() if place in self._card_places()}
        return [Finished(basis="sensor", evidence=tuple(sources.values()))] if sources else []

    def _at_rest(self) -> bool:
        return all(lying.changed_at is None and lying.check_at is None for lying in self._spots.values())


def _lies(coup: Coup, card: str, place: str) -> bool:
    """Whether a card was taken out of play there: met for the first time since the start, it has lain there since."""
    own = [s for s in coup.slots if s.gone and s.card == card]
    return any(place == (f"box:{s.box}:cards" if s.place == "box" else s.place) for s in own)


def _name(fact: StakeLies | BoxDecided) -> str:
    return fact.spot if isinstance(fact, StakeLies) else "play"
