"""The dealer's keypad at an Ultimate table: the same grammar, read for boxes (``docs/keypad.md``)."""

from dataclasses import replace

from controller.core.facts import BoxDecided, Declared, Fact, Refused, Shown, StakeLies, Turned

BOX_MISSING = "key the box before BET and ALLIN"


def read(facts: list[Fact]) -> list[Fact]:
    """What entries mean at a table of boxes. Facts that mean the same at every table pass."""
    return [one for fact in facts for one in _read(fact)]


def _read(fact: Fact) -> list[Fact]:
    match fact:
        case Shown(seat=None):
            return [Turned("next", basis=fact.basis, evidence=fact.evidence)]
        case Shown(seat=box):
            return [Turned("box", box, basis=fact.basis, evidence=fact.evidence)]
        case Declared():
            return _declared(fact)
        case _:
            return [fact]


def _declared(fact: Declared) -> list[Fact]:
    box, amount = fact.seat, fact.to
    match fact.kind:
        case "fold" | "check":
            return [BoxDecided(fact.kind, box, basis=fact.basis, evidence=fact.evidence)]
        case "call":
            return [BoxDecided("play", box, basis=fact.basis, evidence=fact.evidence)]
        case "raise":
            return [BoxDecided("play", box, amount, basis=fact.basis, evidence=fact.evidence)]
    if box is None or amount is None:
        return [Refused(fact.kind, BOX_MISSING, box, fact.evidence)]
    stake = StakeLies(box, "ante", amount, basis=fact.basis, evidence=fact.evidence)
    if fact.kind == "bet":
        return [stake, replace(stake, spot="blind")]
    return [replace(stake, spot="trips")]
