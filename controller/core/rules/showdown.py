"""From the last bet to the pushed pot: uncalled bets, showdown, award, close. Awards come from tabled hands only."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from controller.core import incidents
from controller.core.facts import CardCame, Shown, SightDiffers, Sources
from controller.core.out import Out
from controller.core.rules import pots, raking, ranking, unread
from controller.core.rules.button import clockwise_from
from controller.core.rules.profile import Profile
from controller.core.rules.refusing import refuse
from controller.core.state import Hand


def return_uncalled(out: Out, hand: Hand) -> None:
    """Give back what nobody called (CM-4, HR-12.15)."""
    excess = pots.uncalled(hand.bet)
    if excess is not None:
        out.hand("bet.returned", {"seat": excess[0], "amount": excess[1], "cause": "uncalled"}, "derived")


def pots_data(hand: Hand) -> list[dict[str, Any]]:
    """The pots as they stand, main pot first."""
    built = pots.layers(hand.paid, hand.dead, hand.live)
    return [{"pot": i, "amount": pot.amount, "eligible": list(pot.eligible)} for i, pot in enumerate(built)]


def order(hand: Hand) -> tuple[int, ...]:
    """Who shows in which order (CM-7): the last aggressor of the last round, else left of the button, clockwise."""
    seats = [seat for seat in clockwise_from(hand.order, hand.button) if seat in hand.live]
    first = hand.aggressor if hand.street == "river" and hand.aggressor in seats else None
    at = seats.index(first) if first is not None else 0
    return tuple(seats[at:] + seats[:at])


def begin(out: Out, hand: Hand) -> None:
    """``showdown.started``, once: after the last round, or before the run-out when no betting can follow (CM-8)."""
    run_out = len(hand.can_bet) < 2 and bool(hand.all_in)
    if hand.must_show and hand.phase == "showdown":
        settle(out, hand)  # the run-out is complete; the showdown was announced before it
        return
    seats = order(hand)
    everyone = out.setup.profile.show_all or run_out
    data = {
        "order": list(seats),
        "must_show": list(seats) if everyone else [],
        "may_muck": [] if everyone else list(seats),
        "pots": pots_data(hand),
    }
    out.hand("showdown.started", data, "derived")


def shown(out: Out, fact: Shown) -> None:
    """SHOW: a hand lies face up. Before the showdown it is only an exposed hand; at it, it is tabled."""
    hand = out.state.hand
    if hand is not None and fact.seat is None:
        waiting = [seat for seat in order(hand) if seat not in hand.shown]
        fact = replace(fact, seat=waiting[0] if waiting and hand.phase in ("board", "showdown") else None)
    if hand is None or fact.seat is None or fact.seat not in hand.order:
        refuse(out, "show", fact.seat, "seat has no hand to show", fact.evidence)
        return
    if fact.seat in hand.shown:
        if fact.basis == "sensor":
            return  # a camera sees what somebody has keyed already
        refuse(out, "show", fact.seat, "this hand is tabled already", fact.evidence)
        return
    if fact.seat not in hand.live or hand.phase == "deal":
        refuse(out, "show", fact.seat, "this seat has no live hand on the table", fact.evidence)
        return
    slots = [(i, s) for i, s in enumerate(hand.slots) if s.place == "seat" and s.seat == fact.seat and not s.gone]
    named = unread.faces(slots, fact.cards)
    unknown = [i for i, slot in slots if slot.card is None and i not in named]
    if unknown and out.setup.unread and fact.basis != "sensor" and not fact.cards:
        _turned(out, hand, fact.seat, fact)
        return
    if unknown:
        incidents.unsure_card(out, unknown[0], "seat", fact.seat, fact.evidence)
        return
    values = {i: named.get(i, slot.card) for i, slot in slots}
    if other := set(fact.cards) - set(values.values()):
        incidents.card_conflict(out, SightDiffers("seat", min(other), fact.seat, fact.basis, fact.evidence))
        return
    lying = {slot.card for slot in hand.slots if slot.opened and not slot.gone}
    if twice := next((values[i] for i, slot in slots if not slot.opened and values[i] in lying), None):
        if not any(i.kind == "deck_fouled" for i in out.state.incidents.values()):
            incidents.fouled_deck(out, CardCame("seat", twice, fact.seat, fact.basis, fact.evidence))
        return
    open_now = hand.phase in ("showdown", "award") or (hand.phase == "board" and len(hand.can_bet) < 2)
    cause = "exposed_by_player" if not open_now else "tabled" if hand.phase == "showdown" else "all_in"
    if hand.phase == "award":
        cause = "tabled"
    for index, slot in slots:
        if not slot.opened:
            data = {"slot": index, "place": "seat", "seat": fact.seat, "card": values[index], "salt": slot.salt}
            data |= {"cause": cause} | ({"named": True} if index in named else {})
            out.hand("card.opened", data, fact.basis, fact.evidence)
    unread.no_longer_unsure(out, hand)
    if open_now:
        out.hand("hand.tabled", _tabled(hand, fact.seat, out.setup.profile), fact.basis, fact.evidence)
        settle(out, hand)


def _turned(out: Out, hand: Hand, seat: int, fact: Shown) -> None:
    """Cards that nobody has read lie face up: antennas may read them now; where there are none, a person says them."""
    if out.setup.kind == "rfid" and seat not in hand.turned:
        out.hand("hand.turned", {"seat": seat, "cards": len(hand.own(seat))}, fact.basis, fact.evidence)
        return
    why = f"nobody has read these cards: say what they are (feltd cards CARD CARD --seat {seat})"
    refuse(out, "show", seat, why, fact.evidence)


def _tabled(hand: Hand, seat: int, profile: Profile) -> dict[str, Any]:
    own = [slot.card for slot in hand.own(seat) if slot.card is not None]
    data: dict[str, Any] = {"seat": seat, "cards": own}
    best = ranking.best(profile.game, own, [card for card in hand.board if card is not None])
    if best:
        category = ranking.category(ranking.rank(best))
        royal = category == "royal_flush"
        named = category if profile.royal_flush or not royal else "straight_flush"  # BG-A9
        data |= {"best": list(best), "category": named, "royal": royal}
        data["own_used"] = sum(1 for card in best if card in own)
    return data


def mucked(out: Out, seat: int, evidence: Sources) -> None:
    """A live hand is given up untabled at the showdown (RS-A6); where all must show, that is a breach (HR-15.1)."""
    hand = out.state.hand
    assert hand is not None
    if seat in hand.shown:
        refuse(out, "fold", seat, "this hand is tabled; it plays", evidence)
        return
    out.hand("hand.mucked", {"seat": seat, "cause": "muck"}, "keyed", evidence)
    if seat in hand.must_show:
        key = "must_show" if out.setup.profile.show_all else "must_show_all_in"
        out.breach(key, "FLAG", "every remaining hand is opened", seat=seat, evidence=evidence)
    settle(out, hand)


def settle(out: Out, hand: Hand) -> None:
    """Compute the award once the board is complete and every live hand is tabled, or one player is left.

    The last player wins without showing (RS-1.2, RS-6.3, HR-A10, BG-A8).
    """
    alone = hand.phase in ("showdown", "board") and len(hand.live) == 1
    if alone or (hand.phase == "showdown" and set(hand.live) <= set(hand.shown)):
        award(out, hand)


def award(out: Out, hand: Hand) -> None:
    """``award.computed``: each pot to the best tabled hand among its eligible seats (HR-12.19, RS-9.8, CM-6)."""
    rake = out.setup.profile.rake or raking.NO_RAKE
    built = pots.layers(hand.paid, hand.dead, hand.live)
    total = sum(pot.amount for pot in built)
    flop = hand.street != "preflop"
    due = 0 if rake.no_flop and not flop else pots.rake_due(total, rake)
    taken = pots.take_rake([pot.amount for pot in built], due)
    strengths = _strengths(hand, out.setup.profile.game) if len(hand.live) > 1 else {}
    lines = []
    for index, (pot, part) in enumerate(zip(built, taken, strict=True)):
        winners = _winners(hand, pot.eligible, strengths)
        shares, odd = pots.split(pot.amount - part, winners, out.setup.chipset.unit)
        line = {
            "pot": index,
            "amount": pot.amount,
            "rake": part,
            "eligible": list(pot.eligible),
            "winners": [{"seat": seat, "amount": amount} for seat, amount in shares.items()],
            "odd": [{"seat": seat, "amount": amount} for seat, amount in odd.items()],
            "by": "last" if len(hand.live) == 1 else "hand",
        }
        lines.append(line)
    out.hand("award.computed", {"pots": lines}, "derived")
    if rake.rate_num and not rake.box:
        raking.taken(out, hand, rake, None, "derived")


def _strengths(hand: Hand, game: str) -> dict[int, int]:
    board = [card for card in hand.board if card is not None]
    own = {seat: [slot.card for slot in hand.own(seat) if slot.card] for seat in hand.shown}
    return {seat: ranking.strength(game, cards, board) for seat, cards in own.items()}


def _winners(hand: Hand, eligible: Collection[int], strengths: Mapping[int, int]) -> list[int]:
    """The winning seats of one pot in order from the left of the button."""
    contenders = [seat for seat in clockwise_from(hand.order, hand.button) if seat in eligible]
    if len(contenders) == 1 or not strengths:
        return contenders
    best = min(strengths[seat] for seat in contenders)
    return [seat for seat in contenders if strengths[seat] == best]


def void(out: Out, hand: Hand, cause: str, incident: str | None, by: list[dict[str, str]]) -> None:
    """``hand.voided``: every stake goes back, no rake (CM-12)."""
    back = [{"seat": seat, "amount": hand.staked(seat)} for seat in hand.order]
    data = {"cause": cause, "incident": incident, "returned": [b for b in back if b["amount"]], "rake": 0, "by": by}
    out.hand("hand.voided", data, "attested")


def final(out: Out, reason: str) -> None:
    """``hand.final``: the result of the hand before can no longer be disputed (CM-19; events.md section 4)."""
    pending = out.state.pending
    if pending is None:
        return
    data = {
        "hand": pending.hand,
        "n": pending.n,
        "t_ms": out.t_ms(pending.hand, pending.t_ms),
        "revision": pending.revision,
        "refers": {"type": "hand.corrected" if pending.revision else "hand.closed"},
        "reason": reason,
        "basis": "derived",
    }
    out.emit("play", "hand.final", pending.hand, data, day=pending.day)
