"""The acts of a scenario as a shoe table has them (``antennas``: as the other has them)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from simulators.scripts import accidents
from simulators.scripts.accidents import Expand, just
from simulators.scripts.acts import (
    DECK,
    Act,
    Check,
    Declare,
    DeviceAct,
    Finish,
    Muck,
    Order,
    Pause,
    Press,
    Prompt,
    Rule,
    Show,
    Slide,
    Unsensed,
)
from simulators.scripts.felt import Felt
from simulators.scripts.places import place
from simulators.scripts.strict import MOST, Section, is_number

T = TypeVar("T")

HOLE_CARDS = 2
INCIDENTS = 44
"""The kinds of incidents are I-1 to I-44."""
KINDS = ("fold", "check", "call", "bet", "raise", "all_in")
RULED = "as the scenario says"
"""The reason of a ruling for which the scenario gives none."""
VERBS = ("ENTER", "FOLD", "CHECK", "CALL", "BET", "RAISE", "ALLIN", "HAND", "SHOW", "DONE", "MISDEAL", "VOID", "CLEAR")
KEYS = (*"0123456789", *VERBS)


# ---------------------------------------------------------------------- cards


def _slide(section: Section, felt: Felt) -> Iterator[Act]:
    where = section.text("to")
    section.choice("face", ("open", "closed"), "closed")
    confidence = section.number("confidence", 100)
    unread = section.take("unread", bool, False)
    past = section.text("shoe", ""), section.take("lands", bool, True), section.number("slide_ms", 0)
    seat = None
    if where.startswith("seat:"):
        seat = seat_named(section, "to", felt)
        yield from felt.begin()
        felt.dealt = True
    elif where not in ("burn", "board"):
        raise section.wrong("to", where, 'a card slides to "burn", "board" or "seat:N"')
    else:
        yield from felt.street()
    for _ in range(section.number("count", 1, 1, len(DECK))):
        card = drawn(section, felt)
        yield Slide(None if unread else card, where.split(":")[0], seat, confidence, *past)


def _deal(section: Section, felt: Felt) -> Iterator[Act]:
    yield from felt.begin()
    seats = section.take("seats", list, felt.order())
    known = [s.seat for s in felt.seats]
    if any(type(seat) is not int or seat not in known or seats.count(seat) > 1 for seat in seats):
        raise section.wrong("seats", seats, f"name each of the seats {known} at most once")
    felt.dealt = True
    for seat in dealt(section, seats):
        yield Slide(drawn(section, felt), "seat", seat)


def drawn(section: Section, felt: Felt) -> str:
    """The next card. Raises ``ScriptError`` where none is left."""
    if not felt.drawable():
        key = next((name for name in ("count", "each") if name in section), "do")
        raise section.wrong(key, section.data[key], f"no card is left in the deck of {len(DECK)} at this moment")
    return felt.draw()


def dealt(section: Section, targets: Sequence[T]) -> list[T]:
    """Who gets the next card, over a whole deal: round by round, or a packet at a time."""
    each = section.number("each", 2, 1, len(DECK))
    packets = section.choice("pattern", ("one_by_one", "packets"), "one_by_one") == "packets"
    return [one for one in targets for _ in range(each)] if packets else [*targets] * each


def _turn(section: Section, felt: Felt) -> Iterator[Act]:
    places = section.take("at", (str, list))
    yield from felt.street()
    for one in places if isinstance(places, list) else [places]:
        yield Show(seat_of(section, "at", one, felt))


def _move(section: Section, felt: Felt) -> Iterator[Act]:
    source, target = place(section, "from", felt), place(section, "to", felt, off=True)
    section.number("count", 1, 1)
    if target == "muck" and source.startswith("seat:"):
        yield Muck(muck(section, felt))
    else:
        yield Unsensed(f"card.move {source} -> {target}")


def muck(section: Section, felt: Felt) -> int:
    """A seat's cards go to the muck. Raises ``ScriptError`` where they are there already."""
    seat = seat_named(section, "from", felt)
    if felt.mucked[seat] >= HOLE_CARDS:
        raise section.wrong("from", f"seat:{seat}", "its cards lie in the muck already")
    felt.mucked[seat] += section.data.get("count") or HOLE_CARDS
    felt.fold(seat)
    return seat


def _shuffle(section: Section, felt: Felt) -> Iterator[Act]:
    felt.new_hand(_order(section))
    yield Unsensed("deck.shuffle")


def _order(section: Section) -> tuple[str, ...]:
    top = section.texts("top")
    for card in top:
        if card != "??" and (card not in DECK or top.count(card) > 1):
            raise section.wrong("top", card, "every card stands once, as rank 2-9TJQKA and suit cdhs; ?? is any")
    return top


def _load(section: Section, felt: Felt) -> Iterator[Act]:
    top = _order(section)
    felt.load(top)
    shoe = "shoe0" in felt.devices
    yield DeviceAct("load", "shoe0", {"cards": list(DECK)}) if shoe else Unsensed("deck.load")


def _reshuffle(_section: Section, felt: Felt) -> Iterator[Act]:
    felt.reshuffle()
    yield Unsensed("stub.reshuffle")


# ---------------------------------------------------------------------- chips


def _put(section: Section, felt: Felt) -> Iterator[Act]:
    section.refuse({"spots": 'boxes and spots belong to game = "ultimate": name a seat'})
    seat = chair(section, felt)
    answered(felt, seat)
    amount = _amount(section, felt)
    yield from felt.put(seat, amount, movements(section, counts(section, felt))[0])
    yield Unsensed(f"chips.put seat {seat}: {amount}")


def _take(section: Section, felt: Felt) -> Iterator[Act]:
    seat = chair(section, felt)
    movements(section, counts(section, felt))
    yield Unsensed(f"chips.take seat {seat}: {_amount(section, felt)}")


def _shift(section: Section, felt: Felt) -> Iterator[Act]:
    moves = section.sections("moves") or [section]
    for move in moves:
        source, target = place(move, "from", felt), place(move, "to", felt)
        movements(move, counts(move, felt))
        yield Unsensed(f"chips.move {source} -> {target}: {_amount(move, felt)}")
        if move is not section:
            move.done()


def movements(section: Section, chips: Mapping[int, int]) -> tuple[int, int]:
    """In how many movements these chips go, and the pause between them in ms. Raises ``ScriptError``."""
    count, pause = section.number("movements", 1, 1), section.number("pause_ms", 0)
    if count > sum(chips.values()):
        raise section.wrong("movements", count, f"{sum(chips.values())} chips cannot be moved in so many")
    return count, pause


def _amount(section: Section, felt: Felt) -> int:
    return sum(value * count for value, count in counts(section, felt).items())


def counts(section: Section, felt: Felt, key: str = "chips") -> dict[int, int]:
    """The chips of a step by value. Raises ``ScriptError`` for chips that this table does not have."""
    chips = section.take(key, dict)
    for value, count in chips.items():
        there = is_number(value) and int(value) in felt.stakes.chips
        if not there or type(count) is not int or not 1 <= count <= MOST:
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
    answered(felt, seat)
    if kind in ("bet", "raise") and number is None:
        felt.unanswered[seat] = felt.step
    yield from felt.declare(Declare(kind, seat, number, name_seat=seat is not None))


def answered(felt: Felt, seat: int | None) -> None:
    """Chips of a seat, or another word of it: what it announced without a number has its answer."""
    felt.unanswered.pop(seat, None)
    felt.unanswered.pop(None, None)


def _key(section: Section, felt: Felt) -> Iterator[Act]:
    keys = section.texts("keys")
    for key in keys:
        if key not in KEYS:
            raise section.wrong("keys", key, f"the keypad has {' '.join(KEYS)}")
    felt.unanswered.clear()  # whatever was announced, the dealer keys it here
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
    own, more = role(section, who, felt), dict(section.take("args", dict, {}))
    others = section.texts("signatures")
    if others:
        if len(others) > 1 or who in others:
            raise section.wrong("signatures", list(others), f"name the one person who signs besides {who}")
        role(section, others[0], felt)
        more["with"] = others[0]
    code = section.text("code")
    number = code.removeprefix("I-")
    if not code.startswith("I-") or not is_number(number) or not 1 <= int(number) <= INCIDENTS:
        raise section.wrong("code", code, f"incidents are I-1 to I-{INCIDENTS}")
    yield Rule(code, section.text("ruling"), who, own, section.text("reason", RULED), more)


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


def _say(section: Section, _felt: Felt) -> Iterator[Act]:
    yield Prompt(section.text("text"))


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


def seat_of(section: Section, key: str, where: object, felt: Felt) -> int:
    """The same for a place that stands under ``key``."""
    name, _, number = str(where).partition(":")
    if name != "seat" or number not in {str(s.seat) for s in felt.seats}:
        raise section.wrong(key, where, f"seats in play: {', '.join(f'seat:{s.seat}' for s in felt.seats)}")
    return int(number)


def _unsensed(*keys: str, places: Sequence[str] = ("at",)) -> "Expand":
    """An act that only antennas sense: performed all the same."""

    def expand(section: Section, felt: Felt) -> Iterator[Act]:
        section.asked.update(keys)
        yield Unsensed(" ".join([section.text("do"), *(place(section, key, felt) for key in places)]))

    return expand


ACTS: Mapping[str, Expand] = {
    "card.slide": _slide,
    "card.turn": _turn,
    "card.move": _move,
    "card.lift": _unsensed("ms"),
    "card.swap": _unsensed("count", places=("from", "to")),
    "tag.flicker": _unsensed("off_ms", "times"),
    "tag.clone": _unsensed("ms", "count", places=("at", "to")),
    "chips.unreadable": _unsensed("chips", "ms"),
    "deck.second": _unsensed("ms", "count"),
    "cards.deal": _deal,
    "cards.collect": just(Finish()),
    "deck.load": _load,
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
    "say": _say,
    "check": just(Check()),
}
