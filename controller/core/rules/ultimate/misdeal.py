"""A deal that can not stand: all cards are shuffled again and the bets stay (LT-6.4, LT-A5, LT-A6)."""

from controller.core import incidents, system
from controller.core.facts import Called, Sources
from controller.core.out import Out
from controller.core.rules.ultimate.evolve import box_data
from controller.core.rules.ultimate.state import Box, Coup
from controller.core.rules.ultimate.talk import Data, breach, house


def happened(out: Out, coup: Coup, key: str, asked: str, evidence: Sources) -> None:
    """A wrong count or a card turned by accident: at once before the first PLAY or fold, later a person rules."""
    if any(i.kind == "misdeal" and i.hand == coup.id for i in out.state.incidents.values()):
        return
    if not coup.substantial and out.state.held is None:
        breach(out, key, "FLAG", f"{asked}; all cards are shuffled again and the bets stay", evidence=evidence)
        redeal(out, coup, None, [])
        return
    incidents.open_one(
        out,
        "I-41",
        key,
        "misdeal",
        holds="hand",
        proposed="redeal",
        alternatives=("play_on", "void"),
        facts={"asked": asked},
        evidence=evidence,
    )


def called(out: Out, coup: Coup, fact: Called) -> None:
    """MISDEAL, pressed twice: the dealer says that a card was turned or the count is wrong. VOID calls a person."""
    if fact.what == "misdeal":
        happened(out, coup, "misdeal", "the dealer called a misdeal", fact.evidence)
    elif not any(i.kind == "void_called" for i in out.state.incidents.values()):
        incidents.open_one(
            out,
            "I-37",
            "person_called",
            "void_called",
            holds="hand",
            proposed="void",
            alternatives=("play_on", "redeal"),
            evidence=fact.evidence,
        )


def _again(out: Out, box: Box) -> Box:
    """A box as it goes into the next deal. ``bets_stay``: to the letter, PLAY and a fold stand as well."""
    late = box.play_at is not None and not box.dark
    if house(out.setup).misdeal_after_play == "play_returned":
        stakes = box.stakes | ({"play": 0} if late else {})
        luck = box.luck | ({"play": 0} if late else {})
        return Box(box.player, stakes, luck, box.sensed, dark=box.dark)
    again = Box(box.player, dict(box.stakes), dict(box.luck), box.sensed, dark=box.dark)
    again.looked = box.looked or late
    again.folded = None if box.folded is None else 0
    return again


def redeal(out: Out, coup: Coup, incident: str | None, by: list[Data]) -> None:
    """``hand.voided`` and ``hand.redealt``: a new round with the same stakes, linked to the old one."""
    boxes = {number: _again(out, box) for number, box in sorted(coup.boxes.items())}
    back = [
        {"box": number, "spot": "play", "amount": box.stake("play") - boxes[number].stake("play")}
        for number, box in sorted(coup.boxes.items())
        if box.stake("play") != boxes[number].stake("play")
    ]
    _void(out, coup, "misdeal", incident, back, by)
    stem, number = coup.id.rsplit("-", 1)
    data: Data = {"old": coup.id, "new": f"{stem}-{int(number) + 1:04d}", "kept": ["boxes", "bets"]}
    data |= {"boxes": [box_data(n, box) for n, box in boxes.items()], "announced": sorted(boxes)}
    data |= {"rules": out.rules("redeal"), "basis": "derived" if incident is None else "attested"}
    if incident is not None:
        data["incident"] = incident
    out.emit("play", "hand.redealt", coup.id, data, day=coup.day)
    incidents.close_all(out, coup.id, "redealt")


def void(out: Out, coup: Coup, cause: str, incident: str | None, by: list[Data]) -> None:
    """``hand.voided``: every stake goes back."""
    back = [
        {"box": number, "spot": spot, "amount": amount}
        for number, box in sorted(coup.boxes.items())
        for spot, amount in box.stakes.items()
        if amount
    ]
    _void(out, coup, cause, incident, back, by)
    incidents.close_all(out, coup.id, "voided")


def _void(out: Out, coup: Coup, cause: str, incident: str | None, back: list[Data], by: list[Data]) -> None:
    data: Data = {"cause": cause, "incident": incident, "returned": back, "rake": 0, "house_net": 0, "by": by}
    if incident is None:
        del data["incident"]
    out.hand("hand.voided", data, "derived" if incident is None else "attested")
    system.doubts(out, coup)
