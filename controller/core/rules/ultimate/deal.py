"""Cards of a round: where each belongs, and what a card in the wrong place means (LT-6, LT-8.3, LT-9.1, LT-A9)."""

from controller.core import incidents
from controller.core.cards import UNKNOWN, commitment, salt
from controller.core.facts import CardCame, Sources, Turned
from controller.core.out import Out
from controller.core.rules.ultimate import closing, misdeal, start
from controller.core.rules.ultimate.state import Coup, Dealt
from controller.core.rules.ultimate.talk import Data, breach, house, refuse

STREETS = {3: "flop", 5: "river"}
"""The two groups of common cards, by how many lie open with them (LT-8.3, LT-9.1)."""


def next_place(coup: Coup, *, predealt: bool) -> tuple[str, int | None]:
    """Where the dealing order sends the next card: round the boxes and to the dealer, twice; then to the board."""
    if coup.phase == "deal":
        order: list[tuple[str, int | None]] = [*(("box", box) for box in coup.in_deal), ("dealer", None)]
        dealt = sum(1 for s in coup.slots if s.place in ("box", "dealer") and not s.gone)
        return order[dealt % len(order)]
    laid = sum(1 for s in coup.slots if s.place == "board" and not s.gone)
    if laid < 5 and (predealt or not coup.over):
        return "board", None
    return "stub", None


def card(out: Out, fact: CardCame, seed: bytes | None) -> bool:
    """A card came. True if the seed is used: a card before the end of betting starts the round, held."""
    table, used = out.state.table, False
    if table.coup is None:
        if start.by_card(out, fact, seed) is None:
            return False  # the refusal is on record; the card belongs to no round
        used = True
    coup = table.coup
    assert coup is not None
    predealt = house(out.setup).board == "predealt"
    place, box = (fact.place, fact.seat) if fact.place != "next" else next_place(coup, predealt=predealt)
    if fact.card is not None:
        there = next(((i, s) for i, s in enumerate(coup.slots) if s.card == fact.card and not s.gone), None)
        if there is not None:
            _again(out, coup, fact, there, place, box)
            return used
    if place in ("box", "dealer"):
        _own(out, coup, fact, place, box)
    elif place == "board":
        _board(out, coup, fact, predealt=predealt)
    else:
        breach(out, "card_outside_deal", "INFO", "no card is due now", evidence=fact.evidence)
    return used


def _again(out: Out, coup: Coup, fact: CardCame, there: tuple[int, Dealt], place: str, box: int | None) -> None:
    """A card that is out already. The shoe saying it twice is a fouled deck; an antenna saw it move."""
    _, slot = there
    if fact.place == "next":
        incidents.fouled_deck(out, fact)
    elif (slot.place, slot.box) != (place, box) and "box" in (slot.place, place):
        boxes = tuple(sorted({b for b in (slot.box, box) if b is not None}))
        if any(i.kind == "cards_exchanged" and i.hand == coup.id for i in out.state.incidents.values()):
            return
        incidents.open_one(
            out,
            "I-14",
            "cards_exchanged",
            "cards_exchanged",
            holds="hand",
            proposed="play_on",
            alternatives=("redeal", "void"),
            boxes=boxes,
            facts={"from": slot.place, "to": place},
            evidence=fact.evidence,
        )


def _own(out: Out, coup: Coup, fact: CardCame, place: str, box: int | None) -> None:
    entitled = place == "dealer" or box in coup.in_deal
    full = len(coup.cards(place, box)) >= 2
    deal_closed(out, coup, place, box, fact)
    if not entitled or full:
        where = "the dealer" if box is None else f"box {box}"
        why = f"{where} has a third card" if full else f"{where} is not in the deal and got a card"
        misdeal.happened(out, coup, "wrong_count", f"{why}: two cards to each box and two to the dealer", fact.evidence)


def deal_closed(out: Out, coup: Coup, place: str, box: int | None, fact: CardCame) -> None:
    """``card.dealt`` face down (LT-6.2): its value is committed to and sealed."""
    slot = len(coup.slots)
    value = fact.card or UNKNOWN
    card_salt = salt(coup.seed, slot)
    data: Data = {"slot": slot, "place": place, "face": "closed"}
    data["commit"] = commitment(coup.id, slot, value, card_salt)
    if box is not None:
        data["box"] = box
    secret = {"card": value, "salt": card_salt, "guess": fact.guess or value}
    out.hand("card.dealt", data, fact.basis, fact.evidence, secret=secret)


def _board(out: Out, coup: Coup, fact: CardCame, *, predealt: bool) -> None:
    laid = sum(1 for s in coup.slots if s.place == "board" and not s.gone)
    if laid >= 5:
        misdeal.happened(out, coup, "wrong_count", "a sixth common card came: five are common", fact.evidence)
        return
    if predealt:
        deal_closed(out, coup, "board", None, fact)
        return
    if coup.phase == "deal":
        deal_closed(out, coup, "board", None, fact)
        asked = "a common card came before each box and the dealer had two cards"
        misdeal.happened(out, coup, "wrong_count", asked, fact.evidence)
        return
    premature = coup.phase == "decide"
    _open_one(out, coup, fact, premature=premature)
    if premature:
        held_board(out, coup, fact.evidence)
    else:
        street(out, coup)


def _open_one(out: Out, coup: Coup, fact: CardCame, *, premature: bool) -> None:
    slot = len(coup.slots)
    dealt: Data = {"slot": slot, "place": "board", "face": "open"} | ({"premature": True} if premature else {})
    out.hand("card.dealt", dealt, fact.basis, fact.evidence)
    if fact.card is None:
        incidents.unsure_card(out, slot, "board", None, fact.evidence)
        return
    opened = {"slot": slot, "place": "board", "card": fact.card, "cause": "premature" if premature else "street"}
    out.hand("card.opened", opened, fact.basis, fact.evidence)


def held_board(out: Out, coup: Coup, evidence: Sources) -> None:
    """Common cards before every box has decided (LT-8.3, LT-9.1): one incident for all cards of the street."""
    if any(i.kind == "street_premature" and i.hand == coup.id for i in out.state.incidents.values()):
        return
    flop = coup.decision == 1
    waiting = coup.waiting(coup.decision)
    incidents.open_one(
        out,
        "I-4" if flop else "I-5",
        "premature_flop" if flop else "premature_river",
        "street_premature",
        holds="hand",
        proposed="redeal",
        alternatives=("play_on", "void"),
        boxes=waiting,
        facts={"street": "flop" if flop else "river", "waiting": list(waiting)},
        evidence=evidence,
    )


def street(out: Out, coup: Coup) -> None:
    """``street.opened`` once every common card of the street lies open and is known: three, then two."""
    board = coup.board
    if len(board) not in STREETS:
        return
    new = board[3:] if len(board) == 5 else board
    waiting = list(coup.waiting(coup.decision))
    data = {"street": STREETS[len(board)], "cards": new, "board": board, "burned": False, "to_act": None}
    out.hand("street.opened", data | {"waiting": waiting}, "derived")
    closing.settle_ready(out, coup)


def turn_board(out: Out, coup: Coup, fact: Turned) -> None:
    """Common cards that lay face down are turned: three, then two (LT-A9). Too early is a hold (LT-8.3, LT-9.1)."""
    closed = [(i, s) for i, s in coup.cards("board") if not s.opened]
    due = closed[: (3 if len(coup.board) < 3 else 5) - len(coup.board)]
    if house(out.setup).board != "predealt" or coup.phase not in ("decide", "board") or not due:
        refuse(out, "show", None, "no common cards lie face down that could be turned now", fact.evidence)
        return
    unknown = [i for i, slot in due if slot.card is None]
    if unknown:
        incidents.unsure_card(out, unknown[0], "board", None, fact.evidence)
        return
    if coup.phase == "decide":
        held_board(out, coup, fact.evidence)
        return
    for index, slot in due:
        opened = {"slot": index, "place": "board", "card": slot.card, "salt": slot.salt, "cause": "street"}
        out.hand("card.opened", opened, fact.basis, fact.evidence)
    street(out, coup)
