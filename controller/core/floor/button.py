"""The button: drawn at the opening, seen elsewhere than it belongs, put right (HR-10.4 to HR-10.6, HR-17.1, CM-18)."""

from collections.abc import Mapping
from typing import Literal

from controller.core import incidents
from controller.core.cards import CARDS, RANKS
from controller.core.errors import BadCommand
from controller.core.floor import conditions, words
from controller.core.floor.deck import WHOLE, told
from controller.core.floor.words import Data, person
from controller.core.inputs import Command
from controller.core.out import Out
from controller.core.rules import positions
from controller.core.state import Incident

SUITS = "dchs"
"""From the weakest to the strongest, for the draw alone (HR-8.2, HR-A9)."""


def drawn(cards: Mapping[int, str], by: Literal["lowest_card", "highest_card", "house"]) -> int:
    """The seat that gets the button: the lowest card, of equal ranks the weakest suit (HR-10.5, HR-10.6).

    ``highest_card``: the other way round (CM-21); that is also the default where a house has decided nothing.
    """
    order = sorted(cards, key=lambda seat: (RANKS.index(cards[seat][0]), SUITS.index(cards[seat][1])))
    return order[0] if by == "lowest_card" else order[-1]


def button(out: Out, command: Command) -> None:
    """``button``: one of: draw ``[{seat, card}]`` with seat? and collected?; seat with how.

    how: ``lies``: it was seen there; ``corrected`` or ``draw``: a person puts it there. ``collected``: how many
    cards the dealer has again after the draw (HR-A20).
    """
    how = words.choice(command, "how", ("draw", "corrected", "lies"), "corrected")
    cards = _cards(out, command)
    collected = words.whole(command, "collected", 0, 2 * WHOLE) if "collected" in command.args else None
    seat = words.seat(out, command) if cards is None or "seat" in command.args else None
    if not words.needs_open(out):
        return
    if cards is not None:
        _draw(out, cards, seat, collected, command)
    elif how == "lies":
        _seen(out, seat or 0, command)
    elif out.state.play is not None:
        out.breach("button_in_hand", "BLOCK", "the button is placed between hands")
    else:
        place(out, seat or 0, how, command)


def place(out: Out, seat: int, how: str, command: Command, draw: Mapping[int, str] | None = None) -> None:
    """``button.placed``."""
    behind = "button_in_hand" if draw is None else key(draw, seat)
    data: Data = {"seat": seat, "how": how, "rules": out.rules(behind), "by": person(command), "basis": "attested"}
    if draw is not None:
        data["draw"] = [{"seat": number, "card": card} for number, card in sorted(draw.items())]
    out.emit("play", "button.placed", out.setup.table, data)


def key(draw: Mapping[int, str], seat: int) -> str:
    """The breach key of a draw: whether its suit decided it."""
    return "drawn_by_suit" if sum(card[0] == draw[seat][0] for card in draw.values()) > 1 else "drawn"


def _draw(out: Out, cards: dict[int, str], lies: int | None, collected: int | None, command: Command) -> None:
    if out.state.play is not None or out.state.hands:
        out.breach("button_in_hand", "BLOCK", "the button is drawn before the first hand")
        return
    if "deck_face_up" in out.setup.profile.requires and not out.state.floor.verified:
        out.breach("deck_unverified", "BLOCK", "the deck is laid face up and shuffled before the draw")
        return
    present = {number for number, seat in out.state.seats.items() if not seat.away}
    if set(cards) != present:
        asked = f"every player gets one card; the players sit at {', '.join(map(str, sorted(present))) or 'no seat'}"
        out.breach("draw_incomplete", "BLOCK", asked)
        return
    seat = drawn(cards, out.setup.profile.first_button)
    place(out, seat, "draw", command, cards)
    if collected is not None:
        told(out, collected, "count", sorted(present), collected == WHOLE, command)
    if lies not in (None, seat):
        _misplaced(out, key(cards, seat), seat, lies, "table")


KINDS = ("drawn", "drawn_by_suit", "button_misplaced")
"""Incidents of a button that lies elsewhere than it belongs."""


def _cards(out: Out, command: Command) -> dict[int, str] | None:
    given = command.args.get("draw")
    if given is None:
        return None
    if not isinstance(given, list) or not given:
        raise BadCommand("draw", given, 'give a list of {"seat": n, "card": "7h"}')
    cards: dict[int, str] = {}
    for line in given:
        inner = Command("draw", line if isinstance(line, dict) else {})
        seat, card = words.seat(out, inner), words.text(inner, "card")
        if card not in CARDS or card in cards.values() or seat in cards:
            raise BadCommand("draw", line, "name each seat and each card once, as rank and suit")
        cards[seat] = card
    return cards


def _seen(out: Out, seat: int, command: Command) -> None:
    """The button lies at a seat: elsewhere than it belongs it is put right before substantial action (CM-18, I-25)."""
    state = out.state
    hand = state.hand
    if hand is not None:
        if seat == hand.button:
            return
        if not hand.substantial:
            _misplaced(out, "button_misplaced", hand.button, seat, "hand")
            return
        asked = f"the button lies at seat {seat}, not {hand.button}; it is too late to put it right: it stands"
        out.breach("button_misplaced", "FLAG", asked, seat=seat)
        data: Data = {"seat": seat, "how": "corrected", "rules": out.rules("button_in_hand"), "by": person(command)}
        out.emit("play", "button.placed", out.setup.table, data | {"basis": "attested"})
        return
    if state.button is None or len(positions.playing(out)) < out.setup.profile.players_min:
        conditions.told(out, conditions.before_hand(out))
        return
    expected = positions.find(out).button
    if seat != expected:
        _misplaced(out, "button_misplaced", expected, seat, "table")


def _misplaced(out: Out, kind: str, belongs: int, lies: int | None, holds: str) -> None:
    incidents.open_one(
        out,
        "I-25",
        kind,
        kind,
        holds=holds,
        proposed="move_button",
        alternatives=("stands",),
        seats=(belongs, lies) if lies else (belongs,),
        facts={"belongs": belongs, "lies": lies},
        of_hand=holds == "hand",
    )


def ruled(out: Out, incident: Incident, ruling: str, by: dict[str, str]) -> None:
    """After the ruling: the button goes where it belongs; ``stands``: it stays where it lies, against the rule."""
    if incident.kind not in KINDS or ruling != "stands" or out.state.hand is not None:
        return
    data: Data = {"seat": incident.facts["lies"], "how": "corrected", "rules": out.rules(incident.kind), "by": by}
    out.emit("play", "button.placed", out.setup.table, data | {"basis": "attested"})
