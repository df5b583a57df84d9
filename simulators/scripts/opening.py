"""How a scenario begins: who sits where with which chips, who works there, the stakes and the order of the cards."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulators.scripts import strict
from simulators.scripts.acts import DECK, SeatStart, Stakes

ROLES = ("dealer", "inspector", "chief_inspector", "pit_boss", "manager", "cage", "technician")
MOST_BOXES = 9


@dataclass(frozen=True, slots=True)
class Opening:
    """What ``[start]`` says. ``seats`` are boxes at a table of boxes, where nobody counts what a player has.

    ``tray`` are the chips in the dealer's tray by value, ``None`` where the scenario does not care.
    """

    stakes: Stakes
    seats: tuple[SeatStart, ...]
    button: int
    people: Mapping[str, str]
    cold: bool
    tray: Mapping[int, int] | None


def read_opening(top: strict.Section, game: str) -> Opening:
    """Read ``[start]`` and the stakes of ``[run]``. Raises ``ScriptError``."""
    start = top.section("start")
    people = _people(start.section("people"))
    state = start.choice("state", ("open_between_hands", "cold"), "open_between_hands")
    tray = chips_of(start, "tray", start.take("tray", dict)) if "tray" in start else None
    seating = _boxes if game == "ultimate" else _seats
    stakes, seats, button = seating(top, start, tray)
    start.asked.add("tray")
    start.done()
    return Opening(stakes, seats, button, people, state == "cold", tray)


def _seats(
    top: strict.Section, start: strict.Section, tray: Mapping[int, int] | None
) -> tuple[Stakes, tuple[SeatStart, ...], int]:
    stacks, chips = _stacks(start.section("stacks"))
    start.asked.add("stacks")
    denominations = {value for heap in (*chips.values(), tray or {}) for value in heap}
    stakes = _stakes(top.section("run"), denominations, [s for s in stacks.values() if s is not None])
    button = start.number("button", least=1)
    if button not in stacks:
        raise start.wrong("button", button, f"give one of the seats {', '.join(map(str, stacks))}")
    players = start.section("players")
    start.asked.add("players")
    seats = tuple(
        SeatStart(seat, players.text(str(seat), f"p-{seat}"), stack, chips.get(seat)) for seat, stack in stacks.items()
    )
    players.done()
    return stakes, seats, button


def _boxes(
    top: strict.Section, start: strict.Section, tray: Mapping[int, int] | None
) -> tuple[Stakes, tuple[SeatStart, ...], int]:
    """``boxes = { 1 = "p-1" }``: who plays which box. Chips are known by the tray's."""
    if tray is None:
        raise start.wrong("tray", None, "give the chips of the table: tray = { 1000 = 200, 500 = 200 }")
    boxes = start.section("boxes")
    start.take("boxes", dict, remedy='say who plays which box: boxes = { 1 = "p-1" }')
    for key in boxes.data:
        if not strict.is_number(key) or not 1 <= int(key) <= MOST_BOXES:
            raise boxes.wrong(key, boxes.data[key], f"boxes are numbered 1 to {MOST_BOXES}")
    seats = tuple(SeatStart(int(key), boxes.text(key), None) for key in sorted(boxes.data, key=int))
    if not seats:
        raise start.wrong("boxes", {}, "give at least one box")
    override = top.section("run").section("override")
    unit = min(tray)
    stakes = Stakes(
        small_blind=unit,
        big_blind=unit,
        ante=0,
        ante_kind="each",
        chips=tuple(sorted(tray)),
        currency=override.text("currency", "EUR"),
        exponent=override.number("exponent", 2),
        game="ultimate",
    )
    return stakes, seats, 0


def _people(section: strict.Section) -> dict[str, str]:
    people = {role: section.text(role) for role in ROLES if role in section}
    section.asked.update(ROLES)
    section.done()
    return people or {"dealer": "s-01"}


def _stacks(section: strict.Section) -> tuple[dict[int, int | None], dict[int, dict[int, int]]]:
    """Stacks by seat in minor units, and the chips they are made of, where the scenario says."""
    stacks: dict[int, int | None] = {}
    heaps: dict[int, dict[int, int]] = {}
    for key in section.data:
        value = section.take(key, (int, str, dict))
        if not strict.is_number(key) or not 1 <= int(key) <= 11:
            raise section.wrong(key, value, "seats are numbered 1 to 11")
        if isinstance(value, dict):
            chips = chips_of(section, key, value)
            heaps[int(key)] = chips
            stacks[int(key)] = sum(worth * count for worth, count in chips.items())
        elif isinstance(value, str):
            if value != "unknown":
                raise section.wrong(key, value, 'give an amount, chips { value = count } or "unknown"')
            stacks[int(key)] = None
        else:
            stacks[int(key)] = section.number(key, least=1)
    if len(stacks) < 2:
        raise section.wrong("", sorted(stacks), "give the stacks of at least two seats")
    return dict(sorted(stacks.items())), heaps


def chips_of(section: strict.Section, key: str, value: Mapping[str, Any]) -> dict[int, int]:
    """``{ 1000 = 3 }`` as chip value -> count. Raises ``ScriptError``."""
    for worth, count in value.items():
        if not strict.is_number(worth) or int(worth) == 0 or type(count) is not int or not 1 <= count <= strict.MOST:
            raise section.wrong(key, dict(value), "chips are written { value = count }, for instance { 1000 = 3 }")
    return {int(worth): count for worth, count in value.items()}


def _stakes(run: strict.Section, denominations: set[int], stacks: list[int]) -> Stakes:
    override = run.section("override")
    blinds = override.take("blinds", list, [500, 1000])
    if len(blinds) != 2 or not all(isinstance(b, int) and b > 0 for b in blinds):
        raise override.wrong("blinds", blinds, "give the small and the big blind, for instance [500, 1000]")
    if blinds[0] > blinds[1]:
        raise override.wrong("blinds", blinds, f"the small blind stands first: write [{blinds[1]}, {blinds[0]}]")
    ante = override.number("ante", 0)
    chips = tuple(sorted(denominations))
    if not chips:
        unit = math.gcd(*stacks, *blinds, ante)
        chips = tuple(unit * step for step in (1, 2, 5, 10, 20, 100, 200, 1000))
    for amount in (*blinds, *stacks, ante):
        if amount % chips[0]:
            raise override.wrong("blinds", blinds, f"the smallest chip, {chips[0]}, does not divide {amount}")
    return Stakes(
        small_blind=blinds[0],
        big_blind=blinds[1],
        ante=ante,
        ante_kind=override.choice("ante_kind", ("each", "big_blind"), "each"),
        chips=chips,
        currency=override.text("currency", "EUR"),
        exponent=override.number("exponent", 2),
    )


def read_deck(section: strict.Section) -> tuple[list[str], list[str]]:
    """The order of the cards as they leave the shoe, and after a reshuffle. Raises ``ScriptError``."""
    decks = [list(section.texts(name)) for name in ("top", "after_reshuffle")]
    named = [card for card in decks[0] + decks[1] if card != "??"]
    for card in named:
        if card not in DECK:
            raise section.wrong("top", card, "a card is rank 2-9TJQKA and suit cdhs, for instance Td; ?? is any")
        if named.count(card) > 1:
            raise section.wrong("top", card, "the card stands twice in the deck")
    section.done()
    return decks[0], decks[1]
