"""Chips that speak for themselves: what a movement of chips in front of a seat amounts to (RFID tables).

The chips have moved, so nothing here refuses: a movement is accepted as a decision, reinterpreted where a rule names
the outcome, or held where a person must rule.
"""

from typing import Any

from controller.core import guard, incidents
from controller.core.facts import ChangeDiffers, Declared, HandAttested, Kind, StakePlaced
from controller.core.out import Out, cite
from controller.core.rules import acting, betting, positions, starting, turns
from controller.core.rules.betting import Bounds
from controller.core.rules.button import clockwise_from
from controller.core.state import Hand

# --- before the cards ----------------------------------------------------------------------------------------


def attest(out: Out, fact: HandAttested, seed: bytes | None) -> None:
    """HAND at an RFID table: shuffle and cut are attested and the stacks counted; the first blind starts the hand."""
    if out.state.hand is not None:
        starting.attest(out, fact, seed)
        return
    if not starting.may_start(out, seed):
        return
    guard.reduced(out, fact.stacks, fact.evidence)
    for seat, counted in fact.stacks:
        booked = out.state.seats[seat].stack if seat in out.state.seats else None
        if booked is not None and booked != counted:
            asked = f"seat {seat} has {booked} by the book and {counted} on its antenna: spread the chips, then HAND"
            out.breach("stack_differs", "BLOCK", asked, seat=seat, evidence=fact.evidence)
            return
    stacks = [{"seat": seat, "stack": counted} for seat, counted in fact.stacks if seat in out.state.seats]
    data: dict[str, Any] = {"rules": out.rules("no_shuffle"), "statement": "shuffle_and_cut", "scope": "hand"}
    data |= {"stacks": stacks, "by": starting.person(out, "dealer")}
    data |= {"basis": fact.basis, "evidence": cite(fact.evidence)}
    out.emit("play", "attestation.recorded", out.setup.table, data)


def placed(out: Out, fact: StakePlaced, seed: bytes | None) -> bool:
    """Chips have come to rest in front of a seat. True if the seed is used: the first blind starts the hand."""
    hand = out.state.hand
    if hand is None:
        return _first(out, fact, seed)
    owes = any(due[0] == fact.seat for due in starting.dues(hand))
    if hand.phase == "deal" and owes:
        _post(out, hand, fact)
    elif hand.phase == "bet":
        if owes and out.state.held is None and _late(out, hand, fact):
            return False
        _bet(out, hand, fact)
    elif fact.total and (hand.phase == "board" or fact.total > hand.bet.get(fact.seat, 0)):
        asked = f"{fact.total} lie in front of seat {fact.seat} and no stake is due now; they wait for the cards"
        _loose(out, fact, f"{asked}: show the cards to their antennas, or give the chips back")
    return False


def _first(out: Out, fact: StakePlaced, seed: bytes | None) -> bool:
    if not fact.total:
        return False
    if not starting.may_start(out, seed):
        return False
    if not _is_due(out, fact):
        asked = "only the blinds and antes that are due start a hand"
        out.breach("blind_not_due", "FLAG", asked, seat=fact.seat, evidence=fact.evidence, basis=fact.basis)
        return False
    shuffled = out.state.shuffled
    hand = starting.start(out, fact.basis, fact.evidence, seed or b"", shuffled=shuffled)
    if not shuffled:
        out.breach("no_shuffle", "FLAG", "shuffle and cut are attested with HAND before the blinds", seat=fact.seat)
    _post(out, hand, fact)
    return True


def _is_due(out: Out, fact: StakePlaced) -> bool:
    """Whether these chips would be a stake that the coming hand asks for."""
    limits = out.state.limits
    at = positions.find(out)
    stacks, big = at.stacks, at.big
    owed = {at.small: limits.small_blind, big: limits.big_blind}.get(fact.seat, 0)
    ante = limits.ante if limits.ante_kind == "each" or fact.seat == big else 0
    stack = stacks.get(fact.seat)
    return fact.seat in stacks and (fact.total in {owed, ante, owed + ante} or fact.total == stack)


def _post(out: Out, hand: Hand, fact: StakePlaced) -> None:
    """Chips in front of a seat before the cards: its dues, one or several at once; what is more goes back."""
    mine = [due for due in starting.dues(hand) if due[0] == fact.seat]
    bet, stack = hand.bet.get(fact.seat, 0), hand.stack.get(fact.seat)
    new = fact.total - bet
    if new <= 0:
        return  # the antes were collected, or nothing changed
    antes = hand.paid.get(fact.seat, 0) + hand.dead_by.get(fact.seat, 0) - bet
    sums = [sum(due[2] for due in mine[: n + 1]) for n in range(len(mine))]
    if new not in sums and new - antes in sums:
        new -= antes  # they lie there still
    owed = ", ".join(f"{kind} {amount}" for _, kind, amount in mine) or "nothing"
    asked = f"seat {fact.seat} owes {owed}"
    if mine and (new in sums or new > sums[-1] or new == stack):
        left = new
        for seat, kind, amount in mine:
            if left > 0:
                starting.post_one(out, hand, seat, kind, amount, fact.basis, fact.evidence)
                left -= amount
        if left <= 0:
            return
        left = left - antes if left > antes else left
        back = {"seat": fact.seat, "amount": left, "cause": "change"}
        out.hand("bet.returned", back, "derived", fact.evidence)
        asked = f"{asked} and put {new}: {left} go back as change"
    out.breach("blind_not_due", "FLAG", asked, seat=fact.seat, evidence=fact.evidence, basis=fact.basis)


def _late(out: Out, hand: Hand, fact: StakePlaced) -> bool:
    """A blind that is still owed when the cards lie is posted as such: exact chips alone, and nobody all-in by it."""
    mine = [due for due in starting.dues(hand) if due[0] == fact.seat]
    kinds, owed = {due[1] for due in mine}, sum(due[2] for due in mine)
    if hand.street != "preflop" or (hand.actions and kinds & {"big", "straddle"}):
        return False  # what they ask of the others has been overtaken by what was done since
    if fact.total - hand.bet.get(fact.seat, 0) != owed or owed == hand.stack.get(fact.seat):
        return False
    _post(out, hand, fact)
    return True


def _loose(out: Out, fact: StakePlaced, asked: str) -> None:
    """Chips that are no stake: recorded, and asked to be put right. They count for nothing."""
    out.breach("chips_loose", "FLAG", asked, seat=fact.seat, evidence=fact.evidence, basis=fact.basis)


def uneven(out: Out, fact: ChangeDiffers) -> None:
    """Change that does not come out even: nothing changes by it, and people put it right (HR-2.1, CM-22)."""
    if fact.of_pot:
        asked = f"{fact.got} of the pot or the rake lie before seat {fact.seat}: they are no stake and go back"
        out.breach("others_chips", "FLAG", asked, seat=fact.seat, evidence=fact.evidence, basis=fact.basis)
        return
    if fact.others:
        told = f"seat {fact.seat} got {fact.got} from seat {', '.join(map(str, fact.others))} and gave {fact.gave}"
        asked = f"{told}: each plays with the chips before it; those of others are no stake and go back"
        out.breach("others_chips", "FLAG", asked, seat=fact.seat, evidence=fact.evidence, basis=fact.basis)
        return
    told = f"seat {fact.seat} gave {fact.gave} to the tray and got {fact.got} from it"
    asked = f"{told}: count the change again; what came from the tray and was not paid for is no stake"
    out.breach("chips_loose", "FLAG", asked, seat=fact.seat, evidence=fact.evidence, basis=fact.basis)


# --- in a round ----------------------------------------------------------------------------------------------


def _bet(out: Out, hand: Hand, fact: StakePlaced) -> None:
    accounted = hand.bet.get(fact.seat, 0)
    if fact.total == accounted:
        _taken_back(out, hand, fact, accounted)
        return  # what was in excess, or spoken and accepted, is in order now
    if out.state.held is not None:
        _loose(out, fact, out.state.held.asks)
        return
    if fact.seat not in hand.live or fact.seat in hand.all_in:
        _loose(out, fact, "this seat has nothing to stake")
        return
    if fact.total < accounted:
        _loose(out, fact, f"{accounted} are staked; chips may not be taken back")
        return
    bounds = betting.bounds(hand, out.setup.profile)
    if bounds is None or bounds.seat != fact.seat:
        if fact.total == accounted + hand.excess.get(fact.seat, 0):
            return  # seen again by antennas that have been away: told already
        if fact.seat in hand.acted and not fact.chips:
            return  # what is too much goes back, one chip after the other
        if fact.seat in hand.acted and fact.movements > 1:
            _string(out, hand, fact, accounted)
        else:
            _early(out, hand, fact, bounds)
        return
    _decide(out, hand, fact, bounds)


def _early(out: Out, hand: Hand, fact: StakePlaced, bounds: Bounds | None) -> None:
    """Chips out of turn: backed up, and binding while nothing changes (CM-15)."""
    if bounds is None:
        _loose(out, fact, "no decision is due; the chips are taken back")
        return
    known = hand.early.get(fact.seat)
    if known is not None and known.sensed and known.to == fact.total:
        return  # seen again: told already
    kind: Kind = "call" if fact.total <= hand.level else "raise" if hand.level else "bet"
    said = Declared(kind, fact.seat, fact.total, fact.basis, fact.evidence)
    turns.out_of_turn(out, hand, said, bounds)


def _taken_back(out: Out, hand: Hand, fact: StakePlaced, accounted: int) -> None:
    """Chips that came out of turn went back: they bind nobody any more."""
    early = hand.early.get(fact.seat)
    if early is not None and early.sensed and early.to > accounted:
        back = {"seat": fact.seat, "amount": early.to - accounted, "cause": "irregular"}
        out.hand("bet.returned", back, fact.basis, fact.evidence)


def _decide(out: Out, hand: Hand, fact: StakePlaced, bounds: Bounds) -> None:
    """What the chips of one movement decide: all that lies before the player is the total (HR-12.8, HR-A26)."""
    bet, stack = hand.bet.get(fact.seat, 0), hand.stack[fact.seat]
    top = None if stack is None else bet + stack
    call_to = bet + bounds.call
    spoken = fact.spoken.kind if fact.spoken is not None else None
    if _words_first(out, hand, fact, bounds):
        return
    if bounds.call and spoken == "call" and fact.total > call_to:
        _accept(out, hand, fact, "call", next(iter(out.rules("words_first")), None))
        _excess(out, hand, fact, "words_first", "change")
    elif bounds.call and fact.total == call_to:
        _accept(out, hand, fact, "call", None)
    elif bounds.call and fact.total < call_to:
        _loose(out, fact, f"{call_to} is the call; the chips are completed or the hand is given up")
    elif bounds.call and fact.movements > 1 and spoken not in ("raise", "all_in") and fact.total != top:
        _accept(out, hand, fact, "call", "CM-16")
        _excess(out, hand, fact, "string_bet", "string_bet")
    elif bounds.raising is None and bounds.call:
        _accept(out, hand, fact, "call", next(iter(out.rules(bounds.barred or "")), None))
        _excess(out, hand, fact, bounds.barred or "not_reopened", "irregular")
    elif bounds.raising is not None and bounds.max_to is not None and fact.total > bounds.max_to:
        behind = next(iter(out.rules(bounds.most_by)), None)
        acting.accept_sensed(out, hand, fact, bounds.raising, behind, to=bounds.max_to)
        _excess(out, hand, fact, bounds.most_by, "irregular")
    elif bounds.raising is not None and (fact.total >= bounds.min_to or fact.total == top):
        one_chip = fact.chips == 1 and bounds.call and spoken is None and fact.total != top
        _accept(out, hand, fact, "call" if one_chip else bounds.raising, "CM-17" if one_chip else None)
    elif bounds.raising is not None and bounds.call and 2 * (fact.total - hand.level) < bounds.min_to - hand.level:
        _accept(out, hand, fact, "call", "CM-17")
    else:
        facts = {"seat": fact.seat, "total": fact.total, "min_to": bounds.min_to, "call_to": call_to}
        incidents.unclear_stake(out, fact.seat, facts, fact.evidence)


def _words_first(out: Out, hand: Hand, fact: StakePlaced, bounds: Bounds) -> bool:
    """A total that was said before the chips moved counts, whatever the chips are (HR-12.7, I-22)."""
    said = fact.spoken
    if said is None or said.to is None or said.to == fact.total or said.kind not in ("bet", "raise"):
        return False
    if bounds.raising is None:
        return False  # no raise may be, whatever was said: the chips show what stands
    if said.to < bounds.min_to or (bounds.max_to is not None and said.to > bounds.max_to):
        facts = {"seat": fact.seat, "total": fact.total, "said": said.to, "min_to": bounds.min_to}
        facts |= {"call_to": hand.bet.get(fact.seat, 0) + bounds.call}
        incidents.unclear_stake(out, fact.seat, facts, fact.evidence)  # words that cannot stand, and other chips (I-22)
        return True
    acting.accept_sensed(out, hand, fact, bounds.raising, next(iter(out.rules("words_first")), None), to=said.to)
    if fact.total > said.to:
        back = {"seat": fact.seat, "amount": fact.total - said.to, "cause": "change"}
        out.hand("bet.returned", back, "derived", fact.evidence)
    asked = f"seat {fact.seat} said {said.kind} to {said.to} and put {fact.total}: what was said first counts"
    out.breach("words_first", "FLAG", asked, seat=fact.seat, evidence=fact.evidence)
    return True


def _accept(out: Out, hand: Hand, fact: StakePlaced, kind: Kind, read_as: str | None) -> None:
    acting.accept_sensed(out, hand, fact, kind, read_as)


def _string(out: Out, hand: Hand, fact: StakePlaced, accounted: int) -> None:
    """A second movement after the first was taken as a decision: only the first counts (HR-12.11, CM-16).

    Where the next player has acted on it already, the dealer did not stop it in time (HR-12.12).
    """
    others = (s for s in clockwise_from(hand.order, fact.seat) if s in hand.can_bet or s in hand.acted)
    late = hand.to_act != next(others, hand.to_act)
    excess = {"seat": fact.seat, "amount": fact.total - accounted, "cause": "string_bet"}
    out.hand("bet.returned", excess, "derived", fact.evidence)
    asked = "one movement of chips is the stake; the rest goes back"
    out.breach("string_bet_late" if late else "string_bet", "FLAG", asked, seat=fact.seat)


def _excess(out: Out, hand: Hand, fact: StakePlaced, key: str, cause: str) -> None:
    """What lies in front of the seat beyond what counts goes back, and the breach is noted."""
    current = out.state.hand
    counted = current.bet.get(fact.seat, 0) if current is hand else fact.total
    if fact.total > counted:
        back = {"seat": fact.seat, "amount": fact.total - counted, "cause": cause}
        out.hand("bet.returned", back, "derived", fact.evidence)
    asked = "what may be staked stands; what exceeds it goes back"
    out.breach(key, "FLAG", asked, seat=fact.seat, evidence=fact.evidence)
