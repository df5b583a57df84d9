"""What each record makes of the poker hand under way. Called from ``controller.core.evolve`` alone."""

from collections.abc import Callable
from typing import Any

from controller.core.cards import UNKNOWN
from controller.core.rules import betting
from controller.core.state import Early, Hand, Slot

Data = dict[str, Any]


def _stake(hand: Hand, seat: int, amount: int, *, all_in: bool, live: bool = True) -> None:
    stack = hand.stack[seat]
    hand.stack = {**hand.stack, seat: None if stack is None else stack - amount}
    if live:
        hand.paid = {**hand.paid, seat: hand.paid.get(seat, 0) + amount}
    else:
        hand.dead_by = {**hand.dead_by, seat: hand.dead_by.get(seat, 0) + amount}
    if all_in and seat not in hand.all_in:
        hand.all_in = (*hand.all_in, seat)


def _blind_posted(hand: Hand, data: Data, secret: Data) -> None:
    seat, amount, kind = data["seat"], data["amount"], data["kind"]
    _stake(hand, seat, amount, all_in=data["all_in"], live=kind not in ("big_blind_ante", "missed_dead"))
    hand.posted = (*hand.posted, (seat, kind))
    if kind in ("small", "big", "straddle", "missed_live"):
        hand.bet = {**hand.bet, seat: hand.bet.get(seat, 0) + amount}
    if kind == "big":
        hand.level = hand.limits.big_blind  # a short big blind still asks for the whole call (C17)
    elif kind == "straddle":
        hand.level = hand.step = data["due"]
        hand.straddle = seat


def _card_dealt(hand: Hand, data: Data, secret: Data) -> None:
    card = secret.get("card", UNKNOWN)
    known = None if card == UNKNOWN else card
    premature = data.get("premature", False)
    slot = Slot(data["place"], data.get("seat"), known, secret.get("salt"), premature=premature)
    slot.doubted = secret.get("card") == UNKNOWN
    hand.slots.append(slot)
    hand.before = None
    if hand.phase == "deal" and len([s for s in hand.slots if s.place == "seat"]) == hand.own_cards * len(hand.order):
        hand.phase = "bet"
        hand.to_act = betting.next_to_act(hand, hand.straddle or hand.big)


def _card_opened(hand: Hand, data: Data, secret: Data) -> None:
    slot = hand.slots[data["slot"]]
    slot.card, slot.opened = data["card"], True
    if data["cause"] == "exposed_by_dealer":
        slot.exposed, slot.place = True, "burn"
        hand.phase, hand.to_act = "deal", None
    hand.before = None


def _action_taken(hand: Hand, data: Data, secret: Data) -> None:
    hand.before = hand.snapshot()
    seat, kind, to = data["seat"], data["kind"], data["to"]
    if kind == "fold":
        hand.live = tuple(s for s in hand.live if s != seat)
    else:
        _stake(hand, seat, data["added"], all_in=data["all_in"])
        hand.bet = {**hand.bet, seat: to}
    if kind in ("bet", "raise"):
        hand.raises = data["raise_no"]
        hand.step = data["increment"]
        hand.level, hand.opened, hand.aggressor = to, True, seat
    hand.acted = {**hand.acted, seat: to}
    _forget_early(hand, seat)
    hand.actions += 1
    hand.began_t_ms = data["t_ms"]
    if data["in_turn"]:
        hand.in_turn += 1
        hand.chips_moved = hand.chips_moved or data["added"] > 0
        hand.to_act = betting.next_to_act(hand, seat)
    elif hand.to_act is not None and (len(hand.live) < 2 or not betting.needs_to_act(hand, hand.to_act)):
        hand.to_act = betting.next_to_act(hand, hand.to_act)


def _action_refused(hand: Hand, data: Data, secret: Data) -> None:
    early = data.get("early")
    if early is not None:
        said = Early(early["kind"], early["to"], early["level"], early["sensed"])
        hand.early = {**hand.early, data["seat"]: said}


def _forget_early(hand: Hand, seat: int) -> None:
    if seat in hand.early:
        hand.early = {other: said for other, said in hand.early.items() if other != seat}


def _action_undone(hand: Hand, data: Data, secret: Data) -> None:
    if hand.before is not None:
        n, t_ms, breaches = hand.n, hand.t_ms, hand.breaches
        hand.set(hand.before)
        hand.n, hand.t_ms, hand.breaches, hand.before = n, t_ms, breaches, None


def _bet_returned(hand: Hand, data: Data, secret: Data) -> None:
    _forget_early(hand, data["seat"])
    if data["cause"] != "uncalled":
        hand.excess = {**hand.excess, data["seat"]: data["amount"]}
        return  # what goes back here was never counted as a stake
    seat, amount = data["seat"], data["amount"]
    stack = hand.stack[seat]
    hand.stack = {**hand.stack, seat: None if stack is None else stack + amount}
    hand.paid = {**hand.paid, seat: hand.paid[seat] - amount}
    hand.bet = {**hand.bet, seat: hand.bet[seat] - amount}
    if stack is None or stack + amount > 0:
        hand.all_in = tuple(s for s in hand.all_in if s != seat)


def _street_closed(hand: Hand, data: Data, secret: Data) -> None:
    hand.phase = data["next"]
    hand.to_act = None


def _street_opened(hand: Hand, data: Data, secret: Data) -> None:
    hand.street = data["street"]
    hand.bet, hand.acted, hand.early, hand.excess = {}, {}, {}, {}
    hand.level, hand.step, hand.raises, hand.opened = 0, hand.limits.big_blind, 0, False
    hand.aggressor = None
    hand.began_t_ms = data["t_ms"]
    hand.phase, hand.to_act = "bet", data["to_act"]
    if data["to_act"] is None:
        hand.phase = "showdown" if data["street"] == "river" else "board"


def _showdown_started(hand: Hand, data: Data, secret: Data) -> None:
    hand.must_show = tuple(data["must_show"])


def _hand_turned(hand: Hand, data: Data, secret: Data) -> None:
    hand.turned = (*hand.turned, data["seat"])
    hand.before = None


def _hand_tabled(hand: Hand, data: Data, secret: Data) -> None:
    if data["seat"] not in hand.shown:
        hand.shown = (*hand.shown, data["seat"])
    hand.before = None


def _hand_mucked(hand: Hand, data: Data, secret: Data) -> None:
    if data["basis"] == "keyed":
        hand.before = hand.snapshot()
    hand.live = tuple(s for s in hand.live if s != data["seat"])


def _award_computed(hand: Hand, data: Data, secret: Data) -> None:
    hand.pots = data["pots"]
    hand.rake = sum(pot["rake"] for pot in data["pots"])
    hand.phase = "award"


def _rake_taken(hand: Hand, data: Data, secret: Data) -> None:
    hand.dropped = data["dropped"]


def _winner_announced(hand: Hand, data: Data, secret: Data) -> None:
    hand.announced = tuple(data["seats"])


def _award_paid(hand: Hand, data: Data, secret: Data) -> None:
    hand.pushed = (*hand.pushed, (data["seat"], data["amount"]))


def _tip_given(hand: Hand, data: Data, secret: Data) -> None:
    hand.tips = {**hand.tips, data["seat"]: hand.tips.get(data["seat"], 0) + data["amount"]}


def _hand_breach(hand: Hand, data: Data, secret: Data) -> None:
    hand.breaches = (*hand.breaches, *data["rules"][:1])


def _hand_incident(hand: Hand, data: Data, secret: Data) -> None:
    hand.incidents = (*hand.incidents, data["incident"])
    hand.looked_at = (*hand.looked_at, *(f"{data['kind']} {seat}" for seat in data["seats"]))
    hand.before = None


def _incident_ruled(hand: Hand, data: Data, secret: Data) -> None:
    match data["ruling"]:
        case "stands" if hand.phase == "award":
            hand.upheld = True
        case "correct_push":
            hand.pushed = ()
        case "announce_again":
            hand.announced = None
        case "correct_drop":
            hand.dropped = None
        case "scramble":
            hand.street, hand.phase, hand.to_act = "preflop", "board", None
        case _:
            pass
    for index in data["effects"].get("returned_slots", ()):
        hand.slots[index].gone = True


HAND: dict[str, Callable[[Hand, Data, Data], None]] = {
    "blind.posted": _blind_posted,
    "card.dealt": _card_dealt,
    "card.opened": _card_opened,
    "action.taken": _action_taken,
    "action.refused": _action_refused,
    "action.undone": _action_undone,
    "bet.returned": _bet_returned,
    "street.closed": _street_closed,
    "street.opened": _street_opened,
    "showdown.started": _showdown_started,
    "hand.turned": _hand_turned,
    "hand.tabled": _hand_tabled,
    "hand.mucked": _hand_mucked,
    "award.computed": _award_computed,
    "winner.announced": _winner_announced,
    "rake.taken": _rake_taken,
    "award.paid": _award_paid,
    "tip.given": _tip_given,
    "breach.noted": _hand_breach,
    "incident.opened": _hand_incident,
    "incident.ruled": _incident_ruled,
}
