"""Cards where antennas saw them come to rest: is that where the deal sends them? (I-6 to I-10)."""

from controller.core import incidents
from controller.core.facts import CardCame
from controller.core.out import Out
from controller.core.state import BOARD_SIZE, STREETS, Hand


def next_place(hand: Hand) -> tuple[str, int | None]:
    """Where the dealing order sends the next card (CM-9, CM-20, HR-A22): a seat, the burn, the board; else ``stub``."""
    if hand.phase == "deal":
        if len(hand.slots) < hand.own_cards * len(hand.order):
            return "seat", hand.order[len(hand.slots) % len(hand.order)]
        return "seat", next(seat for seat in hand.order if len(hand.own(seat)) < hand.own_cards)  # CM-11b
    if hand.phase in ("bet", "board") and len(hand.board) < 5:
        return ("board" if _burned(hand) else "burn"), None
    return "stub", None


def _burned(hand: Hand) -> bool:
    """Whether the burn of the next street lies there: of the one after those whose cards lie there, named or not."""
    lying = max(street for street, size in enumerate(BOARD_SIZE.values()) if size <= len(hand.board))
    if lying <= STREETS.index(hand.street):
        return hand.burned
    return not hand.burns or sum(slot.place == "burn" and not slot.gone for slot in hand.slots) > lying


def wrong(out: Out, hand: Hand, fact: CardCame) -> str | None:
    """What is wrong with a card at this place: a key of ``incidents.MISPLACED``, or ``None``.

    Cards of one pass may settle in another order than they were dealt in, so a seat is judged by its count.
    """
    due, _ = next_place(hand)
    if fact.place == "seat":
        if fact.seat not in hand.order:
            return "wrong_seat"
        return "too_many_cards" if hand.phase != "deal" or len(hand.own(fact.seat)) >= hand.own_cards else None
    if fact.place == "burn":
        return None if due == "burn" else "too_few_cards" if due == "seat" else "extra_burn"
    if fact.place == "board" and len(hand.board) == 5:
        return "board_full"  # the river is the last card (BG-3.1, BG-3.4, RS-5.2, RS-10.2)
    if fact.place == "board" and due == "burn" and hand.street == "flop" and hand.phase == "bet" and not hand.acted:
        return "four_card_flop"  # HR-12.2, BG-5.15, RS-4.1
    if fact.place == "board" and due == "burn" and out.setup.profile.burns_per_street:
        return "no_burn" if hand.phase == "board" else None
    return "too_few_cards" if due == "seat" else None


def judge(out: Out, hand: Hand, fact: CardCame) -> bool:
    """False when the card belongs to no place of this hand. Whatever is wrong with it has opened an incident."""
    problem = wrong(out, hand, fact)
    if problem is None:
        return True
    incidents.misplaced_card(out, hand, problem, fact)
    return problem in ("no_burn", "extra_burn")
