"""The acts of a scenario at a table with antennas: chips and cards move, and keys say only what no antenna sees."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simulators.errors import RigError
from simulators.scripts import steps
from simulators.scripts.accidents import Expand
from simulators.scripts.acts import (
    Act,
    Attest,
    CloneTags,
    Declare,
    Flicker,
    LiftCards,
    MoveCards,
    MoveChips,
    OtherDeck,
    SwapCards,
    Sweep,
    Unreadable,
)
from simulators.scripts.felt import Felt
from simulators.scripts.places import place
from simulators.scripts.steps import chair
from simulators.scripts.strict import Section
from simulators.tokens import heap


@dataclass(slots=True)
class AntennaFelt(Felt):
    """One RFID table of a scenario, while its steps are expanded. ``chips`` are those of each place, by value."""

    chips: dict[str, Counter[int]] = field(default_factory=dict)
    uncounted: set[str] = field(default_factory=lambda: {"tray"})
    """Places of which the scenario does not say what lies there when it begins."""

    def __post_init__(self) -> None:
        self.left = {s.seat: s.stack for s in self.seats}
        for seat in self.seats:
            if seat.stack is not None:
                self.chips[f"stack:{seat.seat}"] = Counter(seat.chips or heap(seat.stack, self.stakes.chips))
            else:
                self.uncounted.add(f"stack:{seat.seat}")

    def begin(self) -> list[Act]:
        """Press HAND, once a hand. The blinds are chips: the scenario puts them."""
        if self.begun:
            return []
        self.begun = True
        return [Attest()]

    def declare(self, act: Declare) -> list[Act]:
        """A seat says what it does; chips that follow are the stake."""
        before = self.begin()
        self.declared = act
        if act.kind == "fold" and act.seat is not None:
            self.fold(act.seat)
        return before if act.kind in ("bet", "raise") and act.to is None else [*before, act]

    def put(self, seat: int, amount: int, movements: int = 1) -> list[Act]:
        """Chips come in front of a seat. Returns what is done before."""
        before = self.begin()
        said, self.declared = self.declared, None
        spoken = said is not None and said.seat == seat and said.kind in ("bet", "raise", "all_in")
        total = self.stakes_in.get(seat, 0) + amount
        if movements > 1 and self.dealt and self.to_match and not spoken:
            total = min(total, self.to_match)
        self.stakes_in[seat] = total
        return before

    def sweep(self) -> list[Act]:
        """Bets are pulled into the pot, if there are any."""
        spots = [spot for spot, chips in self.chips.items() if spot.startswith("bet:") and +chips]
        for spot in spots:
            self.chips.setdefault("pot", Counter()).update(self.chips.pop(spot))
        return [Sweep()] if spots else []

    def move(self, section: Section, source: str, target: str, counts: Mapping[int, int]) -> None:
        """Count chips from place to place. Raises ``ScriptError`` where they are not there."""
        if source not in self.uncounted:
            has = self.chips.setdefault(source, Counter())
            if any(has[value] < count for value, count in counts.items()):
                raise section.wrong("chips", dict(counts), f"{source} has {dict(+has)} at this moment")
            has.subtract(counts)
        if target not in self.uncounted:
            self.chips.setdefault(target, Counter()).update(counts)


def _felt(felt: Felt) -> AntennaFelt:
    if not isinstance(felt, AntennaFelt):
        raise RigError("acts for antennas were asked of a table without any")
    return felt


def _put(section: Section, felt: Felt) -> Iterator[Act]:
    section.refuse({"spots": 'boxes and spots belong to game = "ultimate": name a seat'})
    table, seat = _felt(felt), chair(section, felt)
    steps.answered(felt, seat)
    counts = steps.counts(section, felt)
    movements, pause = steps.movements(section, counts)
    yield from table.put(seat, sum(value * count for value, count in counts.items()), movements)
    table.move(section, f"stack:{seat}", f"bet:{seat}", counts)
    yield MoveChips(f"stack:{seat}", f"bet:{seat}", counts, movements, pause)


def _take(section: Section, felt: Felt) -> Iterator[Act]:
    table, seat = _felt(felt), chair(section, felt)
    counts = steps.counts(section, felt)
    table.move(section, f"bet:{seat}", f"stack:{seat}", counts)
    yield MoveChips(f"bet:{seat}", f"stack:{seat}", counts, *steps.movements(section, counts))


def _shift(section: Section, felt: Felt) -> Iterator[Act]:
    table = _felt(felt)
    for move in section.sections("moves") or [section]:
        source, target, counts = place(move, "from", felt), place(move, "to", felt), steps.counts(move, felt)
        if source == "pot":
            yield from table.sweep()
        table.move(move, source, target, counts)
        yield MoveChips(source, target, counts, *steps.movements(move, counts))
        if move is not section:
            move.done()


def _move(section: Section, felt: Felt) -> Iterator[Act]:
    source, target = place(section, "from", felt), place(section, "to", felt, off=True)
    if source == "muck" and target.startswith("seat:"):
        felt.mucked.pop(int(target[5:]), None)
    if target == "muck" and source.startswith("seat:"):
        steps.muck(section, felt)
    yield MoveCards(source, target, section.number("count", 0))


def _lift(section: Section, felt: Felt) -> Iterator[Act]:
    yield LiftCards(place(section, "at", felt), section.number("ms", least=1))


def _swap(section: Section, felt: Felt) -> Iterator[Act]:
    one, other = place(section, "from", felt), place(section, "to", felt)
    if one == other:
        raise section.wrong("to", other, "cards are exchanged between two places")
    yield SwapCards(one, other, section.number("count", 1, 1))


def _flicker(section: Section, felt: Felt) -> Iterator[Act]:
    yield Flicker(place(section, "at", felt), section.number("off_ms", least=1), section.number("times", 1, 1))


def _clone(section: Section, felt: Felt) -> Iterator[Act]:
    """One tag twice: its copy is held over another antenna."""
    one, other = place(section, "at", felt), place(section, "to", felt)
    if one == other:
        raise section.wrong("to", other, "one antenna hears one tag once: name another place than at")
    yield CloneTags(one, other, section.number("ms", least=1), section.number("count", 1, 1))


def _unreadable(section: Section, felt: Felt) -> Iterator[Act]:
    where, counts = place(section, "at", felt), steps.counts(section, felt)
    has = getattr(felt, "chips", {}).get(where)
    if has is not None and any(has[value] < count for value, count in counts.items()):
        raise section.wrong("chips", counts, f"{where} has {dict(+has)} at this moment")
    yield Unreadable(where, counts, section.number("ms", 0))


def _second_deck(section: Section, felt: Felt) -> Iterator[Act]:
    yield OtherDeck(place(section, "at", felt), section.number("ms", least=1), section.number("count", 20, 1))


ACTS: Mapping[str, Expand] = {
    **steps.ACTS,
    "card.move": _move,
    "card.lift": _lift,
    "card.swap": _swap,
    "tag.flicker": _flicker,
    "tag.clone": _clone,
    "chips.unreadable": _unreadable,
    "deck.second": _second_deck,
    "chips.put": _put,
    "chips.take": _take,
    "chips.move": _shift,
}
