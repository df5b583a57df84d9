"""What people put on record so that a table may open, play and close: the duties of its profile, met one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

from controller.core.cards import DECK
from controller.core.rules.profile import Profile
from simulators.scripts.acts import Order

TAGGED = 4
"""Chips of each denomination that lie in the tray of a rehearsal."""
ATTESTED = {
    "inventory": "HR-4.1",
    "identity": "HR-3.1",
    "dress": "HR-3.2",
    "blinds_displayed": "HR-20.2",
    "rules_displayed": "HR-23.1",
    "call_to_play": "HR-11.1",
}
"""Duties that a person's word meets, once per shift, and the rule the word is about."""
SUPERVISORS = ("chief_inspector", "inspector", "pit_boss", "manager")


def staffed(people: Mapping[str, str], rules: Profile) -> dict[str, str]:
    """The people of a rehearsal and those whom its profile asks for beside them (role -> staff)."""
    needed: list[str] = [role for role in ("dealer", "inspector", "pit_boss") if role in rules.requires]
    if "closing_count" in rules.requires and not set(people) & set(SUPERVISORS):
        needed.append("chief_inspector")
    missing = [role for role in needed if role not in people]
    return dict(people) | {role: f"s-{90 + no}" for no, role in enumerate(missing)}


def before_open(rules: Profile, people: Mapping[str, str], tray: Mapping[int, int]) -> list[Order]:
    """Attestations of the shift, and the float counted by two. ``tray``: what lies there, by value."""
    attested = [rule for duty, rule in ATTESTED.items() if duty in rules.requires]
    orders = [_order(people, "attest", rules=attested)] if attested else []
    if "float" in rules.requires:
        orders.append(_order(people, "count", reason="open", **_count(people, tray)))
    return orders


def before_hand(rules: Profile, people: Mapping[str, str], seats: Sequence[int], button: int) -> list[Order]:
    """The deck face up before the players, and a draw that the seat of the recorded button wins."""
    orders = [_order(people, "deck", do="verify")] if "deck_face_up" in rules.requires else []
    if "button_draw" in rules.requires:
        lowest = rules.first_button == "lowest_card"
        others = iter(DECK[4:] if lowest else DECK[:-4])
        wins = "2d" if lowest else "As"
        cards = [{"seat": seat, "card": wins if seat == button else next(others)} for seat in seats]
        orders.append(_order(people, "button", draw=cards, collected=len(DECK)))
    return orders


def closing(rules: Profile, people: Mapping[str, str], tray: Mapping[int, int]) -> Order:
    """The table is closed, with a count where the profile asks for one."""
    counted = _count(people, tray) if "closing_count" in rules.requires else {}
    return _order(people, "close", **counted)


def _order(people: Mapping[str, str], name: str, **args: Any) -> Order:
    role, who = next(iter(people.items()))
    return Order(name, args, who, role)


def _count(people: Mapping[str, str], tray: Mapping[int, int]) -> dict[str, Any]:
    (first, _), *others = people.items()
    second = next((who for role, who in others if first in SUPERVISORS or role in SUPERVISORS), None)
    lines = [{"denomination": value, "count": count} for value, count in sorted(tray.items())]
    return {"lines": lines} | ({} if second is None else {"with": second})
