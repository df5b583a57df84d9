"""In which order things are told that antennas saw at once, late, or not where they belong yet.

What one inventory shows at once has no order of its own: then it is the order in which it may have happened. What
cannot have happened yet waits for what must have come before it.
"""

from collections.abc import Callable

from controller.core.facts import CardCame, Declared, Fact
from controller.core.sensing.whereabouts import Whereabouts
from controller.core.state import Hand, State

Told = tuple[int, Fact]
"""When something was first seen, in monotonic ns, and what."""


def turn(hand: Hand | None, seat: int) -> int:
    """How many seats act before this one, from the seat whose turn it is; from the first, where it is nobody's."""
    if hand is None or seat not in hand.order:
        return 0
    if hand.to_act not in hand.order:
        return hand.order.index(seat)
    return (hand.order.index(seat) - hand.order.index(hand.to_act)) % len(hand.order)


def sort(
    told: list[Told], at: int, state: State, late: int, where: Whereabouts, *, burns: bool
) -> tuple[list[Told], list[Told], int | None]:
    """What can be told now, in order; what has to wait for a card; and until when.

    ``late``: so many ns after it was laid down a card may be read first. ``burns``: one is burned before each street.
    """
    hand = state.hand
    told = sorted(told, key=_key(hand))
    if hand is not None and hand.phase == "deal":
        # A fold that is seen before the last card of the deal has come waits for that card; a keyed one not for long.
        held = [one for one in told if _is_fold(one[1]) or (isinstance(one[1], Declared) and at - one[0] < late)]
        now = [one for one in told if one not in held]
        keyed = min((since + late for since, fact in held if not _is_fold(fact)), default=None)
        return now, held, at if held and now else keyed
    told = [one for one in told if _stands(one[1], hand, where)]
    if hand is not None and hand.phase == "bet":
        return _folds_in_turn(told, at, late, hand, where)
    if hand is None or hand.phase != "board":
        return told, [], None
    return _before_the_board(told, at, late, burned=hand.burned or not burns)


def _folds_in_turn(
    told: list[Told], at: int, late: int, hand: Hand, where: Whereabouts
) -> tuple[list[Told], list[Told], int | None]:
    """Cards that lie on others in the muck are read first: a fold may seem to come before that of the seat to act.

    So it waits while the cards of a seat before it are on their way, and with it all that came later. Folds that can be
    told together are told in turn: which of them was first nobody can say.
    """
    folds = sorted((one for one in told if _is_fold(one[1])), key=lambda one: _turn_of(one, hand))
    folding = {fact.seat for _, fact in folds if isinstance(fact, Declared)}
    leaving = [seat for seat in hand.live if seat not in folding and _lifted(hand, seat, where)]
    first = min((turn(hand, seat) for seat in leaving), default=len(hand.order))
    waits = [one for one in folds if _turn_of(one, hand) > first and at - one[0] < late]
    now = iter([one for one in folds if one not in waits])
    until = min((since + late for since, _ in waits), default=None)
    return [next(now) if _is_fold(one[1]) else one for one in told if one not in waits], waits, until


def _lifted(hand: Hand, seat: int, where: Whereabouts) -> bool:
    """Whether a card of a seat is not before it, or no longer read there."""
    place = f"seat:{seat}"
    return where.leaves(place) or len(where.at(place)) < len(hand.own(seat))


def _turn_of(told: Told, hand: Hand) -> int:
    seat = told[1].seat if isinstance(told[1], Declared) else None
    return 0 if seat is None else turn(hand, seat)


def _before_the_board(
    told: list[Told], at: int, late: int, *, burned: bool
) -> tuple[list[Told], list[Told], int | None]:
    """A card that lies on another is read late: the burn then seems to follow the board, and a check to precede it."""
    now: list[Told] = []
    held: list[Told] = []
    for since, fact in sorted(told, key=lambda one: not _is_burn(one[1])):
        waits = isinstance(fact, Declared) and fact.kind == "check"
        if isinstance(fact, CardCame):
            burned = burned or _is_burn(fact)
            waits = fact.place == "board" and not burned
        (held if waits and at - since < late else now).append((since, fact))
    return now, held, min((since + late for since, _ in held), default=None)


def _key(hand: Hand | None) -> Callable[[Told], tuple[int, bool, int]]:
    """By time; what was first seen together by turn, and in a round decisions before the cards that follow it."""
    betting = hand is not None and hand.phase == "bet"

    def of(told: Told) -> tuple[int, bool, int]:
        since, fact = told
        seat = fact.seat if isinstance(fact, Declared) and fact.kind == "fold" else None
        return since, betting and isinstance(fact, CardCame), 0 if seat is None else turn(hand, seat)

    return of


def _stands(fact: Fact, hand: Hand | None, where: Whereabouts) -> bool:
    """Whether a fold that has waited still is one: where cards were dealt anew, they lie before the seat again."""
    if not isinstance(fact, Declared) or not _is_fold(fact):
        return True
    return hand is not None and where.holds("muck") and not where.holds(f"seat:{fact.seat}")


def _is_fold(fact: Fact) -> bool:
    return isinstance(fact, Declared) and fact.kind == "fold" and fact.basis == "sensor"


def _is_burn(fact: Fact) -> bool:
    return isinstance(fact, CardCame) and fact.place == "burn"
