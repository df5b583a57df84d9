"""From the shuffle to the last common card: who is dealt in, what is posted, where each card belongs."""

from typing import Any

from controller.core import incidents
from controller.core.cards import UNKNOWN, commitment, salt
from controller.core.facts import CardCame
from controller.core.out import Out
from controller.core.rules import betting, places, showdown, starting
from controller.core.state import BOARD_SIZE, STREETS, Hand


def card(out: Out, fact: CardCame, seed: bytes | None) -> bool:
    """A card came from the shoe. True if the seed is used: a card before HAND starts the hand, with a breach."""
    used = False
    hand = out.state.hand
    if hand is None:
        if not starting.may_start(out, seed):
            return False  # the refusal is on record; the card itself belongs to no hand
        hand = starting.start(out, fact.basis, fact.evidence, seed or b"", shuffled=False)
        used = True
        out.breach("blinds_after_cards", "FLAG", "blinds stand before cards are dealt; press HAND to post them")
    place, seat = (fact.place, fact.seat) if fact.place != "next" else places.next_place(hand)
    if hand.phase == "award":
        asked = "the hand is over: press DONE, then HAND; a card that comes before belongs to no hand"
        out.breach("payout_unfinished", "FLAG", asked, evidence=fact.evidence, basis=fact.basis)
        return used
    if fact.card is not None and is_duplicate(hand, fact.card):
        incidents.fouled_deck(out, fact)
        return used
    if fact.place != "next" and not places.judge(out, hand, fact):
        return used
    if place == "seat":
        _deal_closed(out, hand, "seat", seat, fact)
        if hand.phase != "deal" and hand.to_act is None:
            close_round(out, hand)
    elif place == "burn":
        _deal_closed(out, hand, "burn", None, fact)
    elif place == "board":
        _deal_open(out, hand, fact)
    else:
        out.breach("card_outside_deal", "INFO", "no card is due now", evidence=fact.evidence, basis=fact.basis)
    return used


def is_duplicate(hand: Hand, value: str) -> bool:
    """Whether this rank and suit is already out in the hand (C21, CM-12)."""
    return bool([slot for slot in hand.slots if slot.card == value and not slot.gone])


def _deal_closed(out: Out, hand: Hand, place: str, seat: int | None, fact: CardCame) -> None:
    """``card.dealt`` of a closed card: its value is secret until it lies open on the table (CM-24, RS-11.1)."""
    slot = len(hand.slots)
    value = fact.card or UNKNOWN
    card_salt = salt(hand.seed, slot)
    data: dict[str, Any] = {"slot": slot, "place": place, "face": "closed"}
    data["commit"] = commitment(hand.id, slot, value, card_salt)
    if seat is not None:
        data["seat"] = seat
    secret = {"card": value, "salt": card_salt, "guess": fact.guess or value}
    out.hand("card.dealt", data, fact.basis, fact.evidence, secret=secret)


def _deal_open(out: Out, hand: Hand, fact: CardCame) -> None:
    slot = len(hand.slots)
    # Before betting has even opened, because nobody has named the street, the next one is as premature.
    ahead = hand.phase == "board" and len(hand.can_bet) > 1 and len(hand.board) >= BOARD_SIZE[_coming(hand)]
    premature = hand.phase == "bet" or ahead
    dealt = {"slot": slot, "place": "board", "face": "open"} | ({"premature": True} if premature else {})
    out.hand("card.dealt", dealt, fact.basis, fact.evidence)
    if fact.card is not None:
        opened = {"slot": slot, "place": "board", "card": fact.card, "cause": "premature" if premature else "street"}
        out.hand("card.opened", opened, fact.basis, fact.evidence)
    if premature:
        incidents.premature_board(out, hand, fact.evidence)
        return
    if fact.card is None and not out.setup.unread:
        incidents.unsure_card(out, slot, "board", None, fact.evidence)
    if hand.must_show and set(hand.must_show) - set(hand.shown) and len(hand.board) == BOARD_SIZE[_coming(hand)]:
        for seat in sorted(set(hand.must_show) & set(hand.live) - set(hand.shown)):
            out.breach("must_show_all_in", "FLAG", "all live hands are opened before further cards", seat=seat)
    open_street(out, hand)


def _coming(hand: Hand) -> str:
    return STREETS[min(STREETS.index(hand.street) + 1, 3)]


def open_street(out: Out, hand: Hand) -> None:
    """``street.opened`` once every card of the street lies open and is known."""
    if hand.phase != "board" or out.state.held is not None:
        return
    street = _coming(hand)
    board = hand.board[: BOARD_SIZE[street]]
    if len(board) < BOARD_SIZE[street] or None in board:
        return
    to_act = betting.opens_street(hand)
    data = {
        "street": street,
        "cards": board[BOARD_SIZE[hand.street] :],
        "board": board,
        "burned": hand.burned,
        "to_act": to_act,
    }
    out.hand("street.opened", data, "derived")
    if to_act is None and street == "river":
        showdown.begin(out, hand)
    elif to_act is None:
        open_street(out, hand)  # cards of a run-out that were all named at once


def close_round(out: Out, hand: Hand) -> None:
    """The round is over: the uncalled part goes back, the pots are told, the hand goes on (CM-4, CM-5, BG-5.11)."""
    showdown.return_uncalled(out, hand)
    following = "showdown" if hand.street == "river" else "board"
    if len(hand.live) == 1:
        following = "award"
    data = {
        "street": hand.street,
        "stakes": [{"seat": s, "amount": hand.bet[s]} for s in hand.order if hand.bet.get(s)],
        "pots": showdown.pots_data(hand),
        "next": following,
    }
    out.hand("street.closed", data, "derived")
    if following == "award":
        showdown.award(out, hand)
    elif following == "showdown" or len(hand.can_bet) < 2:
        showdown.begin(out, hand)
