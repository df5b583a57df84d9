"""Hands as the contract spells them: own cards, best five, category."""

from controller.core.rules import ranking
from controller.core.rules.ultimate.settlement import qualifies
from controller.core.rules.ultimate.state import Coup
from controller.core.rules.ultimate.talk import Data


def best(own: list[str], board: list[str]) -> Data:
    """Two own cards and what they make with the board (LT-9.4)."""
    five = ranking.best_five(tuple(own + board))
    return {"cards": own, "best": list(five), "category": ranking.category(ranking.rank(five))}


def dealer(coup: Coup) -> Data:
    """The dealer's hand, which is nobody else's (LT-6.3), and whether it has at least a pair (LT-10.2, LT-A15)."""
    own = [slot.card for _, slot in coup.cards("dealer") if slot.card is not None]
    board = [card for card in coup.board if card is not None]
    return best(own, board) | {"qualified": qualifies(own, board)}
