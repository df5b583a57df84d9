"""The deck: all its cards are seen before play, and another one is seen again (HR-10.2, HR-A23, I-12)."""

from controller.core.cards import CARDS
from controller.core.errors import BadCommand
from controller.core.floor import words
from controller.core.floor.words import Data, person
from controller.core.inputs import Command
from controller.core.out import Out

WHOLE = len(CARDS)
METHODS = ("face_up", "count", "machine")
REASONS = ("schedule", "requested", "fouled", "marked", "damaged")
WITNESSES = 2
"""How many players have to be there when the cards are laid face up (HR-A23)."""


def deck(out: Out, command: Command) -> None:
    """``deck``: do (``verify`` or ``change``) and what that needs."""
    if words.choice(command, "do", ("verify", "change")) == "verify":
        verify(out, command)
    else:
        change(out, command)


def verify(out: Out, command: Command) -> None:
    """``count``?, ``method``?, ``before``?, ``missing``?, ``extra``?: the cards of the deck were looked at.

    Which card is missing or there twice is sealed: it is told after the next hand at the earliest (rules.md 9.3).
    """
    count = words.whole(command, "count", 0, 2 * WHOLE) if "count" in command.args else WHOLE
    method = words.choice(command, "method", METHODS, "face_up")
    present = [number for number, seat in sorted(out.state.seats.items()) if not seat.away]
    before = command.args.get("before", present)
    if not isinstance(before, list) or any(number not in present for number in before):
        raise BadCommand("before", before, f"name seats whose players are present: {present}")
    missing, extra = _cards(command, "missing"), _cards(command, "extra")
    if not words.needs_open(out) or _in_hand(out):
        return
    if method == "face_up" and "deck_face_up" in out.setup.profile.requires and len(before) < WITNESSES:
        asked = f"the cards are laid face up before at least {WITNESSES} players; {len(before)} were there"
        out.breach("deck_unverified", "BLOCK", asked)
        return
    whole = count == WHOLE and not missing and not extra
    told(out, count, method, before, whole, command, {"missing": missing, "extra": extra})


def told(
    out: Out, count: int, method: str, before: list[int], ok: bool, command: Command, secret: Data | None = None
) -> None:
    """``deck.verified``; a deck that is not whole bars the next hand (I-12)."""
    data: Data = {"deck": out.state.floor.deck or out.setup.deck.id, "count": count, "ok": ok, "before": before}
    data |= {"method": method, "by": person(command), "basis": "attested"}
    hidden = secret if secret and not ok else None
    out.emit("play", "deck.verified", out.setup.table, data, secret=hidden)
    if not ok:
        out.breach("deck_incomplete", "BLOCK", f"{count} cards, or not the right ones; a deck has {WHOLE} different")


def change(out: Out, command: Command) -> None:
    """``new``, ``because``?: another deck comes to the table; it is verified like the first (HR-A23)."""
    new = words.text(command, "new")
    because = words.choice(command, "because", REASONS, "schedule")
    if not words.needs_open(out) or _in_hand(out):
        return
    old = out.state.floor.deck or out.setup.deck.id
    data: Data = {"old": old, "new": new, "reason": because, "by": person(command), "basis": "attested"}
    out.emit("play", "deck.changed", out.setup.table, data)


def _in_hand(out: Out) -> bool:
    if out.state.play is not None:
        out.breach("deck_in_hand", "BLOCK", "one deck plays the whole hand; it is looked at or changed between hands")
        return True
    return False


def _cards(command: Command, name: str) -> list[str]:
    cards = command.args.get(name, [])
    if not isinstance(cards, list) or any(card not in CARDS for card in cards):
        raise BadCommand(name, cards, "name cards as rank and suit, for example As or Td")
    return [str(card) for card in cards]
