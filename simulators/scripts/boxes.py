"""The acts of a scenario at a table of boxes (Ultimate): on antennas, or as keys where no sensor sees them.

Stakes are chips on spots (``box:2:ante``). At a shoe table the dealer keys what they mean (``docs/keypad.md``): BLIND
comes with ANTE, and chips that were declared press nothing more.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from simulators.errors import RigError
from simulators.scripts import antennas, steps
from simulators.scripts.accidents import Expand
from simulators.scripts.acts import (
    DECK,
    Act,
    Attest,
    Declare,
    Kind,
    MoveCards,
    MoveChips,
    Muck,
    Show,
    Slide,
    Unsensed,
)
from simulators.scripts.felt import ON_THE_FELT, Felt
from simulators.scripts.places import known, place
from simulators.scripts.strict import Section
from simulators.tokens import PURSE_EACH

SPOT = re.compile(r"box:([1-9]):(ante|blind|trips|play)")
CARDS = re.compile(r"box:([1-9])(?::(cards|under_play))?")
KEYED: Mapping[str, Kind] = {"ante": "bet", "trips": "all_in", "play": "raise"}
"""What the dealer keys for the chips on a spot."""
DECLARED: Mapping[str, Kind] = {"check": "check", "fold": "fold", "play": "call"}


@dataclass(slots=True)
class BoxFelt(Felt):
    """One table of boxes, while the steps of its scenario are expanded. ``sensed``: antennas watch it."""

    sensed: bool = False
    chips: dict[str, Counter[int]] = field(default_factory=dict)
    """The chips of each place by value; what players have left is not counted."""
    brought: dict[int, Counter[int]] = field(default_factory=dict)
    """What the player of each box must bring."""
    said: set[int] = field(default_factory=set)
    """Boxes whose PLAY was declared: its chips press nothing more."""
    moved: int = 0
    """What the tray has gained by now."""

    def places(self) -> tuple[str, ...]:
        """See ``Felt.places``."""
        what = ("ante", "blind", "trips", "play", "cards", "under_play")
        return (*(f"box:{seat.seat}:{one}" for seat in self.seats for one in what), "dealer", *ON_THE_FELT)

    def begin(self) -> list[Act]:
        """Nothing: here the end of betting is declared."""
        return []

    def street(self) -> list[Act]:
        """Nothing is swept between streets."""
        return []

    def new_hand(self, top: Iterable[str]) -> None:
        """The deck is together again and shuffled."""
        self.top, self.gone = list(top), set()
        self.said.clear()

    def purse(self, box: int) -> dict[int, int]:
        """The chips that the player of a box has: what the scenario needs, and some more."""
        brought = self.brought.get(box, Counter())
        return {value: max(brought[value], PURSE_EACH) for value in self.stakes.chips}

    def move(self, section: Section, source: str, target: str, counts: Mapping[int, int]) -> None:
        """Count chips from place to place. Raises ``ScriptError`` where they are not there."""
        if source.startswith("purse:"):
            self.brought.setdefault(int(source[6:]), Counter()).update(counts)
        else:
            has = self.chips.setdefault(source, Counter())
            if any(has[value] < count for value, count in counts.items()):
                raise section.wrong("chips", dict(counts), f"{source} has {dict(+has)} at this moment")
            has.subtract(counts)
        self.chips.setdefault(target, Counter()).update(counts)
        amount = sum(value * count for value, count in counts.items())
        self.moved += amount * ((target == "tray") - (source == "tray"))


def _felt(felt: Felt) -> BoxFelt:
    if not isinstance(felt, BoxFelt):
        raise RigError("acts for boxes were asked of a table without any")
    return felt


def _number(section: Section, key: str, place: object, felt: Felt, shape: re.Pattern[str]) -> tuple[int, str]:
    """Box and what it is of a place. Raises ``ScriptError``."""
    found = shape.fullmatch(str(place))
    known = {seat.seat for seat in felt.seats}
    if found is None or int(found[1]) not in known:
        boxes = ", ".join(map(str, sorted(known)))
        raise section.wrong(key, place, f"boxes in play: {boxes}; write it as box:1:ante, or box:1:cards")
    return int(found[1]), found[2] or "cards"


def _box(section: Section, felt: Felt) -> int:
    box: int = section.number("box", least=1)
    if box not in {seat.seat for seat in felt.seats}:
        raise section.wrong("box", box, f"boxes in play: {', '.join(str(seat.seat) for seat in felt.seats)}")
    return box


# ---------------------------------------------------------------------- chips


def _put(section: Section, felt: Felt) -> Iterator[Act]:
    table, spots = _felt(felt), section.section("spots")
    section.take("spots", dict, remedy='name the spots: spots = { "box:1:ante" = { 1000 = 1 } }')
    for name in spots.data:
        box, spot = _number(spots, name, name, felt, SPOT)
        counts = steps.counts(spots, felt, name)
        table.move(spots, f"purse:{box}", name, counts)
        yield from _staked(table, box, spot, name, counts)


def _staked(table: BoxFelt, box: int, spot: str, place: str, counts: Mapping[int, int]) -> Iterator[Act]:
    lies = sum(value * count for value, count in table.chips[place].items())
    declared = spot == "play" and box in table.said
    if table.sensed:
        yield MoveChips(f"purse:{box}", place, counts)
    elif spot not in KEYED or declared:
        yield Unsensed(f"chips.put {place}: {lies}")
    else:
        yield Declare(KEYED[spot], box, lies, name_seat=True)


def _take(section: Section, felt: Felt) -> Iterator[Act]:
    table, spots = _felt(felt), section.section("spots")
    section.take("spots", dict, remedy='name the spots: spots = { "box:1:ante" = { 1000 = 1 } }')
    for name in spots.data:
        box, _ = _number(spots, name, name, felt, SPOT)
        counts = steps.counts(spots, felt, name)
        table.move(spots, name, f"rail:{box}", counts)
        yield MoveChips(name, f"rail:{box}", counts) if table.sensed else Unsensed(f"chips.take {name}")


def _shift(section: Section, felt: Felt) -> Iterator[Act]:
    table = _felt(felt)
    for move in section.sections("moves") or [section]:
        source, target, counts = place(move, "from", felt), place(move, "to", felt), steps.counts(move, felt)
        table.move(move, source, target, counts)
        yield MoveChips(source, target, counts) if table.sensed else Unsensed(f"chips.move {source} -> {target}")
        if move is not section:
            move.done()


# ---------------------------------------------------------------------- cards


def _deal(section: Section, felt: Felt) -> Iterator[Act]:
    places = section.texts("to", (*(f"box:{seat.seat}" for seat in felt.seats), "dealer"))
    targets = [one if one == "dealer" else _cards_of(section, "to", one, felt) for one in places]
    for target in steps.dealt(section, targets):
        yield Slide(steps.drawn(section, felt), target)


def _cards_of(section: Section, key: str, place: str, felt: Felt) -> str:
    box, where = _number(section, key, place, felt, CARDS)
    return f"box:{box}:{where}"


def _whole(name: str) -> str:
    """``box:2`` means its cards."""
    return f"{name}:cards" if re.fullmatch(r"box:[1-9]", name) else name


def _slide(section: Section, felt: Felt) -> Iterator[Act]:
    where = section.text("to")
    section.choice("face", ("open", "closed"), "closed")
    target = where if where in ("board", "dealer") else _cards_of(section, "to", where, felt)
    for _ in range(section.number("count", 1, 1, len(DECK))):
        yield Slide(steps.drawn(section, felt), target)


def _turn(section: Section, felt: Felt) -> Iterator[Act]:
    places = section.take("at", (str, list))
    for one in places if isinstance(places, list) else [places]:
        own = one not in ("dealer", "board")
        yield Show(_number(section, "at", one, felt, CARDS)[0] if own else None)


def _move(section: Section, felt: Felt) -> Iterator[Act]:
    source, count = known(section, "from", _whole(section.text("from")), felt), section.number("count", 0)
    target = known(section, "to", _whole(section.text("to")), felt, off=True)
    if _felt(felt).sensed:
        yield MoveCards(source, target, count)
    elif target == "muck" and source.startswith("box:"):
        yield Muck(_number(section, "from", source, felt, CARDS)[0])
    else:
        yield Unsensed(f"card.move {source} -> {target}")


# --------------------------------------------------------------------- people


def _declare(section: Section, felt: Felt) -> Iterator[Act]:
    kind = section.choice("kind", ("no_more_bets", *DECLARED))
    number = section.number("number", None, 1)
    if number is not None and (kind != "play" or number % felt.stakes.unit):
        raise section.wrong("number", number, f"only play takes an amount, in chips of {felt.stakes.unit}")
    if kind == "no_more_bets":
        yield Attest()
        return
    box = _box(section, felt)
    if kind == "play":
        table = _felt(felt)
        table.said.add(box)
        if table.sensed:
            yield Unsensed(f"declare box {box}: play")  # chips decide; nobody keys them
            return
    keyed = DECLARED[kind] if number is None else "raise"
    yield Declare(keyed, box, number, name_seat=True)


UNSEEN = ("card.lift", "card.swap", "tag.flicker", "tag.clone", "chips.unreadable", "deck.second")


def _either(key: str) -> Expand:
    """An act that antennas sense, and that is performed unnoticed where there are none."""

    def expand(section: Section, felt: Felt) -> Iterator[Act]:
        return (antennas.ACTS if _felt(felt).sensed else steps.ACTS)[key](section, felt)

    return expand


ACTS: Mapping[str, Expand] = {
    **steps.ACTS,
    "card.slide": _slide,
    "card.turn": _turn,
    "card.move": _move,
    "cards.deal": _deal,
    "chips.put": _put,
    "chips.take": _take,
    "chips.move": _shift,
    "declare": _declare,
    **{key: _either(key) for key in UNSEEN},
}
"""What each act is at a table of boxes."""
