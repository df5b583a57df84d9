"""The rake of a hand: what was computed, held against what was seen to go into the box (HR-15.4, BG-5.30)."""

from typing import Any

from controller.core.facts import Sources
from controller.core.out import Out
from controller.core.rules.profile import Rake
from controller.core.state import Hand

NO_RAKE = Rake()


def taken(out: Out, hand: Hand, rake: Rake, dropped: int | None, basis: Any, evidence: Sources = ()) -> None:
    """``rake.taken``: what was computed, and what was seen to go into the box."""
    exempt = rake.no_flop and hand.street == "preflop"
    data = {
        "computed": hand.rake,
        "dropped": dropped,
        "base": sum(pot["amount"] for pot in hand.pots),
        "rate": {"num": rake.rate_num, "den": rake.rate_den},
        "cap": rake.cap,
        "rounded": rake.rounding,
        "mode": rake.rounding_mode,
        "by_pot": [pot["rake"] for pot in hand.pots],
        "agrees": None if dropped is None else dropped == hand.rake,
    }
    data |= ({"box": rake.box} if rake.box else {}) | ({"exempt": "no_flop"} if exempt else {})
    out.hand("rake.taken", data, basis, evidence)
