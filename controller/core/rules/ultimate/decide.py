"""Decisions of the boxes, and chips that move while a round is played (LT-8, LT-9.2, LT-10.1, LT-A7, LT-A11)."""

from controller.core import incidents
from controller.core.facts import BoxDecided, StakeLies, Undone
from controller.core.out import Out
from controller.core.rules.ultimate import closing, stakes
from controller.core.rules.ultimate.state import Box, Coup
from controller.core.rules.ultimate.talk import (
    MULTIPLES,
    Data,
    allowed,
    breach,
    chips_data,
    fraction,
    house,
    refuse,
    refuse_bet,
)


def decide(out: Out, fact: BoxDecided) -> None:
    """A box checks, places PLAY or gives up. Before the deal a PLAY makes the box dark (LT-2.7)."""
    coup = out.state.table.coup
    if coup is None:
        if fact.kind == "play" and fact.box is not None and fact.amount is not None:
            stakes.lay(out, StakeLies(fact.box, "play", fact.amount, basis=fact.basis, evidence=fact.evidence))
        else:
            refuse(out, fact.kind, fact.box, "no round is being played", fact.evidence)
        return
    if out.state.held is not None:
        why = out.state.held.asks
        refuse(out, fact.kind, fact.box, why, fact.evidence, key="held", amount=fact.amount)
        return
    waiting = coup.waiting(coup.decision) if coup.phase == "decide" else ()
    number = fact.box if fact.box is not None else (waiting[0] if waiting else None)
    box = coup.boxes.get(number) if number is not None else None
    if number is None or box is None:
        refuse(out, fact.kind, number, f"no decision of this box is due ({coup.phase})", fact.evidence)
        return
    if number not in waiting:
        _not_due(out, coup, number, box, fact)
        return
    held = next((i.id for i in out.state.incidents.values() if i.holds == "seat" and i.facts["box"] == number), None)
    if held is not None:
        refuse(
            out, fact.kind, number, f"incident {held} about this box has to be ruled first", fact.evidence, key="held"
        )
        return
    problem, amount = _judge(out, coup, box, fact)
    if problem is not None:
        _refused(out, coup, number, box, fact, problem)
        return
    accept(out, coup, number, fact, amount)


def _not_due(out: Out, coup: Coup, number: int, box: Box, fact: BoxDecided) -> None:
    if box.dark:
        refuse(
            out,
            fact.kind,
            number,
            "a dark box has its PLAY already and decides nothing",
            fact.evidence,
            key="dark_decides",
        )
    elif box.play_at:
        key = "play_touched" if box.play_at == 1 else "play_touched_later"
        why = f"PLAY of box {number} stands and may not be changed"
        refuse(out, fact.kind, number, why, fact.evidence, key=key, amount=fact.amount)
    else:
        why = "the box is given up" if box.folded is not None else f"no decision of this box is due ({coup.phase})"
        refuse(out, fact.kind, number, why, fact.evidence)


def _judge(out: Out, coup: Coup, box: Box, fact: BoxDecided) -> tuple[str | None, int]:
    """A breach key or ``None``, and the amount of PLAY."""
    decision = coup.decision
    if fact.kind == "check":
        return (f"decision_{decision}" if decision == 3 else None), 0
    if fact.kind == "fold":
        early = decision < 3 and not house(out.setup).early_fold
        return ("early_fold" if early else None), 0
    legal = [m * box.stake("ante") for m in MULTIPLES[decision]]
    amount = legal[0] if fact.amount is None else fact.amount
    return (None if amount in legal else f"decision_{decision}"), amount


def _asked(decision: int, box: Box) -> str:
    ante = box.stake("ante")
    return {
        1: f"at the first decision: check, PLAY of 3 or 4 times ANTE ({3 * ante} or {4 * ante}), or give up",
        2: f"at the second decision: check, PLAY of 2 times ANTE ({2 * ante}), or give up",
        3: f"at the last decision: PLAY of 1 times ANTE ({ante}), or give up",
    }[decision]


def _refused(out: Out, coup: Coup, number: int, box: Box, fact: BoxDecided, key: str) -> None:
    why = "the house lets a box be given up only at the last decision" if key == "early_fold" else ""
    why = why or _asked(coup.decision, box)
    if fact.kind == "play":
        may = allowed(coup, box)
        refuse_bet(out, key, number, "play", fact.amount or 0, why, may, fact.basis, fact.evidence)
        breach(out, key, "BLOCK", why, box=number, allowed_now=may, evidence=fact.evidence)
    else:
        refuse(out, fact.kind, number, why, fact.evidence, key=key)


def accept(out: Out, coup: Coup, number: int, fact: BoxDecided, amount: int, chips: list[Data] | None = None) -> None:
    """``bet.placed`` for a PLAY, and ``box.decided``."""
    box, decision = coup.boxes[number], coup.decision
    told: Data = {
        "box": number,
        "decision": decision,
        "kind": fact.kind,
        "amount": amount,
        "locked": fact.kind == "play",
    }
    if fact.kind == "play":
        multiple = fraction((amount // box.stake("ante"), 1))
        told["multiple"] = multiple
        placed: Data = {"box": number, "spot": "play", "amount": amount, "lies": amount, "chips": chips or []}
        placed |= {"stage": f"decision_{decision}", "multiple": multiple, "locked": True}
        out.hand("bet.placed", placed, fact.basis, fact.evidence)
    out.hand("box.decided", told, fact.basis, fact.evidence)
    closing.settle_ready(out, coup)


def undo(out: Out, fact: Undone) -> None:
    """The last keyed decision is taken back, if nothing has followed it."""
    coup = out.state.table.coup
    if coup is None or coup.said is None:
        refuse(out, "undo", None, "nothing can be taken back; call a person with VOID", fact.evidence)
        return
    said = coup.said
    data: Data = {"box": said.box, "decision": said.decision, "refers": said.n}
    out.hand("box.undone", data, "keyed", fact.evidence)


# --- chips that move while a round is played -----------------------------------------------------------------


def stake_moved(out: Out, coup: Coup, fact: StakeLies) -> None:
    """Chips on a spot have changed after the deal began: a PLAY, a settlement, or what may not be (I-42)."""
    box = coup.boxes.get(fact.box)
    if box is None:
        _irregular(
            out, coup, fact, "late_stake", f"box {fact.box} is not in the round: bets are placed before the deal", 0
        )
        return
    if closing.countable(coup, box, fact.spot):
        closing.count(out, coup, fact)
        return
    recorded = box.stake(fact.spot)
    if fact.amount == recorded:
        _corrected(out, coup, fact)
        return
    due = coup.phase == "decide" and fact.box in coup.waiting(coup.decision)
    if fact.spot == "play" and due and out.state.held is None:
        legal = [m * box.stake("ante") for m in MULTIPLES[coup.decision]]
        if fact.amount in legal:
            _corrected(out, coup, fact)
            play = BoxDecided("play", fact.box, fact.amount, basis=fact.basis, evidence=fact.evidence)
            accept(out, coup, fact.box, play, fact.amount, chips_data(fact.chips))
            return
        excess = fact.amount - max((m for m in legal if m < fact.amount), default=0)
        key = f"decision_{coup.decision}"
        _irregular(out, coup, fact, key, _asked(coup.decision, box), excess, holds="seat", proposed="return_excess")
        return
    key, asked = _touched(box, fact)
    _irregular(out, coup, fact, key, asked, fact.amount - recorded)


def _touched(box: Box, fact: StakeLies) -> tuple[str, str]:
    recorded = box.stake(fact.spot)
    if fact.spot == "play" and recorded:
        key = "play_touched" if box.play_at == 1 else "play_touched_later"
        return key, f"PLAY of {recorded} stands and may not be touched; {fact.amount} lie there"
    if fact.spot == "trips" and fact.amount > recorded:
        return "late_trips", "TRIPS is placed before the deal; a late one is void and goes back"
    if fact.spot == "play":
        return "decision_1", f"no PLAY of this box is due now; {fact.amount} lie there"
    return "late_stake", f"{fact.spot.upper()} of {recorded} stands; {fact.amount} lie there"


def _irregular(
    out: Out,
    coup: Coup,
    fact: StakeLies,
    key: str,
    asked: str,
    excess: int,
    *,
    holds: str = "hand",
    proposed: str = "restore",
) -> None:
    name = _open(out, coup, fact)
    if name is not None:
        if out.state.incidents[name].facts["lies"] != fact.amount:  # what is ruled on is what lies there now
            out.hand("incident.updated", {"incident": name, "adds": {"lies": fact.amount}}, fact.basis, fact.evidence)
        return
    box = coup.boxes.get(fact.box)
    may = allowed(coup, box) if box is not None else []
    refuse_bet(out, key, fact.box, fact.spot, fact.amount, asked, may, fact.basis, fact.evidence, excess=max(0, excess))
    recorded = 0 if box is None else box.stake(fact.spot)
    incidents.open_one(
        out,
        "I-42",
        key,
        "bet_irregular",
        holds=holds,
        proposed=proposed,
        alternatives=("void",),
        boxes=(fact.box,),
        facts={"box": fact.box, "spot": fact.spot, "lies": fact.amount, "recorded": recorded, "asked": asked},
        evidence=fact.evidence,
    )


def _open(out: Out, coup: Coup, fact: StakeLies) -> str | None:
    of = {"box": fact.box, "spot": fact.spot}
    for incident in out.state.incidents.values():
        same = all(incident.facts.get(name) == value for name, value in of.items())
        if incident.kind == "bet_irregular" and incident.hand == coup.id and same:
            return incident.id
    return None


def _corrected(out: Out, coup: Coup, fact: StakeLies) -> None:
    """The chips lie as they should again: what was held for them goes on."""
    incident = _open(out, coup, fact)
    if incident is not None:
        incidents.close(out, incident, "corrected")
