"""From the shuffle to the last common card: who is dealt in, what is posted, where each card belongs."""

from typing import Any

from controller.core import incidents
from controller.core.cards import UNKNOWN, commitment, salt
from controller.core.facts import Basis, CardCame, HandAttested, Sources
from controller.core.out import Out
from controller.core.rules import betting, showdown
from controller.core.rules.button import blinds, clockwise_from, next_button
from controller.core.setup import Limits
from controller.core.state import BOARD_SIZE, STREETS, Hand


def next_place(hand: Hand) -> tuple[str, int | None]:
    """Where the dealing order sends the next card (CM-9, CM-20): a seat, the burn or the board; else ``stub``."""
    if hand.phase == "deal":
        return "seat", hand.order[len(hand.slots) % len(hand.order)]
    if hand.phase in ("bet", "board") and len(hand.board) < 5:
        return ("board" if hand.burned else "burn"), None
    return "stub", None


# --- the start of a hand -------------------------------------------------------------------------------------


def attest(out: Out, fact: HandAttested, seed: bytes | None) -> bool:
    """HAND: shuffle and cut are attested, the hand starts and the stakes due are posted. True if the seed is used."""
    state = out.state
    if state.hand is not None:
        hand = state.hand
        if hand.phase == "deal" and not hand.paid:
            _post(out, hand, fact.basis, fact.evidence)
        elif hand.phase == "award":
            out.breach("payout_unfinished", "BLOCK", "press DONE when chips are pushed and cards collected")
        else:
            out.breach("no_shuffle", "BLOCK", f"hand {hand.id} is being played; it has to end first")
        return False
    if not _may_start(out, seed):
        return False
    hand = _start(out, fact.basis, fact.evidence, seed or b"", shuffled=True)
    _post(out, hand, fact.basis, fact.evidence)
    return True


def playing(out: Out) -> dict[int, int | None]:
    """The seats that can be dealt in, with their stacks: whoever has chips, or chips that nobody counted."""
    return {n: seat.stack for n, seat in sorted(out.state.seats.items()) if seat.stack is None or seat.stack > 0}


def _may_start(out: Out, seed: bytes | None) -> bool:
    state, profile = out.state, out.setup.profile
    if state.session is None:
        out.breach("no_session", "BLOCK", "the table is not open; open it first")
        return False
    if state.incidents:
        codes = ", ".join(sorted(i.code for i in state.incidents.values()))
        out.breach("held", "BLOCK", f"no new hand while {codes} is open; it has to be ruled or cleared first")
        return False
    seats = playing(out)
    if len(seats) < profile.players_min:
        out.breach("too_few_players", "BLOCK", f"{len(seats)} players with chips; {profile.players_min} are needed")
        return False
    if len(seats) > profile.players_max:
        out.breach("too_many_players", "BLOCK", f"{len(seats)} players; at most {profile.players_max} may play")
        return False
    if state.button is None:
        out.breach("no_button", "BLOCK", "the button has no seat; place it first")
        return False
    if seed is None:
        out.breach("no_seed", "BLOCK", "no hand seed was fed; this is a fault of the controller")
        return False
    return True


def _start(out: Out, basis: Basis, evidence: Sources, seed: bytes, *, shuffled: bool) -> Hand:
    state, setup = out.state, out.setup
    stacks = playing(out)
    button = state.button
    assert button is not None
    if state.button_moves and state.replaces is None:
        button = next_button(setup.profile, button, state.small, stacks)
        rules = ["HR-17.1"] if setup.profile.family == "HR" else ["RS-2.1"]
        placed = {"seat": button, "how": "moved", "rules": rules, "basis": "derived"}
        out.emit("play", "button.placed", setup.table, placed)
    day = out.day()
    number = state.hands_today + 1 if day == state.day else 1
    order = clockwise_from(stacks, button)
    small, big = blinds(setup.profile, button, order)
    data: dict[str, Any] = {
        "number": number,
        "game": setup.profile.game,
        "profile": {"sha256": setup.profile.sha256},
        "structure": setup.profile.structure,
        "limits": limits_data(state.limits),
        "button": button,
        "small_blind_seat": small,
        "big_blind_seat": big,
        "own_cards": setup.profile.own_cards,
        "seats": [_seat_line(out, seat, stack) for seat, stack in stacks.items()],
        "deck": setup.deck.id,
        "shuffled": shuffled,
        "cut": {"done": shuffled, "by": None},
        "dealer": _person(out, "dealer"),
        "inspector": _person(out, "inspector"),
        "basis": basis,
        "evidence": [{"device": e.device, "reading": str(e.reading)} for e in evidence],
    }
    if state.replaces is not None:
        data["replaces"] = state.replaces
    hand = f"{setup.table}-{day.replace('-', '')}-{number:04d}"
    return out.start_hand(hand, day, data, {"seed": seed.hex()})


def _seat_line(out: Out, seat: int, stack: int | None) -> dict[str, Any]:
    line: dict[str, Any] = {"seat": seat, "stack": stack, "dealt_in": True, "owes": 0}
    player = out.state.seats[seat].player
    return line if player is None else line | {"player": player}


def _person(out: Out, role: str) -> dict[str, str] | None:
    who = next((staff for staff, has in sorted(out.state.staff.items()) if has == role), None)
    return None if who is None else {"staff": who, "role": role}


def limits_data(limits: Limits) -> dict[str, Any]:
    """Limits as the contract spells them."""
    data: dict[str, Any] = {"small_blind": limits.small_blind, "big_blind": limits.big_blind, "ante": limits.ante}
    return data | {"ante_kind": limits.ante_kind}


def _post(out: Out, hand: Hand, basis: Basis, evidence: Sources) -> None:
    """Antes first, then the blinds; a stack that is too short posts what it has (C17)."""
    limits = hand.limits
    if limits.ante and limits.ante_kind == "each":
        for seat in hand.order:
            _post_one(out, hand, seat, "ante", limits.ante, basis, evidence)
    elif limits.ante:
        _post_one(out, hand, hand.big, "big_blind_ante", limits.ante, basis, evidence)
    _post_one(out, hand, hand.small, "small", limits.small_blind, basis, evidence)
    _post_one(out, hand, hand.big, "big", limits.big_blind, basis, evidence)


def _post_one(out: Out, hand: Hand, seat: int, kind: str, due: int, basis: Basis, evidence: Sources) -> None:
    stack = hand.stack[seat]
    amount = due if stack is None else min(due, stack)
    if amount == 0 and due > 0 and kind not in ("small", "big"):
        return
    all_in = stack is not None and stack == amount
    posted = {"seat": seat, "kind": kind, "amount": amount, "due": due, "all_in": all_in}
    out.hand("blind.posted", posted, basis, evidence)


# --- cards ---------------------------------------------------------------------------------------------------


def card(out: Out, fact: CardCame, seed: bytes | None) -> bool:
    """A card came from the shoe. True if the seed is used: a card before HAND starts the hand, with a breach."""
    used = False
    hand = out.state.hand
    if hand is None:
        if not _may_start(out, seed):
            return False  # the refusal is on record; the card itself belongs to no hand
        hand = _start(out, fact.basis, fact.evidence, seed or b"", shuffled=False)
        used = True
        out.breach("blinds_after_cards", "FLAG", "blinds stand before cards are dealt; press HAND to post them")
    place, seat = (fact.place, fact.seat) if fact.place != "next" else next_place(hand)
    if fact.card is not None and is_duplicate(hand, fact.card):
        incidents.fouled_deck(out, fact)
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
    return any(slot.card == value and not slot.gone for slot in hand.slots)


def _deal_closed(out: Out, hand: Hand, place: str, seat: int | None, fact: CardCame) -> None:
    slot = len(hand.slots)
    value = fact.card or UNKNOWN
    card_salt = salt(hand.seed, slot)
    data: dict[str, Any] = {"slot": slot, "place": place, "face": "closed"}
    data["commit"] = commitment(hand.id, slot, value, card_salt)
    if seat is not None:
        data["seat"] = seat
    secret = {"card": value, "salt": card_salt}
    out.hand("card.dealt", data, fact.basis, fact.evidence, secret=secret)


def _deal_open(out: Out, hand: Hand, fact: CardCame) -> None:
    slot = len(hand.slots)
    premature = hand.phase == "bet"
    dealt = {"slot": slot, "place": "board", "face": "open"} | ({"premature": True} if premature else {})
    out.hand("card.dealt", dealt, fact.basis, fact.evidence)
    if fact.card is not None:
        opened = {"slot": slot, "place": "board", "card": fact.card, "cause": "premature" if premature else "street"}
        out.hand("card.opened", opened, fact.basis, fact.evidence)
    if premature:
        incidents.premature_board(out, hand, fact.evidence)
        return
    if fact.card is None:
        incidents.unsure_card(out, slot, "board", None, fact.evidence)
    if hand.must_show and set(hand.must_show) - set(hand.shown) and len(hand.board) == BOARD_SIZE[_coming(hand)]:
        for seat in sorted(set(hand.must_show) & set(hand.live) - set(hand.shown)):
            out.breach("must_show_all_in", "FLAG", "all live hands are opened before further cards", seat=seat)
    open_street(out, hand)


def _coming(hand: Hand) -> str:
    return STREETS[min(STREETS.index(hand.street) + 1, 3)]


def open_street(out: Out, hand: Hand) -> None:
    """``street.opened`` once every card of the street lies open and is known."""
    if hand.phase != "board":
        return
    street = _coming(hand)
    board = hand.board
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


def close_round(out: Out, hand: Hand) -> None:
    """The round is over: what nobody called goes back, the pots are told, and the hand goes on (CM-4, CM-5)."""
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
