"""The steps of a scenario: when each happens, and its act expanded for a shoe table (``antennas``: for the other)."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.scripts import accidents
from simulators.scripts.accidents import Expand, just
from simulators.scripts.acts import (
    DECK,
    Act,
    Check,
    Declare,
    Finish,
    Muck,
    Order,
    Pause,
    Press,
    Rule,
    Show,
    Slide,
    Unsensed,
)
from simulators.scripts.felt import Felt
from simulators.scripts.strict import Section

KINDS = ("fold", "check", "call", "bet", "raise", "all_in")
RULED = "as the scenario says"
"""The reason of a ruling for which the scenario gives none."""
VERBS = ("ENTER", "FOLD", "CHECK", "CALL", "BET", "RAISE", "ALLIN", "HAND", "SHOW", "DONE", "MISDEAL", "VOID", "CLEAR")
KEYS = (*"0123456789", *VERBS)


@dataclass(frozen=True, slots=True)
class Span:
    """A duration in ms, drawn from a triangle."""

    low: int
    mode: int
    high: int

    def draw(self, dice: random.Random) -> int:
        """One duration."""
        return round(dice.triangular(self.low, self.high, self.mode))


@dataclass(frozen=True, slots=True)
class When:
    """A step that waits for the product's answer."""

    event: str
    match: Mapping[str, Any]
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step. It starts ``gap`` after the end of the step before, or ``at_ms`` after the start of the run.

    ``within`` is the gap between its own acts, where the step sets one.
    """

    id: str
    do: str
    line: int | None
    acts: tuple[Act, ...]
    gap: Span | None = None
    at_ms: int | None = None
    when: When | None = None
    seat: int | None = None
    """The seat or box that the step is about, where it names one."""


def read_span(section: Section, key: str, default: Span | None) -> Span | None:
    """A number or ``{ min, mode, max }``; ``default`` when the key is not there. Raises ``ScriptError``."""
    value = section.take(key, (int, dict), None) if key in section else None
    if value is None:
        section.asked.add(key)
        return default
    if isinstance(value, int):
        value = dict.fromkeys(("min", "mode", "max"), value)
    numbers = [value[name] for name in ("min", "mode", "max") if isinstance(value.get(name), int)]
    if len(numbers) != 3 or len(value) != 3:
        raise section.wrong(key, value, "give a number of ms or { min, mode, max }")
    if not 0 <= numbers[0] <= numbers[1] <= numbers[2]:
        raise section.wrong(key, value, "min, mode and max must rise")
    return Span(*numbers)


def read_steps(sections: list[Section], felt: Felt, vocabulary: "Mapping[str, Expand]") -> tuple[Step, ...]:
    """All steps in order; ``vocabulary`` says what each act is at this kind of table. Raises ``ScriptError``."""
    steps: list[Step] = []
    for number, section in enumerate(sections, start=1):
        step = _step(section, number, felt, vocabulary)
        if any(step.id == other.id for other in steps):
            raise section.wrong("id", step.id, "another step has this id")
        steps.append(step)
    return tuple(steps)


def _step(section: Section, number: int, felt: Felt, vocabulary: "Mapping[str, Expand]") -> Step:
    do = section.choice("do", vocabulary)
    section.refuse(dict.fromkeys(("with", "offset_ms"), "acts at the same time are not done by this rig yet"))
    acts = tuple(vocabulary[do](section, felt))
    when = _when(section.section("when")) if "when" in section else None
    step = Step(
        id=section.text("id", f"step-{number}"),
        do=do,
        line=section.line,
        acts=acts,
        gap=read_span(section, "gap_ms", None),
        at_ms=section.number("at_ms", None),
        when=when,
        seat=next((section.data[key] for key in ("seat", "box") if key in section), None),
    )
    if step.at_ms is not None and (step.gap is not None or when is not None):
        raise section.wrong("at_ms", step.at_ms, "a step has one of gap_ms, at_ms and when")
    section.done()
    return step


def _when(section: Section) -> When:
    when = When(section.text("event"), section.take("match", dict, {}), section.number("timeout_ms", 5000, 1))
    section.done()
    return when


# ---------------------------------------------------------------------- cards


def _slide(section: Section, felt: Felt) -> Iterator[Act]:
    place = section.text("to")
    section.choice("face", ("open", "closed"), "closed")
    confidence = section.number("confidence", 100)
    unread = section.take("unread", bool, False)
    past = section.text("shoe", ""), section.take("lands", bool, True), section.number("slide_ms", 0)
    seat = None
    if place.startswith("seat:"):
        seat = seat_named(section, "to", felt)
        yield from felt.begin()
        felt.dealt = True
    elif place not in ("burn", "board"):
        raise section.wrong("to", place, 'a card slides to "burn", "board" or "seat:N"')
    else:
        yield from felt.street()
    for _ in range(section.number("count", 1, 1)):
        card = felt.draw()
        yield Slide(None if unread else card, place.split(":")[0], seat, confidence, *past)


def _deal(section: Section, felt: Felt) -> Iterator[Act]:
    yield from felt.begin()
    seats = section.take("seats", list, felt.order())
    known = [s.seat for s in felt.seats]
    if sorted(seats) != sorted(set(seats)) or not set(seats) <= set(known):
        raise section.wrong("seats", seats, f"name each of the seats {known} at most once")
    section.choice("pattern", ("one_by_one",), "one_by_one")
    felt.dealt = True
    for _ in range(section.number("each", 2, 1)):
        for seat in seats:
            yield Slide(felt.draw(), "seat", seat)


def _turn(section: Section, felt: Felt) -> Iterator[Act]:
    places = section.take("at", (str, list))
    yield from felt.street()
    for place in places if isinstance(places, list) else [places]:
        yield Show(seat_of(section, "at", place, felt))


def _move(section: Section, felt: Felt) -> Iterator[Act]:
    source, target = section.text("from"), section.text("to")
    section.number("count", 1, 1)
    if target == "muck" and source.startswith("seat:"):
        seat = seat_named(section, "from", felt)
        felt.fold(seat)
        yield Muck(seat)
    else:
        yield Unsensed(f"card.move {source} -> {target}")


def _shuffle(section: Section, felt: Felt) -> Iterator[Act]:
    top = section.texts("top")
    for card in top:
        if card != "??" and (card not in DECK or top.count(card) > 1):
            raise section.wrong("top", card, "every card stands once, as rank 2-9TJQKA and suit cdhs; ?? is any")
    felt.new_hand(top)
    yield Unsensed("deck.shuffle")


def _reshuffle(_section: Section, felt: Felt) -> Iterator[Act]:
    felt.reshuffle()
    yield Unsensed("stub.reshuffle")


# ---------------------------------------------------------------------- chips


def _put(section: Section, felt: Felt) -> Iterator[Act]:
    section.refuse({"spots": 'boxes and spots belong to game = "ultimate": name a seat'})
    seat = chair(section, felt)
    amount = _amount(section, felt)
    movements = section.number("movements", 1, 1)
    section.number("pause_ms", 0)
    yield from felt.put(seat, amount, movements)
    yield Unsensed(f"chips.put seat {seat}: {amount}")


def _take(section: Section, felt: Felt) -> Iterator[Act]:
    seat = chair(section, felt)
    yield Unsensed(f"chips.take seat {seat}: {_amount(section, felt)}")


def _shift(section: Section, felt: Felt) -> Iterator[Act]:
    moves = section.sections("moves") or [section]
    for move in moves:
        yield Unsensed(f"chips.move {move.text('from')} -> {move.text('to')}: {_amount(move, felt)}")
        if move is not section:
            move.done()


def _amount(section: Section, felt: Felt) -> int:
    return sum(value * count for value, count in counts(section, felt).items())


def counts(section: Section, felt: Felt, key: str = "chips") -> dict[int, int]:
    """The chips of a step by value. Raises ``ScriptError`` for chips that this table does not have."""
    chips = section.take(key, dict)
    for value, count in chips.items():
        if not value.isdigit() or int(value) not in felt.stakes.chips or not isinstance(count, int) or count < 1:
            known = ", ".join(map(str, felt.stakes.chips))
            raise section.wrong(key, chips, f"write {{ value = count }} with the chips of this table: {known}")
    return {int(value): count for value, count in chips.items()}


# --------------------------------------------------------------------- people


def _declare(section: Section, felt: Felt) -> Iterator[Act]:
    kind = section.choice("kind", KINDS)
    seat = chair(section, felt) if "seat" in section else None
    number = section.number("number", None, 1)
    if number is not None and (kind not in ("bet", "raise", "all_in") or number % felt.stakes.unit):
        raise section.wrong("number", number, f"bet, raise and all_in take a total in chips of {felt.stakes.unit}")
    yield from felt.declare(Declare(kind, seat, number, name_seat=seat is not None))


def _key(section: Section, felt: Felt) -> Iterator[Act]:
    keys = section.texts("keys")
    for key in keys:
        if key not in KEYS:
            raise section.wrong("keys", key, f"the keypad has {' '.join(KEYS)}")
    if "HAND" in keys:
        felt.begin()  # the hand has begun: nobody presses HAND once more for the first card
    yield Press(keys, section.number("hold_ms", 60, 1))


def _login(section: Section, felt: Felt) -> Iterator[Act]:
    who = section.text("who")
    yield Order("login", {}, by=who, role=role(section, who, felt))


def _attest(section: Section, felt: Felt) -> Iterator[Act]:
    who = section.text("who")
    args: dict[str, Any] = {"rule": section.text("rule")}
    args |= {"statement": section.text("statement")} if "statement" in section else {}
    args |= {"boxes": section.take("boxes", list)} if "boxes" in section else {}
    section.asked.update(("statement", "boxes"))
    yield Order("attest", args, by=who, role=role(section, who, felt))


def _rule(section: Section, felt: Felt) -> Iterator[Act]:
    who = section.text("who", felt.people.get("chief_inspector") or next(iter(felt.people.values())))
    yield Rule(
        section.text("code"), section.text("ruling"), who, role(section, who, felt), section.text("reason", RULED)
    )


def _command(section: Section, felt: Felt) -> Iterator[Act]:
    who = section.text("who", felt.people.get("dealer", ""))
    yield Order(section.text("name"), section.take("args", dict, {}), by=who, role=role(section, who, felt))


def role(section: Section, who: str, felt: Felt) -> str:
    """The role in which somebody of this staff number is at the table. Raises ``ScriptError``."""
    for name, staff in felt.people.items():
        if staff == who:
            return name
    raise section.wrong("who", who, f"nobody in [start.people]; there are {', '.join(felt.people.values())}")


# ----------------------------------------------------------------------- the rest


def _pause(section: Section, _felt: Felt) -> Iterator[Act]:
    yield Pause(section.number("ms", 1000))


def _mark(section: Section, _felt: Felt) -> Iterator[Act]:
    yield Unsensed(f"mark {section.text('text', '')}".strip())


def chair(section: Section, felt: Felt) -> int:
    """The step's ``seat``. Raises ``ScriptError`` for one that nobody sits on."""
    seat: int = section.number("seat", least=1)
    if seat not in {s.seat for s in felt.seats}:
        raise section.wrong("seat", seat, f"seats in play: {', '.join(str(s.seat) for s in felt.seats)}")
    return seat


def seat_named(section: Section, key: str, felt: Felt) -> int:
    """The number of a place ``seat:N``. Raises ``ScriptError``."""
    return seat_of(section, key, section.text(key), felt)


def seat_of(section: Section, key: str, place: str, felt: Felt) -> int:
    """The same for a place that stands under ``key``."""
    name, _, number = place.partition(":")
    if name != "seat" or number not in {str(s.seat) for s in felt.seats}:
        raise section.wrong(key, place, f"seats in play: {', '.join(f'seat:{s.seat}' for s in felt.seats)}")
    return int(number)


def _unsensed(*keys: str) -> "Expand":
    """An act that only antennas sense: performed all the same."""

    def expand(section: Section, _felt: Felt) -> Iterator[Act]:
        section.asked.update(keys)
        yield Unsensed(f"{section.text('do')} {section.text('at')}")

    return expand


ACTS: Mapping[str, Expand] = {
    "card.slide": _slide,
    "card.turn": _turn,
    "card.move": _move,
    "card.lift": _unsensed("ms"),
    "tag.flicker": _unsensed("off_ms", "times"),
    "deck.second": _unsensed("ms", "count"),
    "cards.deal": _deal,
    "cards.collect": just(Finish()),
    "deck.shuffle": _shuffle,
    "stub.reshuffle": _reshuffle,
    "chips.put": _put,
    "chips.take": _take,
    "chips.move": _shift,
    "declare": _declare,
    "key": _key,
    "login": _login,
    "attest": _attest,
    "rule": _rule,
    "command": _command,
    **accidents.ACTS,
    "pause": _pause,
    "mark": _mark,
    "check": just(Check()),
}
