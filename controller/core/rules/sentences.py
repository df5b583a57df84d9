"""One sentence for a person: what happened, what the rule asks, what may be done now."""

from collections.abc import Mapping, Sequence
from typing import Any

from controller.core.rules.betting import Bounds
from controller.core.state import Hand

ASKS = {
    "check_facing_bet": "{call} are owed and nobody may check",
    "call_nothing": "there is nothing to call",
    "bet_facing_bet": "a bet of {level} stands already",
    "must_open": "who speaks first in this round bets at least {min_to}, goes all-in or folds",
    "over_stack": "only chips in front of the player play, at most {max_to}",
    "over_pot": "pot limit allows at most {max_to}",
    "fixed_size": "fixed limit asks for exactly {min_to}",
    "min_raise": "a raise goes to at least {min_to}",
    "any_greater": "a raise has to be greater than {level}",
    "min_bet": "a bet is at least {min_to}",
    "table_minimum": "a bet in this round is at least the table minimum, {min_to}",
    "raise_cap": "the raises of this round are used up",
    "check_raise": "who has checked may only call the bet or fold",
    "blind_reraise": "a blind may raise only where nobody has raised before",
    "not_reopened": "what the seat faces is no full raise",
    "short_stack": "the stack is too short to raise",
    "nobody_to_answer": "nobody is left who could answer a raise",
    "not_whole_chips": "an amount has to be payable in chips of {unit}",
    "not_the_stack": "all-in is the whole stack, as the seat's total for the round",
    "stack_unknown": "the stack is not known and the amount has to be keyed with ALLIN",
    "amount_missing": "the total for the round has to be keyed and then ENTER",
    "out_of_turn": "seat {to_act} is to act",
    "bound": "it acted out of turn, nothing has changed since, and that binds it to {bound}",
    "before_deal_ends": "betting starts when all cards are dealt",
    "held": "{asks}",
}


def tried(kind: str, to: int | None) -> str:
    """``raise to 300``, ``bet 300``, ``check``."""
    words = {"all_in": "go all-in"}.get(kind, kind)
    if to is None or kind in ("fold", "check", "call"):
        return words
    return f"{words} {to}" if kind == "bet" else f"{words} to {to}"


def options(allowed: Sequence[Mapping[str, Any]]) -> str:
    """``fold, call 100, or raise to 200-5000``."""
    told = []
    for option in allowed:
        kind, low, high = option["kind"], option["min"], option["max"]
        if kind in ("fold", "check"):
            told.append(kind)
        elif kind == "call":
            told.append(f"call {low}")
        else:
            verb = kind if kind == "bet" else f"{kind} to"
            told.append(f"{verb} {low}" + ("" if low == high else " or more" if high is None else f"-{high}"))
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} or {told[-1]}"


def sentence(
    key: str,
    seat: int | None,
    kind: str,
    to: int | None,
    hand: Hand,
    bounds: Bounds | None,
    allowed: Sequence[Mapping[str, Any]],
    **more: object,
) -> str:
    """The sentence behind a refusal or breach of a decision. ``more`` fills what only the caller knows."""
    facts: dict[str, object] = {"level": hand.level, "unit": hand.unit, "to_act": hand.to_act}
    if bounds is not None:
        facts |= {"call": bounds.call, "min_to": bounds.min_to, "max_to": bounds.max_to}
    asks = ASKS[key].format_map(facts | more)
    who = "the entry" if seat is None else f"seat {seat}"
    happened = f"{who} was to {tried(kind, to)}, but {asks}"
    if not allowed:
        return happened
    actor = bounds.seat if bounds is not None else seat
    return f"{happened}; seat {actor} may {options(allowed)}"
