"""The door to the rules of the boxes: one fact in, records out. A refusal changes nothing but what is on record."""

from controller.core import incidents, system
from controller.core.facts import (
    BoxDecided,
    Called,
    CardCame,
    CardDoubtful,
    CardsMoved,
    Fact,
    Finished,
    HandAttested,
    Refused,
    StakeLies,
    TrayCounted,
    Turned,
    Undone,
)
from controller.core.out import Out
from controller.core.rules.ultimate import closing, deal, decide, misdeal, showing, stakes, start
from controller.core.rules.ultimate.state import Coup
from controller.core.rules.ultimate.talk import Data, allowed, refuse


def judge(out: Out, fact: Fact, seed: bytes | None) -> bool:
    """Judge one fact. True if the hand's seed is used."""
    coup = out.state.table.coup
    match fact:
        case StakeLies():
            _stake(out, coup, fact)
        case BoxDecided():
            decide.decide(out, fact)
        case CardCame():
            return deal.card(out, fact, seed)
        case CardDoubtful():
            return _doubtful(out, fact, seed)
        case HandAttested():
            return start.attest(out, fact, seed)
        case Turned():
            showing.turned(out, fact)
        case CardsMoved():
            showing.moved(out, fact)
        case Finished():
            closing.finished(out, fact)
        case Undone():
            decide.undo(out, fact)
        case Called() if coup is not None:
            misdeal.called(out, coup, fact)
        case Called():
            refuse(out, fact.what, None, "no round is being played", fact.evidence)
        case Refused():
            refuse(out, fact.tried, fact.seat, fact.why, fact.evidence)
        case TrayCounted():
            system.tray(out, fact)
        case _:
            raise ValueError(f"{type(fact).__name__} is no fact of an Ultimate table; sensing must not make it here")
    return False


def _stake(out: Out, coup: Coup | None, fact: StakeLies) -> None:
    strange = next((i for i in out.state.incidents.values() if i.kind == "chip_unknown" and _of(i.facts, fact)), None)
    if fact.strange and strange is None and out.state.session is not None:
        incidents.open_one(
            out,
            "I-28",
            "chip_kind",
            "chip_unknown",
            holds="hand" if coup is not None else "none",
            proposed="separate",
            boxes=(fact.box,),
            facts={"box": fact.box, "spot": fact.spot, "count": fact.strange},
            evidence=fact.evidence,
        )
    elif not fact.strange and strange is not None:
        incidents.close(out, strange.id, "corrected")
    if coup is None:
        stakes.lay(out, fact)
    else:
        decide.stake_moved(out, coup, fact)


def _of(facts: Data, fact: StakeLies) -> bool:
    return bool(facts.get("box") == fact.box and facts.get("spot") == fact.spot)


def _doubtful(out: Out, fact: CardDoubtful, seed: bytes | None) -> bool:
    came = CardCame("next", None, basis=fact.basis, evidence=fact.evidence, guess=fact.card)
    used = deal.card(out, came, seed)
    coup = out.state.table.coup
    if coup is None or not coup.slots or not coup.slots[-1].doubted:  # an open card's doubt is no secret
        for source in fact.evidence:
            system.doubtful(out, source, fact.why, fact.card)
    if fact.why == "unknown" and coup is not None:
        incidents.foreign_card(out, fact.evidence, tag_known=False)
    return used


def due(out: Out) -> Data:
    """Who must do what now, and within which bounds (a JSON-shaped picture for people and tests)."""
    table = out.state.table
    coup = table.coup
    if coup is None:
        found = stakes.problems(out)
        asked = [{"what": key, "rules": out.rules(key), "asked": why, "box": box} for key, why, box in found]
        return {"phase": "bets", "announced": list(table.announced), "against": asked}
    picture: Data = {"phase": coup.phase}
    if coup.phase == "decide":
        picture |= {"decision": coup.decision}
        picture["boxes"] = [{"box": n, "allowed": allowed(coup, coup.boxes[n])} for n in coup.waiting(coup.decision)]
    elif coup.phase == "settle":
        picture["open"] = list(closing.unrevealed(coup))
        picture["settle"] = [
            {
                "box": n,
                "lines": [closing.line_data(line) for line in settled.lines],
                "pays": settled.pays,
                "settled": coup.boxes[n].settled,
            }
            for n in sorted(coup.boxes)
            if (settled := closing.result(out, coup, n)) is not None
        ]
    return picture


def picture(out: Out) -> Data:
    """What people see of a table of boxes: what lies there, what is due. Never a closed card."""
    table = out.state.table
    coup = table.coup
    boxes = coup.boxes if coup is not None else table.boxes
    lines = [
        {
            "box": number,
            "player": box.player if box.player is not None else stakes.player_of(out, number),
            "stakes": {spot: amount for spot, amount in box.stakes.items() if amount},
            "dark": box.dark,
            "folded": box.folded is not None,
            "settled": box.settled,
        }
        for number, box in sorted(boxes.items())
    ]
    told: Data = {"announced": list(table.announced), "boxes": lines, "due": due(out), "hand": None}
    if coup is not None:
        cards = len(coup.slots)
        told["hand"] = {"hand": coup.id, "n": coup.n, "phase": coup.phase, "cards": cards, "board": coup.board}
        told["hand"] |= {"street": {0: "preflop", 3: "flop", 5: "river"}.get(len(coup.board)), "actions": coup.actions}
    return told
