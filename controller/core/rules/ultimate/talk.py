"""How the rules of the boxes speak: refusals, breaches and small facts that several of them need."""

from typing import Any

from controller.core.facts import Basis, Chips, Sources
from controller.core.out import Out, cite
from controller.core.rules.breaches import Reaction
from controller.core.rules.ultimate.house import Spot, Ultimate
from controller.core.rules.ultimate.state import Box, Coup
from controller.core.setup import Setup

Data = dict[str, Any]
MULTIPLES = {1: (3, 4), 2: (2,), 3: (1,)}
"""PLAY in ANTEs at each decision (LT-8.1, LT-8.4, LT-9.2)."""
DARK_MULTIPLES = (1, 2, 3, 4)
"""PLAY of a dark box, before the deal (LT-2.8)."""
MOST_BOXES = 6
"""LT-2.1."""
MOST_DARK = 4
"""LT-2.6: one more may be looked at."""


def house(setup: Setup) -> Ultimate:
    """The rules of this table. Raises ``LookupError`` at a table that plays another game."""
    rules = setup.profile.ultimate
    if rules is None:
        raise LookupError(f"profile {setup.profile.name} has no rules for Ultimate; choose one with game = ultimate")
    return rules


def unit(setup: Setup) -> int:
    """The smallest value chip, in minor units."""
    values = [d.value for d in setup.chipset.denominations if d.kind == "value"]
    return min(values, default=setup.chipset.unit)


def boxes_of(setup: Setup) -> range:
    """The boxes that the felt has and the text allows (LT-2.1)."""
    return range(1, min(setup.seats, MOST_BOXES) + 1)


def allowed(coup: Coup, box: Box) -> list[Data]:
    """What a box may do now, as the contract spells it: nothing where no decision is due."""
    if coup.phase != "decide" or box.folded is not None or box.play_at is not None or box.decided >= coup.decision:
        return []
    ante = box.stake("ante")
    kinds: list[Data] = [] if coup.decision == 3 else [{"kind": "check", "min": 0, "max": 0}]
    kinds += [{"kind": "play", "min": m * ante, "max": m * ante} for m in MULTIPLES[coup.decision]]
    return [*kinds, {"kind": "fold", "min": 0, "max": 0}]


def refuse(
    out: Out, tried: str, box: int | None, why: str, evidence: Sources, *, key: str = "", amount: int | None = None
) -> None:
    """``action.refused``, and the breach behind it where a rule forbids the entry. Nothing else changes."""
    coup = out.state.table.coup
    rules = out.rules(key) if key else []
    may = allowed(coup, coup.boxes[box]) if coup is not None and box in coup.boxes else []
    data: Data = {"seat": None, "tried": {"kind": tried, "to": amount}, "rules": rules, "allowed": may, "why": why}
    if box is not None:
        data["box"] = box
    if coup is not None:
        out.hand("action.refused", data, "keyed", evidence)
    else:
        data |= {"basis": "keyed", "evidence": cite(evidence)}
        out.emit("play", "action.refused", out.setup.table, data)
    if rules:
        breach(out, key, "BLOCK", why, box=box, allowed_now=may, evidence=evidence)


def refuse_bet(
    out: Out,
    key: str,
    box: int,
    spot: Spot,
    amount: int,
    why: str,
    allowed_now: list[Data],
    basis: Basis,
    evidence: Sources,
    *,
    excess: int | None = None,
) -> None:
    """``bet.refused``: a stake that may not be."""
    data: Data = {"box": box, "spot": spot, "amount": amount, "rules": out.rules(key), "allowed": allowed_now}
    data |= {"why": why} | ({} if excess is None else {"excess": excess})
    if out.state.table.coup is not None:
        out.hand("bet.refused", data, basis, evidence)
    else:
        out.before_deal("bet.refused", data, basis, evidence)


def breach(
    out: Out,
    key: str,
    reaction: Reaction,
    asked: str,
    *,
    box: int | None = None,
    allowed_now: list[Data] | None = None,
    evidence: Sources = (),
) -> None:
    """``breach.noted`` about a box or about the table."""
    out.breach(key, reaction, asked, allowed=allowed_now, box=box, evidence=evidence)


def chips_data(chips: Chips) -> list[Data]:
    """Chips as the contract spells them."""
    return [{"class": kind, "denomination": value, "count": count} for kind, value, count in chips]


def fraction(multiple: tuple[int, int] | None) -> Data | None:
    """A multiple of ANTE as the contract spells it."""
    return None if multiple is None else {"num": multiple[0], "den": multiple[1]}


def person(out: Out, role: str) -> Data | None:
    """Who has a function now."""
    who = next((staff for staff, has in sorted(out.state.staff.items()) if has == role), None)
    return None if who is None else {"staff": who, "role": role}


def switches_data(out: Out) -> Data:
    """The readings under which a round is settled, as the contract spells them."""
    rules = house(out.setup)
    readings = rules.not_qualified
    return {
        "dealer_not_qualified": {"ante": readings.ante, "play": readings.play, "blind": readings.blind},
        "fold_trips": rules.fold_trips,
    }
