"""The table as whoever reads ``play`` may see it: what the retained snapshot holds, nothing beyond the events."""

from typing import Any

from controller.core.rules.ultimate.state import Coup
from controller.core.setup import Setup
from controller.core.state import Hand, State


def picture(setup: Setup, state: State) -> dict[str, Any]:
    """JSON-shaped. Cards are those that lie open on the board; what only surveillance knows is left out."""
    boxes = setup.profile.game == "ultimate"
    made: dict[str, Any] = {
        "game": setup.profile.game,
        "session": state.session,
        "gamingday": state.day,
        "shift": state.shift,
        "hands": state.hands,
        "hands_void": state.hands_void,
        "seats": [
            {"seat": number, "stack": _stack(state, number), "away": seat.away}
            | ({} if seat.player is None else {"player": seat.player})
            for number, seat in sorted(state.seats.items())
        ],
        "hand": _hand(state.play),
        "final": state.pending is None,
        "incidents": [{"incident": one.id, "code": one.code, "holds": one.holds} for one in state.incidents.values()],
    }
    return made | ({"boxes": list(state.table.announced)} if boxes else {"button": state.button})


def _stack(state: State, seat: int) -> int | None:
    hand = state.hand
    return hand.stack[seat] if hand is not None and seat in hand.order else state.seats[seat].stack


def _hand(play: Hand | Coup | None) -> dict[str, Any] | None:
    if play is None:
        return None
    board = [slot.card for slot in play.slots if slot.place == "board" and slot.opened and not slot.gone]
    made: dict[str, Any] = {"hand": play.id, "n": play.n, "board": board, "phase": play.phase}
    if isinstance(play, Coup):
        return made | {"boxes": sorted(play.boxes)}
    bets = [{"seat": seat, "amount": bet} for seat, bet in sorted(play.bet.items())]
    return made | {
        "street": play.street,
        "pot": play.pot,
        "to_act": play.to_act,
        "live": list(play.live),
        "bets": bets,
    }
