"""Cards that are turned: the dealer's, then the boxes' (LT-9.3, LT-4.2), and those that should not be (LT-6.4)."""

from collections.abc import Sequence

from controller.core import incidents
from controller.core.facts import CardCame, CardsMoved, Turned
from controller.core.out import Out
from controller.core.rules.ultimate import closing, deal, hands, misdeal
from controller.core.rules.ultimate.state import Coup, Dealt
from controller.core.rules.ultimate.talk import breach, refuse


def turned(out: Out, fact: Turned) -> None:
    """SHOW, or a camera: cards lie face up."""
    coup = out.state.table.coup
    if coup is None:
        refuse(out, "show", fact.box, "no round is being played", fact.evidence)
    elif out.state.held is not None:
        why = out.state.held.asks
        refuse(out, "show", fact.box, why, fact.evidence, key="held")
    elif fact.place == "box":
        _box(out, coup, fact)
    elif coup.phase == "reveal":
        dealer(out, coup, fact)
    elif fact.place == "next" and coup.phase == "settle":
        _rest(out, coup, fact)
    elif fact.place in ("board", "next") and any(not slot.opened for _, slot in coup.cards("board")):
        deal.turn_board(out, coup, fact)
    else:
        _dealer_early(out, coup, fact)


def _dealer_early(out: Out, coup: Coup, fact: Turned) -> None:
    """The dealer's cards before every box has decided (LT-9.3)."""
    if coup.phase == "deal":
        misdeal.happened(out, coup, "card_turned", "a card was turned while cards were dealt", fact.evidence)
    elif coup.phase == "settle" or coup.dealer_shown:
        refuse(out, "show", None, "the dealer's cards decide nothing now", fact.evidence)
    else:
        waiting = coup.waiting(coup.decision)
        incidents.open_one(
            out,
            "I-41",
            "premature_dealer",
            "dealer_premature",
            holds="hand",
            proposed="redeal",
            alternatives=("play_on", "void"),
            boxes=waiting,
            facts={"waiting": list(waiting)},
            evidence=fact.evidence,
        )


def _fouled(out: Out, coup: Coup, slots: Sequence[tuple[int, Dealt]], fact: Turned) -> bool:
    """A card is about to be turned that lies open already, under a name that a person gave: the deck is fouled."""
    lying = {slot.card for slot in coup.slots if slot.opened and not slot.gone}
    twice = next((slot.card for _, slot in slots if not slot.opened and slot.card in lying), None)
    if twice is not None:
        incidents.fouled_deck(out, CardCame(fact.place, twice, fact.box, fact.basis, fact.evidence))
    return twice is not None


def dealer(out: Out, coup: Coup, fact: Turned) -> None:
    """``dealer.revealed``: best five, and whether the hand has at least a pair (LT-10.2, LT-A15)."""
    slots = coup.cards("dealer")
    unknown = [i for i, slot in slots if slot.card is None]
    if unknown:
        incidents.unsure_card(out, unknown[0], "dealer", None, fact.evidence)
        return
    if _fouled(out, coup, slots, fact):
        return
    for index, slot in slots:
        if not slot.opened:
            data = {"slot": index, "place": "dealer", "card": slot.card, "salt": slot.salt, "cause": "dealer"}
            out.hand("card.opened", data, fact.basis, fact.evidence)
    out.hand("dealer.revealed", hands.dealer(coup) | {"rules": ["LT-10.2"]}, fact.basis, fact.evidence)
    closing.settle_ready(out, coup)


def _box(out: Out, coup: Coup, fact: Turned) -> None:
    assert fact.box is not None
    number, box = fact.box, coup.boxes.get(fact.box)
    if box is None:
        refuse(out, "show", number, "this box is not in the round", fact.evidence)
    elif box.revealed:
        refuse(out, "show", number, "this box lies open already", fact.evidence)
    elif coup.phase in ("deal", "decide", "board"):
        if box.folded is not None:
            refuse(out, "show", number, "this box was given up; its cards stay closed", fact.evidence)
            return
        asked = f"cards of box {number} were turned before the dealer's"
        misdeal.happened(out, coup, "card_turned", asked, fact.evidence)
    elif not coup.by_cards(box):
        refuse(out, "show", number, "this box was given up; its cards stay closed", fact.evidence)
    else:
        if coup.phase == "reveal" and box.stake("trips"):
            asked = "for TRIPS a box is opened after the dealer's cards"
            breach(out, "trips_before_dealer", "FLAG", asked, box=number, evidence=fact.evidence)
        reveal(out, coup, number, fact)


def _rest(out: Out, coup: Coup, fact: Turned) -> None:
    """SHOW without a box, once the dealer's cards lie open: every box that is still closed and has to be opened."""
    rest = closing.unrevealed(coup)
    if not rest:
        refuse(out, "show", None, "every box that has to be opened lies open", fact.evidence)
    for number in rest:
        reveal(out, coup, number, fact)


def reveal(out: Out, coup: Coup, number: int, fact: Turned) -> None:
    """``box.revealed``: what the box is settled by."""
    slots = coup.cards("box", number)
    unknown = [i for i, slot in slots if slot.card is None]
    if unknown:
        incidents.unsure_card(out, unknown[0], "box", number, fact.evidence)
        return
    if _fouled(out, coup, slots, fact):
        return
    for index, slot in slots:
        if not slot.opened:
            data = {"slot": index, "place": "box", "box": number, "card": slot.card, "salt": slot.salt}
            out.hand("card.opened", data | {"cause": "tabled"}, fact.basis, fact.evidence)
    own = [slot.card for _, slot in slots if slot.card is not None]
    board = [card for card in coup.board if card is not None]
    out.hand("box.revealed", {"box": number} | hands.best(own, board), fact.basis, fact.evidence)
    closing.settle_ready(out, coup)


def moved(out: Out, fact: CardsMoved) -> None:
    """Cards of a box were lifted, taken away or not put under PLAY, as antennas see it."""
    coup = out.state.table.coup
    box = coup.boxes.get(fact.box) if coup is not None else None
    if coup is None or box is None or coup.phase in ("reveal", "settle"):
        return
    if fact.how == "not_under_play":
        asked = "with PLAY the cards are put face down under it"
        breach(out, "not_under_play", "FLAG", asked, box=fact.box, evidence=fact.evidence)
        return
    key = {"lifted": "dark_looked_at", "touched": "play_touched_later", "away": "cards_away"}[fact.how]
    if fact.how == "lifted" and not box.dark:
        return  # until PLAY is placed a player holds the cards as he likes (LT-7.2)
    if any(i.kind == key and i.facts["box"] == fact.box for i in out.state.incidents.values()):
        return
    incidents.open_one(
        out,
        {"lifted": "I-40", "touched": "I-42", "away": "I-14"}[fact.how],
        key,
        key,
        holds="hand",
        proposed="bets_stand",
        alternatives=("redeal", "void"),
        boxes=(fact.box,),
        facts={"box": fact.box},
        evidence=fact.evidence,
    )
