"""From the open cards to the closed round: each box settled, its payment held against it (LT-4, LT-5, LT-10)."""

from controller.core import incidents, system
from controller.core.facts import Basis, Finished, Sources, StakeLies
from controller.core.out import Out
from controller.core.rules.ultimate import hands
from controller.core.rules.ultimate.house import SPOTS, Spot
from controller.core.rules.ultimate.settlement import Line, Played, Settled, settle
from controller.core.rules.ultimate.state import Box, Coup
from controller.core.rules.ultimate.talk import Data, house, refuse, switches_data, unit

WRONG = {"trips": "wrong_trips", "blind": "wrong_blind"}


def unrevealed(coup: Coup) -> tuple[int, ...]:
    """The boxes that have to be opened and are not (LT-4.2)."""
    return tuple(n for n, box in sorted(coup.boxes.items()) if coup.by_cards(box) and not box.revealed)


def result(out: Out, coup: Coup, number: int) -> Settled | None:
    """What a box comes to; ``None`` while cards are missing."""
    box = coup.boxes[number]
    if coup.by_cards(box) and (coup.phase != "settle" or not box.revealed):
        return None
    rules = house(out.setup)
    cards = tuple(slot.card for _, slot in coup.cards("box", number) if slot.card is not None) if box.revealed else ()
    dealer = [slot.card for _, slot in coup.cards("dealer") if slot.card is not None] if coup.dealer_shown else []
    board = [card for card in coup.board if card is not None]
    luck: dict[Spot, int] = {spot: box.luck.get(spot, 0) for spot in SPOTS}
    played = Played(
        box.stake("ante"),
        box.stake("blind"),
        box.stake("play"),
        box.stake("trips"),
        cards,
        box.folded is not None,
        luck,
    )
    return settle(played, dealer, board, rules.switches(unit(out.setup)), rules.tables())


def expected(line: Line) -> int:
    """What lies on a spot when it has been settled and nobody has picked it up."""
    return 0 if line.outcome == "lose" else line.stake + line.pays - line.taken


def countable(coup: Coup, box: Box, spot: Spot) -> bool:
    """Whether chips on this spot are the dealer's settling: the round is at it, or the box was given up."""
    if box.settled or coup.phase == "settle":
        return True
    waits = spot == "trips" and coup.by_cards(box)
    return box.folded is not None and not waits


def count(out: Out, coup: Coup, fact: StakeLies) -> None:
    """``spot.counted``: what lies on a spot while the dealer takes and pays."""
    box = coup.boxes[fact.box]
    due = _due(out, coup, fact.box, fact.spot)
    if fact.amount == box.counted.get(fact.spot, box.stake(fact.spot)):
        return
    wrong = _wrong(out, fact.box)
    if box.settled and wrong is None and fact.amount <= (due or 0):
        return  # the player picks up what is his
    data: Data = {"box": fact.box, "spot": fact.spot, "amount": fact.amount, "expected": due}
    out.hand("spot.counted", data | {"agrees": fact.amount == due}, fact.basis, fact.evidence)
    if wrong is not None and not unsettled_spots(out, coup, fact.box):
        incidents.close(out, wrong, "corrected")
    elif box.settled and wrong is None:
        payout_wrong(out, coup, fact.box, fact.evidence)
    settle_ready(out, coup)


def _wrong(out: Out, number: int) -> str | None:
    """The open incident about a box's payment."""
    kinds = [i for i in out.state.incidents.values() if i.kind == "payout_wrong" and i.facts["box"] == number]
    return kinds[0].id if kinds else None


def _due(out: Out, coup: Coup, number: int, spot: Spot) -> int | None:
    settled = result(out, coup, number)
    if settled is None:
        return None
    return next((expected(line) for line in settled.lines if line.spot == spot), 0)


def unsettled_spots(out: Out, coup: Coup, number: int) -> list[Line]:
    """The lines of a box that have not been seen as they should be; a push needs no move."""
    settled, box = result(out, coup, number), coup.boxes[number]
    if settled is None:
        return []
    return [line for line in settled.lines if not _as_due(box, line)]


def _as_due(box: Box, line: Line) -> bool:
    lies = box.counted.get(line.spot, line.stake)
    if line.spot in box.agreed or line.outcome == "push":
        return lies <= expected(line)  # it was right, and the player may pick it up
    return lies == expected(line)


def settle_ready(out: Out, coup: Coup) -> None:
    """``box.settled`` for every box whose payment has been seen whole."""
    if coup.phase != "settle" or out.state.held is not None:
        return
    for number, box in sorted(coup.boxes.items()):
        settled = result(out, coup, number)
        if box.settled or settled is None or any(line.spot not in box.sensed for line in settled.lines):
            continue
        if not unsettled_spots(out, coup, number):
            emit(out, coup, number, settled, settled.pays, "sensor", ())


def emit(
    out: Out, coup: Coup, number: int, settled: Settled, paid: int | None, basis: Basis, evidence: Sources
) -> None:
    """``box.settled``, and ``payout.made`` for what went from the tray to the box."""
    agrees = None if paid is None else paid == settled.pays
    data: Data = {
        "box": number,
        "against": settled.against,
        "lines": [line_data(line) for line in settled.lines],
        "stake": settled.stake,
        "returned": settled.returned,
        "house_net": settled.house_net,
        "promo_stake": settled.promo_stake,
        "rounding_left": settled.rounding_left,
        "switches": switches_data(out),
        "paid": paid,
        "agrees": agrees,
    }
    out.hand("box.settled", data, basis, evidence)
    if paid:
        setup = out.setup
        payout: Data = {"currency": {"code": setup.currency.code, "exponent": setup.currency.exponent}}
        payout |= {"shift": out.state.shift, "by": [], "hand": coup.id, "box": number, "amount": paid, "lines": []}
        payout |= {"computed": settled.pays, "agrees": agrees, "basis": basis}
        out.emit("cash", "payout.made", coup.id, payout, day=coup.day)


def line_data(line: Line) -> Data:
    """One line as the contract spells it."""
    data: Data = {"spot": line.spot, "stake": line.stake, "outcome": line.outcome}
    if line.odds is not None:
        data["odds"] = {"num": line.odds[0], "den": line.odds[1]}
    data |= {"pays": line.pays, "net": line.net}
    if line.left:
        data["left"] = {"num": line.left.numerator, "den": line.left.denominator}
    return data | ({"taken": line.taken} if line.taken else {}) | ({"capped": line.capped} if line.capped else {})


def finished(out: Out, fact: Finished) -> None:
    """DONE, or the cards are gone from their places: everything is taken, paid and collected."""
    coup = out.state.table.coup
    if coup is None or coup.phase != "settle":
        refuse(out, "done", None, "no settlement is due; the round has not ended", fact.evidence)
        return
    waiting = [i.id for i in out.state.incidents.values() if i.hand == coup.id]
    if waiting:
        refuse(out, "done", None, f"incident {waiting[0]} has to be ruled first", fact.evidence, key="held")
        return
    closed = unrevealed(coup)
    if closed:
        _collected_closed(out, closed, fact)
        return
    wrong = [n for n, box in sorted(coup.boxes.items()) if not box.settled and _disagrees(out, coup, n)]
    for number in wrong:
        payout_wrong(out, coup, number, fact.evidence)
    if not wrong:
        close(out, coup, fact.basis, fact.evidence)


def _collected_closed(out: Out, closed: tuple[int, ...], fact: Finished) -> None:
    why = f"box {', '.join(map(str, closed))} has to be opened and settled before cards are collected"
    if fact.basis != "sensor":
        refuse(out, "done", closed[0], why, fact.evidence, key="unsettled")
        return
    incidents.open_one(
        out,
        "I-19",
        "unsettled",
        "collected_closed",
        holds="hand",
        proposed="open_boxes",
        alternatives=("void",),
        boxes=closed,
        facts={"asked": why},
        evidence=fact.evidence,
    )


def _disagrees(out: Out, coup: Coup, number: int) -> bool:
    """Whether chips that a sensor watches do not lie as they should. Keyed stakes are paid on the dealer's word."""
    box = coup.boxes[number]
    return any(line.spot in box.sensed for line in unsettled_spots(out, coup, number))


def payout_wrong(out: Out, coup: Coup, number: int, evidence: Sources) -> None:
    """A wrong take or pay (I-19): held before the round is closed (LT-4.1, LT-10.3 to LT-10.5)."""
    lines = unsettled_spots(out, coup, number)
    first, box = lines[0], coup.boxes[number]
    key = "wrong_take" if first.outcome == "lose" and first.spot != "trips" else WRONG.get(first.spot, "wrong_pay")
    told = [
        {"spot": line.spot, "expected": expected(line), "seen": box.counted.get(line.spot, line.stake)}
        for line in lines
    ]
    incidents.open_one(
        out,
        "I-19",
        key,
        "payout_wrong",
        holds="none",
        proposed="pay_as_computed",
        alternatives=("stands",),
        boxes=(number,),
        facts={"box": number, "lines": told},
        evidence=evidence,
    )


def seen_paid(out: Out, coup: Coup, number: int) -> int:
    """What the sensors saw go to a box: what lay on its winning spots beyond the stakes."""
    settled, box = result(out, coup, number), coup.boxes[number]
    assert settled is not None
    paid = 0
    for line in settled.lines:
        full = line.spot in box.agreed and line.outcome == "win"
        paid += line.pays if full else max(0, box.counted.get(line.spot, line.stake) - line.stake)
    return paid


def close(out: Out, coup: Coup, basis: Basis, evidence: Sources) -> None:
    """Settle what is left on the dealer's word, and ``hand.closed`` with the whole result."""
    for number, box in sorted(coup.boxes.items()):
        settled = result(out, coup, number)
        if not box.settled and settled is not None:
            emit(out, coup, number, settled, settled.pays, basis, evidence)
    result_data: Data = {
        "revision": 0,
        "board": coup.board,
        "dealer": hands.dealer(coup) if coup.dealer_shown else None,
        "boxes": coup.results,
        "house_net": coup.house_net,
    }
    data: Data = {
        "result": result_data,
        "incidents": list(coup.incidents),
        "breaches": list(coup.breaches),
        "degraded": coup.degraded,
        "duration_ms": out.t_ms(coup.id, coup.t_ms),
        "actions": coup.actions,
    }
    out.hand("hand.closed", data, basis, evidence)
    system.doubts(out, coup)
